# SPDX-License-Identifier: Apache-2.0
"""An independent implementation of the byte formats, written from the documents alone (docs/format/sfm.md, type-hash.md).

It shares nothing with the C++ code: no plans, no merging, one recursive function a format. Slow, and meant to be read.

A message is a dict of its fields; sequences and arrays are lists, strings ``str``, everything else a number.
Each writer can label what it writes, for the commented hex of tests/vectors/.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SCALARS = {
    "bool": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}


@dataclass(frozen=True)
class FieldType:
    base: str
    shape: str = "single"  # or "array", "sequence"
    count: int = 0
    string_bound: int = 0


def parse_field_type(text: str) -> FieldType:
    base, bracket, rest = text.partition("[")
    shape, count = "single", 0
    if bracket:
        rest = rest.removesuffix("]")
        shape = "sequence" if rest == "" or rest.startswith("<=") else "array"
        count = int(rest.removeprefix("<=") or 0)
    base, _, bound = base.partition("<=")
    return FieldType(base, shape, count, int(bound or 0))


def parse_definition(text: str) -> tuple[str, dict[str, list[tuple[str, FieldType]]]]:
    """The root's name and all types of a canonical definition."""
    types: dict[str, list[tuple[str, FieldType]]] = {}
    root = current = ""
    for line in text.splitlines():
        first, second = line.split(" ")
        if first == "message":
            current = second
            root = root or current
            types[current] = []
        else:
            types[current].append((second, parse_field_type(first)))
    return root, types


