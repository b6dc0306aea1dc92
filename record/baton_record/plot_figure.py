# SPDX-License-Identifier: Apache-2.0
"""Lines in a terminal, of braille dots (two by four in a character) or, where nothing else tells them apart, of a character for each line.
Own code, because plotext 6 aborts the process at a number that is not finite."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from rich.text import Text

COLOURS = ("cyan", "yellow", "magenta", "green", "red", "blue", "bright_white", "bright_black")
MARKS = "*+ox#@%&"
_TICKS = 5  # about how many lines lie between two labels of the axis
_LEAST = (30, 6)  # columns and rows
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])  # Unicode 13, section 21.1


@dataclass(frozen=True)
class Line:
    """`seconds` and `values` have equal lengths. Where a value is not finite, the line has a gap."""

    label: str
    seconds: Any
    values: Any


@dataclass(frozen=True)
class Look:
    """`limits` of the values, None: those of the lines. Without `colour`, several lines are drawn with MARKS. `braille`: else ASCII."""

    columns: int
    rows: int
    limits: tuple[float, float] | None = None
    colour: bool = True
    braille: bool = True


def draw(lines: list[Line], window: tuple[float, float], look: Look) -> Text:
    """A picture of exactly look.rows lines: what the lines do in a window of time, the axes, and the last value of each line."""
    columns, rows = max(look.columns, _LEAST[0]), max(look.rows, _LEAST[1] + len(lines))
    height = rows - 1 - len(lines)
    low, high = look.limits or _limits(lines, window)
    labels = _value_labels(low, high, height)
    gutter = max(len(each) for each in labels.values())
    width = columns - gutter - 1
    by_dots = look.braille and (look.colour or len(lines) == 1)
    across, down = (2, 4) if by_dots else (1, 1)
    dots = np.zeros((height, width), int)
    owners = np.full((height, width), -1)
    for number, line in enumerate(lines):
        x, y = _path(line, window, (low, high), (width * across, height * down))
        if by_dots:
            np.bitwise_or.at(dots, (y // 4, x // 2), _DOTS[y % 4, x % 2])
        owners[y // down, x // across] = number
    bar = "│" if look.braille else "|"
    text = Text(no_wrap=True)
    for row in range(height):
        text.append(labels.get(row, "").rjust(gutter) + bar)
        for owner, run in groupby(range(width), key=lambda column: int(owners[row, column])):
            if owner < 0:
                shown = " " * len(list(run))
            else:
                shown = "".join(chr(0x2800 + dots[row, column]) if by_dots else MARKS[owner] for column in run)
            text.append(shown, COLOURS[owner] if look.colour and owner >= 0 else "")
        text.append("\n")
    text.append(_time_labels(window[1] - window[0], width).rjust(columns))
    for number, line in enumerate(lines):
        mark = "━" if by_dots else MARKS[number]
        last = f"{line.values[-1]:.6g}" if len(line.values) else "no value yet"
        name = line.label[: columns - len(last) - 4]
        text.append("\n")
        text.append(f"{mark} {name}", COLOURS[number] if look.colour else "")
        text.append(f"  {last}")
    return text


def _limits(lines: list[Line], window: tuple[float, float]) -> tuple[float, float]:
    """From the least to the greatest value that is seen, with a little room."""
    seen = [
        line.values[(line.seconds >= window[0]) & (line.seconds <= window[1]) & np.isfinite(line.values)]
        for line in lines
    ]
    values = np.concatenate(seen) if seen else np.empty(0)
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = (high / 2 - low / 2) * 0.1 or max(abs(low) * 0.1, 1e-300) if low != 0 or high != 0 else 1.0
    return max(low - room, -1e308), min(high + room, 1e308)


def _path(
    line: Line, window: tuple[float, float], limits: tuple[float, float], size: tuple[int, int]
) -> tuple[Any, Any]:
    """The dots of a line, as columns from the left and rows from above; those outside of the size are left out."""
    width, height = size
    low, high = limits
    x = (line.seconds - window[0]) / (window[1] - window[0]) * (width - 1)
    with np.errstate(invalid="ignore", over="ignore"):
        y = (high / 2 - line.values / 2) / (high / 2 - low / 2) * (height - 1)
        near = np.isfinite(line.values) & (x >= -width) & (x <= width)
        # A line that leaves the picture is drawn to its edge.
        x, y = np.where(near, x, np.nan), np.clip(y, -height, 2 * height)
    if not len(x):
        return np.empty(0, int), np.empty(0, int)
    steps = np.maximum(np.abs(np.diff(x)), np.abs(np.diff(y)))
    steps = np.where(np.isfinite(steps), np.ceil(steps), 0).astype(int)
    begins = np.repeat(np.arange(len(steps)), steps)
    share = np.arange(len(begins)) - np.repeat(np.cumsum(steps) - steps, steps)
    share = share / np.maximum(np.repeat(steps, steps), 1)
    xs = np.concatenate([x, x[begins] + share * (x[begins + 1] - x[begins]) if len(begins) else np.empty(0)])
    ys = np.concatenate([y, y[begins] + share * (y[begins + 1] - y[begins]) if len(begins) else np.empty(0)])
    known = np.isfinite(xs) & np.isfinite(ys)
    columns, rows = np.rint(xs[known]).astype(int), np.rint(ys[known]).astype(int)
    inside = (columns >= 0) & (columns < width) & (rows >= 0) & (rows < height)
    return columns[inside], rows[inside]


def _value_labels(low: float, high: float, height: int) -> dict[int, str]:
    """The labels left of the axis, by row. They have as many digits as they need to differ."""
    rows = sorted({*range(0, height - _TICKS // 2, _TICKS), height - 1})
    share = [row / max(height - 1, 1) for row in rows]
    values = [high * (1 - each) + low * each for each in share]
    span = high / 2 - low / 2
    for digits in range(3, 17):
        # Rounded to the span's decimals, so that 0 is not shown as 9e-17.
        if 1e-3 <= span and max(abs(low), abs(high)) < 1e6:
            decimals = max(0, digits - 1 - math.floor(math.log10(span)))
            texts = [
                f"{value:.{decimals}f}".rstrip("0").rstrip(".") if decimals else f"{value:.0f}" for value in values
            ]
            texts = ["0" if text == "-0" else text for text in texts]
        else:
            texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(texts):
            break
    return dict(zip(rows, texts, strict=True))


def _time_labels(seconds: float, width: int) -> str:
    """The labels below the axis: how long ago the values came."""
    count = max(1, min(5, width // 12))
    text = ""
    for number in range(count):
        text = text.ljust(number * width // count) + f"-{seconds * (count - number) / count:.3g} s"
    return text[: width - 4].ljust(width - 3) + "now"
