# SPDX-License-Identifier: Apache-2.0
"""`baton record`, and its bags as the libraries of MCAP and of ROS 2's bags read them."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import baton
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from support import processes
from support.build import RECORD, needs_package
from support.processes import LOG, Programs

pytestmark = needs_package(RECORD)


@pytest.fixture
def programs(runtime_directory):
    with Programs(processes.environment(runtime_directory)) as programs:
        yield programs


class Recording:
    """The program baton_record with its states."""

    def __init__(self, programs, directory, *arguments, **options):
        self.directory = Path(directory)
        words = [RECORD, "--output", directory, "--interval", "20", *arguments]
        self.process = programs.start(words, stderr=LOG, **options)
        self.state = self.next()

    def next(self):
        line = self.process.stdout.readline()
        assert line, self.process.log()
        self.state = json.loads(line)
        return self.state

    def until(self, condition):
        """The first state for which the condition holds."""
        while not condition(self.next()):
            assert not self.state["last"], self.state
        return self.state

    def messages(self, topic):
        return next((t["messages"] for t in self.state["topics"] if t["topic"] == topic), 0)

    def has(self, **counts):
        """Waits until so many messages of each topic are recorded."""
        return self.until(lambda _: all(self.messages(f"/{topic}") >= n for topic, n in counts.items()))

    def stop(self, code=0):
        self.process.tell("stop")
        while not self.next()["last"]:
            pass
        self.process.ends(code)
        return self.state

    @property
    def files(self):
        return sorted(self.directory.glob("*.mcap"))


def read(path):
    """(topic, message) of a file in the order of the file's index, decoded by the library mcap-ros2-support."""
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        return [(channel.topic, message) for _, channel, _, message in reader.iter_decoded_messages()]


def publisher(node, topic, type_name, recording, **options):
    made = node.advertise(topic, type_name, **options)
    made.wait_for_subscriptions(1, 60)
    return made


def test_what_is_recorded_is_read_back_equal_by_three_libraries(programs, tmp_path):
    bag = Recording(programs, tmp_path / "drive", "--all")
    node = baton.Node("camera")
    images = publisher(node, "image", "sensor_msgs/Image", bag)
    texts = publisher(node, "chatter", "std_msgs/String", bag)
    data = np.arange(1_000_003, dtype=np.uint32).astype(np.uint8)
    for i in range(5):
        with images.loan() as image:
            image.header.frame_id = f"front{i}"
            image.header.stamp.sec = i
            image.width, image.encoding = 1_000_003, "mono8"
            image.data = data + i
        texts.publish({"data": f"hello {i}"})
    bag.has(image=5, chatter=5)
    bag.stop()

    (path,) = bag.files
    assert path.name == "drive_0.mcap"
    decoded = read(path)
    pictures = [message for topic, message in decoded if topic == "/image"]
    assert [(p.header.frame_id, p.header.stamp.sec, p.width) for p in pictures] == [
        (f"front{i}", i, 1_000_003) for i in range(5)
    ]
    assert all(np.array_equal(np.frombuffer(p.data, np.uint8), data + i) for i, p in enumerate(pictures))
    assert [m.data for topic, m in decoded if topic == "/chatter"] == [f"hello {i}" for i in range(5)]
    with open(path, "rb") as file:
        summary = make_reader(file, validate_crcs=True).get_summary()
    assert summary.statistics.message_count == 10
    assert {c.topic: (c.message_encoding, summary.schemas[c.schema_id].name) for c in summary.channels.values()} == {
        "/image": ("cdr", "sensor_msgs/msg/Image"),
        "/chatter": ("cdr", "std_msgs/msg/String"),
    }
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == 10
        rows = [(c.topic, reader.deserialize(raw, c.msgtype), at) for c, at, raw in reader.messages()]
    assert [m.data for topic, m, _ in rows if topic == "/chatter"] == [f"hello {i}" for i in range(5)]
    assert all(np.array_equal(m.data, data + i) for i, (_, m, _) in enumerate(r for r in rows if r[0] == "/image"))
    assert [at for _, _, at in rows] == sorted(at for _, _, at in rows)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_finishes_the_bag_at_a_signal(programs, tmp_path, number):
    command = [sys.executable, "-m", "baton_cli", "record", "-o", tmp_path / "bag", "/chatter", "--json"]
    process = programs.start(command, stderr=LOG)
    node = baton.Node("talker")
    talker = node.advertise("chatter", "std_msgs/String")
    talker.wait_for_subscriptions(1, 60)
    for i in range(100):
        talker.publish({"data": str(i)})
    talker.wait_for_all_acked(60)
    process.send_signal(number)
    out, _ = process.ends()
    assert [(t["topic"], t["messages"]) for t in json.loads(out)["topics"]] == [("/chatter", 100)]
    assert [m.data for _, m in read(tmp_path / "bag/bag_0.mcap")] == [str(i) for i in range(100)]
    again = programs.run(command)
    assert again.returncode == 1 and "'" + str(tmp_path / "bag") + "' exists already" in again.stderr
