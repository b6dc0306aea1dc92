# SPDX-License-Identifier: Apache-2.0
"""Which names of a linked, recompiled program (docs/guides/ros1.md) belong to code that was compiled with ROS's own messages.

A recompiled message has a name of its own for the linker, and so has every function with one in its parameters or its result: taking a
stock library's function of that kind is a link error. Three kinds of code link all the same, and are found here by the declarations that
the program was compiled with: a class with a message inside, a class with a virtual function that has one, and a function or a variable
whose type is such a class. It matters in both directions: a program calls the library's function, and the dynamic linker gives the
library the program's instance of an inline function.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .compile_commands import Command
from .parser import Parser

if TYPE_CHECKING:
    from clang.cindex import Cursor, Type

# What each recompiled source defines (ros1/recompiled/include/baton/ros1/recompiled/first.hpp): a library that has it was
# recompiled, too.
_MARK = "baton_ros1_recompiled"
_MESSAGE_BASE = "baton::ros1::recompiled::Allocated<"
_ARGUMENT = re.compile(r"_< ?(::)?baton::ros1::recompiled::Allocator>$")  # of messages: sensor_msgs::Image is an alias
# Headers in the place of ROS's: what is in it has names of its own.
_OWN_NAMESPACE = "baton_recompiled"
_NAME = re.compile(r"[A-Za-z_]\w*(?:::(?:operator(?:\(\)|[^\w\s(]+)|~?[A-Za-z_]\w*))*")
_RECORDS = {"CLASS_DECL", "STRUCT_DECL", "UNION_DECL", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"}
_TEMPLATES = {"CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"}
_FUNCTIONS = {"FUNCTION_DECL", "CXX_METHOD", "CONSTRUCTOR", "DESTRUCTOR", "CONVERSION_FUNCTION", "VAR_DECL"}
# The names of variables inside functions, but for those of the standard library and of Boost.
_LOCAL = re.compile(r"_ZZ(?!N?K?(?:S[absiodt]|5boost))")


class NotRead(Exception):
    """The program could not be read. The text names it and the way out."""


@dataclass(frozen=True)
class Shared:
    """A name that the program and a stock library have in common."""

    mangled: str
    text: str
    library: str


@dataclass
class Mismatch:
    """A class, function or variable that the library knows with ROS's messages, and the program with Baton's."""

    name: str
    reason: str
    place: str
    library: str
    symbols: list[str] = field(default_factory=list)


def _run(*command: str | Path) -> str:
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise NotRead(f"{command[0]} is not installed; install binutils and libc-bin") from None
    if done.returncode:
        raise NotRead(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _names(file: Path, *options: str) -> set[str]:
    """The names in a file's table of symbols, the dynamic one with the option -D."""
    lines = [line.split() for line in _run("nm", *options, file).splitlines()]
    return {words[-1].partition("@")[0] for words in lines if len(words) > 1}


def _libraries(program: Path) -> Iterator[Path]:
    for line in _run("ldd", program).splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if rest.startswith("not found"):
            raise NotRead(f"{program}: the library {name} is not found; set LD_LIBRARY_PATH as for the program itself")
        if arrow and rest.startswith("/"):
            yield Path(rest.rpartition(" (")[0])


def shared_names(program: Path, archives: Sequence[Path] = ()) -> list[Shared]:
    """What a linker can bind between the program and each library that was not recompiled; `archives` are static ones."""
    own = _names(program, "-D")
    found: dict[str, str] = {}
    for library in _libraries(program):
        theirs = _names(library, "-D", "--defined-only")
        if _MARK not in theirs:
            for name in own & theirs:
                found.setdefault(name, library.name)
    inside = _names(program) if archives else set[str]()
    for archive in archives:
        for name in inside & _names(archive, "--defined-only"):
            found.setdefault(name, archive.name)
    mangled = sorted(found)
    if not mangled:
        return []
    done = subprocess.run(["c++filt"], input="\n".join(mangled), capture_output=True, text=True, check=True)
    return [Shared(m, t, found[m]) for m, t in zip(mangled, done.stdout.splitlines(), strict=True)]


