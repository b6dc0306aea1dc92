# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a ROS domain per test, and the reason when they cannot run."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ros2_processes import LIBRARY, PYTHON, Processes
from support.ros2 import ALONE

# What these tests promise needs an RMW below.
NEEDS_ANOTHER_RMW = {
    "test_an_unusable_underlying_rmw_is_named",
    "test_doctor_names_a_subscription_that_baton_does_not_serve",
    "test_a_lent_message_reaches_a_subscription_that_baton_does_not_serve",
    "test_a_type_that_is_laid_out_differently_takes_the_underlying_rmw_and_is_named_once",
    "test_a_publisher_with_the_gid_of_an_honest_writer_does_not_silence_it",
    "test_a_publisher_whose_memory_never_comes_delays_an_honest_writer_only_for_a_time",
    "test_a_peer_that_says_it_is_a_writer_of_the_link_silences_nobody",
}


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
        if missing and str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason=missing))
        kinds = getattr(item, "callspec", None)
        if not ALONE or not str(item.path).startswith(here) or item.path.name == "bridge_test.py":
            continue
        if kinds is not None and "plain" in kinds.params.values() or item.name.split("[")[0] in NEEDS_ANOTHER_RMW:
            item.add_marker(pytest.mark.skip(reason="Baton alone meets no program of another RMW"))
