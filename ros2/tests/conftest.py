# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a ROS domain per test, and the reason when they cannot run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ros2_processes import LIBRARY, PYTHON, Processes
from support.ros2 import ALONE


@pytest.fixture
def processes():
    found = Processes()
    yield found
    found.close()


@pytest.fixture
def pairs():
    """Every combination of a writer and a reader with and without Baton, in a domain each: they run at the same time."""
    kinds = [(writer, reader) for writer in ("plain", "baton") for reader in ("plain", "baton")]
    found = [(*kind, Processes()) for kind in kinds if not (ALONE and "plain" in kind)]
    yield found
    for _, _, processes in found:
        processes.close()


def pytest_collection_modifyitems(items):
    missing = None
    if not PYTHON.exists():
        missing = "needs ROS 2's Python packages: make setup"
    elif not LIBRARY.exists():
        missing = "needs librmw_baton_cpp.so: build the preset release after make setup"
    here = str(Path(__file__).parent)
    for item in items:
        kinds = getattr(item, "callspec", None)
        if ALONE and kinds is not None and "plain" in kinds.params.values():
            item.add_marker(pytest.mark.skip(reason="Baton alone meets no program of another RMW"))
        if missing and str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason=missing))
