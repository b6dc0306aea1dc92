# SPDX-License-Identifier: Apache-2.0
"""Small bags that would become large: whoever looks at a stranger's bag keeps memory, disk and terminal."""

from __future__ import annotations

import errno
import random
import sqlite3
import struct
import tracemalloc
from pathlib import Path

import pytest
import zstandard
from bag_files import LATCHED, START_NS, run, text, write_mcap, write_ros1, write_rosbag2
from baton_record import bag_decompression, bag_mcap, bag_metadata, bag_sink, bag_source
from baton_record.bag_check import check
from baton_record.bag_errors import BagError
from baton_record.bag_mcap import CHUNK, FOOTER_BYTES, MAGIC, records
from baton_record.bag_source import open_bag
from mcap.writer import CompressionType, Writer
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.rosbag2.enums import CompressionFormat, CompressionMode

STRING = "std_msgs/msg/String"
ROWS = [(f"/{'ab'[n % 2]}", STRING, START_NS + n, text(f"{n}" * 20)) for n in range(40)]
MIB = 1 << 20


def rows(path: Path) -> list[tuple[str, str, int, bytes]]:
    with open_bag(path) as bag:
        return [(m.topic.name, STRING, m.time_ns, bytes(m.data)) for m in bag.messages()]


def most_of_opening(path: Path) -> int:
    """The most memory that Python had while the bag was opened and closed."""
    tracemalloc.start()
    try:
        open_bag(path).close()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_chunk_in_the_summary_is_not_decompressed(tmp_path):
    bag = write_mcap(tmp_path / "bag.mcap", ROWS)
    plain = bytes(64 * MIB)
    data = zstandard.compress(plain)
    chunk = struct.pack("<QQQII", 1, 1, len(plain), 0, 4) + b"zstd" + struct.pack("<Q", len(data)) + data
    content = bag.read_bytes()
    end = len(content) - len(MAGIC) - FOOTER_BYTES
    bag.write_bytes(content[:end] + struct.pack("<BQ", CHUNK, len(chunk)) + chunk + content[end:])
    open_bag(bag).close()  # imports
    assert most_of_opening(bag) < 16 * MIB
    assert rows(bag) == ROWS


def test_channels_that_share_a_schema_share_its_text(tmp_path):
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start("ros2", "test")
        schema = writer.register_schema(STRING, "ros2msg", b"string data\n" + b"#" * MIB)
        for number in range(100):
            writer.add_message(writer.register_channel(f"/t{number}", "cdr", schema), START_NS, text("x"), START_NS)
        writer.finish()
    open_bag(tmp_path / "bag.mcap").close()
    assert most_of_opening(tmp_path / "bag.mcap") < 32 * MIB
    assert len(rows(tmp_path / "bag.mcap")) == 100


@pytest.mark.parametrize("encoding", ["ros2msg", "ros1msg"])
def test_a_definition_has_a_bound(tmp_path, encoding):
    """A parser would take a hundred times its size, and more time than anybody has."""
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD)
        writer.start("ros2", "test")
        names = {"/long": b"".join(b"int8 a%d\n" % number for number in range(100_000)), "/short": b"int8 a\n"}
        for topic, definition in names.items():
            channel = writer.register_channel(topic, "cdr", writer.register_schema("p/msg/A", encoding, definition))
            writer.add_message(channel, START_NS, bytes(8), START_NS)
        writer.finish()
    with open_bag(tmp_path / "bag.mcap") as bag:
        known = {topic.name: topic.definition for topic in bag.topics}
    assert known == {"/long": None, "/short": "int8 a\n"}
    assert "the bag has no definition of p/A" in run(
        "convert", tmp_path / "bag.mcap", tmp_path / "new.bag", "-t", "/long", code=1
    )


@pytest.mark.parametrize("walks", [False, True])
def test_the_schemas_of_a_file_have_a_bound(tmp_path, monkeypatch, walks):
    bag = write_mcap(tmp_path / "bag.mcap", ROWS, chunk_size=400)
    monkeypatch.setattr(bag_mcap, "MOST_CATALOG_BYTES", 30)
    said = []
    with open_bag(bag, walks) as opened:
        assert opened.topics == []
        assert "schemas and channels have more than 30 bytes" in opened.damage
        assert list(opened.messages(on_damage=said.append)) == []


def test_many_channels_wait_for_their_schemas_in_no_row(tmp_path):
    """Each schema is compared with the channels that wait for it alone: 6,000 of both took seconds, and the bag may have ten times as many."""
    looked = 0

    class Number(int):
        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal looked
            looked += 1
            return int(self) == other

    from mcap.records import Channel, Schema

    catalog = bag_mcap.Catalog()
    for number in range(1, 1001):
        catalog.add_channel(Channel(number, f"/{number}", "cdr", {}, Number(number)), 0)
    for number in range(1, 1001):
        catalog.add_schema(Schema(number, b"", "ros2msg", STRING), 0)
    assert len(catalog.channels) == 1000 and looked < 10_000


