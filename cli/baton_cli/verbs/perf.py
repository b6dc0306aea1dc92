# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: measures Baton and its peers."""

from __future__ import annotations

import re
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from ..perf import peers as peer_list
from ..perf.experiments import EXPERIMENTS
from ..perf.runs import Cell

DEFAULT_OUT = Path("out/perf")


class Size(click.ParamType):
    """Bytes, with an optional K or M (powers of 1024)."""

    name = "size"

    def convert(self, value, param, ctx):
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmM]?)[bB]?", value)
        if not match:
            self.fail(f"'{value}' is no size: give bytes, or a number with K or M, for example 64K")
        bytes = int(float(match[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20}[match[2].lower()])
        if bytes < 64:
            self.fail("a payload has at least 64 bytes: it carries the time stamps")
        return bytes


@click.group()
def command() -> None:
    """Measure Baton and what its users would pick instead.

    \b
    baton perf peers                       what can be measured here
    baton perf run -p fastdds -b 4M        one comparison, as a table
    baton perf experiment tzc-fig7         an experiment of the papers, recorded
    baton perf report out/perf/*.gz        tables and plots of recordings, one HTML page
    baton perf accept                      every performance criterion, PASS or FAIL
    """


@command.command()
def peers() -> None:
    """List the transports that can be measured on this machine, and those that cannot, with the reason."""
    console = Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("peer", "variants", "version", "how it is used"):
        table.add_column(title)
    for peer in peer_list.built().values():
        table.add_row(peer.id, " ".join(peer.variants), peer.version, peer.how)
    console.print(table)
    for id, why in peer_list.absent().items():
        console.print(f"[dim]{id} is not built: {why}[/]", highlight=False)


def _out(path: Path | None, name: str) -> Path:
    return path or DEFAULT_OUT / f"{name}.jsonl.gz"


@command.command()
@click.option(
    "-p", "--peer", "names", multiple=True, help="Peer or peer:variant; several times; default: Baton and all others."
)
@click.option("-b", "--bytes", "sizes", type=Size(), multiple=True, default=("64", "64K", "4M"), show_default=True)
@click.option("-s", "--subscribers", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option("--publishers", type=click.IntRange(1, 32), default=1, show_default=True)
@click.option("-n", "--messages", type=click.IntRange(1), default=60, show_default=True, help="Per publisher and run.")
@click.option(
    "-r",
    "--rate",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Hz; 0: as fast as they are received.",
)
@click.option("--message", default="bytes", show_default=True, help="Message type, for example Image or PointCloud2.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--spin", is_flag=True, help="The subscriber polls.")
@click.option("--read", "read_all", is_flag=True, help="The subscriber reads every byte.")
@click.option("--round-trip", is_flag=True)
@click.option("--pin", "pinned", is_flag=True, help="Publishers on the first CPU, subscribers on the others.")
@click.option("--one-process", is_flag=True, help="All ends are threads of one process.")
@click.option("--depth", type=click.IntRange(1), default=10, show_default=True, help="KEEP_LAST depth.")
@click.option("--best-effort", is_flag=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the peer.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Recording; default out/perf/run.jsonl.gz")
def run(names, sizes, best_effort, rounds, settings, out, **cell) -> None:
    """Compare peers once and print a table. Every end is a process of its own unless --one-process."""
    from ..perf import session, tables
    from ..perf.recording import Recording

    chosen = peer_list.choose(list(names))
    pairs = dict(item.partition("=")[::2] for item in settings)
    cells = [Cell(bytes=b, reliable=not best_effort, settings=pairs, **cell) for b in sizes]
    path = _out(out, "run")
    console = Console()
    session.run(session.schedule("run", cells, chosen, rounds), path, console)
    recording = Recording.load(path)
    clock = "round_trip_ns" if cell["round_trip"] else "with_read_ns" if cell["read_all"] else "hand_over_ns"
    tables.print_summary(console, recording.runs, clock)
    console.print(f"recorded in {path}; `baton perf report {path}` draws it", highlight=False)


@command.command()
@click.argument("names", nargs=-1, metavar="EXPERIMENT...")
@click.option("--full", is_flag=True, help="The paper's own numbers of messages and ten rounds, for a quiet hour.")
@click.option(
    "-p", "--peer", "peers_", multiple=True, help="Peer or peer:variant; several times; default: the experiment's."
)
@click.option("--rounds", type=click.IntRange(1))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Directory for recordings; default out/perf")
def experiment(names, full, peers_, rounds, out) -> None:
    """Run experiments by name, or `all`; without a name: list them."""
    from ..perf import session, tables
    from ..perf.recording import Recording

    console = Console()
    if not names:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("experiment", "source", "what"):
            table.add_column(title)
        for e in EXPERIMENTS.values():
            table.add_row(e.id, e.source, e.title)
        console.print(table)
        return
    wanted = list(EXPERIMENTS) if "all" in names else list(names)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise click.ClickException(f"there is no experiment '{name}'; there are: {', '.join(EXPERIMENTS)}")
    for name in wanted:
        e = EXPERIMENTS[name]
        built = peer_list.built()
        default = [p for p in e.peers if p == "all" or p in built]
        chosen = peer_list.choose(list(peers_) or default)
        cells = e.cells("full" if full else "quick")
        jobs = session.schedule(name, cells, chosen, rounds or e.rounds[1 if full else 0])
        path = (out or DEFAULT_OUT) / f"{name}.jsonl.gz"
        console.print(f"[bold]{e.title}[/] ({e.source})", highlight=False)
        session.run(jobs, path, console)
        recording = Recording.load(path)
        if "copies_table" in e.figures:
            tables.print_copies(console, recording.runs)
        else:
            tables.print_summary(console, recording.runs, e.clock)
        console.print(f"recorded in {path}", highlight=False)


@command.command()
@click.argument("recordings", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), default=DEFAULT_OUT / "report.html", show_default=True)
def report(recordings, out) -> None:
    """Make one self-contained HTML page from recordings."""
    from ..perf.recording import Recording
    from ..perf.report import write_report

    write_report([(path, Recording.load(path)) for path in recordings], out)
    click.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB, self-contained")
