# SPDX-License-Identifier: Apache-2.0
"""The report's tables: each takes a View and gives HTML texts."""

from __future__ import annotations

import numpy

from . import figures, tables
from .view import View


def html_table(head: list[str], rows: list[list[str]]) -> str:
    def cell(text):
        start = '<td class="error" colspan="99">' if str(text).startswith("no result: ") else "<td>"
        return start + str(text).replace("&", "&amp;").replace("<", "&lt;") + "</td>"

    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    return '<div class="scroll"><table><tr>' + "".join(f"<th>{h}</th>" for h in head) + f"</tr>{body}</table></div>"


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
        "lost",
        "CPU µs/msg",
        "faults/msg",
        "switches/msg",
        "RSS MB",
    ]
    rows = []
    for row in tables.summary_rows(view.all, view.experiment.clock):
        if "error" in row:
            rows.append([row["cell"], row["peer"], "no result: " + row["error"][:120]])
            continue
        numbers = [tables.micros(row[key]) for key in ("min", "p50", "p90", "p99", "p99.9", "max", "mean")]
        lost = f"{row['lost']} of {row['expected']}" if row["lost"] else "0"
        if row["torn"]:
            lost += f", {row['torn']} torn"
        cost = [f"{row['cpu']:.0f}", f"{row['faults']:.1f}", f"{row['switches']:.1f}", f"{row['rss_mb']:.0f}"]
        rows.append([row["cell"], row["peer"], *numbers, lost, *cost])
    return [f"<p>Latency in µs, {tables.CLOCK_NAMES[view.experiment.clock]}.</p>" + html_table(head, rows)]


def usage_table(view: View) -> list[str]:
    keys = [
        "utime_us",
        "stime_us",
        "voluntary_switches",
        "involuntary_switches",
        "minor_faults",
        "major_faults",
        "rss_kb",
        "pss_kb",
        "shared_kb",
    ]
    rows = []
    for name in view.names:
        for run in view.of(name)[:1]:
            for process in run["processes"]:
                u = process.get("usage", {})
                rows.append([name, f"{process['role']} {process['index']}", *[f"{u.get(key, 0):,.0f}" for key in keys]])
    return ["<p>Per process, over the whole run.</p>" + html_table(["peer", "process", *keys], rows)]


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


def ratio_table(view: View) -> list[str]:
    """Baton's median over the peer's, per round of the same recording; green: the interval lies below 1.05."""
    cells = tables.grouped(view.good)
    head = ["peer", *cells]
    rows = []
    for name in [n for n in view.names if n != "baton"]:
        row = [name]
        for peers in cells.values():
            own = {run["round"]: figures.metric(run, "hand_over") for run in peers.get("baton", [])}
            ratios = [
                own[run["round"]] / figures.metric(run, "hand_over")
                for run in peers.get(name, [])
                if run["round"] in own
            ]
            row.append(str(figures.median_interval(ratios)) if ratios else "")
        rows.append(row)
    return [
        "<p>Hand-over median of Baton divided by the peer's, with the 95 % interval over rounds.</p>"
        + html_table(head, rows)
    ]


def spread(view: View) -> list[str]:
    """How far medians of rounds lie apart: what differences this machine can show at all."""
    rows = []
    for cell, peers in tables.grouped(view.good).items():
        for peer, runs in peers.items():
            medians = numpy.array([figures.metric(run, "hand_over") for run in runs]) / 1000
            if len(medians) > 1:
                rows.append(
                    [
                        cell,
                        peer,
                        len(medians),
                        f"{medians.min():.1f}",
                        f"{numpy.median(medians):.1f}",
                        f"{medians.max():.1f}",
                    ]
                )
    return (
        [
            "<p>Medians of the rounds in µs: smallest, middle, largest.</p>"
            + html_table(["cell", "peer", "rounds", "min", "middle", "max"], rows)
        ]
        if rows
        else []
    )
