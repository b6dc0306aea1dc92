# SPDX-License-Identifier: Apache-2.0
"""Errors of a view for its user and for the viewers, with a bound for their number."""

from __future__ import annotations

import threading
from collections.abc import Callable

from baton_cli import live

MOST_SAID = 1000  # different sentences that are printed
MOST_CHARACTERS = 500  # length of a sentence: clients choose the names in it
MOST_UNSENT = 64  # sentences that are not sent to the viewers yet


class ViewError(ValueError):
    """A topic, parameter or service that cannot be shown, published, set or called, with the reason."""


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
        """The next sentences for the viewers. A sentence that was reported several times meanwhile is there once."""
        with self._lock:
            taken = list(self._unsent)[:most]
            for sentence in taken:
                del self._unsent[sentence]
            return taken