class _Declarations:
    """The declarations with certain names in one translation unit."""

    def __init__(self, unit: Any, names: Iterable[str], mangled: set[str]) -> None:
        self.records: dict[str, list[Cursor]] = {}
        self.entities: dict[str, Cursor] = {}  # by mangled name
        self.of_templates: dict[str, list[Cursor]] = {}  # by name: libclang does not mangle the names of instances
        self._mangled = mangled
        self._locals = any(map(_LOCAL.match, mangled))
        tree: dict[str, Any] = {}
        for name in names:
            at = tree
            for part in name.split("::"):
                at = at.setdefault(part, {})
        self._visit(unit.cursor, tree, "", False)

    def typed(self, name: Shared, messages: _Messages) -> tuple[Cursor | None, str]:
        """The function or variable of this name if its type has a message inside, and the message."""
        if (entity := self.entities.get(name.mangled)) and (inside := messages.in_type(entity.type)):
            return entity, inside
        if "<" in name.text:
            for entity in self.of_templates.get(_without_arguments(name.text).partition("(")[0], []):
                is_function = entity.type.kind.name == "FUNCTIONPROTO"  # whose parameters the name has inside
                if inside := messages.in_type(entity.type.get_result() if is_function else entity.type):
                    return entity, inside
        return None, ""

    def _visit(self, scope: Any, wanted: dict[str, Any], prefix: str, in_template: bool) -> None:
        for cursor in scope.get_children():
            kind = cursor.kind.name
            if kind in ("LINKAGE_SPEC", "UNEXPOSED_DECL", "FRIEND_DECL"):  # the first two: extern "C"
                self._visit(cursor, wanted, prefix, in_template)
                continue
            elsewhere = scope.kind.name in ("LINKAGE_SPEC", "UNEXPOSED_DECL", "FRIEND_DECL")
            if elsewhere and kind in _FUNCTIONS and cursor.mangled_name in self._mangled:
                self.entities.setdefault(cursor.mangled_name, cursor)  # its name does not have this scope inside
                continue
            inner = wanted.get(cursor.spelling)
            if inner is None:
                continue
            name = f"{prefix}{cursor.spelling}"
            if kind == "NAMESPACE":
                self._visit(cursor, inner, f"{name}::", in_template)
            elif kind in _RECORDS and cursor.is_definition():
                self.records.setdefault(name, []).append(cursor)
                self._visit(cursor, inner, f"{name}::", in_template or kind in _TEMPLATES)
            elif kind in _FUNCTIONS and in_template:
                self.of_templates.setdefault(name, []).append(cursor)
            elif kind in _FUNCTIONS:
                if cursor.mangled_name in self._mangled:
                    self.entities.setdefault(cursor.mangled_name, cursor)
                if self._locals:
                    self._visit_body(cursor)

    def _visit_body(self, function: Any) -> None:
        for cursor in function.walk_preorder():
            if cursor.kind.name == "VAR_DECL" and cursor.mangled_name in self._mangled:
                self.entities.setdefault(cursor.mangled_name, cursor)


class _Messages:
    """Where types have recompiled messages inside. The answers are reasons, "" for none."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def in_type(self, type: Type | Any) -> str:
        type = type.get_canonical()
        kind = type.kind.name
        if kind in ("POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE", "MEMBERPOINTER"):
            return self.in_type(type.get_pointee())
        if kind in ("CONSTANTARRAY", "INCOMPLETEARRAY"):
            return self.in_type(type.element_type)
        if kind == "FUNCTIONPROTO":
            return self.in_type(type.get_result()) or self._first(map(self.in_type, type.argument_types()))
        if kind not in ("RECORD", "UNEXPOSED"):  # the latter: of a template, with parameters of a template around
            return ""
        text = type.spelling
        if text not in self._known:
            self._known[text] = ""  # while it is looked at: a class may point to itself
            arguments = (type.get_template_argument_type(i) for i in range(max(0, type.get_num_template_arguments())))
            self._known[text] = self._first(
                self.in_type(argument) for argument in arguments if argument.kind.name != "INVALID"
            ) or self.in_record(type.get_declaration())
        return self._known[text]

    def in_record(self, record: Cursor | Any) -> str:
        definition = _definition(record)
        if _is_message(definition):
            return _ARGUMENT.sub("", definition.type.spelling)
        return self._first(self._in_member(child) for child in definition.get_children())

    def _in_member(self, child: Any) -> str:
        kind = child.kind.name
        if kind in ("FIELD_DECL", "CXX_BASE_SPECIFIER") and (found := self.in_type(child.type)):
            return found
        if kind in _RECORDS and not child.spelling.isidentifier():  # anonymous: its members are the class's
            return self.in_record(child)
        if kind in ("CXX_METHOD", "DESTRUCTOR") and child.is_virtual_method() and (found := self.in_type(child.type)):
            return found
        return ""

    def why(self, record: Cursor | Any) -> str:
        """In words, of a class that is no message itself."""
        definition = _definition(record)
        if _is_message(definition):
            return ""
        for child in definition.get_children():
            if found := self._in_member(child):
                kind = child.kind.name
                if kind == "FIELD_DECL":
                    return f"its member {child.spelling} has {found} inside"
                if kind in _RECORDS:
                    return f"its anonymous {kind.removesuffix('_DECL').lower()} has {found} inside"
                if kind == "CXX_BASE_SPECIFIER":
                    return f"its base {child.type.spelling} has {found} inside"
                return f"its virtual function {child.displayname} has {found} in its type"
        return ""

    @staticmethod
    def _first(found: Iterable[str]) -> str:
        return next(filter(None, found), "")


def _definition(record: Any) -> Any:
    """Of an instance that nothing has needed yet, such as behind a pointer: its template's."""
    from clang.cindex import conf  # not before Parser() has found the library

    if (definition := record.get_definition()) is None:
        template = conf.lib.clang_getSpecializedCursorTemplate(record)
        definition = template.get_definition() if template is not None else None
    return definition or record


