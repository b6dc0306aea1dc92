# SPDX-License-Identifier: Apache-2.0
"""The form of the verbs' output: counts in words, JSON that every parser reads, and UTF-8 in every locale."""

from __future__ import annotations

import io
import json
import math
import sys
from typing import Any


def json_text(value: Any, indent: int | None = None) -> str:
    """JSON has no number for NaN and the infinities. They are written as ProtoBuf's JSON does, as the strings "NaN", "Infinity" and
    "-Infinity": in a laser scan each of the three has a meaning of its own, which null would lose."""
    try:
        return json.dumps(value, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_in_words(value), indent=indent, allow_nan=False)


def harmless(text: str) -> str:
    """A text of another process, made safe for a terminal: control characters and bytes that are no UTF-8 become Python escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def counted(number: int, noun: str) -> str:
    """A count with its noun: "1 file", "2 files"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _in_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_words(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_in_words(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def make_utf8() -> None:
    """Makes both streams write UTF-8: the locale's encoding may lack characters of messages, and readers of YAML and JSON expect UTF-8.
    Bytes of a text that are no UTF-8 are written with a backslash."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None where the descriptor is closed
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
