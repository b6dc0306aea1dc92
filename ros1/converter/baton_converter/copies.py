# SPDX-License-Identifier: Apache-2.0
"""Advice on what is copied into messages, and on received messages that are kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import findings
from .access import Access, Node, method_base, parts, strip
from .advice import begins
from .findings import Finding
from .messages import is_number, is_of_ros1, is_of_ros2, is_vector

if TYPE_CHECKING:
    from .effects import Effects

# Functions that copy, with the number of the argument that is written to. The others are read from.
_COPIES = {"memcpy": 0, "memmove": 0, "copy": 2, "copy_n": 2}
_KEEPERS = {"push_back", "push_front", "push", "emplace_back", "emplace_front", "emplace", "insert"}
_MAT = re.compile(r"cv::Mat(?:_<.*>)?$")
_POINTS = re.compile(r"pcl::PointCloud<\s*(?:struct )?([\w:]+)")
_KEPT = re.compile(r"std::|boost::(?:circular_buffer|container)")


def copied(effects: Effects, call: Node) -> None:
    """memcpy() or std::copy() from a cv::Mat or from points of PCL into a vector of a message, or assign() of the vector."""
    arguments = list(call.get_arguments())
    base = method_base(call)
    if call.spelling in _COPIES and base is None and len(arguments) == 3:
        to = arguments[_COPIES[call.spelling]]
        target = effects.interior(to)
        if target is None or not begins(effects, to, target):
            return
        source = arguments[1 if _COPIES[call.spelling] == 0 else 0]
    elif call.spelling == "assign" and base is not None and is_vector(base.type) and len(arguments) == 2:
        target, source = effects.names.resolve(base), arguments[0]
    else:
        return
    if target is None or len(target.path) < 2 or is_number(source.type):
        return
    if (picture := _of_class(source, _MAT)) is not None:
        _pixels(effects, call, target, picture)
    elif (cloud := _of_class(source, _POINTS)) is not None:
        _points(effects, call, target, cloud)


def _of_class(node: Node, wanted: re.Pattern[str]) -> Node | None:
    """The expression of such a class, of which something is used."""
    if wanted.match(node.type.get_canonical().spelling.removeprefix("const ")) and "*" not in node.type.spelling:
        return node
    return next((found for child in parts(node) if (found := _of_class(child, wanted)) is not None), None)


def _pixels(effects: Effects, call: Node, target: Access, picture: Node) -> None:
    at = call.location
    mat, vector = effects.names.text(picture), target.text
    snippet = f"cv::Mat view({mat}.rows, {mat}.cols, {mat}.type(), {vector}.data());  // after the resize; OpenCV writes into view instead of {mat}"
    text = f"The pixels of `{mat}` are copied into `{vector}`. A cv::Mat on the memory of the message needs no copy"
    effects.add(Finding(findings.PIXELS, at.line, at.column, text, target.types, snippet))


def _points(effects: Effects, call: Node, target: Access, cloud: Node) -> None:
    at = call.location
    points = effects.names.text(cloud)
    snippet = ""
    if target.types[-1].endswith("::PointCloud2"):
        message = target.text.removesuffix(".data")
        snippet = (
            f"sensor_msgs::PointCloud2Modifier({message}).resize({points}.size());\n"
            f'sensor_msgs::PointCloud2Iterator<float> x({message}, "x");  // write the points here, not into {points}'
        )
    text = f"The points of `{points}` are copied into `{target.text}`. What makes them can write them into the message"
    effects.add(Finding(findings.POINTS, at.line, at.column, text, target.types, snippet))


def converted(effects: Effects, call: Node) -> None:
    """pcl::toROSMsg() and pcl_conversions::fromPCL(), which copy points or pixels into a message."""
    arguments = list(call.get_arguments())
    if call.spelling not in ("toROSMsg", "fromPCL") or len(arguments) != 2:
        return
    target = effects.names.resolve(arguments[1])
    type = effects.types.message(arguments[1].type)
    if target is None or type is None or "vector" not in effects.types.contents(arguments[1].type):
        return
    if call.spelling == "toROSMsg" and _POINTS.match(
        strip(arguments[0]).type.get_canonical().spelling.removeprefix("const ")
    ):
        _points(effects, call, target, arguments[0])
    elif call.spelling == "fromPCL" and not strip(arguments[0]).type.get_canonical().is_const_qualified():
        at = call.location
        source = effects.names.text(arguments[0])
        text = f"`{source}` is copied into `{target.text}`; moveFromPCL() hands its memory over and leaves `{source}` empty"
        snippet = re.sub(r"\bfromPCL\b", "moveFromPCL", effects.names.text(call)) + ";"
        effects.add(Finding(findings.POINTS, at.line, at.column, text, target.types, snippet))


def subscribed(effects: Effects, call: Node, arguments: list[Node]) -> None:
    """A callback whose parameter makes ROS copy the message for it."""
    if call.spelling not in ("subscribe", "create_subscription"):
        return
    for argument in arguments:
        callback = _function(argument)
        parameters = (
            [] if callback is None else [node for node in callback.get_children() if node.kind.name == "PARM_DECL"]
        )
        if not parameters:
            continue
        parameter, types = parameters[0], effects.types
        type = parameter.type.get_canonical()
        message = types.message(type) or types.pointee(type)
        target = type.get_pointee() if type.kind.name == "LVALUEREFERENCE" else type
        if message is None or "*" in target.spelling:
            continue
        value = types.message(type) is not None
        held = target if value else target.get_template_argument_type(0)
        if held.is_const_qualified() or (value and type.kind.name == "LVALUEREFERENCE"):
            continue
        if "vector" in types.contents(held):
            _callback(effects, call, parameter, message, value, "unique_ptr" in target.spelling)


def _callback(effects: Effects, call: Node, parameter: Node, message: str, value: bool, unique: bool) -> None:
    at = call.location
    name = parameter.spelling or "message"
    ros = "rclcpp" if is_of_ros2(message) else "roscpp"
    if value:
        why = "since its callback takes it by value"
    elif unique:
        why = "since its callback takes a unique_ptr, and what another process published comes in a shared_ptr"
    elif ros == "rclcpp":
        why = "since its callback may change it, where several subscriptions of the process get it"
    else:
        why = "since its callback may change it, where several callbacks of the process get it; a type of Baton always"
    text = f"{ros} copies a received {message}, {why}. A pointer to const needs no copy"
    pointer = "ConstSharedPtr" if is_of_ros2(message) else "ConstPtr"
    effects.add(
        Finding(
            findings.CALLBACK,
            at.line,
            at.column,
            text,
            (message,),
            f"const {message}::{pointer}& {name}  // the parameter",
        )
    )


def _function(argument: Node) -> Node | None:
    """The lambda or function that is given as a callback, by itself, in a variable or in std::bind()."""
    node = strip(argument)
    if node.kind.name == "LAMBDA_EXPR":
        return node
    if node.kind.name == "DECL_REF_EXPR" and node.referenced is not None:
        named = node.referenced
        if named.kind.name in ("CXX_METHOD", "FUNCTION_DECL"):
            return named
        if named.kind.name == "VAR_DECL" and (inside := parts(named)):
            return _function(inside[-1])
        return None
    if node.kind.name == "UNARY_OPERATOR" or (
        node.kind.name == "CALL_EXPR"
        and (node.spelling == "bind" or node.type.get_canonical().spelling.startswith("(lambda"))
    ):
        inside = list(node.get_arguments()) if node.kind.name == "CALL_EXPR" else parts(node)
        return next((found for child in inside if (found := _function(child)) is not None), None)
    return None


def kept(effects: Effects, call: Node, name: str, container: Node, arguments: list[Node]) -> None:
    """The pointer of a received message goes into a container that outlives the function."""
    if name not in _KEEPERS or not arguments:
        return
    type = container.type.get_canonical().spelling
    if not _KEPT.match(type.removeprefix("const ")) or "shared_ptr<const " not in type.replace("shared_ptr<std::", ""):
        return
    for argument in arguments:
        access = effects.names.resolve(argument)
        if (
            access is not None
            and access.root.made == "parameter"
            and len(access.path) == 1
            and effects.types.pointee(argument.type)
            and is_of_ros1(access.root.type)
            and _outlives(container)
        ):
            _keep(effects, call, access, effects.names.text(container))


def _keep(effects: Effects, call: Node, access: Access, container: str) -> None:
    at = call.location
    bound = re.search(
        rf"\b{re.escape(container)}\s*\.\s*size\s*\(\s*\)\s*(?:>=?|==)\s*([\w.:>()-]+?)\s*\)".encode(), effects.contents
    )
    count = bound[1].decode(errors="replace") if bound else "n"
    text = (
        f"`{container}` keeps messages of a subscription. A recompiled program may keep as many as it likes. One of baton::ros1::subscribe() "
        f"may keep 8 messages of each publisher, and then gets no more, unless `held` says that `{container}` keeps more"
    )
    unknown = "" if bound else f"; n: the most that `{container}` keeps"
    snippet = (
        "baton::ros1::SubscribeOptions options;  // not in a recompiled program\n"
        f"options.held = {count} + 2;  // the last argument of baton::ros1::subscribe(){unknown}"
    )
    effects.add(Finding(findings.KEPT, at.line, at.column, text, access.types, snippet))


def _outlives(container: Node) -> bool:
    """Is it, or does it lie in, a member or a variable that is no local one?"""
    node = strip(container)
    if node.kind.name == "MEMBER_REF_EXPR":
        inside = parts(node)
        return not inside or _outlives(inside[0])
    if node.kind.name == "DECL_REF_EXPR" and node.referenced is not None:
        named = node.referenced
        local = named.semantic_parent is not None and named.semantic_parent.kind.name not in (
            "TRANSLATION_UNIT", "NAMESPACE", "CLASS_DECL", "STRUCT_DECL",
        )  # fmt: skip
        return not local or named.storage_class.name == "STATIC"
    if node.kind.name == "CALL_EXPR":  # an element of another container, what an iterator or pointer points at
        base = method_base(node) or next(iter(node.get_arguments()), None)
        return base is not None and _outlives(base)
    return node.kind.name == "CXX_THIS_EXPR"
