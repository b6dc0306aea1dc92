# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition. The limit is a watchdog, not a promise: it is long enough for a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

LIMIT_S = 120
T = TypeVar("T")


def until(
    look: Callable[[], T], what: object = "it did not come", limit_s: float = LIMIT_S, every_s: float = 0.02
) -> T:
    """Calls the function until its result is true, and returns the result. After the limit fails with the text `what`, or the result of `what()`."""
    end = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(every_s)
    return found
