# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for messages of any type."""

from __future__ import annotations

import math
import random

from hypothesis import strategies as st
from sfm_reference import FieldType, Schema

RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
RANGES |= {f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)}
TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=9)


def scalar(kind: FieldType, plain_text: bool, nan: bool):
    base = kind.base
    if base == "bool":
        return st.booleans()
    if base == "float32":
        return st.floats(width=32, allow_nan=nan)
    if base == "float64":
        return st.floats(allow_nan=nan)
    if base == "string":
        text = st.text(st.characters(min_codepoint=1, max_codepoint=126), max_size=9) if plain_text else TEXT
        return text.filter(lambda s: not kind.string_bound or len(s.encode()) <= kind.string_bound)
    if base == "wstring":
        return TEXT.filter(lambda s: not kind.string_bound or len(s.encode("utf-16-le")) // 2 <= kind.string_bound)
    return st.integers(*RANGES[base])


def message(schema: Schema, name: str | None = None, *, plain_text: bool = False, nan: bool = True):
    """Dicts with a value for every field; ``plain_text`` keeps strings to ASCII without zeros, ``nan=False`` floats
    to what JSON can say."""
    name = name or schema.root

    def one(kind: FieldType):
        if "/" in kind.base:
            return message(schema, kind.base, plain_text=plain_text, nan=nan)
        return scalar(kind, plain_text, nan)

    def field(kind: FieldType):
        if kind.shape == "single":
            return one(kind)
        if kind.shape == "array":
            return st.lists(one(kind), min_size=kind.count, max_size=kind.count)
        return st.lists(one(kind), max_size=min(kind.count or 4, 4))

    return st.fixed_dictionaries({field_name: field(kind) for field_name, kind in schema.types[name]})


def clear_seq(schema: Schema, name: str, value: dict) -> None:
    """CDR has no Header.seq: it comes back as zero."""
    for field, kind in schema.types[name]:
        if "/" in kind.base:
            for item in [value[field]] if kind.shape == "single" else value[field]:
                clear_seq(schema, kind.base, item)
    if name == "std_msgs/Header":
        value["seq"] = 0


def has_nan(value: object) -> bool:
    """Whether a message has a NaN anywhere."""
    if isinstance(value, dict | list):
        return any(map(has_nan, value.values() if isinstance(value, dict) else value))
    return value != value


def example(schema: Schema, seed: int = 0) -> dict:
    """One message with a value for every field, always the same: for types too large for Hypothesis, and for vectors."""
    rng = random.Random(seed)

    def one(kind: FieldType):
        base = kind.base
        if "/" in base:
            return message_of(base)
        if base == "bool":
            return rng.random() < 0.5
        if base.startswith("float"):
            return math.ldexp(rng.randrange(-(2**20), 2**20), -7)
        if base in ("string", "wstring"):
            return "".join(rng.choice("abcdefgh_/") for _ in range(min(rng.randrange(9), kind.string_bound or 9)))
        return rng.randint(*RANGES[base])

    def message_of(name: str) -> dict:
        out = {}
        for field, kind in schema.types[name]:
            if kind.shape == "single":
                out[field] = one(kind)
            else:
                length = kind.count if kind.shape == "array" else rng.randrange(1, 1 + min(kind.count or 3, 3))
                out[field] = [one(kind) for _ in range(length)]
        return out

    return message_of(schema.root)
