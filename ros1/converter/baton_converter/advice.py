# SPDX-License-Identifier: Apache-2.0
"""Advice that makes a program faster, with the lines to write instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import findings
from .access import Access, Node, method_base, parts, strip
from .findings import Finding
from .growth import is_small
from .messages import is_number, is_of_baton, is_of_ros2, is_vector

if TYPE_CHECKING:
    from .effects import Effects

_COPIES = {"memcpy", "memmove", "copy", "copy_n", "fill", "fill_n", "memset", "fread", "read"}


def published_object(effects: Effects, call: Node, argument: Node, access: Access) -> None:
    """A message that is no variable on the stack is published as an object."""
    at = call.location
    written = effects.names.text(argument)
    pointer = written[1:].strip() if written.startswith("*") else ""
    if is_of_ros2(access.types[-1]):
        made = _pointer(argument) if pointer else None
        if made is not None and made.type.get_canonical().spelling.startswith("std::unique_ptr<"):
            snippet = _by_pointer(effects, call, argument, f"std::move({pointer})")
            text = f"`{written}` is copied for subscriptions of its own process; `{pointer}` itself is handed over, and is empty then"
            effects.add(Finding(findings.PUBLISH, at.line, at.column, text, access.types, snippet))
        return  # rclcpp copies what it cannot own, and nothing else
    if re.fullmatch(r"[\w.>()-]+", pointer) and "*" not in strip(argument).type.get_canonical().spelling:
        made = _pointer(argument)
        if made is not None and effects.types.pointee(made.type) and "shared_ptr" in made.type.get_canonical().spelling:
            snippet = _by_pointer(effects, call, argument, pointer)
            text = f"`{written}` is copied when it is published; `{pointer}` itself is handed over. Do not change the message afterwards"
            effects.add(Finding(findings.PUBLISH, at.line, at.column, text, access.types, snippet))
    elif len(access.path) == 2 and access.path[1].startswith("[") and access.root.made not in ("member", "static"):
        text = f"`{written}` is an element of an array and is copied when it is published; of an array of pointers each message is handed over"
        new = f"{access.root.name}_ptr" if access.root.name.isidentifier() else "messages"
        made_first = f"std::vector<boost::shared_ptr<{access.types[-1]}>> {new};  // each by make_shared\n...\n"
        snippet = made_first + _by_pointer(effects, call, argument, f"{new}{access.path[1]}")
        effects.add(Finding(findings.PUBLISH, at.line, at.column, text, access.types, snippet))
    elif access.root.made in ("member", "static"):
        text = f"`{access.text}` stays after it is published, so each publish copies it; a message of make_shared for each publish is handed over"
        made_first = f"auto message = boost::make_shared<{access.types[-1]}>();\n...\n"
        snippet = made_first + _by_pointer(effects, call, argument, "message")
        effects.add(Finding(findings.PUBLISH, at.line, at.column, text, access.types, snippet))


def _by_pointer(effects: Effects, call: Node, argument: Node, pointer: str) -> str:
    """The call with `pointer` for `argument`. Functions of two messages (image_transport::CameraPublisher) take both by pointer or none."""
    lines, written = "", effects.names.text(call)
    for other in call.get_arguments():
        if other is None or (made := effects.types.message(other.type)) is None:
            continue
        given = effects.names.text(other)
        if other.extent == argument.extent:
            new = pointer
        elif given.startswith("*"):
            new = given[1:].strip()
        else:
            new = f"{re.findall(r'[A-Za-z_]+[A-Za-z_0-9]*', given)[-1].rstrip('_')}_ptr"
            lines += f"auto {new} = boost::make_shared<{made}>({given});\n"
        written = re.sub(rf"(?<![\w.>]){re.escape(given)}(?![\w.(])", lambda _, new=new: new, written)
    return f"{lines}{written};"


def _pointer(argument: Node) -> Node | None:
    """What `*` is applied to."""
    node = strip(argument)
    arguments = list(node.get_arguments()) if node.kind.name == "CALL_EXPR" else parts(node)
    return strip(arguments[0]) if arguments else None


def overwrites(effects: Effects, statements: list[Node]) -> None:
    """Within one block: `v.resize(n)`, and the next statement that mentions v overwrites it."""
    for at, statement in enumerate(statements):
        call = strip(statement)
        if call.kind.name != "CALL_EXPR":
            continue
        base = method_base(call)
        if (
            call.spelling != "resize"
            or base is None
            or not is_vector(base.type)
            or len(list(call.get_arguments())) != 1
        ):
            continue
        access = effects.names.resolve(base)
        if access is None or len(access.path) < 2 or not _has_numbers(base):
            continue
        text = effects.names.text(base)
        for later in statements[at + 1 :]:
            if not _mentions(effects, later, access):
                continue
            copy = _overwriting(effects, later, access)
            if copy is not None and not is_small(effects.names.text(list(call.get_arguments())[0])):
                _zeros(effects, call, text, access, copy)
            break


def _zeros(effects: Effects, call: Node, vector: str, access: Access, copy: Node) -> None:
    at = call.location
    count = effects.names.text(list(call.get_arguments())[0])
    arguments = list(copy.get_arguments()) if copy.kind.name == "CALL_EXPR" else []
    snippet = f"{vector}.resize_for_overwrite({count});"
    if not is_of_baton(access.types[-1]):
        snippet += "  // with a type of Baton"
        source = strip(arguments[1]) if copy.spelling in ("memcpy", "memmove") and len(arguments) == 3 else None
        if source is not None and source.type.get_canonical().get_pointee().kind.name in ("UCHAR", "CHAR_S", "SCHAR"):
            text = effects.names.text(source)
            bytes = effects.names.text(arguments[2])
            bytes = count if bytes == f"{vector}.size()" else bytes
            if vector not in bytes:
                snippet = f"{vector}.assign({text}, {text} + {bytes});\n{snippet}"
    text = f"`{vector}.resize()` writes zeros, and line {copy.location.line} overwrites them"
    effects.add(Finding(findings.ZEROS, at.line, at.column, text, access.types, snippet))


def _has_numbers(vector: Node) -> bool:
    """Elements without a constructor: resize() fills them with zeros."""
    element = vector.type.get_canonical().get_template_argument_type(0)
    return is_number(element)


def _mentions(effects: Effects, node: Node, access: Access) -> bool:
    found = effects.names.resolve(node) if node.kind.name in ("MEMBER_REF_EXPR", "DECL_REF_EXPR") else None
    if found is not None and found.path[: len(access.path)] == access.path:
        return True
    return any(_mentions(effects, child, access) for child in parts(node))


def _overwriting(effects: Effects, statement: Node, access: Access) -> Node | None:
    """The call or loop that overwrites the vector, if the statement is one: a copy to its beginning, or a loop that sets an element in
    each turn."""
    node = strip(statement)
    if node.kind.name == "CALL_EXPR" and node.spelling in _COPIES:
        arguments = list(node.get_arguments())
        return node if any(begins(effects, argument, access) for argument in arguments) else None
    if node.kind.name == "FOR_STMT":
        body = parts(node)[-1]
        for child in parts(body) if body.kind.name == "COMPOUND_STMT" else [body]:
            inner = strip(child)
            if inner.kind.name == "FOR_STMT" and (found := _overwriting(effects, inner, access)) is not None:
                return found
            if inner.kind.name == "BINARY_OPERATOR" and parts(inner):
                target = effects.names.resolve(parts(inner)[0])
                left, right = parts(inner)
                sets = effects.contents[left.extent.end.offset : right.extent.start.offset].strip() == b"="
                if (
                    sets
                    and target is not None
                    and target.path[:-1] == access.path
                    and not _mentions(effects, right, access)
                ):
                    return node
    return None


def begins(effects: Effects, argument: Node, access: Access) -> bool:
    """Is it the beginning of the vector: &v[0], v.data(), v.begin(), &v.front()?"""
    node = strip(argument)
    if node.kind.name == "UNARY_OPERATOR" and parts(node):
        node = strip(parts(node)[0])
    if node.kind.name != "CALL_EXPR":
        return False
    arguments = list(node.get_arguments())
    base = method_base(node) or (arguments[0] if arguments else None)
    found = effects.names.resolve(base) if base is not None else None
    if found is None or found.path != access.path:
        return False
    return node.spelling in ("data", "begin", "front") or (
        node.spelling == "operator[]" and effects.names.text(arguments[-1]) == "0"
    )
