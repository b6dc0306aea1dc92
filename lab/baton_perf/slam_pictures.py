# SPDX-License-Identifier: Apache-2.0
"""The plot of `baton perf slam`, from its recording: ROS-SF's Fig. 18, with the parts of the latency, and the trajectory."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from . import colors, slam
from .slam import OUTPUTS, WAYS, Case
from .slam_session import Measured
from .trajectory import trajectory_error

# Those of robot_pictures.py: orange is stock ROS, blue is Baton.
COLORS = {"stock": "#d98a3d", "recompiled": colors.BATON}
COMPUTING, INK, FAINT = "#c9ced6", "#1f2933", "#5b6673"
HEIGHT, GAP = 0.36, 0.03


def _latencies(axis: Axes, measured: Measured, case: Case) -> None:
    """For each output two bars: the mean, split into computing and transport; a line from the 5th to the 95th percentile."""
    longest = 0.0
    for place, output in enumerate(OUTPUTS):
        for side, way in zip((-1, 1), WAYS, strict=True):
            latency, computing = measured.pooled(case, way, output)
            if latency.size == 0:
                continue
            y = place + side * (HEIGHT + GAP) / 2
            mean, work = latency.mean(), computing.mean()
            low, high = numpy.quantile(latency, [0.05, 0.95])
            axis.barh(y, work, color=COMPUTING, height=HEIGHT)
            axis.barh(y, mean - work, left=work, color=COLORS[way], height=HEIGHT)
            axis.plot([low, high], [y, y], color=INK, lw=1, solid_capstyle="butt")
            axis.plot([low, high], [y, y], "|", color=INK, ms=5)
            words = f"{mean:.1f} ms"
            if way != "stock" and (less := measured.reduction(case, output)) is not None:
                words += f", {less.middle:.0f} % less" if less.middle >= 0 else f", {-less.middle:.0f} % more"
            axis.annotate(
                words,
                (max(high, mean), y),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=COLORS[way] if way != "stock" else INK,
                fontweight="bold" if way != "stock" else "normal",
            )
            longest = max(longest, high, mean)
    axis.set_title(case.label(), loc="left", fontsize=11)
    axis.set_yticks(range(len(OUTPUTS)), list(OUTPUTS.values()))
    axis.set_ylim(len(OUTPUTS) - 0.45, -0.55)
    axis.set_xlim(0, 1.32 * longest)
    axis.tick_params(axis="y", length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.grid(axis="x", alpha=0.25)
    axis.set_axisbelow(True)


def _trajectories(axis: Axes, measured: Measured, case: Case) -> None:
    """The camera's way from above: the truth, and what the first run of each way found."""
    truth = measured.truths[case]
    errors = {}
    for way, style in zip(WAYS, ({"lw": 4.5}, {"lw": 1.3}), strict=True):
        runs = measured.good(case, way)
        if not runs:
            continue
        times, positions = slam.trajectory(runs[0])
        error, aligned = trajectory_error(truth, times, positions)
        errors[way] = f"{100 * error:.2f} cm"
        if len(errors) == 1:
            part = truth[truth[:, 0] <= max(times)]
            axis.plot(part[:, 1], part[:, 2], color=INK, lw=10, alpha=0.16, solid_capstyle="round")
        axis.plot(aligned[:, 0], aligned[:, 1], color=COLORS[way], zorder=3, **style)
    axis.set_aspect("equal", adjustable="datalim")
    axis.set_xlabel("seen from above, meters", fontsize=8, color=FAINT)
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.yaxis.set_major_locator(MaxNLocator(5))
    axis.tick_params(labelsize=8, colors=FAINT)
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(alpha=0.25)
    equal = len(set(errors.values())) == 1
    words = f"both {next(iter(errors.values()))}" if equal and len(errors) == 2 else ", ".join(errors.values())
    axis.set_title(f"trajectory error: {words}", loc="left", fontsize=9, color=FAINT)


def plot(measured: Measured) -> Figure:
    cases = [case for case in measured.cases() if any(measured.good(case, way) for way in WAYS)]
    figure = Figure(figsize=(10, 0.9 + 2.5 * len(cases)), layout="constrained")
    axes = figure.subplots(len(cases), 2, width_ratios=[2.6, 1], squeeze=False)
    for row, case in enumerate(cases):
        _latencies(axes[row, 0], measured, case)
        _trajectories(axes[row, 1], measured, case)
    axes[-1, 0].set_xlabel("mean latency, ms: from the creation of the input image to the reception of the output")
    figure.legend(
        handles=[
            Patch(color=COMPUTING, label="computing of the SLAM node"),
            Patch(color=COLORS["stock"], label="construction and transport: ROS"),
            Patch(color=COLORS["recompiled"], label="the same, recompiled"),
            Line2D([], [], color=INK, lw=1, marker="|", label="5 % to 95 % of the images"),
            Line2D([], [], color=INK, lw=10, alpha=0.16, label="true trajectory"),
        ],
        loc="outside upper center",
        ncols=5,
        fontsize=8,
        frameon=False,
        handlelength=1.4,
        columnspacing=1.2,
    )
    machine = measured.header["machine"]
    figure.supxlabel(
        f"{machine['cpu']}, {machine['cpus']} CPUs; load before: {machine['load_before']:.1f}", fontsize=7, color=FAINT
    )
    return figure


def save_plot(measured: Measured, path: Path) -> None:
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # text stays text
        plot(measured).savefig(path, bbox_inches="tight", dpi=150)
