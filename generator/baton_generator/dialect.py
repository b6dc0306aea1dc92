# SPDX-License-Identifier: Apache-2.0
"""Distinguishes ROS 1 from ROS 2 interface files by syntax that only one of the two has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .diagnostics import Location, fail
from .model import Dialect

FIELD_NAME = {
    Dialect.ROS1: re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z"),
    Dialect.ROS2: re.compile(r"(?!.*__)(?!.*_\Z)[a-z][a-z0-9_]*\Z"),
}
CONSTANT_NAME = {
    Dialect.ROS1: re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z"),
    Dialect.ROS2: re.compile(r"(?!.*__)(?!.*_\Z)[A-Z][A-Z0-9_]*\Z"),
}
NAME_RULE = {
    (Dialect.ROS1, "field"): "a ROS 1 field name begins with a letter and contains letters, digits and underscores",
    (
        Dialect.ROS2,
        "field",
    ): "a ROS 2 field name begins with a lower-case letter, contains lower-case letters, digits and single underscores, and does not end in one",
    (
        Dialect.ROS1,
        "constant",
    ): "a ROS 1 constant name begins with a letter and contains letters, digits and underscores",
    (
        Dialect.ROS2,
        "constant",
    ): "a ROS 2 constant name begins with an upper-case letter, contains upper-case letters, digits and single underscores, and does not end in one",
}


@dataclass(frozen=True)
class Evidence:
    dialect: Dialect
    reason: str
    location: Location


def evidence_of_type(token: str, has_own_header: bool, location: Location) -> Evidence | None:
    """The dialect that a type token implies. ``has_own_header``: the package has a message Header, so that its name alone implies
    no dialect: ROS 1 (genmsg) reads std_msgs/Header, ROS 2 (rosidl) the package's own."""
    base = re.split(r"[\[<]", token, maxsplit=1)[0]
    if base in ("time", "duration"):
        return Evidence(Dialect.ROS1, f"the built-in type '{base}'", location)
    if base == "Header" and not has_own_header:
        return Evidence(Dialect.ROS1, "'Header' without its package", location)
    if "<=" in token:
        return Evidence(Dialect.ROS2, "a bounded type", location)
    if base == "wstring":
        return Evidence(Dialect.ROS2, "the type 'wstring'", location)
    if base.startswith("builtin_interfaces/") or base.count("/") == 2:
        return Evidence(Dialect.ROS2, f"the type '{base}'", location)
    return None


def evidence_of_name(name: str, constant: bool, location: Location) -> Evidence | None:
    """A name that only ROS 1 allows."""
    rules = CONSTANT_NAME if constant else FIELD_NAME
    if rules[Dialect.ROS1].match(name) and not rules[Dialect.ROS2].match(name):
        return Evidence(Dialect.ROS1, f"the {'constant' if constant else 'field'} name '{name}'", location)
    return None


def evidence_of_default(location: Location) -> Evidence:
    return Evidence(Dialect.ROS2, "a default value", location)


def decide(found: list[Evidence], hint: Dialect | None) -> Dialect | None:
    """The dialect, or None where both read the file alike so far. ``hint`` (the package's build tool) settles only the open case."""
    first = {e.dialect: e for e in reversed(found)}
    if len(first) == 2:
        one, two = first[Dialect.ROS1], first[Dialect.ROS2]
        raise fail(
            one.location,
            f"only ROS 1 allows {one.reason}, but line {two.location.line} has {two.reason}, which only ROS 2 allows",
            "write the file in one dialect, or name the one meant with --dialect ros1 or --dialect ros2 to see its errors",
        )
    return next(iter(first), hint)
