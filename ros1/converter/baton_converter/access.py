# SPDX-License-Identifier: Apache-2.0
"""Which message, and which part of it, an expression names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .messages import Types, is_of_ros1, is_value
from .parser import text_of
from .state import Origin, Path

Node = Any  # a Cursor of libclang; its Python package has no types

_REFERENCES = {"TYPE_REF", "NAMESPACE_REF", "TEMPLATE_REF", "MEMBER_REF", "OVERLOADED_DECL_REF", "LABEL_REF"}
_WRAPPERS = {
    "UNEXPOSED_EXPR",
    "PAREN_EXPR",
    "CXX_STATIC_CAST_EXPR",
    "CXX_CONST_CAST_EXPR",
    "CSTYLE_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR",
}
# Functions whose result is their argument, as another kind of pointer or reference.
_SAME = {"move", "forward", "ref", "static_pointer_cast", "const_pointer_cast", "dynamic_pointer_cast", "addressof"}
_MAKERS = {"make_shared", "make_unique", "allocate_shared", "makeShared"}


def parts(node: Node) -> list[Node]:
    """The children that are expressions or statements, not mentions of types."""
    return [child for child in node.get_children() if child.kind.name not in _REFERENCES]


def strip(node: Node) -> Node:
    """Without parentheses, casts, and what clang adds unseen."""
    while node.kind.name in _WRAPPERS:
        inside = parts(node)
        if len(inside) != 1:
            break
        node = inside[0]
    return node


def method_base(call: Node) -> Node | None:
    """The object of a call of a method; None where it is `this` or the call is of another kind."""
    inside = parts(call)
    if not inside or inside[0].kind.name != "MEMBER_REF_EXPR":
        return None
    named = inside[0].referenced
    if named is not None and named.kind.name in ("FIELD_DECL", "VAR_DECL"):
        return None  # the operand of an operator
    base = parts(inside[0])
    return base[0] if base else None


@dataclass(frozen=True)
class Root:
    """A message, or what holds it: a variable, a member, the result of a call. `entry` says what it may hold when the function begins;
    None: nothing."""

    key: str
    name: str
    made: str
    line: int
    type: str
    entry: Origin | None
    offset: int = 0


@dataclass(frozen=True)
class Access:
    root: Root
    path: Path
    types: tuple[str, ...]  # the messages that the path goes through
    text: str

    def part(self, name: str, type: str | None) -> Access:
        types = (*self.types, type) if type and type not in self.types else self.types
        return replace(
            self, path=(*self.path, name), types=types, text=self.text + (name if name.startswith("[") else f".{name}")
        )

    @property
    def ros1_types(self) -> tuple[str, ...]:
        return tuple(type for type in self.types if is_of_ros1(type))


class Names:
    """The messages of one function. `fresh_members`: the function is a constructor (or main, for globals), so nothing is filled before."""

    def __init__(self, types: Types, contents: bytes, function: str, fresh_members: bool) -> None:
        self.types = types
        self.contents = contents
        self.function = function
        self.fresh_members = fresh_members
        self.roots: dict[str, Root] = {}
        self.aliases: dict[str, Access] = {}

    def text(self, node: Node) -> str:
        return text_of(node, self.contents)

    def held(self, type: Any) -> str | None:
        return self.types.message(type) or self.types.pointee(type) or self.types.element(type)

    @staticmethod
    def key(variable: Node) -> str:
        at = variable.location
        return f"{variable.spelling}@{at.file.name if at.file else ''}:{at.offset}"

    def root(
        self, key: str, name: str, made: str, line: int, type: str, entry: Origin | None, offset: int = 0
    ) -> Access:
        known = self.roots.setdefault(key, Root(key, name, made, line, type, entry, offset))
        return Access(known, (key,), (type,), known.name)

    def variable(self, variable: Node) -> Access | None:
        key = self.key(variable)
        if key in self.aliases:
            return self.aliases[key]
        if key not in self.roots:
            type = self.held(variable.type)
            if type is None:
                return None
            parent = variable.semantic_parent.kind.name if variable.semantic_parent is not None else ""
            if variable.kind.name == "PARM_DECL":
                made, entry = (
                    "parameter",
                    Origin(0, f"the caller of {self.function}() may have filled `{variable.spelling}`"),
                )
            elif variable.storage_class.name == "STATIC" or parent in (
                "TRANSLATION_UNIT",
                "NAMESPACE",
                "CLASS_DECL",
                "STRUCT_DECL",
            ):
                made, entry = (
                    "static",
                    Origin(
                        0, f"an earlier call may have filled `{variable.spelling}`, which lives as long as the program"
                    ),
                )
                if self.fresh_members:
                    entry = None
            else:
                made, entry = "stack", None
            return self.root(
                key, variable.spelling, made, variable.location.line, type, entry, variable.location.offset
            )
        return Access(self.roots[key], (key,), (self.roots[key].type,), self.roots[key].name)

    def resolve(self, node: Node) -> Access | None:
        node = strip(node)
        kind = node.kind.name
        if kind == "DECL_REF_EXPR":
            named = node.referenced
            return self.variable(named) if named is not None and named.kind.name in ("VAR_DECL", "PARM_DECL") else None
        if kind == "MEMBER_REF_EXPR":
            return self._field(node)
        if kind == "CALL_EXPR":
            return self._call(node)
        if kind in ("UNARY_OPERATOR", "ARRAY_SUBSCRIPT_EXPR"):
            inside = parts(node)
            base = self.resolve(inside[0]) if inside else None
            if base is None or not (self.held(node.type) or self.held(inside[0].type)):
                return None
            return (
                base
                if kind == "UNARY_OPERATOR"
                else base.part(f"[{self.text(inside[-1])}]", self.types.message(node.type))
            )
        return None

    def _field(self, node: Node) -> Access | None:
        named = node.referenced
        if named is None or named.kind.name not in ("FIELD_DECL", "VAR_DECL"):
            return None
        inside = parts(node)
        if inside and (self.types.message(inside[0].type) or self.types.pointee(inside[0].type)):
            base = self.resolve(inside[0])
            return base.part(named.spelling, self.types.message(named.type)) if base else None
        type = self.held(named.type)
        if type is None:
            return None
        holder = self.holder(inside[0]) if inside else None
        if holder is not None:
            variable, chain = holder
            chain += f".{named.spelling}"
            name = variable.spelling + chain
            if variable.kind.name == "PARM_DECL":
                given = Origin(0, f"the caller of {self.function}() may have filled `{variable.spelling}`")
                return self.root(f"member {name}", name, "parameter", node.location.line, type, given)
            if (known := self.roots.get(self.key(variable) + chain)) is not None:
                return Access(known, (known.key,), (known.type,), known.name)
        name = self.text(node) if inside else named.spelling
        entry = (
            None
            if self.fresh_members and not inside
            else Origin(0, f"an earlier call may have filled `{name}`, which is a member")
        )
        return self.root(f"member {name}", name, "member", node.location.line, type, entry)

    def holder(self, node: Node) -> tuple[Node, str] | None:
        """The variable that is a struct with messages inside, as of a service, and the fields on the way: of `call.request`, `call` and
        ".request". None: the expression is nothing of the kind."""
        node = strip(node)
        if node.kind.name == "MEMBER_REF_EXPR":
            inside, named = parts(node), node.referenced
            outer = self.holder(inside[0]) if inside and named is not None and named.kind.name == "FIELD_DECL" else None
            return (outer[0], f"{outer[1]}.{node.spelling}") if outer is not None else None
        named = node.referenced if node.kind.name == "DECL_REF_EXPR" else None
        if named is None or named.kind.name not in ("VAR_DECL", "PARM_DECL"):
            return None
        return (named, "") if self.held(named.type) is None else None

    def held_inside(self, type: Any, depth: int = 3) -> list[tuple[str, str]]:
        """The messages that a struct holds: their fields, as ".request", and their types."""
        found: list[tuple[str, str]] = []
        if depth > 0 and type.get_canonical().kind.name == "RECORD" and not is_value(type, self.types):
            for field in type.get_canonical().get_fields():
                held = self.held(field.type)
                if held is not None:
                    found.append((f".{field.spelling}", held))
                else:
                    found += [
                        (f".{field.spelling}{rest}", inner) for rest, inner in self.held_inside(field.type, depth - 1)
                    ]
        return found

    def parts_of_holder(self, variable: Node) -> list[Root]:
        """The messages of a local struct that declare() made known."""
        prefix = self.key(variable) + "."
        return [root for key, root in self.roots.items() if key.startswith(prefix)]

    def _call(self, node: Node) -> Access | None:
        name = node.spelling
        arguments = list(node.get_arguments())
        base = method_base(node)
        called = node.referenced
        if name == "operator[]" and arguments:
            inside = self.resolve(arguments[0])
            return inside.part(f"[{self.text(arguments[-1])}]", self.types.message(node.type)) if inside else None
        if name in ("operator*", "operator->") and arguments and self.types.pointee(arguments[0].type):
            return self.resolve(arguments[0])
        if base is not None and name in ("at", "front", "back"):
            inside = self.resolve(base)
            index = self.text(arguments[0]) if arguments else name
            return inside.part(f"[{index}]", self.types.message(node.type)) if inside else None
        if base is not None and name == "get" and self.types.pointee(base.type):
            return self.resolve(base)
        pointer_copy = called is not None and called.kind.name == "CONSTRUCTOR" and self.types.pointee(node.type)
        if len(arguments) == 1 and (name in _SAME or (pointer_copy and self.types.pointee(arguments[0].type))):
            return self.resolve(arguments[0])
        type = self.types.message(node.type) or self.types.pointee(node.type)
        if type is None or (called is not None and called.kind.name == "CONSTRUCTOR") or name in _MAKERS:
            return None
        entry = Origin(0, f"{name}() returns it, and may have filled it")
        return self.root(
            f"call@{node.extent.start.offset}", self.text(node)[:60], "result", node.location.line, type, entry
        )

    def made(self, node: Node | None) -> tuple[str, bool] | None:
        """How an expression makes a message: ("new", False) is one without contents, ("new", True) a copy of another. "none" is a
        pointer without a message. None: the expression makes no message."""
        if node is None:
            return None
        node = strip(node)
        kind, name = node.kind.name, node.spelling
        arguments = list(node.get_arguments()) if kind == "CALL_EXPR" else []
        if kind == "CXX_NULL_PTR_LITERAL_EXPR" or kind == "GNU_NULL_EXPR":
            return "none", False
        if kind == "CXX_NEW_EXPR":
            calls = [self.made(child) for child in parts(node) if child.kind.name == "CALL_EXPR"]
            return "new", any(call is not None and call[1] for call in calls)
        if kind == "INIT_LIST_EXPR" and self.types.message(node.type):
            return "stack", bool(parts(node))
        if kind != "CALL_EXPR":
            return None
        if name in _MAKERS:
            return "make_unique" if name == "make_unique" else "make_shared", bool(arguments)
        if name == "loan" or name == "borrow_loaned_message":
            return "loan", False
        if node.referenced is not None and node.referenced.kind.name == "CONSTRUCTOR":
            if self.types.message(node.type):
                if len(arguments) == 1 and (inner := self.made(arguments[0])) is not None:
                    return inner
                return "stack", bool(arguments)
            if self.types.pointee(node.type):
                return self.made(arguments[0]) if arguments else ("none", False)
        return None
