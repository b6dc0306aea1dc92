# SPDX-License-Identifier: Apache-2.0
"""What may hold at one place of a function: which strings and vectors of messages have contents, and which messages are published.

A state joins all ways that lead to the place, so "may" is meant throughout: two branches that exclude each other give the union of what
each of them did, but neither sees the other's. None stands for a place that is not reached (behind a return).

A path is the key of a message and the names of fields: ("img@120", "header", "frame_id"). Elements are named by the text of their index,
"[i]"; two texts count as two elements.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Path = tuple[str, ...]
# Below the path of a vector: it has elements, and these have no contents.
SIZE = "size"


@dataclass(frozen=True, order=True)
class Origin:
    """Where contents may come from: a line of this file (0: none), and in words."""

    line: int
    text: str


@dataclass
class State:
    """`filled`: paths that may have contents. `fresh`: messages of which everything that has contents is in `filled`; what any other
    message has came from outside the function. `published`: messages that may have been published, with the line."""

    filled: dict[Path, Origin] = field(default_factory=dict)
    fresh: frozenset[str] = frozenset()
    published: dict[str, int] = field(default_factory=dict)
    reserved: frozenset[Path] = frozenset()

    def copy(self) -> State:
        return State(dict(self.filled), self.fresh, dict(self.published), self.reserved)

    def fill(self, path: Path, origin: Origin) -> None:
        self.filled[path] = origin

    def empty(self, path: Path) -> None:
        """Nothing at or below the path has contents."""
        self.filled = {known: origin for known, origin in self.filled.items() if known[: len(path)] != path}
        self.reserved = frozenset(known for known in self.reserved if known[: len(path)] != path)

    def renew(self, key: str) -> None:
        """The message is a new one, without contents."""
        self.empty((key,))
        self.fresh |= {key}
        self.published.pop(key, None)

    def contents(self, path: Path) -> Origin | None:
        """Why the path, or something above or below it, may have contents."""
        found = [
            origin for known, origin in self.filled.items() if known[: len(path)] == path or path[: len(known)] == known
        ]
        return min(found) if found else None

    def forget_index(self, variable: str) -> None:
        """The variable changed: `[variable]` names another element now."""
        mention = re.compile(rf"\b{re.escape(variable)}\b")
        if any(part.startswith("[") for path in self.filled for part in path):
            self.filled = {
                path: origin
                for path, origin in self.filled.items()
                if not any(part.startswith("[") and mention.search(part) for part in path)
            }


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
    return joined
