# SPDX-License-Identifier: Apache-2.0
"""The plot and the video of `baton perf robot`, from its recording."""

from __future__ import annotations

import statistics
import subprocess
from pathlib import Path

import matplotlib
import numpy
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from PIL import Image

from . import colors, robot
from .robot_session import Runs, values

# Orange and blues: people who see red and green alike tell them apart.
COLORS = {"tcpros": "#b35c00", "preload": "#5c9bd1", "tzc": colors.BATON, "lotros": "#083d77"}
PARTS = {"L1": "#c9ced6", "L2": "#d95f0e", "L3": "#7570b3", "L4": "#e6e9ee"}
WORDS = {
    "L1": "L1: switch (assumed)",
    "L2": "L2: light to image",
    "L3": "L3: recognition, command",
    "L4": "L4: deceleration",
}
LIT, UNLIT = "#ff3028", "#46100e"
# The video: half of the real speed.
WIDTH, STEP_MS, SLOWER = 480, 50, 2


def _rows(runs: Runs, task: str) -> list[tuple[str, str, list[dict]]]:
    """Label, way and runs of each row, from above."""
    return [
        (f"{way}, {setting.label().partition(', ')[2]}", way, its)
        for (setting, way), its in runs.items()
        if setting.task == task
    ]


def _named(axis: Axes, rows: list, title: str, label: str) -> None:
    axis.set_title(title, loc="left", fontsize=11)
    axis.set_xlabel(label)
    axis.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="x", alpha=0.2)


def _dots(axis: Axes, rows: list, pick) -> None:
    """A dot for each run, a bar at the median."""
    for y, (_, way, its) in enumerate(rows):
        found = values(its, pick)
        if found:
            axis.plot(found, [y] * len(found), "o", ms=5, color=COLORS[way], alpha=0.6, mew=0)
            axis.plot([statistics.median(found)] * 2, [y - 0.3, y + 0.3], color=COLORS[way], lw=2)


def plot(header: dict, runs: Runs) -> Figure:
    """T2, the braking distance split as TZC's Fig. 10, and the stopping angle of Fig. 11 with the images lost."""
    drives, turns = _rows(runs, "drive"), _rows(runs, "turn")
    panels = [*(["T2", "L"] if drives else []), *(["angle"] if turns else [])]
    heights = [max(2, len(turns if panel == "angle" else drives)) for panel in panels]
    figure = Figure(figsize=(8, 1.6 * len(panels) + 0.3 * sum(heights)), layout="constrained")
    axes = dict(zip(panels, figure.subplots(len(panels), 1, height_ratios=heights, squeeze=False)[:, 0], strict=True))
    if drives:
        axis = axes["T2"]
        _named(
            axis,
            drives,
            "T2, from the light to its image: the middleware's share (a dot for each run)",
            "ms; faint: the whole T2",
        )
        _dots(axis, drives, lambda run: run["ms"]["T2_middleware"])
        for y, (_, way, its) in enumerate(drives):
            whole = values(its, lambda run: run["ms"]["T2"])
            axis.plot(whole, [y + 0.25] * len(whole), "|", ms=6, color=COLORS[way], alpha=0.5)
        axis.set_xlim(left=0)
        axis = axes["L"]
        _named(axis, drives, "Braking distance behind the line of the laser switch (TZC, Fig. 10)", "cm; medians")
        for y, (_, _, its) in enumerate(drives):
            left = 0.0
            for part, color in PARTS.items():
                found = values(its, lambda run, part=part: run["cm"][part])
                length = statistics.median(found) if found else 0
                axis.barh(y, length, left=left, color=color, height=0.7, label=WORDS[part] if y == 0 else None)
                left += length
            total = values(its, lambda run: run["cm"]["L"])
            words = f" {statistics.median(total):.1f} cm" if total else " did not stop"
            axis.text(left, y, words, va="center", fontsize=9)
        axis.set_xlim(0, 1.15 * axis.get_xlim()[1])
        axis.legend(loc="upper center", bbox_to_anchor=(0.4, -0.16), ncols=2, fontsize=8, frameon=False)
    if turns:
        axis = axes["angle"]
        _named(
            axis,
            turns,
            "Where the turning robot stops, behind the light (TZC, Fig. 11)",
            "degrees, without whole turns",
        )
        _dots(axis, turns, lambda run: run["angle"])
        axis.set_xlim(left=0)
        right = axis.get_xlim()[1]
        for y, (_, _, its) in enumerate(turns):
            lost = sum(sum(run["lost"].values()) for run in its if "lost" in run)
            sent = sum(len(run["lost"]) * run["published"] for run in its if "lost" in run)
            words = f" {lost} of {sent} images lost"
            if again := sum(run.get("extra_turns", 0) for run in its):
                words += f"; {again} extra turn{'s' * (again > 1)}"
            if missed := sum(not run.get("stopped", True) for run in its):
                words += f"; {missed} never stopped"
            axis.text(right, y, words, va="center", fontsize=8)
    machine = header["machine"]
    figure.supxlabel(
        f"{machine['cpu']}, {machine['cpus']} CPUs; load before: {machine['load_before']:.1f}",
        fontsize=7,
        color="#5b6673",
    )
    return figure


