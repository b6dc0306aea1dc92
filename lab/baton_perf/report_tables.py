# SPDX-License-Identifier: Apache-2.0
"""The report's tables: each takes a View and gives HTML texts."""

from __future__ import annotations

import numpy

from . import figures, headline, significant, tables
from .verdicts import GROUP_TITLES, Row, group_texts, grouped
from .view import View

TCPROS = "roscpp:tcpros"
MOST_OPEN = 30  # failing rows that are shown unfolded


def html_table(head: list[str], rows: list[list[str]], text_columns: int = 2) -> str:
    """The first `text_columns` columns are words, the others numbers."""

    def cell(column: int, text, tag: str = "td") -> str:
        kind = ' class="text"' if column < text_columns else ""
        if str(text).startswith("no result: "):
            kind = ' class="error" colspan="99"'
        return f"<{tag}{kind}>" + str(text).replace("&", "&amp;").replace("<", "&lt;") + f"</{tag}>"

    body = "".join("<tr>" + "".join(cell(n, text) for n, text in enumerate(row)) + "</tr>" for row in rows)
    titles = "".join(cell(n, text, "th") for n, text in enumerate(head))
    return f'<div class="scroll"><table><tr>{titles}</tr>{body}</table></div>'


def verdict_table(rows: list[Row]) -> str:
    """The rows that `baton perf accept` printed. Failing rows come first; passing rows are folded away."""

    def table(its: list[Row]) -> str:
        return html_table(
            ["", "criterion", "what", "median [95 %]", "bar"],
            [[row.verdict, row.criterion, f"{row.what} {row.detail}".strip(), row.measured(), row.bar] for row in its],
            3,
        )

    def folded(its: list[Row], which: str) -> str:
        out = ""
        for words, verdict in (("fail", False), ("could not be measured", None), ("pass", True)):
            if found := [row for row in its if row.passed is verdict]:
                state = " open" if verdict is False and len(found) <= MOST_OPEN else ""
                out += (
                    f"<details{state}><summary>{which}: the {len(found)} that {words}</summary>{table(found)}</details>"
                )
        return out

    single = [row for row in rows if not row.peer]
    many = [row for row in rows if row.peer]
    out = folded(single, "Single criteria")
    if many:
        out += folded(many, "Comparisons with every transport")
        sums = html_table(list(GROUP_TITLES), [group_texts(group) for group in grouped(rows)])
        out += f"<details><summary>The comparisons, summed up by criterion and transport</summary>{sums}</details>"
    for word in ("PASS", "FAIL", "NONE"):
        out = out.replace(f'<td class="text">{word}</td>', f'<td class="{word.lower()}">{word}</td>')
    return out


def medians_table(medians: headline.Medians) -> str:
    """All cells of a summary, in µs."""
    cells = headline.cells_of(medians)
    rows = [[peer, *(f"{its[c]:,.0f}" if c in its else "" for c in cells)] for peer, its in sorted(medians.items())]
    return "<p>Medians over rounds in µs, by size and number of subscribers.</p>" + html_table(
        ["peer", *cells], rows, 1
    )


def cell_table(head: list[str], rows: list[list[str]]) -> str:
    """A table whose first two columns are cell and peer; a cell that all rows share is said above it."""
    if len({row[0] for row in rows}) != 1:
        return html_table(head, rows)
    return f"<p>{rows[0][0]}</p>" + html_table(head[1:], [row[1:] for row in rows], 1)


def summary_table(view: View) -> list[str]:
    head = [
        "cell",
        "peer",
        "min",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
        "mean",
        "variance, µs²",
        "lost",
        "CPU µs/msg",
        "faults/msg",
        "switches/msg",
        "RSS MB",
    ]
    rows = []
    summaries = tables.summary_rows(view.all, view.clock)
    for row in summaries:
        if "error" in row:
            rows.append([row["cell"], row["peer"], "no result: " + row["error"][:120]])
            continue
        numbers = [tables.micros(row[key]) for key in ("min", "p50", "p90", "p99", "p99.9", "max", "mean")]
        lost = f"{row['lost']} of {row['expected']}" if row["lost"] else "0"
        if row["torn"]:
            lost += f", {row['torn']} torn"
        cost = [f"{row['cpu']:.0f}", f"{row['faults']:.1f}", f"{row['switches']:.1f}", f"{row['rss_mb']:.0f}"]
        rows.append([row["cell"], row["peer"], *numbers, f"{row['variance'] / 1e6:.4g}", lost, *cost])
    note = tables.about_bare(summaries)
    return [
        f"<p>Latency in µs, {tables.CLOCK_NAMES[view.clock]}. CPU, faults, switches and RSS: all processes of a run together.</p>"
        + cell_table(head, rows)
        + (f'<p class="source">{note}</p>' if note else "")
    ]


