# SPDX-License-Identifier: Apache-2.0
"""Messages on the stack that are published: which of them may become messages of make_shared, as in ROS-SF's Fig. 11.

    sensor_msgs::Image img;        auto img_ptr = boost::make_shared<sensor_msgs::Image>();
                                   sensor_msgs::Image& img = *img_ptr;
    ...                            ...
    pub.publish(img);              pub.publish(img_ptr);

A message that is published by pointer must not change afterwards, because subscribers of the same process have the same object. So a
rewrite needs that (1) no statement that may follow a publish changes the message, and (2) nothing else can change it: no pointer, reference,
iterator or lambda to the message or into it was given away. What is only read (const) may go anywhere: the message lives as long as before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .access import Names, Node, Root
from .findings import PUBLISH, Edit, Finding
from .state import State

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
        elif use == "escape":
            candidate.reasons.append(f"line {line} may keep a pointer or reference to it")
        elif use == "write" and root.key in state.published:
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
        edits = [] if candidate.reasons else self._edits(candidate)
        text = f"`{name}` lives on the stack and is copied when it is published"
        types = (candidate.root.type,)
        if candidate.reasons:
            return Finding(PUBLISH, at.line, at.column, f"{text}. It stays as it is: {candidate.reasons[0]}", types)
        argument = candidate.publishes[first][1]
        written = self._contents[call.extent.start.offset : argument.extent.start.offset].decode(errors="replace")
        snippet = f"{_dedented(edits[0].text)}\n...\n{written}{edits[1].text});"
        return Finding(
            PUBLISH,
            at.line,
            at.column,
            f"{text}; made by make_shared and published by pointer, it is handed over",
            types,
            snippet,
            edits,
        )

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
        edits = []
        new = self._new_name(candidate.root.name)
        for call, argument in candidate.publishes.values():
            written = text[call.extent.start.offset : call.extent.end.offset].decode(errors="replace")
            if _publisher(call) not in ("ros::Publisher", "image_transport::Publisher") or not re.fullmatch(
                rf"[^<;]*\bpublish\s*\(\s*{candidate.root.name}\s*\)", written
            ):
                reason = (
                    reason or f"`{' '.join(written.split())[:60]}` is no ros::Publisher::publish({candidate.root.name})"
                )
                break
            edits.append(Edit(argument.extent.start.offset, argument.extent.end.offset, new))
        if reason or declaration is None:
            candidate.reasons.append(reason)
            return []
        indent = re.search(rb"[ \t]*\Z", text[:start])
        pad = indent[0].decode() if indent else ""
        type = candidate.root.type if declaration["type"] == "auto" else declaration["type"]
        value = declaration["paren"] or declaration["value"] or ""
        made = f"auto {new} = boost::make_shared<{type}>({value});\n{pad}{type}& {candidate.root.name} = *{new};"
        return [Edit(start, end, made), *edits]

    def _new_name(self, name: str) -> str:
        new, number = f"{name}_ptr", 1
        while re.search(rf"\b{new}\b".encode(), self._contents):
            number += 1
            new = f"{name}_ptr{number}"
        return new


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
