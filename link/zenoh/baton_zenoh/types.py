# SPDX-License-Identifier: Apache-2.0
"""Classes of messages, and the hash that ROS 2 gives their types (REP 2011 and 2016, RIHS01), which is part of each key."""

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

_IDS = {"int8": 2, "uint8": 3, "int16": 4, "uint16": 5, "int32": 6, "uint32": 7, "int64": 8, "uint64": 9}
_IDS |= {"float32": 10, "float64": 11, "bool": 15, "byte": 16, "string": 17, "wstring": 18, "message": 1}
_SHAPES = {Shape.SINGLE: 0, Shape.ARRAY: 48, Shape.SEQUENCE: 144}
_BOUNDED_STRING, _BOUNDED_SEQUENCE = 4, 96  # beyond "string"; in place of 144
_HEADER_SEQ = ("std_msgs/Header", "seq")  # ROS 1's alone


class TypeUnknown(ValueError):
    """A type of which this process has no definition, or another one."""


def _field(name: str, kind: str, type_: FieldType | None = None, nested: str = "") -> dict[str, Any]:
    number, capacity, string_capacity = _IDS[kind], 0, 0
    if type_ is not None:
        capacity, string_capacity = type_.count, type_.string_bound
        number += _BOUNDED_STRING if string_capacity else 0
        number += _BOUNDED_SEQUENCE if type_.shape is Shape.SEQUENCE and capacity else _SHAPES[type_.shape]
    described = {
        "type_id": number,
        "capacity": capacity,
        "string_capacity": string_capacity,
        "nested_type_name": nested,
    }
    return {"name": name, "type": described}


def _ros_name(name: str, kind: str = "msg") -> str:
    of_action = dds_type(name).split("::")[1] == "action"
    return name.replace("/", "/action/" if of_action else f"/{kind}/", 1)


def _described(struct: Struct, kind: str = "msg") -> dict[str, Any]:
    fields = []
    for member in struct.members:
        type_ = member.type
        if (struct.full_name, member.name) == _HEADER_SEQ:
            continue
        base = "message" if type_.is_message else "byte" if member.source.octet else type_.base
        fields.append(_field(member.name, base, type_, _ros_name(type_.base) if type_.is_message else ""))
    fields = fields or [_field("structure_needs_at_least_one_member", "uint8")]
    return {"type_name": _ros_name(struct.full_name, kind), "fields": fields}


def _digest(described: dict[str, Any], inside: list[dict[str, Any]]) -> str:
    references = sorted({each["type_name"]: each for each in inside}.values(), key=lambda each: each["type_name"])
    whole = {"type_description": described, "referenced_type_descriptions": references}
    return "RIHS01_" + hashlib.sha256(json.dumps(whole, separators=(", ", ": ")).encode()).hexdigest()


@functools.cache
def _ros_hash(cls: type[baton.Message]) -> str:
    return _digest(_described(cls._struct), [_described(each) for each in cls._struct.reachable().values()])


@functools.cache
def _ros_service_hash(name: str, service: Any) -> str:
    """Of the whole service, as rosidl describes it: the request, the response and the event that has both."""
    halves = [service.Request._struct, service.Response._struct]
    full = _ros_name(name, "srv")
    info = baton.message("service_msgs/ServiceEventInfo")._struct
    one = FieldType("", Shape.SEQUENCE, 1)
    event = {
        "type_name": f"{full}_Event",
        "fields": [
            _field("info", "message", None, _ros_name(info.full_name)),
            _field("request", "message", one, f"{full}_Request"),
            _field("response", "message", one, f"{full}_Response"),
        ],
    }
    names = ("Request", "Response", "Event")
    fields = [_field(f"{each.lower()}_message", "message", None, f"{full}_{each}") for each in names]
    inside = [_described(each, "srv") for each in halves] + [event, _described(info)]
    inside += [_described(each) for half in (*halves, info) for each in half.reachable().values()]
    return _digest({"type_name": full, "fields": fields}, inside)


def hash_of(scheme: KeyScheme, cls: type[baton.Message]) -> str:
    """The last part of a topic's key."""
    return f"BATON_{cls._struct.hash.hex()}" if scheme.raw else _ros_hash(cls)


def service_hash_of(scheme: KeyScheme, name: str, service: Any) -> str:
    if scheme.raw:
        return f"BATON_{service.Request._struct.hash.hex()}{service.Response._struct.hash.hex()}"
    return _ros_service_hash(name, service)


@functools.cache
def _ros1() -> TypeSource:
    return TypeSource(standard="ros1_noetic")


def _found(find: Any, name: str) -> Any:
    try:
        return find(name)
    except (InterfaceError, ValueError) as error:
        raise TypeUnknown(f"the type {name} is not known here; name its packages' directory: --search DIR") from error


def class_of(name: str, baton_hash: bytes | None = None) -> type[baton.Message]:
    """The class of an endpoint's type. `baton_hash`: as the endpoint defines it. Raises TypeUnknown."""
    cls: type[baton.Message] = _found(baton.message, name)
    if baton_hash is None or cls._struct.hash == baton_hash:
        return cls
    try:
        if (of_ros1 := _ros1().message(name))._struct.hash == baton_hash:
            return of_ros1
    except (InterfaceError, ValueError):
        pass
    raise TypeUnknown(f"its process defines {name} differently; name its packages' directory: --search DIR")


def service_of(name: str) -> Any:
    """A class with `Request` and `Response`. Raises TypeUnknown."""
    return _found(baton.service, name)
