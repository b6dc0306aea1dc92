# SPDX-License-Identifier: Apache-2.0
"""Damaged and malicious bags: all readable messages are read, damage is named, and memory stays bounded."""

from __future__ import annotations

import struct
from types import SimpleNamespace

import pytest
import zstandard
from bag_files import LATCHED, START_NS, STORE1, run, text, write_mcap, write_ros1, write_rosbag2
from baton_record import bag_decompression, bag_mcap
from baton_record.bag_check import check
from baton_record.bag_mcap import CHUNK, MAGIC, records
from baton_record.bag_source import open_bag
from baton_record.bag_types import offer_of
from mcap.writer import CompressionType, Writer

STRING = "std_msgs/msg/String"
MS = 10**6
ROWS = [(f"/{'ab'[n % 2]}", STRING, START_NS + n * MS, text(f"{n}" * 20)) for n in range(40)]


def rows(path):
    with open_bag(path) as bag:
        return [(m.topic.name, STRING, m.time_ns, bytes(m.data)) for m in bag.messages()]


def chunks_of(content):
    """(begin, end) of the chunk records."""
    places = records(memoryview(bytes(content)), len(MAGIC), len(content) - len(MAGIC))
    return [(at, end) for opcode, at, _, end in places if opcode == CHUNK]


@pytest.mark.parametrize("harm", ["byte", "length"])
def test_a_damaged_first_chunk_costs_its_own_messages_alone(tmp_path, harm):
    bag = write_mcap(tmp_path / "bag.mcap", ROWS, chunk_size=400)
    content = bytearray(bag.read_bytes())
    begin, end = chunks_of(content)[0]  # with all schemas and channels
    if harm == "byte":
        content[end - 20 : end] = bytes(20)
    else:
        struct.pack_into("<Q", content, begin + 1, 1 << 60)
    bag.write_bytes(content)
    readable, findings = check(bag)
    assert [finding.at for finding in findings if finding.lost] == [begin]
    assert f"byte {begin}: " in run("recover", bag, tmp_path / "new.mcap")
    left = rows(tmp_path / "new.mcap")
    assert len(left) == readable and left == ROWS[-readable:]
    assert len(left) == 40 if harm == "length" else 30 < len(left) < 40


def test_a_channel_waits_for_its_schema(tmp_path):
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start("ros2", "test")
        schema = writer.register_schema(STRING, "ros2msg", b"string data")
        for number, topic in enumerate(("/a", "/b")):
            channel = writer.register_channel(topic, "cdr", schema)
            writer.add_message(channel, START_NS + number, text("x"), START_NS)
            writer._Writer__finalize_chunk()
        writer.finish()
    content = bytearray((tmp_path / "bag.mcap").read_bytes())
    begin, end = chunks_of(content)[0]
    content[end - 20 : end] = bytes(20)
    (tmp_path / "bag.mcap").write_bytes(content)
    run("recover", tmp_path / "bag.mcap", tmp_path / "new.mcap")
    assert [row[0] for row in rows(tmp_path / "new.mcap")] == ["/b"]
    cut = chunks_of(content)[1][1]  # without a summary there is no schema
    (tmp_path / "cut.mcap").write_bytes(content[:cut])
    assert "the channel /b has no schema" in "".join(finding.what for finding in check(tmp_path / "cut.mcap")[1])


@pytest.mark.parametrize("chunked", [True, False])
def test_messages_of_an_unknown_channel_are_left_out_and_reported(tmp_path, chunked):
    bag = write_mcap(tmp_path / "bag.mcap", ROWS, compression=CompressionType.NONE, use_chunking=chunked)
    content = bytearray(bag.read_bytes())
    at = content.index(struct.pack("<BQH", 5, 22 + len(ROWS[3][3]), 2), content.index(ROWS[2][3]))
    content[at + 9] = 7
    if chunked:
        struct.pack_into("<I", content, chunks_of(content)[0][0] + 9 + 24, 0)  # no CRC
    bag.write_bytes(content)
    said = []
    with open_bag(bag) as opened:
        found = [(m.topic.name, STRING, m.time_ns, bytes(m.data)) for m in opened.messages(on_damage=said.append)]
    assert found == ROWS[:3] + ROWS[4:]
    assert [damage.why for damage in said] == ["messages of channel 7, which is not defined"]
    assert "baton bag recover" in run("convert", bag, tmp_path / "no.mcap", code=1)
    assert "channel 7, which is not defined" in run("recover", bag, tmp_path / "new.mcap")
    assert rows(tmp_path / "new.mcap") == found
    assert check(bag)[0] == 39


