# SPDX-License-Identifier: Apache-2.0
"""Message classes made at run time from definitions: standard sets, installed ROS, directories, texts.

One class per definition: asking again gives the same class. Thread-safe.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from baton_generator.canonical import Resolver, ServiceStructs, Struct
from baton_generator.diagnostics import fail
from baton_generator.model import SCALAR_BYTES, Dialect, FieldType, Shape
from baton_generator.model import Message as ParsedMessage
from baton_generator.model import Service as ParsedService
from baton_generator.packages import DEFAULT_STANDARD, Universe, require_packages
from baton_generator.parser import parse_text

from . import _core, _stamps

# Names that other worlds use for the same field: genpy's Time and Duration.
_FOREIGN_NAMES = {
    ("builtin_interfaces/Time", "sec"): ("secs",),
    ("builtin_interfaces/Time", "nanosec"): ("nsecs",),
    ("builtin_interfaces/Duration", "sec"): ("secs",),
    ("builtin_interfaces/Duration", "nanosec"): ("nsecs",),
}
_OPTIONAL = {("std_msgs/Header", "seq")}  # ROS 2 has no such field

_lock = threading.RLock()
_classes: dict[tuple[str, str], type[_core.Message]] = {}  # (definition, defaults) -> class


class TypeSource:
    """Where message types are looked up: `search` directories, BATON_MSG_PATH, an installed ROS, a standard set."""

    def __init__(self, search: Iterable[str | os.PathLike[str]] = (), standard: str = DEFAULT_STANDARD) -> None:
        self._universe = Universe(
            search=[Path(p) for p in search],
            standard=standard,
            environment=_environment(),
            search_path_is="baton.search(directory), or directories in BATON_MSG_PATH",
        )
        self._resolver = Resolver(self._universe)

    def message(self, name: str) -> type[_core.Message]:
        """The class of "package/Name" (or "package/msg/Name")."""
        with _lock:
            return _class_of(self._resolver.message(_short(name)))

    def service(self, name: str) -> type:
        """A class with the message classes `Request`, `Response`, and `Event`, the type of Service.configure_introspection()'s messages."""
        with _lock:
            return _service_class(self._resolver.service(_short(name)))

    def names(self, package: str, kind: str = "msg") -> list[str]:
        """Names of the messages ("msg") or services ("srv") of a package."""
        with _lock:
            return [name.partition("/")[2] for k, name in self._universe.types_of(package) if k == kind]

    def packages(self) -> list[str]:
        """Packages of the standard set."""
        return self._universe.standard_packages()


