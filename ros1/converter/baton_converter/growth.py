# SPDX-License-Identifier: Apache-2.0
"""Advice on vectors and strings that grow.

In a message of Baton only the part that grew last grows where it is; any other part moves behind it and leaves a hole. Moving a few hundred
bytes costs nothing that a program notices, so all of this is about vectors that may be larger.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import findings
from .access import Access, Node, parts
from .findings import Finding
from .messages import is_number, is_of_ros2
from .state import Grown, State

if TYPE_CHECKING:
    from .effects import Effects

# From here on a vector counts as large; a page has 4096 bytes.
_LARGE = 4096
_LITERAL = re.compile(r"(\d+)[uUlL]*")


def growth(effects: Effects, call: Node, access: Access, state: State) -> None:
    """push_back() in a loop: how often do the loops turn that are inside the life of the message?"""
    loops = [loop for loop in effects.loops if loop.extent.start.offset > access.root.offset]
    if any(part.startswith("[") for part in access.path):
        loops = loops[-1:]
    if not loops or any(access.path[: len(known)] == known for known in state.reserved):
        return
    counts = [_turns(effects, loop) for loop in loops]
    vector = access.text
    at = call.location
    if all(counts):
        many = " * ".join(
            f"({count})" if re.search(r"[-+]", count or "") and len(counts) > 1 else count or "" for count in counts
        )
        snippet = f"{vector}.reserve({many});  // before the loop of line {loops[0].location.line}"
    else:
        snippet = f"{vector}.reserve(n);  // before the loop of line {loops[0].location.line}; n: at least the number of turns"
    text = f"`{vector}` grows element by element and may move several times; reserve its memory before the loop, or count first and resize once"
    effects.add(Finding(findings.GROWTH, at.line, at.column, text, access.types, snippet))


def _turns(effects: Effects, loop: Node) -> str | None:
    """The source text of the number of turns of `for (i = 0; i < n; ++i)` and `for (x : container)`."""
    inside = parts(loop)
    if loop.kind.name == "CXX_FOR_RANGE_STMT":
        return f"{effects.names.text(inside[-2])}.size()"
    if loop.kind.name != "FOR_STMT":
        return None
    for child in inside[:-1]:
        if child.kind.name == "BINARY_OPERATOR":
            left, right = parts(child)
            between = effects.contents[left.extent.end.offset : right.extent.start.offset].strip()
            if between in (b"<", b"!=") and is_number(right.type):
                return effects.names.text(right)
    return None


def _sized(text: str) -> int | None:
    literal = _LITERAL.fullmatch(text)
    return int(literal[1]) if literal else None


def is_small(text: str) -> bool:
    """Is it the size of a vector that is not large?"""
    number = _sized(text)
    return number is not None and number < _LARGE


def vector(effects: Effects, node: Node, target: Node, access: Access, state: State, size: str, added: bool) -> None:
    """The vector `target` gets `size` elements, in words of the source (empty: unknown). `added`: one more element than before."""
    if is_of_ros2(access.root.type):
        return  # each vector of a native message has memory of its own
    known = state.grown.get(access.path)
    in_loop = any(loop.extent.start.offset > access.root.offset for loop in effects.loops)
    large = _has_plain_elements(effects, target) and (in_loop if added else not is_small(size))
    reserved = any(access.path[: len(path)] == path for path in state.reserved)
    if known is not None and known.behind is not None and not reserved and _grows(known, size):
        if (large or known.large) and not effects.has(findings.GROWTH, node):
            _late(effects, node, access, known, size)
    size = "" if added else size
    state.grow(access.path, Grown(node.location.line, size, large or (known is not None and known.large)), access.text)


def _has_plain_elements(effects: Effects, vector: Node) -> bool:
    """Vectors of messages with strings or vectors, such as the fields of a PointCloud2, are short."""
    element = vector.type.get_canonical().get_template_argument_type(0)
    return is_number(element) or (effects.types.message(element) is not None and not effects.types.contents(element))


def _grows(known: Grown, size: str) -> bool:
    """Is the size certainly more than before? Many a resize() shrinks a vector to what was used of it."""
    before, now = _sized(known.size), _sized(size)
    if before is not None and now is not None:
        return now > before
    of_before = known.size != "" and re.search(rf"(?<!\w){re.escape(known.size)}(?!\w)", size)
    return size == "" or (size != known.size and re.search(r"[+*]", size) is not None and of_before is not None)


def _late(effects: Effects, node: Node, access: Access, known: Grown, size: str) -> None:
    assert known.behind is not None
    other, at = known.behind, node.location
    wanted = size or "n"
    unknown = "" if size else "; n: at least its last size"
    where = f"before line {other.line}" if other.line != at.line else f"before `{other.text}` grows"
    text = (
        f"`{access.text}` grows again after `{other.text}` grew in line {other.line}: with a type of Baton all of it moves then. "
        "Reserve its last size first"
    )
    snippet = f"{access.text}.reserve({wanted});  // {where}{unknown}"
    effects.add(Finding(findings.LATE, at.line, at.column, text, access.types, snippet))


def string(effects: Effects, node: Node, access: Access, state: State) -> None:
    """A string gets contents."""
    if is_of_ros2(access.root.type):
        return
    if effects.before(access, state) is None:
        arrays = [
            (grown, path)
            for path, grown in state.grown.items()
            if path[0] == access.path[0] and grown.large and grown.behind is None and path != access.path
        ]
        if arrays:
            _string_after(effects, node, access, *min(arrays, key=lambda array: array[0].line))
    if access.path not in state.grown or state.grown[access.path].behind is not None:
        state.grow(access.path, Grown(node.location.line), access.text)


def _string_after(effects: Effects, node: Node, access: Access, grown: Grown, path: tuple[str, ...]) -> None:
    at = node.location
    array = access.root.name + "".join(part if part.startswith("[") else f".{part}" for part in path[1:])
    text = (
        f"`{access.text}` is set after `{array}` got its size in line {grown.line}: with a type of Baton it then lies behind the "
        "elements, where the vector cannot grow any more; who reads only strings touches one page more"
    )
    snippet = f"{effects.names.text(node)};  // before line {grown.line}"
    effects.add(Finding(findings.STRINGS, at.line, at.column, text, access.types, snippet))
