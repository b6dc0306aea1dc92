#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the lines of the product that the tests execute: in C++ by gcov, in Python by coverage.py, also in the processes that the tests start.

    scripts/covered_lines.py [PART ...] [--compare OLD]      the part core, or these parts of scripts/parts.toml (make coverage ARGS="ros1 lab")
    scripts/covered_lines.py --report [--compare OLD]        reports what the last run counted

Writes out/coverage/index.html, and out/coverage/lines.txt: the commit, then a covered line a line, as file:number. Prints totals by room. With
--compare it prints the lines that the list OLD has and that are not covered now; git says where a line of OLD's commit stands today.

A process that is killed, or that ends by _exit() in C++, loses its counts: kills are part of the tests, so some lines of crash paths count as
not covered. Processes of /usr/bin/python3 (rospy) and those whose test gives them no environment count no Python, those of rclpy do. The build
of the second distribution of ROS 2 is left out. Processes that run at once add to one file of counters under gcov's lock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parts import CORE, ROOT, covers, read_parts

BUILD = ROOT / "build/coverage"
OUT = ROOT / "out/coverage"
LINES = OUT / "lines.txt"
BIN = ROOT / ".venv/bin"
# Rooms without product, and files beside the product.
NO_PRODUCT = (
    "tests",
    "examples",
    "scripts",
    "docs",
    "cmake",
    "packaging",
    "conftest.py",
    "generator/golden",
    ".ci",
)
BESIDE = re.compile(
    r"(^|/)(tests|testing|fuzz|bench)/|_(test|fuzz|process|bench|peer_main|test_support)\.(cpp|hpp|py)$"
)
PRODUCT_ENDS = (".cpp", ".hpp", ".h", ".py")

Line = tuple[str, int]


def is_product(path: str) -> bool:
    return (
        path.endswith(PRODUCT_ENDS) and not BESIDE.search(path) and not any(covers(each, path) for each in NO_PRODUCT)
    )


def write_lines(path: Path, commit: str, lines: Iterable[Line]) -> None:
    path.write_text(f"commit {commit}\n" + "".join(f"{file}:{number}\n" for file, number in sorted(lines)))


def read_lines(path: Path) -> tuple[str, set[Line]]:
    """The commit of a list, and its lines."""
    head, *rows = path.read_text().splitlines()
    cut = [row.rpartition(":") for row in rows]
    return head.removeprefix("commit "), {(file, int(number)) for file, _, number in cut}


def moved(lines: set[Line], diff: str) -> set[Line]:
    """The same lines where they stand after a change (`git diff -U0 -M`), without those that the change takes away."""
    places: dict[
        str, tuple[str, list[tuple[int, int, int]]]
    ] = {}  # old name: new name, and (first, removed, added) of each hunk
    for part in re.split(r"^diff --git ", diff, flags=re.MULTILINE)[1:]:
        old = re.search(r"^(?:--- a/|rename from )(.*)$", part, re.MULTILINE)
        new = re.search(r"^(?:\+\+\+ b/|rename to )(.*)$", part, re.MULTILINE)
        if old:
            hunks = re.findall(r"^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", part, re.MULTILINE)
            numbers = [(int(first), int(removed or 1), int(added or 1)) for first, removed, added in hunks]
            places[old[1]] = (new[1] if new else "", numbers)
    found = set()
    for file, number in lines:
        name, hunks_of_file = places.get(file, (file, []))
        shift = 0
        gone = not name
        for first, removed, added in hunks_of_file:
            if removed and first <= number < first + removed:
                gone = True
            elif number >= first + max(removed, 1):  # a hunk that only adds stands behind its line
                shift += added - removed
        if not gone:
            found.add((name, number + shift))
    return found


def lost_lines(old: set[Line], diff: str, new: set[Line]) -> list[Line]:
    """The lines that were covered, are still there, and are not covered now."""
    return sorted(moved(old, diff) - new)


def run(*words: str | Path, **more: str) -> int:
    return subprocess.run(
        list(map(str, words)), cwd=ROOT, env={**os.environ, **more}, stdin=subprocess.DEVNULL
    ).returncode


def must(*words: str | Path) -> None:
    if run(*words) != 0:
        raise SystemExit(f"coverage: failed: {' '.join(map(str, words))}")


