# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: a ROS 1 network per test, and the reason when they cannot run.

The networks of a process are namespaces of one master, which takes a second to start. A test that ends its master, sets what all nodes read, or
uses absolute names has the mark `own_master`."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from ros1_network import BUILD, MASTER, Master, Ros


def pytest_configure(config):
    config.addinivalue_line("markers", "own_master: the test has a ROS master of its own")


def pytest_collection_modifyitems(items):
    missing = None
    if not MASTER.exists():
        missing = "needs a ROS 1 master: apt-get install python3-rosmaster"
    elif not (BUILD / "bin" / "ros1_ends").exists():
        missing = "needs programs of roscpp: make build-ros1"
    here = str(Path(__file__).parent)
    for item in items:
        if missing and str(item.path).startswith(here):
            item.add_marker(pytest.mark.skip(reason=missing))


FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def ros_master(tmp_path_factory):
    master = Master(tmp_path_factory.mktemp("master"))
    yield master
    master.close()


@pytest.fixture
def ros(tmp_path, request):
    own = request.node.get_closest_marker("own_master")
    network = Ros(tmp_path, None if own else request.getfixturevalue("ros_master"))
    try:
        yield network
        if request.node.stash.get(FAILED, False):
            print(network.description())
    finally:
        network.close()
