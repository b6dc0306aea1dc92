# SPDX-License-Identifier: Apache-2.0
"""Messages that are published as objects: which of them may be published by pointer.

A message on the stack becomes one of make_shared, as in ROS-SF's Fig. 11:

    sensor_msgs::Image img;        auto img_ptr = boost::make_shared<sensor_msgs::Image>();
                                   sensor_msgs::Image& img = *img_ptr;
    ...                            ...
    pub.publish(img);              pub.publish(img_ptr);

A message that a local boost::shared_ptr holds, or a std::shared_ptr, which becomes one of boost, keeps its declaration: `pub.publish(*ptr)` and
`Image& img = *ptr; pub.publish(img)` become `pub.publish(ptr)`.

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

from . import arrays
from .access import Access, Names, Node, Root, parts
from .findings import PUBLISH, Edit, Finding
from .messages import is_of_ros1, is_of_ros2
from .state import State

# The uses that are made of the value of an expression; walk.py explains them.
READ, WRITE, LOOK, KEEP, ESCAPE = "read", "write", "look", "keep", "escape"

_PUBLISHERS_ROS1 = ("ros::Publisher", "image_transport::Publisher")
_PUBLISHERS_ROS2 = ("rclcpp::Publisher", "rclcpp_lifecycle::LifecyclePublisher")
# A reference is another type than an object to these.
_UNSURE = re.compile(rb"\b(decltype|typeof|__typeof__|goto|asm|__asm__)\b")
_TYPE = re.compile(r"[\w:]+(?:\s*<[^;=(){}]*>)?(?:::\w+)*")
_DECLARATOR = re.compile(r"(?P<name>\w+)\s*(?:\(\s*(?P<paren>[^;]*?)\s*\)|\{\s*\}|=\s*(?P<value>[^;{}]+?))?")
_SHARED = re.compile(r"(?:(?P<std>std)|boost)::shared_ptr<")
_OF_PARAMETER = re.compile(r"\btype-parameter-\d")


@dataclass
class _Candidate:
    root: Root
    variable: Node
    statement: Node
    depth: int  # of lambdas
    publishes: dict[int, tuple[Node, Node]] = field(default_factory=dict)  # by offset: the call and its argument
    reasons: list[str] = field(default_factory=list)
    looked: int = 0  # the line of a function that got it as const
    pointer: bool = False  # the variable is a shared_ptr to the message
    array: arrays.Mentions | None = None  # the variable is an array of messages


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
        if access is None or access.root.key != Names.key(variable):
            return
        if access.root.made == "stack" and self._names.types.message(variable.type):
            self._by_key.setdefault(access.root.key, _Candidate(access.root, variable, statement, depth))
        elif access.root.made in ("new", "make_shared") and is_of_ros1(access.root.type):
            type = variable.type.get_canonical()
            if _SHARED.match(type.spelling) and not type.get_template_argument_type(0).is_const_qualified():
                self._by_key.setdefault(
                    access.root.key, _Candidate(access.root, variable, statement, depth, pointer=True)
                )
        elif access.root.made == "stack" and is_of_ros1(access.root.type) and self._names.types.element(variable.type):
            array = arrays.Mentions()
            self._by_key.setdefault(access.root.key, _Candidate(access.root, variable, statement, depth, array=array))

    def is_array(self, access: Access) -> bool:
        """Is it an element of a local array?"""
        candidate = self._by_key.get(access.root.key)
        return len(access.path) == 2 and candidate is not None and candidate.array is not None

    def mentions(self, node: Node) -> arrays.Mentions | None:
        """Of the local array that the expression names."""
        access = self._names.resolve(node)
        candidate = self._by_key.get(access.root.key) if access is not None and len(access.path) == 1 else None
        return candidate.array if candidate is not None else None

    def rebound(self, key: str, line: int) -> None:
        """A pointer points at another message, or at none."""
        if key in self._by_key:
            self._by_key[key].reasons.append(f"line {line} points `{self._by_key[key].root.name}` at another message")

    def mentioned(self, access: Access, node: Node, state: State, use: str, depth: int) -> None:
        root = access.root
        candidate = self._by_key.get(root.key)
        if candidate is None:
            return
        line = node.location.line
        published = state.published.get(root.key, 0)
        if candidate.array is not None:
            if len(access.path) == 1:
                candidate.reasons.append(f"line {line} uses `{root.name}` as a whole")
                return
            published = arrays.published_before(state, access)
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
        elif use == WRITE and published:
            candidate.reasons.append(f"line {line} may change it after line {published} published it")

    def published(self, root: Root, call: Node, argument: Node) -> None:
        self._by_key[root.key].publishes[call.extent.start.offset] = (call, argument)

    def findings(self) -> list[Finding]:
        published = [candidate for candidate in self._by_key.values() if candidate.publishes]
        for candidate in published:
            if self._distrust:
                candidate.reasons.append(self._distrust)
        return [self._finding(candidate) for candidate in published]

    def _finding(self, candidate: _Candidate) -> Finding:
        name = candidate.root.name
        first = min(candidate.publishes)
        call = candidate.publishes[first][0]
        at = call.location
        ros2 = is_of_ros2(candidate.root.type)
        edits = [] if candidate.reasons else self._edits(candidate)
        if ros2:
            text = f"`{name}` lives on the stack, and rclcpp copies it for subscriptions of its own process"
            better = f"{text}; made by make_unique and moved, it is handed over"
        elif candidate.pointer:
            text = f"the message of `{name}` is copied when it is published as an object"
            better = f"{text}; `{name}` itself is handed over"
        elif candidate.array is not None:
            text = f"an element of `{name}` is copied when it is published"
            better = f"{text}; of an array of pointers each message is handed over"
        else:
            text = f"`{name}` lives on the stack and is copied when it is published"
            better = f"{text}; made by make_shared and published by pointer, it is handed over"
        types = (candidate.root.type,)
        if candidate.reasons:
            return Finding(PUBLISH, at.line, at.column, f"{text}. It stays as it is: {candidate.reasons[0]}", types)
        argument = candidate.publishes[first][1]
        written = self._contents[call.extent.start.offset : argument.extent.start.offset].decode(errors="replace")
        given = next(edit.text for edit in edits if edit.start == argument.extent.start.offset)
        if candidate.array is not None:
            given += self._names.text(argument)[len(name) :]
        made = "" if candidate.pointer else f"{_dedented(self._made(candidate)[0])}\n...\n"
        snippet = f"{made}{written}{given});"
        if ros2:
            snippet += self._loan(candidate, self._made(candidate)[0], written)
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
        reason = self._obstacle(candidate)
        if reason:
            candidate.reasons.append(reason)
            return []
        new = candidate.root.name if candidate.pointer else self._new_name(candidate.root.name)
        given = f"std::move({new})" if is_of_ros2(candidate.root.type) else new
        if candidate.array is not None:
            published = [argument for _, argument in candidate.publishes.values()]
            mentions = arrays.mention_edits(candidate.array, candidate.root.name, new, published, self._contents)
            return [*self._declaration_edits(candidate), *mentions]
        arguments = [argument.extent for _, argument in candidate.publishes.values()]
        edits = [Edit(extent.start.offset, extent.end.offset, given) for extent in arguments]
        return [*self._declaration_edits(candidate), *edits]

    def _obstacle(self, candidate: _Candidate) -> str:
        """Why the source text cannot be rewritten, or ""."""
        text, root = self._contents, candidate.root
        function = self._function.extent
        ros2 = is_of_ros2(root.type)
        if candidate.array is not None:
            if not self._made(candidate)[0]:
                return f"its declaration in line {root.line} is of another form than `Type {root.name}[count];`"
            if line := arrays.unknown_mention(candidate.variable, self._function, candidate.array, text):
                return (
                    f"line {line} uses `{root.name}` as a whole, or in code that is not reached or comes from a macro"
                )
        elif not (self._is_boost_after_edits(candidate) if candidate.pointer else self._declarators(candidate)):
            return f"its declaration in line {root.line} is of another form than `Type {root.name};`"
        if _depends_on_template(self._function):
            return "a template may be used with types that were not seen"
        if unsure := _UNSURE.search(text[function.start.offset : function.end.offset]):
            return f"the function uses {unsure[1].decode()}"
        if ros2 and candidate.looked and not self._ends_with_publish(candidate):
            return f"the function of line {candidate.looked} may have kept a pointer to it, and it may be gone after it is published"
        publishers = _PUBLISHERS_ROS2 if ros2 else _PUBLISHERS_ROS1
        for call, _ in candidate.publishes.values():
            written = text[call.extent.start.offset : call.extent.end.offset].decode(errors="replace")
            # A pointer's message may have a name of its own: `Image& img = *ptr`.
            names = rf"(?:\*\s*{root.name}|\w+)" if candidate.pointer else root.name
            names += r"\s*\[[^;]*\]" if candidate.array is not None else ""
            if (
                _publisher(call) not in publishers
                or not re.fullmatch(rf"[^<;]*\bpublish\s*\(\s*{names}\s*\)", written)
                or (ros2 and not self._is_published_type(call, root.type))
            ):
                shown = " ".join(written.split())[:60]
                wanted = f"*{root.name}" if candidate.pointer else root.name
                wanted += "[...]" if candidate.array is not None else ""
                return f"`{shown}` is no {publishers[0]}::publish({wanted})"
            if candidate.pointer and self._is_hidden(candidate, call):
                return f"line {call.location.line} has another `{root.name}`"
        return ""

    def _is_hidden(self, candidate: _Candidate, call: Node) -> bool:
        """Does the pointer's name stand for something else, or nothing, where the message is published?"""
        name, declared = candidate.root.name, candidate.variable.location.offset
        scope = _scope_of(self._function, candidate.statement)
        if scope is None or not scope.extent.start.offset <= call.extent.start.offset < scope.extent.end.offset:
            return True
        return any(
            node.spelling == name and node.kind.name in ("VAR_DECL", "PARM_DECL") and node.location.offset != declared
            for node in scope.walk_preorder()
        )

    def _is_boost_after_edits(self, candidate: _Candidate) -> bool:
        of_std = _SHARED.match(candidate.variable.type.get_canonical().spelling)
        return bool(of_std) and (not of_std["std"] or bool(self._declaration_edits(candidate)))

    def _declarators(self, candidate: _Candidate) -> list[tuple[Node, re.Match[str]]]:
        """The variables of the declaration with their text; empty if one of them is of another form, or the declaration is not in the
        file as it is read."""
        text, statement = self._contents, candidate.statement.extent
        variables = [child for child in candidate.statement.get_children() if child.kind.name == "VAR_DECL"]
        at, found = statement.start.offset, []
        for variable in variables:
            between = text[at : variable.location.offset].decode(errors="replace").strip()
            end = variable.extent.end.offset
            declarator = _DECLARATOR.fullmatch(text[variable.location.offset : end].decode(errors="replace"))
            is_good = between == "," if found else _TYPE.fullmatch(between) and between != "const"
            if not is_good or declarator is None or declarator["name"] != variable.spelling:
                return []
            found.append((variable, declarator))
            at = end
        return found if text[at : statement.end.offset].strip() == b";" else []

    def _made(self, candidate: _Candidate) -> tuple[str, str]:
        """The lines that make the message, and what stands before them."""
        if candidate.array is not None:
            new = self._new_name(candidate.root.name)
            return arrays.declaration(candidate.variable, candidate.statement, self._contents, new), ""
        declared = next(each for variable, each in self._declarators(candidate) if variable == candidate.variable)
        start = candidate.statement.extent.start.offset
        indent = re.search(rb"[ \t]*\Z", self._contents[:start])
        pad = indent[0].decode() if indent else ""
        written = self._type(candidate)
        type = candidate.root.type if written == "auto" else written
        value = declared["paren"] or declared["value"] or ""
        maker = "std::make_unique" if is_of_ros2(candidate.root.type) else "boost::make_shared"
        name = candidate.root.name
        new = self._new_name(name)
        return f"auto {new} = {maker}<{type}>({value});\n{pad}{type}& {name} = *{new};", pad

    def _type(self, candidate: _Candidate) -> str:
        first = next(child for child in candidate.statement.get_children() if child.kind.name == "VAR_DECL")
        start = candidate.statement.extent.start.offset
        return self._contents[start : first.location.offset].decode(errors="replace").strip()

    def _declaration_edits(self, candidate: _Candidate) -> list[Edit]:
        """One edit for all messages of a declaration, at the first of them."""
        start, end = candidate.statement.extent.start.offset, candidate.statement.extent.end.offset
        if candidate.pointer:
            written = self._contents[start:end].decode(errors="replace")
            new = re.sub(r"\bstd::(shared_ptr|make_shared)\s*<", r"boost::\1<", written)
            return [Edit(start, end, new)] if new != written else []
        declarators = [] if candidate.array is not None else self._declarators(candidate)
        if len(declarators) < 2:
            return [Edit(start, end, self._made(candidate)[0])]
        lines, is_first = [], None
        for variable, declarator in declarators:
            other = self._by_key.get(Names.key(variable))
            if other is not None and other.publishes and not other.reasons and not self._obstacle(other):
                is_first = is_first or variable == candidate.variable
                if not is_first:
                    return []  # an earlier message of this declaration has the edit
                lines.append(self._made(other)[0])
            else:
                lines.append(f"{self._type(candidate)} {declarator[0]};")
        return [Edit(start, end, f"\n{self._made(candidate)[1]}".join(lines))]

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


def _depends_on_template(function: Node) -> bool:
    """Is the function of a template, and does a statement of it mean something else for other arguments of the template?"""
    at = function
    while at is not None and at.kind.name not in (
        "FUNCTION_TEMPLATE",
        "CLASS_TEMPLATE",
        "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
    ):
        at = at.semantic_parent if at.kind.name != "TRANSLATION_UNIT" else None
    if at is None:
        return False
    bodies = [child for child in function.get_children() if child.kind.name in ("COMPOUND_STMT", "CXX_TRY_STMT")]
    return any(
        node.kind.name == "OVERLOADED_DECL_REF"
        or node.type.get_canonical().kind.name == "DEPENDENT"
        or _OF_PARAMETER.search(node.type.get_canonical().spelling) is not None
        for body in bodies
        for node in body.walk_preorder()
    )


def _scope_of(function: Node, statement: Node) -> Node | None:
    """The block that the statement stands in."""
    blocks = [
        node
        for node in function.walk_preorder()
        if node.kind.name == "COMPOUND_STMT"
        and node.extent.start.offset <= statement.extent.start.offset < node.extent.end.offset
    ]
    return max(blocks, key=lambda node: node.extent.start.offset, default=None)
