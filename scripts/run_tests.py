#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of one part (scripts/parts.toml) of its build: ctest, then pytest; all of them even if some fail. The part `other-ros2` is those of
all distributions of ROS 2 but the default, one after another.

    scripts/run_tests.py PART [--short | --smoke | --count] [PYTEST ARGUMENT ...]
    scripts/run_tests.py ctest PRESET [CTEST ARGUMENT ...]

The second form runs the tests of ctest of one built preset (scripts/sanitize.sh).

The time of each test goes to out/ci/tests.tsv (scripts/slowest.py reads it). A test that fails runs five times more, alone, at once. If it passes
five times it is flaky: it is listed in out/ci/flaky.tsv and at the end, with its log. One or two flaky tests do not fail the run; three do.
With --count the tests are those of the build `coverage` (scripts/covered_lines.py), and none runs again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections.abc import Sequence
from pathlib import Path

from parts import CORE, OTHER_ROS2, ROOT, other_ros2s, read_parts

# A test that hangs is ended with the stacks of its threads, and counts as failed. The longest builds whole projects: about 150 s beside other builds.
PYTEST = [str(ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "--timeout", "600", "--timeout-method", "thread"]
# Most tests wait for processes, so more run at a time than there are processors; the tests of a file share what they made and stay in one worker.
WORKERS = 4
# Tests that take another path where messages come late run alone.
ALONE = ("ros1/tests/kill_steps_test.py",)
AGAIN = 5
MOST_FLAKY = 2
OUT = ROOT / "out/ci"
TESTS, FLAKY = OUT / "tests.tsv", OUT / "flaky.tsv"
HEAD = "kind\ttest\tphase\tseconds\toutcome\n"


def is_complete_machine() -> bool:
    """Whether a missing part is an error: where setup installs everything, no part may be missing."""
    release = Path("/etc/os-release")
    return os.uname().machine == "x86_64" and release.exists() and "ID=debian" in release.read_text().splitlines()


def failed_since(position: int) -> list[tuple[str, str]]:
    """(kind, test) of the failures that were written behind this position of TESTS, each once."""
    with TESTS.open() as file:
        file.seek(position)
        rows = [line.rstrip("\n").split("\t") for line in file]
    return list(dict.fromkeys((row[0], row[1]) for row in rows if row[4] == "failed"))


def run_ctest(folder: Path, arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Runs ctest there; whether it passed, and the names of the failed tests. Rows go to TESTS."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "ctest.xml"
        # A private runtime directory: tests never meet the user's processes, and leavings are seen.
        (runtime := Path(scratch) / "run").mkdir(mode=0o700)
        command = [
            "ctest",
            "--test-dir",
            str(folder),
            "-j",
            str(WORKERS),
            "--no-tests=error",
            "--timeout",
            "300",
        ]
        command += ["--output-on-failure", "--output-junit", str(report), *arguments]
        done = subprocess.run(command, env={**os.environ, "BATON_RUNTIME_DIR": str(runtime)}, stdin=subprocess.DEVNULL)
        failed = []
        if report.exists():
            with TESTS.open("a") as out:
                for case in xml.etree.ElementTree.parse(report).getroot().iter("testcase"):
                    outcome = {"run": "passed", "fail": "failed"}.get(case.get("status", ""), "skipped")
                    if outcome == "failed":
                        failed.append(case.get("name", ""))
                    out.write(f"ctest\t{case.get('name')}\tcall\t{float(case.get('time', 0)):.3f}\t{outcome}\n")
    return done.returncode == 0, failed


def run_pytest(arguments: Sequence[str]) -> tuple[bool, list[str]]:
    """Runs pytest; whether it passed, and the ids of the failed tests. conftest.py writes the rows."""
    position = TESTS.stat().st_size
    done = subprocess.run([*PYTEST, "--tests-tsv", str(TESTS), *arguments], cwd=ROOT, stdin=subprocess.DEVNULL)
    return done.returncode == 0, [test for _, test in failed_since(position)]


def passes_again(kind: str, test: str, build: Path, log: Path) -> bool:
    """Runs one test alone, AGAIN times; stops at the first failure."""
    environment = dict(os.environ)
    if kind == "ctest":
        command = [
            "ctest",
            "--test-dir",
            str(build),
            "-R",
            f"^{re.escape(test)}$",
            "--timeout",
            "300",
            "--output-on-failure",
        ]
        environment["BATON_RUNTIME_DIR"] = tempfile.mkdtemp()
    else:
        command = [*PYTEST, "-p", "no:cacheprovider", test]
    with log.open("a") as out:
        for _ in range(AGAIN):
            if (
                subprocess.run(
                    command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out
                ).returncode
                != 0
            ):
                return False
    return True


def judge(failures: list[tuple[str, str]], build: Path) -> bool:
    """Whether the tests count as passed: every failure was of a flaky test, and they are few."""
    if not failures:
        return True
    if len(failures) > 2 * MOST_FLAKY:  # too many to be chance
        print(
            f"run_tests: {len(failures)} tests failed:", *(f"\n  {kind} {test}" for kind, test in failures), flush=True
        )
        return False
    good = True
    for kind, test in failures:
        log = OUT / ("again-" + re.sub(r"\W+", "-", test)[:120] + ".log")
        print(f"run_tests: {test} failed; {AGAIN} times more, alone ({log.relative_to(ROOT)})", flush=True)
        if passes_again(kind, test, build, log):
            with FLAKY.open("a") as out:
                out.write(f"{kind}\t{test}\n")
        else:
            print(f"run_tests: FAILED again: {test}", flush=True)
            print("".join(log.read_text(errors="replace").splitlines(keepends=True)[-60:]), flush=True)
            good = False
    flaky = FLAKY.read_text().splitlines() if FLAKY.exists() else []
    print(f"run_tests: flaky so far: {len(flaky)}", *(f"\n  {row}" for row in flaky), flush=True)
    return good and len(flaky) <= MOST_FLAKY


def main() -> int:
    os.environ["NO_COLOR"] = "1"  # as in `.ci/run`: tests that depend on it fail everywhere
    # Containers often set it. Tests start Python many hundred times, and each process would compile Baton's modules again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parts = read_parts()
    words = sys.argv[1:]
    if words[:1] == ["ctest"] and len(words) > 1:
        OUT.mkdir(parents=True, exist_ok=True)
        if not TESTS.exists():
            TESTS.write_text(HEAD)
        folder = ROOT / "build" / words[1]
        good, failed = run_ctest(folder, words[2:])
        return 0 if judge([("ctest", test) for test in failed], folder) and (good or failed) else 1
    if words[:1] == [OTHER_ROS2]:
        codes = [subprocess.run([sys.argv[0], each.name, *words[1:]]).returncode for each in other_ros2s()]
        return max(codes, default=0)
    if not words or words[0] not in parts:
        print(
            f"usage: scripts/run_tests.py {'|'.join(parts)}|{OTHER_ROS2} [--short | --smoke | --count] [argument of pytest ...]",
            file=sys.stderr,
        )
        return 2
    name, arguments = words[0], words[1:]
    part = parts[name]
    form = next((each[2:] for each in ("--short", "--smoke") if each in arguments), "run")
    counts = "--count" in arguments
    arguments = [each for each in arguments if each not in ("--short", "--smoke", "--count")]
    OUT.mkdir(parents=True, exist_ok=True)
    if not TESTS.exists() or (name == CORE and not arguments):  # core runs first: the rows are those of one round
        TESTS.write_text(HEAD)

    build = ROOT / "build" / ("coverage" if counts else part.get("build", "release"))
    os.environ["BATON_BUILD"] = str(build)
    os.environ.update(part.get("set", {}))
    broken = False  # something failed that is no test that could run again
    failures: list[tuple[str, str]] = []
    for folder in part.get("ctest", []) if form != "smoke" and not arguments else []:
        good, failed = run_ctest(build / folder, [])
        broken |= not good and not failed
        failures += [("ctest", test) for test in failed]

    if name == CORE:
        left_out = [path for other in parts.values() for path in other.get("tests", [])]
        chosen: list[str] = []
    else:
        left_out = part.get("never_short", []) if form == "short" else []
        # A path that is named is collected although it is ignored.
        named = [path for path in [*part.get("tests", []), *part.get("also", [])] if path not in left_out]
        chosen = part.get("in_smoke", []) if form == "smoke" else named
        if not chosen:
            print(f"run_tests: the part {name} has no tests of pytest", file=sys.stderr)
            return 2
    complete = ["--nothing-missing"] if is_complete_machine() and not counts else []
    ignored = [f"--{'deselect' if '::' in path else 'ignore'}={path}" for path in left_out]
    alone = [path for path in ALONE if name == "ros1" and path not in left_out]
    few = form == "smoke" and len(chosen) <= WORKERS
    together = [] if few else ["-n", str(WORKERS), "--dist", "loadfile", "--no-loadscope-reorder"]
    rounds = [[*together, *complete, *ignored, *(f"--ignore={path}" for path in alone), *chosen, *arguments]]
    if form == "run" and not arguments and alone:
        rounds.append([*complete, *alone])
    for each in rounds:
        good, failed = run_pytest(each)
        broken |= not good and not failed
        failures += [("pytest", test) for test in failed]
    if counts:
        return 1 if failures or broken else 0
    return 0 if judge(failures, build) and not broken else 1


if __name__ == "__main__":
    sys.exit(main())
