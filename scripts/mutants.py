#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do the tests find faults? Puts those of scripts/mutants.toml into the product, one at a time, in a tree of its own (out/mutants/tree).

    scripts/mutants.py [NAME ...] [--again] [--commit REV] [--own]    NAME: ROOM, or ROOM/NUMBER; without: all that have no verdict
    scripts/mutants.py --table                                        the results so far

A mutant is judged by the tests of its room, and, if they pass, by those of the rooms that use it (the later lines of scripts/layers.txt), nearest
first, until a test fails twice. The verdict goes to out/mutants/results.tsv at once, so a run that was ended goes on where it was. --own: no other
rooms. --commit: the tree is of that commit, whose tests judge.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree
from pathlib import Path
from typing import Any, NamedTuple

from parts import ROOT, read_parts

TABLE = ROOT / "scripts/mutants.toml"
OUT = ROOT / "out/mutants"
RESULTS = OUT / "results.tsv"
HEAD = "mutant\tcommit\tverdict\tby\tseconds\n"
LIMIT_S = 1800  # of one command: a mutant may make tests wait for ever
TEST_LIMIT_S = 150


class Mutant(NamedTuple):
    name: str  # room/number
    room: str
    file: str
    old: str
    new: str
    wrong: str


def read_table(path: Path = TABLE) -> tuple[dict[str, dict[str, Any]], list[Mutant]]:
    table = tomllib.loads(path.read_text())
    mutants: list[Mutant] = []
    for row in table["mutant"]:
        number = sum(each.room == row["room"] for each in mutants) + 1
        mutants.append(Mutant(f"{row['room']}/{number}", **row))
    return table["room"], mutants


def users_of(room: str, rooms: dict[str, dict[str, Any]]) -> list[str]:
    """The rooms with tests that may use it, nearest first."""
    lines = [
        [Path(folder).name for folder in line.split()[1:]]
        for line in (ROOT / "scripts/layers.txt").read_text().splitlines()
        if line.startswith("room ")
    ]
    own = next(number for number, line in enumerate(lines) if room in line)
    later = [name for line in lines[own + 1 :] for name in line]
    return [name for name in later if name in rooms and "part" not in rooms[name]]


class Judge:
    """Builds and runs tests in a tree of the project."""

    def __init__(self, tree: Path, rooms: dict[str, dict[str, Any]], log: Path) -> None:
        self.tree, self.rooms, self.log = tree, rooms, log
        self.preset = "release"  # of the room whose tests run

    def run(self, *words: str) -> int:
        """The status; 124 if it took too long. Nothing that it started is left."""
        settings = {**os.environ, "BATON_BUILD": str(self.tree / "build" / self.preset)}
        with self.log.open("a") as out:
            out.write(f"=== {' '.join(words)}\n")
            out.flush()
            process = subprocess.Popen(
                words,
                cwd=self.tree,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=settings,
                start_new_session=True,
            )
            try:
                return process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                return 124
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()

    def failed_by(self, room: str) -> tuple[str, str]:
        """(verdict, test): "passed", "caught", "hung" or "broken", which is no verdict."""
        spec = self.rooms[room]
        self.preset = spec.get("preset", "release")
        if self.run("scripts/build.sh", self.preset, "--target", *spec["build"]) != 0:
            return "broken", "the build"
        if "ctest" in spec:
            verdict = self.twice(self.ctest, spec["ctest"])
            if verdict[0] != "passed":
                return verdict
        if "tests" in spec:
            left_out = [f"--ignore={path}" for path in spec.get("not", [])]
            if "part" in spec:  # in its short form
                for path in read_parts()[spec["part"]]["never_short"]:
                    left_out.append(f"--{'deselect' if '::' in path else 'ignore'}={path}")
            # `tests/hostile` and others compare delays: few at a time.
            together = ["-n", "2", "--dist", "loadfile"] if room != "tests" else []
            return self.twice(self.pytest, *together, *left_out, *spec["tests"])
        return "passed", ""

    def twice(self, tests: Any, *words: str) -> tuple[str, str]:
        """A test that fails once and then passes is no judge."""
        verdict, failed = tests(*words)
        if verdict != "caught":
            return verdict, failed
        alone = (f"^{re.escape(failed)}$",) if tests == self.ctest else (failed,)
        again, _ = tests(*alone)
        return ("caught" if again != "passed" else "unsure"), failed

    def ctest(self, expression: str) -> tuple[str, str]:
        report = OUT / "ctest.xml"
        report.unlink(missing_ok=True)
        runtime = OUT / "run"
        runtime.mkdir(mode=0o700, exist_ok=True)
        folder = str(self.tree / "build" / self.preset)
        words = ["ctest", "--test-dir", folder, "-R", expression, "-j", "2", "--no-tests=error", "--stop-on-failure"]
        words += ["--timeout", str(TEST_LIMIT_S), "--output-on-failure", "--output-junit", str(report)]
        return self.verdict(self.run("env", f"BATON_RUNTIME_DIR={runtime}", *words), report)

    def pytest(self, *arguments: str) -> tuple[str, str]:
        report = OUT / "pytest.xml"
        report.unlink(missing_ok=True)
        words = [".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--junitxml={report}"]
        return self.verdict(self.run(*words, "-o", "junit_family=xunit1", *arguments), report)

    @staticmethod
    def verdict(status: int, report: Path) -> tuple[str, str]:
        if status == 0:
            return "passed", ""
        if status == 124:
            return "hung", f"no end in {LIMIT_S} s"
        failed = failed_in(report.read_text()) if report.exists() else []
        return ("caught", failed[0]) if failed else ("broken", f"status {status} and no failed test")


