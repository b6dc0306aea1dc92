# SPDX-License-Identifier: Apache-2.0
"""Writes C++ headers from resolved structs. Everything about C++ spelling is here; the shape of a header is in templates/."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath
from struct import pack, unpack

import jinja2

from . import macro_names
from .canonical import Member, ServiceStructs, Struct
from .model import SCALAR_BYTES, Constant, FieldType, Shape, Value
from .ros1_headers import Ros1Header

_KEYWORDS = """alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char
char8_t char16_t char32_t class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace new
noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register reinterpret_cast requires restrict return short
signed sizeof static static_assert static_cast struct switch synchronized template this thread_local throw true try typedef typeid typename
typeof union unsigned using virtual void volatile wchar_t while xor xor_eq""".split()
# Macros that other systems' headers define otherwise than this one's: with parameters, or as their own name.
_MORE_MACROS = "assert major makedev minor offsetof stderr stdin stdout".split()
_RESERVED = macro_names.names()[0].union(_KEYWORDS, _MORE_MACROS)
_MEMBER_NAMES = ("Ptr", "ConstPtr", "SharedPtr", "ConstSharedPtr", "UniquePtr")
_SERVICE_MEMBER_NAMES = frozenset(("Request", "Response", "kName", "kEventHash"))
# A type of such a name would hide, or be hidden by, the templates' members and parameters.
_NOT_TYPE_NAMES = frozenset((*_MEMBER_NAMES, "a", "b", "out", "message", "that_"))

# ROS 1 has classes of roscpp for these; baton/ros1/stock.hpp knows them.
BUILT_INTO_ROS1 = ("builtin_interfaces/Time", "builtin_interfaces/Duration")

_SCALARS = {
    "bool": "::baton::sfm::Bool",
    "float32": "float",
    "float64": "double",
} | {f"{sign}int{bits}": f"::std::{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_KINDS = {"bool": "kBool", "float32": "kFloat32", "float64": "kFloat64", "string": "kString", "wstring": "kWString"} | {
    f"{sign}int{bits}": f"k{'Uint' if sign else 'Int'}{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
_SHAPES = {Shape.SINGLE: "kSingle", Shape.ARRAY: "kArray", Shape.SEQUENCE: "kSequence"}


def snake_case(name: str) -> str:
    """Header file names as in ROS 2: PointCloud2 -> point_cloud2, CameraInfo -> camera_info."""
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def identifier(name: str, taken: set[str] | frozenset[str] = frozenset()) -> str:
    """The C++ spelling of a ROS name: as it is, with underscores appended where C++ or the struct already uses it."""
    while name in _RESERVED or name in taken:
        name += "_"
    return name


REPLACED_HEADER = PurePosixPath("baton/ros1/recompiled/replaced.hpp")


def message_header(full_name: str) -> PurePosixPath:
    package, name = full_name.split("/")
    return PurePosixPath("baton", "msg", package, snake_case(name) + ".hpp")


def service_header(full_name: str) -> PurePosixPath:
    package, name = full_name.split("/")
    return PurePosixPath("baton", "srv", package, snake_case(name) + ".hpp")


def stock_header(full_name: str) -> PurePosixPath:
    package, name = full_name.split("/")
    return PurePosixPath("baton", "ros1", package, snake_case(name) + ".hpp")


def recompiled_header(full_name: str) -> PurePosixPath:
    return PurePosixPath(f"{full_name}.h")


def qualified(struct_name: str, space: str = "msg") -> str:
    package, name = struct_name.split("/")
    return f"::baton::{space}::{identifier(package)}::{identifier(name, _NOT_TYPE_NAMES)}"


def string_literal(text: str) -> str:
    """A C++ narrow literal holding the text's UTF-8."""
    out, question = [], False
    for byte in text.encode():
        c = chr(byte)
        if c in '"\\':
            out.append("\\" + c)
        elif c == "?" and question:
            out.append("\\?")  # no trigraphs
        elif 32 <= byte < 127:
            out.append(c)
        else:
            out.append(f"\\{byte:03o}")
        question = c == "?"
    return '"' + "".join(out) + '"'