def test_a_compressed_chunk_has_a_bounded_number_of_messages(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_mcap, "MOST_MESSAGES", 20)
    crowded = write_mcap(tmp_path / "crowded.mcap", ROWS)
    readable, findings = check(crowded)
    assert readable == 0 and any("more than 20 messages" in finding.what for finding in findings)
    plain = write_mcap(tmp_path / "plain.mcap", ROWS, compression=CompressionType.NONE)
    assert rows(plain) == ROWS  # each of its messages has its bytes in the file
    long = [(*row[:3], text(random.Random(row[2]).randbytes(10_000).hex())) for row in ROWS]  # several blocks of zstd
    cut = write_mcap(tmp_path / "cut.mcap", long)
    content = cut.read_bytes()
    end = next(end for opcode, _, _, end in records(memoryview(content), len(MAGIC), len(content)) if opcode == CHUNK)
    cut.write_bytes(content[: end - 5])
    assert rows(cut) == long[:20]


def test_what_latched_topics_hold_keeps_no_chunks(tmp_path, monkeypatch):
    """Twenty chunks of 4 MiB, each with a message that a latched topic holds to the end."""
    with (tmp_path / "bag.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.ZSTD, chunk_size=1 << 40)
        writer.start("ros2", "test")
        schema = writer.register_schema(STRING, "ros2msg", b"string data")
        pad = writer.register_channel("/pad", "cdr", schema)
        for number in range(20):
            latched = writer.register_channel(f"/t{number}", "cdr", schema, {"offered_qos_profiles": LATCHED})
            writer.add_message(latched, START_NS + number, text(str(number)), START_NS)
            writer.add_message(pad, START_NS + number, bytes(4 * MIB), START_NS)
            writer._Writer__finalize_chunk()
        writer.add_message(pad, START_NS + 10**9, text("last"), START_NS)
        writer.finish()
    tracemalloc.start()
    try:
        run("cut", tmp_path / "bag.mcap", tmp_path / "new.mcap", "--start", 0.5)
        assert tracemalloc.get_traced_memory()[1] < 60 * MIB
    finally:
        tracemalloc.stop()
    assert len(rows(tmp_path / "new.mcap")) == 21
    monkeypatch.setattr("baton_record.bag_held.MOST_HELD_BYTES", 30)
    said = run("cut", tmp_path / "bag.mcap", tmp_path / "no.mcap", "--start", 0.5, code=1)
    assert "more than 30 bytes: leave out /t" in said and not (tmp_path / "no.mcap").exists()


def test_zeros_are_no_records(tmp_path):
    (tmp_path / "hole.mcap").write_bytes(MAGIC + bytes(9000))
    _, findings = check(tmp_path / "hole.mcap")
    assert [(finding.at, finding.what) for finding in findings] == [(8, "a record of no kind: zeros")]


MERGED = "- &a {history: 1, depth: 7}\n- {<<: [*a, *a], depth: 3}\n"


def test_maps_that_merge_each_other_are_not_read(tmp_path):
    bag = write_mcap(tmp_path / "bag.mcap", ROWS, qos={"/a": MERGED, "/b": LATCHED})
    with open_bag(bag) as opened:
        assert [len(topic.offered) for topic in opened.topics] == [0, 1]
    folder = write_rosbag2(tmp_path / "folder", ROWS, "SQLITE3")
    (database,) = folder.glob("*.db3")
    connection = sqlite3.connect(database)
    connection.execute("UPDATE topics SET offered_qos_profiles = ?", (MERGED,))
    connection.commit()
    connection.close()
    assert "its QoS has aliases" in run("info", folder, code=1)
    assert "its QoS has aliases" in run("check", folder, code=1)
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text() + "  custom: &a {a: 1}\n  more: {<<: [*a, *a]}\n")
    assert "maps that are merged (<<) are not read" in run("info", folder, code=1)


def test_the_qos_of_channels_has_a_bound(tmp_path, monkeypatch):
    """The library's parser takes milliseconds for each hundred bytes."""
    bag = write_mcap(tmp_path / "bag.mcap", ROWS, qos={"/a": LATCHED, "/b": LATCHED + " "})
    monkeypatch.setattr(bag_source, "MOST_QOS_BYTES", len(LATCHED))
    with open_bag(bag) as opened:
        assert sorted(bool(topic.offered) for topic in opened.topics) == [False, True]


