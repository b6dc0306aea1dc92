# SPDX-License-Identifier: Apache-2.0
"""What may hold at one place of a function: which strings and vectors of messages have contents, and which messages are published.

A state joins all ways that lead to the place, so "may" is meant throughout: two branches that exclude each other give the union of what
each of them did, but neither sees the other's. None stands for a place that is not reached (behind a return).

A path is the key of a message and the names of fields: ("img@120", "header", "frame_id"). Elements are named by the text of their index,
"[i]"; two texts count as two elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

Path = tuple[str, ...]
# Below the path of a vector: it has elements, and these have no contents.
SIZE = "size"


@dataclass(frozen=True, order=True)
class Origin:
    """Where contents may come from: a line of this file (0: none), in words, and the place in the file."""

    line: int
    text: str
    offset: int = 0


@dataclass(frozen=True)
class Grown:
    """A vector or string that got contents in `line`. `size`: the text of the size that it was given, or "". `large`: it may be more than a
    few pages. `behind`: what grew after it, so that it no longer is the last part of its message."""

    line: int
    size: str = ""
    large: bool = False
    behind: Origin | None = None


@dataclass
class State:
    """`filled`: paths that may have contents. `fresh`: messages of which everything that has contents is in `filled`; what any other
    message has came from outside the function. `published`: messages that may have been published, with the line;
    an element of an array by the key of the array and its index. `grown`: what
    this function gave a size to."""

    filled: dict[Path, Origin] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()
    published: dict[str, int] = field(default_factory=dict)
    reserved: frozenset[Path] = frozenset()
    grown: dict[Path, Grown] = field(default_factory=dict)

    def copy(self) -> State:
        return State(dict(self.filled), self.fresh, dict(self.published), self.reserved, dict(self.grown))

    def become(self, other: State) -> None:
        self.filled, self.fresh, self.published = other.filled, other.fresh, other.published
        self.reserved, self.grown = other.reserved, other.grown

    def fill(self, path: Path, origin: Origin) -> None:
        self.filled[path] = origin

    def empty(self, path: Path) -> None:
        """Nothing at or below the path has contents."""
        self.filled = {known: origin for known, origin in self.filled.items() if known[: len(path)] != path}
        self.reserved = frozenset(known for known in self.reserved if known[: len(path)] != path)
        self.grown = {known: grown for known, grown in self.grown.items() if known[: len(path)] != path}

    def grow(self, path: Path, grown: Grown, text: str) -> None:
        """`text` names the path. It is the last part of its message from here on."""
        for known, other in self.grown.items():
            if known != path and known[0] == path[0] and other.behind is None:
                self.grown[known] = replace(other, behind=Origin(grown.line, text))
        self.grown[path] = grown

    def renew(self, key: str) -> None:
        """The message is a new one, without contents."""
        self.empty((key,))
        self.fresh |= {key}
        self.published = {
            known: line for known, line in self.published.items() if known != key and not known.startswith(f"{key}[")
        }

    def contents(self, path: Path) -> Origin | None:
        """Why the path, or something above or below it, may have contents."""
        found = [
            origin for known, origin in self.filled.items() if known[: len(path)] == path or path[: len(known)] == known
        ]
        return min(found) if found else None

    def forget_index(self, variable: str) -> None:
        """The variable changed: `[variable]` names another element now."""
        mention = re.compile(rf"\b{re.escape(variable)}\b")

        def known(path: Path) -> bool:
            return not any(part.startswith("[") and mention.search(part) for part in path)

        self.filled = {path: origin for path, origin in self.filled.items() if known(path)}
        self.grown = {path: grown for path, grown in self.grown.items() if known(path)}


def join(*states: State | None) -> State | None:
    reached = [state for state in states if state is not None]
    if not reached:
        return None
    joined = reached[0].copy()
    for other in reached[1:]:
        for path, origin in other.filled.items():
            joined.filled[path] = min(origin, joined.filled.get(path, origin))
        joined.fresh &= other.fresh
        joined.reserved &= other.reserved
        for key, line in other.published.items():
            joined.published[key] = min(line, joined.published.get(key, line))
        for path, grown in other.grown.items():
            joined.grown[path] = _joined(joined.grown.get(path, grown), grown)
    return joined


def _joined(one: Grown, other: Grown) -> Grown:
    behind = [origin for origin in (one.behind, other.behind) if origin is not None]
    return Grown(
        min(one.line, other.line),
        one.size if one.size == other.size else "",
        one.large or other.large,
        min(behind) if behind else None,
    )
