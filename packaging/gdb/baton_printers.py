# SPDX-License-Identifier: Apache-2.0
"""gdb pretty-printers for Baton's vectors and strings, in a loan, a received chunk or private memory.

    (gdb) source packaging/gdb/baton_printers.py
    (gdb) print msg.encoding
    $1 = "rgb8"
    (gdb) print msg.data
    $2 = sfm::Vector of length 300 in a chunk = {0 '\\000', 1 '\\001', ...}

Works on live processes and cores alike: nothing is called in the inferior. The addresses decide as they do in cell.hpp: an
object inside baton::memory::g_window_range holds the SFM words (docs/format/sfm.md), any other a pointer to a PrivateBlock.
A core does not contain foreign segments (they are MADV_DONTDUMP); their contents show as unavailable memory.
"""

import struct

import gdb
import gdb.printing

_PREFIX = "baton::sfm::"


def _window():
    try:
        value = gdb.parse_and_eval("'baton::memory::g_window_range'")
        return int(value["base"]), int(value["size"])
    except gdb.error:
        return 0, 0


def _read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


class _Content:
    """Where the 8 bytes of a vector or string lead: length word or size, content address, and in which place."""

    def __init__(self, value):
        self.error = ""
        if value.address is None:
            raise gdb.MemoryError("the object has no address")
        address = int(value.address)
        base, size = _window()
        raw = _read(address, 8)
        little = gdb.execute("show endian", to_string=True).find("little") >= 0
        order = "<" if little else ">"
        if base <= address < base + size:
            self.place = "in a chunk"
            self.length, offset = struct.unpack(order + "Ii", raw)
            self.data = address + 4 + offset if offset and self.length else 0
        else:
            self.place = "private"
            pointer_bytes = gdb.lookup_type("void").pointer().sizeof
            (pointer,) = struct.unpack(order + ("Q" if pointer_bytes == 8 else "I"), raw[:pointer_bytes])
            self.length = self.data = 0
            if pointer:
                self.length, _capacity = struct.unpack(order + "II", _read(pointer, 8))
                (self.data,) = struct.unpack(
                    order + ("Q" if pointer_bytes == 8 else "I"), _read(pointer + 8, pointer_bytes)
                )


class StringPrinter:
    def __init__(self, value):
        self._value = value

    def to_string(self):
        content = _Content(self._value)
        if content.length == 0:
            return gdb.Value("").lazy_string(length=0)
        length = content.length
        if content.place == "in a chunk":
            length -= 1 + _read(content.data + content.length - 1, 1)[0]
        char = gdb.lookup_type("char").pointer()
        return gdb.Value(content.data).cast(char).lazy_string(length=length)

    def display_hint(self):
        return "string"


class WStringPrinter(StringPrinter):
    def to_string(self):
        content = _Content(self._value)
        text = _read(content.data, content.length * 2) if content.length else b""
        return text.decode("utf-16-le", errors="replace")


class VectorPrinter:
    def __init__(self, value):
        self._value = value
        self._element = value.type.strip_typedefs().template_argument(0)

    def to_string(self):
        content = _Content(self._value)
        return f"sfm::Vector of length {content.length} {content.place}"

    def children(self):
        content = _Content(self._value)
        if not content.length:
            return
        first = gdb.Value(content.data).cast(self._element.pointer())
        for i in range(content.length):
            yield f"[{i}]", (first + i).dereference()

    def display_hint(self):
        return "array"


class BoolPrinter:
    def __init__(self, value):
        self._value = value

    def to_string(self):
        return "true" if int(self._value["byte_"]) else "false"


def register(objfile=None):
    printers = gdb.printing.RegexpCollectionPrettyPrinter("baton")
    printers.add_printer("String", f"^{_PREFIX}BasicString<.*>$", StringPrinter)
    printers.add_printer("WString", f"^{_PREFIX}BasicWString<.*>$", WStringPrinter)
    printers.add_printer("Vector", f"^{_PREFIX}BasicVector<.*>$", VectorPrinter)
    printers.add_printer("Bool", f"^{_PREFIX}Bool$", BoolPrinter)
    gdb.printing.register_pretty_printer(objfile, printers, replace=True)


register()
