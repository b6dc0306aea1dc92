# SPDX-License-Identifier: Apache-2.0
"""Which topics and services cross, how often, and how urgent they are: by key expressions over their names without the first slash."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import zenoh

PRIORITIES = ("real_time", "interactive_high", "interactive_low", "data_high", "data", "data_low", "background")
CONGESTION = ("drop", "block")
# The announcements of RMW bridges cross in any case: by their names a bridge sees that it would close a loop (docs/concepts/ros2.md).
RMW_BRIDGE = "/_baton_bridge"
_ANNOUNCES_ON = "/rosout"


class RuleError(ValueError):
    """An option that cannot be read."""


def _expression(text: str, option: str) -> zenoh.KeyExpr:
    try:
        return zenoh.KeyExpr(text.strip("/"))
    except zenoh.ZError:
        raise RuleError(
            f"{option} {text}: this is no key expression; 'camera/**' means all topics below /camera, '**' all topics"
        ) from None


def _pairs(texts: Iterable[str], option: str, example: str) -> list[tuple[zenoh.KeyExpr, str]]:
    found = []
    for text in texts:
        expression, equals, value = text.rpartition("=")
        if not equals:
            raise RuleError(f"{option} {text}: expected an expression and a value, as in {option} '{example}'")
        found.append((_expression(expression, option), value))
    return found


def _choice(value: str, known: tuple[str, ...], option: str) -> str:
    if value not in known:
        raise RuleError(f"{option} ...={value}: expected one of {', '.join(known)}")
    return value


def _rate(value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e6:
        raise RuleError(f"--rate ...={value}: expected messages a second, as in --rate 'camera/**=5'")
    return rate


@dataclass
class Rules:
    """The first expression that fits a name counts. Raises RuleError when it is made."""

    give: Iterable[str] = ()
    take: Iterable[str] = ()
    deny: Iterable[str] = ()
    rate: Iterable[str] = ()
    priority: Iterable[str] = ()
    congestion: Iterable[str] = ()
    _lists: dict[str, list[Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        names: dict[str, Iterable[str]] = {"--give": self.give, "--take": self.take, "--deny": self.deny}
        self._lists = {name: [_expression(each, name) for each in texts] for name, texts in names.items()}
        rates = _pairs(self.rate, "--rate", "camera/**=5")
        priorities = _pairs(self.priority, "--priority", "joy=real_time")
        drops = _pairs(self.congestion, "--congestion", "map=block")
        self._lists["--rate"] = [(key, _rate(value)) for key, value in rates]
        self._lists["--priority"] = [(key, _choice(value, PRIORITIES, "--priority")) for key, value in priorities]
        self._lists["--congestion"] = [(key, _choice(value, CONGESTION, "--congestion")) for key, value in drops]

    def _crosses(self, name: str, option: str) -> bool:
        key = name.strip("/")
        allowed = self._lists[option]
        denied = any(each.includes(key) for each in self._lists["--deny"])
        return not denied and (not allowed or any(each.includes(key) for each in allowed))

    def gives(self, name: str, node: str = "") -> bool:
        """Whether a topic or service of Baton is there for Zenoh."""
        return (name == _ANNOUNCES_ON and node.startswith(RMW_BRIDGE)) or self._crosses(name, "--give")

    def takes(self, name: str, node: str = "") -> bool:
        """The other way."""
        return (name == _ANNOUNCES_ON and node.startswith(RMW_BRIDGE)) or self._crosses(name, "--take")

    def _value(self, name: str, option: str) -> Any:
        key = name.strip("/")
        return next((value for each, value in self._lists[option] if each.includes(key)), None)

    def pace(self, name: str) -> Pace | None:
        rate = self._value(name, "--rate")
        return None if rate is None else Pace(1 / rate)

    def qos(self, name: str, blocks: bool) -> dict[str, Any]:
        """Of a Zenoh publisher. `blocks`: without an option a full line makes the publisher wait, as rmw_zenoh does for reliable keep_all."""
        priority = self._value(name, "--priority") or "data"
        congestion = self._value(name, "--congestion") or ("block" if blocks else "drop")
        return {
            "priority": getattr(zenoh.Priority, priority.upper()),
            "congestion_control": getattr(zenoh.CongestionControl, congestion.upper()),
        }


class Pace:
    """Lets one message pass in each period, for each publisher. One thread."""

    MOST = 4096

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next: dict[bytes, float] = {}

    def lets(self, gid: bytes) -> bool:
        now = time.monotonic()
        due = self._next.get(gid, 0.0)
        if now < due:
            return False
        if len(self._next) >= self.MOST:
            self._next.clear()
        # From the time when it was due: jitter does not lower the rate.
        self._next[gid] = max(due + self._period_s, now + self._period_s / 2)
        return True
