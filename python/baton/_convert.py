# SPDX-License-Identifier: Apache-2.0
"""Classes of other worlds: which type they are, and objects of them from messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from baton_generator.canonical import Member, Struct

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
        return _dataclass(value, cls, types or {})
    raise TypeError(f"{cls!r} is no message class of rclpy, rospy or rosbags")


def _members(struct: Struct, cls: Any) -> Iterator[tuple[str, Member]]:
    """The constructor's arguments of a dataclass, with the members they stand for."""
    known = {name: m for m in struct.members for name in (m.name, m.second_name) if name}
    for field in dataclasses.fields(cls):
        if field.init and not field.name.startswith("__"):  # rosbags' __msgtype__ has a default
            if field.name not in known:
                raise TypeError(f"{struct.full_name} has no field '{field.name}', which {cls!r} has")
            yield field.name, known[field.name]


def _class_of(member: Member, types: Mapping[str, Any]) -> Any:
    nested = types.get(member.type.base.replace("/", "/msg/"))
    if nested is None:
        raise TypeError(f"for {member.type.base} give the class too: baton.convert(message, cls, typestore.types)")
    return nested


def _dataclass(value: _core.Message, cls: Any, types: Mapping[str, Any]) -> Any:
    struct: Struct = value._struct
    arguments: dict[str, Any] = {}
    for name, member in _members(struct, cls):
        mine = getattr(value, member.name)
        if isinstance(mine, _core.Message):
            mine = _dataclass(mine, _class_of(member, types), types)
        elif isinstance(mine, np.ndarray) and member.type.is_message:
            nested = struct.nested[member.type.base]
            mine = [_record(row, nested, _class_of(member, types), types) for row in mine]
        elif isinstance(mine, np.ndarray):
            mine = np.array(mine)
        elif isinstance(mine, _core.Sequence):
            items = list(mine)
            mine = [_dataclass(i, _class_of(member, types), types) for i in items] if member.type.is_message else items
        arguments[name] = mine
    return cls(**arguments)


def _record(row: Any, struct: Struct, cls: Any, types: Mapping[str, Any]) -> Any:
    """One element of a structured array."""
    arguments: dict[str, Any] = {}
    for name, member in _members(struct, cls):
        part = row[member.name]
        if not member.type.is_message:
            arguments[name] = part.item() if part.shape == () else np.array(part)
            continue
        nested, inner = struct.nested[member.type.base], _class_of(member, types)
        if part.shape == ():
            arguments[name] = _record(part, nested, inner, types)
        else:
            arguments[name] = [_record(p, nested, inner, types) for p in part]
    return cls(**arguments)
