# SPDX-License-Identifier: Apache-2.0
"""`baton perf robot`: runs, a recording, a table, a plot and a video. Table, plot and video are made from the recording only."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import quiet, robot, verdicts
from .recording import Recording, Writer, append
from .robot import Setting
from .runs import RunFailed

EXPERIMENT = "robot"
Runs = dict[tuple[Setting, str], list[dict]]  # by setting and way, in the order of the recording


def run(
    path: Path,
    ways: Sequence[str],
    tasks: Sequence[str],
    loads: Sequence[float],
    rounds: int,
    width: int,
    queue: int,
    console: Console,
) -> bool:
    """Performs and records all runs, round by round, and within a setting one way after the other in an order that rotates. Ctrl-C ends
    early and keeps what was measured: then it returns False."""
    robot.programs()
    settings = [Setting(task, load, width, queue) for task in dict.fromkeys(tasks) for load in dict.fromkeys(loads)]
    ways = list(dict.fromkeys(ways))
    begin = quiet.times()
    writer = Writer(path, [])
    if writer.moved_to is not None:
        console.print(f"[dim]the recording that was {path} is now {writer.moved_to}[/]", highlight=False)
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    with progress:
        bar = progress.add_task("", total=rounds * len(settings) * len(ways))
        try:
            for round in range(rounds):
                for number, setting in enumerate(settings):
                    shift = (round + number) % len(ways)
                    for way in ways[shift:] + ways[:shift]:
                        progress.update(bar, description=f"{setting.label()}, {way}".ljust(28))
                        try:
                            result = robot.perform(way, setting)
                        except RunFailed as problem:
                            result = {"error": str(problem)}
                            console.print(f"[yellow]{setting.label()}, {way} failed:[/] {problem}", highlight=False)
                        head = {"experiment": EXPERIMENT, "peer": "roscpp", "variant": way, "round": round}
                        append(path, {**head, "cell": asdict(setting), **result})
                        progress.advance(bar)
        except KeyboardInterrupt:
            console.print("[yellow]interrupted; the finished runs are kept[/]")
            return False
        finally:
            append(path, {"piece": quiet.piece(begin, quiet.times(), rounds * len(settings) * len(ways))})
    append(path, {"verdicts": [asdict(row) for row in judge(load(path)[1])]})
    return True


def load(path: Path) -> tuple[dict, Runs]:
    """A recording's header and its runs."""
    recording = Recording.load(path)
    runs: Runs = {}
    for line in recording.runs:
        if line["experiment"] != EXPERIMENT:
            raise click.ClickException(f"{path} is no recording of `baton perf robot`")
        runs.setdefault((Setting(**line["cell"]), line["variant"]), []).append(line)
    order = list(robot.WAYS)
    return recording.header, dict(
        sorted(runs.items(), key=lambda item: (item[0][0].task, item[0][0].load, order.index(item[0][1])))
    )


def values(runs: list[dict], pick: Callable[[dict], float]) -> list[float]:
    """Of the runs that ended as they should, sorted."""
    return sorted(pick(run) for run in runs if "ms" in run or "angle" in run)


def _words(numbers: list[float], digits: int, spread: bool) -> str:
    if not numbers:
        return "-"
    words = f"{statistics.median(numbers):.{digits}f}"
    return words if not spread or len(numbers) == 1 else f"{words} ({numbers[0]:.{digits}f}..{numbers[-1]:.{digits}f})"


# Column -> the function that reads it from a run.
DRIVE = {
    "T2, ms": lambda run: run["ms"]["T2"],
    "of the middleware": lambda run: run["ms"]["T2_middleware"],
    "T3, ms": lambda run: run["ms"]["T3"],
    "L2, cm": lambda run: run["cm"]["L2"],
    "L, cm": lambda run: run["cm"]["L"],
}
TURN = {
    "degrees behind the light": lambda run: run["angle"],
    "extra turns": lambda run: run["extra_turns"],
}
BOTH = {
    "hand-over, ms": lambda run: run["hand_over_ms"],
    "images lost, %": lambda run: 100 * sum(run["lost"].values()) / (len(run["lost"]) * run["published"]),
    "drawing, ms": lambda run: run["drawing_ms"],
}


WITH_SPREAD = ("T2, ms", "L, cm", *TURN)


TITLES = {"drive": "Braking distance (TZC, Fig. 10)", "turn": "Stopping angle (TZC, Fig. 11)"}


