# SPDX-License-Identifier: Apache-2.0
"""Parses .msg and .srv text of both ROS dialects, line by line, reporting every error with its column.

Names stay as written (``Header``, ``Point``, ``geometry_msgs/Point``) except that they are completed to ``package/Name``; whether
such a type exists is packages.py's question. ``byte`` and ``char`` become ``uint8``, ``time`` and ``duration`` become
``builtin_interfaces/Time`` and ``/Duration`` (docs/format/ros1-ros2-equivalence.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from . import dialect as dialects
from .diagnostics import Diagnostic, InterfaceError, Location, fail
from .files import read_file
from .model import PRIMITIVES, Constant, Dialect, Field, FieldType, Interface, Message, Service, Shape, Value
from .values import Piece, quoted_end, read_byte, read_default, read_scalar, split_comment

_ALIASES = {
    "byte": "uint8",
    "char": "uint8",
    "time": "builtin_interfaces/Time",
    "duration": "builtin_interfaces/Duration",
}
_ROS1_ONLY = ("time", "duration")
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_LINE = re.compile(r"[ \t]*(?P<type>[^ \t#]+)(?:[ \t]+(?P<name>[^ \t=#]*))?[ \t]*(?P<rest>.*)\Z")
_TYPE = re.compile(r"(?P<base>[^\[\]<>=]*)(?P<bound><=[^\[\]]*)?(?P<array>\[.*)?\Z")
_MAX_COUNT = 2**31 - 1
_I = TypeVar("_I", bound=Interface)


@dataclass(frozen=True)
class _Line:
    """A line that declares something, cut at its first two words."""

    type: str
    type_at: Location
    name: str
    name_at: Location
    rest: str
    rest_at: Location
    comment_above: str

    @property
    def is_constant(self) -> bool:
        return self.rest.startswith("=")

    @property
    def has_default(self) -> bool:
        return bool(self.rest) and self.rest[0] not in "=#"


def parse_file(
    path: Path,
    package: str,
    *,
    dialect: Dialect | None = None,
    hint: Dialect | None = None,
    has_own_header: bool = False,
) -> Interface:
    """Reads one .msg or .srv file."""
    raw = read_file(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        shown = raw.split(b"\n")[line - 1].decode("utf-8", "replace")
        raise fail(Location(str(path), line, column, 1, shown), "not UTF-8 text", "save the file as UTF-8") from None
    return parse_text(
        text, package, path.stem, str(path), kind=path.suffix, dialect=dialect, hint=hint, has_own_header=has_own_header
    )


def parse_text(
    text: str,
    package: str,
    name: str,
    path: str = "<text>",
    *,
    kind: str = ".msg",
    dialect: Dialect | None = None,
    hint: Dialect | None = None,
    has_own_header: bool = False,
) -> Interface:
    """Parses the text of an interface named ``package/name``; ``kind`` is ".msg" or ".srv". ``has_own_header``: the package has a
    message Header. Raises InterfaceError."""
    whole = Location(path)
    if kind == ".action":
        raise fail(
            whole,
            "actions are not supported",
            "generate from .msg and .srv files; an action's goal, result and feedback can be written as messages",
        )
    if kind not in (".msg", ".srv"):
        raise fail(whole, f"'{kind}' is not an interface file", "give files that end in .msg or .srv")
    if not _TYPE_NAME.match(package):
        raise fail(
            whole,
            f"'{package}' cannot be a package name",
            "a package name has letters, digits and underscores, beginning with a letter; it is the <name> in package.xml, else the name of the directory above msg/ or srv/",
        )
    if not _TYPE_NAME.match(name):
        raise fail(
            whole,
            f"'{name}' cannot be a type name",
            "name the file with letters, digits and underscores, beginning with a letter",
        )
    lines = [line.rstrip("\r") for line in text.split("\n")]
    separators = [i for i, line in enumerate(lines) if is_separator(line)]
    parser = _Parser(package, path, lines, hint, dialect, has_own_header or package == "std_msgs")
    if kind == ".msg":
        if separators:
            raise fail(parser.location(separators[0], 0, 3), "'---' in a message", "a service belongs into a .srv file")
        return parser.without_errors(parser.message(name, 0, len(lines)))
    if len(separators) != 1:
        at = parser.location(separators[1], 0, 3) if separators else whole
        found = f"{len(separators)} '---' separators" if separators else "no '---' separator"
        raise fail(
            at,
            f"{found} in a service",
            "a .srv file has one line '---' between request and response"
            + ("; two make an action, which is not supported" if len(separators) == 2 else ""),
        )
    cut = separators[0]
    request = parser.message(f"{name}_Request", 0, cut)
    response = parser.message(f"{name}_Response", cut + 1, len(lines))
    return parser.without_errors(Service(package, name, request, response, location=whole))


def is_separator(line: str) -> bool:
    """ROS 1 takes every line that begins with it, such as ----- or '--- # response'."""
    return line.strip(" \t").startswith("---")


class _Parser:
    def __init__(
        self,
        package: str,
        path: str,
        lines: list[str],
        hint: Dialect | None,
        forced: Dialect | None,
        has_own_header: bool,
    ) -> None:
        self._package = package
        self._has_own_header = has_own_header
        self._path = path
        self._lines = lines
        self._errors: list[Diagnostic] = []
        parsed: list[tuple[int, _Line]] = self._cut_lines()
        # None: nothing in the file tells the dialects apart; it is then read as ROS 2, except where that would be a guess.
        try:
            self._dialect = forced or dialects.decide(self._evidence([line for _, line in parsed]), hint)
        except InterfaceError as error:  # how to read the lines is not known
            raise InterfaceError(*self._errors, *error.diagnostics) from None
        self._parsed = parsed

    def without_errors(self, read: _I) -> _I:
        """The interface, if it has no errors; else raises all errors."""
        if self._errors:
            raise InterfaceError(*self._errors, partial=read)
        return read

    def location(self, index: int, start: int, length: int = 1) -> Location:
        return Location(self._path, index + 1, start + 1, max(1, length), self._lines[index])

    def _cut_lines(self) -> list[tuple[int, _Line]]:
        result = []
        comment: list[str] = []
        for i, text in enumerate(self._lines):
            stripped = text.strip(" \t")
            if stripped.startswith("#"):
                comment.append(stripped.lstrip("#").strip())
                continue
            if not stripped or is_separator(stripped):
                comment = []
                continue
            match = _LINE.match(text)
            if not match or not match["name"]:
                at = self.location(i, len(text) - len(text.lstrip(" \t")), len(stripped))
                self._errors.append(
                    Diagnostic(
                        at,
                        "a declaration is a type and a name",
                        "write for example 'uint32 width', or begin a comment with #",
                    )
                )
                continue
            result.append(
                (
                    i,
                    _Line(
                        match["type"],
                        self.location(i, match.start("type"), len(match["type"])),
                        match["name"],
                        self.location(i, match.start("name"), len(match["name"])),
                        match["rest"],
                        self.location(i, match.start("rest"), len(match["rest"])),
                        "\n".join(comment),
                    ),
                )
            )
            comment = []
        return result

    def _evidence(self, lines: list[_Line]) -> list[dialects.Evidence]:
        found = []
        for line in lines:
            found.append(dialects.evidence_of_type(line.type, self._has_own_header, line.type_at))
            found.append(dialects.evidence_of_name(line.name, line.is_constant, line.name_at))
            if line.has_default:
                found.append(dialects.evidence_of_default(line.rest_at))
        return [e for e in found if e]

    @property
    def _reading(self) -> Dialect:
        return self._dialect or Dialect.ROS2

    def message(self, name: str, begin: int, end: int) -> Message:
        """The declarations of lines [begin, end), without those that have errors."""
        fields: list[Field] = []
        constants: list[Constant] = []
        seen: dict[str, int] = {}
        for index, line in self._parsed:
            if not begin <= index < end:
                continue
            try:
                declared = self._constant(line) if line.is_constant else self._field(line)
                if declared.name in seen:
                    raise fail(
                        line.name_at,
                        f"'{declared.name}' is already declared in line {seen[declared.name]}",
                        "rename one of the two",
                    )
            except InterfaceError as error:
                self._errors.extend(error.diagnostics)
                continue
            seen[declared.name] = index + 1
            (constants if isinstance(declared, Constant) else fields).append(declared)
        return Message(
            self._package, name, tuple(fields), tuple(constants), self._file_comment(begin, end), Location(self._path)
        )

    def _file_comment(self, begin: int, end: int) -> str:
        """The comment block at the top, if a blank line or nothing follows it."""
        comment = []
        for text in self._lines[begin:end]:
            stripped = text.strip(" \t")
            if not stripped.startswith("#"):
                return "\n".join(comment) if not stripped else ""
            comment.append(stripped.lstrip("#").strip())
        return "\n".join(comment)

    def _check_name(self, line: _Line, kind: str) -> None:
        rules = dialects.CONSTANT_NAME if kind == "constant" else dialects.FIELD_NAME
        if not rules[self._reading].match(line.name):
            raise fail(line.name_at, f"'{line.name}' cannot be a {kind} name", dialects.NAME_RULE[self._reading, kind])

    def _field(self, line: _Line) -> Field:
        self._check_name(line, "field")
        type_ = self._type(line)
        default, comment = None, ""
        if line.has_default:
            if self._reading is Dialect.ROS1:
                raise fail(
                    line.rest_at,
                    "text behind the field's name",
                    "ROS 1 has no default values; write a constant as 'type NAME=value' or begin a comment with #",
                )
            text, comment = split_comment(line.rest)
            default = read_default(type_, text, line.rest_at.at(line.rest_at.column, len(text)))
        elif line.rest:
            comment = line.rest.lstrip("#").strip()
        comments = "\n".join(c for c in (line.comment_above, comment) if c)
        return Field(line.name, type_, default, comments, line.type_at, line.type.partition("[")[0] == "byte")

    def _constant(self, line: _Line) -> Constant:
        self._check_name(line, "constant")
        type_ = self._type(line)
        if type_.is_message or type_.shape is not Shape.SINGLE or type_.string_bound:
            raise fail(
                line.type_at, f"a constant cannot be of type {line.type}", "constants are numbers, bool or string"
            )
        written = line.rest[1:]
        start = line.rest_at.column + 1 + len(written) - len(written.lstrip(" \t"))
        if type_.base in ("string", "wstring"):
            text, comment = self._string_constant(written.strip(" \t"), line, start)
        else:
            text, comment = (part.strip() for part in (written.split("#", 1) + [""])[:2])
            if not text:
                raise fail(line.rest_at, "the constant has no value", f"write {line.type} {line.name}=value")
        where = line.rest_at.at(start, len(text))
        if line.type == "byte":
            value: Value = read_byte(Piece(text, where), self._dialect)
        else:
            value = read_scalar(type_.base, Piece(text, where), self._reading)
        if isinstance(value, str) and "\0" in value:
            raise fail(where, "a zero character in a string constant", "C++ would cut the string there; leave it out")
        return Constant(
            line.name, type_.base, value, "\n".join(c for c in (line.comment_above, comment) if c), line.type_at
        )

    def _string_constant(self, text: str, line: _Line, column: int) -> tuple[str, str]:
        if self._dialect is Dialect.ROS1:
            return text, ""  # the whole rest of the line, '#' included
        quoted = text[:1] in ("'", '"') and quoted_end(text, 0) > 0
        if self._dialect is None and "#" in text and not quoted:
            raise fail(
                line.rest_at.at(column + text.index("#")),
                "ROS 1 reads this '#' as part of the string, ROS 2 as a comment, and nothing in the file tells which dialect it is",
                "name the dialect with --dialect ros1 or --dialect ros2, or put the string in quotes (ROS 2)",
            )
        return split_comment(text)

    def _type(self, line: _Line) -> FieldType:
        token, at = line.type, line.type_at
        match = _TYPE.match(token)
        if not match or not match["base"]:
            raise fail(
                at,
                f"'{token}' is not a type",
                "write for example uint8, string<=10, float64[3], Point[] or geometry_msgs/Point[<=4]",
            )
        base = self._base(match["base"], at)
        string_bound = 0
        if match["bound"]:
            if base not in ("string", "wstring"):
                raise fail(
                    at.at(at.column + match.start("bound"), len(match["bound"])),
                    f"'{match['base']}' cannot have a bound",
                    "only string and wstring are bounded this way; bound an array as T[<=N]",
                )
            self._ros2_only(at.at(at.column + match.start("bound"), len(match["bound"])), "bounded strings")
            string_bound = self._count(match["bound"][2:], at, match.start("bound") + 2, "bound")
        if not match["array"]:
            return FieldType(base, string_bound=string_bound)
        inner, start = match["array"][1:-1], match.start("array") + 1
        if not match["array"].endswith("]") or "[" in inner or "]" in inner:
            raise fail(
                at.at(at.column + start - 1, len(match["array"])),
                f"'{match['array']}' is not an array",
                "write T[], T[N] or T[<=N]; for arrays of arrays make the inner one a message",
            )
        if not inner:
            return FieldType(base, Shape.SEQUENCE, 0, string_bound)
        if inner.startswith("<="):
            self._ros2_only(at.at(at.column + start, len(inner)), "bounded arrays")
            return FieldType(base, Shape.SEQUENCE, self._count(inner[2:], at, start + 2, "bound"), string_bound)
        return FieldType(base, Shape.ARRAY, self._count(inner, at, start, "length"), string_bound)

    def _ros2_only(self, at: Location, what: str) -> None:
        if self._dialect is Dialect.ROS1:
            raise fail(at, f"ROS 1 has no {what}", "leave the bound out, or read the file as ROS 2 with --dialect ros2")

    def _count(self, text: str, at: Location, start: int, what: str) -> int:
        where = at.at(at.column + start, len(text))
        if not re.fullmatch(r"[0-9]{1,10}", text, re.ASCII) or not 0 < int(text) <= _MAX_COUNT:
            raise fail(where, f"'{text}' is not a {what}", f"write a number from 1 to {_MAX_COUNT}")
        return int(text)

    def _base(self, text: str, at: Location) -> str:
        where = at.at(at.column, len(text))
        if text in _ROS1_ONLY and self._reading is Dialect.ROS2:
            new = _ALIASES[text]
            raise fail(
                where, f"ROS 2 has no type '{text}'", f"write {new}, or read the file as ROS 1 with --dialect ros1"
            )
        if text == "wstring" and self._dialect is Dialect.ROS1:
            raise fail(
                where, "ROS 1 has no type 'wstring'", "write string, or read the file as ROS 2 with --dialect ros2"
            )
        if text in _ALIASES:
            return _ALIASES[text]
        if text in PRIMITIVES:
            return text
        if text == "Header" and self._dialect is None and self._package != "std_msgs":
            raise fail(
                where,
                f"ROS 1 reads 'Header' as std_msgs/Header, ROS 2 as {self._package}/Header, and nothing in the file tells which "
                "dialect it is",
                f"write std_msgs/Header or {self._package}/Header, or name the dialect with --dialect ros1 or --dialect ros2",
            )
        if text == "roslib/Header" or (text == "Header" and self._reading is Dialect.ROS1):
            return "std_msgs/Header"
        parts = text.split("/")
        if len(parts) == 3 and parts[1] == "msg":
            del parts[1]
        if len(parts) > 2 or not all(_TYPE_NAME.match(part) for part in parts):
            raise fail(where, f"'{text}' is not a type", "write a built-in type, Name, or package/Name")
        return "/".join(parts) if len(parts) == 2 else f"{self._package}/{text}"
