# SPDX-License-Identifier: Apache-2.0
"""Every message type of Debian's ROS 1, with random values: each way and each pair of ends gives the bytes that genpy wrote."""

import subprocess
from pathlib import Path

import pytest
from ros1_network import BUILD, without_rospy

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
def own_types(messages):
    """Those that the C++ program has types of Baton for: all of Debian's packages."""
    own = subprocess.run([API, "list"], capture_output=True, text=True, check=True).stdout.split()
    assert {name.split("/")[0] for name in messages.types} >= set(PACKAGES)
    missing = [name for name in messages.types if name.split("/")[0] in PACKAGES and name not in own]
    assert missing == [], "types of Debian without a type of Baton"
    large = [name for name in messages.types if messages.sizes[name][-1] >= SHARED]
    assert len(large) > 0.7 * len(messages.types), "most have a message that is worth shared memory"
    return own


# How each kind of source and sink is started: its program, whether it is preloaded, and its settings.
KINDS = {
    "preload": ([RAW], True, {}),
    "stock": ([RAW], False, {}),
    "lotros": ([API], False, {"BATON_ROS1_MODE": "lotros"}),
    "tzc": ([API], False, {"BATON_ROS1_MODE": "tzc"}),
    "views": ([PYTHON, ROSPY, "views"], False, {}),
    "accelerated": ([PYTHON, ROSPY, "plain"], False, {"BATON_ACCELERATE": "rospy"}),
}


def start(ros, kind, role, files):
    program, preload, settings = KINDS[kind]
    return ros.run([*program, role, *(word for pair in files.items() for word in pair)], preload, **settings)


@pytest.mark.parametrize("publisher", KINDS)
def test_every_kind_of_sink_has_the_bytes_of_genpy(ros, messages, own_types, tmp_path, publisher):
    ros.environment["PYTHONPATH"] = str(BUILD / "python")
    missing = without_rospy()
    kinds = [kind for kind, (program, *_) in KINDS.items() if not (missing and program[0] == PYTHON)]
    if publisher not in kinds:
        pytest.skip(missing)
    own = [name for name in messages.types if name in own_types]
    parts = [(own, kinds)]
    if KINDS[publisher][0] == [RAW]:
        parts.append(([name for name in messages.types if name not in own], ["preload", "stock"]))
    for types, sinks in ros.each(parts):
        pump(ros, messages, types, tmp_path / str(len(types)), publisher, sinks)
    if missing:
        pytest.skip(f"the other kinds passed; {missing}")


def pump(ros, messages, types, directory, publisher, kinds):
    """Publishes all messages of these types and compares what a sink of each kind got."""
    source = start(ros, publisher, "source", {name: messages.file(name) for name in types})
    sinks, of_baton = [], 0
    # One after another: a process of rospy accepts five connections at a time, and others come again after seconds.
    for place, kind in enumerate(kinds, 1):
        folder = directory / kind
        folder.mkdir(parents=True)
        files = {name: folder / name.replace("/", "__") for name in types}
        sinks.append((kind, files, start(ros, kind, "sink", files)))
        of_baton += KINDS[kind][0] != [RAW]
        counts = (of_baton, place - of_baton) if KINDS[publisher][0] == [API] else (place,)  # and those by TCP
        source.do(f"subscribers {' '.join(map(str, counts))}")
    source.do(f"publish {COUNT}")
    for kind, files, sink in sinks:
        for _ in range(COUNT * len(files)):
            sink.line()
        for name, file in files.items():
            got, expected = records(file.read_bytes()), messages.of(name)
            if publisher == "accelerated" and name in messages.numbered:  # rospy numbers from 1
                got = [(int.from_bytes(each[:4], "little") - 1).to_bytes(4, "little") + each[4:] for each in got]
            assert got == expected, f"{name} at {kind}"
        assert sink.more(0) == []
