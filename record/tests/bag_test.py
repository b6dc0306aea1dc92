# SPDX-License-Identifier: Apache-2.0
"""The verbs of `baton bag`: their output, and the bags that they write, read by the libraries."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import struct
import sys
import threading

import numpy as np
import pytest
from bag_files import LATCHED, START_NS, STORE, STORE1, run, text, values, write_mcap, write_ros1, write_rosbag2
from baton_record.bag_check import check
from baton_record.bag_copy import copy
from baton_record.bag_errors import BagError, needed
from baton_record.bag_mcap import CHUNK, DATA_END, MAGIC, records
from baton_record.bag_source import chosen, open_bag
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import CompressionFormat, CompressionMode
from rosbags.rosbag2 import Writer as Writer2

STRING = "std_msgs/msg/String"
MS = 10**6


def texts(path):
    """(topic, milliseconds, text) of a bag of texts, as this room reads it."""
    with open_bag(path) as bag:
        return [
            (m.topic.name, (m.time_ns - START_NS) // MS, STORE.deserialize_cdr(bytes(m.data), STRING).data)
            for m in bag.messages()
        ]


ROWS = [(f"/{'ab'[n % 2]}", n, f"{n}" * 20) for n in range(40)]


def strings(path, rows=ROWS, **options):
    options.setdefault("chunk_size", 400)
    return write_mcap(path, [(topic, STRING, START_NS + ms * MS, text(data)) for topic, ms, data in rows], **options)


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize(
    "how", [{}, {"use_chunking": False}, {"index_types": IndexType.NONE}, {"use_statistics": False}], ids=str
)
def test_files_of_every_form_are_read_in_the_order_of_time(tmp_path, compression, how):
    rows = random.Random(3).sample(ROWS, len(ROWS))
    bag = strings(tmp_path / "bag.mcap", rows, compression=compression, **how)
    assert texts(bag) == ROWS
    with open_bag(bag) as opened:
        assert (opened.count, opened.start_ns, opened.end_ns, opened.damage) == (40, START_NS, START_NS + 39 * MS, "")
        few = opened.messages(chosen(opened.topics, ["/a"]), START_NS + 10 * MS, START_NS + 20 * MS)
        assert [(m.time_ns - START_NS) // MS for m in few] == [10, 12, 14, 16, 18]


def test_messages_outside_of_chunks_are_found_beside_those_in_chunks(tmp_path):
    bag = strings(tmp_path / "bag.mcap", ROWS[:20], compression=CompressionType.NONE)
    content = bag.read_bytes()
    chunks = chunks_of(content)
    loose = struct.pack("<BQHIQQ", 5, 22 + len(text("x")), 1, 0, START_NS, 0) + text("x")
    at = chunks[0][0]  # before the first chunk, so that only the places in the summary are wrong
    bag.write_bytes(content[:at] + loose + content[at:])
    assert len(texts(bag)) == 21


def test_a_recording_of_several_files_is_one_bag(tmp_path):
    folder = tmp_path / "split"
    folder.mkdir()
    for number in range(12):
        strings(folder / f"split_{number}.mcap", ROWS[number * 3 : number * 3 + 3])
    assert texts(folder) == ROWS[:36]  # without metadata.yaml, as after a kill
    with open_bag(folder) as bag:
        before = threading.active_count()
        messages = bag.messages()
        for _ in range(20):
            next(messages)
            assert threading.active_count() <= before + 2  # of two files
    assert [finding.what for finding in check(folder)[1]] == ["there is no metadata.yaml"]


@pytest.mark.parametrize("mode", [CompressionMode.FILE, CompressionMode.MESSAGE])
def test_bags_that_rosbag2_compressed_are_read(tmp_path, mode):
    writer = Writer2(tmp_path / "bag", version=9)
    writer.set_compression(mode, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/a", STRING, typestore=STORE)
        writer.write(connection, START_NS, text("hello"))
    assert texts(tmp_path / "bag") == [("/a", 0, "hello")]


def every_type(store, version):
    chance = random.Random(5)
    serialize = store.serialize_cdr if version == 2 else store.serialize_ros1
    names = sorted(store.fielddefs)
    return [
        (f"/t{n}", name, START_NS + n, bytes(serialize(values(store, name, chance), name)))
        for n, name in enumerate(names)
    ]


def library_reads(path):
    with AnyReader([path]) as reader:
        return [(c.topic, c.msgtype, time, reader.deserialize(data, c.msgtype)) for c, time, data in reader.messages()]


def fields_of(message):
    """By name; CameraInfo of ROS 1 has names in capitals. Without ROS 1's `seq`, and the only member of an empty message."""
    members = [f.name for f in dataclasses.fields(message) if not str(f.type).startswith("ClassVar")]
    found = {name.lower(): getattr(message, name) for name in members}
    return {name: value for name, value in found.items() if name not in ("seq", "structure_needs_at_least_one_member")}