def ping_pong_table(view: View) -> list[str]:
    """As ROS-SF's Fig. 16: means with their standard deviation, and how far each is below TCPROS."""
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        values = {
            name: numpy.concatenate([figures.column(run, view.clock) for run in runs]) for name, runs in peers.items()
        }
        means = {name: float(its.mean()) / 1e6 for name, its in values.items() if len(its)}
        stock = means.get(TCPROS)
        for name, mean in sorted(means.items(), key=lambda item: item[1]):
            below = f"{100 * (1 - mean / stock):.1f}" if stock and name != TCPROS else ""
            rows.append([cell, name, f"{mean:.3f}", f"{values[name].std() / 1e6:.3f}", below])
    return [
        "<p>Means of single messages. The paper (ROS-SF, section 5.2, Fig. 16): 69.9 % below TCPROS at 6 MB. Raw TCP makes and "
        "serializes no message: its row shows what is left for a message system to save on this line.</p>"
        + cell_table(["cell", "peer", "mean, ms", "standard deviation, ms", "below TCPROS, %"], rows)
    ]


def cost_table(view: View) -> list[str]:
    """Latency and cost of every peer, and how many times Baton's they are: the headline of a comparison of few cells."""
    wanted = (
        ("mean latency, µs", "hand_over_mean", 1 / 1000, 1),
        ("CPU, µs per message", "cpu", 1, 0),
        ("page faults per message", "faults", 1, 2),
        ("context switches per message", "switches", 1, 1),
        ("RSS of all processes, MB", "rss_kb", 1 / 1024, 0),
    )
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        medians = {
            name: [float(numpy.median([figures.metric(run, metric) for run in runs])) for _, metric, _, _ in wanted]
            for name, runs in peers.items()
        }
        for name, values in medians.items():
            row = [cell, name]
            for (_, _, scale, digits), value, own in zip(wanted, values, medians.get("baton", values), strict=True):
                times = (
                    f" ({significant.digits(value / own)}x)"
                    if name != "baton" and "baton" in medians and own > 0
                    else ""
                )
                row.append(f"{value * scale:.{digits}f}{times}")
            rows.append(row)
    return [
        "<p>Medians over rounds, of all processes of a run together; in brackets: how many times Baton's.</p>"
        + cell_table(["cell", "peer", *(title for title, *_ in wanted)], rows)
    ]


USAGE = (
    ("user CPU, ms", "utime_us", 1000),
    ("system CPU, ms", "stime_us", 1000),
    ("voluntary switches", "voluntary_switches", 1),
    ("involuntary switches", "involuntary_switches", 1),
    ("minor faults", "minor_faults", 1),
    ("major faults", "major_faults", 1),
    ("RSS, MB", "rss_kb", 1024),
    ("PSS (shared pages divided), MB", "pss_kb", 1024),
    ("of RSS shared, MB", "shared_kb", 1024),
)


ROLES = {"both": "publisher and subscriber, threads of one process"}


def usage_table(view: View) -> list[str]:
    """The resources that a process of each role used."""
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for peer, runs in peers.items():
            for role in dict.fromkeys(process["role"] for run in runs for process in run["processes"]):
                used = [p.get("usage", {}) for run in runs for p in run["processes"] if p["role"] == role]
                numbers = [
                    f"{numpy.median([u.get(key, 0) for u in used]) / unit:,.{1 if unit > 1 else 0}f}"
                    for _, key, unit in USAGE
                ]
                rows.append([cell, peer, ROLES.get(role, f"each {role}"), *numbers])
    table = html_table(["cell", "peer", "process", *(title for title, _, _ in USAGE)], rows, 3)
    return [
        "<details><summary>What one process used, from the last warm-up message to the end: medians over the processes of a "
        f"role and over rounds</summary>{table}</details>"
    ]