def _is_message(record: Any) -> bool:
    if any(
        child.kind.name == "CXX_BASE_SPECIFIER" and child.type.get_canonical().spelling.startswith(_MESSAGE_BASE)
        for child in record.get_children()
    ):
        return True
    parent = record.semantic_parent
    return parent is not None and parent.kind.name == "NAMESPACE" and parent.spelling == _OWN_NAMESPACE


def mismatches(program: Path, commands: list[Command], archives: Sequence[Path] = ()) -> list[Mismatch]:
    """What of `program`, which was compiled by `commands`, is bound to code with other messages. Raises NoClang, NotRead and NotParsed."""
    shared = shared_names(program, archives)
    if not shared:
        return []
    names_of = {each.mangled: set(_prefixes(each.text)) for each in shared}
    names = set().union(*names_of.values())
    mangled = {each.mangled for each in shared}
    has_locals = any(map(_LOCAL.match, mangled))
    parser = Parser()
    found: dict[tuple[str, str], Mismatch] = {}
    for command in commands:
        unit = parser.parse(command, skip_bodies=not has_locals)
        declarations = _Declarations(unit, names, mangled)
        messages = _Messages()
        reasons: dict[str, tuple[str, Any]] = {}
        for name, records in declarations.records.items():
            for record in records:
                if why := messages.why(record):
                    reasons.setdefault(name, (why, record))
        for each in shared:
            culprit = next((name for name in sorted(names_of[each.mangled]) if name in reasons), None)
            if culprit is not None:
                why, cursor = reasons[culprit]
            else:
                cursor, inside = declarations.typed(each, messages)
                if cursor is None:
                    continue
                culprit, why = each.text, f"its type has {inside} inside"
            at = cursor.location
            place = f"{at.file.name}:{at.line}" if at.file else ""
            mismatch = found.setdefault((culprit, each.library), Mismatch(culprit, why, place, each.library))
            if each.text not in mismatch.symbols:
                mismatch.symbols.append(each.text)
    return sorted(found.values(), key=lambda mismatch: (mismatch.library, mismatch.name))


def _prefixes(text: str) -> Iterator[str]:
    """Every name that a demangled name has inside, and what encloses it: of "a::b<e>::f(c::d)" a, a::b, a::b::f, c, c::d, e."""
    for name in _NAME.findall(text) + (_NAME.findall(_without_arguments(text)) if "<" in text else []):
        parts = name.split("::")
        if parts[0] not in ("std", "boost"):
            yield from ("::".join(parts[:count]) for count in range(1, len(parts) + 1))


def _without_arguments(text: str) -> str:
    """A demangled name without the arguments of its templates."""
    depth, kept = 0, []
    for part in re.split(r"(operator(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)|[<>])", text):
        if part in ("<", ">"):
            depth += 1 if part == "<" else -1
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def in_words(program: Path, found: list[Mismatch]) -> str:
    lines: list[str] = []
    for each in found:
        lines += [
            f"{each.place}: error: {each.name} of {program.name} has Baton's messages, and {each.library} was compiled with ROS's",
            f"  {each.reason}; {program.name} and the library share",
            *(f"    {symbol}" for symbol in each.symbols[:5]),
        ]
        if len(each.symbols) > 5:
            lines.append(f"    and {len(each.symbols) - 5} more")
    lines.append(
        "  way out: compile the library's sources, too, with the messages of baton_ros1_messages; or keep this library in a program "
        "of its own that is not recompiled"
    )
    return "\n".join(lines)
