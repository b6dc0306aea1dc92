# SPDX-License-Identifier: Apache-2.0
"""Errors that point at a place in an interface file and name the way out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Interface

_WIDEST = 200  # of a longer source line, the part around the error is shown


@dataclass(frozen=True)
class Location:
    """A place in a source. ``line`` and ``column`` start at 1; ``column`` counts characters; ``text`` is the whole source line."""

    path: str
    line: int = 0
    column: int = 0
    length: int = 1
    text: str = ""

    def at(self, column: int, length: int = 1) -> Location:
        return Location(self.path, self.line, column, max(1, length), self.text)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


@dataclass(frozen=True)
class Diagnostic:
    """One error: its place, its text, and the way out."""

    location: Location
    message: str
    way_out: str

    def render(self) -> str:
        parts = [f"{self.location}: error: {self.message}"]
        if self.location.line:
            # Tabs stay tabs in the second line, so that the caret stands below its character in every terminal.
            shown = "".join(
                c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in self.location.text
            )
            start = min(self.location.column - 1, len(shown))
            if len(shown) > _WIDEST:
                cut = max(0, min(start - _WIDEST // 2, len(shown) - _WIDEST))
                shown, start = shown[cut : cut + _WIDEST], start - cut
            indent = "".join("\t" if c == "\t" else " " for c in shown[:start])
            underline = "^" + "~" * (max(1, min(self.location.length, len(shown) - start)) - 1)
            parts.append(f"{self.location.line:5} | {shown}")
            parts.append(f"      | {indent}{underline}")
        parts.append(f"  way out: {self.way_out}")
        return "\n".join(parts)


class InterfaceError(Exception):
    """One or more diagnostics; ``str()`` is what a user should read. Each is there once, and those of one file are in the order of
    its lines. ``partial``: the readable part of a file with errors, for a search of further errors."""

    def __init__(self, *diagnostics: Diagnostic, partial: Interface | None = None) -> None:
        paths = list(dict.fromkeys(d.location.path for d in diagnostics))
        self.diagnostics = tuple(
            sorted(
                dict.fromkeys(diagnostics),
                key=lambda d: (paths.index(d.location.path), d.location.line, d.location.column),
            )
        )
        self.partial = partial
        super().__init__("\n".join(d.render() for d in self.diagnostics))


def fail(location: Location, message: str, way_out: str) -> InterfaceError:
    return InterfaceError(Diagnostic(location, message, way_out))
