# SPDX-License-Identifier: Apache-2.0
"""Which topics and services cross, how often, and how urgent they are: by key expressions over their names without the first slash."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from typing import Any

import zenoh

# The announcements of RMW bridges cross in any case: by their names a bridge sees that it would close a loop (docs/concepts/ros2.md).
RMW_BRIDGE = "/_baton_bridge"
_ANNOUNCES_ON = "/rosout"
_EXAMPLES = {"rate": "camera/**=5", "priority": "joy=real_time", "congestion": "map=block"}
_CHOICES = {
    "priority": ("real_time", "interactive_high", "interactive_low", "data_high", "data", "data_low", "background"),
    "congestion": ("drop", "block"),
}


class RuleError(ValueError):
    """An option that cannot be read."""


def _read(option: str, text: str) -> tuple[zenoh.KeyExpr, Any]:
    """An expression and its value; None for an option that has none."""
    value: Any
    expression, value = text, None
    if example := _EXAMPLES.get(option):
        expression, equals, value = text.rpartition("=")
        if not equals:
            raise RuleError(f"--{option} {text}: expected an expression and a value, as in --{option} '{example}'")
        if (known := _CHOICES.get(option)) and value not in known:
            raise RuleError(f"--{option} ...={value}: expected one of {', '.join(known)}")
        if option == "rate":
            value = _rate(value)
    try:
        return zenoh.KeyExpr(expression.strip("/")), value
    except zenoh.ZError:
        words = "this is no key expression; 'camera/**' means all topics below /camera, '**' all topics"
        raise RuleError(f"--{option} {expression}: {words}") from None


def _rate(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (rate := float(text)) < 1e6:
            return rate
    raise RuleError(f"--rate ...={text}: expected messages a second, as in --rate '{_EXAMPLES['rate']}'")


class Rules:
    """`options`: give, take, deny, rate, priority and congestion. The first expression that fits a name counts. Raises RuleError."""

    def __init__(self, **options: Iterable[str]) -> None:
        self._rules = {option: [_read(option, text) for text in texts] for option, texts in options.items()}

    def _fitting(self, option: str, name: str) -> list[Any]:
        return [value for key, value in self._rules.get(option, ()) if key.includes(name.strip("/"))]

    def crosses(self, way: str, name: str, node: str = "") -> bool:
        """Whether a topic or service of Baton is there for Zenoh ("give"), or the other way ("take")."""
        if name == _ANNOUNCES_ON and node.startswith(RMW_BRIDGE):
            return True
        return not self._fitting("deny", name) and bool(not self._rules.get(way) or self._fitting(way, name))

    def pace(self, name: str) -> Pace | None:
        """Of one publisher."""
        rates = self._fitting("rate", name)
        return Pace(1 / rates[0]) if rates else None

    def qos(self, name: str, blocks: bool) -> dict[str, Any]:
        """Of a Zenoh publisher. `blocks`: without an option a full line makes the publisher wait, as rmw_zenoh does for reliable keep_all."""
        priority = [*self._fitting("priority", name), "data"][0]
        congestion = [*self._fitting("congestion", name), "block" if blocks else "drop"][0]
        return {
            "priority": getattr(zenoh.Priority, priority.upper()),
            "congestion_control": getattr(zenoh.CongestionControl, congestion.upper()),
        }


class Pace:
    """Lets one message of a publisher pass in each period. One thread at a time."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._due = 0.0

    def lets(self) -> bool:
        now = time.monotonic()
        if now < self._due:
            return False
        # From the time when it was due: jitter does not lower the rate.
        self._due = max(self._due + self._period_s, now + self._period_s / 2)
        return True
