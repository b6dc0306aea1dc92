# SPDX-License-Identifier: Apache-2.0
"""TZC's partial serialization of a type (Fig. 4 of the paper), and its Table II for trees of packages.

What the figure leaves open is decided as in docs/format/partial-serialization.md: a fixed-length array of a variable-length type is
control and not looked into (line 3); strings and wstrings are control and variable-length; a bounded sequence is a variable-length
array; bool is a fixed-length type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .canonical import Struct
from .model import FieldType, Shape


@dataclass(frozen=True)
class Part:
    """One element of Fig. 4's lists. ``path`` names it as in C++, with [] for "in each element"."""

    path: str
    type: FieldType
    data: bool
    why: str


def split(struct: Struct, prefix: str = "") -> list[Part]:
    """The elements of both lists in declaration order."""
    parts: list[Part] = []
    for member in struct.members:
        path, type_ = prefix + member.name, member.type
        if type_.shape is Shape.ARRAY:
            parts.append(
                Part(
                    path,
                    type_,
                    False,
                    "fixed-length array" if struct.is_fixed(type_) else "fixed-length array, of a variable-length type",
                )
            )
        elif type_.shape is Shape.SEQUENCE:
            if struct.is_fixed(type_):
                parts.append(Part(path, type_, True, "variable-length array of a fixed-length type"))
                continue
            parts.append(Part(path, type_, False, "variable-length array of a variable-length type"))
            if type_.is_message:
                parts += split(struct.nested[type_.base], f"{path}[].")
        elif type_.is_message:
            parts += split(struct.nested[type_.base], f"{path}.")
        else:
            parts.append(Part(path, type_, False, "basic type"))
    return parts


def has_variable_array(struct: Struct) -> bool:
    """Whether a variable-length array lies in the type, also through nested types and arrays of them."""
    return any(
        m.type.shape is Shape.SEQUENCE or (m.type.is_message and has_variable_array(struct.nested[m.type.base]))
        for m in struct.members
    )


def has_data_part(struct: Struct) -> bool:
    return any(part.data for part in split(struct))


@dataclass(frozen=True)
class Table:
    """The columns of TZC's Table II, and how many types Baton carries without serialization."""

    total: int
    need_support: tuple[str, ...]
    supported: tuple[str, ...]
    unsupported: tuple[str, ...]
    without_serialization: int


def table(structs: Iterable[Struct]) -> Table:
    types = {s.full_name: s for s in structs}
    need = [name for name, struct in sorted(types.items()) if has_variable_array(struct)]
    supported = [name for name in need if has_data_part(types[name])]
    unsupported = [name for name in need if name not in set(supported)]
    # The SFM layout has a place for every kind of field, so what resolves is carried as it lies: resolving is the test.
    return Table(len(types), tuple(need), tuple(supported), tuple(unsupported), len(types))
