# SPDX-License-Identifier: Apache-2.0
"""`baton generate`: C++ headers from interface files."""

from __future__ import annotations

from pathlib import Path

import click
from baton_generator.generate import Wanted, outputs, write

from baton_cli.examples import examples
from baton_cli.interfaces import interface_errors, make_universe, source_options


@examples(
    "baton generate std_msgs sensor_msgs/Image -o include",
    "baton generate --file msg/Battery.msg --package-name my_msgs -o include",
    "baton generate --all --search src -o include",
)
@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("include"),
    show_default=True,
    help="Include directory to write into.",
)
@click.option(
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An interface file; may be repeated. Needs --package-name.",
)
@click.option("--package-name", help="The package that the files of --file belong to.")
@click.option("--all", "everything", is_flag=True, help="Generate everything in the directories of --search.")
@source_options
def command(
    names: tuple[str, ...],
    output: Path,
    files: tuple[Path, ...],
    package_name: str | None,
    everything: bool,
    search: tuple[Path, ...],
    standard: str,
    dialect: str | None,
) -> None:
    """Write C++ headers for packages and types.

    A NAME is a package (sensor_msgs) or a type (sensor_msgs/Image); types come with all they contain.
    """
    if files and not package_name:
        raise click.UsageError("--file needs --package-name: the package decides the types' names and their namespace.")
    if not names and not files and not everything:
        raise click.UsageError("Nothing to generate: name packages or types, or give --file or --all.")
    with interface_errors():
        universe = make_universe(search, standard, dialect, tuple((f, package_name or "") for f in files))
        own = [f"{package_name}/{f.suffix[1:]}/{f.stem}" for f in files]
        wanted = Wanted([n for n in names if "/" not in n], [*own, *(n for n in names if "/" in n)], everything)
        headers = outputs(universe, wanted)
        try:
            changed = write(output, headers)
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from None
    what = "1 header" if len(headers) == 1 else f"{len(headers)} headers"
    click.echo(f"{what} in {output}, {len(changed)} new or changed")
