# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a ROS domain per test, and the reason when they cannot run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ros2_processes import LIBRARY, PYTHON, Processes


@pytest.fixture
def processes():
    found = Processes()
    yield found
    found.close()


@pytest.fixture
def worlds():
    """The stock RMW, which shows that a test asks for no more than ROS 2 promises, and Baton, in a domain each: they run at the same time."""
    found = [(rmw, Processes()) for rmw in ("plain", "baton")]
    yield found
    for _, processes in found:
        processes.close()


def pytest_collection_modifyitems(items):
    missing = None
    if not PYTHON.exists():
        missing = "needs ROS 2's Python packages: make setup"
    elif not LIBRARY.exists():
        missing = "needs librmw_baton_cpp.so: build the preset release after make setup"
    for item in items:
        if missing and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.skip(reason=missing))
