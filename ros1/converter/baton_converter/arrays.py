# SPDX-License-Identifier: Apache-2.0
"""Arrays of messages of ROS 1 whose elements are published as objects: how an array becomes one of pointers.

    sensor_msgs::Image images[2];    boost::shared_ptr<sensor_msgs::Image> images_ptr[2];
                                     for (auto& each : images_ptr) each = boost::make_shared<sensor_msgs::Image>();
    images[0].height = 1;            images_ptr[0]->height = 1;
    pub.publish(images[0]);          pub.publish(images_ptr[0]);

Each element must be an object of its own, since a pointer into an array keeps the whole array. So a rewrite needs, beside what candidates.py demands of
each element, that the function mentions the array only as `images[...]` or `images.size()`: every other use would mean something else with pointers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .access import Access, Node, parts, strip
from .findings import Edit
from .messages import is_number
from .state import State

_TYPE = r"(?P<type>(?:::)?\w+(?:::\w+)*)"
_FORMS = (
    (re.compile(rf"{_TYPE}\s+(?P<name>\w+)\s*\[(?P<count>[^\[\]{{}};=]+)\]\s*;"), "{pointer} {name}[{count}];"),
    (re.compile(rf"std::array<\s*{_TYPE}\s*,(?P<count>[^;<>]+)>\s*(?P<name>\w+)\s*;"), "std::array<{pointer},{count}> {name};"),
    (re.compile(rf"std::vector<\s*{_TYPE}\s*>\s*(?P<name>\w+)\s*\((?P<count>[^;,{{}}]+)\)\s*;"), "std::vector<{pointer}> {name}({count});"),
)  # fmt: skip
_LITERAL = re.compile(r"\[(0|[1-9]\d*)[uUlL]*\]")  # 010 is eight


@dataclass
class Mentions:
    """Of an array in its function, by the offset of its name: the elements, and calls of size()."""

    elements: dict[int, Node] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)


def published_before(state: State, access: Access) -> int:
    """The line that may have published the same element; 0: none."""
    key, index = access.root.key, access.path[1]
    lines = [
        line
        for known, line in state.published.items()
        if known.startswith(f"{key}[") and _may_be_same(known[len(key) :], index)
    ]
    return min(lines, default=0)


def _may_be_same(one: str, other: str) -> bool:
    """May the two texts of an index name the same element? Not if both are numbers, and different ones."""
    numbers = [_LITERAL.fullmatch(index) for index in (one, other)]
    return not all(numbers) or len({int(number[1]) for number in numbers if number}) == 1


def declaration(variable: Node, statement: Node, contents: bytes, new: str) -> str:
    """The lines that make the array of pointers `new`; "" where the declaration is of another form."""
    start, end = statement.extent.start.offset, statement.extent.end.offset
    written = contents[start:end].decode(errors="replace")
    indent = re.search(rb"[ \t]*\Z", contents[:start])
    for form, becomes in _FORMS:
        found = form.fullmatch(written)
        if found is None or found["name"] != variable.spelling:
            continue
        if becomes.startswith("std::vector") and not _is_counted(variable):
            return ""
        pointer = f"boost::shared_ptr<{found['type']}>"
        made = becomes.format(pointer=pointer, name=new, count=found["count"])
        pad = indent[0].decode() if indent else ""
        return f"{made}\n{pad}for (auto& each : {new}) each = boost::make_shared<{found['type']}>();"
    return ""


def _is_counted(variable: Node) -> bool:
    """Is the vector made of a number of elements?"""
    inside = parts(variable)
    arguments = list(strip(inside[-1]).get_arguments()) if inside else []
    return bool(arguments) and is_number(arguments[0].type)


def unknown_mention(variable: Node, function: Node, mentions: Mentions, contents: bytes) -> int:
    """The line of a mention that is not known, or that a macro made; 0: there is none."""
    name = variable.spelling.encode()
    for node in function.walk_preorder():
        if node.kind.name == "DECL_REF_EXPR" and node.referenced == variable:
            at = node.extent.start.offset
            known = at in mentions.elements or at in mentions.sizes
            if not known or contents[at : at + len(name)] != name:
                return int(node.location.line)
    return 0


def mention_edits(mentions: Mentions, name: str, new: str, arguments: list[Node], contents: bytes) -> list[Edit]:
    """`images[i].x` becomes `images_ptr[i]->x`, a published `images[i]` the pointer `images_ptr[i]`, and another one `*images_ptr[i]`."""
    published = {argument.extent.start.offset for argument in arguments}
    edits = [Edit(at, at + len(name), new) for at in sorted(mentions.sizes)]
    for at, node in sorted(mentions.elements.items()):
        end = node.extent.end.offset
        member = re.match(rb"\s*\.", contents[end:])
        is_pointer = at in published or member
        edits.append(Edit(at, at + len(name), new if is_pointer else f"*{new}"))
        if member and at not in published:
            edits.append(Edit(end + member.end() - 1, end + member.end(), "->"))
    return edits
