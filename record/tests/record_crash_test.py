# SPDX-License-Identifier: Apache-2.0
"""Bags whose recorder, publisher or disk fails: the messages that were written before can be read."""

from __future__ import annotations

import io
import os
import random
import resource
import shutil
import subprocess

import baton
import numpy as np
import pytest
from mcap.reader import make_reader
from mcap.records import Channel, Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from record_bags import Recording, needs_direct, publisher, read, records
from rosbags.highlevel import AnyReader
from support import processes
from support.build import RECORD, needs_package

pytestmark = needs_package(RECORD)


def ends_of(data):
    """Where each record of the file ends, and where the messages of each chunk do; with the messages of whole chunks before."""
    at, found, messages = 8, [], 0
    while at < len(data) - 8:
        size = 9 + int.from_bytes(data[at + 1 : at + 9], "little")
        if data[at] == 6:
            head = at + 9 + 8 + 8 + 8 + 4 + 4 + 8  # an uncompressed chunk's own fields
            inside = head
            while inside < at + size:
                found.append((inside, messages))
                inside += 9 + int.from_bytes(data[inside + 1 : inside + 9], "little")
            messages += sum(1 for offset, _ in found if head <= offset and data[offset] == 5)
        at += size
        found.append((at, messages))
    return found


@pytest.mark.parametrize(
    "words, count, size, chunks, random_cuts",
    [(("--chunk-size", "30000"), 20, 9000, 4, 60), (("--direct",), 2, 1_100_000, 2, 3)],
    ids=["cached", "direct"],
)
def test_all_whole_chunks_of_a_cut_file_are_read(programs, tmp_path, words, count, size, chunks, random_cuts):
    if "--direct" in words:
        needs_direct(tmp_path)
    bag = Recording(programs, tmp_path / "bag", "/image", "/chatter", *words)
    node = baton.Node("robot")
    images = publisher(node, "image", "sensor_msgs/Image")
    texts = publisher(node, "chatter", "std_msgs/String")
    for i in range(count):
        with images.loan() as image:
            image.header.stamp.sec, image.data = i, np.full(size, i, np.uint8)
        texts.publish({"data": str(i)})
    bag.has(image=count, chatter=count)
    assert (bag.stop()["direct_bytes"] > 0) == ("--direct" in words)
    data = bag.files[0].read_bytes()
    whole = [(m.channel_id, m.data) for m in records(io.BytesIO(data)) if isinstance(m, Message)]
    assert len(whole) == 2 * count
    ends = ends_of(data)
    found = [r for r in StreamReader(io.BytesIO(data), emit_chunks=True).records if isinstance(r, Chunk)]
    assert ends[-1][0] == len(data) - 8 and len(found) >= chunks
    choose = random.Random(41)
    cuts = [cut for end, _ in ends for cut in (end - 1, end)] + [
        choose.randrange(8, len(data)) for _ in range(random_cuts)
    ]
    for cut in cuts:
        got = [(m.channel_id, m.data) for m in records(io.BytesIO(data[:cut])) if isinstance(m, Message)]
        assert got == whole[: len(got)]
        assert len(got) >= max((count for end, count in ends if end <= cut), default=0), cut


