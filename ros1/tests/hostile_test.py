# SPDX-License-Identifier: Apache-2.0
"""Peers of ROS 1's side that are written from docs/format/tcpros.md and ros1-side-topic.md and keep to no rule there, beside honest
programs, which notice nothing: every image arrives, in order, once."""

import contextlib
import os
import resource
import signal
import socket
import struct
import sys
import threading
import time
from pathlib import Path

import pytest
from api_test import meet
from liar import Liar, frame, receive, subscribe, subscriptions
from lies_test import IMAGE_MD5, foreign_image
from preload_test import IN_FLIGHT, warm
from ros1_network import BUILD, LARGE, ROOT, image, tcp_bytes, without_rospy
from rospy_test import ENDS, PYTHON
from tzc_test import HANDLE_MD5, TZC, handle, handles, raw_file

sys.path.insert(0, str(ROOT / "tests/hostile"))
from raw_peer import Gone, Link, Published, Subscribed, image_message

pytestmark = pytest.mark.own_master  # its topics have absolute names

MOST_MARKERS = 1024  # kMostMarkers in ros1/preload/src/incoming.hpp
MOST_LINES = 72  # kMost in core/os/include/baton/os/line_budget.hpp, and the first of each error code
IMAGE = ("sensor_msgs/Image", IMAGE_MD5)
POINT = "geometry_msgs/Point", "4a842b65f413084dc2b10fb484ea7f17", "float64 x\nfloat64 y\nfloat64 z\n"


def marker(secret, number, content=b""):
    return frame(secret + struct.pack("<Q", number) + content)


def status_of(program):
    return Path(f"/proc/{program.process.pid}/status").read_text().splitlines()


def peak_bytes(program):
    """The most memory that it has had in RAM."""
    return next(int(line.split()[1]) << 10 for line in status_of(program) if line.startswith("VmHWM:"))


def rss_bytes(program):
    """Its memory in RAM, without files."""
    return next(int(line.split()[1]) << 10 for line in status_of(program) if line.startswith("RssAnon:"))


def send_until_closed(connection, data, times):
    """How many of `times` sends the other end let pass."""
    connection.settimeout(20)
    for sent in range(times):
        try:
            connection.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return sent
    with contextlib.suppress(ConnectionResetError):
        while connection.recv(65536):
            pass
    return times


def raw_link(ros, program):
    """A raw connection of the Baton domain to `program`."""
    (directory,) = {path.parent for path in ros.sockets()}
    for path in ros.sockets():
        with contextlib.suppress(Gone, OSError, TimeoutError):
            link = Link(str(directory), path.name)
            if pid_of(link) == program.process.pid:
                return link
            link.close()
    raise AssertionError("the program is not in the domain")


