# SPDX-License-Identifier: Apache-2.0
"""Tables on the terminal."""

from __future__ import annotations

from collections import defaultdict

import numpy
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from . import figures
from .runs import Cell

# What is shown, marked and compared as "baton": a peer and its variant. Between two hosts Baton is its link.
OWN = {("baton", "loan"), ("baton_link", "link")}


def name_of(run: dict) -> str:
    if (run["peer"], run["variant"]) in OWN:
        return "baton"
    return run["peer"] if run["variant"] in ("", "loan", "stream") else f"{run['peer']}:{run['variant']}"


def cell_of(run: dict) -> Cell:
    return Cell(**run["cell"])


def describe(cell: Cell) -> str:
    """The settings that distinguish this cell from others with the same size and ends."""
    words = [cell.label()]
    if cell.message not in ("bytes", "Image"):
        words.append(cell.message)
    said = {"varying": cell.varying, "pinned": cell.pinned, "on one CPU": cell.one_cpu, "spin": cell.spin}
    words += [word for word, it_is in said.items() if it_is]
    if cell.connect_in_order:
        words.append("in order")
    if cell.isolation != "host":
        words.append(cell.isolation)
    if cell.network:
        words.append(f"over {cell.network}")
    if cell.priority:
        words.append(f"FIFO {cell.priority}")
    if cell.load:
        words.append(f"load {cell.load:.0%}")
    return " ".join(words)


def grouped(runs: list[dict]) -> dict[str, dict[str, list[dict]]]:
    """cell -> peer -> its runs, in the order of the recording with Baton first. Cells that differ in the rate only say their rate."""
    rates: dict[str, set[float]] = defaultdict(set)
    for run in runs:
        rates[describe(cell_of(run))].add(cell_of(run).rate)
    out: dict[str, dict[str, list[dict]]] = {}
    for run in runs:
        cell = describe(cell_of(run))
        title = f"{cell} {cell_of(run).rate:g} Hz" if len(rates[cell]) > 1 else cell
        out.setdefault(title, {}).setdefault(name_of(run), []).append(run)
    return {
        cell: dict(sorted(peers.items(), key=lambda p: not p[0].startswith("baton"))) for cell, peers in out.items()
    }


def micros(ns: float) -> str:
    us = ns / 1000
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def summary_rows(runs: list[dict], clock: str) -> list[dict]:
    """One row per cell and peer: latency in ns by `clock`, loss, cost. A row with `error` has nothing else."""
    rows = []
    for cell, peers in grouped(runs).items():
        for peer, its in peers.items():
            good = [run for run in its if figures.metric(run, "hand_over") is not None]
            row: dict = {"cell": cell, "peer": peer}
            values = numpy.concatenate([figures.column(run, clock) for run in good] or [[]])
            if not good:
                row["error"] = next((run["error"] for run in its if "error" in run), "received nothing")
            elif len(values) == 0:
                row["error"] = without_clock(clock)
            else:
                row |= figures.summary(values)
                row["lost"] = sum(figures.lost(run) for run in good)
                row["expected"] = sum(figures.sent(run) * len(figures.subscribers(run)) for run in good)
                row["torn"] = sum(s["torn"] for run in good for s in figures.subscribers(run))
                row["torn"] += sum(p.get("torn_answers", 0) for run in good for p in figures.publishers(run))
                for key in ("cpu", "faults", "switches"):
                    row[key] = float(numpy.median([figures.METRICS[key](run) for run in good]))
                row["rss_mb"] = float(numpy.median([figures.usage(run, "rss_kb") for run in good])) / 1024
                row["failed"] = len(its) - len(good)
            rows.append(row)
    return rows


CLOCK_NAMES = {
    "hand_over_ns": "hand-over: payload written until first byte seen",
    "fill_ns": "with fill: before the payload is written until first byte seen",
    "construct_ns": "with construction: before the message is made until first byte seen",
    "with_read_ns": "with reading: payload written until every byte was read",
    "round_trip_ns": "round trip: there and back",
    "construct_round_trip_ns": "round trip with construction: before the message is made until first byte of the answer seen",
}


def clock_word(clock: str) -> str:
    return CLOCK_NAMES[clock].partition(":")[0]


def without_clock(clock: str) -> str:
    """The text in place of times: times of another clock would be mistaken for them."""
    return f"it has no times of the clock '{clock_word(clock)}'"


