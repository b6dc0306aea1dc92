# SPDX-License-Identifier: Apache-2.0
"""`baton record`, and its bags as the libraries of MCAP and of ROS 2's bags read them."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import baton
import numpy as np
import pytest
from baton_record.record_process import RecordedTopic, Recorder, RecordError, RecordState
from baton_record.verbs.bag import command as bag_command
from baton_record.verbs.record import _Signals, _StopRequest, command, progress_line, what_was_written
from click.testing import CliRunner
from mcap.reader import make_reader
from record_bags import Recording, needs_direct, publisher, read, record_every_type, ros2_store, stopped_thread
from rosbags.highlevel import AnyReader
from rosbags.typesys import get_types_from_msg
from ruamel.yaml import YAML
from support.build import LIB, RECORD, needs_package
from support.processes import LOG
from support.waiting import until

pytestmark = needs_package(RECORD)
COPY_COUNTER = LIB / "libbaton_link_copy_counter.so"


def fill(image, number, data):
    image.header.frame_id = f"front{number}"
    image.header.stamp.sec = number
    image.width, image.encoding = len(data), "mono8"
    image.data = data


@pytest.mark.parametrize("words", [(), ("--direct",)], ids=["cached", "direct"])
def test_three_libraries_read_the_recorded_messages_back_equal(programs, tmp_path, words):
    if words:
        needs_direct(tmp_path)
    bag = Recording(programs, tmp_path / "drive", "--all", "--crc", *words)
    node = baton.Node("camera")
    images = publisher(node, "image", "sensor_msgs/Image")
    texts = publisher(node, "chatter", "std_msgs/String")
    data = np.arange(1_100_003, dtype=np.uint32).astype(np.uint8)  # whole pages of it are written directly
    for i in range(5):
        with images.loan() as image:
            fill(image, i, data + i)
        texts.publish({"data": f"hello {i}"})
    bag.has(image=5, chatter=5)
    state = bag.stop()
    assert state["direct_bytes"] // 5 // 4096 in ((267, 268) if words else (0,))  # of 268.6 pages

    (path,) = bag.files
    assert path.name == "drive_0.mcap"
    assert CliRunner().invoke(bag_command, ["check", str(bag.directory)]).exit_code == 0
    decoded = read(path)
    pictures = [message for topic, message in decoded if topic == "/image"]
    assert [(p.header.frame_id, p.header.stamp.sec, p.width) for p in pictures] == [
        (f"front{i}", i, 1_100_003) for i in range(5)
    ]
    assert all(np.array_equal(np.frombuffer(p.data, np.uint8), data + i) for i, p in enumerate(pictures))
    assert [m.data for topic, m in decoded if topic == "/chatter"] == [f"hello {i}" for i in range(5)]
    with open(path, "rb") as file:
        summary = make_reader(file).get_summary()
    assert summary.statistics.message_count == 10
    assert {c.topic: (c.message_encoding, summary.schemas[c.schema_id].name) for c in summary.channels.values()} == {
        "/image": ("cdr", "sensor_msgs/msg/Image"),
        "/chatter": ("cdr", "std_msgs/msg/String"),
        **{
            c.topic: ("cdr", summary.schemas[c.schema_id].name)
            for c in summary.channels.values()
            if c.topic in ("/rosout", "/parameter_events")
        },
    }
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == 10
        rows = [(c.topic, reader.deserialize(raw, c.msgtype), at) for c, at, raw in reader.messages()]
    assert [m.data for topic, m, _ in rows if topic == "/chatter"] == [f"hello {i}" for i in range(5)]
    arrays = [message.data for topic, message, _ in rows if topic == "/image"]
    assert all(np.array_equal(array, data + i) for i, array in enumerate(arrays))
    assert [at for _, _, at in rows] == sorted(at for _, _, at in rows)


def fields_of(text, name):
    """The fields of a schema and of all types in it; a type hash does not tell ROS 1's names of uint8 apart."""
    types = get_types_from_msg(text, name)
    return re.sub(
        r"'(byte|char)'", "'uint8'", repr(sorted((each, fields) for each, (_, fields) in types.items()))
    ).lower()


