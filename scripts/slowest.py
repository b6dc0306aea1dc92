#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slowest targets and tests of the last runs, and sums by room: slowest.py [NUMBER OF ROWS].

It reads the logs of ninja (build/*/.ninja_log: what each target took when it was built last) and out/ci/tests.tsv (scripts/run_tests.py), and
writes all rows to out/ci/durations.tsv: kind, room, name, seconds. A test's seconds are those of its call; its fixtures have rows of their own.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out/ci"
Row = tuple[str, str, str, float]


def targets() -> Iterator[Row]:
    """A row for each output of a build; the newest line of an output counts."""
    for log in sorted(ROOT.glob("build/*/.ninja_log")):
        newest: dict[str, float] = {}
        edges: dict[tuple[str, str], str] = {}  # outputs of one command have the same times: counted once
        for line in log.read_text().splitlines()[1:]:
            begin, end, _, output, *_ = line.split("\t")
            newest[output] = (int(end) - int(begin)) / 1000
            edges[begin, end] = output
        for output in set(edges.values()):
            yield f"build {log.parent.name}", output.split("/")[0], output, newest[output]


def room_of_test(kind: str, test: str) -> str:
    if kind == "ctest":
        return test.split(".")[0].removesuffix("_tests")
    path = test.split("::")[0].split("/")
    return "/".join(path[: 2 if path[0] == "tests" else 1])


def tests() -> Iterator[Row]:
    path = OUT / "tests.tsv"
    for line in path.read_text().splitlines()[1:] if path.exists() else []:
        kind, test, phase, seconds, _ = line.split("\t")
        yield kind if phase == "call" else "fixtures", room_of_test(kind, test), test, float(seconds)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    rows = [*targets(), *tests()]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "durations.tsv").write_text(
        "kind\troom\tname\tseconds\n" + "".join(f"{k}\t{r}\t{n}\t{s:.3f}\n" for k, r, n, s in rows)
    )
    for kind in dict.fromkeys(row[0] for row in rows):
        of_kind = [row for row in rows if row[0] == kind]
        sums: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for _, room, _, seconds in of_kind:
            sums[room] = sums[room][0] + 1, sums[room][1] + seconds
        print(f"\n{kind}: {len(of_kind)} rows, {sum(row[3] for row in of_kind):.0f} s")
        for room, (number, seconds) in sorted(sums.items(), key=lambda each: -each[1][1])[:20]:
            print(f"{seconds:9.1f} s {number:6d}  {room}")
        print("  the slowest:")
        for _, _, name, seconds in sorted(of_kind, key=lambda row: -row[3])[:count]:
            print(f"{seconds:9.1f} s  {name}")
    print(f"\nall rows: {(OUT / 'durations.tsv').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
