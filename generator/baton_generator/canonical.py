# SPDX-License-Identifier: Apache-2.0
"""Resolves messages to structs: names after the ROS 1/ROS 2 mapping, SFM layout, canonical definition and type hash."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field

from .diagnostics import Diagnostic, InterfaceError, Location, fail
from .equivalence import SECOND_NAMES, canonical_message
from .model import SCALAR_BYTES, Constant, Field, FieldType, Interface, Message, Service, Shape
from .packages import Universe

MAX_SKELETON_BYTES = 2**31 - 1  # docs/format/sfm.md: a message is at most 2 GiB
MAX_DEPTH = 64
_REFERENCE = (8, 4)  # {u32 length, i32 offset}
_EVENT_INFO = "service_msgs/ServiceEventInfo"


@dataclass(frozen=True)
class Member:
    """A field with its place in the skeleton. ``second_name`` is the other dialect's name for it, or empty."""

    name: str
    type: FieldType
    offset: int
    size: int
    alignment: int
    second_name: str = ""
    source: Field = field(default=Field("", FieldType("bool")), compare=False)


@dataclass(frozen=True)
class Struct:
    """A resolved message. ``nested`` holds the direct member types by full name; ``fixed``: no string or sequence anywhere inside."""

    package: str
    name: str
    members: tuple[Member, ...]
    constants: tuple[Constant, ...]
    size: int
    alignment: int
    fixed: bool
    nested: dict[str, Struct]
    definition: str
    hash: bytes
    comment: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.package}/{self.name}"

    def is_fixed(self, type_: FieldType) -> bool:
        """Whether one element of the type contains no string or sequence."""
        if type_.is_message:
            return self.nested[type_.base].fixed
        return type_.base in SCALAR_BYTES

    def reachable(self) -> dict[str, Struct]:
        """All types inside, by full name, without this one."""
        found: dict[str, Struct] = {}
        todo = list(self.nested.values())
        while todo:
            struct = todo.pop()
            if struct.full_name not in found:
                found[struct.full_name] = struct
                todo.extend(struct.nested.values())
        return found


@dataclass(frozen=True)
class ServiceStructs:
    """``event``: the message by which a server or a client publishes a call."""

    package: str
    name: str
    request: Struct
    response: Struct
    event: Struct
    comment: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.package}/{self.name}"


def definition_text(name: str, members: tuple[Member, ...], nested: dict[str, Struct]) -> str:
    """docs/format/type-hash.md: the type's own block, then those of all types inside, sorted by name."""
    blocks = {s.full_name: s for top in nested.values() for s in (top, *top.reachable().values())}
    lines = _block(name, members)
    for inner in sorted(blocks):
        lines += _block(inner, blocks[inner].members)
    return "\n".join(lines) + "\n"


def _block(name: str, members: tuple[Member, ...]) -> list[str]:
    return [f"message {name}", *(f"{m.type} {m.name}" for m in members)]


def type_hash(definition: str) -> bytes:
    return hashlib.sha256(definition.encode()).digest()[:16]


