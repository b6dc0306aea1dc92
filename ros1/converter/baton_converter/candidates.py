# SPDX-License-Identifier: Apache-2.0
"""Messages on the stack that are published: which of them may become messages of make_shared, as in ROS-SF's Fig. 11.

    sensor_msgs::Image img;        auto img_ptr = boost::make_shared<sensor_msgs::Image>();
                                   sensor_msgs::Image& img = *img_ptr;
    ...                            ...
    pub.publish(img);              pub.publish(img_ptr);

A message that is published by pointer must not change afterwards, because subscribers of the same process have the same object. So a
rewrite needs that (1) no statement that may follow a publish changes the message, and (2) nothing else can change it: no pointer, reference,
iterator or lambda to the message or into it was given away. What is only read (const) may go anywhere: the message lives as long as before.

In ROS 2 rclcpp takes messages over as unique_ptr: `auto img_ptr = std::make_unique<...>()` and `pub->publish(std::move(img_ptr))`. The message
may be gone after that. So (1) no statement that may follow a publish mentions the message, and (2) nobody kept a way to look at it; where a
function got it as const, which might have kept a pointer, nothing may follow the publish in the life of the message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .access import Names, Node, Root, parts
from .findings import PUBLISH, Edit, Finding
from .messages import is_of_ros2
from .state import State

# The uses that are made of the value of an expression; walk.py explains them.
READ, WRITE, LOOK, KEEP, ESCAPE = "read", "write", "look", "keep", "escape"

_PUBLISHERS_ROS1 = ("ros::Publisher", "image_transport::Publisher")
_PUBLISHERS_ROS2 = ("rclcpp::Publisher", "rclcpp_lifecycle::LifecyclePublisher")
# A reference is another type than an object to these.
_UNSURE = re.compile(rb"\b(decltype|typeof|__typeof__|goto|asm|__asm__)\b")
_DECLARATION = re.compile(
    r"(?P<type>[\w:]+(?:\s*<[^;=(){}]*>)?(?:::\w+)*)\s+(?P<name>\w+)\s*"
    r"(?:\(\s*(?P<paren>[^;]*?)\s*\)|\{\s*\}|=\s*(?P<value>[^;{}]+?))?\s*;"
)


@dataclass
class _Candidate:
    root: Root
    variable: Node
    statement: Node
    depth: int  # of lambdas
    publishes: dict[int, tuple[Node, Node]] = field(default_factory=dict)  # by offset: the call and its argument
    reasons: list[str] = field(default_factory=list)
    looked: int = 0  # the line of a function that got it as const


class Candidates:
    def __init__(self, names: Names, function: Node, contents: bytes) -> None:
        self._names = names
        self._function = function
        self._contents = contents
        self._by_key: dict[str, _Candidate] = {}
        self._distrust = ""

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    def distrust(self, reason: str) -> None:
        """Nothing of this function is rewritten."""
        self._distrust = self._distrust or reason

    def declared(self, variable: Node, statement: Node, depth: int) -> None:
        access = self._names.variable(variable)
        if access is not None and access.root.made == "stack" and self._names.types.message(variable.type):
            self._by_key.setdefault(access.root.key, _Candidate(access.root, variable, statement, depth))

    def mentioned(self, root: Root, node: Node, state: State, use: str, depth: int) -> None:
        candidate = self._by_key.get(root.key)
        if candidate is None:
            return
        line = node.location.line
        if depth != candidate.depth:
            candidate.reasons.append(f"the lambda of line {line} uses it")
        elif use == ESCAPE:
            candidate.reasons.append(f"line {line} may keep a pointer or reference to it")
        elif is_of_ros2(root.type):
            if root.key in state.published:
                candidate.reasons.append(f"line {line} may use it after line {state.published[root.key]} published it")
            elif use == KEEP:
                candidate.reasons.append(f"line {line} may keep a pointer or reference to const to it")
            elif use == LOOK:
                candidate.looked = candidate.looked or line
        elif use == WRITE and root.key in state.published:
            candidate.reasons.append(f"line {line} may change it after line {state.published[root.key]} published it")

    def published(self, root: Root, call: Node, argument: Node) -> None:
        self._by_key[root.key].publishes[call.extent.start.offset] = (call, argument)

    def findings(self) -> list[Finding]:
        return [self._finding(candidate) for candidate in self._by_key.values() if candidate.publishes]

    def _finding(self, candidate: _Candidate) -> Finding:
        if self._distrust:
            candidate.reasons.append(self._distrust)
        name = candidate.root.name
        first = min(candidate.publishes)
        call = candidate.publishes[first][0]
        at = call.location
        ros2 = is_of_ros2(candidate.root.type)
        edits = [] if candidate.reasons else self._edits(candidate)
        if ros2:
            text = f"`{name}` lives on the stack, and rclcpp copies it for subscriptions of its own process"
            better = f"{text}; made by make_unique and moved, it is handed over"
        else:
            text = f"`{name}` lives on the stack and is copied when it is published"
            better = f"{text}; made by make_shared and published by pointer, it is handed over"
        types = (candidate.root.type,)
        if candidate.reasons:
            return Finding(PUBLISH, at.line, at.column, f"{text}. It stays as it is: {candidate.reasons[0]}", types)
        argument = candidate.publishes[first][1]
        written = self._contents[call.extent.start.offset : argument.extent.start.offset].decode(errors="replace")
        snippet = f"{_dedented(edits[0].text)}\n...\n{written}{edits[1].text});"
        if ros2:
            snippet += self._loan(candidate, edits[0].text, written)
        return Finding(PUBLISH, at.line, at.column, better, types, snippet, edits)

    def _loan(self, candidate: _Candidate, made: str, written: str) -> str:
        """The same with a loan, which `apply` does not write: rclcpp gives loans to no subscription of intra-process communication."""
        publisher = re.fullmatch(r"([\w.>()-]+?)(->|\.)publish\s*\(\s*", written)
        if publisher is None or len(candidate.publishes) > 1 or "()" not in made:
            return ""
        name, type = candidate.root.name, made.partition("<")[2].partition(">(")[0]
        borrowed = (
            "// without intra-process communication, a loan saves the copy into shared memory, too:",
            f"auto {name}_loan = {publisher[1]}{publisher[2]}borrow_loaned_message();",
            f"{type}& {name} = {name}_loan.get();",
            "...",
            f"{written}std::move({name}_loan));",
        )
        return "\n" + "\n".join(borrowed)

    def _edits(self, candidate: _Candidate) -> list[Edit]:
        """The rewrite; empty, with a reason, where the source text is not of the expected form (macros, for example)."""
        text = self._contents
        reason = ""
        start, end = candidate.statement.extent.start.offset, candidate.statement.extent.end.offset
        declaration = _DECLARATION.fullmatch(text[start:end].decode(errors="replace"))
        function = self._function.extent
        if declaration is None or declaration["name"] != candidate.root.name or declaration["type"] == "const":
            reason = (
                f"its declaration in line {candidate.root.line} is of another form than `Type {candidate.root.name};`"
            )
        elif _in_template(self._function):
            reason = "a template may be used with types that were not seen"
        elif unsure := _UNSURE.search(text[function.start.offset : function.end.offset]):
            reason = f"the function uses {unsure[1].decode()}"
        ros2 = is_of_ros2(candidate.root.type)
        if ros2 and candidate.looked and not reason and not self._ends_with_publish(candidate):
            reason = f"the function of line {candidate.looked} may have kept a pointer to it, and it may be gone after it is published"
        edits = []
        new = self._new_name(candidate.root.name)
        publishers = _PUBLISHERS_ROS2 if ros2 else _PUBLISHERS_ROS1
        for call, argument in candidate.publishes.values():
            written = text[call.extent.start.offset : call.extent.end.offset].decode(errors="replace")
            if (
                _publisher(call) not in publishers
                or not re.fullmatch(rf"[^<;]*\bpublish\s*\(\s*{candidate.root.name}\s*\)", written)
                or (ros2 and not self._is_published_type(call, candidate.root.type))
            ):
                shown = " ".join(written.split())[:60]
                reason = reason or f"`{shown}` is no {publishers[0]}::publish({candidate.root.name})"
                break
            given = f"std::move({new})" if ros2 else new
            edits.append(Edit(argument.extent.start.offset, argument.extent.end.offset, given))
        if reason or declaration is None:
            candidate.reasons.append(reason)
            return []
        indent = re.search(rb"[ \t]*\Z", text[:start])
        pad = indent[0].decode() if indent else ""
        type = candidate.root.type if declaration["type"] == "auto" else declaration["type"]
        value = declaration["paren"] or declaration["value"] or ""
        maker = "std::make_unique" if ros2 else "boost::make_shared"
        made = f"auto {new} = {maker}<{type}>({value});\n{pad}{type}& {candidate.root.name} = *{new};"
        return [Edit(start, end, made), *edits]

    def _is_published_type(self, call: Node, type: str) -> bool:
        """Is it the publisher's own type, and not one that it adapts or serializes?"""
        publisher = call.referenced.semantic_parent.type.get_canonical()
        return bool(self._names.types.message(publisher.get_template_argument_type(0)) == type)

    def _ends_with_publish(self, candidate: _Candidate) -> bool:
        """After each publish the block ends in which the message was declared."""
        return all(
            _is_last(self._function, candidate.statement.extent.start.offset, call)
            for call, _ in candidate.publishes.values()
        )

    def _new_name(self, name: str) -> str:
        new, number = f"{name}_ptr", 1
        while re.search(rf"\b{new}\b".encode(), self._contents):
            number += 1
            new = f"{name}_ptr{number}"
        return new