@pytest.mark.parametrize(
    "compression, words", [("zstd", ["--crc"]), ("lz4", []), ("zstd", ["--snapshot", str(10**12)])]
)
def test_compressed_chunks_are_read_back_equal(programs, tmp_path, compression, words):
    bag = Recording(
        programs, tmp_path / "bag", "/image", "--compression", compression, "--chunk-size", "200000", *words
    )
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(30):
        with images.loan() as image:
            fill(image, i, np.full(50_000, i, np.uint8))
        bag.has(image=i + 1)
    if "--snapshot" in words:
        bag.tell("snapshot")
        bag.until(lambda state: state["snapshots"])
    bag.stop()
    assert [(m.header.stamp.sec, set(m.data), len(m.data)) for _, m in read(bag.files[0])] == [
        (i, {i}, 50_000) for i in range(30)
    ]
    with open(bag.files[0], "rb") as file:
        chunks = make_reader(file).get_summary().chunk_indexes
    assert {chunk.compression for chunk in chunks} == {compression} and len(chunks) >= 6
    assert bag.files[0].stat().st_size < 200_000
    assert bag.state["written_bytes"] < 200_000 and bag.state["records_bytes"] > 30 * 50_000
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == 30


def test_every_type_is_written_as_rosbags_writes_it(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "--regex", "/t[0-9]+")
    expected, store = record_every_type(bag), ros2_store()
    with open(bag.files[0], "rb") as file:
        found = {c.topic: (s.name, m.data, s.data.decode()) for s, c, m in make_reader(file).iter_messages()}
    assert {topic: (name, data) for topic, (name, data, _) in found.items()} == expected
    for name, _, text in found.values():
        assert fields_of(text, name) == fields_of(store.generate_msgdef(name, ros_version=2)[0], name)


@pytest.mark.skipif(not COPY_COUNTER.exists(), reason="no test library: make build")
def test_payload_is_not_copied(programs, tmp_path):
    counted = tmp_path / "copies"
    bag = Recording(
        programs, tmp_path / "bag", "/image", env={"LD_PRELOAD": str(COPY_COUNTER), "BATON_TEST_COPIES": str(counted)}
    )
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    payload = 3_000_000
    for i in range(20):
        with images.loan() as image:
            fill(image, i, np.full(payload, i, np.uint8))
        bag.has(image=i + 1)
    bag.stop()
    assert [(m.header.stamp.sec, set(m.data)) for _, m in read(bag.files[0])] == [(i, {i}) for i in range(20)]
    assert int(counted.read_text()) < payload / 10


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_finishes_the_bag_at_a_signal(programs, tmp_path, number):
    command = [sys.executable, "-m", "baton_cli", "record", "-o", tmp_path / "bag", "/chatter", "--json"]
    process = programs.start(command, stderr=LOG)
    talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String")
    for i in range(100):
        talker.publish({"data": str(i)})
    process.send_signal(number)
    out, _ = process.ends()
    assert [(t["topic"], t["messages"]) for t in json.loads(out)["topics"]] == [("/chatter", 100)]
    assert [m.data for _, m in read(tmp_path / "bag/bag_0.mcap")] == [str(i) for i in range(100)]
    again = programs.run(command)
    assert again.returncode == 1 and f"'{tmp_path / 'bag'}' exists already" in again.stderr


