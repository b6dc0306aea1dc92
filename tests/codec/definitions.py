# SPDX-License-Identifier: Apache-2.0
"""Canonical definitions (docs/format/type-hash.md) of the message types that the ``rosbags`` package carries, and values
between dicts (see sfm_reference.py) and rosbags' message objects. Written independently of generator/, so that it checks the generator, too."""

from __future__ import annotations

from functools import cache

import numpy
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

DUMMY = "structure_needs_at_least_one_member"


@cache
def ros1_store():
    return get_typestore(Stores.ROS1_NOETIC)


@cache
def ros2_store():
    return get_typestore(Stores.ROS2_KILTED)


def new_store(stores: Stores, types: dict[str, str]):
    """A store with further types: {"package/msg/Name": definition}."""
    store = get_typestore(stores)
    for name, text in types.items():
        store.register(get_types_from_msg(text, name))
    return store


def short(name: str) -> str:
    return name.replace("/msg/", "/").replace("/srv/", "/")


def field_type(desc) -> tuple[str, str | None]:
    """The canonical spelling and the nested type it names."""
    kind, what = desc
    if kind == Nodetype.BASE:
        base, bound = what
        base = {"byte": "uint8", "char": "uint8", "octet": "uint8"}.get(base, base)
        return (f"{base}<={bound}" if bound else base), None
    if kind == Nodetype.NAME:
        return short(what), what
    inner, nested = field_type(what[0])
    if kind == Nodetype.ARRAY:
        return f"{inner}[{what[1]}]", nested
    return (f"{inner}[<={what[1]}]" if what[1] else f"{inner}[]"), nested


def canonical_fields(store, name: str) -> list[tuple[str, str, str | None]]:
    fields = []
    if short(name) == "std_msgs/Header" and store.fielddefs[name][1][0][0] != "seq":
        fields.append(("seq", "uint32", None))
    for field, desc in store.fielddefs[name][1]:
        if field != DUMMY:
            fields.append((field.lower(), *field_type(desc)))
    return fields


def definition(store, name: str) -> str:
    sections: dict[str, list[str]] = {}

    def visit(current: str) -> None:
        if short(current) in sections:
            return
        sections[short(current)] = lines = []
        for field, kind, nested in canonical_fields(store, current):
            lines.append(f"{kind} {field}")
            if nested:
                visit(nested)

    visit(name)
    root = short(name)
    order = [root, *sorted(set(sections) - {root})]
    return "".join("\n".join([f"message {section}", *sections[section]]) + "\n" for section in order)


def to_rosbags(store, name: str, value: dict):
    """A rosbags message with the values of a dict."""
    names = {field.lower(): (field, desc) for field, desc in store.fielddefs[name][1]}
    arguments = {}
    if DUMMY in names:
        arguments[DUMMY] = 0
    for field, content in value.items():
        if field in names:
            original, desc = names[field]
            arguments[original] = to_member(store, desc, content)
    return store.types[name](**arguments)


def to_member(store, desc, content):
    kind, what = desc
    if kind == Nodetype.BASE:
        return content - 256 if what[0] == "byte" and content > 127 else content  # rosbags has signed bytes
    if kind == Nodetype.NAME:
        return to_rosbags(store, what, content)
    inner = what[0]
    if inner[0] == Nodetype.BASE and inner[1][0] != "string":
        dtype = {"bool": "bool", "char": "uint8", "byte": "uint8"}.get(inner[1][0], inner[1][0])
        return numpy.array(content, dtype=dtype)
    return [to_member(store, inner, element) for element in content]
