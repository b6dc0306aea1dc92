# SPDX-License-Identifier: Apache-2.0
"""The contents of an interface file, before and after names are resolved. Plain immutable data, no behaviour beyond naming."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .diagnostics import Location

SCALAR_BYTES = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
}
STRINGS = ("string", "wstring")
PRIMITIVES = (*SCALAR_BYTES, *STRINGS)

Value = bool | int | float | str


class Dialect(Enum):
    ROS1 = "ros1"
    ROS2 = "ros2"


class Shape(Enum):
    SINGLE = "single"
    ARRAY = "array"  # fixed length, ``FieldType.count``
    SEQUENCE = "sequence"  # variable length, bounded by ``FieldType.count`` unless 0


@dataclass(frozen=True)
class FieldType:
    """``base`` is a name of PRIMITIVES or ``package/Name``."""

    base: str
    shape: Shape = Shape.SINGLE
    count: int = 0
    string_bound: int = 0

    @property
    def is_message(self) -> bool:
        return "/" in self.base

    def __str__(self) -> str:
        text = self.base + (f"<={self.string_bound}" if self.string_bound else "")
        if self.shape is Shape.ARRAY:
            return f"{text}[{self.count}]"
        if self.shape is Shape.SEQUENCE:
            return f"{text}[<={self.count}]" if self.count else f"{text}[]"
        return text


@dataclass(frozen=True)
class Field:
    name: str
    type: FieldType
    default: Value | tuple[Value, ...] | None = None
    comment: str = ""
    location: Location = field(default=Location(""), compare=False)
    octet: bool = field(default=False, compare=False)  # `byte`: for Baton a uint8, in ROS 2's hashes another type


@dataclass(frozen=True)
class Constant:
    name: str
    base: str
    value: Value
    comment: str = ""
    location: Location = field(default=Location(""), compare=False)


@dataclass(frozen=True)
class Message:
    """One message, or one half of a service (``name`` then ends in ``_Request`` or ``_Response``)."""

    package: str
    name: str
    fields: tuple[Field, ...]
    constants: tuple[Constant, ...] = ()
    comment: str = ""
    location: Location = field(default=Location(""), compare=False)

    @property
    def full_name(self) -> str:
        return f"{self.package}/{self.name}"


@dataclass(frozen=True)
class Service:
    package: str
    name: str
    request: Message
    response: Message
    comment: str = ""
    location: Location = field(default=Location(""), compare=False)

    @property
    def full_name(self) -> str:
        return f"{self.package}/{self.name}"


Interface = Message | Service