def _round_up(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


class Resolver:
    """Turns names into structs. Keeps what it resolved."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._structs: dict[str, Struct] = {}
        self._open: list[str] = []
        self._failed: dict[str, InterfaceError] = {}  # errors of known definitions, during one outermost call

    def message(self, full_name: str, wanted_by: Field | None = None) -> Struct:
        if full_name in self._failed:
            raise self._failed[full_name]
        if full_name not in self._structs:
            where = wanted_by.location if wanted_by else None
            if full_name in self._open:
                circle = " -> ".join([*self._open[self._open.index(full_name) :], full_name])
                raise fail(
                    where or Location(full_name),
                    f"a message cannot contain itself: {circle}",
                    "break the circle, for example by an index into an array",
                )
            if len(self._open) >= MAX_DEPTH:
                raise fail(
                    where or Location(full_name),
                    f"messages nested more than {MAX_DEPTH} deep",
                    "flatten the definition",
                )
            self._open.append(full_name)
            try:
                message = self._load(full_name, "msg", where)
                assert isinstance(message, Message)
                try:
                    self._structs[full_name] = self.resolve(message)
                except InterfaceError as error:
                    self._failed[full_name] = error
                    raise
            finally:
                self._open.pop()
                if not self._open:
                    self._failed.clear()
        return self._structs[full_name]

    def _load(self, full_name: str, kind: str, where: Location | None) -> Interface:
        """The definition. For one with errors, unknown types and errors of nested messages are reported, too."""
        try:
            return self._universe.load(full_name, kind, where)
        except InterfaceError as error:
            read = error.partial
            if read is None:
                raise
            found = list(error.diagnostics)
            for part in (read.request, read.response) if isinstance(read, Service) else (read,):
                try:
                    self._nested(canonical_message(part), {})
                except InterfaceError as more:
                    found += more.diagnostics
            all_errors = InterfaceError(*found)
            if kind == "msg":
                self._failed[full_name] = all_errors
            raise all_errors from None

    def service(self, full_name: str) -> ServiceStructs:
        service = self._load(full_name, "srv", None)
        assert isinstance(service, Service)
        structs: list[Struct] = []
        errors: list[Diagnostic] = []
        for part in (service.request, service.response):
            try:
                structs.append(self.resolve(part))
            except InterfaceError as error:
                errors.extend(error.diagnostics)
        if errors:
            raise InterfaceError(*errors)
        return self.service_of(service, structs[0], structs[1])

    def service_of(self, service: Service, request: Struct, response: Struct) -> ServiceStructs:
        halves = {half.full_name: half for half in (request, response)}
        fields = [Field("info", FieldType(_EVENT_INFO))]
        fields += [
            Field(name, FieldType(half, Shape.SEQUENCE, 1))
            for name, half in zip(("request", "response"), halves, strict=True)
        ]
        event = self.resolve(Message(service.package, f"{service.name}_Event", tuple(fields)), halves | _event_info())
        return ServiceStructs(service.package, service.name, request, response, event, service.comment)

    def resolve(self, written: Message, known: dict[str, Struct] | None = None) -> Struct:
        """``known``: types that are found here first."""
        message = canonical_message(written)
        nested = self._nested(message, known or {})
        second_names = SECOND_NAMES.get(message.full_name, {})
        members: list[Member] = []
        end, alignment = 0, 1
        for f in message.fields:
            size, align = self._place(f.type, nested)
            offset = _round_up(end, align)
            end, alignment = offset + size, max(alignment, align)
            if end > MAX_SKELETON_BYTES:
                raise fail(
                    f.location,
                    f"with '{f.name}' the message's fixed part exceeds 2 GiB",
                    "use a sequence (T[]) or shorter arrays",
                )
            members.append(Member(f.name, f.type, offset, size, align, second_names.get(f.name, ""), f))
        fixed = all(
            f.type.shape is not Shape.SEQUENCE
            and (nested[f.type.base].fixed if f.type.is_message else f.type.base in SCALAR_BYTES)
            for f in message.fields
        )
        definition = definition_text(message.full_name, tuple(members), nested)
        return Struct(
            message.package,
            message.name,
            tuple(members),
            message.constants,
            max(1, _round_up(end, alignment)),
            alignment,
            fixed,
            nested,
            definition,
            type_hash(definition),
            message.comment,
        )

    def _nested(self, message: Message, known: dict[str, Struct]) -> dict[str, Struct]:
        nested = {f.type.base: known[f.type.base] for f in message.fields if f.type.base in known}
        errors: list[Diagnostic] = []
        for f in message.fields:
            if f.type.is_message and f.type.base not in nested:
                try:
                    nested[f.type.base] = self.message(f.type.base, f)
                except InterfaceError as error:
                    errors.extend(error.diagnostics)
        if errors:
            raise InterfaceError(*errors)
        return nested

    @staticmethod
    def _place(type_: FieldType, nested: dict[str, Struct]) -> tuple[int, int]:
        """(size, alignment) of a member in the skeleton."""
        if type_.shape is Shape.SEQUENCE:
            return _REFERENCE
        if type_.is_message:
            size, alignment = nested[type_.base].size, nested[type_.base].alignment
        elif type_.base in SCALAR_BYTES:
            size = alignment = SCALAR_BYTES[type_.base]
        else:
            size, alignment = _REFERENCE
        return (size * type_.count if type_.shape is Shape.ARRAY else size), alignment


@functools.cache
def _event_info() -> dict[str, Struct]:
    """service_msgs/msg/ServiceEventInfo of ROS 2. Not from a universe: every service has events, also where only ROS 1 is known."""
    nothing = Resolver(None)  # type: ignore[arg-type]  # asked for no name
    time = Message(
        "builtin_interfaces", "Time", (Field("sec", FieldType("int32")), Field("nanosec", FieldType("uint32")))
    )
    fields = (
        Field("event_type", FieldType("uint8")),
        Field("stamp", FieldType(time.full_name)),
        Field("client_gid", FieldType("uint8", Shape.ARRAY, 16)),
        Field("sequence_number", FieldType("int64")),
    )
    package, _, name = _EVENT_INFO.partition("/")
    kinds = ("REQUEST_SENT", "REQUEST_RECEIVED", "RESPONSE_SENT", "RESPONSE_RECEIVED")
    constants = tuple(Constant(kind, "uint8", value) for value, kind in enumerate(kinds))
    info = nothing.resolve(Message(package, name, fields, constants), {time.full_name: nothing.resolve(time)})
    return {_EVENT_INFO: info}
