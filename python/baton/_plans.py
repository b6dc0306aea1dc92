# SPDX-License-Identifier: Apache-2.0
"""Plans: how the extension reads and makes objects of rclpy's and rospy's message classes. One per class, kept for ever."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np

from . import _core

_ARRAY_CODES = {
    "float": "f",
    "double": "d",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
}
_ROS2_KINDS = {
    **{k: k for k in _ARRAY_CODES},
    "float": "float32",
    "double": "float64",
    "boolean": "bool",
    "octet": "uint8",
}
_ROS1_KINDS = {
    **{k: k for k in ("bool", "float32", "float64", "string", *(k for k in _ARRAY_CODES if "int" in k))},
    "byte": "int8",
    "char": "uint8",
}
_plans: dict[type, Any] = {}


class Unsupported(Exception):
    """A class holds something that plans do not know; it is left to ROS."""


def plan_of(cls: Any) -> Any:
    """The plan of a generated message class of rclpy or rospy (genpy). Raises Unsupported."""
    if cls not in _plans:
        if hasattr(cls, "_fields_and_field_types"):
            _plans[cls] = _ros2(cls)
        elif hasattr(cls, "_slot_types"):
            _plans[cls] = _ros1(cls)
        else:
            raise Unsupported(f"{cls!r} is no generated message class")
    return _plans[cls]


def _other_slots(cls: Any, used: set[str]) -> list[tuple[str, Any]]:
    example = cls()
    names = [name for base in cls.__mro__ for name in getattr(base, "__slots__", ()) if name not in used]
    return [(name, getattr(example, name)) for name in names if hasattr(example, name)]


def _ros2(cls: Any) -> Any:
    fields = []
    for name, text in cls.get_fields_and_field_types().items():
        shape, count = "single", 0
        if match := re.fullmatch(r"sequence<(.*)>", text):
            shape, text = "sequence", match[1]
            if match := re.fullmatch(r"(.*), (\d+)", text):
                text, count = match[1], int(match[2])
        elif match := re.fullmatch(r"(.*)\[(\d+)\]", text):
            shape, text, count = "array", match[1], int(match[2])
        maker: Any = None
        bound, nested, holder, kind = 0, None, "list", ""
        if match := re.fullmatch(r"(w?string)(?:<(\d+)>)?", text):
            kind, bound = match[1], int(match[2] or 0)
        elif "/" in text:
            package, _, short = text.partition("/")
            kind = "message"
            nested = plan_of(_find_ros2(package, short, cls))
        elif text in _ROS2_KINDS:
            kind = _ROS2_KINDS[text]
            if text in _ARRAY_CODES and shape == "sequence":
                holder, maker = "array", _ARRAY_CODES[text]
            elif text in _ARRAY_CODES and shape == "array":
                holder, maker = "numpy", np.dtype(kind)
        else:
            raise Unsupported(f"field type {text} of {cls!r}")
        fields.append((name, "_" + name, kind, shape, count, bound, nested, holder, maker, text == "octet"))
    package = cls.__module__.split(".")[0]
    used = {"_" + f[0] for f in fields}
    return _core._make_plan(cls, f"{package}/{cls.__name__}", fields, _other_slots(cls, used))


def _find_ros2(package: str, name: str, user: Any) -> Any:
    # Parts of services and actions live beside their user.
    for module in (f"{package}.msg", user.__module__.rpartition(".")[0], f"{package}.srv", f"{package}.action"):
        found = getattr(importlib.import_module(module), name, None) if module.startswith(package) else None
        if found is not None:
            return found
    raise Unsupported(f"no class {package}/{name}")


def _ros1(cls: Any) -> Any:
    if any("_slot_types" in vars(base) for base in cls.__mro__[1:]):
        raise Unsupported(f"{cls!r} is made of a generated class and has objects of its own (rospy.numpy_msg)")
    fields = []
    example = cls()
    for name, text in zip(cls.__slots__, cls._slot_types, strict=True):
        shape, count = "single", 0
        if match := re.fullmatch(r"(.*)\[(\d*)\]", text):
            shape, text, count = ("array" if match[2] else "sequence"), match[1], int(match[2] or 0)
        nested, holder, kind = None, "list", ""
        if text in ("time", "duration"):
            kind, nested = "message", _genpy_time(text)
        elif "/" in text:
            kind, nested = "message", plan_of(_find_ros1(text, getattr(example, name), cls))
        elif text in _ROS1_KINDS:
            kind = _ROS1_KINDS[text]
            if shape != "single" and text in ("uint8", "char"):
                holder = "bytes"
            elif shape != "single" and text not in ("bool", "string"):
                holder = "tuple"
        else:
            raise Unsupported(f"field type {text} of {cls!r}")
        fields.append((name, name, kind, shape, count, 0, nested, holder, None, False))
    return _core._make_plan(cls, cls._type, fields, [])


def _find_ros1(text: str, example: Any, user: Any) -> Any:
    if hasattr(example, "_slot_types") and example._type == text:
        return type(example)
    package, _, name = text.partition("/")
    # genpy.dynamic puts the classes of one definition into one module.
    beside = vars(importlib.import_module(user.__module__)).get(f"_{package}__{name}")
    return beside or getattr(importlib.import_module(f"{package}.msg"), name)


def _genpy_time(text: str) -> Any:
    import genpy

    cls = genpy.Time if text == "time" else genpy.Duration
    if cls not in _plans:
        kind = "uint32" if text == "time" else "int32"
        fields = [(name, name, kind, "single", 0, 0, None, "list", None, False) for name in ("secs", "nsecs")]
        _plans[cls] = _core._make_plan(cls, text, fields, [])
    return _plans[cls]