def test_chunks_that_overlap_in_time_share_a_budget_of_memory(tmp_path, monkeypatch):
    """Ten chunks of 100 kB, each with the first and the last moment of the bag, and one between them."""
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD, chunk_size=1 << 40)
        writer.start("ros2", "test")
        channel = writer.register_channel("/a", "cdr", writer.register_schema(STRING, "ros2msg", b"string data"))
        for number in range(10):
            for time_ns in (number, 100 + number, 1000 - number):
                writer.add_message(channel, START_NS + time_ns, b"%04d" % time_ns + bytes(33_000), START_NS)
            writer._Writer__finalize_chunk()
        writer.finish()
    alive, most = set(), 0

    class Counted(bytearray):
        """The bytes of a chunk, counted while they are in memory."""

        def __init__(self, content):
            nonlocal most
            super().__init__(content)
            alive.add(id(self))
            most = max(most, len(alive))

        def __del__(self):
            alive.discard(id(self))

    decompressed = bag_mcap._decompressed
    monkeypatch.setattr(bag_mcap, "_decompressed", lambda *a: memoryview(Counted(decompressed(*a))))
    monkeypatch.setattr(bag_mcap, "MOST_KEPT_BYTES", 250_000, raising=False)
    wanted = sorted([*range(10), *range(100, 110), *range(991, 1001)])
    with open_bag(tmp_path / "bag.mcap") as bag:
        found = [int(bytes(message.data[:4])) for message in bag.messages()]
    assert found == wanted
    assert most <= 2 + 3  # two in the budget, one that is read ahead, one whose turn it is, one that was before


def one(path, schema=(STRING, "ros2msg", b"string data"), times=(START_NS, START_NS + MS), topic="/t", metadata=None):
    """A bag of one topic."""
    with path.open("wb") as file:
        writer = Writer(file, compression=CompressionType.NONE)
        writer.start("ros2", "test")
        channel = writer.register_channel(topic, "cdr", writer.register_schema(*schema), metadata or {})
        for time_ns in times:
            writer.add_message(channel, time_ns, text("a"), time_ns)
        writer.finish()
    return path


@pytest.mark.parametrize(
    "said",
    [
        "5",
        "{storage_identifier: mcap, relative_file_paths: 5}",
        "{storage_identifier: mcap, relative_file_paths: [5]}",
        "{storage_identifier: [mcap], relative_file_paths: []}",
        "{storage_identifier: sqlite3, compression_format: [a], relative_file_paths: []}",
    ],
)
def test_metadata_of_other_types_is_refused(tmp_path, said):
    (tmp_path / "metadata.yaml").write_text(f"rosbag2_bagfile_information: {said}\n")
    for verb in ("info", "check"):
        assert "metadata.yaml cannot be read: " in run(verb, tmp_path, code=1)


def test_a_schema_that_cannot_be_read_hides_no_message(tmp_path):
    bag = one(tmp_path / "bag.mcap", ("p/msg/A", "ros2idl", b"module p { nonsense"))
    with open_bag(bag) as opened:
        assert [(topic.type_name, topic.definition, topic.count) for topic in opened.topics] == [("p/A", None, 2)]
        assert len(list(opened.messages())) == 2


def test_a_profile_whose_depth_is_no_number_is_not_offered(tmp_path):
    metadata = {"offered_qos_profiles": LATCHED.replace("depth: 2", "depth: x")}
    with open_bag(one(tmp_path / "bag.mcap", metadata=metadata)) as opened:
        assert offer_of(opened.topics[0]) == {"depth": 10}


def test_names_are_no_markup(tmp_path):
    assert "/a[/b]" in run("info", one(tmp_path / "bag.mcap", topic="/a[/b]"))


