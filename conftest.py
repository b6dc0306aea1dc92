# SPDX-License-Identifier: Apache-2.0
"""At the end of every run: a table of the skipped tests with the reasons. At its beginning: the order of files for pytest-xdist's workers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

# A reason that names a command which provides the missing part. Other reasons are about parts that this machine cannot have.
WAY_OUT = re.compile(r"make (setup|build|test)|apt-get install")

# Long files with few tests. The longest comes first, so that no worker begins one when the others have finished.
LONG = (
    "python/tests/wheel_test.py",
    "tests/house/consumption_test.py",
    "ros2/tests/bridge_test.py",
    "ros1/tests/debian_programs_test.py",
    "ros1/tests/every_type_test.py",
    "ros2/tests/story_test.py",
    "lab/tests/ros1_experiments_test.py",
    "cli/tests/link_test.py",
    "cli/tests/topic_test.py",
    "link/tests/hostile_test.py",
    "ros2/tests/qos_test.py",
    "cli/tests/param_test.py",
    "link/tests/link_test.py",
    "ros2/tests/kill_test.py",
    "cli/tests/domain_test.py",
    "ros2/tests/event_test.py",
)
# The longest files of all, whose tests share no fixture: any worker takes any of their tests. They come last and fill the gaps.
SPREAD = (
    "link/tests/bad_days_test.py",
    "ros2/tests/hostile_peer_test.py",
    "ros1/tests/conformance_test.py",
)
# Divided by the family of an attack, with which the name of each case begins: the attacks of one worker share honest processes.
HOSTILE = "tests/hostile/hostile_test.py"


TESTS_TSV: list[Path] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nothing-missing",
        action="store_true",
        help="fail if a test is skipped for something that could be installed (scripts/run_tests.py, where `make test` installs it)",
    )
    parser.addoption("--tests-tsv", type=Path, help="write what each phase of each test took to this file")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--tests-tsv") and not hasattr(
        config, "workerinput"
    ):  # a worker's reports reach the process that started it
        TESTS_TSV.append(config.getoption("--tests-tsv"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A row for each phase of each test, for scripts/run_tests.py and scripts/slowest.py."""
    if TESTS_TSV:
        row = ("pytest", report.nodeid, report.when, f"{report.duration:.3f}", report.outcome)
        with TESTS_TSV[0].open("a") as out:
            out.write("\t".join(map(str, row)) + "\n")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers take the files in this order, if pytest-xdist does not sort them (--no-loadscope-reorder)."""
    if not hasattr(config, "workerinput"):
        return
    tests = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[int, int]:
        name = item.path.relative_to(config.rootpath).as_posix()
        first = [HOSTILE, *LONG]
        return first.index(name) if name in first else len(first) + (name in SPREAD), -tests[item.path]

    items.sort(key=place)


def unit_of(test: str) -> str:
    """The tests that one worker runs together: those of a file, except files that are divided."""
    file, _, name = test.partition("::")
    return f"{file}::{name.partition(':')[0]}" if file == HOSTILE else test if file in SPREAD else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile` divides by unit_of()."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByUnit(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

    return ByUnit(config, log)


def reason_of(report: Any) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    reasons = Counter(reason_of(report) for report in terminalreporter.stats.get("skipped", []))
    if not reasons:
        return
    missing = config.getoption("--nothing-missing")
    terminalreporter.section("skipped")
    for reason, count in reasons.most_common():
        verdict = "  MISSING" if missing and WAY_OUT.search(reason) else ""
        terminalreporter.write_line(f"{count:6d}  {reason}{verdict}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus != 0 or reporter is None or not session.config.getoption("--nothing-missing"):
        return
    if any(WAY_OUT.search(reason_of(report)) for report in reporter.stats.get("skipped", [])):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
