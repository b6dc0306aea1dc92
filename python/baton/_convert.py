# SPDX-License-Identifier: Apache-2.0
"""Classes of other worlds: which type they are, and objects of them from messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _core
from ._messages import struct_of


def type_name(cls: Any) -> str | None:
    """ "package/Name" of a message class of rclpy, rospy or rosbags; None for anything else."""
    name = getattr(cls, "_type", None)  # rospy
    if isinstance(name, str) and "/" in name:
        return name
    name = getattr(cls, "__msgtype__", None)  # rosbags
    if isinstance(name, str):
        return name.replace("/msg/", "/")
    if hasattr(cls, "_fields_and_field_types"):  # rclpy
        return f"{cls.__module__.split('.')[0]}/{cls.__name__}"
    return None


def to_foreign(value: _core.Message, cls: type) -> Any:
    """An object of `cls` with the fields of `value`."""
    if hasattr(cls, "_fields_and_field_types"):
        return _fill(cls(), value, cls)
    if hasattr(cls, "_slot_types"):
        return _fill(cls(), value, cls)
    if hasattr(cls, "__dataclass_fields__"):
        return _dataclass(value, cls)
    raise TypeError(f"{cls!r} is no message class of rclpy, rospy or rosbags, and no dataclass")


def _name_in(cls: type | Any, member: Any, package: str) -> str | None:
    for name in (member.name, member.second_name, {"sec": "secs", "nanosec": "nsecs"}.get(member.name, "")):
        if name and hasattr(cls, name):
            return name
    return None


def _fill(target: Any, value: _core.Message, cls: type) -> Any:
    struct = struct_of(type(value))
    for member in struct.members:
        name = _name_in(target, member, struct.package)
        if name is None:
            continue
        old = getattr(target, name)
        setattr(target, name, _value(getattr(value, member.name), old, cls, name, struct, member))
    return target


def _element_class(cls: Any, name: str) -> Any:
    """The class of the elements of a sequence field, from what rclpy and rospy classes say of themselves."""
    import importlib

    text = None
    if hasattr(cls, "_slot_types"):
        text = cls._slot_types[list(cls.__slots__).index(name)]
    elif hasattr(cls, "_fields_and_field_types"):
        text = cls.get_fields_and_field_types()[name]
    if text is None:
        return None
    base = text.removeprefix("sequence<").rstrip(">").split(",")[0].split("[")[0]
    package, slash, short = base.partition("/")
    if not slash:
        return None
    return getattr(importlib.import_module(f"{package}.msg"), short)


def _value(mine: Any, old: Any, cls: type, name: str, struct: Any, member: Any) -> Any:
    if isinstance(mine, _core.Message):
        return to_foreign_like(mine, old)
    if isinstance(mine, np.ndarray) and mine.dtype.names is not None:
        element = _element_class(cls, name)
        return [_record(row, element) for row in mine]
    if isinstance(mine, _core.Sequence):
        items = list(mine)
        if items and isinstance(items[0], _core.Message):
            element = _element_class(cls, name)
            assert element is not None
            return [to_foreign(item, element) for item in items]
        return items
    if isinstance(mine, np.ndarray):
        if isinstance(old, bytes):  # rospy: uint8[] is bytes
            return mine.tobytes()
        if isinstance(old, np.ndarray):
            return np.array(mine)
        if type(old).__name__ == "array":  # rclpy: array.array
            import array

            made = array.array(old.typecode)
            made.frombytes(mine.tobytes())
            return made
        if isinstance(old, tuple):
            return tuple(mine.tolist())
        return mine.tolist()
    if isinstance(old, bytes) and isinstance(mine, int):  # rclpy: byte
        return bytes([mine])
    return mine


def to_foreign_like(value: _core.Message, old: Any) -> Any:
    """An object like `old`: its class is asked for no more than a default constructor."""
    return _fill(type(old)(), value, type(old))


def _record(row: Any, element: type | None) -> Any:
    assert element is not None
    target: Any = element()
    for name in row.dtype.names:
        part = row[name]
        for there in (name, {"sec": "secs", "nanosec": "nsecs"}.get(name, ""), {"nanosec": "nsec"}.get(name, "")):
            if there and hasattr(target, there):
                break
        else:
            continue
        old = getattr(target, there)
        if part.dtype.names is not None and part.shape == ():
            setattr(target, there, _record(part, type(old)))
        elif part.shape == ():
            setattr(target, there, part.item() if not isinstance(old, bytes) else bytes([part.item()]))
        elif isinstance(old, np.ndarray):
            setattr(target, there, np.array(part))
        elif isinstance(old, bytes):
            setattr(target, there, part.tobytes())
        else:
            setattr(target, there, part.tolist())
    return target


def _dataclass(value: _core.Message, cls: Any) -> Any:
    import dataclasses

    struct = struct_of(type(value))
    known = {name: m for m in struct.members for name in (m.name, m.second_name) if name}
    arguments = {}
    for field in dataclasses.fields(cls):
        if not field.init or field.name not in known:
            continue
        mine = getattr(value, known[field.name].name)
        arguments[field.name] = np.array(mine) if isinstance(mine, np.ndarray) else mine
    return cls(**arguments)
