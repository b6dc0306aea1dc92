# SPDX-License-Identifier: Apache-2.0
"""`baton perf accept`: every criterion of criteria.toml, interleaved, with ratio, 95 % interval and verdict."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from . import figures, peers, session, tables
from .experiments import EXPERIMENTS
from .peers import Peer
from .recording import Recording
from .runs import Cell, RunFailed
from .verdicts import Row

if TYPE_CHECKING:
    from . import touch

CRITERIA = Path(__file__).with_name("criteria.toml")
CELL_FIELDS = {f.name for f in fields(Cell)}
KINDS = {
    "ratio": {"metric", "cell", "a", "b", "bar"},
    "difference": {"metric", "cell", "a", "b", "bar"},
    "value": {"metric", "cell", "a", "bar"},
    "peers": {"metric", "experiment"},
    "program": {"program"},
    "verb": {"verb"},
    "touch": {"peer", "bytes", "role", "pages", "lines"},
}
OPTIONAL = {
    "id",
    "source",
    "kind",
    "bar",
    "smallest",
    "not_worse",
    "own",
    "peers",
    "without",
    "arguments",
    "collecting",
}


def load(path: Path = CRITERIA) -> list[dict]:
    """The criteria, checked: an unknown key or kind is an error, so that no line of the file is without effect."""
    try:
        criteria = tomllib.loads(path.read_text())["criterion"]
    except (OSError, tomllib.TOMLDecodeError, KeyError) as problem:
        raise click.ClickException(f"{path}: {problem}") from problem
    for c in criteria:
        name = c.get("id", "?")
        if c.get("kind") not in KINDS:
            raise click.ClickException(
                f"{path}: criterion '{name}' has kind '{c.get('kind')}', not one of {', '.join(KINDS)}"
            )
        wanted = KINDS[c["kind"]]
        if missing := wanted - c.keys():
            raise click.ClickException(f"{path}: criterion '{name}' lacks {', '.join(sorted(missing))}")
        if unknown := c.keys() - wanted - OPTIONAL:
            raise click.ClickException(f"{path}: criterion '{name}' has unknown keys {', '.join(sorted(unknown))}")
        if "metric" in c and c["metric"] not in figures.METRICS:
            raise click.ClickException(f"{path}: criterion '{name}': no metric '{c['metric']}'")
        for key in ("cell", "a", "b"):
            if unknown := c.get(key, {}).keys() - CELL_FIELDS - {"peer"}:
                raise click.ClickException(
                    f"{path}: criterion '{name}': {key} has unknown fields {', '.join(sorted(unknown))}"
                )
        if c["kind"] == "peers" and c["experiment"] not in EXPERIMENTS:
            raise click.ClickException(f"{path}: criterion '{name}': no experiment '{c['experiment']}'")
        if c["kind"] == "peers" and not c.get("not_worse") and "bar" not in c:
            raise click.ClickException(f"{path}: criterion '{name}' needs bar or not_worse")
    return criteria


@lru_cache(maxsize=1)
def paths(file: Path = CRITERIA) -> dict[str, list[str]]:
    """The code that the criteria measure, by the beginning of their names."""
    return tomllib.loads(file.read_text())["paths"]


def paths_of(criterion: str) -> list[str]:
    """The folders and files whose change makes a verdict on this criterion stale."""
    beginnings = [beginning for beginning in paths() if criterion.startswith(beginning)]
    return paths()[max(beginnings, key=len)]


def _side(criterion: dict, key: str) -> tuple[str, Cell]:
    values = {**criterion["cell"], **criterion[key]}
    return values.pop("peer"), Cell(**values)


def _find(name: str) -> tuple[Peer, str] | None:
    """The first variant of a peer, or the named one; None if it is not built here."""
    try:
        return peers.choose([name])[0]
    except click.ClickException:
        return None


def _own(criterion: dict) -> tuple[Peer, str] | None:
    """The side of a comparison with peers that has to pass."""
    return _find(criterion.get("own", "baton"))


def _others(criterion: dict) -> list[tuple[Peer, str]]:
    """The peers that are built on this machine; judge() names the others."""
    names = [name for name in criterion.get("peers", ["all"]) if name == "all" or _find(name)]
    if not names:
        return []
    return [(peer, variant) for peer, variant in peers.choose(names) if peer.id not in criterion.get("without", [])]


def plan(criteria: list[dict], rounds: int, profile: str) -> list[session.Job]:
    """All runs of all criteria, round by round; a run that two criteria need is made once."""
    jobs: dict[tuple, session.Job] = {}
    for round in range(rounds):
        for c in criteria:
            if c["kind"] == "peers":
                everybody = [*filter(None, [_own(c)]), *_others(c)] if "own" in c or "peers" in c else _others(c)
                for job in session.schedule(c["experiment"], EXPERIMENTS[c["experiment"]].cells(profile), everybody, 1):
                    job = replace(job, round=round)
                    if job.peer.id != "bare":
                        jobs.setdefault((round, job.name(), job.cell), job)
            elif "cell" in c:
                for key in ("a", "b") if "b" in c else ("a",):
                    name, cell = _side(c, key)
                    if found := _find(name):
                        job = session.Job(c["id"], *found, round, cell)
                        jobs.setdefault((round, job.name(), cell), job)
    return list(jobs.values())


class Measured:
    """Figures of a recording by (round, peer:variant, cell)."""

    def __init__(self, recording: Recording):
        self.runs: dict[tuple, dict] = {}
        for run in recording.runs:
            self.runs[(run["round"], run["peer"], run["variant"], Cell(**run["cell"]))] = run
        self.rounds = sorted({run["round"] for run in recording.runs})

    def figure(self, found: tuple[Peer, str] | None, cell: Cell, metric: str, round: int) -> float | None:
        if found is None:
            return None
        run = self.runs.get((round, found[0].id, found[1], cell))
        return None if run is None else figures.metric(run, metric)

    def error(self, found: tuple[Peer, str], cell: Cell) -> str:
        for round in self.rounds:
            run = self.runs.get((round, found[0].id, found[1], cell))
            if run and "error" in run:
                return run["error"][:100]
        return "not measured"


def _compared(measured: Measured, a, b, metric: str, kind: str) -> list[float]:
    out = []
    for round in measured.rounds:
        x = measured.figure(*a, metric, round)
        y = measured.figure(*b, metric, round) if b else 0.0
        if x is None or y is None:
            continue
        # Metrics in ns become microseconds, except in ratios.
        scale = 1000 if metric in ("gap",) or metric.startswith(("hand_over", "fill", "construct", "with_read")) else 1
        if kind == "ratio":
            if y != 0:
                out.append(x / y)
        elif kind == "difference":
            out.append((x - y) / scale)
        else:
            out.append(x / scale)
    return out


def judge(criteria: list[dict], measured: Measured, profile: str) -> list[Row]:
    rows: list[Row] = []
    for c in criteria:
        if c["kind"] in ("ratio", "difference", "value"):
            name, cell = _side(c, "a")
            a = (_find(name), cell)
            b = None
            if "b" in c:
                other, other_cell = _side(c, "b")
                b = (_find(other), other_cell)
                if b[0] is None:
                    rows.append(
                        Row(c["id"], c["source"], None, "", "", None, f"peer {other} is not built here: make peers")
                    )
                    continue
            values = _compared(measured, a, b, c["metric"], c["kind"])
            unit = {"ratio": "x", "difference": "" if c["metric"] == "loss" else " us"}.get(c["kind"], "")
            if not values:
                rows.append(Row(c["id"], c["source"], None, unit, f"{c['bar']}{unit}", None, measured.error(*(b or a))))
                continue
            interval = figures.median_interval(values)
            rows.append(Row(c["id"], c["source"], interval, unit, f"{c['bar']:g}{unit}", interval.high <= c["bar"]))
        elif c["kind"] == "peers":
            rows += _judge_peers(c, measured, profile)
    return rows


def _judge_peers(c: dict, measured: Measured, profile: str) -> list[Row]:
    rows = []
    own = _own(c)
    if own is None:
        return [
            Row(c["id"], c["source"], None, "", "", None, f"peer {c.get('own', 'baton')} is not built here: make peers")
        ]
    for name in c.get("peers", []):
        if name != "all" and _find(name) is None:
            rows.append(Row(c["id"], c["source"], None, "", "", None, f"peer {name} is not built here: make peers"))
    for cell in EXPERIMENTS[c["experiment"]].cells(profile):
        if cell.bytes < c.get("smallest", 0):
            continue
        for other in _others(c):
            if other == own or other[0].id == "bare":
                continue
            if not session.possible(*other, cell):
                continue
            name = other[0].called(other[1])
            what = f"{tables.describe(cell)} / {name}"
            if c.get("not_worse"):
                rows.append(_not_worse(c, measured, own, other, cell, what, name))
                continue
            values = _compared(measured, (own, cell), (other, cell), c["metric"], "ratio")
            if not values:
                rows.append(Row(c["id"], what, None, "x", f"{c['bar']:g}x", None, measured.error(other, cell), name))
                continue
            interval = figures.median_interval(values)
            rows.append(Row(c["id"], what, interval, "x", f"{c['bar']:g}x", interval.high <= c["bar"], peer=name))
    return rows


def _not_worse(c: dict, measured: Measured, own, other, cell: Cell, what: str, name: str) -> Row:
    """Passes unless the two intervals lie apart and ours above."""
    mine = [v for r in measured.rounds if (v := measured.figure(own, cell, c["metric"], r)) is not None]
    theirs = [v for r in measured.rounds if (v := measured.figure(other, cell, c["metric"], r)) is not None]
    if not mine or not theirs:
        return Row(c["id"], what, None, "", "", None, measured.error(other, cell), name)
    a, b = figures.median_interval(mine), figures.median_interval(theirs)
    ratio = figures.Interval(a.middle / b.middle, a.low / b.high, a.high / b.low, min(a.count, b.count))
    return Row(c["id"], what, ratio, "x", "overlap", a.low <= b.high, peer=name)


# A value, its unit, its interval and its bar, behind a name of any length.
_PRINTED = re.compile(
    r"(PASS|FAIL)\s+(.+?)\s+(-?\d[\d.e+-]*)(x| us| s|%| MiB|) \[(\S+?), (\S+?)\]\s+bar <= (\S+.*?)\s+\((.*)\)"
)


def printed_row(criterion: str, line: str) -> Row | None:
    """The verdict that a program printed on this line."""
    if match := _PRINTED.match(line):
        verdict, what, middle, unit, low, high, bar, detail = match.groups()
        interval = figures.Interval(float(middle), float(low), float(high), 0)
        return Row(criterion, what, interval, unit, bar, verdict == "PASS", detail)
    if line.startswith(("PASS", "FAIL")):
        return Row(criterion, line[4:].strip(), None, "", "", line.startswith("PASS"))
    return None


def line_budget(c: dict, counts: touch.Counts) -> int:
    """The pages and lines that a message with these counts may touch."""
    return c["collecting"] if counts.collects and "collecting" in c else c["lines"]


def count_touches(c: dict, console: Console) -> list[Row]:
    """Judges a criterion of kind touch."""
    from . import stepping, touch

    found = _find(c["peer"])
    if found is None:
        return [Row(c["id"], c["source"], None, "", "", None, f"peer {c['peer']} is not built here: make peers")]
    console.print(f"[dim]baton perf touch -p {c['peer']} -b {c['bytes']} ...[/]")
    try:
        stepping.check()
        result = touch.touch(*found, c["bytes"])
    except (RunFailed, stepping.CannotStep) as problem:
        return [Row(c["id"], c["source"], None, "", "", None, str(problem))]
    rows = []
    fewest = result.fewest(c["role"])
    for what, count, most, counts in (
        ("pages", fewest.total_pages, c["pages"], result.pages[c["role"]]),
        ("lines", fewest.total_lines, line_budget(c, fewest), result.lines[c["role"]]),
    ):
        interval = figures.Interval(count, counts[0], counts[-1], len(counts))
        text = f"{c['source']}: {what}"
        rows.append(Row(c["id"], text, interval, "", str(most), count <= most))
    return rows


def run_program(c: dict, console: Console) -> list[Row]:
    """Runs a program and takes over its own verdicts."""
    folder = peers.program_folder()
    program = (folder or Path()) / c["program"]
    if not program.is_file():
        return [Row(c["id"], c["source"], None, "", "", None, f"{c['program']} is not built: make build-lab")]
    console.print(f"[dim]{c['program']} ...[/]")
    return _verdicts_of(c, [str(program), *c.get("arguments", [])])


def run_verb(c: dict, console: Console) -> list[Row]:
    """The same for a verb of `baton perf`."""
    words = [c["verb"], *c.get("arguments", [])]
    console.print(f"[dim]baton perf {shlex.join(words)} ...[/]", highlight=False)
    return _verdicts_of(c, [sys.executable, "-m", "baton_cli", "perf", *words])


def _verdicts_of(c: dict, command: list[str]) -> list[Row]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [row for line in done.stdout.splitlines() if (row := printed_row(c["id"], line))]
    if not rows or done.returncode > 1:
        rows.append(
            Row(c["id"], c["source"], None, "", "", None, (done.stderr or "it printed no verdict").strip()[-200:])
        )
    return rows
