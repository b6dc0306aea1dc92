# SPDX-License-Identifier: Apache-2.0
"""Reads the values of constants and defaults. Every function takes the text and the Location where it begins."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from struct import pack

from .diagnostics import Location, fail
from .model import Dialect, FieldType, Shape, Value

_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|[0-9]+)\Z")
_FLOAT = re.compile(r"[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|inf|infinity|nan)\Z", re.IGNORECASE | re.ASCII)
_SIMPLE_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    '"': '"',
    "'": "'",
}
_CODE_ESCAPE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})")


@dataclass(frozen=True)
class Piece:
    """One element of a written value: its raw text and where it begins."""

    text: str
    location: Location

    @property
    def quoted(self) -> bool:
        return self.text[:1] in ("'", '"')


def integer_range(base: str) -> tuple[int, int]:
    bits = int(base.lstrip("uint"))
    return (0, 2**bits - 1) if base.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def quoted_end(text: str, start: int) -> int:
    """Index behind the quote that closes the one at ``start``, or -1."""
    quote, i = text[start], start + 1
    while i < len(text):
        if text[i] == "\\":
            i += 1
        elif text[i] == quote:
            return i + 1
        i += 1
    return -1


def split_comment(text: str) -> tuple[str, str]:
    """Cuts a ROS 2 value off its comment; a '#' inside quotes is part of the value."""
    i, unclosed = 0, ""
    while i < len(text):
        if text[i] in "'\"" and text[i] not in unclosed:
            end = quoted_end(text, i)
            if end > 0:
                i = end
                continue
            unclosed += text[i]  # so that a line of quotes is not searched once for each
        if text[i] == "#":
            return text[:i].rstrip(), text[i + 1 :].strip()
        i += 1
    return text.rstrip(), ""


def read_scalar(base: str, piece: Piece, dialect: Dialect) -> Value:
    text, where = piece.text, piece.location
    if base == "bool":
        lowered = text.lower()
        if lowered in ("true", "1"):
            return True
        if lowered in ("false", "0"):
            return False
        raise fail(where, f"'{text}' is not a bool", "write true, false, 1 or 0")
    if base in ("float32", "float64"):
        # int() forms such as 0x10 are accepted for floats nowhere in ROS.
        if not _FLOAT.match(text):
            raise fail(
                where, f"'{text}' is not a {base}", "write a decimal number such as 0.5 or 1e-3, or inf, -inf, nan"
            )
        value = float(text)
        if math.isinf(value) and "inf" not in text.lower():
            raise fail(where, f"{text} does not fit {base}", "use a smaller value, or write inf")
        if base == "float32":
            try:
                pack("<f", value)
            except OverflowError:
                raise fail(where, f"{text} does not fit float32", "use float64 or a smaller value") from None
        return value
    if base in ("string", "wstring"):
        return _read_string(piece, dialect)
    return _read_integer(base, piece, *integer_range(base))


def read_byte(piece: Piece, dialect: Dialect | None) -> int:
    """A constant of type ``byte``, which is signed in ROS 1 and unsigned in ROS 2; its bits as a ``uint8``."""
    low, high = {Dialect.ROS1: (-128, 127), Dialect.ROS2: (0, 255), None: (-128, 255)}[dialect]
    return _read_integer("byte", piece, low, high) & 0xFF


def _read_integer(base: str, piece: Piece, low: int, high: int) -> int:
    text, where = piece.text, piece.location
    if not _INTEGER.match(text):
        raise fail(where, f"'{text}' is not an integer", f"{base} takes a decimal number or 0x..., 0o..., 0b...")
    if len(text) > 70:
        raise fail(where, f"{len(text)} digits do not fit {base}", "write a shorter number")
    value = int(text, 0) if re.match(r"[+-]?0[xXoObB]", text) else int(text)
    if not low <= value <= high:
        raise fail(where, f"{text} does not fit {base}", f"{base} holds {low} to {high}")
    return value


def _read_string(piece: Piece, dialect: Dialect) -> str:
    text, where = piece.text, piece.location
    if dialect is Dialect.ROS1 or not piece.quoted:
        return text
    end = quoted_end(text, 0)
    if end < 0:
        raise fail(where, f"the string that {text[0]} opens is not closed", f"end it with {text[0]} on the same line")
    if end != len(text):
        raise fail(
            where.at(where.column + end),
            "text behind the closing quote",
            f"escape quotes inside the string as \\{text[0]}",
        )
    return _unescape(text[1:-1], where.at(where.column + 1))


def _unescape(text: str, where: Location) -> str:
    out, i = [], 0
    while i < len(text):
        if text[i] != "\\":
            out.append(text[i])
            i += 1
            continue
        simple = _SIMPLE_ESCAPES.get(text[i + 1 : i + 2])
        if simple is not None:
            out.append(simple)
            i += 2
            continue
        code = _CODE_ESCAPE.match(text, i + 1)
        value = -1
        if code:
            value = int(code[4], 8) if code[4] else int(code[1] or code[2] or code[3], 16)
        if not code or value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise fail(
                where.at(where.column + i, 2),
                f"unknown escape '{text[i : i + 2]}'",
                "known are \\n \\t \\r \\a \\b \\f \\v \\\\ \\\" \\' \\ooo \\xhh \\uhhhh \\Uhhhhhhhh; write \\\\ for a backslash",
            )
        out.append(chr(value))
        i = code.end()
    return "".join(out)


def split_array(text: str, where: Location) -> list[Piece]:
    """``[a, "b, c"]`` to its elements."""
    if not text.startswith("["):
        raise fail(where, "the default of an array is a list", "write [value, value, ...]")
    pieces: list[Piece] = []
    i, expecting_value = 1, True
    while True:
        while i < len(text) and text[i] in " \t":
            i += 1
        if i >= len(text):
            raise fail(where, "the list is not closed", "end it with ]")
        if text[i] == "]" and (not expecting_value or not pieces):
            if i + 1 != len(text):
                raise fail(
                    where.at(where.column + i + 1), "text behind the list", "remove it, or begin a comment with #"
                )
            return pieces
        if not expecting_value:
            if text[i] != ",":
                raise fail(where.at(where.column + i), "expected ',' or ']'", "separate the values by commas")
            i, expecting_value = i + 1, True
            continue
        start = i
        if text[i] in "'\"":
            i = quoted_end(text, i)
            if i < 0:
                raise fail(
                    where.at(where.column + start),
                    f"the string that {text[start]} opens is not closed",
                    f"end it with {text[start]}",
                )
        else:
            while i < len(text) and text[i] not in ",]":
                i += 1
        value = text[start:i].rstrip()
        if not value:
            raise fail(where.at(where.column + start), "a value is missing", "write a value between the commas")
        pieces.append(Piece(value, where.at(where.column + start, len(value))))
        expecting_value = False


def read_default(type_: FieldType, text: str, where: Location) -> Value | tuple[Value, ...]:
    """The default of a ROS 2 field; checks lengths and bounds."""
    if type_.is_message:
        raise fail(
            where, f"a field of type {type_.base} cannot have a default", "give the defaults in that message's own file"
        )
    if type_.shape is Shape.SINGLE:
        value = read_scalar(type_.base, Piece(text, where), Dialect.ROS2)
        _check_string_bound(type_, value, where)
        return value
    pieces = split_array(text, where)
    if type_.shape is Shape.ARRAY and len(pieces) != type_.count:
        raise fail(where, f"{len(pieces)} values for {type_}", f"write exactly {type_.count} values")
    if type_.shape is Shape.SEQUENCE and type_.count and len(pieces) > type_.count:
        raise fail(where, f"{len(pieces)} values for {type_}", f"write at most {type_.count} values")
    values = []
    for piece in pieces:
        value = read_scalar(type_.base, piece, Dialect.ROS2)
        _check_string_bound(type_, value, piece.location)
        values.append(value)
    return tuple(values)


def _check_string_bound(type_: FieldType, value: Value, where: Location) -> None:
    """A bound counts what the field holds: bytes of UTF-8 or units of UTF-16."""
    if not type_.string_bound or not isinstance(value, str):
        return
    wide = type_.base == "wstring"
    length = len(value.encode("utf-16-le")) // 2 if wide else len(value.encode())
    if length > type_.string_bound:
        raise fail(
            where,
            f"{length} {'UTF-16 units' if wide else 'bytes'} for {type_.base}<={type_.string_bound}",
            "shorten the default or raise the bound",
        )
