# SPDX-License-Identifier: Apache-2.0
"""Losses of subscriptions and their reasons, for the verbs that show them: baton.Losses of Node.report(). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

# By the name of the count: how the messages were lost, and the advice. {depth} and {held} are of the subscription's QoS.
REASONS = {
    "overflow": (
        "newer ones pushed {them} out of its queue of {depth}",
        "a faster callback, or a QoS depth above {depth}",
    ),
    "held": (
        "newer ones pushed {them} out while it held all samples that it may",
        "release samples sooner, or raise QoS 'held' above {held}",
    ),
    "limit": (
        "too large for the memory that its process maps and copies of one publisher's process",
        "raise BATON_WINDOW and RLIMIT_AS of the subscribing process, or publish smaller messages",
    ),
    "memory": (
        "its process had no memory, descriptor or memory area left",
        "more memory, ulimit -n, or sysctl vm.max_map_count for the subscribing process",
    ),
    "malformed": (
        "{they} failed a check, and the connection ended",
        "the subscribing process's log names the publisher, which wrote a malformed message",
    ),
    "interrupted": (
        "the two processes were disconnected",
        "the logs of both processes say why",
    ),
}
# Counts that DDS does not call losses.
REMARKS = {
    "lifespan": "older than the lifespan",
    "stamp": "stamped in the future by the publisher, which was corrected",
}
WRONG = ("limit", "memory", "malformed")  # losses that no quality of service permits


def as_json(losses: Any) -> dict[str, int]:
    """All counts, with their total. A subscription without a row in the report lost nothing."""
    if losses is None:
        return {"total": 0, **dict.fromkeys([*REASONS, *REMARKS], 0)}
    return {"total": losses.total, **asdict(losses)}


def _reason(name: str, count: int, qos: Any) -> str:
    text = REASONS[name][0] if name in REASONS else name
    them, they = ("it", "it") if count == 1 else ("them", "they")
    return text.format(depth=qos.depth, held=qos.held, them=them, they=they)


def _found(losses: Mapping[str, int]) -> list[tuple[int, str]]:
    """The reasons, the most frequent first."""
    return sorted(((n, name) for name, n in losses.items() if n and name in REASONS), reverse=True)


def why(losses: Mapping[str, int], qos: Any) -> str:
    """A sentence: "180: newer ones pushed them out of its queue of 10; 20: ...", a single reason without its number; empty: nothing was lost."""
    found = _found(losses)
    if len(found) == 1:
        return _reason(found[0][1], found[0][0], qos)
    return "; ".join(f"{n}: {_reason(name, n, qos)}" for n, name in found)


def short(losses: Mapping[str, int]) -> str:
    """A short text for narrow tables: "180 overflow, 20 held"."""
    return ", ".join(f"{n} {name}" for n, name in _found(losses))


def remarks(losses: Mapping[str, int]) -> str:
    """A sentence about samples that were not delivered, or were changed, and do not count as lost."""
    return "; ".join(f"{losses[name]} {text}" for name, text in REMARKS.items() if losses.get(name))


def way_out(losses: Mapping[str, int], qos: Any) -> str:
    """The advice for the most frequent reason."""
    name = max(REASONS, key=lambda name: losses.get(name, 0))
    return REASONS[name][1].format(depth=qos.depth, held=qos.held) if losses.get(name) else ""


def messages(count: int) -> str:
    return f"{count} message{'s' * (count != 1)}"
