# SPDX-License-Identifier: Apache-2.0
"""Verdicts on criteria, and their output on the terminal and as Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table

from . import figures, quiet, tables


@dataclass(frozen=True)
class Row:
    """One verdict. `passed` is None where nothing could be measured; that is no pass."""

    criterion: str
    what: str
    value: figures.Interval | None
    unit: str
    bar: str
    passed: bool | None
    detail: str = ""
    peer: str = ""  # in a comparison with many peers: which one

    @property
    def verdict(self) -> str:
        return {True: "PASS", False: "FAIL", None: "NONE"}[self.passed]

    def measured(self) -> str:
        """Median and interval; a small ratio also as one part in so many."""
        if self.value is None:
            return ""
        middle = self.value.middle
        part = f"  (1/{1 / middle:.0f})" if self.unit == "x" and 0 < middle < 0.1 else ""
        return f"{self.value}{self.unit}{part}"

    def folded(self) -> bool:
        """A passing row of a comparison with many peers, of which there are hundreds."""
        return bool(self.passed) and bool(self.peer)

    def sentence(self) -> str:
        return f"{self.what}: {self.detail}" if self.detail else self.what

    @staticmethod
    def load(saved: dict) -> Row:
        """From asdict(), as a recording holds it."""
        return Row(**saved | {"value": saved["value"] and figures.Interval(**saved["value"])})


def of_rounds(criterion: str, what: str, values: list[float], unit: str, bar: float, detail: str) -> Row:
    """The verdict on the median of these rounds."""
    figure = figures.median_interval(values)
    return Row(criterion, what, figure, unit, f"{bar:g}{unit}", figure.high <= bar, detail)


def print_row(row: Row) -> None:
    """The verdict as a line of text, which accept.printed_row() reads."""
    value = row.value
    print(
        f"{row.verdict}  {row.what}  {value.middle:.4g}{row.unit} [{value.low:.4g}, {value.high:.4g}]  bar <= {row.bar}  ({row.detail})",
        flush=True,
    )


def print_verdict(what: str, values: list[float], unit: str, bar: float, detail: str) -> bool:
    """Prints the verdict of a program. Returns whether the median of these rounds passes."""
    row = of_rounds("", what, values, unit, bar, detail)
    print_row(row)
    return bool(row.passed)


def count(rows: list[Row]) -> str:
    numbers = [sum(row.passed is verdict for row in rows) for verdict in (True, False, None)]
    return f"{numbers[0]} PASS, {numbers[1]} FAIL, {numbers[2]} could not be measured"


@dataclass(frozen=True)
class Group:
    """The rows of one criterion and one peer."""

    criterion: str
    peer: str
    passed: int
    failed: int
    unmeasured: int
    worst: Row | None  # the highest median


def grouped(rows: list[Row]) -> list[Group]:
    """Comparisons with many peers, by criterion and peer; those with the most failing rows first."""
    out = []
    for criterion, peer in dict.fromkeys((row.criterion, row.peer) for row in rows if row.peer):
        its = [row for row in rows if (row.criterion, row.peer) == (criterion, peer)]
        numbers = [sum(row.passed is verdict for row in its) for verdict in (True, False, None)]
        worst = max((row for row in its if row.value), key=lambda row: row.value.middle, default=None)
        out.append(Group(criterion, peer, *numbers, worst))
    return sorted(out, key=lambda group: (group.criterion, -group.failed, -group.unmeasured))


GROUP_TITLES = ("criterion", "peer", "cells that pass", "fail", "not measured", "worst: median [95 %]", "of")


def group_texts(group: Group) -> list[str]:
    worst = group.worst
    numbers = [str(group.passed), str(group.failed), str(group.unmeasured)]
    where = worst.what.partition(" / ")[0] if worst else ""
    return [group.criterion, group.peer, *numbers, worst.measured() if worst else "", where]


def markdown(rows: list[Row], header: dict, pieces: list[dict]) -> str:
    """For a document: every criterion, and the comparisons with many peers as one row for each criterion and peer."""

    def table(head, lines) -> list[str]:
        text = [[str(cell).replace("|", "\\|") for cell in line] for line in (head, ["---"] * len(head), *lines)]
        return ["| " + " | ".join(line) + " |" for line in text] + [""]

    m, built = header["machine"], header["build"]
    changed = " with local changes" if built["modified"] else ""
    out = [
        f"`{header['command']}`, {built['commit'][:12]}{changed}, {m['cpu']}, {m['cpus']} CPUs, Linux {m['kernel']}, load before "
        f"{m['load_before']:.2f}{'; ' if pieces else ''}{quiet.sentence(pieces)}: {count(rows)}.",
        "",
    ]
    single = [row for row in rows if not row.peer]
    if single:
        titles = ("", "criterion", "what", "median [95 %]", "bar")
        out += table(titles, [(r.verdict, r.criterion, r.sentence(), r.measured(), r.bar) for r in single])
    if groups := grouped(rows):
        out += table(GROUP_TITLES, map(group_texts, groups))
    return "\n".join(out)


def show(rows: list[Row], console: Console, brief: bool) -> None:
    """All rows, or with `brief` only those of a comparison with many peers that did not pass."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("", "criterion"):
        table.add_column(title, no_wrap=True)
    table.add_column("what")
    for title in ("median [95 %]", "bar"):
        table.add_column(title, justify="right")
    shown = [row for row in rows if not (brief and row.folded())]
    for row in shown:
        color = {True: "green", False: "red", None: "yellow"}[row.passed]
        what = row.what + (f": [dim]{row.detail}[/]" if row.detail else "")
        table.add_row(f"[{color}]{row.verdict}[/]", row.criterion, what, row.measured(), row.bar)
    tables.print_whole(console, table)
    hidden = len(rows) - len(shown)
    console.print(
        count(rows)
        + (f" ({hidden} passing rows of comparisons with peers are not shown; --all shows them)" if hidden else ""),
        highlight=False,
    )
