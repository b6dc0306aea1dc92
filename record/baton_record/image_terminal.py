# SPDX-License-Identifier: Apache-2.0
"""Pictures in a terminal: as half blocks, in kitty's protocol, or as sixels."""

from __future__ import annotations

import base64
import fcntl
import io
import re
import struct
import sys
import termios
import time
from typing import Any

import numpy as np
from baton_cli.terminal_keys import Keys
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.text import Text

BLOCKS, KITTY, SIXEL = "blocks", "kitty", "sixel"
FORMS = (BLOCKS, KITTY, SIXEL)
_ANSWER_S = 0.5
_CELL = (8, 16)  # pixels, where the terminal does not say
# Two questions: whether the terminal has kitty's protocol, and its device attributes. Every terminal answers the second one.
_QUESTION = "\x1b_Gi=1,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\\x1b[c"
_ATTRIBUTES = re.compile(r"\x1b\[\?([\d;]*)c")


def form_of(answer: str) -> str:
    """The form of pictures that a terminal with this answer can show."""
    attributes = _ATTRIBUTES.search(answer)
    if "\x1b_Gi=1;OK" in answer:
        return KITTY
    return SIXEL if attributes and "4" in attributes[1].split(";") else BLOCKS


def ask() -> str:
    """The form of pictures that this process's terminal can show."""
    answer = ""
    with Keys(sys.stdout.isatty()) as terminal:
        if terminal.there:
            sys.stdout.write(_QUESTION)
            sys.stdout.flush()
            end = time.monotonic() + _ANSWER_S
            while not _ATTRIBUTES.search(answer) and (left := end - time.monotonic()) > 0:
                answer += terminal.typed(left)
    return form_of(answer)


def _pixels_of_terminal(columns: int, rows: int) -> tuple[int, int]:
    try:
        lines, cells, width, height = struct.unpack("4H", fcntl.ioctl(sys.stdout, termios.TIOCGWINSZ, bytes(8)))
    except (OSError, ValueError):
        lines = cells = width = height = 0
    wide, high = (width // cells, height // lines) if cells and lines and width and height else _CELL
    return columns * wide, rows * high


def show(picture: Any, form: str, console: Console) -> None:
    """Writes an RGB picture, made smaller if the terminal is."""
    columns, rows = console.width, max(1, console.height - 1)
    limit = (columns, 2 * rows) if form == BLOCKS else _pixels_of_terminal(columns, rows)
    picture = picture.copy()
    picture.thumbnail(limit)
    if form == BLOCKS:
        console.print(blocks(picture), soft_wrap=True)
    else:
        console.file.write((kitty if form == KITTY else sixel)(picture) + "\n")


def blocks(picture: Any) -> Text:
    """Two pixels in a cell: the upper one in the colour of the character, the lower one in that of its ground."""
    pixels = np.asarray(picture)
    text = Text()
    for y in range(0, len(pixels), 2):
        for x in range(pixels.shape[1]):
            upper = Color.from_rgb(*pixels[y, x])
            lower = Color.from_rgb(*pixels[y + 1, x]) if y + 1 < len(pixels) else None
            text.append("▀", Style(color=upper, bgcolor=lower))
        text.append("\n" if y + 2 < len(pixels) else "")
    return text


def kitty(picture: Any) -> str:
    """A PNG in parts, as https://sw.kovidgoyal.net/kitty/graphics-protocol says."""
    file = io.BytesIO()
    picture.save(file, "PNG")
    data = base64.b64encode(file.getvalue()).decode()
    parts = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    return "".join(
        f"\x1b_G{'a=T,f=100,' if not number else ''}m={int(number + 1 < len(parts))};{part}\x1b\\"
        for number, part in enumerate(parts)
    )


def sixel(picture: Any) -> str:
    """Bands of six rows, in each of them a line for each of 256 colours, as DEC's VT340 has them."""
    few = picture.quantize(256)
    colours = np.asarray(few.getpalette("RGB")).reshape(-1, 3)
    indices = np.asarray(few)
    out = [f'\x1bPq"1;1;{picture.width};{picture.height}']
    for number in np.unique(indices):
        red, green, blue = (round(int(value) * 100 / 255) for value in colours[number])
        out.append(f"#{number};2;{red};{green};{blue}")
    for y in range(0, picture.height, 6):
        band = indices[y : y + 6]
        bits = 1 << np.arange(len(band))
        lines = [f"#{number}{_shortened((band == number).T @ bits)}" for number in np.unique(band)]
        out.append("$".join(lines) + "-")
    return "".join([*out, "\x1b\\"])


def _shortened(values: Any) -> str:
    """Sixels as characters; more than three equal ones as a count."""
    ends = [*(np.flatnonzero(np.diff(values)) + 1), len(values)]
    out, begin = "", 0
    for end in ends:
        character, count = chr(63 + int(values[begin])), int(end) - begin
        out += f"!{count}{character}" if count > 3 else character * count
        begin = int(end)
    return out
