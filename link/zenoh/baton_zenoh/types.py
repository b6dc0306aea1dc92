# SPDX-License-Identifier: Apache-2.0
"""Classes of messages and services, and the hash that ROS 2 gives their types (REP 2011 and 2016, RIHS01), which is part of each key."""

from __future__ import annotations

import functools
import hashlib
import json
from typing import Any

import baton
from baton._messages import TypeSource
from baton_generator.canonical import Struct
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import FieldType, Shape

from .names import KeyScheme, dds_type

_NUMBERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
_IDS = {base: 2 + i for i, base in enumerate(_NUMBERS)} | {"bool": 15, "byte": 16, "string": 17, "wstring": 18}
_MESSAGE, _BOUNDED_STRING, _ARRAY, _BOUNDED_SEQUENCE, _SEQUENCE = 1, 4, 48, 96, 144  # the last four are added
_HEADER_SEQ = ("std_msgs/Header", "seq")  # ROS 1's alone
_PARTS = ("Request", "Response", "Event")


class TypeUnknown(ValueError):
    """A type of which this process has no definition, or another one."""


def _field(name: str, type_: FieldType, nested: str, octet: bool = False) -> dict[str, Any]:
    number = _MESSAGE if nested else _IDS["byte" if octet else type_.base]
    number += _BOUNDED_STRING if type_.string_bound else 0
    if type_.shape is Shape.SEQUENCE:
        number += _BOUNDED_SEQUENCE if type_.count else _SEQUENCE
    elif type_.shape is Shape.ARRAY:
        number += _ARRAY
    numbers = {"type_id": number, "capacity": type_.count, "string_capacity": type_.string_bound}
    return {"name": name, "type": numbers | {"nested_type_name": nested}}


def _ros_name(name: str, of_service: bool) -> str:
    return dds_type(name, of_service).replace("::dds_::", "/").replace("::", "/").removesuffix("_")


def _described(struct: Struct, service: str) -> dict[str, Any]:
    """`service`: the full name of the service that is described, or empty."""
    of = lambda name: _ros_name(name, bool(service) and name.startswith(f"{service}_"))  # noqa: E731
    fields = [
        _field(each.name, each.type, of(each.type.base) if each.type.is_message else "", each.source.octet)
        for each in struct.members
        if (struct.full_name, each.name) != _HEADER_SEQ
    ]
    return {
        "type_name": of(struct.full_name),
        "fields": fields or [_field("structure_needs_at_least_one_member", FieldType("uint8"), "")],
    }


@functools.cache
def _ros_hash(cls: Any) -> str:
    """Of a message, or of a whole service: its request, its response, and the event that has both."""
    if issubclass(cls, baton.Message):
        own, inside = _described(cls._struct, ""), [_described(each, "") for each in cls._struct.reachable().values()]
    else:
        event = cls.Event._struct
        name = event.full_name.removesuffix("_Event")
        full = _ros_name(name, True)
        fields = [_field(f"{part.lower()}_message", FieldType(""), f"{full}_{part}") for part in _PARTS]
        own = {"type_name": full, "fields": fields}
        inside = [_described(each, name) for each in (event, *event.reachable().values())]
    inside.sort(key=lambda each: each["type_name"])
    whole = {"type_description": own, "referenced_type_descriptions": inside}
    return "RIHS01_" + hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def hash_of(scheme: KeyScheme, cls: Any) -> str:
    """The last part of the key of a topic or a service."""
    if not scheme.raw:
        return _ros_hash(cls)
    parts = (cls,) if issubclass(cls, baton.Message) else (cls.Request, cls.Response)
    return "BATON_" + "".join(each._struct.hash.hex() for each in parts)


@functools.cache
def _ros1() -> TypeSource:
    return TypeSource(standard="ros1_noetic")


def class_of(name: str, baton_hash: bytes | None = None, of_service: bool = False) -> Any:
    """The class of a topic's type, or of a service with `Request` and `Response`. `baton_hash`: of the topic's type or the request, as a process
    of the domain defines it; that may be ROS 1's definition. Raises TypeUnknown."""
    why = "is not known here"
    for source in (lambda: baton, _ros1):
        try:
            cls: Any = source().service(name) if of_service else source().message(name)
        except (InterfaceError, ValueError):
            continue
        if baton_hash is None or (cls.Request if of_service else cls)._struct.hash == baton_hash:
            return cls
        why = "is defined differently by its process"
    raise TypeUnknown(f"the type {name} {why}; name its packages' directory: --search DIR")
