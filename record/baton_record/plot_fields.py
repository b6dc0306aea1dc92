# SPDX-License-Identifier: Apache-2.0
"""The fields of messages that can be plotted: numbers, by their paths, such as pose.position.x or ranges[5]."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from baton_cli import live
from baton_cli.near import did_you_mean
from baton_generator.model import Shape

_TIMES = ("builtin_interfaces/Time", "builtin_interfaces/Duration", "time", "duration")
_TEXTS = ("string", "wstring")
_PART = re.compile(r"([A-Za-z]\w*)((?:\[\d+\])?)", re.ASCII)
_NAMED = 12  # how many fields an error names


class FieldError(ValueError):
    """A field that is no number. The text names fields that are numbers."""


@dataclass(frozen=True)
class Field:
    """`steps`: the members and indices from a message to the number."""

    topic: str
    path: str
    steps: tuple[str | int, ...]

    @property
    def label(self) -> str:
        return f"{self.topic}.{self.path}"

    def of(self, message: Any) -> float:
        """The number; nan if an array of the message has too few elements. Times become seconds."""
        value = message
        for step in self.steps:
            if isinstance(step, str):
                value = value[step] if isinstance(value, np.void) else getattr(value, step)
            elif step < len(value):
                value = value[step]
            else:
                return math.nan
        return seconds_of(value)


def seconds_of(value: Any) -> float:
    """A number, or the seconds of a time."""
    try:
        return float(value)
    except TypeError:
        if isinstance(value, np.void):
            return float(value["sec"]) + 1e-9 * float(value["nanosec"])
        return float(value.sec) + 1e-9 * float(value.nanosec)


def split(name: str) -> tuple[str, str]:
    """Splits TOPIC.FIELD at the first dot: names of topics have no dots. The field may be empty."""
    topic, _, path = name.partition(".")
    return live.absolute(topic), path


def numbers(struct: Any, before: str = "") -> Iterator[str]:
    """The paths of all numbers of a type; of an array the first element, if it has one."""
    for member in struct.members:
        kind, path = member.type, before + member.name
        if (struct.full_name, member.name) == ("std_msgs/Header", "seq"):
            continue  # not in ROS 2
        if kind.shape is not Shape.SINGLE:
            path += "[0]"
        if kind.base in struct.nested and kind.base not in _TIMES:
            yield from numbers(struct.nested[kind.base], f"{path}.")
        elif kind.base not in _TEXTS:
            yield path


def field(topic: str, path: str, struct: Any) -> Field:
    """The field of a type. Raises FieldError if there is none, or if it is no number."""
    steps: list[str | int] = []
    inside, kind = struct, None
    for part in path.split("."):
        found = _PART.fullmatch(part)
        member = next((each for each in inside.members if found and each.name == found[1]), None) if inside else None
        if found is None or member is None:
            raise FieldError(_missing(topic, path, struct))
        kind = member.type
        steps.append(member.name)
        if index := found[2]:
            if kind.shape is Shape.SINGLE:
                raise FieldError(f"{topic}.{path}: {member.name} is no array; {_there(struct)}")
            number = int(index[1:-1])
            if kind.count and number >= kind.count:
                raise FieldError(f"{topic}.{path}: {member.name} has at most {kind.count} elements")
            steps.append(number)
        elif kind.shape is not Shape.SINGLE:
            raise FieldError(
                f"{topic}.{path}: {member.name} is an array; name an element: {topic}.{path.replace(part, part + '[0]', 1)}"
            )
        inside = inside.nested.get(kind.base) if kind.base not in _TIMES else None
    if inside is not None or kind is None or kind.base in _TEXTS:
        below = [each for each in numbers(struct) if each.startswith(f"{path}.")]
        raise FieldError(f"{topic}.{path} is of type {kind.base if kind else '?'}, no number; {_there(struct, below)}")
    return Field(topic, path, tuple(steps))


def _missing(topic: str, path: str, struct: Any) -> str:
    there = list(numbers(struct))
    if not path:
        return f"which field of {topic} ({struct.full_name})? {_there(struct)}"
    hint = did_you_mean(path, there)
    return f"{struct.full_name} has no field {path}; {hint + ' ' if hint else ''}{_there(struct)}"


def _there(struct: Any, some: list[str] | None = None) -> str:
    there = some or list(numbers(struct))
    if not there:
        return f"{struct.full_name} has no numbers"
    more = len(there) - _NAMED
    return f"its numbers: {', '.join(there[:_NAMED])}{f', and {more} more' if more > 0 else ''}"
