# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for messages of any type."""

from __future__ import annotations

from hypothesis import strategies as st
from sfm_reference import FieldType, Schema

RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
RANGES |= {f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)}
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=9)


def scalar(kind: FieldType, plain_text: bool):
    base = kind.base
    if base == "bool":
        return st.booleans()
    if base == "float32":
        return st.floats(width=32)
    if base == "float64":
        return st.floats()
    if base == "string":
        text = st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=9) if plain_text else TEXT
        return text.filter(lambda s: not kind.string_bound or len(s.encode()) <= kind.string_bound)
    if base == "wstring":
        return TEXT.filter(lambda s: not kind.string_bound or len(s.encode("utf-16-le")) // 2 <= kind.string_bound)
    return st.integers(*RANGES[base])


def message(schema: Schema, name: str | None = None, *, plain_text: bool = False):
    """Dicts with a value for every field; ``plain_text`` keeps strings to ASCII without zeros."""
    name = name or schema.root

    def one(kind: FieldType):
        if "/" in kind.base:
            return message(schema, kind.base, plain_text=plain_text)
        return scalar(kind, plain_text)

    def field(kind: FieldType):
        if kind.shape == "single":
            return one(kind)
        if kind.shape == "array":
            return st.lists(one(kind), min_size=kind.count, max_size=kind.count)
        return st.lists(one(kind), max_size=min(kind.count or 4, 4))

    return st.fixed_dictionaries({field_name: field(kind) for field_name, kind in schema.types[name]})
