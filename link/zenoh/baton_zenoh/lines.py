# SPDX-License-Identifier: Apache-2.0
"""Lines for people that another host can cause, and the count of what is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Lines:
    """Each subject has a line at most every MOST_OFTEN_S, and all subjects together MOST in this time. Any thread."""

    MOST = 10
    MOST_OFTEN_S = 10.0
    MOST_SUBJECTS = 1024

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._recent: list[float] = []
        self._unreported = 0
        self.lost: dict[str, int] = {}

    def say(self, text: str) -> None:
        """A line about the program itself: no other host can cause it often."""
        self._write(text)

    def count(self, about: str, why: str, text: str) -> None:
        """Something of `about` is lost for the reason `why`."""
        now = self._clock()
        subject = f"{about}: {why}"
        with self._lock:
            if subject not in self.lost and len(self.lost) >= self.MOST_SUBJECTS:
                subject = why
            self.lost[subject] = self.lost.get(subject, 0) + 1
            self._recent = [each for each in self._recent if now - each < self.MOST_OFTEN_S]
            last = self._last.get(subject)
            if (last is not None and now - last < self.MOST_OFTEN_S) or len(self._recent) >= self.MOST:
                self._unreported += 1
                return
            if len(self._last) >= self.MOST_SUBJECTS:
                self._last.clear()
            self._last[subject] = now
            self._recent.append(now)
            unreported, self._unreported = self._unreported, 0
        line = f"{about}: {text}" + (f" (and {unreported} more since the last such line)" if unreported else "")
        # Names of other hosts must not steer a terminal.
        self._write("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))
