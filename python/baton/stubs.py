# SPDX-License-Identifier: Apache-2.0
"""Stubs of message classes, so that editors and type checkers know their fields: the verb `baton stubs`.

Classes are made at run time, where no tool can see them.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable
from pathlib import Path

from baton_generator.canonical import Member, Struct
from baton_generator.model import SCALAR_BYTES, Shape

from . import _messages, _stamps

_HEAD = """# Made by `baton stubs {package}`.
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt
from baton import Message, Sequence
"""


def _scalar(base: str) -> str:
    return (
        "bool" if base == "bool" else "float" if base.startswith("float") else "int" if base in SCALAR_BYTES else "str"
    )


def _type(member: Member, struct: Struct) -> str:
    """The type that reading the field gives."""
    base = member.type.base
    element = base.replace("/", "__") if member.type.is_message else _scalar(base)
    if member.type.shape is Shape.SINGLE:
        return element
    if not struct.is_fixed(member.type):
        return f"Sequence[{element}]"
    if member.type.is_message:
        return "npt.NDArray[np.void]"
    return f"npt.NDArray[np.{'bool_' if base == 'bool' else base}]"


def _class(struct: Struct, name: str) -> list[str]:
    lines = [f"class {name}(Message):"]
    for constant in struct.constants:
        lines.append(f"    {constant.name}: ClassVar[{type(constant.value).__name__}]")
    names = [(n, m) for m in struct.members for n in (m.name, m.second_name) if n and not keyword.iskeyword(n)]
    arguments = "".join(f", {n}: Any = ..." for n, _ in names)
    lines.append(f"    def __init__(self, _source: object = ..., /{', *' if names else ''}{arguments}) -> None: ...")
    for n, member in names:
        kind = _type(member, struct)
        if kind in ("int", "float", "bool", "str"):
            lines.append(f"    {n}: {kind}")
        else:  # reading gives a view, writing takes anything of the same fields
            lines += ["    @property", f"    def {n}(self) -> {kind}: ...", f"    @{n}.setter"]
            lines.append(f"    def {n}(self, value: Any) -> None: ...")
    if _stamps.is_stamp(struct):
        lines += [
            "    def __float__(self) -> float: ...",
            "    def to_sec(self) -> float: ...",
            "    def to_nsec(self) -> int: ...",
            "    def is_zero(self) -> bool: ...",
            "    secs: int",
            "    nsecs: int",
        ]
        lines += [f"    def __{n}__(self, other: {name} | float) -> bool: ..." for n in ("lt", "le", "gt", "ge")]
    if _stamps.is_stamp(struct) and struct.full_name == _stamps.TIME:
        lines += [
            "    @overload",
            f"    def __sub__(self, other: {name}) -> float: ...",
            "    @overload",
            f"    def __sub__(self, other: Duration | float) -> {name}: ...",
            f"    def __add__(self, other: Duration | float) -> {name}: ...",
            f"    def __radd__(self, other: Duration | float) -> {name}: ...",
            "    def __rsub__(self, other: float) -> float: ...",
        ]
    return lines


def _imports(structs: list[Struct], package: str) -> list[str]:
    used = sorted({m.type.base for s in structs for m in s.members if m.type.is_message})
    own = [u for u in used if u.startswith(f"{package}/")]
    lines = [
        f"from baton.msg.{u.partition('/')[0]} import {u.partition('/')[2]} as {u.replace('/', '__')}"
        for u in used
        if u not in own
    ]
    return lines


def message_stub(package: str) -> str:
    """The text of baton/msg/<package>.pyi."""
    source = _messages.source()
    structs = [source.message(f"{package}/{n}")._struct for n in source.names(package)]
    lines = [_HEAD.format(package=package).rstrip(), *_imports(structs, package), ""]
    for struct in structs:
        lines += [*_class(struct, struct.name), ""]
    lines += [f"{s.full_name.replace('/', '__')} = {s.name}" for s in structs]
    return "\n".join(lines) + "\n"


def service_stub(package: str) -> str:
    """The text of baton/srv/<package>.pyi, or nothing for a package without services."""
    source = _messages.source()
    services = [(n, source.service(f"{package}/{n}")) for n in source.names(package, "srv")]
    if not services:
        return ""
    halves = [getattr(s, half)._struct for _, s in services for half in ("Request", "Response")]
    lines = [_HEAD.format(package=package).rstrip(), *_imports(halves, ""), ""]
    for name, service in services:
        lines.append(f"class {name}:")
        for half in ("Request", "Response"):
            lines += ["    " + line for line in _class(getattr(service, half)._struct, half)]
        lines.append("")
    return "\n".join(lines)


def write(packages: Iterable[str], out: Path | None = None) -> list[Path]:
    """Writes msg/<package>.pyi and srv/<package>.pyi of these packages, and of all that they refer to, below `out`; by default
    beside the installed package. Returns the files. Raises InterfaceError for a package that is not found."""
    out = Path(__file__).parent if out is None else out
    written: list[Path] = []
    done: set[str] = set()
    todo = list(packages)
    while todo:
        package = todo.pop()
        if package in done:
            continue
        done.add(package)
        for kind, text in {"msg": message_stub(package), "srv": service_stub(package)}.items():
            if text:
                path = out / kind / f"{package}.pyi"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                written.append(path)
                lines = text.splitlines()
                todo += [line.split()[1].rpartition(".")[2] for line in lines if line.startswith("from baton.msg.")]
    return written
