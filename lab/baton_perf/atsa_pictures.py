# SPDX-License-Identifier: Apache-2.0
"""The pictures of `baton perf atsa`, from the file of its figures: ATSA's Figs. 4, 6, 8, 9, 10 and 11."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import click
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from . import colors
from .significant import digits

# Grey is the share of any RMW; the other colours are the steps that ATSA makes faster.
STEPS = {
    "convert": ("convert", "#d98a3d"),
    "serialize": ("serialize", "#8a63b8"),
    "transport": ("transport", "#c9ced6"),
    "deserialize": ("deserialize", "#2a9d9d"),
    "deconvert": ("de-convert", "#8c6a4f"),
}
OTHER = "#8a949e"
OTHERS = ("#d98a3d", "#8a63b8", "#2a9d9d", "#8c6a4f", "#6b7c8c", "#b0568f", "#a39a1f")
BAR = 0.72


def _color(system: str) -> str:
    return colors.BATON if system in ("baton", "accelerated", "one walk") or system.startswith("rmw") else OTHER


def _stacked(axis: Axes, rows: list[tuple[str, dict[str, float]]], whole: float | None = None) -> None:
    """Horizontal bars from above, each of the steps that it has; with `whole` as percent of it."""
    scale = 100 / whole if whole else 1.0
    for place, (_, steps) in enumerate(rows):
        left = 0.0
        for key, (_, color) in STEPS.items():
            width = max(0.0, steps.get(key, 0.0)) * scale
            axis.barh(place, width, left=left, color=color, height=BAR)
            left += width
        axis.text(left, place, f" {digits(left)}{' %' if whole else ' ms'}", va="center", fontsize=8)
    axis.set_yticks(range(len(rows)), [name for name, _ in rows])
    axis.invert_yaxis()
    axis.set_xlim(right=axis.get_xlim()[1] * 1.15)


def _legend(figure: Figure, keys: list[str]) -> None:
    from matplotlib.patches import Patch

    below = 0.35 / figure.get_figheight()  # inches
    figure.get_layout_engine().set(rect=(0, below, 1, 1 - below))
    patches = [Patch(color=STEPS[key][1], label=STEPS[key][0]) for key in keys]
    figure.legend(handles=patches, loc="lower center", ncols=len(patches), frameon=False, fontsize=9)


def _panels(titles: list[str], height: float) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(8, height * len(titles) + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(len(titles), 1, squeeze=False)[:, 0])
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, loc="left", fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _fig4(recorded: dict) -> Figure:
    """The cost of each step in process, by message."""
    kinds = list(recorded["steps_ms"])
    figure, axes = _panels([f"{kind}: in process, ms" for kind in kinds], 1.25)
    for axis, kind in zip(axes, kinds, strict=True):
        _stacked(axis, list(recorded["steps_ms"][kind].items()))
    _legend(figure, [key for key in STEPS if key != "transport"])
    return figure


def _bars(axis: Axes, systems: dict[str, list[float]]) -> None:
    """Medians of the rounds, with a line from the least to the greatest."""
    rows = [(name, values) for name, values in systems.items() if values]
    for place, (name, values) in enumerate(rows):
        axis.barh(place, median(values), color=_color(name), height=BAR)
        axis.plot([min(values), max(values)], [place, place], color="#1f2933", lw=1)
        axis.text(max(values), place, f"  {digits(median(values))} ms", va="center", fontsize=8)
    axis.set_yticks(range(len(rows)), [name for name, _ in rows])
    axis.invert_yaxis()
    axis.set_xlim(0, axis.get_xlim()[1] * 1.15)


def _fig9(recorded: dict) -> Figure:
    """Figs. 9 and 11: each message's steps, normalized to stock rclpy; and all systems' latencies."""
    latencies, steps = recorded["latency_ms"], recorded.get("steps_ms", {})
    split = {kind: rows for kind, rows in steps.items() if "rclpy" in rows}
    titles = [f"{kind}: percent of stock rclpy, by step (Fig. 9)" for kind in split]
    titles += [
        f"{kind}: process to process, ms, median of the rounds" + " (Fig. 11)" * (kind == "workflow")
        for kind in latencies
    ]
    longest = max(len([v for v in systems.values() if v]) for systems in latencies.values())
    figure, axes = _panels(titles, 0.75 + 0.12 * longest)
    for axis, (_, rows) in zip(axes, split.items(), strict=False):
        _stacked(axis, list(rows.items()), sum(rows["rclpy"].values()))
    for axis, systems in zip(axes[len(split) :], latencies.values(), strict=True):
        _bars(axis, systems)
    if split:
        _legend(figure, list(STEPS))
    return figure


def _fig6(recorded: dict) -> Figure:
    """The cost by number of conversions."""
    figure, (axis,) = _panels(["10,000 float64 in sixteen shapes: cost by number of conversions"], 4)
    order = sorted(range(len(recorded["conversions"])), key=lambda n: recorded["conversions"][n])
    for number, (name, costs) in enumerate(recorded["cost_ms"].items()):
        x = [recorded["conversions"][n] for n in order]
        own = name == "baton"
        axis.plot(x, [costs[n] for n in order], marker="o", ms=4 if own else 3, lw=2.2 if own else 1.2, label=name,
                  color=colors.BATON if own else OTHERS[number % len(OTHERS)])  # fmt: skip
    axis.set_xlabel("conversions")
    axis.set_xscale("log")
    axis.set_ylabel("ms")
    axis.set_yscale("log")
    axis.legend(frameon=False, fontsize=9, ncols=2)
    return figure


def _fig8(recorded: dict) -> Figure:
    """The mean cost of publishing by threshold."""
    figure, (axis,) = _panels(["The mean cost of publishing the five messages, by threshold"], 3.5)
    rows = recorded["thresholds"]
    axis.plot([row["threshold"] for row in rows], [row["mean_ms"] for row in rows], marker="o", color=colors.BATON)
    own = recorded.get("own_threshold")
    if own is not None and own >= 0:
        axis.axvline(own, color=OTHER, lw=1, ls="--", label=f"this machine's own: {own:.0f}")
        axis.legend(frameon=False, fontsize=9)
    axis.set_xlabel("threshold")
    axis.set_ylabel("ms")
    axis.set_ylim(bottom=0)
    return figure


def _fig10(recorded: dict) -> Figure:
    """Each algorithm forced, and the choice."""
    figure, axes = _panels(
        [f"{kind}: process to process, ms, median of the rounds" for kind in recorded["latency_ms"]], 1.6
    )
    for axis, systems in zip(axes, recorded["latency_ms"].values(), strict=True):
        _bars(axis, systems)
    return figure


DRAWN: dict[str, Callable[[dict], Figure]] = {
    "latencies": _fig9,
    "algorithms": _fig10,
    "steps": _fig4,
    "table1": _fig6,
    "threshold": _fig8,
}


def save(file: Path, picture: Path) -> bool:
    """Draws the file of `baton perf atsa --json`. False for a figure that has no picture."""
    try:
        recorded = json.loads(file.read_text())
        draw = DRAWN.get(recorded["what"])
        if draw is None:
            return False
        figure = draw(recorded)
    except (ValueError, KeyError) as problem:
        raise click.ClickException(f"{file} is no file of `baton perf atsa --json`: {problem}") from problem
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture)
    return True
