# SPDX-License-Identifier: Apache-2.0
"""`baton split`: which members of a type TZC's partial serialization would share, and its Table II for whole packages."""

from __future__ import annotations

from pathlib import Path

import click
from baton_generator.canonical import Resolver, Struct
from baton_generator.generate import Wanted, resolve
from baton_generator.packages import Universe
from baton_generator.split import Table, split, table
from baton_generator.standard_sets import names as standard_sets
from rich.console import Console
from rich.table import Table as RichTable

from baton_cli.examples import examples
from baton_cli.interfaces import interface_errors, make_universe, source_options
from baton_cli.output import json_text

# Table II of the TZC paper (IROS 2019), over six meta-packages of which rosbags' noetic set carries common_msgs.
PAPER = {"total": 358, "need_support": 104, "supported": 98, "unsupported": 6}


@examples("baton split sensor_msgs/Image", "baton split --store ros2_kilted --json")
@click.command()
@click.argument("types", nargs=-1, metavar="[TYPE]...")
@click.option(
    "--tree",
    "trees",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Count all messages of the packages below DIR; may be repeated.",
)
@click.option(
    "--store", metavar="SET", help="Count all messages of a standard set of the rosbags package, e.g. ros1_noetic."
)
@click.option(
    "--package", "packages", multiple=True, help="With --store or --tree: count only this package; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@source_options
def command(
    types: tuple[str, ...],
    trees: tuple[Path, ...],
    store: str | None,
    packages: tuple[str, ...],
    as_json: bool,
    search: tuple[Path, ...],
    standard: str,
    dialect: str | None,
) -> None:
    """Print control and data members of TYPEs.

    A TYPE is sensor_msgs/Image, say; whole trees of packages are counted.

    The control part is what TZC serializes; the data part, every variable-length array of a fixed-length type, it shares. Baton
    shares both: the split says what a native type of another middleware has to be rebuilt from.
    """
    if bool(types) + bool(trees or store) != 1:
        raise click.UsageError("Give either TYPEs, or --tree or --store.")
    if packages and types:
        raise click.UsageError("--package selects from --tree or --store.")
    with interface_errors():
        if types:
            universe = make_universe(search, standard, dialect)
            structs = [s for name in types for s in _structs_of(universe, name)]
            _print_types(structs, as_json)
        else:
            _print_table(table(_counted(trees, store, packages, search, standard, dialect)), as_json)


def _structs_of(universe: Universe, name: str) -> list[Struct]:
    """A message, or the request and response of a service."""
    resolved = resolve(universe, Wanted(types=[name]))
    if resolved.services:
        service = next(iter(resolved.services.values()))
        return [service.request, service.response]
    return [next(iter(resolved.messages.values()))]


def _counted(
    trees: tuple[Path, ...],
    store: str | None,
    packages: tuple[str, ...],
    search: tuple[Path, ...],
    standard: str,
    dialect: str | None,
) -> list[Struct]:
    structs: dict[str, Struct] = {}
    if trees:
        universe = make_universe((*trees, *search), standard, dialect)
        wanted = make_universe(trees, standard, dialect).own_types()
        resolver = Resolver(universe)
        structs |= {name: resolver.message(name) for kind, name in wanted if kind == "msg"}
    if store:
        if store not in standard_sets():
            raise click.UsageError(f"There is no standard set '{store}'; there are {', '.join(standard_sets())}.")
        universe = Universe(standard=store, environment={})
        resolver = Resolver(universe)
        for package in universe.standard_packages():
            structs |= {name: resolver.message(name) for kind, name in universe.types_of(package) if kind == "msg"}
    chosen = [s for s in structs.values() if not packages or s.package in packages]
    missing = set(packages) - {s.package for s in chosen}
    if missing:
        raise click.UsageError(f"No messages of {', '.join(sorted(missing))} there.")
    return chosen


def _print_types(structs: list[Struct], as_json: bool) -> None:
    if as_json:
        result = [
            {
                "type": s.full_name,
                "hash": s.hash.hex(),
                "size": s.size,
                "fixed": s.fixed,
                "control": [{"path": p.path, "type": str(p.type)} for p in split(s) if not p.data],
                "data": [{"path": p.path, "type": str(p.type)} for p in split(s) if p.data],
            }
            for s in structs
        ]
        click.echo(json_text(result, indent=2))
        return
    console = Console()
    for s in structs:
        shown = RichTable(
            title=f"{s.full_name}  (fixed part {s.size} bytes, hash {s.hash.hex()})", title_justify="left", min_width=80
        )
        for column in ("member", "type", "part", "why"):
            shown.add_column(column, no_wrap=column == "part", overflow="fold")
        for p in split(s):
            shown.add_row(_plain(p.path), _plain(str(p.type)), "[bold green]data[/]" if p.data else "control", p.why)
        console.print(shown)


def _plain(text: str) -> str:
    """Keeps rich from reading `uint8[]` as markup."""
    return text.replace("[", "\\[")


def _print_table(counted: Table, as_json: bool) -> None:
    numbers = {
        "total": counted.total,
        "need_support": len(counted.need_support),
        "supported": len(counted.supported),
        "unsupported": len(counted.unsupported),
    }
    if as_json:
        more = {
            "unsupported_types": counted.unsupported,
            "baton_without_serialization": counted.without_serialization,
            "paper": PAPER,
        }
        click.echo(json_text(numbers | more, indent=2))
        return
    shown = RichTable(title="Types that TZC supports (Table II of the paper)", title_justify="left")
    for column in ("", "number", "of total", "of needed", "the paper"):
        shown.add_column(column, justify="right" if column else "left")
    need = numbers["need_support"]
    shown.add_row("Total", str(counted.total), _percent(counted.total, counted.total), "", str(PAPER["total"]))
    for key, label in (
        ("need_support", "Need support: with variable-length arrays"),
        ("supported", "Supported: at least one of a fixed-length type"),
        ("unsupported", "Not supported"),
    ):
        shown.add_row(
            label,
            str(numbers[key]),
            _percent(numbers[key], counted.total),
            _percent(numbers[key], need),
            str(PAPER[key]),
        )
    shown.add_row(
        "Carried by Baton without serialization",
        str(counted.without_serialization),
        _percent(counted.without_serialization, counted.total),
        "",
        "",
        style="bold",
    )
    console = Console()
    console.print(shown)
    if counted.unsupported:
        console.print("Not supported by TZC: " + ", ".join(counted.unsupported), highlight=False)
    console.print(
        "The paper counted other packages: common_msgs, image_transport_plugins, neonavigation_msgs, tuw_msgs, astuff_sensor_msgs and automotive_autonomy_msgs.",
        style="dim",
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"