def _environment() -> dict[str, str]:
    """The environment in which a ROS 2 is looked for. ROS 2's wheels are installed in this Python's own prefix, so it is added."""
    environment = dict(os.environ)
    if (Path(sys.prefix) / "share" / "ament_index").is_dir():
        known = environment.get("AMENT_PREFIX_PATH", "")
        environment["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, [known, sys.prefix]))
    return environment


def _short(name: str) -> str:
    package, *rest = name.split("/")
    if not rest or len(rest) > 2:
        raise ValueError(f'\'{name}\' is no type name: write "package/Name", e.g. "sensor_msgs/Image"')
    return f"{package}/{rest[-1]}"


_default: TypeSource | None = None
_search: list[Path] = []


def source() -> TypeSource:
    """The process's own source: what search() added, BATON_MSG_PATH (directories), an installed ROS, the standard set."""
    global _default
    with _lock:
        if _default is None:
            _default = TypeSource(_search)
        return _default


def search(*directories: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> None:
    """Looks for packages (with msg/ or srv/ inside) below these directories first, from now on. Raises NotADirectoryError
    for a path that is no directory, and InterfaceError for a directory without packages."""
    global _default
    paths: list[Path] = []
    for each in directories:
        paths += [Path(p) for p in ([each] if isinstance(each, str | os.PathLike) else each)]
    for path in paths:
        if not path.is_dir():
            raise NotADirectoryError(f"baton.search(): '{path}' is not a directory")
        require_packages(path)
    with _lock:
        _search[:0] = paths
        _default = None


def message(name: str | type) -> type[_core.Message]:
    """The class of a message type, e.g. baton.message("sensor_msgs/Image"). baton.msg.sensor_msgs.Image is the same class.
    Instead of a name, a message class of rclpy, rospy or rosbags says which type is meant."""
    if isinstance(name, type) and issubclass(name, _core.Message):
        return name
    if not isinstance(name, str):
        text = getattr(name, "_full_text", None)  # of genpy: the definition itself, "" of std_msgs/Empty
        if isinstance(text, str):
            return _message_from_text(name._type, text, Dialect.ROS1)  # type: ignore[attr-defined]
        from ._convert import type_name

        known = type_name(name)
        if known is None:
            raise TypeError(
                f'{name!r} is no message type: give a class of baton.msg, "package/Name", or a class of rclpy, rospy or rosbags'
            )
        name = known
    return source().message(name)


def service(name: str | type) -> type:
    """The class of a service type, with message classes `Request` and `Response`."""
    if isinstance(name, str):
        return source().service(name)
    if not (hasattr(name, "Request") and hasattr(name, "Response")):
        raise TypeError(f'{name!r} is no service type: give a class of baton.srv, or "package/Name"')
    return name


def event_hash(service: type) -> bytes:
    """The type hash of a service's events; empty for a class without them."""
    event = getattr(service, "Event", None)
    return event._struct.hash if isinstance(event, type) and issubclass(event, _core.Message) else b""


# The types that replace ROS 1's built-in types (docs/format/ros1-ros2-equivalence.md). A full text of ROS 1 needs no other source.
_TIME_TEXTS = dict.fromkeys(("builtin_interfaces/Time", "builtin_interfaces/Duration"), "int32 sec\nuint32 nanosec\n")


class _BroughtAlong:
    """The types that a full text of ROS 1 defines behind its own, and the process's own source for all others."""

    def __init__(self, types: Mapping[str, ParsedMessage]) -> None:
        self._types = types

    def load(self, full_name: str, kind: str, where: Any = None) -> Any:
        return self._types.get(full_name) or source()._universe.load(full_name, kind, where)


_SECTION = re.compile(r"^={80}\nMSG: (\S+)\n", re.MULTILINE)


def message_from_text(name: str, text: str) -> type[_core.Message]:
    """The class of a message "package/Name" defined by the text of a .msg file, ROS 1 or ROS 2. Types it names come from the
    same places as message()'s, unless the text defines them itself: ROS 1's tools write a type's full text so (genpy's `_full_text`,
    the connection header, bags), each behind a line of 80 "=" and a line "MSG: package/Name"."""
    return _message_from_text(name, text, None)


def _message_from_text(name: str, text: str, dialect: Dialect | None) -> type[_core.Message]:
    own, *others = _SECTION.split(text)
    brought = {_short(each): text for each, text in zip(others[::2], others[1::2], strict=True)}
    texts = _TIME_TEXTS | brought

    def parsed(full_name: str, definition: str) -> ParsedMessage:
        package, _, short = _short(full_name).partition("/")
        # A text that brings its types along says itself which Header it means.
        known = (None, f"{package}/Header" in brought) if brought else source()._universe.reading_of(package)
        hint, has_own_header = known
        read = parse_text(
            definition, package, short, f"<{full_name}>", dialect=dialect, hint=hint, has_own_header=has_own_header
        )
        assert isinstance(read, ParsedMessage)
        return read

    with _lock:
        message = parsed(name, own)
        types = {each: parsed(each, text) for each, text in texts.items()}
        return _class_of(Resolver(_BroughtAlong(types)).resolve(message))  # type: ignore[arg-type]


def service_from_text(name: str, text: str) -> type:
    """The same for the text of a .srv file."""
    package, _, short = _short(name).partition("/")
    hint, has_own_header = source()._universe.reading_of(package)
    parsed = parse_text(text, package, short, f"<{name}>", kind=".srv", hint=hint, has_own_header=has_own_header)
    assert isinstance(parsed, ParsedService)
    with _lock:
        resolver = source()._resolver
        request, response = resolver.resolve(parsed.request), resolver.resolve(parsed.response)
        return _service_class(resolver.service_of(parsed, request, response))


def _service_class(structs: ServiceStructs) -> type:
    return type(
        structs.name,
        (),
        {
            "__module__": f"baton.srv.{structs.package}",
            "__doc__": f"The service {structs.full_name}.",
            "Request": _class_of(structs.request),
            "Response": _class_of(structs.response),
            "Event": _class_of(structs.event),
            "__slots__": (),
        },
    )


def _defaults(struct: Struct) -> dict[str, Any]:
    return {m.name: m.source.default for m in struct.members if m.source.default is not None}


def _class_of(struct: Struct) -> type[_core.Message]:
    key = (struct.definition, repr([(n, _defaults(s)) for n, s in sorted({**struct.reachable(), "": struct}.items())]))
    found = _classes.get(key)
    if found is None:
        found = _classes[key] = _make_class(struct)
    return found


def _dtype_of(type_: FieldType, struct: Struct) -> np.dtype | None:
    """NumPy's dtype of one element; None if it holds a string or sequence."""
    if type_.is_message:
        return getattr(_class_of(struct.nested[type_.base]), "dtype", None)
    return np.dtype(type_.base) if type_.base in SCALAR_BYTES else None


def _skeleton(size: int, starts: list[tuple[int, bytes]]) -> bytes:
    """Empty: zeros."""
    starts = [(offset, start) for offset, start in starts if start.strip(b"\0")]
    if not starts:
        return b""
    skeleton = bytearray(size)
    for offset, start in starts:
        skeleton[offset : offset + len(start)] = start
    return bytes(skeleton)


MOST_SKELETON_BYTES = 1 << 28  # of a definition that is read at run time: core/message/src/definition.cpp has the same


def _make_class(struct: Struct) -> type[_core.Message]:
    if struct.size > MOST_SKELETON_BYTES:
        largest = max(struct.members, key=lambda member: member.size)
        raise fail(
            largest.source.location,
            f"{struct.full_name} has a fixed part of {struct.size} bytes, and at most {MOST_SKELETON_BYTES} are possible",
            f"make '{largest.name}' a sequence (T[]) or a shorter array",
        )
    fields = []
    content_defaults: dict[str, Any] = {}
    starts: list[tuple[int, bytes]] = []  # of the skeleton, where it is not zero in a new message
    names, formats, offsets = [], [], []
    for member in struct.members:
        nested = _class_of(struct.nested[member.type.base]) if member.type.is_message else None
        element = _dtype_of(member.type, struct)
        key = (struct.full_name, member.name)
        all_names = [member.name, *([member.second_name] if member.second_name else []), *_FOREIGN_NAMES.get(key, ())]
        fields.append((all_names, nested._record if nested else None, element, key in _OPTIONAL))
        if element is not None and member.type.shape is not Shape.SEQUENCE:
            names.append(member.name)
            formats.append((element, (member.type.count,)) if member.type.shape is Shape.ARRAY else element)
            offsets.append(member.offset)
        count = member.type.count if member.type.shape is Shape.ARRAY else 1
        if nested is not None and member.type.shape is not Shape.SEQUENCE and nested._prototype:
            starts.append((member.offset, nested._prototype * count))
        default = member.source.default
        if default is None:
            continue
        if element is not None and member.type.shape is not Shape.SEQUENCE and nested is None:
            starts.append((member.offset, np.array(default, element).tobytes()))
        else:
            content_defaults[member.name] = list(default) if isinstance(default, tuple) else default
    dtype = None
    if struct.fixed:
        dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": struct.size})
    start = _skeleton(struct.size, starts)
    record = _core._make_record(struct.definition, struct.hash, fields, dtype, start, content_defaults or None)
    space: dict[str, Any] = {
        "__module__": f"baton.msg.{struct.package}",
        "__qualname__": struct.name,
        "__slots__": (),
        "__doc__": "\n".join(
            filter(
                None,
                [
                    struct.comment,
                    f"The message {struct.full_name}:",
                    *(f"    {m.type} {m.name}" for m in struct.members),
                ],
            )
        ),
        "__copy__": copy,
        "__deepcopy__": lambda self, memo: copy(self),
        "__repr__": _repr,
        "__eq__": _equal,
        "__hash__": None,  # as in rclpy: objects that are compared by content and can change have no hash
        "__reduce__": lambda self: (type(self), (to_dict(self),)),
        "_record": record,
        "_prototype": start,
        "_struct": struct,
    }
    if _stamps.is_stamp(struct):
        space |= _stamps.methods(struct.full_name)
    if dtype is not None:
        space["dtype"] = dtype
    for constant in struct.constants:
        space[constant.name] = constant.value
    for index, member in enumerate(struct.members):
        space[member.name] = _core.Field(record, index)
        if member.second_name:
            space.setdefault(member.second_name, space[member.name])
    cls = type(struct.name, (_core.Message,), space)
    _core._bind_class(record, cls)
    return cls


def struct_of(cls: type[_core.Message]) -> Struct:
    """The resolved definition behind a message class."""
    struct: Struct = cls._struct
    return struct


def to_dict(value: _core.Message) -> dict[str, Any]:
    """Fields by name: nested messages as dicts, arrays as (read-only or live) NumPy arrays, structured ones included."""
    values: dict[str, Any] = _core._plain(value)
    return values


def _equal(one: _core.Message, other: object) -> Any:
    """By content, as in C++, rclpy and rospy."""
    if one is other:
        return True
    if type(one) is not type(other):
        return NotImplemented
    return same(_core._plain(one), _core._plain(other))


def same(one: Any, other: Any) -> bool:
    """Of two results of _core._plain() for one class."""
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return all(same(value, other[name]) for name, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


_SHOWN = 6  # elements of an array
_SHOWN_TEXT = 100  # characters


def _repr(value: _core.Message) -> str:
    """The fields, e.g. sensor_msgs/Image(width=640, data=<uint8 of shape (921600,): 0 0 0 ... 0 0 0>)."""
    try:
        fields = _fields(value)
    except _core.BatonError:  # of a loan that was published: its memory belongs to the readers
        return _core.Message.__repr__(value)
    return f"{struct_of(type(value)).definition.split(maxsplit=2)[1]}({fields})"


def _fields(value: _core.Message) -> str:
    return ", ".join(f"{m.name}={_repr_of_field(getattr(value, m.name))}" for m in struct_of(type(value)).members)


def _repr_of_field(value: Any) -> str:
    if isinstance(value, _core.Message):
        return f"{type(value).__name__}({_fields(value)})"
    if isinstance(value, np.ndarray):
        if value.size <= _SHOWN:
            return repr(value.tolist())
        flat = value.reshape(-1)
        half = _SHOWN // 2
        ends = [" ".join(map(str, part.tolist())) for part in (flat[:half], flat[-half:])]
        kind = value.dtype if value.dtype.names is None else "struct"
        return f"<{kind} of shape {value.shape}: {ends[0]} ... {ends[1]}>"
    if isinstance(value, _core.Sequence):
        shown = [_repr_of_field(one) for one, _ in zip(value, range(_SHOWN), strict=False)]
        return "[" + ", ".join(shown) + (f", ... {len(value) - _SHOWN} more]" if len(value) > _SHOWN else "]")
    text = repr(value)
    if isinstance(value, (str, bytes)) and len(value) > _SHOWN_TEXT:
        return f"{value[:_SHOWN_TEXT]!r}... of {len(value)}"
    return text


def copy(value: _core.Message) -> _core.Message:
    """A private, writable copy, independent of shared memory. copy.copy() and copy.deepcopy() make the same; pickling also
    copies, and needs a class that the reading process can import (baton.msg.<package>)."""
    return type(value)(value)


def convert(value: _core.Message, cls: Any, types: Mapping[str, Any] | None = None) -> Any:
    """An object of another world's class with the values of a message; arrays are copied. `cls`: a message class of rclpy or
    rospy, or one of rosbags; `types` then says where its nested classes are: `typestore.types`."""
    from ._convert import to_foreign

    return to_foreign(value, cls, types)
