# SPDX-License-Identifier: Apache-2.0
"""From wanted names to written headers: the command behind `baton generate` and the CMake function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .canonical import Resolver, ServiceStructs, Struct
from .cpp import (
    BUILT_INTO_ROS1,
    REPLACED_HEADER,
    message_header,
    recompiled_header,
    render_message,
    render_recompiled,
    render_recompiled_half,
    render_recompiled_service,
    render_replaced,
    render_service,
    render_stock,
    service_header,
    stock_header,
)
from .diagnostics import Diagnostic, InterfaceError, Location, fail
from .packages import Universe
from .ros1_definitions import Ros1Definitions
from .ros1_headers import Ros1Header, Ros1Service


@dataclass
class Wanted:
    """Packages (all their messages and services), single types, and ``own``: everything in the universe's files and directories."""

    packages: Iterable[str] = ()
    types: Iterable[str] = ()
    own: bool = False


@dataclass
class Resolved:
    messages: dict[str, Struct] = field(default_factory=dict)
    services: dict[str, ServiceStructs] = field(default_factory=dict)


def resolve(universe: Universe, wanted: Wanted) -> Resolved:
    """The wanted interfaces and every message they contain."""
    resolver = Resolver(universe)
    keys = list(universe.own_types()) if wanted.own else []
    for package in wanted.packages:
        keys += universe.types_of(package)
    keys += [_kind_of(universe, name) for name in wanted.types]
    result = Resolved()
    errors: list[Diagnostic] = []
    for kind, name in dict.fromkeys(keys):
        try:
            if kind == "srv":
                service = resolver.service(name)
                result.services[name] = service
                tops: list[Struct] = [service.request, service.response]
            else:
                tops = [resolver.message(name)]
                result.messages[name] = tops[0]
        except InterfaceError as error:
            errors.extend(error.diagnostics)
            continue
        for top in tops:
            result.messages.update(top.reachable())
    if errors:
        raise InterfaceError(*errors)
    return result


def _kind_of(universe: Universe, name: str) -> tuple[str, str]:
    """Accepts package/Name, package/msg/Name and package/srv/Name."""
    parts = name.split("/")
    if len(parts) == 3 and parts[1] in ("msg", "srv"):
        return parts[1], f"{parts[0]}/{parts[2]}"
    if len(parts) != 2 or not all(parts):
        raise fail(Location(name), "is not the name of a type", "write package/Name, for example sensor_msgs/Image")
    if ("srv", name) in universe.types_of(parts[0]) and ("msg", name) not in universe.types_of(parts[0]):
        return "srv", name
    return "msg", name


def outputs(
    universe: Universe, wanted: Wanted, ros1: bool = False, recompiled: Sequence[Path] = ()
) -> dict[PurePosixPath, str]:
    """Header path (below the include directory) -> text. With `ros1` also the headers that name roscpp's types; with `recompiled`,
    the include directories of ROS 1, also headers that stand in the place of ROS 1's own."""
    resolved = resolve(universe, wanted)
    result: dict[PurePosixPath, str] = {}
    owners: dict[PurePosixPath, str] = {}

    def add(path: PurePosixPath, name: str, text: str) -> None:
        if path in owners:
            raise fail(
                Location(name),
                f"its header {path} is also that of {owners[path]}",
                "rename one of the two types: their names differ only in case and underscores",
            )
        owners[path] = name
        result[path] = text

    for name, struct in sorted(resolved.messages.items()):
        add(message_header(name), name, render_message(struct))
        if ros1 and name not in BUILT_INTO_ROS1:
            add(stock_header(name), name, render_stock(struct))
    if recompiled:
        ros1_definitions = Ros1Definitions(universe, recompiled)
        messages = _known_to_ros1(universe, ros1_definitions, resolved.messages, recompiled)
        for name, (struct, header) in messages.items():
            add(recompiled_header(name), name, render_recompiled(struct, header))
        replaced = list(messages)
        packages = {*wanted.packages, *(name.split("/")[0] for name in resolved.services)}
        for service, halves in _with_messages_inside(universe, ros1_definitions, packages, set(messages)):
            add(recompiled_header(service.name), service.name, render_recompiled_service(service.name, service.md5))
            for struct, header in halves:
                add(recompiled_header(struct.full_name), service.name, render_recompiled_half(struct, header))
                replaced.append(struct.full_name)
        add(REPLACED_HEADER, str(REPLACED_HEADER), render_replaced(replaced))
    for name, service in sorted(resolved.services.items()):
        add(service_header(name), name, render_service(service))
    return result


def _known_to_ros1(
    universe: Universe, definitions: Ros1Definitions, messages: dict[str, Struct], directories: Sequence[Path]
) -> dict[str, tuple[Struct, Ros1Header]]:
    """The messages of which ROS 1 has headers here, or can make them: a program can use no others."""
    resolver = Resolver(universe)
    found: dict[str, tuple[Struct, Ros1Header]] = {}
    for name, struct in sorted(messages.items()):
        if name in BUILT_INTO_ROS1:
            continue
        header = definitions.message(name)
        if header is None:
            continue
        if resolver.resolve(header.message).hash != struct.hash:
            raise fail(
                Location(str(header.path)),
                f"has other fields than {name} here",
                "generate from the .msg file that this header was made of (SEARCH in CMake, --search DIR)",
            )
        universe.inputs.add(header.path)
        found[name] = (struct, header)
    if not found and messages:  # a package may have services alone
        raise fail(
            Location(", ".join(str(d) for d in directories)),
            "has no header of ROS 1 for these messages",
            "install the package that has them, for example libsensor-msgs-dev, or name its directory (HEADERS in CMake)",
        )
    return found


def _with_messages_inside(
    universe: Universe, definitions: Ros1Definitions, packages: Iterable[str], recompiled: set[str]
) -> Iterator[tuple[Ros1Service, list[tuple[Struct, Ros1Header]]]]:
    """The services of these packages with a recompiled message inside. Others stay as they are: ROS's headers fit them, and
    programs may use them with libraries that were compiled with those."""
    resolver = Resolver(universe)
    for package in sorted(packages):
        for service in definitions.services(package):
            halves = [(resolver.resolve(half.message), half) for half in (service.request, service.response)]
            if recompiled & {name for struct, _ in halves for name in struct.reachable()}:
                universe.inputs.update((service.path, *(half.path for _, half in halves)))
                yield service, halves


def write(root: Path, headers: dict[PurePosixPath, str]) -> list[Path]:
    """Writes the headers whose text changed, so that nothing else is rebuilt; returns those."""
    changed = []
    for path, text in headers.items():
        target = root / path
        try:
            if target.read_text("utf-8") == text:
                continue
        except (FileNotFoundError, UnicodeDecodeError):
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")
        changed.append(target)
    return changed
