# SPDX-License-Identifier: Apache-2.0
"""At the end of every run: which tests were skipped, and why, in one table."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

# A reason that names the way to get what is missing. Others say what this machine cannot have.
WAY_OUT = re.compile(r"make (setup|build|test)|apt-get install")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--nothing-missing",
        action="store_true",
        help="fail if a test is skipped for something that could be installed (scripts/test.sh, where `make test` installs it)",
    )


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
