# SPDX-License-Identifier: Apache-2.0
"""`baton stubs`: stubs of message classes for editors and type checkers."""

from __future__ import annotations

from pathlib import Path

import click
from baton_generator.diagnostics import InterfaceError

from .. import live
from ..examples import examples


@examples("baton stubs sensor_msgs", "baton stubs my_msgs --search src -o stubs")
@click.command()
@click.argument("packages", nargs=-1, required=True, metavar="PACKAGE...")
@live.search_option("Directory with message packages; may be repeated.")
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Default: the installed package, where every type checker looks.",
)
def command(packages: tuple[str, ...], search: tuple[Path, ...], out: Path | None) -> None:
    """Write stubs of messages, for type checkers.

    mypy and pyright then know every field of baton.msg.PACKAGE: without stubs they take messages for Any. Packages to which
    PACKAGE refers are written, too.
    """
    live.load()
    live.add_search(search)
    from baton import stubs

    try:
        for path in stubs.write(packages, out):
            click.echo(path)
    except InterfaceError as error:
        raise click.ClickException(live.reason(error)) from None
    except OSError as error:
        raise click.ClickException(f"{error}; name a directory of your own with -o") from None