def pid_of(link):
    return struct.unpack("iII", link.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


class Flow:
    """Honest images from `talker` to `listeners`, one after the other, while something else happens."""

    def __init__(self, talker, listeners, first):
        self.talker, self.listeners, self.number = talker, listeners, first
        self.stop, self.wrong = threading.Event(), []
        self.thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            while not self.stop.is_set() or self.number < 3:
                self.number += 1
                self.talker.do(f"publish {LARGE} 1 1")
                for each in self.listeners:
                    line = each.line()
                    while line.split()[2] == "0":  # the liar's own images have no pixels
                        line = each.line()
                    assert line == image(self.number)
        except AssertionError as error:
            self.wrong.append(error)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        assert self.wrong == []


@pytest.fixture
def liars(ros):
    made = []

    def make(name="/liar", topic="/images", datatype=IMAGE[0], md5=IMAGE[1]):
        made.append(Liar(ros, name, topic, datatype, md5))
        return made[-1]

    yield make
    for each in made:
        each.close()


# --- a raw publisher at the preload's subscriber -------------------------------------------------------------------------


def test_a_million_markers_and_their_repeats_end_their_own_link_alone(ros, liars):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    before = peak_bytes(listener)
    with Flow(talker, [listener], first):
        liar = liars()
        for _ in range(3):  # ROS connects again
            with liar.meet(baton_tcpros="3", baton_writer=os.urandom(16).hex()) as lying:
                secret = bytes.fromhex(liar.asked["baton_secret"])
                lying.sendall(b"".join(marker(secret, number) for number in range(1, 1001)))
                for number in range(5000, 6000):  # nobody waits for these
                    lying.sendall(marker(secret, number, b"late"))
                flood = b"".join(marker(secret, number) for number in range(10_000, 20_000))
                assert send_until_closed(lying, flood, 100) < 100, f"{MOST_MARKERS} markers wait, and no more"
    assert peak_bytes(listener) - before < 64 << 20
    assert listener.complains("its publisher does not repeat messages")
    assert len(listener.errors) <= MOST_LINES


def test_frames_and_lengths_of_every_form_do_not_disturb_the_other_links_of_a_subscriber(ros, liars):
    # roscpp has one queue for all publishers: the honest image must not lose its place to the liar's frames.
    listener, talker = ros.listener(queue_size=1000), ros.talker()
    first = warm(talker, listener)
    with Flow(talker, [listener], first) as flow:
        liar = liars()
        with liar.meet(baton_tcpros="3", baton_writer=os.urandom(16).hex()) as lying:
            secret = bytes.fromhex(liar.asked["baton_secret"])
            for data in (
                secret,
                secret[:15],
                secret + bytes(7),
                secret + bytes(8),
                secret + b"\xff" * 8 + b"x",
                b"",
                b"x",
            ):
                for _ in range(50):
                    lying.sendall(frame(data))
            _, wire = foreign_image(7)
            lying.sendall(marker(secret, 1) + frame(wire) + marker(secret, 1, wire))
    for answers in (
        {"baton_writer": "0" * 32},
        {"baton_tcpros": "3", "baton_writer": "x"},
        {"baton_tcpros": "9" * 9999},
    ):
        with Flow(talker, [listener], flow.number) as flow:
            with liar.meet(**answers) as lying:
                lying.sendall(frame(foreign_image(8)[1]))
    with Flow(talker, [listener], flow.number):  # and impossible lengths in shared memory
        for words in ((1 << 31, 4), (8, 1 << 30), (8, -64), (3, 4), (4, 0)):
            digits = os.urandom(16).hex()
            with liar.meet(baton_tcpros="3", baton_writer=digits) as lying:
                secret = bytes.fromhex(liar.asked["baton_secret"])
                link = raw_link(ros, listener)
                with contextlib.closing(link):
                    publisher = Published(link, f"/images/_tcpros/{digits}")
                    publisher.publish(struct.pack("<Ii", *words) + bytes(64))
                    lying.sendall(marker(secret, 1))
                    lying.settimeout(20)
                    with contextlib.suppress(ConnectionResetError):
                        assert lying.recv(1) == b"", "the subscriber has closed the connection"
    assert listener.complains("impossible lengths")
    ours = [line for line in listener.errors if "Exception thrown when deserializing" not in line]
    assert len(ours) <= MOST_LINES, "the others are roscpp's own, of the frames"


# --- a raw subscriber at the preload's publisher -------------------------------------------------------------------------


def test_a_subscriber_that_takes_nothing_pins_so_many_messages_and_no_more(ros):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    reader, secret = os.urandom(16), os.urandom(16)
    keys = {"baton_tcpros": "3", "baton_reader": reader.hex(), "baton_secret": secret.hex()}
    lying, answer = subscribe(ros.environment, "/images", **keys)
    with lying:
        digits = answer.partition(b"baton_writer=")[2][:32].decode()
        link = raw_link(ros, talker)
        with contextlib.closing(link):
            subscribed = subscribed_as(link, f"/images/_tcpros/{digits}", reader)
            frames = []
            thread = threading.Thread(target=lambda: frames.extend(receive(lying) for _ in range(20)))
            thread.start()
            talker.do("subscribers 2")
            for number in range(20):
                talker.do(f"publish {LARGE} 1 0")
                assert listener.line() == image(first + 1 + number)
            thread.join(60)
            markers = [each for each in frames if each[:16] == secret and len(each) == 24]
            assert len(markers) == IN_FLIGHT == subscribed.head, "then messages go as bytes"
            assert [len(each) > LARGE for each in frames] == [False] * IN_FLIGHT + [True] * 16
        # The connection in the domain has ended: what was not taken is repeated.
        repeated = [receive(lying) for _ in range(IN_FLIGHT)]
        assert [each[:24] for each in repeated] == markers
        assert all(len(each) > LARGE for each in repeated)


def subscribed_as(link, topic, gid):
    """A raw subscription with this id."""
    announce = link.announce
    link.announce = lambda *words, **named: announce(*words, gid=gid, **named)
    return Subscribed(link, topic, depth=IN_FLIGHT, held=32, keep_all=True)


def test_subscribers_with_headers_of_every_form_get_what_stock_ones_get(ros):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    good = {"baton_tcpros": "3", "baton_reader": os.urandom(16).hex(), "baton_secret": os.urandom(16).hex()}
    (honest,) = subscriptions(ros, "/images/_tcpros/")  # every process of the domain sees its id
    wrong = [
        {"baton_tcpros": "4"},
        {"baton_tcpros": "3" * 100_000},
        {"baton_reader": ""},
        {"baton_reader": "0" * 31},
        {"baton_reader": "A" * 32},
        {"baton_reader": "0" * 10_000},
        {"baton_secret": "../" * 11},
        {"baton_writer": "0" * 32, "baton_secret": "x"},
        *[{"baton_reader": honest.hex()}] * IN_FLIGHT,
    ]
    with contextlib.ExitStack() as open_ones:
        with Flow(talker, [listener], first) as flow:
            for change in wrong:
                lying, answer = subscribe(ros.environment, "/images", **{**good, **change})
                open_ones.enter_context(lying)
                assert b"md5sum=" in answer and b"baton" not in answer, "a subscriber like any stock one"
                assert len(receive(lying)) > LARGE, "an image as bytes"
            for _ in range(100):  # and hang up at once
                lying, _ = subscribe(ros.environment, "/images", **{**good, "baton_reader": os.urandom(16).hex()})
                lying.close()
        before = tcp_bytes(listener)
        listener.process.send_signal(signal.SIGSTOP)
        talker.do(f"publish {LARGE} {IN_FLIGHT} 1")
        listener.process.send_signal(signal.SIGCONT)
        assert [listener.line() for _ in range(IN_FLIGHT)] == [image(flow.number + 1 + i) for i in range(IN_FLIGHT)]
        assert tcp_bytes(listener) - before == IN_FLIGHT * 28, "markers of 28 bytes: nobody takes room of it"


def test_a_message_that_begins_with_the_id_of_its_subscription_is_a_message(ros, tmp_path):
    # Such as a relay may be given, which hands on what others send.
    points = [struct.pack("<ddd", i, 0, 0) for i in range(10)]
    sent = tmp_path / "sent"
    raw_file(sent, *POINT, points[:1])
    sink = ros.run([BUILD / "bin/ros1_raw", "sink", "points", tmp_path / "received"])
    source = ros.run([BUILD / "bin/ros1_raw", "source", "points", sent])
    source.do("subscribers 1")
    source.do("publish 1")
    assert sink.line() == "geometry_msgs/Point 24"
    lies = [
        gid + struct.pack("<Q", number)
        for gid in subscriptions(ros, "/points/_tcpros/")
        for number in (0, 1, 2**64 - 1)
    ]
    with sent.open("ab") as file:
        for message in lies + points[1:]:
            file.write(struct.pack("<I", len(message)) + message)
    source.do(f"publish {len(lies + points[1:])}")
    assert [sink.line() for _ in lies + points[1:]] == ["geometry_msgs/Point 24"] * len(lies + points[1:])
    received = (tmp_path / "received").read_bytes()
    assert received == b"".join(struct.pack("<I", 24) + message for message in [points[0], *lies, *points[1:]])


# --- a raw peer of the side topic, mode tzc ------------------------------------------------------------------------------


def test_handles_that_wait_for_ever_fill_no_memory_and_those_that_nobody_reads_stop_nobody(ros, liars):
    listener, talker = ros.api_listener(**TZC), ros.api_talker(**TZC)
    meet(talker, 1)
    with contextlib.ExitStack() as open_ones:  # subscribers of handles that read nothing
        for _ in range(8):
            lying, _ = subscribe(ros.environment, "/images/_baton")
            open_ones.enter_context(lying)
        with Flow(talker, [listener], 0) as flow:
            while flow.number < 200 and not flow.wrong:
                time.sleep(0.01)
    before = peak_bytes(listener)
    kind, content = bytes.fromhex(IMAGE_MD5), bytes(1 << 20)
    with liars("/liar", "/images/_baton", "baton_ros1/Handle", HANDLE_MD5).meet() as lying:
        with Flow(talker, [listener], flow.number):
            for _ in range(16):
                writer = os.urandom(16)
                lying.sendall(frame(handle(1, writer, kind)))  # of nobody: waits, and what follows too
                for number in range(2, 34):
                    lying.sendall(frame(handle(number, writer, kind, place=1, content=content)))
    assert peak_bytes(listener) - before < 400 << 20, "of 512 MiB the newest 64 are kept"
    assert handles(listener)["refused"] > 0


# --- words of "Messages that Baton cannot carry" -------------------------------------------------------------------------


def test_trailers_of_a_stranger_hide_and_hold_nothing(ros, liars):
    for settings in ros.each([{}, TZC]):
        listener, talker = ros.api_listener(**settings), ros.api_talker(name="camera", BATON_ROS1_MODE="lotros")
        meet(talker, 1)
        talker.tell("writer")
        writer = bytes.fromhex(talker.line().split()[1])
        assert talker.line() == "done writer"
        talker.do(f"publish {LARGE} 1 0")
        assert listener.line() == image(1)
        with liars("/liar").meet() as lying:
            for number in (1, 2**63, 2**64 - 1):
                line, wire = foreign_image(70)
                lying.sendall(frame(wire + b"Batonby1" + writer + struct.pack("<Q", number)))
                assert listener.line() == line, "an image like a stock publisher's"
            # The words may be of the image itself.
            line, wire = foreign_image(71)
            own = b"Batonby1" + writer + struct.pack("<Q", 5)
            lying.sendall(frame(wire[:-4] + struct.pack("<I", len(own)) + own))
            assert listener.line().split()[:3] == ["71", "70", str(len(own))]
        talker.do(f"publish {LARGE} 10 2")
        talker.do("publish 10 1 0")  # what came too often would come before
        assert [listener.line() for _ in range(11)] == [*(image(i) for i in range(2, 12)), image(12, 10)]


def test_publishers_whose_messages_follow_others_that_never_come_hold_up_nobody(ros):
    listener, talker = ros.api_listener(), ros.api_talker()
    meet(talker, 1)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(1)
    with contextlib.ExitStack() as open_ones:
        publishers = []
        link = open_ones.enter_context(contextlib.closing(raw_link(ros, listener)))
        for _ in range(3):
            publishers.append(Published(link, "/images"))
        for number in range(2, 8):
            for each in publishers:
                at = each.chunk(image_message(b""))
                each.segment[at + 88 : at + 104] = b"Batonby1" + struct.pack("<Q", 2**60)
                each.push(at)
                assert each.await_taken()
            talker.do(f"publish {LARGE} 1 0")
            if number < 4:  # more of one publisher than are held back are delivered
                assert listener.line() == image(number), "before those that follow what never comes"
        lines = [listener.line() for _ in range(4 + 3 * 6)]
        assert [line for line in lines if line.split()[2] != "0"] == [image(i) for i in range(4, 8)]
        talker.do("publish 10 1 0")  # what came too often would come before
        assert listener.line() == image(8, 10)


# --- rospy -----------------------------------------------------------------------------------------------------------------

# rospy's own subscriber of images (rospy_ends.py), accelerated, after this program has changed something.
ACCELERATED = """
import sys
import baton.rospy
{change}
baton.rospy.accelerate()
sys.argv[1:1] = ["plain"]
exec(compile(open({path!r}).read(), {path!r}, "exec"))
"""


@pytest.fixture
def rospy_here(ros):
    if missing := without_rospy():
        pytest.skip(missing)
    ros.environment["PYTHONPATH"] = str(BUILD / "python")


def accelerated(ros, *words, change=""):
    return ros.run([PYTHON, "-c", ACCELERATED.format(change=change, path=str(ENDS)), *words], False)


# Publishes empty images as fast as it can.
FLOOD = """
import os, socket, baton, sensor_msgs.msg
from baton._ros1_domain import domain_of_master
node = baton.Node("flood", domain=domain_of_master(os.environ["ROS_MASTER_URI"], socket.gethostname()))
publisher = node.advertise("/images", sensor_msgs.msg.Image, 10)
while not publisher.matched:
    pass
print("floods", flush=True)
while True:
    publisher.publish(publisher.loan())
"""


def test_a_flood_in_baton_does_not_hold_up_messages_that_baton_cannot_carry(ros, liars, rospy_here):
    # Without an end of the wait for an empty queue.
    listener = accelerated(
        ros, "listener", "/images", 100, 0, 3, change="import baton._rospy_ways as ways; ways._PATIENCE_S = 1e5"
    )
    flood = ros.run([PYTHON, "-c", FLOOD], False)  # its messages come faster than the callback, which takes 3 ms, ends
    with liars("/honest").meet() as honest:
        assert flood.line() == "floods"
        writer = os.urandom(16)
        for number in range(1, 6):
            line, wire = foreign_image(70 + number)
            honest.sendall(frame(wire + b"Batonby1" + writer + struct.pack("<Q", number)))
            before = 0
            while listener.line().split()[0] != line.split()[0]:
                before += 1
                assert before < 1000, "what was in the queue comes before it, and what comes meanwhile does not"


def test_connections_that_come_and_go_stay_nowhere_in_a_latched_publisher(ros, rospy_here):
    talker = accelerated(ros, "talker", "/images", 100, "latch")
    talker.do(f"publish {1000} 1 0")

    def flood(count):
        for _ in range(count):
            connection, _ = subscribe(ros.environment, "/images")
            with connection:
                assert len(receive(connection)) > 1000, "the latched image"

    flood(100)
    before = rss_bytes(talker)
    flood(1000)
    assert rss_bytes(talker) - before < 2 << 20, "a connection that has ended leaves nothing: it was 5 KB"


def test_a_message_that_finds_no_memory_silences_no_topic(ros, rospy_here):
    listener, talker = accelerated(ros, "listener", "/images", 100, 0, 0), ros.api_talker()
    meet(talker, 1)
    talker.do("publish 1000 1 0")
    assert listener.line().split()[0] == "1"
    line = next(each for each in status_of(listener) if each.startswith("VmSize:"))
    room = (int(line.split()[1]) << 10) + (64 << 20)
    resource.prlimit(listener.process.pid, resource.RLIMIT_AS, (room, room))
    talker.do("publish 200000000 1 0")
    talker.do("publish 1000 1 0")
    assert listener.line().split()[0] == "3"
    assert listener.complains("no message on /images")


# --- messages that Baton cannot carry --------------------------------------------------------------------------------------

# Nodes of Baton that subscribe and have no link in ROS, a new one every 50 ms; says how many there were when a line comes.
WITHOUT_LINKS = """
import os, select, socket, sys, baton, sensor_msgs.msg
from baton._ros1_domain import domain_of_master
domain, ends, count = domain_of_master(os.environ["ROS_MASTER_URI"], socket.gethostname()), [], 0
while not select.select([sys.stdin], [], [], 0.05)[0]:
    count += 1
    node = baton.Node(f"stranger{count}", domain=domain)
    ends.append((node, node.subscribe("/images", sensor_msgs.msg.Image, None, 10)))
    del ends[:-3]
    if count == 5:
        print("comes and goes", flush=True)
print(count, flush=True)
"""


def test_nodes_of_baton_that_come_and_go_hold_up_no_message_that_baton_cannot_carry(ros, rospy_here):
    talker = ros.start("recompiled", "ends", "talker", "/images", 100, "volatile", BATON_PROCESS_MEMORY_LIMIT="2M")
    listener = ros.listener(preload=False)
    talker.do("subscribers 1")
    huge, messages = 3_000_000, 60
    talker.do(f"publish {huge} 1 0")
    assert listener.line().split()[2] == str(huge)
    strangers = ros.run([PYTHON, "-c", WITHOUT_LINKS], False)
    assert strangers.line() == "comes and goes"
    talker.do(f"publish {huge} {messages} 20")
    for _ in range(messages):
        assert listener.line().split()[2] == str(huge)
    strangers.tell("end")
    assert int(strangers.line()) < 2 * messages, "of which each one held a message up"
