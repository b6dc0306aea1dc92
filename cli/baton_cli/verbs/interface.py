# SPDX-License-Identifier: Apache-2.0
"""`baton interface`: message and service definitions."""

from __future__ import annotations

from pathlib import Path

import click
from baton_generator.canonical import Resolver
from baton_generator.model import Message, Service
from baton_generator.packages import Universe

from ..examples import examples
from ..groups import VerbGroup
from ..interfaces import interface_errors, make_universe, source_options


@examples("baton interface show sensor_msgs/Image")
@click.group(cls=VerbGroup)
def command() -> None:
    """Show message and service definitions."""


def _lines(universe: Universe, message: Message, indent: str) -> list[str]:
    lines = []
    for c in message.constants:
        lines.append(f"{indent}{c.base} {c.name}={c.value}")
    for f in message.fields:
        default = "" if f.default is None else f" {list(f.default) if isinstance(f.default, tuple) else f.default}"
        lines.append(f"{indent}{f.type} {f.name}{default}")
        if f.type.is_message:
            nested = universe.load(f.type.base, "msg", f.location)
            assert isinstance(nested, Message)
            lines += _lines(universe, nested, indent + "\t")
    return lines


@examples("baton interface show sensor_msgs/Image", "baton interface show my_msgs/Battery --search src")
@command.command()
@source_options
@click.argument("name", metavar="TYPE")
def show(name: str, search: tuple[Path, ...], standard: str, dialect: str | None) -> None:
    """Print the definition of TYPE (package/Name), nested types indented."""
    package, *rest = name.split("/")
    if not rest:
        raise click.ClickException(f"'{name}' is no type name: write package/Name")
    full = f"{package}/{rest[-1]}"
    with interface_errors():
        universe = make_universe(search, standard, dialect)
        kinds = {kind for kind, known in universe.types_of(package) if known == full}
        kind = "srv" if "srv" in kinds and (len(rest) == 1 or rest[0] == "srv") and "msg" not in kinds else "msg"
        resolver = Resolver(universe)
        (resolver.service if kind == "srv" else resolver.message)(full)  # all errors, also in nested types
        interface = universe.load(full, kind)
        if isinstance(interface, Service):
            lines = [*_lines(universe, interface.request, ""), "---", *_lines(universe, interface.response, "")]
        else:
            lines = _lines(universe, interface, "")
    click.echo("\n".join(lines))


@examples("baton interface package std_srvs")
@command.command()
@source_options
@click.argument("name", metavar="PACKAGE")
def package(name: str, search: tuple[Path, ...], standard: str, dialect: str | None) -> None:
    """List the interfaces of PACKAGE."""
    with interface_errors():
        for kind, full in make_universe(search, standard, dialect).types_of(name):
            click.echo(full.replace("/", f"/{kind}/"))


@examples("baton interface list -m")
@command.command("list")
@source_options
@click.option("-m", "--only-msgs", is_flag=True)
@click.option("-s", "--only-srvs", is_flag=True)
def list_(search: tuple[Path, ...], standard: str, dialect: str | None, only_msgs: bool, only_srvs: bool) -> None:
    """List the interfaces of all packages that are found."""
    with interface_errors():
        universe = make_universe(search, standard, dialect)
        for package in sorted(universe.packages()):
            for kind, full in universe.types_of(package):
                if only_msgs == only_srvs or kind == ("msg" if only_msgs else "srv"):
                    click.echo(full.replace("/", f"/{kind}/"))