class Schema:
    def __init__(self, definition: str):
        self.text = definition
        self.root, self.types = parse_definition(definition)

    # --- memory layout ---

    def element_layout(self, base: str) -> tuple[int, int]:
        """Size and alignment of one value in a skeleton."""
        if base in SCALARS:
            size = struct.calcsize("=" + SCALARS[base])
            return size, size
        if base in ("string", "wstring"):
            return 8, 4
        return self.skeleton(base)[:2]

    def skeleton(self, name: str) -> tuple[int, int, list[int]]:
        """Size, alignment and the fields' offsets."""
        at, alignment, offsets = 0, 1, []
        for _, kind in self.types[name]:
            size, align = (8, 4) if kind.shape == "sequence" else self.element_layout(kind.base)
            if kind.shape == "array":
                size *= kind.count
            at = -(-at // align) * align
            offsets.append(at)
            at += size
            alignment = max(alignment, align)
        return max(1, -(-at // alignment) * alignment), alignment, offsets

    def is_fixed(self, base: str) -> bool:
        if base in SCALARS:
            return True
        if base in ("string", "wstring"):
            return False
        return all(kind.shape != "sequence" and self.is_fixed(kind.base) for _, kind in self.types[base])


class Labels:
    """Collects (begin, end, text) while a writer writes."""

    def __init__(self):
        self.spans: list[tuple[int, int, str]] = []

    def add(self, begin: int, end: int, text: str) -> None:
        if end > begin:
            self.spans.append((begin, end, text))


class SfmWriter:
    """One message in the SFM layout, built from front to back."""

    def __init__(self, schema: Schema, order: str = "<", labels: Labels | None = None):
        self.schema = schema
        self.order = order
        self.labels = labels or Labels()
        self.out = bytearray()

    def write(self, value: dict) -> bytes:
        size, _, _ = self.schema.skeleton(self.schema.root)
        self.out = bytearray(size)
        self.message(self.schema.root, value, 0, "")
        return bytes(self.out)

    def put(self, code: str, at: int, value, label: str) -> None:
        data = struct.pack(self.order + code, value)
        self.out[at : at + len(data)] = data
        self.labels.add(at, at + len(data), label)

    def message(self, name: str, value: dict, at: int, path: str) -> None:
        fields = self.schema.types[name]
        if not fields:
            self.labels.add(at, at + 1, f"{path.rstrip('.')} (reserved)")
        for (field, kind), offset in zip(fields, self.schema.skeleton(name)[2], strict=True):
            self.field(kind, value[field], at + offset, path + field)

    def field(self, kind: FieldType, value, at: int, path: str) -> None:
        size, align = self.schema.element_layout(kind.base)
        if kind.shape == "single":
            self.single(kind, value, at, path)
            return
        place = at
        if kind.shape == "sequence":
            place = self.content(at, len(value), len(value) * size, align, path)
            if place is None:
                return
        for i, element in enumerate(value):
            self.single(kind, element, place + i * size, f"{path}[{i}]")

    def single(self, kind: FieldType, value, at: int, path: str) -> None:
        if kind.base in SCALARS:
            self.put(SCALARS[kind.base], at, int(value) if kind.base == "bool" else value, f"{path} = {value!r}")
        elif kind.base == "string":
            self.string(value, at, path)
        elif kind.base == "wstring":
            units = value.encode("utf-16-le", "surrogatepass")
            place = self.content(at, len(units) // 2, len(units), 2, path)
            for i in range(0, len(units), 2):
                self.put("H", place + i, int.from_bytes(units[i : i + 2], "little"), f"{path} code unit {i // 2}")
        else:
            self.message(kind.base, value, at, path + ".")

    def string(self, value: str, at: int, path: str) -> None:
        text = value.encode("utf-8", "surrogateescape")
        if not text:
            self.content(at, 0, 0, 4, path)
            return
        padding = 3 - len(text) % 4
        data = text + b"\0" + (b"\0" * (padding - 1) + bytes([padding]) if padding else b"")
        place = self.content(at, len(data), len(data), 4, path)
        self.out[place : place + len(data)] = data
        self.labels.add(place, place + len(data), f"{path} content {value!r}, zero, {padding} bytes of padding")

    def content(self, words: int, length: int, size: int, align: int, path: str) -> int | None:
        """Appends room and writes the words; None if there is nothing to write."""
        if length == 0:
            self.labels.add(words, words + 8, f"{path} empty")
            return None
        if size >= 4096:
            align = 64
        begin = len(self.out)
        place = -(-begin // align) * align
        self.out.extend(bytes(place - begin + size))
        self.labels.add(begin, place, "(alignment)")
        self.put("I", words, length, f"{path} length {length}")
        self.put("i", words + 4, place - (words + 4), f"{path} offset, content at 0x{place:x}")
        return place


class WireWriter:
    """ROS 1 (``cdr=False``) or CDR. ``order`` is '<' or '>'."""

    def __init__(self, schema: Schema, *, cdr: bool, order: str = "<", labels: Labels | None = None):
        self.schema = schema
        self.cdr = cdr
        self.order = order
        self.labels = labels or Labels()
        self.out = bytearray()
        self.origin = 0

    def write(self, value: dict) -> bytes:
        self.out = bytearray()
        if self.cdr:
            self.out += b"\0\1\0\0" if self.order == "<" else b"\0\0\0\0"
            self.labels.add(0, 4, "encapsulation: plain CDR, " + ("little" if self.order == "<" else "big") + "-endian")
        self.origin = len(self.out)
        self.message(self.schema.root, value, "")
        return bytes(self.out)

    def put(self, code: str, value, label: str) -> None:
        width = struct.calcsize("=" + code)
        begin = len(self.out)
        if self.cdr:
            self.out += bytes(-(begin - self.origin) % width)
            self.labels.add(begin, len(self.out), "(alignment)")
        begin = len(self.out)
        self.out += struct.pack(self.order + code, value)
        self.labels.add(begin, len(self.out), label)

    def message(self, name: str, value: dict, path: str) -> None:
        fields = self.schema.types[name]
        if self.cdr and not fields:
            self.put("B", 0, f"{path.rstrip('.')} (dummy byte)".strip())
        for field, kind in fields:
            if self.cdr and name == "std_msgs/Header" and field == "seq":
                continue
            if kind.shape == "single":
                self.single(kind, value[field], path + field)
                continue
            if kind.shape == "sequence":
                self.put("I", len(value[field]), f"{path}{field} length")
            for i, element in enumerate(value[field]):
                self.single(kind, element, f"{path}{field}[{i}]")

    def single(self, kind: FieldType, value, path: str) -> None:
        if kind.base in SCALARS:
            self.put(SCALARS[kind.base], int(value) if kind.base == "bool" else value, f"{path} = {value!r}")
        elif kind.base == "string":
            text = value.encode("utf-8", "surrogateescape") + (b"\0" if self.cdr else b"")
            self.put("I", len(text), f"{path} length")
            begin = len(self.out)
            self.out += text
            self.labels.add(begin, len(self.out), f"{path} = {value!r}")
        elif kind.base == "wstring":
            units = value.encode("utf-16-le", "surrogatepass")
            self.put("I", len(units) // 2, f"{path} code units")
            for i in range(0, len(units), 2):
                unit = int.from_bytes(units[i : i + 2], "little")
                # CDR as rmw_fastrtps_cpp writes it; ROS 1 has no wstring, this is the control part's form.
                self.put("I" if self.cdr else "H", unit, f"{path} code unit {i // 2}")
        else:
            self.message(kind.base, value, path + ".")


class ControlWriter(WireWriter):
    """TZC's control part: ROS 1's rules without the data elements, then their lengths; and the data part."""

    def __init__(self, schema: Schema, labels: Labels | None = None):
        super().__init__(schema, cdr=False, labels=labels)
        self.data: list[tuple[str, str, list]] = []

    def write(self, value: dict) -> bytes:
        self.data = []
        super().write(value)
        for path, _, elements in self.data:
            self.put("I", len(elements), f"length of {path}")
        return bytes(self.out)

    def message(self, name: str, value: dict, path: str) -> None:
        for field, kind in self.schema.types[name]:
            here, content = path + field, value[field]
            if kind.shape == "array":  # in the control part as a whole, whatever its elements are (Fig. 4, line 3)
                whole = WireWriter(self.schema, cdr=False)
                for i, element in enumerate(content):
                    whole.single(kind, element, f"{here}[{i}]")
                begin = len(self.out)
                self.out += whole.out
                self.labels.add(begin, len(self.out), here)
            elif kind.shape == "single":
                self.single(kind, content, here)
            elif self.schema.is_fixed(kind.base):
                self.data.append((here, kind.base, content))
            else:
                self.put("I", len(content), f"{here} length")
                for i, element in enumerate(content):
                    self.single(kind, element, f"{here}[{i}]")

    def data_part(self) -> bytes:
        """To be called after write()."""
        out = bytearray()
        for _, base, elements in self.data:
            size, align = self.schema.element_layout(base)
            if not elements:
                continue
            if size * len(elements) >= 4096:
                align = 64
            out += bytes(-len(out) % align)
            writer = SfmWriter(self.schema)
            writer.out = bytearray(size * len(elements))
            for i, element in enumerate(elements):
                writer.single(FieldType(base), element, i * size, "")
            out += writer.out
        return bytes(out)


class SfmReader:
    """Reads a message in the SFM layout, in either byte order."""

    def __init__(self, schema: Schema, order: str = "<"):
        self.schema = schema
        self.order = order

    def read(self, data: bytes) -> dict:
        self.data = data
        return self.message(self.schema.root, 0)

    def get(self, code: str, at: int):
        return struct.unpack_from(self.order + code, self.data, at)[0]

    def message(self, name: str, at: int) -> dict:
        offsets = self.schema.skeleton(name)[2]
        return {
            field: self.field(kind, at + offset)
            for (field, kind), offset in zip(self.schema.types[name], offsets, strict=True)
        }

    def field(self, kind: FieldType, at: int):
        size, _ = self.schema.element_layout(kind.base)
        if kind.shape == "single":
            return self.single(kind.base, at)
        place, count = at, kind.count
        if kind.shape == "sequence":
            count = self.get("I", at)
            place = at + 4 + self.get("i", at + 4)
        return [self.single(kind.base, place + i * size) for i in range(count)]

    def single(self, base: str, at: int):
        if base in SCALARS:
            value = self.get(SCALARS[base], at)
            return value != 0 if base == "bool" else value
        if base not in ("string", "wstring"):
            return self.message(base, at)
        length, place = self.get("I", at), at + 4 + self.get("i", at + 4)
        if base == "wstring":
            units = b"".join(struct.pack("<H", self.get("H", place + 2 * i)) for i in range(length))
            return units.decode("utf-16-le", "surrogatepass")
        if length == 0:
            return ""
        return self.data[place : place + length - 1 - self.data[place + length - 1]].decode("utf-8", "surrogateescape")
