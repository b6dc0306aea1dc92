# SPDX-License-Identifier: Apache-2.0
"""Messages recorded as they lie in memory: played back, turned into CDR, and refused where a file lies."""

from __future__ import annotations

import random

import baton
import numpy as np
import pytest
from baton import _core
from baton_record.bag_check import check
from baton_record.bag_source import open_bag
from baton_record.play_player import Player
from baton_record.verbs.bag import command
from click.testing import CliRunner
from mcap.reader import make_reader
from mcap.writer import Writer
from record_bags import Recording, publisher, read, record_every_type
from rosbags.highlevel import AnyReader
from support.build import RECORD, needs_package

pytestmark = needs_package(RECORD)
SFM = "baton_sfm"


def raw(path):
    """(topic, bytes) of the messages of a file, all of which lie as in memory."""
    with open(path, "rb") as file:
        rows = list(make_reader(file, validate_crcs=True).iter_messages())
    assert {channel.message_encoding for _, channel, _ in rows} == {SFM}
    return [(channel.topic, message.data) for _, channel, message in rows]


def fill(image, number):
    image.header.frame_id = f"front{number}"
    image.header.stamp.sec = number
    image.data = np.full(100_000 + number, number, np.uint8)


@pytest.fixture
def drive(programs, tmp_path):
    """A bag of five images, whose payload is referred to, and five texts, which are copied."""
    bag = Recording(programs, tmp_path / "drive", "/image", "/chatter", "--raw-sfm", "--crc")
    node = baton.Node("camera")
    images, texts = publisher(node, "image", "sensor_msgs/Image"), publisher(node, "chatter", "std_msgs/String")
    for i in range(5):
        with images.loan() as image:
            fill(image, i)
        texts.publish({"data": f"hello {i}"})
    bag.has(image=5, chatter=5)
    bag.stop()
    assert len(raw(bag.files[0])) == 10 and check(bag.directory) == (10, [])
    return bag.directory


def test_the_recorded_messages_are_played(drive):
    node = baton.Node("viewer")
    images, texts = node.subscribe("image", "sensor_msgs/Image", qos=20), node.subscribe("chatter", "std_msgs/String")
    with Player(drive, rate=1000) as player:
        assert player.wait_for_subscriptions(timeout=120) and player.play() == 10
    for i in range(5):
        image = images.take(120)
        assert (image.header.frame_id, image.header.stamp.sec, len(image.data)) == (f"front{i}", i, 100_000 + i)
        assert set(image.data) == {i}
        assert texts.take(120).data == f"hello {i}"


def test_conversion_makes_cdr_and_ros_1_of_it(drive, tmp_path):
    for name in ("new.mcap", "new.bag"):
        done = CliRunner().invoke(command, ["convert", str(drive), str(tmp_path / name)])
        assert done.exit_code == 0, done.output
    images = [m for topic, m in read(tmp_path / "new.mcap") if topic == "/image"]
    assert [(m.header.frame_id, len(m.data), set(m.data)) for m in images] == [
        (f"front{i}", 100_000 + i, {i}) for i in range(5)
    ]
    with AnyReader([tmp_path / "new.bag"]) as reader:
        rows = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages() if c.topic == "/chatter"]
    assert [m.data for m in rows] == [f"hello {i}" for i in range(5)]


def test_every_type_becomes_the_cdr_that_rosbags_writes(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "--regex", "/t[0-9]+", "--raw-sfm")
    expected = record_every_type(bag)
    done = CliRunner().invoke(command, ["convert", str(bag.directory), str(tmp_path / "cdr.mcap")])
    assert done.exit_code == 0, done.output
    with open(tmp_path / "cdr.mcap", "rb") as file:
        found = {channel.topic: message.data for _, channel, message in make_reader(file).iter_messages()}
    assert found == {topic: data for topic, (_, data) in expected.items()}


def test_no_bytes_of_a_file_are_taken_for_a_message_unchecked(drive):
    """Each message is cut, grown, and changed at random: it is a message of its type, or is refused, and no byte outside of it is read."""
    chance = random.Random(41)
    classes = {"/image": baton.message("sensor_msgs/Image"), "/chatter": baton.message("std_msgs/String")}
    refused = 0
    for topic, whole in raw(drive / "drive_0.mcap")[:4]:
        assert _core._cdr_of_sfm(classes[topic], whole)
        for _ in range(400):
            wrong = bytearray(whole[: chance.choice([len(whole), chance.randrange(len(whole))])])
            for _ in range(chance.randrange(4)):
                if wrong:
                    wrong[chance.randrange(min(len(wrong), 80))] = chance.choice([0, 1, 127, 128, 255])
            try:
                _core._cdr_of_sfm(classes[topic], wrong)
            except baton.MalformedMessage:
                refused += 1
    assert refused > 400


def test_a_damaged_message_is_left_out_with_a_sentence(drive, tmp_path):
    (_, whole) = next(row for row in raw(drive / "drive_0.mcap") if row[0] == "/chatter")
    with open(tmp_path / "wrong.mcap", "wb") as file:
        writer = Writer(file)
        writer.start()
        schema = writer.register_schema("std_msgs/msg/String", "ros2msg", b"string data\n")
        channel = writer.register_channel("/chatter", SFM, schema)
        for number, data in enumerate([b"", whole[:4], b"\xff" * len(whole), whole]):
            writer.add_message(channel, number, data, number)
        writer.finish()
    texts = baton.Node("viewer").subscribe("chatter", "std_msgs/String")
    said = []
    with Player(tmp_path / "wrong.mcap", on_skip=said.append) as player:
        assert player.wait_for_subscriptions(timeout=120) and player.play() == 1
    assert texts.take(120).data == "hello 0"
    assert len(said) == 1 and "/chatter: a message is left out" in said[0] and "std_msgs/String" in said[0]
    done = CliRunner().invoke(command, ["convert", str(tmp_path / "wrong.mcap"), str(tmp_path / "new.mcap")])
    assert done.exit_code == 0 and "new.mcap: 1 message\n" in done.output
    assert "left out: 3 messages; the first: /chatter: a message cannot be converted" in done.output
    with open_bag(tmp_path / "new.mcap") as converted:
        assert [message.time_ns for message in converted.messages()] == [3]