NOT_MEASURED = "not measured"


def lot_table1(view: View) -> list[str]:
    """LOT's columns; those that only its profiler has are named, not left out."""
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for name, runs in peers.items():
            seconds = [f"{numpy.median([figures.usage(run, key) for run in runs]) / 1e6:.2f}" for key in TIMES]
            rows.append([cell, name, NOT_MEASURED, NOT_MEASURED, *seconds])
    head = ["cell", "peer", "spin time, s", "most active functions", "user CPU, s", "system CPU, s"]
    return ["<p>All processes of a run together, medians over rounds.</p>" + html_table(head, rows, 4)]


TIMES = ("utime_us", "stime_us")


def copies_table(view: View) -> list[str]:
    rows = [
        [row["cell"], row["peer"], "no result: " + row["error"][:100]]
        if "error" in row
        else [row["cell"], row["peer"], *(f"{row[k]:.2f}" for k in ("publisher", "subscriber", "total"))]
        for row in tables.copies_rows(view.all)
    ]
    return [html_table(["cell", "peer", "publisher", "each subscriber", "in total"], rows)]


def gap_table(view: View) -> list[str]:
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for peer, runs in peers.items():
            gaps = [figures.subscriber_gap(run) / 1000 for run in runs]
            rows.append([cell, peer, f"{numpy.nanmedian(gaps):.1f}"])
    return [
        "<p>Median over messages of the last subscriber's arrival after the first one's, µs.</p>"
        + html_table(["cell", "peer", "gap"], rows)
    ]


def wire_table(view: View) -> list[str]:
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for peer, runs in peers.items():
            payloads = [value for run in runs if (value := figures.metric(run, "wire")) is not None]
            if payloads:
                rows.append([cell, peer, f"{numpy.median(payloads):.3f}"])
    return [
        "<p>Bytes that the publisher's host sent to the other host for each message, headers included, in units of the payload.</p>"
        + html_table(["cell", "peer", "payloads"], rows)
    ]


def ratio_table(view: View) -> list[str]:
    """Baton's median over the peer's, per round of the same recording."""
    if "baton" not in view.names:
        return []
    cells = tables.grouped(view.good)
    head = ["peer", *cells]
    rows = []
    for name in [n for n in view.names if n != "baton"]:
        row = [name]
        for peers in cells.values():
            own = dict(view.medians(peers.get("baton", [])))
            ratios = [own[round] / median for round, median in view.medians(peers.get(name, [])) if round in own]
            row.append(str(figures.median_interval(ratios)) if ratios else "")
        rows.append(row)
    return [
        f"<p>Median of Baton ({tables.clock_word(view.clock)}) divided by the peer's, with the 95 % interval over rounds: below 1, "
        "Baton is faster.</p>" + html_table(head, rows, 1)
    ]


def spread(view: View) -> list[str]:
    """How far medians of rounds lie apart: smaller differences cannot be shown on this machine."""
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for peer, runs in peers.items():
            medians = numpy.array([median for _, median in view.medians(runs)]) / 1000
            if len(medians) > 1:
                rows.append(
                    [
                        cell,
                        peer,
                        len(medians),
                        f"{medians.min():.1f}",
                        f"{numpy.median(medians):.1f}",
                        f"{medians.max():.1f}",
                        f"{medians.max() / medians.min():.2f}" if medians.min() > 0 else "",
                    ]
                )
    return (
        [
            f"<details><summary>The spread: medians of the rounds in µs ({tables.clock_word(view.clock)}), and the largest over "
            "the smallest. Smaller differences between peers mean nothing here</summary>"
            + html_table(["cell", "peer", "rounds", "min", "middle", "max", "max / min"], rows)
            + "</details>"
        ]
        if rows
        else ["<p>One round: the spread between rounds is not known.</p>"]
    )
