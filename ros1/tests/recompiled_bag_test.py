# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of rosbag's C++ API and of topic_tools, beside the same programs of ROS."""

import subprocess
from pathlib import Path

import pytest
from ros1_network import BUILD, LARGE, PAIRS, image

pytestmark = [
    pytest.mark.own_master,  # its topics have absolute names
    pytest.mark.skipif(
        not (BUILD / "bin" / "ros1_recompiled_bag_types").exists(),
        reason="needs librosbag-dev: make build-ros1",
    ),
]
HERE = Path(__file__).parent
KINDS = ["recompiled", "stock"]


def types(kind, *words):
    """What the program of every type prints."""
    program = BUILD / "bin" / ("ros1_recompiled_bag_types" if kind == "recompiled" else "ros1_bag_types")
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    """The bag of every type that the program of each kind has written."""
    folder = tmp_path_factory.mktemp("bags")
    (folder / "types").mkdir()
    words = ["/usr/bin/python3", HERE / "every_type.py", folder / "types", "1"]
    subprocess.run(words, capture_output=True, check=True)
    for kind in KINDS:
        types(kind, "write", folder / "types", folder / f"{kind}.bag")
    return {kind: folder / f"{kind}.bag" for kind in KINDS}


def contents(bag):
    """Topic, type, time and bytes of each message, by a reader that is not of ROS."""
    rosbag1 = pytest.importorskip("rosbags.rosbag1")
    with rosbag1.Reader(bag) as reader:
        return [(c.topic, c.msgtype, c.digest, c.msgdef, time, data) for c, time, data in reader.messages()]


def test_a_recompiled_program_writes_and_copies_the_bags_that_the_stock_program_writes_and_copies(bags, tmp_path):
    own, stock = contents(bags["recompiled"]), contents(bags["stock"])
    assert len(own) > 1000
    assert len({kind for _, kind, *_ in own}) > 90
    assert own == stock
    for kind in KINDS:  # without objects of the messages
        types(kind, "write", bags["stock"].parent / "types", tmp_path / f"{kind}.bag")
        types(kind, "copy", bags["recompiled"], tmp_path / f"{kind}.bag")
    copied = contents(tmp_path / "recompiled.bag")
    assert len(copied) == 2 * len(stock)
    assert copied == contents(tmp_path / "stock.bag")


def test_every_message_of_a_bag_is_the_same_object_in_both_programs(bags):
    lines = {(reader, writer): types(reader, "read", bags[writer]) for reader in KINDS for writer in KINDS}
    expected = lines["stock", "stock"]
    said = "\n".join(expected)
    assert "not instantiated" not in said and "other bytes" not in said and "other text" not in said
    assert len([line for line in expected if line.startswith("played ")]) == 6
    for pair, own in lines.items():
        assert own == expected, pair


def start(ros, kind, *words):
    return ros.start(kind, "bag_images", *words)


def listeners(ros, topic="images"):
    return [ros.start(kind, "ends", "listener", topic, 100, 0, 0) for kind in KINDS]


def bag_of_images(ros, kind, folder, count=10):
    path = folder / f"{kind}.bag"
    writes = start(ros, kind, "write", path, 1, count, LARGE)
    assert writes.process.wait(60) == 0, writes.errors
    return path


def test_messages_of_a_bag_that_a_program_publishes_reach_every_subscriber_once_and_the_latched_one_late_ones(
    ros, tmp_path
):
    for kind in ros.each(KINDS):
        path, receivers = bag_of_images(ros, kind, tmp_path), listeners(ros)
        plays = start(ros, kind, "play", path, "/images", 2)
        assert plays.line() == "played"
        for receives in receivers:
            assert [receives.line() for _ in range(10)] == [image(i + 1, seq=0) for i in range(10)], (
                "numbered as in the bag"
            )
        ros.check_nothing_more(*receivers)
        latches = start(ros, kind, "latch", path, "/latched")
        assert latches.line() == "played"
        receivers = listeners(ros, "latched")
        assert [receives.line() for receives in receivers] == [image(10, seq=0)] * len(receivers)
        ros.check_nothing_more(*receivers, topic="latched")


def test_messages_of_any_type_that_a_program_passes_on_and_records_arrive_once(ros, tmp_path):
    for publisher, kind in ros.each(PAIRS):
        receivers = listeners(ros, "passed_on")
        bag = tmp_path / f"{publisher}-{kind}.bag"
        records = start(ros, kind, "record", bag, "/images", 10)
        assert records.line() == "recording"
        sends = ros.start(publisher, "ends", "talker", "images", 100, "volatile")
        relays = start(ros, kind, "relay", "/images", "/passed_on", 2)
        assert relays.line() == "ready"
        sends.do("subscribers 2")
        sends.do(f"publish {LARGE} 10 0")
        for receives in receivers:
            assert [receives.line() for _ in range(10)] == [image(i + 1) for i in range(10)]
        assert records.process.wait(60) == 0
        recorded = contents(bag)
        assert [kind for _, kind, *_ in recorded] == ["sensor_msgs/msg/Image"] * 10
        assert all(len(data) > LARGE for *_, data in recorded)
        sends.do("publish 10 1 0")  # what came too often would come before
        assert [receives.line() for receives in receivers] == ["11 10 10 good"] * len(receivers)
