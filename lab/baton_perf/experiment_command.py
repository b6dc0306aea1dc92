# SPDX-License-Identifier: Apache-2.0
"""`baton perf experiment`: lists, describes and runs the experiments, of the papers and others."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from . import accept, papers, session, tables
from . import peers as peer_list
from .experiments import EXPERIMENTS, Experiment
from .recording import Recording
from .terminal import DEFAULT_OUT, INTERRUPTED, check_networks, scheduled, wide_console


def names_of_all(figures: dict[str, papers.Figure]) -> list[str]:
    """The figures of `all`: every experiment, and every figure of a paper that has a program of its own."""
    return [*EXPERIMENTS, *(id for id, figure in figures.items() if id not in EXPERIMENTS and figure.quick)]


def _list(figures: dict[str, papers.Figure], console: Console) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("experiment", "source", "what"):
        table.add_column(title)
    for figure in figures.values():
        what = f"{figure.what} [dim](absent, see --describe)[/]" if figure.absent else figure.what
        table.add_row(figure.id, f"{figure.paper}, {figure.place}", what)
    for e in EXPERIMENTS.values():
        if e.id not in figures:
            table.add_row(e.id, e.source, e.title)
    tables.print_whole(console, table)


def _describe_number(number: papers.Number, criteria: dict[str, dict], console: Console) -> None:
    criterion = criteria[number.criterion]
    bar = number.bar if number.bar is not None else criterion.get("bar")
    limit = "the bar is the program's" if bar is None else f"at most {bar:g}"
    console.print(f"  the paper: {number.says}", highlight=False)
    console.print(f"    ours: baton perf accept {number.criterion} ({limit})", highlight=False)


def _describe_cells(e: Experiment, full: bool, console: Console) -> None:
    cells = e.cells("full" if full else "quick")
    rounds = e.rounds[1 if full else 0]
    console.print(
        f"  cells: {len(cells)}, {rounds} rounds: {', '.join(dict.fromkeys(c.label() for c in cells))}", highlight=False
    )
    console.print(f"  peers: {', '.join(e.peers)}", highlight=False)
    for name, why in (peer_list.why_absent(e.peers) | e.unavailable).items():
        console.print(f"  not measured: {name}: {why}", highlight=False)


def _describe(names: list[str], figures: dict[str, papers.Figure], full: bool, console: Console) -> None:
    criteria = {c["id"]: c for c in accept.load()}
    for name in names:
        figure, e = figures.get(name), EXPERIMENTS.get(name)
        source = f"{figure.paper}, {figure.place}" if figure else e.source
        console.print(f"[bold]{name}[/]: {figure.what if figure else e.title} ({source})", highlight=False)
        if figure and figure.absent:
            console.print(f"  absent: {figure.absent}", highlight=False)
        elif e is None:
            console.print(f"  program: {figure.command(full)}", highlight=False)
        else:
            _describe_cells(e, full, console)
            if e.note:
                console.print(f"  {e.note}", highlight=False)
        for number in figure.numbers if figure else ():
            _describe_number(number, criteria, console)


def _run_cells(
    e: Experiment, full: bool, names: list[str], rounds: int | None, wide: bool, out: Path, console: Console
) -> bool:
    """Runs, records and prints it. False after Ctrl-C."""
    absent = {} if names else peer_list.why_absent(e.peers) | e.unavailable
    chosen = peer_list.choose(names or [p for p in e.peers if p not in absent])
    cells = e.cells("full" if full else "quick")
    jobs = scheduled(e.id, cells, chosen, rounds or e.rounds[1 if full else 0], bool(names), console)
    check_networks(cells)
    path = out / f"{e.id}.jsonl.gz"
    console.print(f"[bold]{e.title}[/] ({e.source})", highlight=False)
    whole = session.run(jobs, path, console, absent=absent)
    recording = Recording.load(path)
    if "copies_table" in e.figures:
        tables.print_copies(console, recording.runs)
    else:
        tables.print_summary(console, recording.runs, e.clock, wide)
    tables.print_absent(console, absent)
    if e.note:
        console.print(f"[dim]{e.note}[/]", highlight=False)
    console.print(f"recorded in {path}", highlight=False)
    return whole


def _with_rounds(arguments: list[str], rounds: int) -> list[str]:
    """The arguments of a verb that has the option --rounds, with this number."""
    if "--rounds" in arguments:
        at = arguments.index("--rounds")
        arguments = arguments[:at] + arguments[at + 2 :]
    return [*arguments, "--rounds", str(rounds)]


def _run_program(figure: papers.Figure, full: bool, rounds: int | None, console: Console) -> bool:
    """Runs the figure's own command, in this Python. False after Ctrl-C."""
    arguments = list(figure.full if full else figure.quick)
    if rounds is not None:
        if arguments[0] != "perf":
            raise click.UsageError(f"--rounds: not for {figure.id}, which counts and measures no time")
        arguments = _with_rounds(arguments, rounds)
    command = shlex.join(["baton", *arguments])
    console.print(f"[bold]{figure.what}[/] ({figure.paper}, {figure.place}): {command}", highlight=False)
    try:
        status = subprocess.run([sys.executable, "-m", "baton_cli", *arguments], check=False).returncode
    except KeyboardInterrupt:
        return False
    if status not in (0, INTERRUPTED):
        raise click.ClickException(f"`{command}` ended with {status}")
    return status == 0