def write_settings() -> Path:
    """Those of coverage.py."""
    files = subprocess.run(
        ["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    packages = sorted({str(Path(file).parent) for file in files if is_product(file)})
    path = OUT / "coveragerc"
    path.write_text(
        "[run]\nparallel = true\n"
        f"data_file = {OUT}/python/python.data\n"
        "patch = _exit, execv, fork\n"  # workers of pytest-xdist; programs that replace themselves; children
        "source =\n" + "".join(f"    {ROOT / package}\n" for package in packages)
    )
    return path


def count(parts: list[str]) -> None:
    """Builds, and runs the tests of the parts with counters."""
    builds = {read_parts()[part].get("build", "release") for part in parts}
    must(
        "cmake",
        "--preset",
        "coverage",
        f"-DBATON_ROS1={'ON' if builds & {'ros1', 'lab'} else 'OFF'}",
        f"-DBATON_PERF={'ON' if 'lab' in builds else 'OFF'}",
    )
    must("scripts/build.sh", "coverage")
    for old in (*BUILD.rglob("*.gcda"), *OUT.glob("python/*")):
        old.unlink()
    (OUT / "python").mkdir(parents=True, exist_ok=True)
    settings = write_settings()
    for part in parts:
        if run("scripts/run_tests.py", part, "--count", COVERAGE_PROCESS_START=str(settings)) != 0:
            print(f"coverage: tests of {part} failed; the report has the tests that ran", flush=True)


def counted() -> dict[str, Any]:
    """The counts of gcov and coverage.py for files of the product, in gcovr's format."""
    settings = [f"--rcfile={OUT / 'coveragerc'}", f"--data-file={OUT / 'python.data'}"]
    must(BIN / "coverage", "combine", "-q", "--keep", *settings, OUT / "python")
    must(BIN / "coverage", "json", "-q", "-i", *settings, "-o", OUT / "python.json")
    must(
        *(BIN / "gcovr", "--root", ROOT, "--exclude", rf"{BUILD}/.*", "--merge-mode-functions", "separate"),
        *("-j", str(os.cpu_count()), "--object-directory", BUILD, "--gcov-ignore-errors", "all"),
        *("--gcov-ignore-parse-errors", "all", "--json", OUT / "cpp.json", BUILD),
    )
    whole: dict[str, Any] = json.loads((OUT / "cpp.json").read_text())
    whole["files"] = [file for file in whole["files"] if is_product(file["file"])]
    for name, file in json.loads((OUT / "python.json").read_text())["files"].items():
        if is_product(name):
            counts = {**dict.fromkeys(file["missing_lines"], 0), **dict.fromkeys(file["executed_lines"], 1)}
            lines = [{"line_number": each, "count": counts[each], "branches": []} for each in sorted(counts)]
            whole["files"].append({"file": name, "lines": lines, "functions": []})
    return whole


def report() -> set[Line]:
    """Makes the page, prints the totals; the covered lines."""
    whole = counted()
    covered, known = set(), set()
    for file in whole["files"]:
        for line in file["lines"]:
            known.add((file["file"], line["line_number"]))
            if line["count"] > 0:
                covered.add((file["file"], line["line_number"]))
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for each, place in ((known, 1), (covered, 0)):
        for name, _ in each:
            rooms[name.split("/")[0]][place] += 1
    for room, (good, all_lines) in sorted(rooms.items()):
        print(f"{room:12s} {good:7d} of {all_lines:7d} lines  {100 * good / all_lines:5.1f} %")
    print(f"{'sum':12s} {len(covered):7d} of {len(known):7d} lines  {100 * len(covered) / max(len(known), 1):5.1f} %")
    (OUT / "product.json").write_text(json.dumps(whole))
    merged = ["--merge-mode-functions", "separate", "--add-tracefile", OUT / "product.json"]
    must(BIN / "gcovr", "--root", ROOT, *merged, "--html-nested", OUT / "index.html")
    return covered


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"a part of scripts/parts.toml; without: {CORE}")
    parser.add_argument("--compare", type=Path, metavar="OLD", help="an out/coverage/lines.txt of another run")
    parser.add_argument("--report", action="store_true", help="run no tests")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in read_parts()]
    if unknown:
        parser.error(f"not in scripts/parts.toml: {', '.join(unknown)}")
    old = read_lines(arguments.compare) if arguments.compare else None  # before this run writes its own
    if not arguments.report:
        count(arguments.parts or [CORE])
    covered = report()
    write_lines(LINES, git("rev-parse", "HEAD").strip(), covered)
    print(f"page: {(OUT / 'index.html').relative_to(ROOT)}, covered lines: {LINES.relative_to(ROOT)}")
    if old is None:
        return 0
    commit, lines = old
    lost = lost_lines(lines, git("diff", "-U0", "-M", "--no-color", "--no-ext-diff", commit), covered)
    for file, number in lost:
        print(f"{file}:{number}")
    print(f"coverage: {len(lost)} lines were covered at {commit[:12]} and are not now")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
