# SPDX-License-Identifier: Apache-2.0
"""`baton perf slam`: runs, a recording, two tables and a plot. Tables and plot are made from the recording only."""

from __future__ import annotations

import importlib.util
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from . import quiet, slam, verdicts
from .figures import Interval, median_interval
from .recording import Recording, Writer, append
from .runs import RunFailed
from .slam import OUTPUTS, WAYS, Case
from .trajectory import read_truth, trajectory_error

EXPERIMENT = "slam"
Runs = dict[tuple[Case, str], list[dict]]  # by case and way, in the order of the recording


@dataclass(frozen=True)
class Input:
    """A case, where its sequence is (None: it is rendered), and the camera's calibration."""

    case: Case
    sequence: Path | None
    camera: dict[str, float]


def run(path: Path, inputs: Sequence[Input], rounds: int, console: Console) -> bool:
    """Performs and records all runs, round by round, and within a case one way after the other in an order that rotates. Ctrl-C ends early and
    keeps what was measured: then it returns False."""
    slam.programs()
    with tempfile.TemporaryDirectory(prefix="baton-slam-sequences-") as directory:
        ready = []
        for given in inputs:
            sequence = given.sequence or Path(directory, given.case.name)
            if given.sequence is None:
                with console.status(f"rendering {given.case.label()}"):
                    slam.generate(given.case, sequence)
            ready.append((given, sequence, read_truth(sequence)))
        begin = quiet.times()
        writer = Writer(path, [])
        if writer.moved_to is not None:
            console.print(f"[dim]the recording that was {path} is now {writer.moved_to}[/]", highlight=False)
        for given, _, truth in ready:
            append(path, {"experiment": EXPERIMENT, "cell": asdict(given.case), "truth": truth.tolist()})
        progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
        )
        ways = list(WAYS)
        with progress:
            bar = progress.add_task("", total=rounds * len(ready) * len(ways))
            try:
                for round in range(rounds):
                    for given, sequence, _ in ready:
                        shift = round % len(ways)
                        for way in ways[shift:] + ways[:shift]:
                            progress.update(bar, description=f"{given.case.name}, {way}".ljust(24))
                            try:
                                result = slam.perform(way, given.case, sequence, given.camera)
                            except RunFailed as problem:
                                result = {"error": str(problem)}
                                console.print(f"[yellow]{given.case.name}, {way} failed:[/] {problem}", highlight=False)
                            head = {"experiment": EXPERIMENT, "peer": "roscpp", "variant": way, "round": round}
                            append(path, {**head, "cell": asdict(given.case), **result})
                            progress.advance(bar)
            except KeyboardInterrupt:
                console.print("[yellow]interrupted; the finished runs are kept[/]")
                return False
            finally:
                append(path, {"piece": quiet.piece(begin, quiet.times(), rounds * len(ready) * len(ways))})
        append(path, {"verdicts": [asdict(row) for row in judge(load(path))]})
    return True


