# SPDX-License-Identifier: Apache-2.0
"""A peer that lies, beside unmodified programs of rclpy over rmw_baton_cpp: no program ends, and nobody else's messages are lost.

The peer is tests/hostile/raw_peer.py, written from docs/format/ alone."""

import json
import struct
import sys
import threading
import time

import numpy as np
import pytest
from support.build import ROOT

sys.path.insert(0, str(ROOT / "tests/hostile"))
from raw_peer import ATTACH, Link, Published, string_message
from support.ros2 import ALONE
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
    if ALONE:  # requests wait in the queue, in their client's memory, until the server takes them
        for _ in range(large.depth):
            large.push(handle)
        for _ in range(switch.depth):
            switch.publish(b"\1")
        assert large.unread() == large.depth and switch.unread() == switch.depth
        assert ask(server)["count"] == 0
        eventually(server, lambda report: report["count"] == switch.sequence)
        end(processes, server)
        return
    assert taken_of(large, lambda: handle, 2) == 2
    assert taken_of(switch, lambda: switch.chunk(b"\1"), 1001) == 1001  # with the first request
    assert ask(server)["count"] == 0
    eventually(server, lambda report: report["count"] == switch.sequence)
    end(processes, server)


def taken_of(published, chunk, limit):
    """Sends messages until `limit` are taken, and then some that may not be. How many are taken after a while."""
    stop = time.monotonic() + LIMIT_S

    def taken():
        return published.sequence - published.unread()

    while taken() < limit:
        assert time.monotonic() < stop, taken()
        if published.unread() < 20:
            published.push(chunk())
        else:
            still_reads(published)
    while published.unread() < 20 and taken() <= limit:
        published.push(chunk())
    end = time.monotonic() + 2
    while time.monotonic() < end:
        still_reads(published)
    return taken()


@pytest.mark.parametrize("reader", ["plain", "baton"])
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a publisher of Baton"])
def test_a_serialized_message_that_is_none_ends_no_program(processes, baton, reader, beside):
    hearer = baton("hear", "waits", "native", rmw=reader).says("going")
    talker = baton("talk", "0.02").says("going") if beside else None
    if talker:
        eventually(hearer, lambda report: report["count"] > 3)
    garbler = baton("garble", "50", rmw="plain").says("going")
    before = ask(hearer)["count"]
    if talker:
        eventually(hearer, lambda report: report["count"] > before + 20)
    else:
        time.sleep(2)
    assert end(processes, hearer)["count"] >= before
    for each in filter(None, (talker, garbler)):
        end(processes, each)


@pytest.mark.parametrize("client", ["plain", "baton"])
@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_request_with_the_gid_of_another_client_takes_no_answer_from_it(processes, baton, hostile, executor, client):
    server = baton("answer", executor).says("going")
    client = baton("press", rmw=client).says("going")
    answered = eventually(client, lambda report: report["answered"] >= 3)["answered"]
    gid = bytes.fromhex(eventually(server, lambda report: report["clients"])["clients"][0])
    published = hostile("/switch/_request", keep_all=True)
    if ALONE:  # the server passes over requests for a client of another process
        for number in (*range(1, 200), 1 << 62):
            flood(published, b"\1", 1, words=gid + struct.pack("<Q", number))
        eventually(client, lambda report: report["answered"] >= answered + 10)
        answered = end(processes, client)["answered"]
        assert answered <= end(processes, server)["count"] <= answered + 1
        return
    for number in (*range(1, 20), 1 << 62, (1 << 62) + 1):
        flood(published, b"\1", 1, words=gid + struct.pack("<Q", number))
    eventually(server, lambda report: report["count"] >= answered + 21)
    eventually(client, lambda report: report["answered"] >= answered + 10)
    end(processes, client)
    end(processes, server)


def order_words(number, count, also, older=0):
    """ros2-two-paths.md, section 1; behind the words of services."""
    return bytes(24) + b"rmwBaton" + struct.pack("<QQ", number, count << 3 | older << 1 | also)


def heard_and_known(hearer):
    """The gid of the honest DDS writer, once its messages come."""
    report = eventually(hearer, lambda report: report["count"] > 10 and len(report["publishers"]) == 1)
    return bytes.fromhex(report["publishers"][0])


def goes_on(hearer):
    """Messages of the talker, sent from now on, come."""

    def numbers(report):
        return [int(text.split()[1]) for text in report["got"] if text.startswith("hello ")]

    last = numbers(ask(hearer))[-1]
    eventually(hearer, lambda report: sum(number > last for number in numbers(report)) >= 40)


@pytest.mark.parametrize("talker", ["plain", "baton"])
@pytest.mark.parametrize("words", [(1 << 50, True), (1 << 50, False), (100, True)], ids=["all", "older", "a few"])
def test_a_publisher_with_the_gid_of_an_honest_writer_does_not_silence_it(processes, baton, hostile, talker, words):
    hearer = baton("hear", "waits", "native").says("going")
    more = {"BATON_RMW_PATHS": "underlying"} if talker == "baton" else {}
    talking = baton("talk", "0.02", rmw=talker, **more).says("going")
    published = hostile("/chatter", gid=heard_and_known(hearer))
    count, also = words
    for number in range(1, 4):
        published.push(published.chunk(string_message(b"forged"), words=order_words(number, count + number, also)))
        published.await_taken(LIMIT_S)
    goes_on(hearer)
    published.push(published.chunk(string_message(b"forged"), words=order_words(9, count + 9000, also)))
    goes_on(hearer)
    published.link.close()
    goes_on(hearer)
    end(processes, hearer)
    end(processes, talking)


@pytest.mark.skipif(not ALONE, reason="above another RMW, ids are that RMW's")
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


def test_a_publisher_whose_memory_never_comes_delays_an_honest_writer_only_for_a_time(processes, baton, hostile):
    hearer = baton("hear", "waits", "native").says("going")
    talking = baton("talk", "0.02", rmw="plain").says("going")
    published = hostile("/chatter", gid=heard_and_known(hearer))
    published.push(7 << 48)  # in a segment that is never sent
    goes_on(hearer)
    end(processes, hearer)
    end(processes, talking)


def test_a_peer_that_says_it_is_a_writer_of_the_link_silences_nobody(processes, baton, hostile):
    hearer = baton("hear", "waits", "native").says("going")
    talking = baton("talk", "0.02", rmw="plain").says("going")
    gid = heard_and_known(hearer)
    published = hostile("/chatter")
    published.publish(string_message(b"forged"))  # so that the subscription merges both paths
    published.await_taken(LIMIT_S)
    published.link.announce("/_baton/ros2_writer", True, published.reader, gid, node=published.gid.hex())
    goes_on(hearer)
    end(processes, hearer)
    end(processes, talking)
