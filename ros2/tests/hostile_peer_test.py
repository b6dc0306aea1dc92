# SPDX-License-Identifier: Apache-2.0
"""A peer that lies, beside unmodified programs of rclpy over rmw_baton_cpp: no program ends, and nobody else's messages are lost.

The peer is tests/hostile/raw_peer.py, written from docs/format/ alone."""

import json
import struct
import sys
import threading

import numpy as np
import pytest
from support.build import ROOT

sys.path.insert(0, str(ROOT / "tests/hostile"))
from raw_peer import ATTACH, NODE_UP, Link, Published, string_message, text
from support.waiting import until

FILE = "attacked_programs.py"
EXECUTORS = ["waits", "events"]
NO_STRING = struct.pack("<Ii", 100, 1000) + b"none"  # 12 bytes: the words of a string that lies elsewhere
FLOOD = 3000
LIMIT_S = 200


@pytest.fixture
def baton(processes, tmp_path):
    """Starts programs of the test whose Baton is in a directory of its own."""

    def start(*arguments, rmw="baton", **more):
        return processes.start(rmw, *arguments, **{"file": FILE, "BATON_RUNTIME_DIR": str(tmp_path), **more})

    return start


@pytest.fixture
def hostile(processes, tmp_path):
    """Connects to the only process of Baton in the domain, or to the one that has the topic."""
    links = []

    def connect(topic, **options):
        names = sorted((tmp_path / str(processes.domain)).glob("p-*"))
        for name in names:
            link = Link(str(name.parent), name.name)
            links.append(link)
            try:
                link.endpoint(topic, False, 20.0 if len(names) == 1 else 5.0)
            except TimeoutError:
                continue
            return Published(link, topic, **options)
        raise AssertionError(f"nobody subscribes to {topic}: {names}")

    yield connect
    for link in links:
        link.close()


def ask(process):
    process.tell()
    line = process.stdout.readline()
    assert line, f"the program has ended: {process.wait(60)}\n{process.log()}"
    return json.loads(line)


def eventually(process, done):
    """The first report of the program that is as wanted."""
    return until(lambda: done(report := ask(process)) and report, lambda: ask(process), LIMIT_S, 0.05)


def end(processes, process):
    process.stdin.close()
    process.stdin = None
    return processes.result(process)


def flood(published, message, count, **header):
    """Each message is taken before the next one comes: none is evicted."""
    for _ in range(count):
        published.push(published.chunk(message, **header))
        until(lambda: still_reads(published) or published.unread() == 0, every_s=0)


def still_reads(published):
    assert published.link.drain(0.002) is None, "the program has ended, or expelled the peer"
    assert not published.detached, "the program has expelled the publisher"