def test_topics_are_selected_by_name_type_and_expression_also_those_that_come_later(programs, tmp_path):
    words = ["/named", "--regex", "/left/.*", "--type", "std_msgs/msg/Bool", "--exclude", ".*/secret"]
    bag = Recording(programs, tmp_path / "bag", *words)
    node = baton.Node("robot")
    topics = {
        "named": "std_msgs/String",
        "left/a": "std_msgs/String",
        "left/secret": "std_msgs/String",
        "other": "std_msgs/String",
        "switch": "std_msgs/Bool",
        "a/secret": "std_msgs/Bool",
        "left/_hidden": "std_msgs/String",
    }
    ends = {topic: node.advertise(topic, type_name) for topic, type_name in topics.items()}
    for topic in ("named", "left/a", "switch"):
        assert ends[topic].wait_for_subscriptions(1, 120)
        ends[topic].publish({})
    bag.until(lambda state: sum(t["messages"] for t in state["topics"]) == 3)
    late = publisher(node, "left/late", "std_msgs/String")
    late.publish({})
    bag.until(lambda state: sum(t["messages"] for t in state["topics"]) == 4)
    bag.stop()
    assert sorted(topic for topic, _ in read(bag.files[0])) == ["/left/a", "/left/late", "/named", "/switch"]
    assert [ends[topic].matched for topic in ("left/secret", "other", "a/secret", "left/_hidden")] == [0] * 4


