# SPDX-License-Identifier: Apache-2.0
"""Lines for people that another host can cause, and the count of what is lost."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator

import baton
import zenoh


class Lines:
    """Each subject has a line at most every MOST_OFTEN_S, and all subjects together MOST in this time. Any thread."""

    MOST = 10
    MOST_OFTEN_S = 10.0

    def __init__(self, write: Callable[[str], object], clock: Callable[[], float] = time.monotonic) -> None:
        self.say = write  # a line about the program itself: no other host can cause it often
        self._clock = clock
        self._lock = threading.Lock()
        self._recent: dict[str, float] = {}
        self._unreported = 0
        self.lost = 0

    def count(self, about: str, why: str, text: str) -> None:
        """Something of `about` is lost for the reason `why`."""
        now = self._clock()
        with self._lock:
            self.lost += 1
            self._recent = {each: at for each, at in self._recent.items() if now - at < self.MOST_OFTEN_S}
            if (subject := f"{about}: {why}") in self._recent or len(self._recent) >= self.MOST:
                self._unreported += 1
                return
            self._recent[subject] = now
            unreported, self._unreported = self._unreported, 0
        line = f"{about}: {text}" + (f" (and {unreported} more since the last such line)" if unreported else "")
        # Names of other hosts must not steer a terminal.
        self.say("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line))

    @contextlib.contextmanager
    def counting(self, about: str, text: str) -> Iterator[None]:
        """What does not work is counted and reported as `text`. What the domain has already is neither."""
        try:
            yield
        except baton.AlreadyExists:
            pass
        except (ValueError, baton.BatonError, zenoh.ZError) as error:
            # Our own errors are told apart by their words, without those that another host chooses: numbers, and what follows a quote or a colon.
            own = type(error) is ValueError
            why = re.split(r"[\d':]", str(error), maxsplit=1)[0] if own else type(error).__name__
            self.count(about[:200], f"{text}: {why}", f"{text}: {error}")
