#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs chosen tests many times beside busy loops and processes that are stopped now and then: a test that waits wrongly fails here first.

    scripts/shake.py N TEST ...      N rounds; a TEST is an argument of pytest, or ctest:REGEX for tests of the release build
    make shake ARGS="10 link/tests/qos_test.py ctest:^transport_tests"

Prints each failure once, with the number of rounds that had it; status 1 if there was one. Logs: out/shake.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter

import run_tests
from parts import ROOT

BUSY_LOOPS = 4
OUT = ROOT / "out/shake"


class Pauses:
    """Stops a random process below this one for up to 300 ms, again and again, as a busy machine does less often."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(random.uniform(0.2, 1.0)):
            below = self._descendants()
            if below:
                self._pause(random.choice(below))

    def _pause(self, pid: int) -> None:
        try:
            if self._state(pid) == "T":  # a test has stopped it itself
                return
            os.kill(pid, signal.SIGSTOP)
            self._over.wait(random.uniform(0.02, 0.3))
            os.kill(pid, signal.SIGCONT)
        except OSError:
            pass  # it has ended

    @staticmethod
    def _state(pid: int) -> str:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]

    @staticmethod
    def _descendants() -> list[int]:
        parents: dict[int, list[int]] = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat") as file:
                        parents.setdefault(int(file.read().rpartition(")")[2].split()[1]), []).append(int(name))
                except (OSError, IndexError):
                    continue
        found: list[int] = []
        waiting = [os.getpid()]
        while waiting:
            children = parents.get(waiting.pop(), [])
            found += children
            waiting += children
        return found


def main() -> int:
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    rounds, tests = int(sys.argv[1]), sys.argv[2:]
    of_ctest = [test.removeprefix("ctest:") for test in tests if test.startswith("ctest:")]
    of_pytest = [test for test in tests if not test.startswith("ctest:")]
    OUT.mkdir(parents=True, exist_ok=True)
    run_tests.TESTS = OUT / "tests.tsv"
    run_tests.TESTS.write_text(run_tests.HEAD)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_LOOPS)]
    failures: Counter[str] = Counter()
    try:
        for number in range(1, rounds + 1):
            print(f"=== round {number} of {rounds}", flush=True)
            pauses = Pauses()
            try:
                for regex in of_ctest:
                    good, failed = run_tests.run_ctest(ROOT / "build/release", ["-R", regex])
                    failures.update(failed if failed or good else ["ctest itself"])
                if of_pytest:
                    good, failed = run_tests.run_pytest(["-n", "2", "--dist", "loadfile", *of_pytest])
                    failures.update(failed if failed or good else ["pytest itself"])
            finally:
                pauses.end()
    finally:
        for process in busy:
            process.kill()
    for test, count in failures.most_common():
        print(f"shake: {count} of {rounds} rounds: {test}")
    print(f"shake: {rounds} rounds, {len(failures)} tests failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
