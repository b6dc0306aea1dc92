# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/results/papers.md: each headline number of the papers beside ours, each figure with its command, and the criteria without a
verdict. They are made of papers.toml, criteria.toml and the summaries of recordings."""

from __future__ import annotations

import re

from . import accept, papers
from .papers import Figure, Number
from .results import History, Latest
from .verdicts import Row

NOT_YET = "not recorded yet"
NEARLY = "The median meets the bar, and the upper end of its interval does not. More rounds on a quiet machine decide."
_MARK = re.compile(r"(`[0-9a-f]{12}`), (?:stale|unknown)")


def unmarked(text: str) -> str:
    """The page without the marks that depend on the history of the clone."""
    return _MARK.sub(r"\1", text)


def marks(text: str) -> dict[str, int]:
    """How many rows of the page have which mark."""
    return {state: len(re.findall(rf"`[0-9a-f]{{12}}`, {state}", text)) for state in ("stale", "unknown")}


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def row_of(number: Number, latest: dict[str, Latest]) -> Row | None:
    """The verdict's row for a number of a paper."""
    if number.criterion not in latest:
        return None
    rows = [row for row in latest[number.criterion].rows if row.what.startswith(number.row)]
    return rows[0] if rows else None


def bar_of(number: Number, row: Row) -> float | None:
    if number.bar is not None:
        return number.bar
    found = re.match(r"-?[\d.]+(?:e[+-]?\d+)?", row.bar)
    return float(found[0]) if found else None


def passes(number: Number, row: Row) -> bool | None:
    """Whether a row passes, judged by the paper's number if that is the bar."""
    if number.bar is None or row.value is None:
        return row.passed
    return row.value.high <= number.bar


def reason(number: Number, row: Row) -> str:
    """Why a row fails."""
    bar = bar_of(number, row)
    if row.value is None:
        return row.detail
    if bar is not None and row.value.middle <= bar:
        return NEARLY
    return number.reason or "No reason is known yet."


def ours(row: Row) -> str:
    return row.measured() if row.value is not None else row.detail or row.what


def recorded_at(latest: Latest, history: History) -> str:
    """The commit, with a mark where the code has changed since, or where the clone cannot say."""
    state = history.state(latest.commit, accept.paths_of(latest.rows[0].criterion))
    return f"`{latest.commit[:12]}`" + ("" if state == "fresh" else f", {state}")


def _number_row(figure: Figure, number: Number, latest: dict[str, Latest], history: History) -> list[str]:
    row = row_of(number, latest)
    criterion = next(c for c in accept.load() if c["id"] == number.criterion)
    bar = number.bar if number.bar is not None else criterion.get("bar")
    head = [figure.paper, figure.place, number.says]
    command = f"`baton perf accept {number.criterion}`"
    if row is None:
        return [*head, "-", "-" if bar is None else f"{bar:g}", NOT_YET, "-", command, ""]
    passed = passes(number, row)
    word = {True: "PASS", False: "**FAIL**", None: "not measured"}[passed]
    bar_text = row.bar if number.bar is None else f"{number.bar:g}{row.unit}"
    why = "" if passed else reason(number, row)
    return [*head, ours(row), bar_text or "-", word, recorded_at(latest[number.criterion], history), command, why]


def numbers_table(latest: dict[str, Latest], history: History) -> str:
    head = [
        "paper",
        "figure",
        "the paper",
        "ours: median [95 %]",
        "bar",
        "verdict",
        "recorded at",
        "command",
        "where it fails: why",
    ]
    rows = [
        _number_row(figure, number, latest, history) for figure in papers.load().values() for number in figure.numbers
    ]
    return markdown(head, rows)


def repeated(figure: Figure) -> str:
    """How a figure is repeated, and which of its parts are absent for which reason."""
    absent = figure.experiment.unavailable if figure.experiment else {}
    if figure.absent:
        return f"absent: {figure.absent}"
    return "; ".join(
        [f"`baton perf experiment {figure.id}`", *(f"without {name}: {why}" for name, why in absent.items())]
    )


def figures_table() -> str:
    rows = [[figure.paper, figure.place, figure.what, repeated(figure)] for figure in papers.load().values()]
    return markdown(["paper", "figure", "what it measures", "command"], rows)


def unrecorded_list(latest: dict[str, Latest]) -> str:
    names = [f"`{c['id']}`" for c in accept.load() if c["id"] not in latest]
    if not names:
        return "Every criterion has a verdict.\n"
    return f"{len(names)} of {len(accept.load())} criteria have no verdict yet: {', '.join(names)}.\n"


def counted(latest: dict[str, Latest]) -> str:
    """One sentence about the numbers."""
    numbers = [number for figure in papers.load().values() for number in figure.numbers]
    found = [(number, row_of(number, latest)) for number in numbers]
    passed = [passes(number, row) for number, row in found if row is not None]
    words = [
        f"{len(numbers)} numbers of the papers",
        f"{passed.count(True)} pass",
        f"{passed.count(False)} fail",
        f"{passed.count(None)} could not be measured" if None in passed else "",
        f"{len(numbers) - len(passed)} are not recorded yet",
    ]
    return f"{words[0]}: {', '.join(word for word in words[1:] if word)}.\n"
