# SPDX-License-Identifier: Apache-2.0
"""Measures whether the machine is quiet: the share of its processors that others use during a recording, namely processes that this one did not
start, and other virtual machines (steal)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

QUIET_CPUS = 0.1  # processors that others may use on average: about as much as an idle system
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Times:
    """Seconds since some beginning: of wall time, of all processors for all processes, of this process and its ended children, and stolen."""

    wall: float
    busy: float
    own: float
    stolen: float


def times(stat: Path = Path("/proc/stat")) -> Times:
    """Interrupts do not count as others' work: a run's own messages cause them, too."""
    words = stat.read_text().split(maxsplit=11)
    user, nice, system, _idle, _iowait, _irq, _softirq, steal = (int(word) / TICK for word in words[1:9])
    mine = os.times()
    own = mine.user + mine.system + mine.children_user + mine.children_system
    return Times(time.monotonic(), user + nice + system, own, steal)


def piece(begin: Times, end: Times, runs: int) -> dict:
    """The line of a recording about the time between: `others_cpus` and `stolen_cpus` are averages in processors."""
    wall = max(end.wall - begin.wall, 1e-6)
    others = max(0.0, (end.busy - begin.busy) - (end.own - begin.own)) / wall
    stolen = max(0.0, end.stolen - begin.stolen) / wall
    return {
        "minutes": round(wall / 60, 2),
        "runs": runs,
        "others_cpus": round(others, 3),
        "stolen_cpus": round(stolen, 3),
        "quiet": others + stolen <= QUIET_CPUS,
    }


def sentence(pieces: list[dict]) -> str:
    """About all pieces of a recording, for a page; empty where the recording does not say."""
    if not pieces:
        return ""
    worst = max(p["others_cpus"] + p["stolen_cpus"] for p in pieces)
    quiet = sum(p["quiet"] for p in pieces)
    if len(pieces) == 1:
        return f"{'quiet' if quiet else 'not quiet'}: others used {worst:.2f} CPUs"
    return f"{quiet} of {len(pieces)} pieces quiet: others used up to {worst:.2f} CPUs"
