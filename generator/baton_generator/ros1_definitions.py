# SPDX-License-Identifier: Apache-2.0
"""ROS 1's data about a message: from the header that its own generator (gencpp) made, or, where gencpp has not run yet, from the
message's file. A catkin workspace is configured before its messages are generated, so their headers are not there at first, and
are older than a file that has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from .diagnostics import InterfaceError, Location, fail
from .model import PRIMITIVES, Dialect, Interface, Message
from .packages import Universe, build_tool_dialect
from .parser import is_separator, parse_text
from .ros1_headers import NEXT_MESSAGE, Ros1Header, Ros1Service, read_ros1_header, ros1_services, signed_bytes

_BUILT_IN = (*PRIMITIVES, "byte", "char", "time", "duration")


class Ros1Definitions:
    """Messages and services of ROS 1 by name. `directories`: include directories with headers of gencpp."""

    def __init__(self, universe: Universe, directories: Sequence[Path]) -> None:
        self._universe = universe
        self._directories = directories
        self._sums: dict[str, str] = {}

    def message(self, full_name: str) -> Ros1Header | None:
        """None: gencpp made no header of it, and it has no file of ROS 1 of which gencpp could make one."""
        header = self._header(full_name)
        path = self._file(full_name, "msg")
        if path is None or (header and not _is_older(header.path, path)):
            return header
        return self._of_text(full_name, path.read_text("utf-8-sig"), path)

    def services(self, package: str) -> Iterator[Ros1Service]:
        """The package's services."""
        found = {service.name: service for service in ros1_services(package, self._directories)}
        for name in self._names_of_services(package):
            path = self._file(name, "srv")
            if path and (name not in found or _is_older(found[name].path, path)):
                found[name] = self._service(name, path)
        yield from (found[name] for name in sorted(found))

    def _names_of_services(self, package: str) -> Iterable[str]:
        try:
            return [name for kind, name in self._universe.types_of(package) if kind == "srv"]
        except InterfaceError:  # no definitions, as of a package whose headers alone are here
            return []

    def _header(self, full_name: str) -> Ros1Header | None:
        return read_ros1_header(full_name, self._directories)

    def _file(self, full_name: str, kind: str) -> Path | None:
        try:
            interface: Interface = self._universe.load(full_name, kind)
        except InterfaceError:
            return None
        path = Path(interface.location.path)
        is_file = path.suffix == f".{kind}" and path.is_file()
        return path if is_file and build_tool_dialect(path.parent.parent) is not Dialect.ROS2 else None

    def _service(self, name: str, path: Path) -> Ros1Service:
        halves: list[list[str]] = [[], []]
        for line in path.read_text("utf-8-sig").split("\n"):
            if is_separator(line):
                halves.append([])
                del halves[0]
            else:
                halves[-1].append(line)
        texts = ["".join(line + "\n" for line in half) for half in halves]
        package = name.split("/")[0]
        md5 = hashlib.md5("".join(self._text_of_sum(package, text) for text in texts).encode()).hexdigest()
        request, response = (
            self._of_text(name + half, text, path) for half, text in zip(("Request", "Response"), texts, strict=True)
        )
        return Ros1Service(name, path, md5, request, response)

    def _of_text(self, full_name: str, text: str, path: Path) -> Ros1Header:
        package, name = full_name.split("/")
        message = parse_text(text, package, name, str(path), dialect=Dialect.ROS1)
        assert isinstance(message, Message)
        inside = dict.fromkeys(self._all_inside(package, text))
        blocks = [f"MSG: {one}\n{self._text(one)}" for one in inside]
        definition = ("\n" + 80 * "=" + "\n").join([text, *blocks])
        first = next(iter(_fields(package, text)), None)
        return Ros1Header(
            path,
            hashlib.md5(self._text_of_sum(package, text).encode()).hexdigest(),
            "".join(line + "\n" for line in definition.splitlines()) or "\n",
            first == ("std_msgs/Header", "header"),
            message,
            signed_bytes(text),
        )

    def _text(self, full_name: str) -> str:
        """The text of a message inside another one."""
        path = self._file(full_name, "msg")
        if path:
            return path.read_text("utf-8-sig")
        header = self._header(full_name)
        if header is None:
            raise fail(
                Location(full_name),
                "has neither a file of ROS 1 nor a header that gencpp made",
                "install the package that has it, for example libstd-msgs-dev, or name its directory (SEARCH or HEADERS in CMake)",
            )
        own, *others = NEXT_MESSAGE.split(header.definition, maxsplit=1)
        return own[:-1] if others else own

    def _all_inside(self, package: str, text: str) -> Iterator[str]:
        """In the order of genmsg: each message before those inside it."""
        for type_, _ in _fields(package, text):
            base = type_.split("[")[0]
            if base not in _BUILT_IN:
                yield base
                yield from self._all_inside(base.split("/")[0], self._text(base))

    def _text_of_sum(self, package: str, text: str) -> str:
        """The text from which the MD5 sum of a message is made (genmsg: compute_md5_text)."""
        lines = [f"{type_} {name}={value}" for type_, name, value in _constants(text)]
        for type_, name in _fields(package, text):
            base = type_.split("[")[0]
            lines.append(f"{type_ if base in _BUILT_IN else self._sum(base)} {name}")
        return "\n".join(lines)

    def _sum(self, full_name: str) -> str:
        if full_name not in self._sums:
            text = self._text_of_sum(full_name.split("/")[0], self._text(full_name))
            self._sums[full_name] = hashlib.md5(text.encode()).hexdigest()
        return self._sums[full_name]


def _is_older(header: Path, file: Path) -> bool:
    return header.stat().st_mtime < file.stat().st_mtime


def _declarations(text: str) -> Iterator[tuple[str, str]]:
    """(line, the same without its comment) of the lines that declare something."""
    for line in text.split("\n"):
        clean = line.split("#")[0].strip()
        if clean:
            yield line, clean


def _constants(text: str) -> Iterator[tuple[str, str, str]]:
    """(type, name, value as written)."""
    for line, clean in _declarations(text):
        if "=" in clean:
            type_, rest = clean.split(maxsplit=1)
            if type_ == "string":  # its value reaches to the end of the line
                rest = line.strip().split(maxsplit=1)[1]
            name, _, value = rest.partition("=")
            yield type_, name.strip(), value.strip()


def _fields(package: str, text: str) -> Iterator[tuple[str, str]]:
    """(type with its package, name)."""
    for _, clean in _declarations(text):
        if "=" not in clean:
            type_, name = clean.split()
            base, bracket, rest = type_.partition("[")
            if base in ("Header", "roslib/Header"):
                base = "std_msgs/Header"
            elif "/" not in base and base not in _BUILT_IN:
                base = f"{package}/{base}"
            yield base + bracket + rest, name