@click.command(
    epilog="\b\nExamples:\n  baton perf experiment\n  baton perf experiment --describe tzc-fig7\n  baton perf experiment tzc-fig7"
)
@click.argument("names", nargs=-1, metavar="[EXPERIMENT]...")
@click.option(
    "--describe", is_flag=True, help="Print their questions, their peers and the paper's numbers; run nothing."
)
@click.option("--full", is_flag=True, help="The paper's own numbers of messages and ten rounds, for a quiet hour.")
@click.option(
    "-p", "--peer", "peers_", multiple=True, help="Peer or peer:variant; several times; default: the experiment's."
)
@click.option("--rounds", type=click.IntRange(1))
@click.option("--wide", is_flag=True, help="Also print p99.9, mean and variance.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Directory for recordings; default out/perf")
def experiment(names, describe, full, peers_, rounds, wide, out) -> None:
    """Run experiments by name, or `all`; without a name: list them. Ctrl-C ends the series and keeps what was measured.

    Each figure and table of the five papers has a name. A figure of the robot, of SLAM or of ATSA has a verb of its own, which --describe names:
    -p, --wide and --out are not for it.
    """
    console = wide_console()
    figures = papers.load()
    if not names and not describe:
        _list(figures, console)
        return
    everything = names_of_all(figures)
    wanted = everything if "all" in names or not names else list(dict.fromkeys(names))
    for name in wanted:
        if name not in EXPERIMENTS and name not in figures:
            known = ", ".join(dict.fromkeys([*figures, *EXPERIMENTS]))
            raise click.ClickException(f"there is no experiment '{name}'; there are: {known}")
    if describe:
        _describe(wanted if names else [*figures], figures, full, console)
        return
    for name in wanted:
        given = [option for option, value in (("-p", peers_), ("--wide", wide), ("--out", out)) if value]
        try:
            if name in EXPERIMENTS:
                whole = _run_cells(EXPERIMENTS[name], full, list(peers_), rounds, wide, out or DEFAULT_OUT, console)
            elif figures[name].absent:
                raise click.ClickException(f"{name} is absent: {figures[name].absent}")
            elif given:
                program = figures[name].command(full)
                raise click.UsageError(f"{', '.join(given)}: not for {name}, whose program is `{program}`")
            else:
                whole = _run_program(figures[name], full, rounds, console)
        except click.ClickException as problem:
            if len(wanted) == 1:
                raise
            console.print(f"[yellow]{name}: {problem.message}[/]", highlight=False)
            continue
        if not whole:
            sys.exit(INTERRUPTED)  # the series ends, too