def failed_in(report: str) -> list[str]:
    """The failed tests of a JUnit report, of ctest or of pytest."""
    found = []
    for case in xml.etree.ElementTree.fromstring(report).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            path = case.get("file")
            found.append(f"{path}::{case.get('name')}" if path else case.get("name", ""))
    return found


def tree_of(commit: str) -> Path:
    tree = OUT / "tree"
    git = ["git", "-C", str(ROOT)]
    if not tree.exists():
        subprocess.run([*git, "worktree", "prune"], check=True)
        subprocess.run([*git, "worktree", "add", "-q", "--detach", str(tree), commit], check=True)
    subprocess.run(["git", "-C", str(tree), "checkout", "-q", "--force", "--detach", commit], check=True)
    return tree


def set_up(tree: Path, group: str) -> None:
    subprocess.run(["scripts/setup.sh", group], cwd=tree, stdin=subprocess.DEVNULL, check=True)


def results() -> list[list[str]]:
    return [line.split("\t") for line in RESULTS.read_text().splitlines()[1:]] if RESULTS.exists() else []


def judge(mutant: Mutant, rooms: dict[str, dict[str, Any]], tree: Path, only_own: bool) -> tuple[str, str]:
    log = OUT / f"{mutant.name.replace('/', '-')}.log"
    log.unlink(missing_ok=True)
    judged = Judge(tree, rooms, log)
    file = tree / mutant.file
    whole = file.read_text()
    if whole.count(mutant.old) != 1:
        return "absent", "the text is not in this commit's file"
    file.write_text(whole.replace(mutant.old, mutant.new))
    try:
        for room in [mutant.room, *([] if only_own else users_of(mutant.room, rooms))]:
            print(f"mutants: {mutant.name}: {room}", flush=True)
            verdict, test = judged.failed_by(room)
            if verdict != "passed":
                return verdict, test
        return "survived", ""
    finally:
        file.write_text(whole)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--again", action="store_true", help="also those that have a verdict")
    parser.add_argument("--own", action="store_true", help="only the tests of the mutant's room")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--commit", default="HEAD")
    arguments = parser.parse_args()
    rooms, mutants = read_table()
    if arguments.table:
        print(RESULTS.read_text() if RESULTS.exists() else HEAD, end="")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that an ended run undoes its mutant, and ends its tests
    OUT.mkdir(parents=True, exist_ok=True)
    if not RESULTS.exists():
        RESULTS.write_text(HEAD)
    revision = ["git", "rev-parse", "--short=12", f"{arguments.commit}^{{commit}}"]
    commit = subprocess.run(revision, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    fixed = arguments.commit != "HEAD"  # else a verdict of an earlier commit counts, too
    done = {row[0] for row in results() if row[2] not in ("broken", "unsure") and (not fixed or row[1] == commit)}
    names = set(arguments.names)
    wanted = [each for each in mutants if not names or names & {each.name, each.room}]
    tree = tree_of(commit)
    groups = {{"ros1": "ros1", "lab": "lab"}.get(rooms[each.room].get("preset", ""), "test") for each in wanted}
    for group in sorted(groups):
        set_up(tree, group)
    for mutant in wanted:
        if mutant.name in done and not arguments.again:
            continue
        begin = time.monotonic()
        verdict, test = judge(mutant, rooms, tree, arguments.own)
        seconds = round(time.monotonic() - begin)
        with RESULTS.open("a") as out:
            out.write(f"{mutant.name}\t{commit}\t{verdict}\t{test}\t{seconds}\n")
        print(f"mutants: {mutant.name}: {verdict} {test} ({seconds} s): {mutant.wrong}", flush=True)
    last = {row[0]: row for row in results()}
    survived = [each for each in wanted if last.get(each.name, ["", "", "?"])[2] not in ("caught", "hung")]
    print(
        f"mutants: {len(wanted) - len(survived)} of {len(wanted)} caught; others: {', '.join(m.name for m in survived) or 'none'}"
    )
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