def few_lines_about_peers(log):
    """os::LineBudget: 50 lines in 10 s and the first of each of 22 error codes, by the times that the lines say."""
    times = [
        float(line.split("[")[2].split("]")[0])
        for line in log.splitlines()
        if line.startswith("[WARN] ") and "[rmw_baton_cpp]" in line
    ]
    return len(times) <= 72 * (1 + (times[-1] - times[0]) // 10) if times else True


class Refill(threading.Thread):
    """Keeps a long queue full of messages that have expired: filling it takes less time than emptying it."""

    def __init__(self, published):
        super().__init__(daemon=True)
        self.published, self.over = published, threading.Event()
        handle = published.chunk(string_message(b"old"))
        struct.pack_into("<q", published.segment, handle + 32, 1)  # its source_monotonic_ns
        self.slots = np.frombuffer(published.ring, "<u8", 4 * published.slots, 64).reshape(-1, 4)
        self.slots[:, 0], self.slots[:, 2] = handle, 1
        self.start()

    def run(self):
        published, numbers = self.published, np.arange(self.published.slots, dtype=np.uint64)
        while not self.over.is_set():
            head = published.head
            (cursor,) = struct.unpack_from("<Q", published.connection, 0)
            at = head % published.slots
            count = min(cursor + published.depth - head, published.slots - at)
            self.slots[at : at + count, 3] = numbers[:count] + np.uint64(published.sequence + 1)
            self.slots[at : at + count, 1] = numbers[:count] + np.uint64(head + 1) << np.uint64(20)  # entry 0
            published.sequence += count
            published.set_head(head + count)
            published.wake()

    def end(self):
        self.over.set()
        self.join()
        del self.slots


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_publisher_whose_messages_are_passed_over_holds_no_call_up(processes, baton, hostile, executor):
    hearer = baton("hear", executor, "native", "65536").says("going")
    published = hostile("/chatter", lifespan=60_000_000_000)
    refill = Refill(published)
    for _ in range(20):
        assert ask(hearer)["count"] == 0
    until(lambda: ask(hearer)["count"] == 0 and published.sequence > 100_000)
    refill.end()
    still_reads(published)
    until(lambda: published.unread() == 0)
    published.publish(string_message(b"hello"))
    assert eventually(hearer, lambda report: report["count"] == 1)["got"] == ["hello"]
    end(processes, hearer)


@pytest.mark.parametrize("raw", ["native", "raw"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_message_that_cannot_be_read_is_lost_and_ends_no_program(processes, baton, hostile, executor, raw):
    hearer = baton("hear", executor, raw).says("going")
    published = hostile("/chatter")
    flood(published, NO_STRING, FLOOD)
    assert eventually(hearer, lambda report: report["lost"] >= FLOOD)["count"] == 0
    published.publish(string_message(b"hello"))
    eventually(hearer, lambda report: report["count"] == 1)
    report = end(processes, hearer)
    assert (report["count"], report["lost"]) == (1, FLOOD) and report["got"] == ["hello"] * (raw != "raw")
    assert "a message of /chatter was dropped" in report["log"]
    assert few_lines_about_peers(report["log"])


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_request_or_response_that_cannot_be_read_is_lost_and_ends_no_program(processes, baton, hostile, executor):
    server = baton("answer", executor).says("going")
    flood(hostile("/answer/set_parameters/_request", keep_all=True), NO_STRING, FLOOD)
    flood(hostile("/switch/_request", keep_all=True), b"\1", 100, words=b"\xff" * 24)  # a number that no client sends
    assert ask(server)["count"] == 0
    client = baton("press", "20", executor, file="programs.py")
    assert len(processes.result(client)["got"]) == 20
    report = end(processes, server)
    assert "SetParameters_Request was dropped" in report["log"]
    assert report["count"] == 20 and few_lines_about_peers(report["log"])


def test_a_client_cannot_make_a_busy_server_copy_requests_without_end(processes, baton, hostile):
    server = baton("busy").says("going")
    switch = hostile("/switch/_request", keep_all=True)
    switch.publish(b"\1")
    assert json.loads(server.stdout.readline())["count"] == 0  # it is busy now
    # 40 MiB are below the bound of 64 MiB, and 80 MiB are not.
    large = hostile("/busy/set_parameters/_request", segment_bytes=48 << 20, keep_all=True)
    handle = large.chunk(NO_STRING + bytes(40 << 20), at=0)
    # Requests wait in the queue, in their client's memory, until the server takes them.
    for _ in range(large.depth):
        large.push(handle)
    for _ in range(switch.depth):
        switch.publish(b"\1")
    assert large.unread() == large.depth and switch.unread() == switch.depth
    assert ask(server)["count"] == 0
    eventually(server, lambda report: report["count"] == switch.sequence)
    end(processes, server)


def test_a_serialized_message_that_is_none_ends_no_program_on_either_side_of_the_bridge(processes):
    bridge = processes.start_bridge()
    hearers = [processes.start(rmw, "hear", "waits", "native", file=FILE).says("going") for rmw in ("plain", "baton")]
    garbler = processes.start("plain", "garble", "50", file=FILE).says("going")
    talker = processes.start("plain", "talk", "0.02", file=FILE).says("going")
    for hearer in hearers:
        eventually(hearer, lambda report: "hello" in str(report["got"]))
    for each in (*hearers, garbler, talker):
        end(processes, each)
    assert bridge.poll() is None


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_request_with_the_gid_of_another_client_takes_no_answer_from_it(processes, baton, hostile, executor):
    server = baton("answer", executor).says("going")
    client = baton("press").says("going")
    answered = eventually(client, lambda report: report["answered"] >= 3)["answered"]
    gid = bytes.fromhex(eventually(server, lambda report: report["clients"])["clients"][0])
    published = hostile("/switch/_request", keep_all=True)
    # The server passes over requests for a client of another process.
    for number in (*range(1, 200), 1 << 62):
        flood(published, b"\1", 1, words=gid + struct.pack("<Q", number))
    eventually(client, lambda report: report["answered"] >= answered + 10)
    answered = end(processes, client)["answered"]
    assert answered <= end(processes, server)["count"] <= answered + 1


def test_a_node_without_a_name_ends_no_program_that_lists_nodes(processes, baton, hostile):
    """rcl takes an empty name for an error of the whole call: "empty node name returned by the RMW layer"."""
    lister = baton("names").says("going")
    link = hostile("/chatter").link
    for name in ("", "/", "/space/"):
        link.frame(NODE_UP, text(name) + text(""))
    for node in ("@host", "/@host", "/space/@host"):  # as a link announces endpoints of another host
        link.announce("/chatter", True, link.endpoint("/chatter", False), node=node)
    link.frame(NODE_UP, text("last") + text(""))
    report = eventually(lister, lambda report: "last" in report["names"])
    assert report["names"] == report["with enclaves"] == ["last", "names"]
    end(processes, lister)


def heard_and_known(hearer):
    """The gid of the honest writer, once its messages come."""
    report = eventually(hearer, lambda report: report["count"] > 10 and len(report["publishers"]) == 1)
    return bytes.fromhex(report["publishers"][0])


def goes_on(hearer):
    """Messages of the talker, sent from now on, come."""

    def numbers(report):
        return [int(text.split()[1]) for text in report["got"] if text.startswith("hello ")]

    last = numbers(ask(hearer))[-1]
    eventually(hearer, lambda report: sum(number > last for number in numbers(report)) >= 40)


def test_the_gid_of_an_honest_writer_is_believed_only_from_its_process(processes, baton, hostile):
    hearer = baton("hear", "waits", "native").says("going")
    talking = baton("talk", "0.02").says("going")
    gid = heard_and_known(hearer)
    link = hostile("/chatter").link
    link.announce("/chatter", True, link.endpoint("/chatter", False), gid)
    Published(link, "/chatter")  # its announcement comes behind: when the program connects to it, that one is decided
    assert not [frame for frame in link.waiting if frame.kind == ATTACH and frame.payload[:16] == gid]
    goes_on(hearer)
    assert ask(hearer)["publishers"] == [gid.hex()]
    end(processes, hearer)
    end(processes, talking)
