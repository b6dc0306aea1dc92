# SPDX-License-Identifier: Apache-2.0
"""The report's plots: each takes a View and gives SVG texts."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib
import numpy

matplotlib.use("svg")
import matplotlib.pyplot as plt

from . import figures, tables
from .runs import Cell, size_text
from .view import FIRST_COLOR, View

plt.rcParams |= {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "svg.fonttype": "none",
    "legend.frameon": False,
}


def svg(figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    plt.close(figure)
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def latency_axis(axis, view: View) -> None:
    axis.set_yscale("log")
    axis.set_ylabel(_unit(view))


def _unit(view: View) -> str:
    return f"µs, {tables.clock_word(view.clock)}"


def legend(figure, axis) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(labels) // 15, fontsize=8
    )


# The settings besides size and ends by which an experiment's cells may differ, in a title's words.
VARIED: dict[str, Callable] = {
    "pinned": lambda on: "pinned" if on else "not pinned",
    "connect_in_order": lambda on: "connected in order" if on else "connected in any order",
    "isolation": lambda kind: {"container": "one container", "containers": "separate containers"}.get(kind, kind),
    "priority": lambda priority: f"FIFO {priority}" if priority else "no real-time priority",
    "load": lambda load: f"load {load:.0%}",
    "varying": lambda on: "varying size" if on else "fixed size",
}


def _variants(view: View) -> list[tuple[str, dict]]:
    """The combinations of VARIED that occur, each with its title: words for what differs or is not the default."""
    usual = Cell()
    differs = {key for key in VARIED if len(view.distinct(key)) > 1}
    seen: dict[str, dict] = {}
    for run in view.good:
        wanted = {key: getattr(tables.cell_of(run), key) for key in VARIED}
        words = [VARIED[k](v) for k, v in wanted.items() if k in differs or v != getattr(usual, k)]
        seen.setdefault(", ".join(words), wanted)
    return list(seen.items())


def _title(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _subscribers(count: int) -> str:
    return f"{count} subscriber{'s' * (count > 1)}"


def lines_over_size(view: View) -> list[str]:
    out = []
    if len(view.distinct("bytes")) < 2:
        return out  # one point makes no line; boxes and table show it
    for title, wanted in _variants(view):
        for subscribers in view.distinct("subscribers"):
            figure, axis = plt.subplots(figsize=(7.2, 3.8))
            for name in view.names:
                points = []
                for size in view.distinct("bytes"):
                    v = view.values(name, bytes=size, subscribers=subscribers, **wanted)
                    if len(v):
                        points.append((size, numpy.median(v), numpy.quantile(v, 0.99)))
                if points:
                    x, p50, p99 = zip(*points, strict=True)
                    bold = name == "baton"
                    axis.plot(
                        x,
                        p50,
                        marker="o",
                        ms=3,
                        lw=2.2 if bold else 1.1,
                        color=view.color(name),
                        ls=view.stroke(name),
                        label=name,
                        zorder=3 if bold else 2,
                    )
                    axis.fill_between(x, p50, p99, color=view.color(name), alpha=0.12 if bold else 0.05, lw=0)
            axis.set_xscale("log", base=2)
            axis.set_xticks(view.distinct("bytes"), [size_text(b) for b in view.distinct("bytes")])
            axis.minorticks_off()
            latency_axis(axis, view)
            axis.set_title(_title("median over size (band up to p99)", _subscribers(subscribers), title), loc="left")
            legend(figure, axis)
            out.append(svg(figure))
    return out


def lines_over_subscribers(view: View) -> list[str]:
    out = []
    for size in view.distinct("bytes"):
        figure, axis = plt.subplots(figsize=(5.2, 3.2))
        for name in view.names:
            points = []
            for subscribers in view.distinct("subscribers"):
                v = view.values(name, bytes=size, subscribers=subscribers)
                if len(v):
                    points.append((subscribers, numpy.median(v)))
            if points:
                axis.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    ms=3,
                    lw=2.2 if name == "baton" else 1.1,
                    color=view.color(name),
                    ls=view.stroke(name),
                    label=name,
                )
        axis.set_xticks(view.distinct("subscribers"))
        axis.set_xlabel("subscribers")
        latency_axis(axis, view)
        axis.set_title(f"median, {size_text(size)}", loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


BOX_STYLE = {
    "whis": (1, 99),
    "showfliers": False,
    "patch_artist": True,
    "medianprops": {"color": "black", "lw": 1},
    "boxprops": {"lw": 0.6},
    "whiskerprops": {"lw": 0.6},
    "capprops": {"lw": 0.6},
}
BOX_TITLE = " (box: quartiles, whiskers: p1 and p99)"
MANY = 10  # boxes that can be told apart by color


def _boxes(view: View, groups: list[tuple[str, Callable[[str], numpy.ndarray]]], title: str) -> str:
    """Groups of boxes side by side; whiskers at p1 and p99, no outliers drawn (the table has the maximum)."""
    if len(view.names) > MANY:
        return _named_boxes(view, groups, title)
    width = max(6.0, 0.16 * len(groups) * len(view.names) + 2)
    figure, axis = plt.subplots(figsize=(min(width, 14), 3.6))
    step = 0.8 / max(1, len(view.names))
    for g, (_, values) in enumerate(groups):
        for n, name in enumerate(view.names):
            v = values(name)
            if len(v) == 0:
                continue
            box = axis.boxplot([v], positions=[g - 0.4 + step * (n + 0.5)], widths=step * 0.85, **BOX_STYLE)
            box["boxes"][0].set_facecolor(view.color(name))
    axis.set_xticks(range(len(groups)), [label for label, _ in groups])
    latency_axis(axis, view)
    axis.grid(axis="x", visible=False)
    axis.set_title(title + BOX_TITLE, loc="left")
    handles = [plt.Rectangle((0, 0), 1, 1, facecolor=view.color(name)) for name in view.names]
    figure.legend(handles, view.names, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=8)
    return svg(figure)


def _named_boxes(view: View, groups: list[tuple[str, Callable[[str], numpy.ndarray]]], title: str) -> str:
    """For many peers: a column for every group, a row for every peer, whose name stands beside it; the fastest on top."""
    values = {name: [of(name) for _, of in groups] for name in view.names}
    # By the mean logarithm of the medians, so that every group counts alike.
    place = {
        name: numpy.mean([numpy.log(max(numpy.median(v), 1e-3)) for v in each if len(v)])
        for name, each in values.items()
        if any(len(v) for v in each)
    }
    names = sorted(place, key=place.__getitem__)
    figure, axes = plt.subplots(
        1,
        len(groups),
        figsize=(max(2.4, 7.2 / len(groups)) * len(groups) + 1.5, 0.2 * len(names) + 1.4),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, (label, _), g in zip(axes[0], groups, range(len(groups)), strict=True):
        for row, name in enumerate(names):
            if len(values[name][g]) == 0:
                continue
            box = axis.boxplot(
                [values[name][g]],
                positions=[row],
                widths=0.7,
                orientation="horizontal",
                manage_ticks=False,
                **BOX_STYLE,
            )
            box["boxes"][0].set_facecolor(FIRST_COLOR if name == "baton" else "#b8c4d0")
        axis.set_xscale("log")
        axis.set_title(label, loc="left")
    axes[0][0].set_yticks(range(len(names)), names)
    axes[0][0].set_ylim(len(names) - 0.4, -0.6)
    figure.supxlabel(_unit(view), fontsize=9)
    figure.suptitle(title + BOX_TITLE, x=0, ha="left")
    return svg(figure)


def boxes_over_size(view: View) -> list[str]:
    out = []
    for title, wanted in _variants(view):
        for subscribers in view.distinct("subscribers"):
            groups = [
                (
                    size_text(b),
                    lambda name, b=b, w=wanted, s=subscribers: view.values(name, bytes=b, subscribers=s, **w),
                )
                for b in view.distinct("bytes")
            ]
            out.append(_boxes(view, groups, _title(_subscribers(subscribers), title)))
    return out


def boxes_by_isolation(view: View) -> list[str]:
    return [
        _boxes(
            view,
            [
                (i, lambda name, i=i, b=b: view.values(name, bytes=b, isolation=i))
                for i in ("host", "container", "containers")
            ],
            size_text(b),
        )
        for b in view.distinct("bytes")
    ]


def boxes_by_end(view: View) -> list[str]:
    """One box per subscriber (or per publisher, where there are several): who is served later?"""
    out = []
    many_publishers = max(view.distinct("publishers"), default=1) > 1
    for ordered in view.distinct("connect_in_order"):
        for size in view.distinct("bytes"):

            def values(name, index, ordered=ordered, size=size):
                parts = []
                for run in view.of(name, bytes=size, connect_in_order=ordered):
                    for end in figures.subscribers(run):
                        v = figures.times(end, view.clock) / 1000
                        if len(v) == 0:
                            continue
                        if many_publishers:
                            parts.append(v[numpy.asarray(end["samples"]["publisher"]) == index])
                        elif end["index"] == index:
                            parts.append(v)
                return numpy.concatenate(parts) if parts else numpy.empty(0)

            what = "publisher" if many_publishers else "subscriber"
            groups = [(f"{what} {i + 1}", lambda name, i=i: values(name, i)) for i in range(5)]
            out.append(_boxes(view, groups, f"{size_text(size)}, connection order {'enforced' if ordered else 'free'}"))
    return out


def histogram(view: View) -> list[str]:
    pooled = view.values
    everything = [pooled(name) for name in view.names]
    if not any(len(v) for v in everything):
        return []
    # One scale for all settings, so that the plots can be compared.
    low, high = min(v.min() for v in everything if len(v)), max(v.max() for v in everything if len(v))
    bins = numpy.geomspace(max(low, 0.1), high * 1.01, 70)
    out = []
    for title, wanted in _variants(view):
        figure, axis = plt.subplots(figsize=(7.2, 3.4))
        for name in view.names:
            width = 2 if name == "baton" else 1
            axis.hist(
                pooled(name, **wanted),
                bins=bins,
                histtype="step",
                lw=width,
                color=view.color(name),
                ls=view.stroke(name),
                label=name,
            )
        axis.set_xscale("log")
        axis.set_xlabel(_unit(view))
        axis.set_ylabel("messages")
        axis.set_title(_title("distribution of the latency", title), loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


def period(view: View) -> list[str]:
    """Peak to peak: how far the time between arrivals strays from the publisher's period."""
    rate = view.good[0]["cell"]["rate"] if view.good else 30
    out = []
    for title, wanted in _variants(view):
        data, names = [], []
        for name in view.names:
            steps = []
            for run in view.of(name, **wanted):
                for end in figures.subscribers(run):
                    c = end["samples"]
                    arrivals = numpy.asarray(c["publish_ns"], dtype=float) + numpy.asarray(
                        c["hand_over_ns"], dtype=float
                    )
                    steps.append(numpy.diff(arrivals) / 1000 - 1e6 / rate)
            if steps:
                data.append(numpy.concatenate(steps))
                names.append(name)
        if not data:
            continue
        figure, axis = plt.subplots(figsize=(7.2, 1 + 0.5 * len(names)))
        axis.boxplot(data, whis=(0, 100), showfliers=False, orientation="horizontal", medianprops={"color": "black"})
        axis.set_yticks(
            range(1, len(names) + 1), [f"{n}  ({numpy.ptp(d) / 1000:.2f} ms)" for n, d in zip(names, data, strict=True)]
        )
        axis.set_xlabel("µs from the period; whiskers: smallest and largest; in brackets: peak to peak")
        axis.set_title(_title("time between arrivals", title), loc="left")
        out.append(svg(figure))
    return out