def test_metadata_has_a_bound(tmp_path, monkeypatch):
    folder = write_rosbag2(tmp_path / "folder", ROWS, "MCAP")
    monkeypatch.setattr(bag_metadata, "MOST_METADATA_BYTES", 100)
    assert "at most 100 are read" in run("info", folder, code=1)


@pytest.mark.parametrize("name", ["metadata.yaml", "bag.mcap", "bag.db3", "bag.bag"])
def test_what_is_no_ordinary_file_is_not_read(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/null")  # /dev/zero would never end
    bag = tmp_path if name in ("metadata.yaml", "bag.mcap") else tmp_path / name
    for verb in ("info", "check"):
        assert "is no ordinary file" in run(verb, bag, code=1)


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_mcap_files_inside_of_a_compression_have_the_same_bounds(tmp_path, monkeypatch, mode):
    folder = tmp_path / "folder"
    writer = Writer2(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    with writer:
        ends = {
            name: writer.add_connection(name, STRING, msgdef="string data", rihs01="RIHS01_00") for name in ("/a", "/b")
        }
        for name, _, time_ns, data in ROWS:
            writer.write(ends[name], time_ns, data)
    assert rows(folder) == ROWS
    assert "is whole: 40 messages" in run("check", folder)
    (file,) = (each for each in folder.iterdir() if each.suffix != ".yaml")
    if mode == "FILE":
        file.write_bytes(b"no zstd")
        assert "cannot be read" in run("info", folder, code=1)
        inside = write_mcap(tmp_path / "inside.mcap", ROWS)
        file.write_bytes(zstandard.compress(inside.read_bytes()))
    else:
        write_mcap(file, [(*row[:3], zstandard.compress(row[3])) for row in ROWS])
    assert rows(folder) == ROWS
    monkeypatch.setattr(bag_mcap, "MOST_CHUNK_BYTES", 100)
    assert "at most 100 are read" in run("check", folder, code=1)


def test_check_looks_at_sums_inside_of_a_compression(tmp_path):
    writer = Writer2(tmp_path / "folder", version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.FILE, CompressionFormat.ZSTD)
    with writer:
        end = writer.add_connection("/a", STRING, msgdef="string data", rihs01="RIHS01_00")
        writer.write(end, START_NS, ROWS[0][3])
    (file,) = (tmp_path / "folder").glob("*.mcap.*")
    inside = bytearray(write_mcap(tmp_path / "inside.mcap", ROWS[:1], compression=CompressionType.NONE).read_bytes())
    file.write_bytes(zstandard.compress(bytes(inside)))
    assert "is whole: 1 message" in run("check", tmp_path / "folder")
    inside[inside.index(ROWS[0][3]) + 10] ^= 1
    file.write_bytes(zstandard.compress(bytes(inside)))
    assert "is whole" not in run("check", tmp_path / "folder", code=1)


def test_metadata_that_names_another_storage_leads_past_no_bound(tmp_path):
    folder = write_rosbag2(tmp_path / "folder", ROWS, "MCAP")
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("storage_identifier: mcap", "storage_identifier: sqlite3"))
    assert "is no database" in run("info", folder, code=1)


def test_all_files_that_rosbag2_compressed_share_the_free_space(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_decompression, "_STEP_BYTES", 1000)
    monkeypatch.setattr(bag_decompression, "PART_OF_DISK", 1)
    monkeypatch.setattr(bag_decompression.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 250_000}))
    (tmp_path / "x.zstd").write_bytes(zstandard.compress(bytes(100_000)))
    unpacked = bag_decompression.Unpacked()
    try:
        for _ in range(2):
            assert unpacked.file(tmp_path / "x.zstd").stat().st_size == 100_000
        with pytest.raises(BagError, match="free space"):
            unpacked.file(tmp_path / "x.zstd")
    finally:
        unpacked.close()


def test_compressed_files_of_one_stem_are_apart(tmp_path):
    """The second one would cut the first one short, which is mapped meanwhile."""
    (tmp_path / "a.mcap.zstd").write_bytes(zstandard.compress(bytes(1000)))
    (tmp_path / "a.mcap.zst").write_bytes(zstandard.compress(bytes(10)))
    unpacked = bag_decompression.Unpacked()
    try:
        files = [unpacked.file(tmp_path / name) for name in ("a.mcap.zstd", "a.mcap.zst")]
        assert [file.stat().st_size for file in files] == [1000, 10]
    finally:
        unpacked.close()


def ros1_records(content: bytes, begin: int) -> list[tuple[int, bytes]]:
    """(place, bytes) of the records of a bag of ROS 1 from a place on."""
    found, at = [], begin
    while at < len(content):
        (head,) = struct.unpack_from("<I", content, at)
        (size,) = struct.unpack_from("<I", content, at + 4 + head)
        found.append((at, content[at : at + 8 + head + size]))
        at += 8 + head + size
    return found