def wide_literal(text: str) -> str:
    """A C++ char16_t literal."""
    out = []
    for c in text:
        code = ord(c)
        if c in '"\\?':
            out.append("\\" + c)
        elif 32 <= code < 127:
            out.append(c)
        elif code < 0xA0:
            out.append(f"\\{code:03o}")
        else:
            out.append(f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}")
    return 'u"' + "".join(out) + '"'


def _number(base: str, value: Value) -> str:
    if base == "bool":
        return "true" if value else "false"
    if base in ("float32", "float64"):
        cpp = _SCALARS[base]
        value = float(value)
        if math.isnan(value):
            return f"::std::numeric_limits<{cpp}>::quiet_NaN()"
        if math.isinf(value):
            return ("-" if value < 0 else "") + f"::std::numeric_limits<{cpp}>::infinity()"
        if base == "float32":
            nearest = unpack("<f", pack("<f", value))[0]
            return repr(nearest if nearest == 0 else value) + "F"  # compilers warn of a literal that becomes zero
        return repr(value)
    value = int(value)
    if base == "int64":
        return "-9223372036854775807LL - 1" if value == -(2**63) else f"{value}LL"
    if base == "uint64":
        return f"{value}ULL"
    if base == "uint32":
        return f"{value}U"
    return "-2147483647 - 1" if value == -(2**31) else str(value)


def literal(base: str, value: Value) -> str:
    """The value as an initialiser of a field of type ``base``."""
    if base == "string":
        text = string_literal(str(value))
        return f"::std::string_view({text}, {len(str(value).encode())})" if "\0" in str(value) else text
    if base == "wstring":
        text = wide_literal(str(value))
        return (
            f"::std::u16string_view({text}, {len(str(value).encode('utf-16-le')) // 2})" if "\0" in str(value) else text
        )
    return _number(base, value)


def element_type(type_: FieldType) -> str:
    if type_.is_message:
        return qualified(type_.base)
    if type_.base == "string":
        return f"::baton::sfm::BoundedString<{type_.string_bound}>" if type_.string_bound else "::baton::sfm::String"
    if type_.base == "wstring":
        return f"::baton::sfm::BoundedWString<{type_.string_bound}>" if type_.string_bound else "::baton::sfm::WString"
    return _SCALARS[type_.base]


def cpp_type(type_: FieldType) -> str:
    element = element_type(type_)
    if type_.shape is Shape.ARRAY:
        return f"::std::array<{element}, {type_.count}>"
    if type_.shape is Shape.SEQUENCE:
        return (
            f"::baton::sfm::BoundedVector<{element}, {type_.count}>"
            if type_.count
            else f"::baton::sfm::Vector<{element}>"
        )
    return element


def _initialiser(member: Member) -> str:
    type_, default = member.type, member.source.default
    if default is None:
        # Also where the type initialises itself: without it `const Image image;` is an error for clang.
        plain = type_.shape is Shape.SINGLE and type_.base in SCALAR_BYTES
        return "{" + (_number(type_.base, 0) if plain else "") + "}"
    if type_.shape is Shape.SINGLE:
        return "{" + literal(type_.base, default) + "}"
    assert isinstance(default, tuple)
    values = ", ".join(literal(type_.base, value) for value in default)
    return "{{" + values + "}}" if type_.shape is Shape.ARRAY else "{" + values + "}"


def _comment_lines(text: str) -> list[str]:
    """Safe to put behind `///`: printable, without trigraphs, and no backslash at the end, which would continue the comment."""
    lines = []
    for line in text.split("\n"):
        printable = "".join(c if c.isprintable() else " " for c in line).replace("??/", "? ?/")
        lines.append(printable.rstrip(" \\"))
    while lines and not lines[-1]:
        lines.pop()
    return lines


@dataclass(frozen=True)
class CppMember:
    """The data of one member for the templates."""

    name: str
    second_name: str
    ros_name: str
    type: str
    alignas: str
    initialiser: str
    offset: int
    kind: str
    shape: str
    count: int
    string_bound: int
    nested: str
    comment: list[str]


