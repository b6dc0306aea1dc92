# SPDX-License-Identifier: Apache-2.0
"""Runs experiments: rounds over cells over peers, a progress bar, and a recording that survives Ctrl-C."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from . import quiet
from .figures import metric
from .peers import Peer
from .recording import Recording, Writer, append
from .runs import Cell, RunFailed, perform


@dataclass(frozen=True)
class Job:
    experiment: str
    peer: Peer
    variant: str
    round: int
    cell: Cell

    def name(self) -> str:
        return self.peer.called(self.variant)


def possible(peer: Peer, variant: str, cell: Cell) -> bool:
    """False for a cell that this peer cannot run: it is left out of tables, and does not count as a failure."""
    if cell.spin and not peer.can_spin:
        return False
    if variant in peer.one_process_variants and not cell.one_process:
        return False
    if variant in peer.polling_variants and not cell.spin:
        return False  # beside sleepers it would win latency with a whole CPU
    if cell.network and variant not in peer.network_variants:
        return False
    return cell.subscribers <= peer.most_subscribers and cell.bytes <= peer.largest


def schedule(experiment: str, cells: list[Cell], peers: list[tuple[Peer, str]], rounds: int) -> list[Job]:
    """Round by round; within a round cell by cell, the peers of a cell next to each other, in an order that rotates."""
    jobs: list[Job] = []
    for round in range(rounds):
        for number, cell in enumerate(cells):
            shift = (round + number) % max(1, len(peers))
            for peer, variant in peers[shift:] + peers[:shift]:
                if possible(peer, variant, cell):
                    jobs.append(Job(experiment, peer, variant, round, cell))
    return jobs


def missing(jobs: list[Job], recording: Recording) -> list[Job]:
    """The jobs that the recording has no run of."""
    done = {(run["round"], run["peer"], run["variant"], Cell(**run["cell"])) for run in recording.runs}
    return [job for job in jobs if (job.round, job.peer.id, job.variant, job.cell) not in done]


def open_recording(
    jobs: list[Job], path: Path, console: Console, resume: bool = False, absent: dict[str, str] | None = None
) -> Writer:
    """A new recording, or with `resume` the one that is there. `absent`: peers that cannot be measured, with the reason."""
    writer = Writer(path, list({job.peer.id: job.peer for job in jobs}.values()), resume, absent)
    if writer.moved_to is not None:
        console.print(
            f"[dim]the recording that was {path} is now {writer.moved_to}[/]", highlight=False, soft_wrap=True
        )
    return writer


def run(
    jobs: list[Job], path: Path, console: Console, resume: bool = False, absent: dict[str, str] | None = None
) -> bool:
    """Performs the jobs and records them, and how quiet the machine was meanwhile. Ctrl-C ends early, keeps the finished runs, and makes it return
    False. With `resume` runs that the file already has are not repeated."""
    writer = open_recording(jobs, path, console, resume, absent)
    begin, before = quiet.times(), len(Recording.load(path).runs)
    whole = perform_all(missing(jobs, Recording.load(path)) if resume else jobs, writer, console)
    append(path, {"piece": quiet.piece(begin, quiet.times(), len(Recording.load(path).runs) - before)})
    return whole


def perform_all(jobs: list[Job], writer: Writer, console: Console, until: float | None = None) -> bool:
    """Performs the jobs and adds them to the recording. None begins after `until` (time.monotonic()), but for the first one, so that a piece
    however short makes progress. False after Ctrl-C."""
    failures: dict[str, int] = {}
    progress = Progress(
        TextColumn("{task.description}", justify="left"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with progress:
        task = progress.add_task("", total=len(jobs))
        try:
            for number, job in enumerate(jobs):
                if until is not None and number > 0 and time.monotonic() >= until:
                    break
                progress.update(task, description=f"{job.experiment}  {job.name()}  {job.cell.label()}"[:60].ljust(40))
                try:
                    result = perform(job.peer, job.variant, job.cell)
                except RunFailed as problem:
                    result = {"error": str(problem)}
                    key = f"{job.name()} {job.cell.label()}"
                    if key not in failures:
                        console.print(f"[yellow]{key} failed:[/] {problem}", highlight=False)
                    failures[key] = failures.get(key, 0) + 1
                writer.add(job.experiment, job.peer, job.variant, job.round, job.cell, result)
                progress.advance(task)
        except KeyboardInterrupt:
            console.print("[yellow]interrupted; the finished runs are kept[/]")
            return False
    return True


def usable(run: dict) -> bool:
    return metric(run, "hand_over") is not None
