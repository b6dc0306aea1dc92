# SPDX-License-Identifier: Apache-2.0
"""The report's plots: each takes a View and gives SVG texts."""

from __future__ import annotations

import io
from collections.abc import Callable

import matplotlib
import numpy

matplotlib.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import MaxNLocator, NullFormatter

from . import figures, tables
from .runs import Cell, size_text
from .view import FIRST_COLOR, View

# Stands for the page's own colour of text, which is another one in the dark; svg() puts it in.
INK, FAINT = "#010203", "#aab4be"
WIDTH = 5.0  # inches: 480 pixels, so that text keeps its size on a telephone; a wide page shows plots side by side

plt.rcParams |= {
    "font.size": 10,
    **dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "grid.color"), INK
    ),
    "savefig.transparent": True,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.15,
    "svg.fonttype": "none",
    "legend.frameon": False,
}


def svg(figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight")
    plt.close(figure)
    text = buffer.getvalue()
    for color, variable in ((INK, "currentColor"), (FIRST_COLOR, "var(--own)"), (FAINT, "var(--faint)")):
        text = text.replace(color, variable)
    return text[text.index("<svg") :]


def latency_axis(axis, view: View) -> None:
    axis.set_yscale("log")
    plain_numbers(axis.yaxis)
    axis.set_ylabel(_unit(view))


def plain_numbers(axis) -> None:
    """Labels of a logarithmic axis without exponents: powers of ten; on a short axis twice and five times these, too."""
    low, high = axis.get_view_interval()
    short = high < 25 * low

    def label(value: float, _) -> str:
        leading = round(value / 10 ** numpy.floor(numpy.log10(value) + 1e-9))
        return f"{value:,.10g}" if leading in (1, 2, 5) else ""

    axis.set_major_formatter(label)
    axis.set_minor_formatter(label if short else NullFormatter())


def heading(axis, title: str) -> None:
    """Above the plot, from the left edge of the names beside it."""
    axis.annotate(
        title,
        (0, 1),
        xycoords=("figure fraction", "axes fraction"),
        xytext=(0, 8),
        textcoords="offset points",
        fontsize=11,
    )


def _unit(view: View) -> str:
    return f"µs, {tables.clock_word(view.clock)}"


def legend(figure, axis) -> None:
    """Below the plot, and below its label."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, fontsize=9)


def draw_line(view: View, axis, name: str, x, y) -> None:
    """A peer's line; one of those that the plot does not name is faint."""
    own, named = name == "baton", name in view.named()
    axis.plot(
        x,
        y,
        marker="o",
        ms=4 if own else 3,
        lw=2.4 if own else 1.3 if named else 0.8,
        color=view.color(name) if named else FAINT,
        ls=view.stroke(name) if named else "-",
        label=name if named else "_",
        zorder=4 if own else 3 if named else 2,
    )


def about_faint(view: View, axis) -> None:
    if len(view.named()) < len(view.names):
        axis.plot([], [], color=FAINT, lw=0.8, label=f"{len(view.names) - len(view.named())} others: in the tables")


# The settings besides size and ends by which an experiment's cells may differ, in a title's words.
VARIED: dict[str, Callable] = {
    "publishers": lambda count: f"{count} publisher{'s' * (count > 1)}",
    "pinned": lambda on: "pinned" if on else "not pinned",
    "one_cpu": lambda on: "all on one CPU" if on else "",
    "connect_in_order": lambda on: "connected in order" if on else "connected in any order",
    "isolation": lambda kind: {"container": "one container", "containers": "separate containers"}.get(kind, kind),
    "network": lambda name: f"over {name}" if name else "one host",
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
        seen.setdefault(", ".join(filter(None, words)), wanted)
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
            figure, axis = plt.subplots(figsize=(WIDTH, 3.8))
            for name in view.names:
                points = []
                for size in view.distinct("bytes"):
                    v = view.values(name, bytes=size, subscribers=subscribers, **wanted)
                    if len(v):
                        points.append((size, numpy.median(v), numpy.quantile(v, 0.99)))
                if points:
                    x, p50, p99 = zip(*points, strict=True)
                    draw_line(view, axis, name, x, p50)
                    if name == "baton":
                        axis.fill_between(x, p50, p99, color=view.color(name), alpha=0.15, lw=0)
            about_faint(view, axis)
            axis.set_xscale("log", base=2)
            axis.set_xticks(view.distinct("bytes"), [size_text(b) for b in view.distinct("bytes")], fontsize=9)
            axis.minorticks_off()
            latency_axis(axis, view)
            axis.set_title(_title("median by size", _subscribers(subscribers), title), loc="left")
            axis.set_xlabel("size of the message" + "; Baton's band: up to p99" * ("baton" in view.names))
            legend(figure, axis)
            out.append(svg(figure))
    return out


def lines_over_subscribers(view: View) -> list[str]:
    out = []
    for size in view.distinct("bytes"):
        figure, axis = plt.subplots(figsize=(WIDTH, 3.4))
        for name in view.names:
            points = []
            for subscribers in view.distinct("subscribers"):
                v = view.values(name, bytes=size, subscribers=subscribers)
                if len(v):
                    points.append((subscribers, numpy.median(v)))
            if points:
                draw_line(view, axis, name, *zip(*points, strict=True))
        about_faint(view, axis)
        axis.set_xticks(view.distinct("subscribers"))
        axis.set_xlabel("subscribers")
        latency_axis(axis, view)
        axis.set_title(f"median by number of subscribers, {size_text(size)}", loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


BOX_STYLE = {
    "whis": (1, 99),
    "showfliers": False,
    "patch_artist": True,
    "medianprops": {"color": INK, "lw": 1.2},
    "boxprops": {"lw": 0.6, "edgecolor": INK},
    "whiskerprops": {"lw": 0.6, "color": INK},
    "capprops": {"lw": 0.6, "color": INK},
}
Groups = list[tuple[str, Callable[[str], numpy.ndarray]]]  # a name, and the values of a peer


def _boxes(view: View, groups: Groups, title: str) -> list[str]:
    """A plot for each group with a row for each peer, the fastest on top; or, where there are more groups than peers, a plot for
    each peer with a row for each group. All have one scale. No outliers are drawn (the table has the maximum)."""
    values = {label: {name: of(name) for name in view.ranked} for label, of in groups}
    if len(groups) > len(view.ranked):
        values = {name: {label: values[label][name] for label in values} for name in view.ranked}
    everything = [v for rows in values.values() for v in rows.values() if len(v)]
    if not everything:
        return []
    low = min(max(float(numpy.quantile(v, 0.01)), 0.1) for v in everything)
    high = max(float(numpy.quantile(v, 0.99)) for v in everything)
    out = []
    for label, rows in values.items():
        names = [name for name in rows if len(rows[name])]
        if not names:
            continue
        figure, axis = plt.subplots(figsize=(WIDTH - 1.2, 0.24 * len(names) + 1.0))
        for row, name in enumerate(names):
            box = axis.boxplot(
                [rows[name]], positions=[row], widths=0.7, orientation="horizontal", manage_ticks=False, **BOX_STYLE
            )
            box["boxes"][0].set_facecolor(FIRST_COLOR if "baton" in (name, label) else FAINT)
        axis.set_xscale("log")
        axis.set_xlim(low * 0.8, max(high, low) * 1.25)
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.4, -0.6)
        axis.grid(axis="y", visible=False)
        axis.set_xlabel(_unit(view))
        plain_numbers(axis.xaxis)
        heading(axis, _title(label, title))
        out.append(svg(figure))
    return out


BOX_NOTE = "<p>Box: quartiles and median; whiskers: p1 and p99.</p>"


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
            out += _boxes(view, groups, _title(_subscribers(subscribers), title))
    return [BOX_NOTE, *out]


PLACES = {
    "host": {"isolation": "host", "network": ""},
    "one container": {"isolation": "container"},
    "separate containers": {"isolation": "containers"},
    "separate containers, a network between them": {"isolation": "host", "network": "veth"},
}


def boxes_by_isolation(view: View) -> list[str]:
    """On the host, in one container, and in separate ones, without a network or with one between them."""
    out = [BOX_NOTE]
    for b in view.distinct("bytes"):
        groups: Groups = [
            (words, lambda name, b=b, wanted=wanted: view.values(name, bytes=b, **wanted))
            for words, wanted in PLACES.items()
        ]
        out += _boxes(view, groups, size_text(b))
    return out


def boxes_by_end(view: View) -> list[str]:
    """One box per subscriber (or per publisher, where there are several), which shows the ends that are served later."""
    out = [BOX_NOTE]
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
            out += _boxes(view, groups, f"{size_text(size)}, connected in {'order' if ordered else 'any order'}")
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
        figure, axis = plt.subplots(figsize=(WIDTH, 3.4))
        for name in view.names:
            width = 2 if name == "baton" else 1
            named = name in view.named()
            axis.hist(
                pooled(name, **wanted),
                bins=bins,
                histtype="step",
                lw=width,
                color=view.color(name) if named else FAINT,
                ls=view.stroke(name) if named else "-",
                label=name if named else "_",
                zorder=3 if named else 2,
            )
        about_faint(view, axis)
        axis.set_xscale("log")
        plain_numbers(axis.xaxis)
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
        figure, axis = plt.subplots(figsize=(WIDTH - 1.2, 1 + 0.3 * len(names)))
        axis.boxplot(
            data,
            orientation="horizontal",
            **BOX_STYLE | {"whis": (0, 100), "patch_artist": False, "boxprops": {"color": INK}},
        )
        axis.set_yticks(
            range(1, len(names) + 1), [f"{n}  ({numpy.ptp(d) / 1000:.2f} ms)" for n, d in zip(names, data, strict=True)]
        )
        axis.set_xlabel("µs from the period (in brackets: peak to peak)")
        axis.set_title(_title("time between arrivals", title), loc="left")
        out.append(svg(figure))
    return out


def success(view: View) -> list[str]:
    figure, axis = plt.subplots(figsize=(WIDTH, 3.2))
    for name in view.names:
        points = []
        for load in view.distinct("load"):
            runs = view.of(name, load=load)
            if runs:
                expected = sum(figures.sent(run) * len(figures.subscribers(run)) for run in runs)
                points.append((100 * load, 100 * (1 - sum(figures.lost(run) for run in runs) / max(1, expected))))
        if points:
            draw_line(view, axis, name, *zip(*points, strict=True))
    about_faint(view, axis)
    axis.set_xlabel("load of every CPU by other processes, %")
    axis.set_ylabel("messages that arrived, %")
    axis.set_ylim(-3, 103)
    legend(figure, axis)
    return [svg(figure)]


def success_over_subscribers(view: View) -> list[str]:
    """Bars beside each other, because lines at 100 % would hide each other."""
    out = []
    counts = view.distinct("subscribers")
    width = 0.8 / max(1, len(view.names))
    for rate in view.distinct("rate"):
        figure, axis = plt.subplots(figsize=(WIDTH, 3.0))
        for place, name in enumerate(view.names):
            arrived = []
            for subscribers in counts:
                runs = view.of(name, subscribers=subscribers, rate=rate)
                expected = sum(figures.sent(run) * len(figures.subscribers(run)) for run in runs)
                arrived.append(100 * (1 - sum(map(figures.lost, runs)) / expected) if expected else numpy.nan)
            where = numpy.arange(len(counts)) + (place - (len(view.names) - 1) / 2) * width
            axis.bar(where, arrived, 0.9 * width, color=view.color(name), label=name)
        axis.set_xticks(range(len(counts)), counts)
        axis.grid(axis="x", visible=False)
        axis.set_xlabel("subscribers")
        axis.set_ylabel("messages that arrived, %")
        axis.set_ylim(0, 103)
        axis.set_title(f"{size_text(view.good[0]['cell']['bytes'])} at {rate:g} Hz", loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


def sequence(view: View) -> list[str]:
    """Latency message by message: bursts show as sawteeth."""
    out = []
    for size in view.distinct("bytes"):
        figure, axis = plt.subplots(figsize=(WIDTH, 3.0))
        for name in view.named():
            runs = view.of(name, bytes=size)
            v = figures.column(runs[0], view.clock)[:200] / 1000 if runs else []
            axis.plot(v, lw=1.6 if name == "baton" else 0.8, color=view.color(name), ls=view.stroke(name), label=name)
        axis.set_xlabel("message")
        latency_axis(axis, view)
        axis.set_title(f"{size_text(size)} at {view.good[0]['cell']['rate']:.0f} Hz", loc="left")
        legend(figure, axis)
        out.append(svg(figure))
    return out


CPU_LABEL = "µs CPU per message, all processes"


def cpu_bars(view: View) -> list[str]:
    out = []
    sizes = [b for b in view.distinct("bytes") if b >= 1 << 20] or view.distinct("bytes")
    for title, wanted in _variants(view):
        for subscribers in view.distinct("subscribers"):
            costs = {size: {} for size in sizes}
            for size in sizes:
                for name in view.ranked:
                    if runs := view.of(name, bytes=size, subscribers=subscribers, **wanted):
                        costs[size][name] = float(numpy.median([figures.cpu_us_per_message(run) for run in runs]))
            out += [
                _bars(its, _title(size_text(size), _subscribers(subscribers), title))
                for size, its in costs.items()
                if its
            ]
    return out


# Title: metric, scale, and what the axis says.
COSTS = {
    "CPU time": ("cpu", 1.0, CPU_LABEL),
    "page faults": ("faults", 1.0, "per message, all processes"),
    "context switches": ("switches", 1.0, "per message, all processes"),
    "largest resident memory (maxrss)": ("maxrss_kb", 1 / 1024, "MB, all processes"),
}


def cost_bars(view: View) -> list[str]:
    """The costs of every peer's run beside latency: a plot for each cost, with a bar for each peer."""
    out = []
    for title, (metric, scale, label) in COSTS.items():
        costs = {name: [figures.metric(run, metric) * scale for run in view.of(name)] for name in view.ranked}
        out.append(_bars({name: float(numpy.median(its)) for name, its in costs.items()}, title, label))
    return out


def _bars(costs: dict[str, float], title: str, label: str = CPU_LABEL) -> str:
    names = list(costs)
    figure, axis = plt.subplots(figsize=(WIDTH - 1.2, 0.24 * len(names) + 1.0))
    axis.barh(names, list(costs.values()), color=[FIRST_COLOR if name == "baton" else FAINT for name in names])
    axis.set_xlim(0, 1.3 * max(costs.values()) or 1)
    for row, value in enumerate(costs.values()):
        text = f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"
        axis.annotate(text, (value, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9)
    axis.grid(axis="y", visible=False)
    axis.invert_yaxis()
    axis.xaxis.set_major_locator(MaxNLocator(4))
    axis.xaxis.set_major_formatter("{x:,.10g}")
    axis.set_xlabel(label)
    heading(axis, title)
    return svg(figure)


def mean_bars(view: View) -> list[str]:
    """As ROS-SF's Fig. 16: bars are means, black lines standard deviations."""
    out = []
    for title, wanted in _variants(view):
        for size in view.distinct("bytes"):
            means, spreads = {}, {}
            for name in view.ranked:
                if len(v := view.values(name, bytes=size, **wanted)):
                    means[name], spreads[name] = float(v.mean()) / 1000, float(v.std()) / 1000
            if not means:
                continue
            names = sorted(means, key=means.get)
            figure, axis = plt.subplots(figsize=(WIDTH - 1.2, 0.24 * len(names) + 1.0))
            axis.barh(
                names,
                [means[name] for name in names],
                xerr=[spreads[name] for name in names],
                color=[FIRST_COLOR if name == "baton" else FAINT for name in names],
                error_kw={"ecolor": INK, "lw": 1.2},
            )
            for row, name in enumerate(names):
                axis.annotate(
                    f"{means[name]:.3g}",
                    (means[name] + spreads[name], row),
                    xytext=(4, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize=9,
                )
            axis.set_xlim(0, 1.2 * max(means[name] + spreads[name] for name in names))
            axis.grid(axis="y", visible=False)
            axis.invert_yaxis()
            axis.xaxis.set_major_locator(MaxNLocator(4))
            axis.set_xlabel(f"ms, {tables.clock_word(view.clock)}; line: standard deviation")
            heading(axis, _title(size_text(size), title))
            out.append(svg(figure))
    return out


def timeline(view: View) -> list[str]:
    sampled = tables.grouped([run for run in view.good if run.get("timeline")])
    return [
        _activity(runs[0]["timeline"], view.color(name), f"{name}: CPU of all its processes, {cell}")
        for cell, peers in sampled.items()
        for name, runs in peers.items()
    ]


def _activity(rows: list[dict], color: str, title: str) -> str:
    """The CPU time of a run over its wall time."""
    t = numpy.array([row["t"] for row in rows])
    cpu = numpy.array([sum(row["cpu_ns"]) for row in rows], dtype=float)
    steps = numpy.maximum(numpy.diff(cpu) / 1e7 / numpy.maximum(numpy.diff(t), 1e-6), 0)  # % of one CPU
    figure, axis = plt.subplots(figsize=(WIDTH, 1.6))
    axis.fill_between(t[1:], steps, step="pre", color=color, alpha=0.7, lw=0)
    axis.set_ylabel("% of a CPU")
    axis.set_xlabel("s")
    axis.set_ylim(0, max(30.0, float(steps.max()) * 1.05))
    axis.set_title(title, loc="left")
    return svg(figure)