def alike(one, other):
    """Whether two objects of rosbags, of whichever ROS, have the same values."""
    if dataclasses.is_dataclass(one):
        mine, others = fields_of(one), fields_of(other)
        return mine.keys() == others.keys() and all(alike(mine[name], others[name]) for name in mine)
    if isinstance(one, np.ndarray):
        return one.tobytes() == np.asarray(other).tobytes()
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


def chunks_of(content):
    """(begin, end) of the chunk records of an MCAP file's bytes."""
    found = []
    for opcode, at, _, end in records(memoryview(bytes(content)), len(MAGIC), len(content)):
        if opcode == DATA_END:
            return found
        if opcode == CHUNK:
            found.append((at, end))
    raise AssertionError("no DataEnd")


def test_every_type_of_ros_1_is_the_same_in_ros_2_and_comes_back(tmp_path):
    old = write_ros1(tmp_path / "old.bag", every_type(STORE1, 1))
    run("convert", old, tmp_path / "new.mcap")
    run("convert", tmp_path / "new.mcap", tmp_path / "back.bag", "--compression", "lz4")
    before, new, back = (library_reads(tmp_path / name) for name in ("old.bag", "new.mcap", "back.bag"))
    assert len(before) == len(new) == len(back) > 100
    for one, two, three in zip(before, new, back, strict=True):
        assert one[:3] == two[:3] == three[:3]
        assert alike(one[3], two[3]) and alike(two[3], three[3]), one[1]
    with AnyReader([old]) as reader, AnyReader([tmp_path / "back.bag"]) as other:
        digests = {c.msgtype: c.digest for c in reader.connections}
        assert {c.msgtype: c.digest for c in other.connections} == digests


def test_every_type_of_ros_2_is_read_by_the_libraries_after_a_conversion(tmp_path):
    messages = every_type(STORE, 2)
    old = write_rosbag2(tmp_path / "old", messages, "SQLITE3")
    run("convert", old, tmp_path / "new.mcap", "--compression", "lz4")
    run("convert", tmp_path / "new.mcap", tmp_path / "folder", "--compression", "zstd")
    with AnyReader([tmp_path / "folder"]) as reader:
        assert [(c.topic, c.msgtype, time, bytes(data)) for c, time, data in reader.messages()] == messages
        hashes = {c.msgtype: STORE.hash_rihs01(c.msgtype) for c in reader.connections}
        assert {c.msgtype: c.digest for c in reader.connections} == hashes
    with (tmp_path / "new.mcap").open("rb") as file:
        decoded = list(
            make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True).iter_decoded_messages()
        )
    assert [(d.channel.topic, d.message.data) for d in decoded] == [(topic, data) for topic, _, _, data in messages]


def test_a_conversion_keeps_quality_of_service_and_latching(tmp_path):
    bag = strings(tmp_path / "bag.mcap", ROWS[:2], qos={"/a": LATCHED})
    run("convert", bag, tmp_path / "two")
    run("convert", tmp_path / "two", tmp_path / "one.bag")
    run("convert", tmp_path / "one.bag", tmp_path / "again.mcap")
    for name in ("bag.mcap", "two", "one.bag", "again.mcap"):
        with open_bag(tmp_path / name) as opened:
            assert {topic.name: topic.latched for topic in opened.topics} == {"/a": True, "/b": False}, name
    with open_bag(tmp_path / "two") as opened:
        assert opened.topics[0].offered[0].depth == 2


def test_cut_selects_by_time_and_topic_and_begins_with_the_messages_of_latched_topics(tmp_path):
    bag = strings(tmp_path / "bag.mcap", qos={"/a": LATCHED})
    run("cut", bag, tmp_path / "part.mcap", "--start", 0.011, "--end", 0.015)
    # number 10 of /a was held at the start
    assert [(t, ms, d[:2]) for t, ms, d in texts(tmp_path / "part.mcap")] == [
        ("/a", 11, "10"), ("/b", 11, "11"), ("/a", 12, "12"), ("/b", 13, "13"), ("/a", 14, "14"),
    ]  # fmt: skip
    run("cut", bag, tmp_path / "b.mcap", "-x", "/a")
    assert texts(tmp_path / "b.mcap") == [row for row in ROWS if row[0] == "/b"]
    assert "not behind" in run("cut", bag, tmp_path / "no.mcap", "-s", 2, "-e", 1, code=1)
    assert "no topic is chosen: /a, /b" in run("cut", bag, tmp_path / "no.mcap", "-t", "/c", code=1)