def save_plot(header: dict, runs: Runs, path: Path) -> None:
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text
        plot(header, runs).savefig(path, bbox_inches="tight", dpi=150)


def _median_run(runs: list[dict]) -> dict | None:
    """The run whose braking distance is in the middle."""
    good = sorted((run for run in runs if "cm" in run), key=lambda run: run["cm"]["L"])
    return good[len(good) // 2] if good else None


def _pictures(views: list[tuple[float, int]]) -> list[numpy.ndarray]:
    """The camera's picture, drawn again, smaller."""
    height = WIDTH * 9 // 16
    done = subprocess.run(
        [robot.programs() / "baton_robot_draw", "drive", str(WIDTH)],
        input="".join(f"{travelled} {lit}\n" for travelled, lit in views).encode(),
        capture_output=True,
        check=True,
    )
    return list(numpy.frombuffer(done.stdout, numpy.uint8).reshape(-1, height, WIDTH, 3))


class _Scene:
    """One way's column of the video: the newest image that recognition has, and the robot from above."""

    def __init__(self, figure: Figure, column: int, way: str, run: dict):
        self.run, self.base = run, run["base"]
        self.triggered = self.base["start"] + self.base["trigger"] / self.base["speed"] * 1e9
        self.lit = self.triggered + self.base["delay"]
        frames = {frame[0]: frame for frame in run["seen"]["camera"]}
        self.received = [(row[1], row[0]) for row in run["seen"]["red"] if row[0] in frames]
        views = [(frames[taken][3], int(frames[taken][4])) for _, taken in self.received]
        self.pictures = _pictures(views)
        left = 0.02 + 0.49 * column
        above = figure.add_axes((left, 0.34, 0.47, 0.54))
        above.axis("off")
        above.set_title(robot.WAYS[way], color=COLORS[way], fontsize=13, fontweight="bold")
        self.image = above.imshow(self.pictures[0])
        self.age = above.text(
            6, self.pictures[0].shape[0] - 8, "", color="white", fontsize=11, backgroundcolor=COLORS[way]
        )
        track = figure.add_axes((left, 0.04, 0.47, 0.26))
        track.set(xlim=(-45, 90), ylim=(-22, 30), aspect="equal")
        track.axis("off")
        track.add_patch(Rectangle((-45, -14), 135, 28, color="#e8e4dc"))
        track.plot([0, 0], [-14, 14], color="#b0281c", lw=1)
        track.text(0, -21, "laser switch", ha="center", fontsize=8)
        self.lamp = Circle((84, 20), 5, color=UNLIT)
        self.body = Circle((0, 0), 9, color=COLORS[way])
        track.add_patch(self.lamp)
        track.add_patch(self.body)
        self.words = track.text(-45, 20, "", fontsize=11)

    def at(self, since_ms: float) -> None:
        """Shows the moment `since_ms` after the laser switch."""
        moment = self.triggered + since_ms * 1e6
        newest = max((n for n, (received, _) in enumerate(self.received) if received <= moment), default=0)
        self.image.set_data(self.pictures[newest])
        self.age.set_text(f"recognition's image: {(moment - self.received[newest][1]) / 1e6:.0f} ms old")
        place = (robot.travelled(self.base, moment) - self.base["trigger"]) * 100
        self.body.set_center((place, 0))
        self.lamp.set_color(LIT if moment >= self.lit else UNLIT)
        braking = moment >= self.base["brake"]
        state = "stopped" if moment >= self.base["stop"] else "braking" if braking else "60 cm/s"
        self.words.set_text(f"{place:+.1f} cm, {state}")


def video(runs: Runs, path: Path) -> bool:
    """The drive over TCPROS beside the drive over the last way of Baton, at the greatest load of the recording; the run with the median
    distance of each. False if there are no two such runs."""
    greatest = max((setting.load for setting, _ in runs if setting.task == "drive"), default=0.0)
    chosen = {
        way: run
        for (setting, way), its in runs.items()
        if setting.task == "drive" and setting.load == greatest and (run := _median_run(its))
    }
    if len(chosen) < 2:
        return False
    figure = Figure(figsize=(8, 4), dpi=100)
    canvas = FigureCanvasAgg(figure)
    words = "idle" if greatest == 0 else f"CPU load {greatest:.0%}"
    figure.suptitle(f"A simulated TurtleBot brakes for a red light; {words}; half speed", fontsize=11)
    pair = (next(iter(chosen)), list(chosen)[-1])
    scenes = [_Scene(figure, column, way, chosen[way]) for column, way in enumerate(pair)]
    last = max((scene.base["stop"] - scene.triggered) / 1e6 for scene in scenes) + 100
    frames = []
    for since_ms in numpy.arange(-400, last, STEP_MS):
        for scene in scenes:
            scene.at(since_ms)
        canvas.draw()
        frames.append(Image.fromarray(numpy.asarray(canvas.buffer_rgba())).convert("RGB"))
    durations = [STEP_MS * SLOWER] * (len(frames) - 1) + [2000]
    options = {"quality": 70, "method": 4} if path.suffix == ".webp" else {}
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=durations, loop=0, **options)
    return True