def test_schemas_and_channels_stand_in_a_file_again(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/image", "/chatter", "--chunk-size", "30000")
    node = baton.Node("robot")
    images = publisher(node, "image", "sensor_msgs/Image")
    texts = publisher(node, "chatter", "std_msgs/String")
    for i in range(200):
        with images.loan() as image:
            image.data = np.zeros(20_000, np.uint8)
        texts.publish({"data": str(i)})
        bag.has(image=i + 1, chatter=i + 1)
    bag.stop()
    with open(bag.files[0], "rb") as file:
        chunks = [r for r in StreamReader(file, emit_chunks=True).records if isinstance(r, Chunk)]
    introduced = [sorted(r.topic for r in breakup_chunk(chunk) if isinstance(r, Channel)) for chunk in chunks]
    assert all(set(topics) <= {"/chatter", "/image"} for topics in introduced)
    known = [number for number, topics in enumerate(introduced) if topics]
    assert all(later - earlier <= 17 for earlier, later in zip(known, [*known[1:], len(chunks)], strict=True))
    said = sum(
        len(chunk.data) - sum(len(r.data) for r in breakup_chunk(chunk) if isinstance(r, Message)) for chunk in chunks
    )
    assert said < sum(len(chunk.data) for chunk in chunks) / 10 and len(known) > 5


def test_the_chunks_that_a_killed_recorder_has_written_are_read(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/image", "--chunk-size", "100000")
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(50):
        with images.loan() as image:
            image.header.stamp.sec, image.data = i, np.full(30_000, i, np.uint8)
    written = bag.until(lambda state: state["written_messages"] >= 40)["written_messages"]
    bag.process.kill()
    bag.process.wait()
    for i in range(50, 60):  # nobody has to notice
        with images.loan() as image:
            image.header.stamp.sec = i
    with open(bag.files[0], "rb") as file:
        got = [m.data for m in records(file) if isinstance(m, Message)]
    assert len(got) >= written
    assert all(raw[-1] == i and raw[4] == i for i, raw in enumerate(got))


def test_messages_of_a_killed_publisher_are_written_whole(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/image")
    camera = programs.python(
        """
        import baton, numpy, sys
        images = baton.Node("camera").advertise("image", "sensor_msgs/Image")
        images.wait_for_subscriptions(1, 120)
        i = 0
        while True:
            with images.loan() as image:
                image.header.stamp.sec, image.data = i, numpy.full(200_000, i % 256, numpy.uint8)
            i += 1
        """
    )
    bag.has(image=20)
    camera.kill()
    camera.wait()
    bag.stop()
    got = [(m.header.stamp.sec, set(m.data), len(m.data)) for _, m in read(bag.files[0])]
    assert len(got) >= 20
    assert all(values == {number % 256} and size == 200_000 for number, values, size in got)


def test_a_disk_that_is_full_ends_with_its_reason_and_a_complete_file(programs, tmp_path):
    limit = 3_000_000

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    bag = Recording(programs, tmp_path / "bag", "/image", "--chunk-size", "100000", preexec_fn=limited)
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    sent = 0
    while not bag.state["failure"] and sent < 1000:
        with images.loan() as image:
            image.header.stamp.sec, image.data = sent, np.zeros(100_000, np.uint8)
        sent += 1
        bag.next()
    state = bag.ends(code=1)
    assert "bag_0.mcap" in state["failure"] and "too large" in state["failure"]
    got = [m.header.stamp.sec for _, m in read(bag.files[0])]
    assert got == list(range(len(got))) and len(got) >= 25
    (topic,) = state["topics"]
    assert topic["messages"] == len(got) == state["written_messages"] and topic["missing"]["disk"] > 0
    with AnyReader([bag.directory]) as reader:
        assert reader.message_count == len(got)


def test_a_recording_whose_files_are_removed_ends_with_its_reason(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/chatter")
    talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String")
    talker.publish({"data": "before"})
    bag.until(lambda state: state["written_messages"] == 1)
    shutil.rmtree(bag.directory)
    talker.publish({"data": "after"})
    bag.until(lambda state: state["failure"])
    state = bag.ends(code=1)
    assert "bag_0.mcap' was removed" in state["failure"] and not bag.directory.exists()
    assert bag.topic("chatter")["missing"]["disk"] == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_file_system_without_direct_io_is_refused_by_name(tmp_path, runtime_directory):
    script = 'mount -t ramfs none "$1" && folder=$1 && shift && { "$@"; code=$?; ls "$folder"; exit $code; }'
    words = [RECORD, "--output", tmp_path / "bag", "--direct", "/image"]
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", tmp_path, *words],
        capture_output=True,
        text=True,
        env=processes.environment(runtime_directory),
        stdin=subprocess.DEVNULL,
        timeout=60,
    )
    if done.returncode == 32 or done.stderr.startswith("unshare:"):  # mount(8), or unshare(1), was refused
        pytest.skip(f"this machine mounts no ramfs: {done.stderr}")
    assert (
        done.returncode == 1 and "bag_0.mcap' has no direct I/O" in done.stderr and "without --direct" in done.stderr
    ), done
    assert "bag" not in done.stdout, "a folder is left, and the next try would find it"


def test_messages_that_a_snapshot_cannot_write_are_counted(programs, tmp_path):
    limit = 1_000_000

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    words = ["--snapshot", str(10**12), "--chunk-size", "100000"]
    bag = Recording(programs, tmp_path / "bag", "/image", *words, preexec_fn=limited)
    images = publisher(baton.Node("camera"), "image", "sensor_msgs/Image")
    for i in range(30):
        with images.loan() as image:
            image.header.stamp.sec, image.data = i, np.zeros(100_000, np.uint8)
        bag.has(image=i + 1)
    bag.tell("snapshot")
    state = bag.ends(code=1)
    assert "too large" in state["failure"]
    (topic,) = state["topics"]
    got = [m.header.stamp.sec for _, m in read(bag.files[0])]
    assert got == list(range(len(got))) and len(got) == state["written_messages"] == topic["messages"]
    assert topic["missing"]["disk"] == 30 - len(got) > 0


def test_where_not_even_the_summary_fits_the_last_chunks_make_room(programs, tmp_path):
    """The limit is each of a few sizes, so that it meets the chunk, its index and the summary."""
    for limit in (200_000, 200_150, 200_300, 200_600):

        def limited(limit=limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        bag = Recording(programs, tmp_path / f"bag{limit}", "/chatter", "--chunk-size", "1000", preexec_fn=limited)
        talker = publisher(baton.Node("talker"), "chatter", "std_msgs/String")
        sent = 0
        while not bag.state["failure"] and sent < 2000:
            for _ in range(20):
                talker.publish({"data": f"{sent:04}" + "x" * 500})
                sent += 1
            bag.next()
        state = bag.ends(code=1)
        assert state["failure"], state
        got = [int(m.data[:4]) for _, m in read(bag.files[0])]
        assert got == list(range(len(got))) and len(got) > 250
        assert state["written_messages"] == len(got)
        with open(bag.files[0], "rb") as file:
            assert make_reader(file).get_summary().statistics.message_count == len(got)
        assert bag.files[0].stat().st_size <= limit
        del talker
