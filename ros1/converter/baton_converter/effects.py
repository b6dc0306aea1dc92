# SPDX-License-Identifier: Apache-2.0
"""What statements do to messages: the rules of ROS-SF's assumptions, and the lines of the report."""

from __future__ import annotations

import re

from . import advice, copies, findings, growth
from .access import Access, Names, Node, Root, method_base, parts, strip
from .candidates import Candidates
from .findings import FileReport, Finding, Message
from .messages import Types, is_number, is_string, is_vector
from .state import SIZE, Origin, State

# Methods of a string or vector that change it; ROS-SF has resize() and the assignment of each.
MODIFIERS = {
    "append", "assign", "clear", "emplace", "emplace_back", "erase", "insert", "pop_back", "push_back", "replace", "reserve",
    "resize", "resize_for_overwrite", "shrink_to_fit", "swap", "operator+=",
}  # fmt: skip


class Effects:
    """The messages of one function. `loops` are the loops around the statement that is being walked, the outermost first."""

    def __init__(self, names: Names, contents: bytes, report: FileReport, candidates: Candidates) -> None:
        self.names = names
        self.types: Types = names.types
        self.contents = contents
        self.report = report
        self.candidates = candidates
        self.loops: list[Node] = []
        self.messages: dict[str, Message] = {}
        self.found: set[tuple[str, int, int]] = set()

    # What the report shows.

    def message(self, root: Root) -> Message:
        if root.key not in self.messages:
            self.messages[root.key] = Message(root.type, root.name, root.made, root.line)
        return self.messages[root.key]

    def add(self, finding: Finding) -> None:
        key = (finding.rule, finding.line, finding.column)
        if key not in self.found:
            self.found.add(key)
            self.report.findings.append(finding)

    def has(self, rule: str, node: Node) -> bool:
        return (rule, node.location.line, node.location.column) in self.found

    def violate(
        self, rule: str, access: Access, node: Node, state: State, what: str, origin: Origin | None = None
    ) -> None:
        if not access.ros1_types:
            return
        line = node.location.line
        if origin is None:
            text = f"{what}, which ROS-SF's strings and vectors do not have: the file would not compile there"
        else:
            if origin.line != line:
                again = f"line {origin.line}"
            elif origin.offset < node.extent.start.offset:
                again = "the same line"
            else:
                again = "an earlier turn of the loop"
            text = f"{what}, but {again if origin.line else ''}{' ' if origin.line else ''}{origin.text}: ROS-SF stops with an error"
        self.add(Finding(rule, line, node.location.column, f"{text}; Baton does not mind", access.ros1_types))

    def before(self, access: Access, state: State) -> Origin | None:
        """Why the path may have contents already."""
        found = state.contents(access.path)
        return found or (None if access.root.key in state.fresh else access.root.entry)

    def interior(self, node: Node) -> Access | None:
        """The vector that a pointer or iterator into it was taken from: of `&img.data[0]` and `img.data.begin()`, img.data."""
        node = strip(node)
        if node.kind.name == "UNARY_OPERATOR" and parts(node):
            return self.interior(parts(node)[0])
        if node.kind.name == "CALL_EXPR":
            arguments = list(node.get_arguments())
            base = method_base(node) or (arguments[0] if node.spelling.startswith("operator") and arguments else None)
            if base is not None:
                access = self.names.resolve(base)
                return access if access is not None and is_vector(strip(base).type) else self.interior(base)
        return None

    # What is done to messages.

    def assigned(self, node: Node, left: Node, right: Node, state: State) -> None:
        line = node.location.line
        access = self.names.resolve(left)
        if self.types.pointee(left.type):
            self._rebound(left, right, state, access)
            return
        if access is None:
            return
        self.message(access.root).filled.add(line)
        what = f"`{access.text}` is assigned"
        if is_string(left.type) and (len(access.path) > 1):
            origin = self.before(access, state)
            if origin is not None:
                self.violate(findings.STRING, access, node, state, what, origin)
            if not _is_empty_text(right):
                growth.string(self, node, access, state)
                state.fill(access.path, origin_of(node, "assigned it"))
        elif is_vector(left.type) and len(access.path) > 1:
            origin = self.before(access, state)
            if origin is not None:
                self.violate(findings.RESIZE, access, node, state, what, origin)
            growth.vector(self, node, left, access, state, "", added=False)
            state.fill(access.path, origin_of(node, "assigned it"))
        elif self.types.message(left.type):
            made = self.names.made(right)
            empty = made is not None and not made[1]
            if len(access.path) == 1:  # the whole message: ROS-SF copies it as a whole
                state.empty(access.path)
                state.fresh |= {access.root.key}
            else:
                origin = self.before(access, state)
                for part, rule in (("string", findings.STRING), ("vector", findings.RESIZE)):
                    if origin is not None and part in self.types.contents(left.type):
                        self.violate(rule, access, node, state, f"{what} with its {part}s", origin)
            if not empty:
                if len(access.path) > 1 and "string" in self.types.contents(left.type):
                    growth.string(self, node, access, state)
                if len(access.path) > 1 and "vector" in self.types.contents(left.type):
                    growth.vector(self, node, left, access, state, "", added=False)
                state.fill(access.path, origin_of(node, "assigned it"))

    def _rebound(self, left: Node, right: Node, state: State, access: Access | None) -> None:
        """A pointer points at another message from here on."""
        target = strip(left)
        if target.kind.name == "DECL_REF_EXPR" and target.referenced is not None:
            self.names.aliases.pop(Names.key(target.referenced), None)
            access = self.names.variable(target.referenced)
        if access is None or len(access.path) > 1:
            return
        made = self.names.made(right)
        state.renew(access.root.key)
        self.candidates.rebound(access.root.key, left.location.line)
        message = self.message(access.root)
        if made is not None and message.made == "none":
            message.made = made[0]
        if made is None or made[1]:
            state.fill(
                access.path, Origin(left.location.line, f"set `{access.text}` to a message that may have contents")
            )

    def modified(self, node: Node, name: str, base: Node, arguments: list[Node], state: State) -> None:
        if name == "reset" and self.types.pointee(base.type):
            access = self.names.resolve(base)
            if access is not None and len(access.path) == 1:
                self.candidates.rebound(access.root.key, node.location.line)
                self._rebound(base, arguments[0], state, access) if arguments else state.renew(access.root.key)
            return
        if name not in MODIFIERS or not (is_string(base.type) or is_vector(base.type)):
            return
        access = self.names.resolve(base)
        if access is None or len(access.path) < 2:
            return
        line = node.location.line
        self.message(access.root).filled.add(line)
        if name in ("resize", "resize_for_overwrite") and is_vector(base.type):
            zero = bool(arguments) and self.names.text(arguments[0]) in ("0", "0u", "0U")
            origin = self.before(access, state)
            if origin is not None:
                self.violate(findings.RESIZE, access, node, state, f"`{access.text}` is resized", origin)
            if not zero:
                size = self.names.text(arguments[0]) if arguments else ""
                if re.search(rf"\b{re.escape(access.text)}\s*\.\s*size\b", size):
                    growth.growth(self, node, access, state)
                    size = ""
                growth.vector(self, node, base, access, state, size, added=False)
                state.fill((*access.path, SIZE), origin_of(node, "resized it"))
            return
        shown = name.removeprefix("operator") if name.startswith("operator") else f"{name}()"
        self.violate(findings.OTHER, access, node, state, f"`{access.text}` is changed by {shown}")
        if name == "reserve":
            size = self.names.text(arguments[0]) if arguments else ""
            growth.vector(self, node, base, access, state, size, added=False)
            state.reserved |= {access.path}
        elif name == "clear":
            return
        elif name in ("push_back", "emplace_back"):
            growth.growth(self, node, access, state)
        if is_string(base.type):
            growth.string(self, node, access, state)
        elif name in ("push_back", "emplace_back", "emplace", "insert"):
            growth.vector(self, node, base, access, state, "", added=True)
        elif name == "assign":
            counted = len(arguments) == 2 and is_number(arguments[0].type)
            size = self.names.text(arguments[0]) if counted else ""
            growth.vector(self, node, base, access, state, size, added=False)
        state.fill(access.path, origin_of(node, f"changed it by {shown}"))

    def passed(self, node: Node, name: str, arguments: list[Node], state: State) -> None:
        line = node.location.line
        copies.converted(self, node)
        for argument in arguments:
            target = strip(argument)
            holds = self.types.message(argument.type) or self.types.pointee(argument.type)
            interior = is_string(target.type) or is_vector(target.type)
            if not holds and not interior:
                continue
            access = self.names.resolve(argument)
            if access is None or (interior and len(access.path) < 2):
                continue
            constant = (
                is_const_for_function(argument) or "const" in argument.type.get_canonical().spelling.split("_<")[0]
            )
            if holds and len(access.path) == 1:
                self.message(access.root).passed[line] = name
            if constant or (holds and self.names.made(argument) is not None):
                continue
            if interior:
                rule = findings.STRING if is_string(target.type) else findings.RESIZE
                origin = self.before(access, state)
                if origin is not None:
                    self.violate(
                        rule, access, node, state, f"`{access.text}` is passed to {name}(), which may assign it", origin
                    )
            self.message(access.root).filled.add(line)
            state.fill(access.path, origin_of(node, f"passed it to {name}(), which may have filled it"))

    def published(self, node: Node, arguments: list[Node], state: State) -> None:
        for argument in arguments:
            access = self.names.resolve(argument)
            as_object = self.types.message(argument.type) is not None
            if access is None or not (as_object or self.types.pointee(argument.type)):
                continue
            message = self.message(access.root)
            message.published[node.location.line] = "object" if as_object else "pointer"
            if len(access.path) == 1:
                state.published[access.root.key] = node.location.line
            elif self.candidates.is_array(access):
                state.published[access.root.key + access.path[1]] = node.location.line
            if as_object and "vector" in self.types.contents(argument.type):
                is_whole = len(access.path) == 1 and access.root.key in self.candidates
                if is_whole or self.candidates.is_array(access):
                    self.candidates.published(access.root, node, argument)
                else:
                    advice.published_object(self, node, argument, access)


def origin_of(node: Node, text: str) -> Origin:
    return Origin(node.location.line, text, node.extent.start.offset)


def _is_empty_text(node: Node) -> bool:
    inner = strip(node)
    if inner.kind.name == "CALL_EXPR" and is_string(inner.type) and not list(inner.get_arguments()):
        return True
    return bool(inner.kind.name == "STRING_LITERAL" and inner.spelling == '""')


def is_const_for_function(argument: Node) -> bool:
    """Is the argument const for the function that gets it?"""
    node = argument
    while node.kind.name in ("UNEXPOSED_EXPR", "PAREN_EXPR"):
        type = node.type.get_canonical()
        if type.is_const_qualified() or type.get_pointee().is_const_qualified():
            return True
        inside = parts(node)
        if len(inside) != 1:
            return False
        node = inside[0]
    type = node.type.get_canonical()
    return bool(type.is_const_qualified() or type.get_pointee().is_const_qualified())
