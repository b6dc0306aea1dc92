# SPDX-License-Identifier: Apache-2.0
"""The top of a report: one sentence and one table. Both are made of medians only, so that they can be drawn from a recording
and from a summary of one (docs/results/results.json)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median

import click

from . import figures, tables
from .recording import Recording
from .runs import size_text

Medians = dict[str, dict[str, float]]  # peer -> cell, as "4 MB, 8" (size, subscribers) -> µs
OWN = "baton"
MOST_COLUMNS = 4  # as many as a telephone shows


@dataclass(frozen=True)
class Summary:
    """A recording without its samples, as scripts/make_results.py writes it."""

    header: dict
    medians: dict[str, Medians]  # by experiment
    verdicts: list[dict]


def load(path: Path) -> Recording | Summary:
    """A recording, or the summary of one."""
    with path.open("rb") as file:
        if file.read(1) != b"{":
            return Recording.load(path)
    try:
        read = json.loads(path.read_text())
        return Summary(read["header"], read["medians"], read["verdicts"])
    except (ValueError, KeyError) as problem:
        raise click.ClickException(f"{path} is neither a recording of `baton perf` nor a summary of one") from problem


def medians_of(runs: list[dict], clock: str) -> Medians:
    """The median over rounds of the runs' medians. Cells that differ in more than size and subscribers are not mixed: the first
    that was recorded counts, and only peers that have it."""
    rounds: dict[str, dict[str, list[float]]] = {}
    first: dict[str, str] = {}
    for run in runs:
        cell = tables.cell_of(run)
        column = f"{size_text(cell.bytes)}, {cell.subscribers}"
        if figures.metric(run, "hand_over") is None or first.setdefault(
            column, tables.describe(cell)
        ) != tables.describe(cell):
            continue
        values = figures.column(run, clock)
        if len(values):
            rounds.setdefault(tables.name_of(run), {}).setdefault(column, []).append(median(values) / 1000)
    return {peer: {cell: median(values) for cell, values in cells.items()} for peer, cells in rounds.items()}


def _size(cell: str) -> int:
    count, unit = cell.partition(",")[0].split()
    return int(float(count) * {"B": 1, "KB": 1 << 10, "MB": 1 << 20}[unit])


def _subscribers(cell: str) -> int:
    return int(cell.rpartition(", ")[2])


def cells_of(medians: Medians) -> list[str]:
    """By size, then by number of subscribers."""
    return sorted({c for cells in medians.values() for c in cells}, key=lambda c: (_size(c), _subscribers(c)))


def _largest(medians: Medians) -> str:
    """The cell of the sentence: the largest message to the fewest subscribers, among the cells that Baton has with others."""
    shared = [c for c in medians.get(OWN, {}) if any(c in cells for p, cells in medians.items() if _is_other(p))]
    return max(shared or cells_of(medians), key=lambda c: (_size(c), -_subscribers(c)))


def _is_other(peer: str) -> bool:
    """Neither a variant of Baton nor `bare`, which is the machine's limit and no transport."""
    return not peer.startswith(OWN) and peer.partition(":")[0] != "bare"


def duration(microseconds: float) -> str:
    """With two or three significant digits: 0.8 µs, 31 µs, 4.5 ms, 1.2 s."""
    for factor, unit in ((1, "µs"), (1e3, "ms"), (1e6, "s")):
        value = microseconds / factor
        if value < 999.5 or unit == "s":
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    raise AssertionError("every duration has a unit")


def times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:,.0f} times"


def to_subscribers(count: int) -> str:
    return "one subscriber" if count == 1 else f"{count} subscribers"


def transports(count: int) -> str:
    return "the other transport" if count == 1 else f"the fastest of {count} other transports"


def sentence(medians: Medians) -> str:
    """Baton beside the fastest and the middle one of the others with the largest message, and in how many cells it is the fastest."""
    if not medians:
        return "No run gave a result."
    cell = _largest(medians)
    size, subscribers = cell.partition(",")[0], to_subscribers(_subscribers(cell))
    own = medians.get(OWN, {}).get(cell)
    others = sorted((cells[cell], peer) for peer, cells in medians.items() if _is_other(peer) and cell in cells)
    begin = f"A message of {size} to {subscribers} takes"
    if own is None:
        fastest = sorted((cells[cell], peer) for peer, cells in medians.items() if cell in cells)[0]
        return (
            f"{begin} {duration(fastest[0])} with {fastest[1]}, the fastest of {len(medians)}; Baton was not measured."
        )
    if not others:
        return f"{begin} {duration(own)} with Baton; nothing else was measured beside it."
    best, peer = others[0]
    text = f"{begin} {duration(own)} with Baton and {duration(best)} with {peer}, {transports(len(others))}"
    text += f" ({times(best / own)} Baton's)" if own else ""
    if len(others) > 2 and own:
        middle = median(value for value, _ in others)
        text += f"; half of them take {duration(middle)} ({times(middle / own)} Baton's) or longer"
    compared, won = fastest_in(medians)
    if compared > 1:
        text += f". Baton's median is the lowest in {won} of {compared} combinations of size and subscribers"
    return text + "."


def fastest_in(medians: Medians) -> tuple[int, int]:
    """The cells in which Baton was measured beside others, and those of them in which no other median is lower."""
    compared = won = 0
    for cell, own in medians.get(OWN, {}).items():
        others = [cells[cell] for peer, cells in medians.items() if _is_other(peer) and cell in cells]
        compared += bool(others)
        won += bool(others) and own <= min(others)
    return compared, won


def columns_of(medians: Medians) -> list[str]:
    """The cells that the table shows: all, or the smallest, the middle and the largest to the fewest subscribers, and the largest
    to the most."""
    cells = cells_of(medians)
    if len(cells) <= MOST_COLUMNS:
        return cells
    fewest = min(_subscribers(c) for c in cells)
    few = [c for c in cells if _subscribers(c) == fewest]
    chosen = {few[0], few[len(few) // 2], few[-1], max(cells, key=lambda c: (_subscribers(c), _size(c)))}
    return [c for c in cells if c in chosen]


def table(medians: Medians) -> str:
    """HTML: a row for each peer, Baton first, the others by the sentence's cell. The bars behind the numbers are logarithmic."""
    columns = columns_of(medians)
    shown = [value for cells in medians.values() for c, value in cells.items() if c in columns]
    if not shown:
        return ""
    low, high = math.log(max(min(shown), 0.01)), math.log(max(max(shown), 0.02))
    by = _largest(medians)

    def cell_of(peer: str, column: str) -> str:
        value = medians[peer].get(column)
        if value is None:
            return '<td class="absent">&ndash;</td>'
        share = 100 * (0.04 + 0.96 * (math.log(max(value, 0.01)) - low) / max(high - low, 1e-9))
        return f'<td class="bar" style="--share:{share:.0f}%">{duration(value)}</td>'

    rows = []
    for peer in sorted(medians, key=lambda p: (p != OWN, medians[p].get(by, math.inf), p)):
        name, _, variant = peer.partition(":")
        words = escape(name) + (f"<small>{escape(variant)}</small>" if variant else "")
        kind, words = (' class="own"', "Baton") if peer == OWN else ("", words)
        rows.append(f"<tr{kind}><th>{words}</th>" + "".join(cell_of(peer, c) for c in columns) + "</tr>")
    heads = "".join(f"<th>{c.partition(',')[0]}<small>to {_subscribers(c)}</small></th>" for c in columns)
    return f'<div class="scroll"><table class="top"><tr><th></th>{heads}</tr>{"".join(rows)}</table></div>'
