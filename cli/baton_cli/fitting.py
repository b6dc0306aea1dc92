# SPDX-License-Identifier: Apache-2.0
"""Tables without broken lines: on a narrow terminal the least important columns are left out, then names and reasons are cut. A table that is
written into a pipe or a file has its full width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text


@dataclass
class Column:
    """`least`: characters that remain of a text that is cut; None: the text is never cut. `rank`: the column with the highest rank is left out
    first; 0: the column always stays."""

    title: str
    rank: int = 0
    right: bool = False
    least: int | None = None
    cells: list[str] = field(default_factory=list)

    @property
    def whole(self) -> int:
        return max(cell_len(text) for text in (self.title, *self.cells))

    @property
    def needed(self) -> int:
        return self.whole if self.least is None else min(self.whole, max(self.least, cell_len(self.title)))


_EDGES = 2
_BETWEEN = 3


def _width(widths: Sequence[int]) -> int:
    return _EDGES + sum(widths) + _BETWEEN * (len(widths) - 1)


def fitted(columns: Sequence[Column], width: int | None) -> list[tuple[Column, int]]:
    """The columns for which `width` has room, each with its own width. None: as much room as they need."""
    shown = list(columns)
    if width is None:
        return [(column, column.whole) for column in shown]
    while _width([column.needed for column in shown]) > width and (left_out := max(shown, key=lambda c: c.rank)).rank:
        shown.remove(left_out)
    widths = [column.needed for column in shown]
    spare = width - _width(widths)
    for at, column in enumerate(shown):  # the remaining width makes cut texts longer
        more = max(0, min(spare, column.whole - widths[at]))
        widths[at] += more
        spare -= more
    return list(zip(shown, widths, strict=True))


def table(columns: Sequence[Column], width: int | None) -> tuple[Table, int]:
    """A table of at most this width, and the width that it has. If there is no room for the columns that always stay, it is wider."""
    chosen = fitted(columns, width)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, width in chosen:
        table.add_column(
            column.title, justify="right" if column.right else "left", no_wrap=True, overflow="ellipsis", width=width
        )
    for row in zip(*(column.cells for column, _ in chosen), strict=True):
        table.add_row(*map(Text, row))
    return table, _width([width for _, width in chosen])


def show(columns: Sequence[Column], console: Console) -> None:
    """Prints a table, and sets the console to its width. If the terminal is narrower, it breaks the lines."""
    shown, console.width = table(columns, console.width if console.is_terminal else None)
    console.print(shown)