def ros1_bag(path: Path, chunk_infos: int, connections: int) -> Path:
    """A bag whose index names its one chunk and its one connection so often."""
    bag = write_ros1(path, [("/a", STRING, START_NS + n, struct.pack("<I", 1) + b"x") for n in range(40)])
    content = bag.read_bytes()
    (index,) = struct.unpack_from("<Q", content, content.index(b"index_pos=") + 10)
    connection, chunk = (record for _, record in ros1_records(content, index))
    head = bytearray(content[:index])
    struct.pack_into("<I", head, head.index(b"chunk_count=") + 12, chunk_infos)
    struct.pack_into("<I", head, head.index(b"conn_count=") + 11, connections)
    bag.write_bytes(bytes(head) + connection * connections + chunk * chunk_infos)
    return bag


def test_the_index_of_a_bag_of_ros_1_makes_no_more_of_it_than_it_has(tmp_path):
    assert len(rows(ros1_bag(tmp_path / "right.bag", 1, 1))) == 40
    many = ros1_bag(tmp_path / "many.bag", 200, 1)
    assert "its chunks are named more than once" in run("info", many, code=1)
    twice = ros1_bag(tmp_path / "twice.bag", 1, 2)
    assert "two connections have the number 0" in run("info", twice, code=1)


@pytest.mark.parametrize("harm", ["view", "generated", "default", "shared"])
def test_a_database_gives_only_what_its_rows_store(tmp_path, harm):
    folder = write_rosbag2(tmp_path / "folder", ROWS, "SQLITE3")
    (database,) = folder.glob("*.db3")
    connection = sqlite3.connect(database)
    if harm == "view":
        connection.execute("ALTER TABLE message_definitions RENAME TO there")
        connection.execute(
            "CREATE VIEW message_definitions AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n LIMIT 9)"
            " SELECT n.id, topic_type, encoding, encoded_message_definition, type_description_hash FROM there, n"
        )
    elif harm == "generated":
        connection.execute("ALTER TABLE topics ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(9))) VIRTUAL")
    elif harm == "default":
        connection.execute(f"ALTER TABLE topics ADD COLUMN more TEXT DEFAULT '{'x' * 1000}'")
    else:
        connection.execute("UPDATE message_definitions SET encoded_message_definition = ?", ("x" * 200_000,))
    connection.commit()
    connection.close()
    if harm == "shared":  # as a page that is named twice; here the file is shorter than it says
        database.write_bytes(database.read_bytes()[:150_000])
    said = run("info", folder, code=1)
    assert ("SQLite" if harm == "shared" else "no database of rosbag2") in said


def test_a_database_whose_path_the_library_reads_as_another_one_is_refused(tmp_path):
    folder = write_rosbag2(tmp_path / "folder", ROWS, "SQLITE3")
    (database,) = folder.glob("*.db3")
    database.rename(folder / "a%62.db3")
    (folder / "metadata.yaml").unlink()
    assert "% before two digits" in run("info", folder / "a%62.db3", code=1)


def test_what_a_bag_says_of_itself_steers_no_terminal(tmp_path):
    folder = write_rosbag2(tmp_path / "folder", ROWS, "SQLITE3")
    metadata = folder / "metadata.yaml"
    metadata.write_text(
        metadata.read_text().replace("storage_identifier: sqlite3", r'storage_identifier: "x\e]0;pwned\a"')
    )
    said = run("info", folder)
    assert r"x\x1b]0;pwned\x07" in said and "\x1b" not in said
    bag = write_mcap(tmp_path / "bag.mcap", ROWS)
    content = bag.read_bytes()
    at = content.rindex(b"zstd")  # of the chunk's index
    bag.write_bytes(content[:at] + b"z\x1b[m" + content[at + 4 :])
    assert "\x1b" not in run("info", bag)


def test_a_bag_that_appears_meanwhile_is_not_overwritten_where_files_have_no_links(tmp_path, monkeypatch):
    bag, new = write_mcap(tmp_path / "bag.mcap", ROWS), tmp_path / "new.mcap"

    def link(*_: object) -> None:
        new.write_bytes(b"of somebody else")
        raise PermissionError(errno.EPERM, "no links")

    monkeypatch.setattr(bag_sink.os, "link", link)
    monkeypatch.setattr(bag_sink.os.path, "lexists", lambda path: False)  # it looks a moment before
    assert "is not overwritten" in run("convert", bag, new, code=1)
    assert new.read_bytes() == b"of somebody else"
