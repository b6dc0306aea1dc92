# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of builtin_interfaces/Time and /Duration, exact to the nanosecond, as in C++ (baton/node/time.hpp).

A number is seconds: since 1970 where it stands for a time, `time.time() - header.stamp` and `header.stamp < time.time()`, and a duration
where it is added to or subtracted from a stamp. With a time or duration of rospy the result is rospy's: `rospy.Time.now() - header.stamp`
is a duration of rospy, as in callbacks of rospy.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

TIME = "builtin_interfaces/Time"
DURATION = "builtin_interfaces/Duration"
_SECOND_NS = 10**9


def is_stamp(struct: Any) -> bool:
    return struct.full_name in (TIME, DURATION) and [m.name for m in struct.members] == ["sec", "nanosec"]


def _kind(value: Any) -> str | None:
    """TIME, DURATION, "number" or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number" if math.isfinite(value) else None
    struct = getattr(type(value), "_struct", None)
    name = getattr(struct, "full_name", None)
    return name if name in (TIME, DURATION) else None


def _as_rospy(self: Any, other: Any) -> Any:
    """The same time or duration in the class of rospy, if `other` is of rospy; else None."""
    genpy = sys.modules.get("genpy")  # without it there is no such object
    if genpy is None or not isinstance(other, genpy.Time | genpy.Duration):
        return None
    return (genpy.Time if _kind(self) == TIME else genpy.Duration)(int(self.sec), int(self.nanosec))


def _with_rospy(own: Callable[[Any, Any], Any], rospy: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator: `rospy` between two objects of rospy, else `own`."""

    def applied(self: Any, other: Any) -> Any:
        same = _as_rospy(self, other)
        return own(self, other) if same is None else rospy(same, other)

    applied.__name__ = own.__name__
    return applied


def to_nsec(value: Any) -> int:
    """Nanoseconds, exactly."""
    if isinstance(value, int | float):
        whole = math.floor(value)
        return whole * _SECOND_NS + round((value - whole) * _SECOND_NS)
    return int(value.sec) * _SECOND_NS + int(value.nanosec)


def to_sec(value: Any) -> float:
    """Seconds."""
    return float(value.sec + value.nanosec * 1e-9)


def _made(cls: Any, nanoseconds: int) -> Any:
    return cls(sec=nanoseconds // _SECOND_NS, nanosec=nanoseconds % _SECOND_NS)


def _add(self: Any, other: Any) -> Any:
    """A stamp and a duration."""
    if _kind(other) not in (DURATION, "number"):
        return NotImplemented
    return _made(type(self), to_nsec(self) + to_nsec(other))


def _sub(self: Any, other: Any) -> Any:
    """Seconds between two stamps, or the stamp that is a duration earlier."""
    kind = _kind(other)
    if kind == TIME:
        return (to_nsec(self) - to_nsec(other)) / _SECOND_NS
    return NotImplemented if kind is None else _made(type(self), to_nsec(self) - to_nsec(other))


def _rsub(self: Any, other: Any) -> Any:
    """Seconds from a stamp to a time of time.time()."""
    return (to_nsec(other) - to_nsec(self)) / _SECOND_NS if _kind(other) == "number" else NotImplemented


def _comparison(name: str, compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def compared(self: Any, other: Any) -> Any:
        if _kind(other) not in ("number", _kind(self)):
            return NotImplemented
        return compare(to_nsec(self), to_nsec(other))

    compared.__name__ = name
    return _with_rospy(compared, compare)


def _is_zero(self: Any) -> bool:
    return bool(self.sec == 0 and self.nanosec == 0)


def _alias(field: str) -> property:
    """ROS 1's name of a field."""
    return property(lambda self: getattr(self, field), lambda self, value: setattr(self, field, value))


def methods(full_name: str) -> dict[str, Any]:
    """The methods and names that a message class of this type has beside its fields."""
    found: dict[str, Any] = {"__float__": to_sec, "to_sec": to_sec, "to_nsec": to_nsec, "is_zero": _is_zero}
    found |= {"secs": _alias("sec"), "nsecs": _alias("nanosec")}
    for name in ("lt", "le", "gt", "ge"):
        found[f"__{name}__"] = _comparison(f"__{name}__", getattr(operator, name))
    if full_name == TIME:
        plus = _with_rospy(_add, operator.add)
        found |= {"__add__": plus, "__radd__": plus, "__sub__": _with_rospy(_sub, operator.sub)}
        found["__rsub__"] = _with_rospy(_rsub, lambda same, other: other - same)
    return found