def test_a_time_that_another_form_cannot_have_is_named(tmp_path):
    bag = one(tmp_path / "bag.mcap", times=(START_NS, (1 << 64) - 1))
    said = run("convert", bag, tmp_path / "new.bag", code=1)
    assert f"/t: a message of time {(1 << 64) - 1} ns cannot be written" in said


@pytest.mark.parametrize("option", ["--start", "--end"])
@pytest.mark.parametrize("number", ["inf", "nan"])
def test_a_part_has_finite_times(tmp_path, option, number):
    bag = one(tmp_path / "bag.mcap")
    assert f"is a number from 0 on, not {number}" in run("cut", bag, tmp_path / "new.mcap", option, number, code=1)


def changed(path, old, new):
    """The file with these bytes in place of others, which it has."""
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    return path


@pytest.mark.parametrize("compression", ["BZ2", "LZ4"])
@pytest.mark.parametrize(("size", "said"), [(10, "promises 10 bytes"), (1 << 31, "at most 1073741824 are read")])
def test_a_chunk_of_ros_1_takes_no_more_memory_than_its_header_and_the_bound_allow(tmp_path, compression, size, said):
    message = bytes(STORE1.serialize_ros1(STORE1.types[STRING]("x" * 1000), STRING))
    bag = write_ros1(tmp_path / "bag.bag", [("/a", STRING, START_NS, message)], compression=compression)
    assert rows(bag) == [("/a", STRING, START_NS, message)]
    content = bag.read_bytes()
    at = content.index(b"size=") + 5
    bag.write_bytes(content[:at] + struct.pack("<I", size) + content[at + 4 :])
    assert said in run("check", bag, code=1)


def test_a_bag_of_ros_1_with_lengths_beyond_the_memory_is_refused(tmp_path, monkeypatch):
    bag = write_ros1(tmp_path / "bag.bag", [("/a", STRING, START_NS, bytes(4))])

    def without_memory(source, size):
        raise MemoryError

    monkeypatch.setattr("rosbags.rosbag1.reader.read_bytes", without_memory)
    assert "cannot be read: MemoryError()" in run("info", bag, code=1)


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
def test_a_message_that_rosbag2_compressed_takes_no_more_memory_than_it_may(tmp_path, storage):
    frame = bytes.fromhex("28b52ffd e0") + struct.pack("<Q", 1 << 40) + bytes.fromhex("010000")  # an empty block
    folder = write_rosbag2(tmp_path / "bag", [("/a", STRING, START_NS, frame)], storage)
    for named in ("format: zstd", "mode: MESSAGE"):
        changed(
            folder / "metadata.yaml",
            f"compression_{named[: named.index(':')]}: ''".encode(),
            f"compression_{named}".encode(),
        )
    assert "a message of 1099511627776 bytes: at most 1073741824 are read" in run("check", folder, code=1)


def test_a_file_that_rosbag2_compressed_does_not_fill_the_disk(tmp_path, monkeypatch):
    folder = write_rosbag2(tmp_path / "bag", [("/a", STRING, START_NS, text("a" * 100_000))], "SQLITE3")
    (database,) = folder.glob("*.db3")
    compressed = database.with_name(f"{database.name}.zstd")
    compressed.write_bytes(zstandard.compress(database.read_bytes()))
    changed(folder / "metadata.yaml", database.name.encode(), compressed.name.encode())
    for named in ("format: zstd", "mode: FILE"):
        changed(
            folder / "metadata.yaml",
            f"compression_{named[: named.index(':')]}: ''".encode(),
            f"compression_{named}".encode(),
        )
    database.unlink()
    assert len(rows(folder)) == 1
    monkeypatch.setattr(bag_decompression.shutil, "disk_usage", lambda folder: SimpleNamespace(free=100_000))
    monkeypatch.setattr(bag_decompression, "_STEP_BYTES", 1000)
    assert "needs more than half of the free space" in run("info", folder, code=1)


def test_a_database_whose_names_are_no_text_is_damaged(tmp_path):
    folder = write_rosbag2(tmp_path / "bag", ROWS, "SQLITE3")
    (database,) = folder.glob("*.db3")
    changed(database, b"CREATE INDEX timestamp_idx", b"CREATE\xf0INDEX timestamp_idx")
    assert "SQLite" in run("check", database, code=1)