def test_merge_sorts_the_messages_of_all_by_time(tmp_path):
    one = strings(tmp_path / "one.mcap", ROWS[::3])
    two = write_rosbag2(
        tmp_path / "two", [(t, STRING, START_NS + ms * MS, text(d)) for t, ms, d in ROWS[1::3] + ROWS[2::3]], "SQLITE3"
    )
    run("merge", one, two, "-o", tmp_path / "all.mcap")
    assert texts(tmp_path / "all.mcap") == ROWS
    assert check(tmp_path / "all.mcap") == (40, [])
    with open_bag(tmp_path / "all.mcap") as opened:
        assert [(topic.name, topic.count) for topic in opened.topics] == [("/a", 20), ("/b", 20)]


def test_attachments_and_metadata_are_kept(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start("ros2", "test")
        channel = writer.register_channel("/a", "cdr", writer.register_schema(STRING, "ros2msg", b"string data"))
        writer.add_message(channel, START_NS + 5, text("x"), START_NS, 77)
        writer.add_attachment(1, 2, "map.png", "image/png", b"png")
        writer.add_metadata("robot", {"name": "r2"})
        writer.finish()
    run("cut", tmp_path / "bag.mcap", tmp_path / "new.mcap")
    with (tmp_path / "new.mcap").open("rb") as file:
        reader = make_reader(file)
        ((schema, _, message),) = reader.iter_messages()
        assert (message.log_time, message.publish_time, message.sequence) == (START_NS + 5, START_NS, 77)
        assert schema.data == b"string data"
        assert [a.data for a in reader.iter_attachments()] == [b"png"]
        assert [m.metadata for m in reader.iter_metadata()] == [{"name": "r2"}]


def test_nothing_is_overwritten_and_nothing_partial_stays(tmp_path):
    bag = strings(tmp_path / "bag.mcap")
    for name in ("there.mcap", "there.bag", "there"):
        (tmp_path / name).write_text("mine")
        assert "exists already" in run("cut", bag, tmp_path / name, code=1)
        assert (tmp_path / name).read_text() == "mine"
    (tmp_path / "link.mcap").symlink_to(tmp_path / "nowhere")
    assert "exists already" in run("cut", bag, tmp_path / "link.mcap", code=1)
    before = sorted(os.listdir(tmp_path))
    broken = write_mcap(tmp_path / "run" / "broken.mcap", [("/a", STRING, START_NS, b"\0\1\0\0\xff\0\0\0ab")])
    with open_bag(broken) as opened, pytest.raises(BagError, match="cannot be converted"):
        copy([opened], tmp_path / "x.bag")
    with open_bag(bag) as opened:
        for name in ("x.mcap", "x.bag", "x"):
            with pytest.raises(KeyboardInterrupt):
                copy([opened], tmp_path / name, on_message=lambda message: (_ for _ in ()).throw(KeyboardInterrupt))
    assert sorted(os.listdir(tmp_path)) == before
    # a name that somebody takes while the bag is written
    with open_bag(bag) as opened, pytest.raises(BagError, match="exists already"):
        copy([opened], tmp_path / "x.mcap", on_message=lambda message: (tmp_path / "x.mcap").write_text("other"))
    assert (tmp_path / "x.mcap").read_text() == "other"


def test_info_names_topics_types_counts_and_rates(tmp_path):
    bag = strings(tmp_path / "bag.mcap", qos={"/a": LATCHED})
    said = run("info", bag)
    assert "40 messages in 0.039 s, from 2023-11-14 22:13:20.000000 UTC" in said
    assert any(line.split() == ["/a", "std_msgs/String", "20", "487.18", "latched"] for line in said.splitlines())
    found = json.loads(run("info", bag, "--json"))
    assert (found["messages"], found["size_bytes"], found["duration_s"]) == (40, bag.stat().st_size, 0.039)
    assert found["topics"][1] == {
        "topic": "/b", "type": "std_msgs/String", "encoding": "cdr", "messages": 20, "latched": False, "has_definition": True,
    }  # fmt: skip
    assert "does not exist" in run("info", tmp_path / "none", code=1)


@pytest.mark.parametrize("compression", CompressionType)
def test_a_file_cut_at_any_record_is_read_and_recovered_to_there(tmp_path, compression):
    bag = strings(tmp_path / "bag.mcap", ROWS[:12], compression=compression)
    content = bag.read_bytes()
    places = [at for _, at, _, _ in records(memoryview(content), len(MAGIC), len(content) - len(MAGIC))]
    chance = random.Random(1)
    before = -1
    for number, at in enumerate(sorted({*places, *(chance.randrange(len(MAGIC), len(content)) for _ in range(15))})):
        cut, new = tmp_path / "cut.mcap", tmp_path / f"new{number}.mcap"
        cut.write_bytes(content[:at])
        readable, findings = check(cut)
        assert findings and [row[1] for row in texts(cut)] == list(range(readable))
        assert before <= readable
        before = readable
        with open_bag(cut, walk=True) as opened:
            assert copy([opened], new) == readable
        assert check(new) == (readable, [])
    assert before == 12


def test_a_cut_in_an_uncompressed_chunk_loses_the_message_under_it_alone(tmp_path):
    bag = strings(tmp_path / "bag.mcap", ROWS[:12], compression=CompressionType.NONE, chunk_size=10**6)
    content = bag.read_bytes()
    cut = content.index(text(ROWS[7][2])) + 5
    (tmp_path / "cut.mcap").write_bytes(content[:cut])
    assert run("recover", tmp_path / "cut.mcap", tmp_path / "new.mcap").startswith(
        f"{tmp_path}/new.mcap: 7 messages\nleft out: "
    )
    assert texts(tmp_path / "new.mcap") == ROWS[:7]


def test_each_changed_byte_of_a_file_is_noticed(tmp_path):
    bag = strings(tmp_path / "bag.mcap", ROWS[:6], enable_data_crcs=True)
    content = bytearray(bag.read_bytes())
    assert check(bag) == (6, [])
    header = struct.unpack_from("<Q", content, len(MAGIC) + 1)[0] + 9 + len(MAGIC)
    for at in range(header, len(content), 7):
        content[at] ^= 0x55
        (tmp_path / "changed.mcap").write_bytes(content)
        assert check(tmp_path / "changed.mcap")[1], f"byte {at}"
        content[at] ^= 0x55


def test_a_damaged_chunk_costs_its_own_messages_alone(tmp_path):
    bag = strings(tmp_path / "bag.mcap", compression=CompressionType.ZSTD)
    content = bytearray(bag.read_bytes())
    chunks = chunks_of(content)
    content[chunks[1][1] - 20 : chunks[1][1]] = bytes(20)
    bag.write_bytes(content)
    said = run("check", bag, code=1)
    assert f"{bag}, byte {chunks[1][0]}: a chunk that zstd does not read" in said
    found = json.loads(run("check", bag, "--json", code=1))
    assert (found["whole"], found["lost"]) == (False, True)
    assert "baton bag recover" in run("convert", bag, tmp_path / "no.mcap", code=1)
    run("recover", bag, tmp_path / "new.mcap")
    left = texts(tmp_path / "new.mcap")
    assert len(left) == found["messages"] and 0 < 40 - len(left) < 15
    assert left == [row for row in ROWS if row in left]


def test_a_wrong_length_costs_nothing_if_there_is_a_summary(tmp_path):
    bag = strings(tmp_path / "bag.mcap")
    content = bytearray(bag.read_bytes())
    at = chunks_of(content)[1][0]
    struct.pack_into("<Q", content, at + 1, 1 << 50)
    bag.write_bytes(content)
    assert f"byte {at}: a record of {1 << 50} bytes" in run("check", bag, code=1)
    run("recover", bag, tmp_path / "new.mcap")
    assert texts(tmp_path / "new.mcap") == ROWS


def test_false_sizes_take_no_memory(tmp_path):
    bag = strings(tmp_path / "bag.mcap", compression=CompressionType.ZSTD)
    content = bytearray(bag.read_bytes())
    at = next(
        at for opcode, at, _, _ in records(memoryview(bytes(content)), len(MAGIC), len(content)) if opcode == CHUNK
    )
    for size, said in ((1 << 40, "at most"), (10, "and 10 are promised"), (1 << 30, "are promised")):
        struct.pack_into("<Q", content, at + 9 + 16, size)
        (tmp_path / "lie.mcap").write_bytes(content)
        assert any(said in finding.what for finding in check(tmp_path / "lie.mcap")[1])
    struct.pack_into("<Q", content, at + 1, 1 << 62)
    (tmp_path / "lie.mcap").write_bytes(content)
    assert any(finding.at == at for finding in check(tmp_path / "lie.mcap")[1])


def test_databases_and_bags_of_ros_1_are_checked(tmp_path):
    rows = [(topic, STRING, START_NS + ms * MS, text(data)) for topic, ms, data in ROWS]
    folder = write_rosbag2(tmp_path / "two", rows, "SQLITE3")
    old = write_ros1(tmp_path / "one.bag", [(*row[:3], text("x")[4:-1] + b"x") for row in rows])
    assert "is whole: 40 messages" in run("check", folder)
    assert "is whole: 40 messages" in run("check", old)
    database = next(folder.glob("*.db3"))
    content = bytearray(database.read_bytes())
    content[4096:8192] = bytes(4096)
    database.write_bytes(content)
    assert "SQLite" in run("check", folder, code=1)
    old.write_bytes(old.read_bytes()[:3000])
    assert "cannot be read" in run("check", old, code=1)
    assert "rosbag reindex" in run("recover", old, tmp_path / "no.mcap", code=1)


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
def test_metadata_that_does_not_fit_is_found_and_hides_no_message(tmp_path, storage):
    rows = [(topic, STRING, START_NS + ms * MS, text(data)) for topic, ms, data in ROWS]
    folder = write_rosbag2(tmp_path / "two", rows, storage)
    assert check(folder) == (40, [])
    metadata = folder / "metadata.yaml"
    changed = (
        metadata.read_text()
        .replace("message_count: 40", "message_count: 41")
        .replace("nanoseconds: 39000000", "nanoseconds: 7")
    )
    metadata.write_text(changed.replace("offered_qos_profiles: []", f"offered_qos_profiles: '{LATCHED}'"))
    assert "says 41 messages, and 40 can be read" in run("check", folder, code=2)
    assert texts(folder) == ROWS
    with open_bag(folder) as bag:
        assert (bag.count, bag.end_ns) == (40, START_NS + 39 * MS)
        assert len(list(bag.messages(bag.topics, bag.start_ns, bag.end_ns + 1))) == 40


def test_statistics_with_wrong_times_hide_no_message(tmp_path):
    bag = strings(tmp_path / "bag.mcap", enable_crcs=False)
    content = bag.read_bytes()
    times = struct.pack("<QQ", START_NS, START_NS + 39 * MS)
    at = content.rindex(times)  # of the statistics, behind all chunks
    bag.write_bytes(content[:at] + struct.pack("<QQ", START_NS + 5, START_NS + 7) + content[at + 16 :])
    with open_bag(bag) as opened:
        assert (opened.start_ns, opened.end_ns) == (START_NS, START_NS + 39 * MS)
    assert "statistics say other times" in run("check", bag, code=2)


def test_messages_of_a_type_that_no_library_reads_are_copied_unchanged_or_named(tmp_path):
    from mcap.writer import Writer

    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file)
        writer.start("ros2", "test")
        schema = writer.register_schema("a/msg/Odd", "ros2msg", b"---")
        channel = writer.register_channel("odd", "cdr", schema, {"topic_type_hash": "RIHS01_" + "1" * 64})
        writer.add_message(channel, START_NS, b"x", START_NS)
        writer.finish()
    run("cut", tmp_path / "bag.mcap", tmp_path / "new.mcap", "-t", "/odd")
    with open_bag(tmp_path / "new.mcap") as opened:
        assert [(topic.name, topic.definition, topic.digest[:8]) for topic in opened.topics] == [
            ("odd", "---", "RIHS01_1")
        ]
    assert "leave it out: -x odd" in run("convert", tmp_path / "bag.mcap", tmp_path / "new.bag", code=1)


def test_a_missing_library_names_the_extra(monkeypatch):
    with pytest.raises(BagError, match=r"need the Python package no_such_library: pip install 'baton-ipc\[bag\]'"):
        needed("no_such_library.reader")


@pytest.mark.parametrize("missing", ["mcap", "rosbags.rosbag2"])
def test_the_command_names_the_extra(tmp_path, monkeypatch, missing):
    bag = strings(tmp_path / "bag.mcap") if missing == "mcap" else write_rosbag2(tmp_path / "bag", [], "SQLITE3")
    monkeypatch.setitem(sys.modules, missing, None)
    assert "pip install 'baton-ipc[bag]'" in run("info", bag, code=1)


def test_other_forms_are_refused_with_a_hint(tmp_path):
    bag = strings(tmp_path / "bag.mcap")
    assert "--storage sqlite3" in run("convert", bag, tmp_path / "x.db3", code=1)
    assert "none, bz2, lz4" in run("convert", bag, tmp_path / "x.bag", "--compression", "zstd", code=1)
    assert "there is no folder" in run("convert", bag, tmp_path / "no" / "x.bag", code=1)
