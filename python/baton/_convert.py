# SPDX-License-Identifier: Apache-2.0
"""Classes of other worlds: which type they are, and objects of them from messages."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from baton_generator.canonical import Member, Struct
from baton_generator.model import Shape

from . import _core
from ._plans import plan_of


def type_name(cls: Any) -> str | None:
    """ "package/Name" of a message class of rclpy, rospy or rosbags; None for anything else."""
    for attribute in ("_type", "__msgtype__"):  # rospy, rosbags
        name = getattr(cls, attribute, None)
        if isinstance(name, str) and "/" in name:
            return name.replace("/msg/", "/")
    if hasattr(cls, "_fields_and_field_types"):  # rclpy
        return f"{cls.__module__.split('.')[0]}/{cls.__name__}"
    return None


def to_foreign(value: _core.Message, cls: Any, types: Mapping[str, Any] | None) -> Any:
    """An object of `cls` with the fields of `value`."""
    if hasattr(cls, "_fields_and_field_types") or hasattr(cls, "_slot_types"):
        return _core._from_message(plan_of(cls), value)
    if dataclasses.is_dataclass(cls):
        return _dataclass(_core._plain(value), value._struct, cls, types or {})
    raise TypeError(f"{cls!r} is no message class of rclpy, rospy or rosbags")


@functools.cache
def _bytes_of(cls: Any) -> set[str]:
    """The fields that a class of rosbags has as `byte`, which rosbags reads and writes as a signed number, in ROS 2, too. Only the
    definitions beside the class tell them from `uint8`."""
    known = getattr(cls.__init__, "__globals__", {}).get("FIELDDEFS", {}).get(getattr(cls, "__msgtype__", None))
    found = set()
    for name, node in known[1] if known else ():
        while not isinstance(node[1][0], str):  # ((what, length) of an array or sequence)
            node = node[1][0]
        if node[1][0] == "byte":
            found.add(name)
    return found


def _members(struct: Struct, cls: Any) -> Iterator[tuple[str, Member]]:
    """The constructor's arguments of a dataclass, with the members they stand for."""
    known = {name: m for m in struct.members for name in (m.name, m.second_name) if name}
    for field in dataclasses.fields(cls):
        # rosbags' annotations are texts, in which dataclasses recognizes no ClassVar: constants, __msgtype__.
        if not field.init or str(field.type).startswith("ClassVar"):
            continue
        if field.name in known:
            yield field.name, known[field.name]
        # A member with a default is no field: it is the dummy of an empty message.
        elif field.default is dataclasses.MISSING:
            raise TypeError(f"{struct.full_name} has no field '{field.name}', which {cls!r} has")


def _class_of(member: Member, types: Mapping[str, Any]) -> Any:
    nested = types.get(member.type.base.replace("/", "/msg/"))
    if nested is None:
        raise TypeError(f"for {member.type.base} give the class too: baton.convert(message, cls, typestore.types)")
    return nested


def _signed(value: Any) -> Any:
    """An octet, or an array of octets, as signed numbers of the same bits."""
    return value.view(np.int8) if isinstance(value, np.ndarray) else (value ^ 0x80) - 0x80


def _dataclass(values: Any, struct: Struct, cls: Any, types: Mapping[str, Any]) -> Any:
    """`values`: a dict of _core._plain(), or an element of a structured array."""
    arguments: dict[str, Any] = {}
    signed = _bytes_of(cls)
    for name, member in _members(struct, cls):
        mine: Any = values[member.name]
        if member.type.is_message:
            nested, inner = struct.nested[member.type.base], _class_of(member, types)
            if member.type.shape is Shape.SINGLE:
                mine = _dataclass(mine, nested, inner, types)
            else:
                mine = [_dataclass(part, nested, inner, types) for part in mine]
        elif isinstance(mine, np.generic):
            mine = mine.item()
        elif isinstance(mine, np.ndarray):
            mine = np.array(mine)
        arguments[name] = _signed(mine) if name in signed else mine
    return cls(**arguments)