@dataclass(frozen=True)
class CppConstant:
    name: str
    type: str
    value: str
    comment: list[str]


@dataclass(frozen=True)
class CppStruct:
    """The data of one struct for the templates."""

    struct: Struct
    space: str
    name: str
    qualified: str
    members: list[CppMember]
    constants: list[CppConstant]
    own_special_members: bool
    definition: list[str]
    hash: str
    comment: list[str]

    @property
    def size(self) -> int:
        return self.struct.size

    @property
    def is_stamp(self) -> bool:
        return self.struct.full_name in BUILT_INTO_ROS1 and [m.name for m in self.members] == ["sec", "nanosec"]

    @property
    def alignment(self) -> int:
        return self.struct.alignment


def _constant(constant: Constant, name: str) -> CppConstant:
    if constant.base == "string":
        type_, value = "const char*", string_literal(str(constant.value))
    elif constant.base == "wstring":
        type_, value = "const char16_t*", wide_literal(str(constant.value))
    elif constant.base == "bool":
        type_, value = "bool", _number("bool", constant.value)
    else:
        type_, value = _SCALARS[constant.base], _number(constant.base, constant.value)
    return CppConstant(name, type_, value, _comment_lines(constant.comment))


def _bytes_of(value: bytes) -> str:
    return ", ".join(f"0x{byte:02x}" for byte in value)


def describe(struct: Struct, space: str = "msg") -> CppStruct:
    name = identifier(struct.name, _NOT_TYPE_NAMES)
    taken = {name, *_MEMBER_NAMES}

    def take(wanted: str) -> str:
        chosen = identifier(wanted, taken)
        taken.add(chosen)
        return chosen

    # Names that need no change keep theirs whatever stands before them.
    unchanged = {m.name for m in struct.members} | {c.name for c in struct.constants}
    clashing = {n for n in unchanged if n in _RESERVED or n in taken}
    taken |= unchanged - clashing
    names = {
        n: take(n) if n in clashing else n
        for n in (*(m.name for m in struct.members), *(c.name for c in struct.constants))
    }
    members = []
    for m in struct.members:
        wide = m.type.shape is not Shape.SEQUENCE and SCALAR_BYTES.get(m.type.base) == 8
        members.append(
            CppMember(
                names[m.name],
                m.second_name if m.second_name not in taken else "",
                m.name,
                cpp_type(m.type),
                "alignas(8) " if wide else "",
                _initialiser(m),
                m.offset,
                "kMessage" if m.type.is_message else _KINDS[m.type.base],
                _SHAPES[m.type.shape],
                m.type.count,
                m.type.string_bound,
                qualified(m.type.base) if m.type.is_message else "",
                _comment_lines(m.source.comment),
            )
        )
    second_is_variable = any(
        m.second_name and (m.type.shape is Shape.SEQUENCE or not struct.is_fixed(m.type)) for m in struct.members
    )
    return CppStruct(
        struct,
        space,
        name,
        qualified(struct.full_name, space),
        members,
        [_constant(c, names[c.name]) for c in struct.constants],
        second_is_variable,
        [string_literal(line + "\n").replace("\\012", "\\n") for line in struct.definition.rstrip("\n").split("\n")],
        _bytes_of(struct.hash),
        _comment_lines(struct.comment),
    )