def print_whole(console: Console, table: Table) -> None:
    """Numbers (columns that are justified right) are never cut: where room is short the other columns fold, down to twelve
    characters, and a table that is still too wide runs over the edge."""
    can_fold = 0
    for column in table.columns:
        widest = max(Text.from_markup(str(text)).cell_len for text in (column.header, *column.cells))
        if column.justify == "right":
            column.no_wrap = True
            column.min_width = widest
        else:
            column.overflow = "fold"
            can_fold += widest - min(widest, 12)
    whole = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
    if whole > console.width:
        table.width = max(console.width, whole - can_fold)
    console.print(table, crop=False)


def about_bare(rows: list[dict]) -> str:
    """Why the peer `bare` lost messages or was faster than time, if it did."""
    if not any(row["peer"].startswith("bare:") and (row.get("lost") or row.get("min", 0) < 0) for row in rows):
        return ""
    return (
        "bare is no transport but one buffer and one word: a reader that wakes late finds only the newest message (those before "
        "it are lost), and one may be overwritten between a reader's look at the clock and at the stamp (min below 0)"
    )


def print_summary(console: Console, runs: list[dict], clock: str, wide: bool = False) -> None:
    """One table per cell, and what its columns mean below the last. `wide`: also p99.9, mean and variance."""
    rows = summary_rows(runs, clock)
    latencies = ("min", "p50", "p90", "p99", *(("p99.9",) if wide else ()), "max", *(("mean",) if wide else ()))
    by_cell = defaultdict(list)
    for row in rows:
        by_cell[row["cell"]].append(row)
    for cell, its in by_cell.items():
        title = f"{cell}, {clock_word(clock)}"
        table = Table(title=title, title_style="bold", box=box.SIMPLE_HEAD, title_justify="left")
        table.add_column("peer")
        for title in (*latencies, *(("variance",) if wide else ()), "lost", "CPU", "flt", "csw", "RSS"):
            table.add_column(title, justify="right")
        for row in its:
            if "error" in row:
                continue
            lost = f"{row['lost']}/{row['expected']}" if row["lost"] else "0"
            table.add_row(
                f"[bold]{row['peer']}[/]" if row["peer"] == "baton" else row["peer"],
                *(micros(row[key]) for key in latencies),
                *((f"{row['variance'] / 1e6:.4g}",) if wide else ()),
                lost + (f" [red]torn {row['torn']}[/]" if row["torn"] else ""),
                f"{row['cpu']:.0f}",
                f"{row['faults']:.1f}",
                f"{row['switches']:.1f}",
                f"{row['rss_mb']:.0f}",
            )
        print_whole(console, table)
        for row in its:
            if "error" in row:
                console.print(f"  [yellow]{row['peer']}: no result:[/] {row['error'][:200]}", highlight=False)
    if rows:
        one_process = runs[0]["cell"].get("one_process")
        notes = [
            f"latency in us ({CLOCK_NAMES[clock]})" + (", variance in us squared" if wide else ""),
            "all ends are threads of one process" if one_process else "every end is a process of its own",
            "CPU: us per message, all processes; flt, csw: faults and context switches per message; RSS: MB, sum",
        ]
        if note := about_bare(rows):
            notes.append(note)
        console.print("[dim]" + "\n".join(notes) + "[/]", highlight=False)


def print_absent(console: Console, absent: dict[str, str]) -> None:
    """Which peers the tables above lack, and why: silence would look as if there were none."""
    for name, why in absent.items():
        console.print(f"[yellow]{name} was not measured:[/] {why}", highlight=False, soft_wrap=True)


def copies_rows(runs: list[dict]) -> list[dict]:
    rows = []
    for cell, peers in grouped(runs).items():
        for peer, its in peers.items():
            good = [run for run in its if figures.metric(run, "hand_over") is not None]
            if not good:
                rows.append({"cell": cell, "peer": peer, "error": next((r["error"] for r in its if "error" in r), "")})
                continue
            there, here = figures.copies_per_message(good[0])
            subscribers = len(figures.subscribers(good[0]))
            rows.append(
                {
                    "cell": cell,
                    "peer": peer,
                    "publisher": there,
                    "subscriber": here,
                    "total": there + here * subscribers,
                }
            )
    return rows


def print_copies(console: Console, runs: list[dict]) -> None:
    table = Table(box=box.SIMPLE_HEAD, title="copies of the payload per message", title_justify="left")
    table.add_column("cell")
    table.add_column("peer")
    for title in ("publisher", "each subscriber", "in total"):
        table.add_column(title, justify="right")
    for row in copies_rows(runs):
        if "error" in row:
            table.add_row(row["cell"], row["peer"], f"[yellow]{row['error'][:50]}[/]")
        else:
            table.add_row(row["cell"], row["peer"], *(f"{row[k]:.2f}" for k in ("publisher", "subscriber", "total")))
    print_whole(console, table)
