#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slowest targets and tests of the last runs, and sums by room: slowest.py [--page] [NUMBER OF ROWS].

It reads the logs of ninja (build/*/.ninja_log: what each target took when it was built last) and out/ci/tests.tsv (scripts/run_tests.py), and
writes all rows to out/ci/durations.tsv: kind, room, name, seconds. A test's seconds are those of its call; its fixtures have rows of their own.
With --page it writes those of the tests to docs/results/durations.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
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


def sums_of(rows: list[Row]) -> list[tuple[str, int, float]]:
    """(room, number, seconds), the longest first."""
    sums: dict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for _, room, _, seconds in rows:
        sums[room] = sums[room][0] + 1, sums[room][1] + seconds
    return [(room, *each) for room, each in sorted(sums.items(), key=lambda item: -item[1][1])]


def write_page(rows: list[Row], count: int) -> None:
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    page = f"""# Durations

What the last tests took on one machine with {os.cpu_count()} processors, written by `make slowest ARGS=--page` at
`{commit.stdout.strip()}` ({time.strftime("%Y-%m-%d", time.gmtime())}). Seconds are of the clock, and several tests run at a time. What a target takes to
build depends on the compiler cache: `make slowest` prints that of the last build.
"""
    for kind in ("ctest", "pytest", "fixtures"):
        of_kind = [row for row in rows if row[0] == kind]
        page += f"\n## {kind}\n\n{len(of_kind)} rows, {sum(row[3] for row in of_kind):.0f} s.\n\n| room | number | seconds |\n| --- | --- | --- |\n"
        page += "".join(f"| {room} | {number} | {seconds:.1f} |\n" for room, number, seconds in sums_of(of_kind)[:20])
        page += "\n| the slowest | seconds |\n| --- | --- |\n"
        page += "".join(
            f"| `{name}` | {s:.1f} |\n" for _, _, name, s in sorted(of_kind, key=lambda row: -row[3])[:count]
        )
    (ROOT / "docs/results/durations.md").write_text(page)


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--page"]
    count = int(words[0]) if words else 30
    rows = [*targets(), *tests()]
    if "--page" in sys.argv[1:]:
        write_page(rows, min(count, 10))
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "durations.tsv").write_text(
        "kind\troom\tname\tseconds\n" + "".join(f"{k}\t{r}\t{n}\t{s:.3f}\n" for k, r, n, s in rows)
    )
    for kind in dict.fromkeys(row[0] for row in rows):
        of_kind = [row for row in rows if row[0] == kind]
        print(f"\n{kind}: {len(of_kind)} rows, {sum(row[3] for row in of_kind):.0f} s")
        for room, number, seconds in sums_of(of_kind)[:20]:
            print(f"{seconds:9.1f} s {number:6d}  {room}")
        print("  the slowest:")
        for _, _, name, seconds in sorted(of_kind, key=lambda row: -row[3])[:count]:
            print(f"{seconds:9.1f} s  {name}")
    print(f"\nall rows: {(OUT / 'durations.tsv').relative_to(ROOT)}")


if __name__ == "__main__":
    main()
