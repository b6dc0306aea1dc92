# SPDX-License-Identifier: Apache-2.0
"""Reads a message's header by ROS 1's own generator (gencpp): its MD5 sum and its definition, comments included."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .diagnostics import Location, fail
from .model import Dialect, Message
from .parser import parse_text

_VALUE = r"struct {trait}<[^{{]*\{{\s*static const char\* value\(\)\s*\{{\s*return\s+(.*?);\s*\}}"
_MD5 = re.compile(_VALUE.format(trait="MD5Sum"), re.DOTALL)
_DEFINITION = re.compile(_VALUE.format(trait="Definition"), re.DOTALL)
_HEADER = re.compile(r"struct HasHeader<[^{;]*> >\s*:\s*TrueType")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_SIGNED_BYTE = re.compile(r"^[ \t]*byte(?:\[\d*\])?[ \t]+(\w+)", re.MULTILINE)
NEXT_MESSAGE = re.compile(r"^={80}$", re.MULTILINE)


@dataclass(frozen=True)
class Ros1Header:
    path: Path
    md5: str
    definition: str  # with those of the messages inside, as roscpp sends it
    has_header: bool
    message: Message
    signed_bytes: frozenset[str]  # fields and constants that are `byte`: int8_t in roscpp, a uint8 for Baton


@dataclass(frozen=True)
class Ros1Service:
    name: str
    path: Path
    md5: str
    request: Ros1Header
    response: Ros1Header


def ros1_services(package: str, directories: Iterable[Path]) -> Iterator[Ros1Service]:
    """The package's services, by their headers in the first directory that has the package."""
    folder = next((f for d in directories if (f := d / package).is_dir()), None)
    for path in sorted(folder.glob("*.h")) if folder else ():
        name = f"{package}/{path.stem}"
        text = path.read_text("utf-8", errors="replace")
        if not re.search(rf"struct MD5Sum<\s*::{package}::{path.stem}\s*>", text) or "/service_traits.h" not in text:
            continue
        md5 = _text_of(_MD5.search(text))
        request, response = (read_ros1_header(name + half, [folder.parent]) for half in ("Request", "Response"))
        if md5 is None or request is None or response is None:
            raise fail(
                Location(str(path)),
                "is a service of gencpp whose request or response is missing",
                "generate the headers of its package anew",
            )
        yield Ros1Service(name, path, md5, request, response)


def read_ros1_header(full_name: str, directories: Iterable[Path]) -> Ros1Header | None:
    """The header of the first directory that has one; None: no directory has."""
    package, name = full_name.split("/")
    path = next((p for d in directories if (p := d / package / f"{name}.h").is_file()), None)
    if path is None:
        return None
    text = path.read_text("utf-8")
    md5, definition = (_text_of(pattern.search(text)) for pattern in (_MD5, _DEFINITION))
    if md5 is None or definition is None or not re.fullmatch("[0-9a-f]{32}", md5):
        raise fail(
            Location(str(path)),
            "is not a header of gencpp",
            "name a directory with headers that ROS 1's generator made, before Baton's",
        )
    own = NEXT_MESSAGE.split(definition, maxsplit=1)[0]
    message = parse_text(own, package, name, str(path), dialect=Dialect.ROS1)
    assert isinstance(message, Message)
    return Ros1Header(path, md5, definition, _HEADER.search(text) is not None, message, signed_bytes(own))


def signed_bytes(text: str) -> frozenset[str]:
    """The fields and constants of a message's text that are `byte`."""
    return frozenset(_SIGNED_BYTE.findall(text))


def _text_of(match: re.Match[str] | None) -> str | None:
    if match is None:
        return None
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    return "".join(_ESCAPE.sub(lambda e: escapes.get(e[1], e[1]), literal) for literal in _LITERAL.findall(match[1]))
