# SPDX-License-Identifier: Apache-2.0
"""Parts of several commands of `baton perf`: a console, the places of recordings, and the jobs of a comparison."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from . import network, session
from .runs import Cell

DEFAULT_OUT = Path("out/perf")
INTERRUPTED = 130  # as shells count: 128 and SIGINT
UNFINISHED = 3  # a recording's piece has ended, and others are left


def wide_console() -> Console:
    """Wide enough for the tables, also where the output is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=max(140, console.width))


def out_path(path: Path | None, name: str) -> Path:
    return path or DEFAULT_OUT / f"{name}.jsonl.gz"


def beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name.partition(".")[0] + ending)


def scheduled(experiment: str, cells: list[Cell], chosen: list, rounds: int, named: bool, console: Console) -> list:
    """The jobs. An error without any, before a recording is begun and an older one is moved. `named`: the user has chosen the peers."""
    idle = [(peer, variant) for peer, variant in chosen if not any(session.possible(peer, variant, c) for c in cells)]
    hint = "see `baton perf peers`; some poll, need --one-process, or stay on one host"
    if any(peer.id == "baton" for peer, _ in idle) and any(cell.network for cell in cells):
        hint += "; between hosts Baton's peer is baton_link: -p baton_link"
    if len(idle) == len(chosen):
        names = f"none of {', '.join(f'{peer.id}:{variant}' for peer, variant in idle)}" if named else "no peer"
        raise click.ClickException(f"nothing to measure: {names} can do this ({hint})")
    for peer, variant in idle if named else []:
        console.print(f"[yellow]{peer.id}:{variant} does not do this[/] ({hint})", highlight=False)
    return session.schedule(experiment, cells, chosen, rounds)


def check_networks(cells: list[Cell]) -> None:
    """Raises the error of a network that cannot be made now, before hours of runs that would all fail with it."""
    for name in dict.fromkeys(cell.network for cell in cells if cell.network):
        try:
            network.check(name)
        except network.NetworkFailed as problem:
            raise click.ClickException(str(problem)) from problem