def _includes(structs: list[Struct]) -> tuple[list[str], list[str]]:
    """(<baton/...> headers, standard headers) that the structs need."""
    own, standard = (
        {"baton/message/print_object.hpp", "baton/message/type.hpp"},
        {"cstddef", "cstdint", "iosfwd", "memory"},
    )
    for struct in structs:
        if struct.full_name in BUILT_INTO_ROS1:
            own.add("baton/message/same_stamp.hpp")
            standard.add("type_traits")
        for m in struct.members:
            type_ = m.type
            if type_.is_message:
                own.add(str(message_header(type_.base)))
            if type_.base in ("string", "wstring"):
                own.add("baton/sfm/string.hpp" if type_.base == "string" else "baton/sfm/wstring.hpp")
            if type_.base == "bool":
                own.add("baton/sfm/bool.hpp")
            if type_.shape is Shape.SEQUENCE:
                own.add("baton/sfm/vector.hpp")
            if type_.shape is Shape.ARRAY:
                standard.add("array")
        values = [
            (m.type.base, v)
            for m in struct.members
            if m.source.default is not None
            for v in (m.source.default if isinstance(m.source.default, tuple) else (m.source.default,))
        ]
        values += [(c.base, c.value) for c in struct.constants]
        if any("numeric_limits" in literal(b, v) for b, v in values):
            standard.add("limits")
        if any("string_view(" in literal(b, v) for b, v in values):
            standard.add("string_view")
    return sorted(own), sorted(standard)


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("baton_generator"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


_WORD = re.compile(r"[A-Za-z_]\w*")


def _hidden_macros(structs: list[CppStruct], *more: str) -> list[str]:
    """The names in a header that are macros of other headers than the standard library's."""
    words = {word for text in more for word in _WORD.findall(text)}
    for s in structs:
        for text in (s.qualified, *(c.name for c in s.constants)):
            words.update(_WORD.findall(text))
        for m in s.members:
            words.update(_WORD.findall(f"{m.name} {m.second_name} {m.type}"))
    return sorted(words & macro_names.names()[1])


def render_message(struct: Struct) -> str:
    own, standard = _includes([struct])
    described = describe(struct)
    return (
        _environment()
        .get_template("message.hpp.j2")
        .render(
            source=struct.full_name,
            package=identifier(struct.package),
            structs=[described],
            own=own,
            standard=standard,
            macros=_hidden_macros([described], *(f"{described.name}{end}" for end in ("Ptr", "ConstPtr"))),
        )
    )


def render_service(service: ServiceStructs) -> str:
    halves = [service.request, service.response]
    own, standard = _includes(halves)
    name = identifier(service.name, _SERVICE_MEMBER_NAMES)
    structs = [describe(half, "srv") for half in halves]
    return (
        _environment()
        .get_template("service.hpp.j2")
        .render(
            source=service.full_name,
            package=identifier(service.package),
            name=name,
            structs=structs,
            own=own,
            standard=standard,
            macros=_hidden_macros(structs, name),
            comment=_comment_lines(service.comment),
            event_hash=_bytes_of(service.event.hash),
        )
    )


def render_stock(struct: Struct) -> str:
    """The header that says which type of roscpp's generator `struct` is."""
    described = describe(struct)
    nested = {m.type.base for m in struct.members if m.type.is_message} - set(BUILT_INTO_ROS1)
    return (
        _environment()
        .get_template("stock.hpp.j2")
        .render(
            source=struct.full_name,
            struct=described,
            stock=f"::{struct.package}::{struct.name}",
            stock_header=f"{struct.package}/{struct.name}.h",
            own=sorted(
                {str(message_header(struct.full_name)), "baton/ros1/stock.hpp", *(str(stock_header(n)) for n in nested)}
            ),
            members=[(m.name, m.second_name or m.ros_name) for m in described.members],
        )
    )


_ROS1_TIMES = {"builtin_interfaces/Time": "::ros::Time", "builtin_interfaces/Duration": "::ros::Duration"}


def _recompiled_type(type_: FieldType, in_chunk: bool) -> str:
    """The C++ type as in roscpp, but for strings and sequences of types that lie in a chunk."""
    if type_.is_message:
        element = _ROS1_TIMES.get(type_.base, "::" + type_.base.replace("/", "::"))
    elif type_.base == "string" and not in_chunk:
        element = "::std::string"
    else:
        element = "::std::uint8_t" if type_.base == "bool" else element_type(type_)
    if type_.shape is Shape.ARRAY:
        return f"::boost::array<{element}, {type_.count}>"
    vector = "::baton::sfm::Vector" if in_chunk else "::std::vector"
    return f"{vector}<{element}>" if type_.shape is Shape.SEQUENCE else element


def _recompiled_initialiser(type_: FieldType) -> str:
    plain = type_.shape is Shape.SINGLE and type_.base in SCALAR_BYTES
    return "{" + (_number("uint8" if type_.base == "bool" else type_.base, 0) if plain else "") + "}"


def _recompiled_constant(constant: Constant, signed_bytes: frozenset[str]) -> dict[str, str]:
    if constant.base == "string":
        return {
            "declaration": "inline const ::std::string",
            "name": constant.name,
            "value": string_literal(str(constant.value)),
        }
    base, value = constant.base, constant.value
    if constant.name in signed_bytes:
        base, value = "int8", (int(value) ^ 0x80) - 0x80
    elif base == "bool":
        base, value = "uint8", int(value)
    return {"declaration": f"constexpr {_SCALARS[base]}", "name": constant.name, "value": _number(base, value)}


def _recompiled_struct(struct: Struct, ros1: Ros1Header, in_chunk: bool) -> dict[str, object]:
    """The common part of headers of messages, requests and responses."""
    nested = {m.type.base for m in struct.members if m.type.is_message} - set(BUILT_INTO_ROS1)
    own = {str(recompiled_header(n)) for n in nested}
    return {
        "source": struct.full_name,
        "header": recompiled_header(struct.full_name),
        "guard": _ros1_guard(struct.full_name),
        "package": struct.package,
        "name": struct.name,
        "type": f"::{struct.package}::{struct.name}",
        "own": sorted(own | {str(message_header(struct.full_name))} if in_chunk else own),
        "constants": [_recompiled_constant(c, ros1.signed_bytes) for c in ros1.message.constants],
        "members": [
            {
                "name": m.second_name or m.name,
                "type": _recompiled_type(
                    replace(m.type, base="int8") if m.source.name in ros1.signed_bytes else m.type, in_chunk
                ),
                "alignas": shown.alignas,
                "initialiser": _recompiled_initialiser(m.type),
                "offset": m.offset,
            }
            for m, shown in zip(struct.members, describe(struct).members, strict=True)
        ],
        "fixed": struct.fixed,
        "has_header": ros1.has_header,
        "md5": ros1.md5,
        "definition": "\n           ".join(string_literal(line) for line in ros1.definition.splitlines(keepends=True))
        or '""',
    }


def _ros1_guard(full_name: str) -> str:
    package, name = full_name.split("/")
    return f"{package}_MESSAGE_{name}_H".upper()


def render_recompiled(struct: Struct, ros1: Ros1Header) -> str:
    """The header that stands in the place of ROS 1's own in a recompiled program."""
    return (
        _environment()
        .get_template("recompiled.h.j2")
        .render(
            **_recompiled_struct(struct, ros1, in_chunk=True),
            own_type=describe(struct).qualified,
            size=struct.size,
            alignment=struct.alignment,
        )
    )


def render_recompiled_half(struct: Struct, ros1: Ros1Header) -> str:
    """The request or the response of a service with messages inside."""
    return (
        _environment().get_template("recompiled_half.h.j2").render(**_recompiled_struct(struct, ros1, in_chunk=False))
    )


def render_replaced(names: Iterable[str]) -> str:
    """The header that sees whether a program includes ROS's header of one of these types."""
    headers = [(recompiled_header(name), _ros1_guard(name)) for name in names]
    return _environment().get_template("replaced.hpp.j2").render(headers=headers, path=REPLACED_HEADER)


def render_recompiled_service(full_name: str, md5: str) -> str:
    """The header that names both halves."""
    package, name = full_name.split("/")
    return (
        _environment()
        .get_template("recompiled_service.h.j2")
        .render(
            source=full_name,
            header=recompiled_header(full_name),
            guard=_ros1_guard(full_name),
            package=package,
            name=name,
            own=f"::{package}::{name}",
            halves=[{"header": recompiled_header(full_name + half)} for half in ("Request", "Response")],
            md5=md5,
        )
    )
