# SPDX-License-Identifier: Apache-2.0
"""Names similar to the one that a user typed: of topics, services, types and verbs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_COMPARED = 1 << 22  # letters of the name times letters of all others: the comparison's time grows with it


def near(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that are most like `name`, the nearest first.

    A name is near if it differs only in case and slashes, if its last part is the same (/image, /camera/image), or if it has similar letters.
    """
    found: list[str] = []
    others = sorted(set(known) - {name})
    wanted = name.lower().strip("/")
    last = wanted.rpartition("/")[2]
    found += [other for other in others if other.lower().strip("/") == wanted]
    found += [other for other in others if last and other.lower().rpartition("/")[2] == last]
    folded: dict[str, str] = {}
    for other in others:
        folded.setdefault(other.lower().strip("/"), other)
    if len(name) * sum(map(len, folded)) <= MOST_COMPARED:
        alike = difflib.get_close_matches(wanted, folded, n=most, cutoff=0.7)
        # A similar last part counts as well: /imag and /front/camera/image.
        ends = {other.rpartition("/")[2]: folded[other] for other in folded if "/" in other}
        alike_ends = difflib.get_close_matches(last, ends, n=most, cutoff=0.75)
        found += [folded[other] for other in alike] + [ends[end] for end in alike_ends]
    return list(dict.fromkeys(found))[:most]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the similar names; empty if there are none."""
    names = near(name, known)
    return f"did you mean {' or '.join(names)}?" if names else ""