def test_a_latched_message_is_recorded_once_beside_other_publishers(programs, tmp_path):
    node = baton.Node("maps")
    latched = node.advertise("map", "std_msgs/String", qos=baton.QoS(depth=5, durability="transient_local"))
    for i in range(3):
        latched.publish({"data": f"old {i}"})
    bag = Recording(programs, tmp_path / "bag", "/map")
    bag.has(map=3)
    ordinary = publisher(node, "map", "std_msgs/String")
    others = [publisher(node, "map", "std_msgs/String") for _ in range(3)]
    latched.publish({"data": "new"})
    ordinary.publish({"data": "ordinary"})
    bag.has(map=5)
    bag.stop()
    assert sorted(m.data for _, m in read(bag.files[0])) == ["new", "old 0", "old 1", "old 2", "ordinary"]
    assert [note.partition(" has ")[0] for note in bag.state["notes"]] == ["'/map'"]
    assert bag.process.log() == ""  # no further line for each ordinary publisher
    about = YAML(typ="safe").load((bag.directory / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    (topic,) = about["topics_with_message_count"]
    offered = YAML(typ="safe").load(topic["topic_metadata"]["offered_qos_profiles"])
    assert [(qos["durability"], qos["depth"]) for qos in offered] == [(1, 5), (2, 10)]
    del others
    with open(bag.files[0], "rb") as file:
        times = [m.log_time for _, _, m in make_reader(file).iter_messages()]
    assert about["starting_time"]["nanoseconds_since_epoch"] == min(times)
    assert about["duration"]["nanoseconds"] == max(times) - min(times)


def test_messages_of_a_latched_publisher_that_has_left_are_recorded_once(programs, tmp_path):
    ordinary = baton.Node("robot").advertise("map", "std_msgs/String")
    bag = Recording(programs, tmp_path / "bag", "/map", "--max-queue", "1", "--chunk-size", "1")  # takes slowly
    assert ordinary.wait_for_subscriptions(1, 120)
    maps = programs.python(
        """
        import baton
        node = baton.Node("maps")
        latched = node.advertise("map", "std_msgs/String", qos=baton.QoS(depth=200, durability="transient_local"))
        latched.wait_for_subscriptions(2, 120)
        latched.publish({"data": "0"})
        input()
        for i in range(1, 200):
            latched.publish({"data": str(i)})
        """
    )
    bag.has(map=1)
    with stopped_thread(bag.process.pid, "baton-rec-take"):
        maps.tell()
        maps.ends()
    bag.has(map=200)
    ordinary.publish({"data": "200"})
    bag.until(lambda _: bag.topic("map")["messages"] > 200)
    bag.stop()
    assert [m.data for _, m in read(bag.files[0])] == [str(i) for i in range(201)]


def test_the_qos_of_a_later_publisher_is_in_the_bag_too(programs, tmp_path):
    node = baton.Node("maps")
    ordinary = node.advertise("map", "std_msgs/String")
    bag = Recording(programs, tmp_path / "bag", "/map", "/other")
    assert ordinary.wait_for_subscriptions(1, 120)
    ordinary.publish({"data": "ordinary"})
    bag.has(map=1)
    latched = node.advertise("map", "std_msgs/String", qos=baton.QoS(depth=5, durability="transient_local"))
    assert latched.wait_for_subscriptions(2, 120)
    other = publisher(node, "other", "std_msgs/String")
    latched.publish({"data": "latched"})
    other.publish({"data": "other"})
    bag.has(map=2, other=1)
    bag.stop()
    with open(bag.files[0], "rb") as file:
        reader = make_reader(file)
        rows = [(channel.id, channel.topic) for _, channel, _ in reader.iter_messages()]
    assert len(set(rows)) == 3 and len({number for number, _ in rows}) == 3
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == 3
    about = YAML(typ="safe").load((bag.directory / "metadata.yaml").read_text())["rosbag2_bagfile_information"]
    topics = {topic["topic_metadata"]["name"]: topic for topic in about["topics_with_message_count"]}
    assert {name: topic["message_count"] for name, topic in topics.items()} == {"/map": 2, "/other": 1}
    assert len(about["topics_with_message_count"]) == 2
    offered = YAML(typ="safe").load(topics["/map"]["topic_metadata"]["offered_qos_profiles"])
    assert sorted(qos["durability"] for qos in offered) == [1, 2]


def test_expired_messages_are_counted(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/short")
    short = publisher(baton.Node("robot"), "short", "std_msgs/String", qos=baton.QoS(depth=10, lifespan=0.001))
    bag.process.send_signal(signal.SIGSTOP)
    for _ in range(5):
        short.publish({"data": ""})
    time.sleep(0.05)  # the lifespan, at least
    bag.process.send_signal(signal.SIGCONT)
    bag.until(lambda _: bag.topic("short")["missing"].get("expired") == 5)
    bag.stop()


def test_a_recording_without_a_snapshot_says_that_nothing_was_written(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/chatter", "--snapshot", str(10**12))
    publisher(baton.Node("talker"), "chatter", "std_msgs/String").publish({"data": ""})
    assert bag.has(chatter=1)["notes"] == []
    state = bag.stop()
    assert state["notes"] == ["nothing was written: no snapshot was taken"] and state["written_messages"] == 0


def test_a_publisher_whose_times_are_wrong_does_not_delay_the_end(programs, tmp_path):
    bag = Recording(
        programs, tmp_path / "bag", "/liar", "--crc", "--max-queue", "1", "--chunk-size", "1"
    )  # takes slowly
    liar = programs.python(
        """
        import baton, ctypes, numpy
        MAGIC, STAMP = 0x54420100, 32  # of the header before a message
        end = baton.Node("liar").advertise("liar", "std_msgs/UInt8MultiArray", slots=64)
        end.wait_for_subscriptions(1, 120)
        behind = 0
        while True:
            message = end.loan()
            message.data.resize(300_000)
            header = ctypes.addressof(ctypes.c_char.from_buffer(numpy.asarray(message.data))) - behind
            while ctypes.c_uint32.from_address(header).value != MAGIC:
                header, behind = header - 1, behind + 1
            end.publish(message)
            ctypes.c_int64.from_address(header + STAMP).value = 1
        """
    )
    bag.has(liar=100)
    bag.stop()
    liar.kill()


def test_each_file_of_a_split_bag_stands_alone(programs, tmp_path):
    bag = Recording(
        programs, tmp_path / "bag", "--all", "--exclude", "/rosout", "--max-size", "50000", "--chunk-size", "8000"
    )
    talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String")
    for i in range(200):
        talker.publish({"data": f"{i:04}" + "x" * 1000})
    bag.has(chatter=200)
    bag.tell("split")
    bag.tell("split")  # is one: there is no message between them
    bag.tell("pause")
    bag.until(lambda state: state["paused"])
    bag.tell("resume")
    bag.until(lambda state: not state["paused"])
    talker.publish({"data": "0200"})
    bag.has(chatter=201)
    bag.stop()
    parts = [[int(m.data[:4]) for _, m in read(path)] for path in bag.files]
    assert sum(parts, []) == list(range(201)) and parts[-1] == [200] and len(parts) in (5, 6)
    assert all(40_000 < path.stat().st_size < 70_000 for path in bag.files[:-2])
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == 201


def test_messages_during_a_pause_are_left_out_and_the_end_of_the_input_stops(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/chatter", "--paused")
    talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String")
    talker.publish({"data": "before"})
    bag.until(lambda state: state["topics"] and state["paused"])
    watch = baton.Node("watch")
    until(lambda: all(h.unread == 0 for h in watch.holdings(10) if h.unread is not None))
    bag.tell("resume")
    bag.until(lambda state: not state["paused"])
    talker.publish({"data": "now"})
    bag.has(chatter=1)
    bag.process.stdin.close()
    bag.process.stdin = None
    bag.ends()
    assert [m.data for _, m in read(bag.files[0])] == ["now"]


@pytest.mark.parametrize("qos", [None, baton.QoS(history="keep_all", depth=10)])
def test_a_stopped_recorder_counts_displaced_messages_and_no_publisher_waits(programs, tmp_path, qos):
    bag = Recording(programs, tmp_path / "bag", "/chatter")
    talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String", qos=qos)
    bag.process.send_signal(signal.SIGSTOP)
    for i in range(3000):
        talker.publish({"data": str(i)})
    bag.process.send_signal(signal.SIGCONT)
    bag.until(lambda _: bag.topic("chatter")["messages"] + sum(bag.topic("chatter")["missing"].values()) == 3000)
    state = bag.stop()
    (topic,) = state["topics"]
    got = [int(m.data) for _, m in read(bag.files[0])]
    assert got == sorted(got) and got[-1] == 2999 and len(got) == topic["messages"]
    assert topic["missing"]["queue"] == 3000 - len(got) > 0
    assert {reason for reason, count in topic["missing"].items() if count} == {"queue"}


def test_a_short_queue_to_the_disk_loses_nothing_that_waits_unread(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/image", "--max-queue", "1", "--chunk-size", "1")
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(50):
        with images.loan() as image:
            fill(image, i, np.zeros(100_000, np.uint8))
    bag.has(image=50)
    bag.stop()
    assert [m.header.stamp.sec for _, m in read(bag.files[0])] == list(range(50))


def test_a_snapshot_has_the_last_messages_and_bounded_memory(programs, tmp_path):
    words = ["--snapshot", str(3600 * 10**9), "--max-queue", "1000000", "--chunk-size", "50000"]
    bag = Recording(programs, tmp_path / "bag", "/image", *words)
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(40):
        with images.loan() as image:
            fill(image, i, np.full(100_000, i, np.uint8))
        assert bag.has(image=i + 1)["kept_bytes"] <= 1_000_000
    assert not bag.files
    bag.tell("snapshot")
    bag.until(lambda state: state["snapshots"] == 1)
    with images.loan() as image:
        fill(image, 40, np.zeros(100, np.uint8))
    bag.has(image=41)
    bag.tell("snapshot")
    bag.until(lambda state: state["snapshots"] == 2)
    bag.stop()
    first, second = ([(m.header.stamp.sec, set(m.data)) for _, m in read(path)] for path in bag.files)
    assert first == [(i, {i}) for i in range(40 - len(first), 40)] and 8 <= len(first) <= 9
    assert second == [(40, {0})]
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == len(first) + 1


@pytest.mark.parametrize(
    "words, why",
    [
        (["--output", "/proc/none/bag", "-x", "/a"], "unknown option '-x'"),
        (["--output", "/proc/none/bag", "--direct", "--snapshot", "1", "/a"], "without --compression and --snapshot"),
        (
            ["--output", "/proc/none/bag", "--direct", "--compression", "lz4", "/a"],
            "without --compression and --snapshot",
        ),
        (["--output", "/proc/none", "/a"], "the folder '/proc/none' cannot be made"),
        (["/a"], "--output DIR is missing"),
        (["--output", "bag"], "no topic is selected"),
        (["--output", "bag", "--regex", "(["], "'([' is no regular expression"),
        (["--output", "bag", "--max-size", "4G", "/a"], "--max-size is a number"),
        (["--output", "bag", "--interval", "0", "/a"], "--interval is a number from 1 "),
        (["--output", "bag", "--snapshot", "0", "/a"], "--snapshot is a number from 1 "),
    ],
)
def test_a_wrong_word_ends_with_a_sentence(programs, tmp_path, words, why):
    done = programs.run([RECORD, *words], cwd=tmp_path)
    assert done.returncode in (1, 2) and why in done.stderr and done.stderr.count("\n") == 1
    assert not list(Path(tmp_path).glob("bag*"))


def test_a_program_records_pauses_splits_and_stops(tmp_path):
    node = baton.Node("robot")
    talker = node.advertise("chatter", "std_msgs/String")
    with baton.Recorder(tmp_path / "bag", ["chatter"], interval_s=0.02) as recorder:
        assert talker.wait_for_subscriptions(1, 120)
        talker.publish({"data": "one"})
        until(lambda: recorder.state().messages == 1)
        recorder.pause()
        until(lambda: recorder.state().paused)
        recorder.split()
        recorder.resume()
        until(lambda: not recorder.state().paused)
        talker.publish({"data": "two"})
        until(lambda: recorder.state().messages == 2)
    state = recorder.stop()
    assert (state.files, state.written_messages, state.missing, state.failure) == (2, 2, 0, None)
    assert [m.data for i in (0, 1) for _, m in read(tmp_path / f"bag/bag_{i}.mcap")] == ["one", "two"]
    with pytest.raises(RecordError, match="exists already"):
        baton.Recorder(tmp_path / "bag", all=True)
    with pytest.raises(RecordError, match="no topic is selected"):
        baton.Recorder(tmp_path / "other")


def test_the_bag_is_finished_if_the_program_dies(programs, tmp_path):
    program = programs.python(
        f"""
        import baton
        talker = baton.Node("robot").advertise("chatter", "std_msgs/String")
        recorder = baton.Recorder({str(tmp_path / "bag")!r}, all=True, interval_s=0.02)
        talker.wait_for_subscriptions(1, 120)
        talker.publish({{"data": "last"}})
        print(recorder.pid, flush=True)
        input()
        """
    )
    pid = int(program.stdout.readline())
    program.kill()
    program.wait()
    until(lambda: not Path(f"/proc/{pid}").exists() or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z")
    assert [m.data for topic, m in read(tmp_path / "bag/bag_0.mcap") if topic == "/chatter"] == ["last"]


def test_the_progress_line_has_recorded_and_missing_messages_and_the_reasons():
    def state(written, missing, records=None):
        topic = RecordedTopic("/image", "sensor_msgs/msg/Image", 1200, written, {"queue": missing, "disk": 0})
        return RecordState((topic,), (), 1, 1200, written, records or written, 5_000_000, 0, 0, 10**10, False, None)

    line = progress_line(state(3_000_000_000, 7), state(2_000_000_000, 0), 2, 65)
    assert line == (
        "0:01:05 | 1 topics | 1200 messages | 3.0 GB | 500.0 MB/s | queue 5.0 MB | missing 7 | free 10.0 GB, for 0:00:20 | "
        "most of /image: 7 displaced in the queue"
    )
    compressed = progress_line(state(3_000_000_000, 0, 12_000_000_000), state(2_000_000_000, 0), 2, 65)
    assert "| 3.0 GB of 12.0 GB, 25% | 500.0 MB/s |" in compressed


def test_messages_published_before_the_stop_are_in_the_bag_even_if_many_wait(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/image")
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(60):
        with images.loan() as image:
            image.header.stamp.sec = i
            image.data.resize(1_000_000)
    state = bag.stop()
    assert [m.header.stamp.sec for _, m in read(bag.files[0])] == list(range(60))
    assert not any(state["topics"][0]["missing"].values())


@pytest.mark.parametrize("reason, words", [("held", []), ("budget", ["--max-queue", "100000", "--chunk-size", "1"])])
def test_while_the_disk_stands_still_messages_wait_unread_and_displaced_ones_have_their_reason(
    programs, tmp_path, reason, words
):
    bag = Recording(programs, tmp_path / "bag", "/image", *words)
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image", slots=256)
    with stopped_thread(bag.process.pid, "baton-rec-write"):
        for i in range(400):
            with images.loan() as image:
                image.header.stamp.sec = i
                image.data.resize(50_000)
            if i % 10 == 0:  # the recorder looks at its queue between two states
                bag.until(lambda _: True)
    bag.until(lambda _: bag.topic("image")["messages"] + sum(bag.topic("image")["missing"].values()) == 400)
    missing = {name: count for name, count in bag.stop()["topics"][0]["missing"].items() if count}
    got = [m.header.stamp.sec for _, m in read(bag.files[0])]
    assert got == sorted(got) and got[-1] == 399 and len(got) > 16
    assert set(missing) <= {reason, "queue"} and missing[reason] > 0 and sum(missing.values()) == 400 - len(got)


def test_a_signal_that_comes_before_the_recorder_is_there_ends_the_recording_and_not_the_command():
    with pytest.raises(_StopRequest), _Signals() as signals:
        os.kill(os.getpid(), signal.SIGTERM)
        until(lambda: signals._came)
        signals.obey()


def test_a_snapshot_is_asked_for_by_a_flag_from_the_first_moment_on():
    with _Signals() as signals:
        assert not signals.asks_snapshot()
        os.kill(os.getpid(), signal.SIGUSR1)
        until(lambda: signals._asked)
        assert signals.asks_snapshot() and not signals.asks_snapshot()
    assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL


def test_a_snapshot_that_was_asked_for_before_the_recorder_was_there_is_taken(monkeypatch, tmp_path):
    """The recorder is one that ends at its first snapshot."""
    topic = RecordedTopic("/a", "std_msgs/msg/String", 100, 0, {})
    asked = []

    class Asked(Recorder):
        def __init__(self, *_, **__):
            os.kill(os.getpid(), signal.SIGUSR1)

        def state(self):
            return RecordState((topic,), (), 1, 7 * len(asked), 0, 0, 0, 0, len(asked), 10**9, False, None)

        def wait(self, timeout_s):
            return bool(asked) or len(waits) > 100 or waits.append(timeout_s)

        def snapshot(self, timeout_s):
            asked.append(True)

        def stop(self):
            return self.state()

    waits = []
    monkeypatch.setattr("baton_record.verbs.record.Recorder", Asked)
    done = CliRunner().invoke(command, ["-o", str(tmp_path / "bag"), "--snapshot", "5", "/a"])
    assert done.exit_code == 0 and asked == [True], done.output
    assert "7 messages, 0 B in 1 file of " in done.output


def test_a_recording_of_snapshots_without_one_says_that_nothing_was_written():
    topic = RecordedTopic("/a", "std_msgs/msg/String", 100, 5000, {})
    state = RecordState((topic,), (), 0, 0, 0, 0, 0, 5000, 0, 10**9, False, None)
    said = what_was_written(state, Path("bag"), 5, True)
    assert said == "nothing was written: no snapshot was taken in 5.0 s (the key s, or kill -USR1)"
    assert what_was_written(state, Path("bag"), 5, False).startswith("100 messages, ")
