# SPDX-License-Identifier: Apache-2.0
"""Every message type of Debian's ROS 1, with random values: each way and each pair of ends gives the bytes that genpy wrote."""

import subprocess
import sys
from pathlib import Path

import pytest
from ros1_network import BUILD

COUNT, SHARED = 3, 65536  # of every_type.py
PYTHON = "/usr/bin/python3"
HERE = Path(__file__).parent
RAW = BUILD / "bin" / "ros1_raw"
API = BUILD / "bin" / "ros1_api_types"
ROSPY = HERE / "programs" / "rospy_types.py"
PACKAGES = (
    "actionlib actionlib_msgs bond diagnostic_msgs dynamic_reconfigure geometry_msgs nav_msgs roscpp rosgraph_msgs sensor_msgs "
    "shape_msgs std_msgs stereo_msgs trajectory_msgs visualization_msgs"
).split()
MISSING = [each for each in PACKAGES if not Path(f"/usr/lib/python3/dist-packages/{each}/msg").exists()]

pytestmark = pytest.mark.skipif(
    bool(MISSING) or not API.exists(),
    reason=f"needs Debian's packages of messages: make setup installs them; not found: {MISSING}",
)


class Messages:
    """The messages of every type, as genpy serialized them."""

    def __init__(self, directory):
        self.directory = directory
        done = subprocess.run(
            [PYTHON, HERE / "every_type.py", directory, "1"], capture_output=True, text=True, check=True
        )
        lines = [line.split() for line in done.stdout.splitlines()]
        self.types = [words[0] for words in lines]
        self.numbered = {words[0] for words in lines if words[1] == "1"}
        self.sizes = {words[0]: [int(word) for word in words[2:]] for words in lines}

    def file(self, name):
        return self.directory / name.replace("/", "__")

    def of(self, name):
        data = self.file(name).read_bytes()
        definition = int(data.split(b"\n", 3)[2].split()[0])
        return records(data[data.index(b"\n", data.index(b"\n", data.index(b"\n") + 1) + 1) + 1 + definition :])


def records(data):
    out, place = [], 0
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "little")
        out.append(data[place + 4 : place + 4 + size])
        place += 4 + size
    return out


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    return Messages(tmp_path_factory.mktemp("types"))


@pytest.fixture(scope="module")
def own_types():
    """Those that the C++ program has types of Baton for."""
    return subprocess.run([API, "list"], capture_output=True, text=True, check=True).stdout.split()


class Way:
    """A source of every type and sinks for it."""

    def __init__(self, ros, messages, directory, types):
        self.ros, self.messages, self.directory, self.types = ros, messages, directory, types
        self.sinks = []

    def run(self, program, role, place, preload, **settings):
        words = [word for name in self.types for word in (name, place(name))]
        return self.ros.run([*program, role, *words], preload, **settings)

    def sink(self, program, preload=False, **settings):
        folder = self.directory / str(len(self.sinks))
        folder.mkdir()
        sink = self.run(program, "sink", lambda name: folder / name.replace("/", "__"), preload, **settings)
        sink.folder = folder
        self.sinks.append(sink)
        return sink

    def source(self, program, preload=False, **settings):
        return self.run(program, "source", self.messages.file, preload, **settings)

    def pump(self, source, *, renumbered=False):
        """Publishes all messages and compares what each sink got. `renumbered`: rospy's publishers number from 1."""
        source.do(f"publish {COUNT}")
        for sink in self.sinks:
            for _ in range(COUNT * len(self.types)):
                sink.line()
        for place, sink in enumerate(self.sinks):
            for name in self.types:
                got, expected = records((sink.folder / name.replace("/", "__")).read_bytes()), self.messages.of(name)
                if renumbered and name in self.messages.numbered:
                    got = [(int.from_bytes(each[:4], "little") - 1).to_bytes(4, "little") + each[4:] for each in got]
                assert got == expected, f"{name} at sink {place}"
            assert sink.more(0) == []


def test_all_of_debians_packages_are_here(messages, own_types):
    assert {name.split("/")[0] for name in messages.types} >= set(PACKAGES)
    missing = [name for name in messages.types if name.split("/")[0] in PACKAGES and name not in own_types]
    assert missing == [], "types of Debian without a type of Baton"
    large = [name for name in messages.types if messages.sizes[name][-1] >= SHARED]
    assert len(large) > 0.7 * len(messages.types), "most have a message that is worth shared memory"


def test_preloaded_ends_and_stock_ends_get_the_bytes_of_genpy(ros, messages, tmp_path):
    way = Way(ros, messages, tmp_path, messages.types)
    way.sink([RAW], preload=True)
    way.sink([RAW])
    source = way.source([RAW], preload=True)
    source.do("subscribers 2")
    way.pump(source)


def test_a_stock_source_and_preloaded_sinks_understand_each_other(ros, messages, tmp_path):
    way = Way(ros, messages, tmp_path, messages.types)
    way.sink([RAW], preload=True)
    source = way.source([RAW])
    source.do("subscribers 1")
    way.pump(source)


@pytest.mark.parametrize("mode", ["lotros", "tzc"])
def test_types_of_baton_have_the_bytes_of_genpy_at_both_ends(ros, messages, own_types, tmp_path, mode):
    way = Way(ros, messages, tmp_path, [name for name in messages.types if name in own_types])
    way.sink([API], BATON_ROS1_MODE=mode)
    way.sink([RAW])
    source = way.source([API], BATON_ROS1_MODE=mode)
    source.do("subscribers 1 1")
    way.pump(source)


def test_types_of_baton_are_read_from_stock_publishers(ros, messages, own_types, tmp_path):
    way = Way(ros, messages, tmp_path, [name for name in messages.types if name in own_types])
    for mode in ("lotros", "tzc"):
        way.sink([API], BATON_ROS1_MODE=mode)
    source = way.source([RAW], preload=True)
    source.do("subscribers 2")
    way.pump(source)


@pytest.fixture
def rospy_ros(ros):
    ros.environment["PYTHONPATH"] = str(BUILD / "python")
    probe = f"import rospy, baton.rospy, sys; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}"
    program = ros.run([PYTHON, "-c", probe], preload=False)
    if program.process.wait(60):
        pytest.skip(f"needs rospy for this Python: apt-get install python3-rospy; {program.errors}")
    return ros


@pytest.mark.parametrize("publisher", ["views", "accelerated", "stock"])
def test_ends_of_rospy_have_the_bytes_of_genpy(rospy_ros, messages, own_types, tmp_path, publisher):
    way = Way(rospy_ros, messages, tmp_path, [name for name in messages.types if name in own_types])
    accelerated = {"BATON_ACCELERATE": "rospy"}
    if publisher == "stock":
        source = way.source([RAW])
    else:
        plain = publisher == "accelerated"
        source = way.source([PYTHON, ROSPY, "plain" if plain else "views"], **(accelerated if plain else {}))
    source.do("subscribers 0")
    # One after another: a process of rospy accepts five connections at a time, and others come again after seconds.
    for place, program in enumerate(([PYTHON, ROSPY, "views"], [PYTHON, ROSPY, "plain"], [API], [RAW])):
        way.sink(program, **(accelerated if "plain" in program else {}))
        source.do(f"subscribers {place + 1}")
    way.pump(source, renumbered=publisher == "accelerated")