def _is_last(function: Node, declared: int, call: Node) -> bool:
    """Does the block of the declaration end after the call, or the function?"""
    offset = call.extent.start.offset
    node, inside_scope = function, False
    while node.kind.name != "CALL_EXPR" or node.extent.start.offset != offset:
        children = [child for child in parts(node) if child.extent.start.offset <= offset < child.extent.end.offset]
        if len(children) != 1:
            return False
        (child,) = children
        if node.kind.name == "COMPOUND_STMT":
            statements = parts(node)
            inside_scope = inside_scope or any(child.extent.start.offset == declared for child in statements)
            behind = next((other for other in statements if other.extent.start.offset > offset), None)
            if inside_scope and behind is not None:
                return behind.kind.name == "RETURN_STMT" and all(
                    "LITERAL" in value.kind.name for value in parts(behind)
                )
        elif inside_scope and node.kind.name not in ("IF_STMT", "UNEXPOSED_EXPR", "UNEXPOSED_STMT", "PAREN_EXPR"):
            return False
        node = child
    return inside_scope


def _dedented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def _publisher(call: Node) -> str:
    method = call.referenced
    owner = method.semantic_parent if method is not None else None
    space = owner.semantic_parent if owner is not None else None
    return f"{space.spelling}::{owner.spelling}" if owner is not None and space is not None else ""


def _in_template(function: Node) -> bool:
    at = function
    while at is not None and at.kind.name != "TRANSLATION_UNIT":
        if at.kind.name in ("FUNCTION_TEMPLATE", "CLASS_TEMPLATE", "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION"):
            return True
        at = at.semantic_parent
    return False