@dataclass(frozen=True)
class Measured:
    """What a recording holds."""

    header: dict
    runs: Runs
    truths: dict[Case, numpy.ndarray]

    def cases(self) -> list[Case]:
        return list(self.truths)

    def good(self, case: Case, way: str) -> list[dict]:
        """The runs that ended as they should."""
        return [run for run in self.runs.get((case, way), []) if "error" not in run]

    def pairs(self, case: Case) -> list[tuple[dict, dict]]:
        """Of each round in which both ways ended as they should: the stock and the recompiled run."""
        stock, recompiled = ({run["round"]: run for run in self.good(case, way)} for way in WAYS)
        return [(stock[round], recompiled[round]) for round in sorted(stock.keys() & recompiled.keys())]

    def pooled(self, case: Case, way: str, output: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Latency and computing of all images of all runs, ms."""
        runs = self.good(case, way)
        latency, computing = (
            numpy.concatenate([run[column][output] for run in runs]) if runs else numpy.array([])
            for column in ("latency_ms", "computing_ms")
        )
        return latency, computing

    def reduction(self, case: Case, output: str) -> Interval | None:
        """By how many percent of stock ROS's the recompiled nodes' mean latency is smaller: the median over rounds."""
        ratios = [
            100 * (1 - numpy.mean(own["latency_ms"][output]) / numpy.mean(stock["latency_ms"][output]))
            for stock, own in self.pairs(case)
            if own["latency_ms"][output] and stock["latency_ms"][output]
        ]
        return median_interval(ratios) if ratios else None


def load(path: Path) -> Measured:
    recording = Recording.load(path)
    runs: Runs = {}
    truths: dict[Case, numpy.ndarray] = {}
    for line in recording.runs:
        if line["experiment"] != EXPERIMENT:
            raise click.ClickException(f"{path} is no recording of `baton perf slam`")
        case = Case(**line["cell"])
        if "truth" in line:
            truths[case] = numpy.array(line["truth"])
        else:
            runs.setdefault((case, line["variant"]), []).append(line)
    return Measured(recording.header, runs, truths)


def _signed(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval.middle:.1f} ({interval.low:.1f}..{interval.high:.1f})"


def latency_rows(measured: Measured, case: Case) -> list[dict[str, str]]:
    """The latency table's rows, column by column."""
    found = []
    for output, words in OUTPUTS.items():
        for way in WAYS:
            latency, computing = measured.pooled(case, way, output)
            if latency.size == 0:
                continue
            transport = latency - computing
            found.append(
                {
                    "output": words,
                    "nodes": WAYS[way],
                    "mean, ms": f"{latency.mean():.1f}",
                    "p50": f"{numpy.median(latency):.1f}",
                    "p99": f"{numpy.quantile(latency, 0.99):.1f}",
                    "computing": f"{computing.mean():.1f}",
                    "transport": f"{transport.mean():.1f}",
                    "its share, %": f"{100 * transport.mean() / latency.mean():.0f}",
                    "less than ROS, %": "" if way == "stock" else _signed(measured.reduction(case, output)),
                    "lost": f"{sum(run['lost'][output] for run in measured.good(case, way))}",
                }
            )
    return found


def same_outputs(measured: Measured, case: Case) -> tuple[int, int]:
    """Of the outputs that both ways gave for the same image: how many are the same, byte for byte; and how many there are."""
    same = all_of_them = 0
    for stock, own in measured.pairs(case):
        for output in OUTPUTS:
            first, second = stock["contents"][output], own["contents"][output]
            both = first.keys() & second.keys()
            same += sum(first[moment] == second[moment] for moment in both)
            all_of_them += len(both)
    return same, all_of_them


def trajectory_rows(measured: Measured) -> list[dict[str, str]]:
    found = []
    for case in measured.cases():
        same, all_of_them = same_outputs(measured, case)
        for way in WAYS:
            runs = measured.good(case, way)
            if not runs:
                continue
            errors = [100 * trajectory_error(measured.truths[case], *slam.trajectory(run))[0] for run in runs]
            failed = len(measured.runs[case, way]) - len(runs)
            found.append(
                {
                    "case": case.label(),
                    "nodes": WAYS[way],
                    "runs": f"{len(runs)}" + (f" of {len(runs) + failed}" if failed else ""),
                    "images": f"{sum(run['images'] for run in runs)}",
                    "lost": f"{sum(run['lost']['image'] for run in runs)}",
                    "with a pose": f"{sum(run['located'] for run in runs)}",
                    "trajectory error, cm": f"{statistics.median(errors):.2f} ({min(errors):.2f}..{max(errors):.2f})",
                    "outputs like ROS's": "" if way == "stock" else f"{same} of {all_of_them}",
                }
            )
    return found


# The alignment with the truth fits 7 numbers (rotation, translation and scale), so that it hides the error of a few poses.
FEW_POSES = 20


def few_poses(measured: Measured) -> list[str]:
    """A warning for each case whose runs found so few poses that their trajectory error says little."""
    warnings = []
    for case in measured.cases():
        runs = [run for way in WAYS for run in measured.good(case, way)]
        fewest = min(runs, key=lambda run: run["located"], default=None)
        if fewest is not None and fewest["located"] < FEW_POSES:
            warnings.append(
                f"{case.label()}: a run found {fewest['located']} poses in {fewest['images']} images. The trajectory error of fewer than "
                f"{FEW_POSES} says little, and so do the latencies of so few outputs; give more images (--images), as the camera "
                "has to move before there is a first pose"
            )
    return warnings


TRAJECTORY_TITLE = (
    "Trajectory against the truth: absolute error (root mean square), median (least..greatest) of the runs"
)


def latency_title(case: Case) -> str:
    return f"{case.label()}; from the creation of the input image to the reception of the output"


def _table(found: list[dict[str, str]], title: str) -> Table:
    result = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in found[0]:
        result.add_column(name, justify="left" if name in ("output", "nodes", "case") else "right", no_wrap=True)
    for row in found:
        result.add_row(*row.values())
    return result


def markdown(measured: Measured) -> str:
    """The same tables for a document."""
    header, machine = measured.header, measured.header["machine"]
    averages = [run["load_average"] for its in measured.runs.values() for run in its if "load_average" in run]
    lines = [
        f"`{header['command']}` of {header['build']['commit'][:12]}, on {machine['cpu']} ({machine['virtual'] or 'not virtual'}) with "
        f"{machine['cpus']} CPUs and {machine['memory_gb']:.0f} GB, Linux {machine['kernel']}; load average before the runs "
        f"{min(averages):.1f} to {max(averages):.1f}, with what the runs before left in it."
    ]
    tables = [(latency_title(case), latency_rows(measured, case)) for case in measured.cases()]
    for title, found in [*tables, (TRAJECTORY_TITLE, trajectory_rows(measured))]:
        if found:
            lines += ["", f"**{title}:**", "", "| " + " | ".join(found[0]) + " |", "|" + " --- |" * len(found[0])]
            lines += ["| " + " | ".join(row.values()) + " |" for row in found]
    lines += [f"\nWarning: {warning}." for warning in few_poses(measured)]
    return "\n".join(lines) + "\n"


BAR = 0.95  # ROS-SF, section 5.3: about 5 % less over all


def judge(measured: Measured) -> list[verdicts.Row]:
    """A verdict on each case: the mean latency of all outputs together, recompiled by stock, round by round."""
    rows = []
    for case in measured.cases():
        ratios = []
        for stock, own in measured.pairs(case):
            both = [o for o in OUTPUTS if stock["latency_ms"][o] and own["latency_ms"][o]]
            if both:
                mine, theirs = (numpy.mean([numpy.mean(run["latency_ms"][o]) for o in both]) for run in (own, stock))
                ratios.append(float(mine / theirs))
        if ratios:
            what = f"{case.label()}: latency of all outputs, {WAYS['recompiled']} by stock"
            rows.append(verdicts.of_rounds("slam", what, ratios, "x", BAR, f"{len(ratios)} rounds"))
    return rows


def show(path: Path, plot: Path, document: Path | None, console: Console) -> None:
    measured = load(path)
    if not any(measured.good(*key) for key in measured.runs):
        errors = dict.fromkeys(run["error"] for its in measured.runs.values() for run in its)
        raise click.ClickException("no run ended as it should: " + ("; ".join(errors) or "there was none"))
    tables = [(latency_title(case), latency_rows(measured, case)) for case in measured.cases()]
    for title, found in [*tables, (TRAJECTORY_TITLE, trajectory_rows(measured))]:
        if found:
            console.print(_table(found, title))
    for warning in few_poses(measured):
        console.print(f"[yellow]{warning}[/]", highlight=False, soft_wrap=True)
    for row in judge(measured):
        verdicts.print_row(row)
    if document is not None:
        document.write_text(markdown(measured), "utf-8")
    console.print(f"recorded in {path}", highlight=False)
    if importlib.util.find_spec("matplotlib") is None:
        console.print("no plot without matplotlib: pip install matplotlib, or baton-ipc[perf]")
        return
    from . import slam_pictures

    slam_pictures.save_plot(measured, plot)
    console.print(f"plot: {plot}", highlight=False)