def rows(runs: Runs, task: str) -> list[dict[str, str]]:
    """A table's rows, column by column; empty without a run of the task."""
    shown = (DRIVE if task == "drive" else TURN) | BOTH
    found = []
    for (setting, way), its in runs.items():
        if setting.task == task:
            good = len(values(its, lambda _: 0))
            row = {
                "load": f"{setting.load:.0%}",
                "way": robot.WAYS[way],
                "runs": f"{good}" if good == len(its) else f"{good} of {len(its)}",
            }
            for name, pick in shown.items():
                row[name] = _words(values(its, pick), 0 if name == "extra turns" else 1, name in WITH_SPREAD)
            found.append(row)
    return found


def table(found: list[dict[str, str]], title: str) -> Table:
    result = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        caption="median (least..greatest) of the runs",
        caption_justify="left",
    )
    for name in found[0]:
        left = name in ("load", "way")
        result.add_column(name, justify="left" if left else "right", no_wrap=left or name in WITH_SPREAD)
    for row in found:
        result.add_row(*row.values())
    return result


def markdown(header: dict, runs: Runs) -> str:
    """The same tables for a document."""
    machine = header["machine"]
    averages = [run["load_average"] for its in runs.values() for run in its if "load_average" in run]
    lines = [
        f"`{header['command']}` of {header['build']['commit'][:12]}, on {machine['cpu']} ({machine['virtual'] or 'not virtual'}) with "
        f"{machine['cpus']} CPUs and {machine['memory_gb']:.0f} GB, Linux {machine['kernel']}; load average before the runs "
        f"{min(averages):.1f} to {max(averages):.1f}, with what the runs before left in it."
    ]
    for task in robot.TASKS:
        found = rows(runs, task)
        if found:
            lines += ["", f"{TITLES[task]}; median (least..greatest) of the runs:", ""]
            lines += ["| " + " | ".join(found[0]) + " |", "|" + " --- |" * len(found[0])]
            lines += ["| " + " | ".join(row.values()) + " |" for row in found]
    return "\n".join(lines) + "\n"


# TZC, section IV-E: the paper's numbers with TZC, divided by those with ROS.
BRAKING_BAR = 53 / 63  # cm
LIGHT_TO_IMAGE_BAR = 1 / 160  # ms
ANGLE_BAR = 30 / (360 + 60)  # degrees; with ROS after one more turn
JUDGED: tuple[tuple[str, str, Callable[[dict], float], float], ...] = (
    ("drive", "braking distance", lambda run: run["cm"]["L"], BRAKING_BAR),
    ("drive", "the middleware's share of the time from the light to the image", lambda run: run["ms"]["T2_middleware"], LIGHT_TO_IMAGE_BAR),
    ("turn", "angle behind the light, with extra turns", lambda run: run["angle"] + 360 * run["extra_turns"], ANGLE_BAR),
)  # fmt: skip


def ratios(runs: Runs, task: str, way: str, pick: Callable[[dict], float]) -> list[float]:
    """The way by TCPROS in each round in which both ended as they should, under the heaviest load."""
    loads = [setting.load for (setting, _) in runs if setting.task == task]
    by_way: dict[str, dict[int, float]] = {"tcpros": {}, way: {}}
    for (setting, its_way), its in runs.items():
        if setting.task == task and setting.load == max(loads) and its_way in by_way:
            by_way[its_way] = {run["round"]: pick(run) for run in its if values([run], lambda _: 0)}
    both = by_way["tcpros"].keys() & by_way[way].keys()
    return [by_way[way][round] / by_way["tcpros"][round] for round in sorted(both) if by_way["tcpros"][round] > 0]


def judge(runs: Runs, way: str = "tzc") -> list[verdicts.Row]:
    """A verdict on each number of the paper that the recording has both ways for."""
    rows = []
    for task, what, pick, bar in JUDGED:
        if found := ratios(runs, task, way, pick):
            words = f"{what}, {robot.WAYS[way]} by TCPROS"
            rows.append(verdicts.of_rounds("robot", words, found, "x", bar, f"{len(found)} rounds"))
    return rows


def show(path: Path, plot: Path, video: Path, document: Path | None, console: Console) -> None:
    header, runs = load(path)
    for task in robot.TASKS:
        if found := rows(runs, task):
            console.print(table(found, TITLES[task]))
    for row in judge(runs):
        verdicts.print_row(row)
    if document is not None:
        document.write_text(markdown(header, runs), "utf-8")
    console.print(f"recorded in {path}", highlight=False)
    if importlib.util.find_spec("matplotlib") is None:
        console.print("no plot and no video without matplotlib: pip install matplotlib, or baton-ipc[perf]")
        return
    from . import robot_pictures

    robot_pictures.save_plot(header, runs, plot)
    console.print(f"plot: {plot}", highlight=False)
    if robot_pictures.video(runs, video):
        console.print(f"video: {video}", highlight=False)
    else:
        console.print("no video: no two ways braked for the light in a drive", highlight=False)
