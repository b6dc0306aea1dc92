# SPDX-License-Identifier: Apache-2.0
"""What a view cannot do, said to its user and to the viewers, a bounded number of times."""

from __future__ import annotations

import threading
from collections.abc import Callable

from baton_cli import live

MOST_SAID = 1000  # different sentences on the terminal
MOST_CHARACTERS = 500  # of each: clients choose the names in it
MOST_UNSENT = 64  # sentences that wait for their way to the viewers


class ViewError(ValueError):
    """What cannot be shown, published, set or called, with the reason."""


class Complaints:
    """All methods may be called from any thread. `say` gets each sentence once."""

    def __init__(self, say: Callable[[str], object]) -> None:
        self._lock = threading.Lock()
        self._said: set[str] = set()
        self._unsent: dict[str, None] = {}
        self._say = say

    def report(self, sentence: str) -> None:
        sentence = live.harmless(sentence)[:MOST_CHARACTERS]
        with self._lock:
            if len(self._unsent) < MOST_UNSENT:
                self._unsent[sentence] = None
            if sentence in self._said or len(self._said) >= MOST_SAID:
                return
            self._said.add(sentence)
        self._say(sentence)

    def take_unsent(self, most: int) -> list[str]:
        """The next sentences for the viewers, each once however often it was reported meanwhile."""
        with self._lock:
            taken = list(self._unsent)[:most]
            for sentence in taken:
                del self._unsent[sentence]
            return taken