def success(view: View) -> list[str]:
    figure, axis = plt.subplots(figsize=(6, 3.2))
    for name in view.names:
        points = []
        for load in view.distinct("load"):
            runs = view.of(name, load=load)
            if runs:
                expected = sum(figures.sent(run) * len(figures.subscribers(run)) for run in runs)
                points.append((100 * load, 100 * (1 - sum(figures.lost(run) for run in runs) / max(1, expected))))
        if points:
            axis.plot(
                *zip(*points, strict=True), marker="o", ms=3, color=view.color(name), ls=view.stroke(name), label=name
            )
    axis.set_xlabel("load of every CPU by other processes, %")
    axis.set_ylabel("messages that arrived, %")
    axis.set_ylim(-3, 103)
    legend(figure, axis)
    return [svg(figure)]


def sequence(view: View) -> list[str]:
    """Latency message by message: bursts show as sawteeth."""
    out = []
    for size in view.distinct("bytes"):
        figure, axis = plt.subplots(figsize=(7.2, 2.8))
        for name in view.names:
            runs = view.of(name, bytes=size)
            v = figures.column(runs[0], view.clock)[:200] / 1000 if runs else []
            axis.plot(v, lw=1.6 if name == "baton" else 0.8, color=view.color(name), ls=view.stroke(name), label=name)
        axis.set_xlabel("message")
        latency_axis(axis, view)
        axis.set_title(f"{size_text(size)} at {view.good[0]['cell']['rate']:.0f} Hz", loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


def cpu_bars(view: View) -> list[str]:
    out = []
    sizes = [b for b in view.distinct("bytes") if b >= 1 << 20] or view.distinct("bytes")
    for title, wanted in _variants(view):
        for subscribers in view.distinct("subscribers"):
            figure, axes = plt.subplots(
                1,
                len(sizes),
                figsize=(3.0 * len(sizes) + 1.5, 0.24 * len(view.names) + 1.4),
                sharey=True,
                squeeze=False,
                layout="constrained",
            )
            for axis, size in zip(axes[0], sizes, strict=True):
                values = []
                for name in view.names:
                    runs = view.of(name, bytes=size, subscribers=subscribers, **wanted)
                    values.append(numpy.median([figures.cpu_us_per_message(run) for run in runs]) if runs else 0)
                axis.barh(view.names, values, color=[view.color(name) for name in view.names])
                axis.set_title(size_text(size), loc="left")
            axes[0][0].invert_yaxis()  # for all of them: they share it
            figure.suptitle(
                _title("µs CPU per message, all processes", _subscribers(subscribers), title), x=0, ha="left"
            )
            out.append(svg(figure))
    return out


def timeline(view: View) -> list[str]:
    out = []
    for name in view.names:
        runs = [run for run in view.of(name) if run.get("timeline")]
        if not runs:
            continue
        rows = runs[0]["timeline"]
        t = numpy.array([row["t"] for row in rows])
        cpu = numpy.array([sum(row["cpu_ns"]) for row in rows], dtype=float)
        steps = numpy.maximum(numpy.diff(cpu) / 1e7 / numpy.maximum(numpy.diff(t), 1e-6), 0)  # % of one CPU
        figure, axis = plt.subplots(figsize=(7.2, 1.6))
        axis.fill_between(t[1:], steps, step="pre", color=view.color(name), alpha=0.7, lw=0)
        axis.set_ylabel("% of a CPU")
        axis.set_xlabel("s")
        axis.set_ylim(0, max(30.0, float(steps.max()) * 1.05))
        axis.set_title(f"{name}: CPU of all its processes", loc="left")
        out.append(svg(figure))
    return out
