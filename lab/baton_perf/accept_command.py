# SPDX-License-Identifier: Apache-2.0
"""`baton perf accept`: judges criteria, in pieces if asked, and lists them with their last verdicts."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from . import accept as judge
from . import quiet, results, session, tables, verdicts
from .peers import CHECKOUT
from .recording import Recording, append
from .terminal import UNFINISHED, out_path, wide_console
from .verdicts import Row

PRINTERS = {"program": judge.run_program, "verb": judge.run_verb, "touch": judge.count_touches}


class _WithCriteria(click.Command):
    """Its help lists the criteria."""

    def format_epilog(self, ctx, formatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Criteria (a beginning names all that share it)"):
            formatter.write_dl([(c["id"], c["source"]) for c in judge.load()])


def _chosen(ids: tuple[str, ...]) -> list[dict]:
    criteria = judge.load()
    for id in ids:
        if not any(c["id"].startswith(id) for c in criteria):
            raise click.ClickException(f"no criterion '{id}'; there are: {', '.join(c['id'] for c in criteria)}")
    return [c for c in criteria if not ids or any(c["id"].startswith(id) for id in ids)]


def _list(criteria: list[dict], root: Path, console: Console) -> None:
    """Each criterion with its last verdict, the commit of it, and whether the code has changed since."""
    if not results.files_of(root):
        raise click.ClickException(
            f"there is no recording in {root / results.FOLDER}: name a checkout of Baton with --results"
        )
    latest, history = results.latest(results.load(root)), results.History(root)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("criterion", "last verdict", "commit", "code since", "quiet"):
        table.add_column(title)
    for c in criteria:
        if c["id"] not in latest:
            table.add_row(c["id"], "[yellow]none[/]", "", "", "")
            continue
        its = latest[c["id"]]
        state = history.state(its.commit, judge.paths_of(c["id"]))
        table.add_row(c["id"], its.verdict(), its.commit[:12], state, quiet.sentence(its.header.get("pieces", [])))
    tables.print_whole(console, table)
    missing = sum(c["id"] not in latest for c in criteria)
    console.print(f"{len(criteria)} criteria, {missing} without a verdict ({root / results.FOLDER})", highlight=False)


def _print_programs(criteria: list[dict], path: Path, until: float | None, console: Console) -> bool:
    """Runs the programs of the criteria that the recording has no verdicts on. False if some are left when the time is over."""
    known = Recording.load(path).judged
    left = [c for c in criteria if c["kind"] in PRINTERS and c["id"] not in known]
    for number, c in enumerate(left):
        if until is not None and number > 0 and time.monotonic() >= until:
            return False
        rows = PRINTERS[c["kind"]](c, console)
        append(path, {"judged": c["id"], "rows": [asdict(row) for row in rows]})
    return True


@click.command(
    epilog="\b\nExamples:\n  baton perf accept --quick\n  baton perf accept --resume --minutes 20\n  baton perf accept --list",
    cls=_WithCriteria,
)
@click.argument("ids", nargs=-1, metavar="[CRITERION]...")
@click.option(
    "--rounds", type=click.IntRange(6), default=10, show_default=True, help="Fewer than six give no 95 % interval."
)
@click.option("--quick", is_flag=True, help="The quick cells of comparisons with every peer.")
@click.option("--all", "every", is_flag=True, help="Also show passing rows of comparisons with every peer.")
@click.option(
    "--resume", is_flag=True, help="Measure only the runs that the recording lacks, for example after Ctrl-C."
)
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    help="One piece of the recording: begin no run after that time. Exit status 3: others are left; --resume makes the next piece.",
)
@click.option("--list", "listed", is_flag=True, help="Measure nothing: list the criteria with their last verdicts.")
@click.option(
    "--results",
    "root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=CHECKOUT,
    help="Of --list: a checkout with docs/results. Default: this one.",
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), help="Also write the verdicts there, for a document."
)
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Recording; default out/perf/accept.jsonl.gz")
def accept(ids, rounds, quick, every, resume, minutes, listed, root, markdown, out) -> None:
    """Judge every performance criterion of lab/baton_perf/criteria.toml, or those named (also by prefix).

    Exit status: 0 all passed, 1 one failed or could not be measured, 3 a piece has ended and runs are left.
    """
    criteria, console = _chosen(ids), wide_console()
    if listed:
        _list(criteria, root.resolve(), console)
        return
    until = None if minutes is None else time.monotonic() + 60 * minutes
    profile = "quick" if quick else "full"
    jobs = judge.plan(criteria, rounds, profile)
    path = out_path(out, "accept")
    writer = session.open_recording(jobs, path, console, resume)
    begin, before = quiet.times(), len(Recording.load(path).runs)
    whole = _print_programs(criteria, path, until, console)
    if whole:
        session.perform_all(session.missing(jobs, Recording.load(path)), writer, console, until)
    recording = Recording.load(path)
    append(path, {"piece": quiet.piece(begin, quiet.times(), len(recording.runs) - before)})
    left = len(session.missing(jobs, recording))
    if until is not None and (left or not whole):
        console.print(f"{path}: {left} runs are left; the same command with --resume goes on", highlight=False)
        sys.exit(UNFINISHED)
    _finish(criteria, path, profile, markdown, console, every)


def _finish(
    criteria: list[dict], path: Path, profile: str, markdown: Path | None, console: Console, every: bool
) -> None:
    """Judges the recording, appends the verdicts, shows them, and ends the command with their status."""
    recording = Recording.load(path)
    rows = [Row.load(row) for c in criteria for row in recording.judged.get(c["id"], [])]
    rows += judge.judge(criteria, judge.Measured(recording), profile)
    append(path, {"verdicts": [asdict(row) for row in rows]})
    if markdown is not None:
        markdown.write_text(verdicts.markdown(rows, recording.header, recording.pieces), "utf-8")
    verdicts.show(rows, console, brief=not every)
    sys.exit(0 if rows and all(row.passed for row in rows) else 1)
