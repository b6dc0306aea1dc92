# SPDX-License-Identifier: Apache-2.0
"""The keys that a user presses while a verb runs."""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator


class Keys:
    """A context that reads the terminal's keys one by one, without echo. Without a terminal there are no keys."""

    def __init__(self, wanted: bool) -> None:
        self._fd = sys.stdin.fileno() if wanted and sys.stdin.isatty() else -1

    @property
    def there(self) -> bool:
        """Whether there is a terminal."""
        return self._fd >= 0

    def __enter__(self) -> Keys:
        if self._fd >= 0:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd)
        return self

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def typed(self, seconds: float = 0) -> str:
        """The bytes typed since the last call. Waits at most `seconds` for one, if there is a terminal."""
        if self._fd < 0 or not select.select([self._fd], [], [], seconds)[0]:
            return ""
        text = os.read(self._fd, 1024).decode(errors="replace")
        if not text:
            self._fd = -1  # the terminal is gone
        return text


def keys(typed: str) -> Iterator[str]:
    """Cuts the bytes of a terminal into keys. An escape alone is the key of that name."""
    names = {"[A": "up", "[B": "down", "[5~": "page up", "[6~": "page down", "[H": "home", "[F": "end"}
    names |= {"[C": "right", "[D": "left", "OC": "right", "OD": "left"}
    names |= {"OA": "up", "OB": "down", "OH": "home", "OF": "end", "[1~": "home", "[4~": "end"}
    while typed:
        name = next((n for n in names if typed.startswith("\x1b" + n)), None)
        if name is not None:
            yield names[name]
            typed = typed[1 + len(name) :]
        else:
            yield typed[0]
            typed = typed[1:]
