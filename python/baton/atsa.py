# SPDX-License-Identifier: Apache-2.0
"""ATSA's choice: low-layer or high-layer serialization, by the complexity K(x) against a threshold.

K(x) is the number of messages in the sequences of x (ATSA, Eq. 6). Low-layer serialization (LSA) converts the object to the
middleware's native struct and lets that be serialized; high-layer serialization (HSA) writes the finished bytes in the language
layer. Above the threshold HSA is cheaper. The threshold is measured by a binary search before the first use and kept per machine
in ~/.cache/baton (the paper's future work).
"""

from __future__ import annotations

import json
import operator
import os
import platform
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

_X = TypeVar("_X")
MOST = 8000  # the paper's range (Fig. 8)


def measure(function: Callable[[], object], repeat: int = 5) -> float:
    """The least of several times of a call, in seconds: the cost without disturbance by other processes."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def find_threshold(
    make: Callable[[int], _X],
    low: Callable[[_X], object],
    high: Callable[[_X], object],
    most: int = MOST,
    cost: Callable[[Callable[[], object]], float] = measure,
) -> int:
    """The K up to which low-layer serialization is not dearer, by binary search over messages make(K). -1: it always is;
    `most`: it never is."""

    def high_wins(k: int) -> bool:
        x = make(k)
        return cost(lambda: high(x)) < cost(lambda: low(x))

    below, above = -1, most + 1  # low wins at `below`, high at `above`
    while above - below > 1:
        middle = (below + above) // 2
        if high_wins(middle):
            above = middle
        else:
            below = middle
    return below


def _cache_file() -> Path | None:
    """None: there is no home, as in a container whose user id has no name."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:
        return None
    return Path(base) / "baton" / "atsa.json"


def _known(path: Path) -> dict[str, Any]:
    """The entries of the file; empty if this module has not written the file."""
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError):
        return {}
    return known if isinstance(known, dict) else {}


def machine() -> str:
    """The key of a threshold: this processor and this Python."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as info:
            model = next((line.partition(":")[2].strip() for line in info if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, Python {sys.version_info[0]}.{sys.version_info[1]}"


def checked_threshold(value: object, what: str) -> int:
    """A given threshold as a number. The error for a malformed one names its source."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -2
    if number < -1:
        raise ValueError(f"{what} is a number of messages, or -1 to serialize always, not {value!r}")
    return number


def given_threshold() -> int | None:
    """BATON_ATSA_THRESHOLD, or None if it is not set."""
    given = os.environ.get("BATON_ATSA_THRESHOLD")
    if not given:
        return None
    return checked_threshold(int(given) if re.fullmatch(r"-?[0-9]+", given) else given, "BATON_ATSA_THRESHOLD")


def cached_threshold(world: str, calibrate: Callable[[], int]) -> int:
    """The threshold of a world ("rclpy"): BATON_ATSA_THRESHOLD, else this machine's cached one, else calibrate()'s."""
    given = given_threshold()
    if given is not None:
        return given
    key = f"{world}, {machine()}"
    path = _cache_file()
    if path is None:
        return calibrate()
    known = _known(path)
    if isinstance(known.get(key), int):
        return int(known[key])
    known[key] = calibrate()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(known, indent=2))
        fresh.replace(path)
    except OSError:
        pass  # measured again next time
    return int(known[key])
