# SPDX-License-Identifier: Apache-2.0
"""Options and errors shared by the verbs that read interface files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect
from baton_generator.packages import DEFAULT_STANDARD, Universe


def source_options(function: Callable) -> Callable:
    """--search, --standard and --dialect."""
    for option in (
        click.option(
            "--dialect",
            type=click.Choice([d.value for d in Dialect]),
            help="Read every file as this dialect instead of recognising it.",
        ),
        click.option(
            "--standard",
            default=DEFAULT_STANDARD,
            show_default=True,
            metavar="SET",
            help="Standard set (of the rosbags package) for packages that are found nowhere else.",
        ),
        click.option(
            "--search",
            multiple=True,
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Directory that contains packages; may be repeated.",
        ),
    ):
        function = option(function)
    return function


def make_universe(
    search: tuple[Path, ...], standard: str, dialect: str | None, files: tuple[tuple[Path, str], ...] = ()
) -> Universe:
    return Universe(files=files, search=search, standard=standard, dialect=Dialect(dialect) if dialect else None)


@contextmanager
def interface_errors() -> Iterator[None]:
    """Prints the generator's diagnostics, and exits with status 1."""
    try:
        yield
    except InterfaceError as error:
        click.echo(str(error), err=True)
        raise SystemExit(1) from None
