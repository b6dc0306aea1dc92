# SPDX-License-Identifier: Apache-2.0
"""Whether rosidl lays the C struct of a message class out as the extension's converters (plan_struct.cpp) expect it: strings and sequences of
{data, size, capacity}, in the order of the fields. A later ROS 2 may do otherwise; a converter would then write past a field. The introspection
that rosidl generates for C says where the members are. Its structs may have changed, too, so its words are compared with what they can be
before one of them is followed, as ros2/rosidl does for C++ (docs/concepts/ros2.md)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

_FUNCTIONS = ("size", "get_const", "get", "fetch", "assign", "resize")
_MESSAGE, _MOST_BYTES = 18, 1 << 31
_FIND = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


class _Handle(ctypes.Structure):  # rosidl_message_type_support_t begins so
    _fields_ = (("identifier", ctypes.c_void_p), ("data", ctypes.c_void_p), ("func", ctypes.c_void_p))


class _Member(ctypes.Structure):  # rosidl_typesupport_introspection_c__MessageMember
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("type_id", ctypes.c_uint8),
        ("string_upper_bound", ctypes.c_size_t),
        ("members", ctypes.c_void_p),
        ("is_key", ctypes.c_uint8),
        ("is_array", ctypes.c_uint8),
        ("array_size", ctypes.c_size_t),
        ("is_upper_bound", ctypes.c_uint8),
        ("offset", ctypes.c_uint32),
        ("default_value", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in _FUNCTIONS),
    )


class _Members(ctypes.Structure):  # rosidl_typesupport_introspection_c__MessageMembers
    _fields_ = (
        ("namespace", ctypes.c_void_p),
        ("name", ctypes.c_void_p),
        ("member_count", ctypes.c_uint32),
        ("size_of", ctypes.c_size_t),
        ("has_any_key_member", ctypes.c_uint8),
        ("members", ctypes.c_void_p),
        ("init", ctypes.c_void_p),
        ("fini", ctypes.c_void_p),
    )


def _at(kind: Any, address: int) -> Any:
    """The struct there; None if the bytes between its words are not zero, or its flags neither 0 nor 1."""
    if not address or address % ctypes.alignment(kind):
        return None
    there = kind.from_address(address)
    padding = bytearray(ctypes.string_at(address, ctypes.sizeof(kind)))
    for name, word in kind._fields_:
        place = getattr(kind, name)
        padding[place.offset : place.offset + place.size] = bytes(place.size)
        if word is ctypes.c_uint8 and name != "type_id" and getattr(there, name) > 1:
            return None
    return None if any(padding) else there


def introspection(handle: int) -> int:
    """The address of the MessageMembers for C that a type support leads to; 0: none."""
    support = _Handle.from_address(handle)
    found = _FIND(support.func)(handle, b"rosidl_typesupport_introspection_c")
    if found:
        return _Handle.from_address(found).data or 0
    try:
        ctypes.CDLL("librcutils.so").rcutils_reset_error()  # the dispatch function has set an error text
    except OSError:
        pass
    return 0


def _member(address: int, struct_bytes: int) -> Any:
    member = _at(_Member, address)
    if member is None or not member.name or not 0 < member.type_id <= _MESSAGE or member.offset >= struct_bytes:
        return None
    if (member.members is not None) != (member.type_id == _MESSAGE) or (member.array_size and not member.is_array):
        return None
    return member if member.is_array or not any(getattr(member, name) for name in _FUNCTIONS) else None


def difference(address: int, layout: tuple[int, list[tuple[str, int, Any]]], name: str) -> str | None:
    """How the MessageMembers at `address` differ from `layout` (_core._struct_layout); None: not at all."""
    size, fields = layout
    members = _at(_Members, address)
    if members is None or not members.members or not members.size_of or members.size_of > _MOST_BYTES:
        return f"{name} is described by a struct that is not the introspection's MessageMembers"
    if not fields:  # rosidl puts a placeholder into the struct
        return None if (members.member_count, members.size_of) == (1, size) else f"{name} is not empty"
    if members.member_count != len(fields):
        return f"{name} has {members.member_count} members, where {len(fields)} are expected"
    for i, (field, offset, nested) in enumerate(fields):
        member = _member(members.members + i * ctypes.sizeof(_Member), members.size_of)
        if member is None or ctypes.string_at(member.name) != field.encode():
            return f"the description of {name}.{field} is not the introspection's MessageMember"
        if member.offset != offset:
            return f"{name}.{field} lies at byte {member.offset} of the struct and is expected at byte {offset}"
        if (nested is None) != (member.type_id != _MESSAGE):
            return f"{name}.{field} is of another kind"
        if nested is not None and (inner := difference(introspection(member.members), nested, f"{name}.{field}")):
            return inner
    if members.size_of != size:
        return f"{name}.{fields[-1][0]} is the last member of a struct of {members.size_of} bytes, where {size} are expected"
    return None


def _pointer(capsule: Any) -> int:
    name: Callable[..., Any] = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]  # type: ignore[attr-defined]
    pointer: Callable[..., Any] = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]  # type: ignore[attr-defined]
    return int(pointer(capsule, name(capsule)))


def difference_of(cls: Any, layout: tuple[int, list[tuple[str, int, Any]]]) -> str | None:
    """The same of a message class of rclpy, whose type support has been imported."""
    members = introspection(_pointer(type(cls)._TYPE_SUPPORT))
    name = f"{cls.__module__.partition('.')[0]}/{cls.__name__}"
    return difference(members, layout, name) if members else f"{name} has no introspection for C"
