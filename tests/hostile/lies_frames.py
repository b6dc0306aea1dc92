# SPDX-License-Identifier: Apache-2.0
"""Frames and packets: what handshake.md, section 7, forbids, and floods of what it allows."""

from __future__ import annotations

import os
import random
import struct
import time

import raw_peer as raw
from raw_peer import Endpoint, Gone, Link, Published, Refused, Subscribed, text
from table import attack

random = random.Random(13)
ENDPOINT = Endpoint(b"", False, "/x", "n", "std_msgs/String", bytes(16), 8, b"")


@attack("breaks each rule of a packet, once", expected="all got BYE 4")
def broken_rules(stage):
    """handshake.md, section 7."""
    good = (
        os.urandom(16)
        + b"\0"
        + text("/x")
        + text("n")
        + text("a/B")
        + bytes(16)
        + struct.pack("<I", 8)
        + raw.qos()
        + b"\0"
    )
    hello = raw.MAGIC + struct.pack("<HHI", raw.VERSION, 0, 1) + os.urandom(16)
    rules = {
        "a packet shorter than its header": lambda link: link.raw(b"\1\0\0"),
        "a packet longer than the longest": lambda link: link.raw(
            struct.pack("<HBBI", raw.NODE_UP, 0, 0, 32769) + b"x" * 32769
        ),
        "fewer bytes than stated": lambda link: link.packet(raw.NODE_UP, raw.node("n"), size=99),
        "more bytes than stated": lambda link: link.packet(raw.NODE_UP, raw.node("n"), size=1),
        "fewer descriptors than stated": lambda link: link.packet(raw.NODE_UP, raw.node("n"), count=1),
        "more descriptors than stated": lambda link: link.packet(
            raw.NODE_UP, raw.node("n"), [raw.memfd(4096)], count=0
        ),
        "an unknown flag": lambda link: link.packet(raw.NODE_UP, raw.node("n"), flags=2),
        "an unknown type below": lambda link: link.packet(6),
        "a PARK of another size": lambda link: link.packet(raw.PARK, bytes(7)),
        "a KEEP for which nobody asked": lambda link: link.packet(raw.KEEP),
        "a BYE 8 for which nobody asked": lambda link: link.packet(raw.BYE, struct.pack("<HI", 8, 0)),
        "a GONE after HELLO": lambda link: link.packet(raw.GONE, bytes(16)),
        "an unknown type above": lambda link: link.packet(raw.REST + 1),
        "a second HELLO": lambda link: link.hello(),
        "a truncated BYE": lambda link: link.packet(raw.BYE, b"\1"),
        "a BYE with a long text": lambda link: link.packet(raw.BYE, struct.pack("<HI", 1, 1025) + b"x" * 1025),
        "a frame that interrupts another": lambda link: (
            link.packet(raw.ANNOUNCE, b"x", flags=1),
            link.packet(raw.NODE_UP, raw.node("n")),
        ),
        "a frame that outgrows its bounds": lambda link: [
            link.packet(raw.DEFINITION, b"x" * 32768, flags=1) for _ in range(9)
        ],
        "an empty packet of several": lambda link: link.packet(raw.ANNOUNCE, b"", flags=1),
        "too many descriptors in one frame": lambda link: [
            link.packet(raw.ATTACH, b"x", [raw.memfd(4096)] * 2, flags=1) for _ in range(3)
        ],
        "a payload that ends early": lambda link: link.frame(raw.ANNOUNCE, good[:-1]),
        "a payload that ends late": lambda link: link.frame(raw.ANNOUNCE, good + b"\0"),
        "an unknown kind of ROS 2's type hash": lambda link: link.announce(
            "/x", False, ENDPOINT, ros_hash=b"\2" + bytes(32)
        ),
        "a type hash of ROS 2 that ends early": lambda link: link.announce(
            "/x", False, ENDPOINT, ros_hash=b"\1" + bytes(31)
        ),
        "a node without its enclave": lambda link: link.frame(raw.NODE_UP, text("n")),
        "a node with a long enclave": lambda link: link.frame(raw.NODE_UP, raw.node("n", "e" * 1025)),
        "a kind of endpoint that is none": lambda link: link.announce("/x", 3, ENDPOINT),
        "a CALL by a writer that does not call": lambda link: link.frame(
            raw.CALL, link.announce("/image", 1, link.endpoint("/image", False)) + link.endpoint("/image", False).gid
        ),
        "an empty topic": lambda link: link.announce("", False, ENDPOINT),
        "a long topic": lambda link: link.announce("/" + "x" * 1024, False, ENDPOINT),
        "an enumerator of QoS out of range": lambda link: link.announce(
            "/x", False, ENDPOINT, quality=b"\2" + raw.qos()[1:]
        ),
        "a depth of 0": lambda link: link.announce("/x", False, ENDPOINT, quality=raw.qos(depth=0)),
        "a depth of 65537": lambda link: link.announce("/x", False, ENDPOINT, quality=raw.qos(depth=65537)),
        "held of 0": lambda link: link.announce("/x", False, ENDPOINT, quality=raw.qos(held=0)),
        "held of 65537": lambda link: link.announce("/x", False, ENDPOINT, quality=raw.qos(held=65537)),
        "a negative lifespan": lambda link: link.announce("/x", False, ENDPOINT, quality=raw.qos(lifespan=-1)),
        "an endpoint twice": lambda link: [link.announce("/x", False, ENDPOINT, gid=b"g" * 16) for _ in range(2)],
        "a withdrawal of what it does not have": lambda link: link.frame(raw.WITHDRAW, os.urandom(16)),
        "an ATTACH for an endpoint that is not the sender's": lambda link: link.frame(
            raw.ATTACH, link.endpoint("/victim", True).gid + os.urandom(16) + struct.pack("<Q", 4096), [raw.memfd(4096)]
        ),
        "a file where a memfd should be": lambda link: Subscribed(
            link, "/victim", descriptor=os.open("/proc/self/status", os.O_RDONLY), size=4096, wait=False
        ),
    }
    first = {
        "a first frame that is none": lambda link: link.frame(raw.NODE_UP, raw.node("n")),
        "no magic": lambda link: link.hello(magic=b"notbaton"),
        "a truncated HELLO": lambda link: link.packet(raw.HELLO, hello),
        "a long HELLO": lambda link: link.packet(raw.HELLO, hello + struct.pack("<I", 1) + b"n" + bytes(17)),
        "a GONE of no process": lambda link: link.packet(raw.GONE),
        "a GONE of too many processes": lambda link: link.packet(raw.GONE, bytes(16 * 1025)),
        "a long name": lambda link: link.hello(name=b"x" * 256),
        "HELLO with the receiver's own id": lambda link: link.hello(identity=bytes.fromhex(stage.victim[2:])),
    }
    stage.begin()
    wrong = []
    for greeted, cases in ((True, rules), (False, first)):
        for name, act in cases.items():

            def break_it(act=act, greeted=greeted):
                link = Link(stage.directory, stage.victim, hello=greeted)
                act(link)
                return link.drain(5)

            said = stage.apart(break_it)
            if not said.startswith("BYE 4"):
                wrong.append(f"{name}: {said}")
    return "; ".join(wrong) or "all got BYE 4"


@attack("sends noise as packets")
def noise(stage):
    stage.begin()
    for _ in range(stage.size(40, 1000)):
        random.random()  # each child has the parent's

        def act():
            link = Link(stage.directory, stage.victim, hello=random.random() < 0.8)
            for _ in range(5):
                kind = random.choice((*range(1, 6), *range(0x0100, 0x0112), random.getrandbits(16)))
                link.packet(kind, random.randbytes(random.choice((0, 3, 16, 40, 300))), flags=random.choice((0, 0, 1)))

        stage.apart(act)


def flood(stage, send, prepare=None, seconds=0.4):
    """Calls send(link, number) without a pause; goes on as a new process when the connection is ended. A sender that has to wait reads meanwhile."""
    stage.begin()
    end = time.monotonic() + stage.size(seconds, 5)
    links = 0
    while time.monotonic() < end:
        try:
            link = Link(stage.directory, stage.victim)
            links += 1
            prepared = prepare(link) if prepare else link
            number = 0
            while time.monotonic() < end:
                number += 1
                try:
                    send(prepared, number)
                except (BlockingIOError, TimeoutError):
                    link.drain(0.001)
                if number % 32 == 0:
                    link.drain(0)
        except (Gone, Refused, TimeoutError):
            pass
        stage.keep(link)
        if len(stage.kept) > 8:
            stage.kept.pop(0)
    return f"{links} connections"


ANNOUNCEMENTS_MIB = 64  # connection.md, "Budgets": what the announcements of one peer may take
WAIT_S = 0.05  # how long one send may wait

FLOODS = {
    "announces endpoints": lambda link, n: link.announce(f"/flood{n}", n % 2 == 0, ENDPOINT),
    "announces endpoints of the victim's topic": lambda link, n: link.announce(
        "/victim", False, link.endpoint("/victim", True), quality=raw.qos(depth=65536, held=65536)
    ),
    "announces endpoints with long names": lambda link, n: link.announce(
        f"/{n}".ljust(1024, "x"), False, Endpoint(b"", False, "", "", "t" * 1024, bytes(16), 8, b""), node="n" * 1024
    ),
    "announces and withdraws endpoints": lambda link, n: link.frame(
        raw.WITHDRAW, link.announce("/victim", False, link.endpoint("/victim", True))
    ),
    "brings up nodes": lambda link, n: link.frame(raw.NODE_UP, raw.node(f"{n}".ljust(1024, "n")), timeout=WAIT_S),
    "brings a node up and down": lambda link, n: link.frame(
        raw.NODE_UP if n % 2 else raw.NODE_DOWN, raw.node("n"), timeout=WAIT_S
    ),
    "asks for holdings": lambda link, n: link.frame(raw.HOLDINGS_REQUEST, struct.pack("<Q", n), timeout=WAIT_S),
    "asks for definitions": lambda link, n: link.frame(
        raw.DEFINITION_REQUEST, link.endpoint("/victim", True).gid if n % 2 else os.urandom(16), timeout=WAIT_S
    ),
    "sends definitions": lambda link, n: link.frame(
        raw.DEFINITION, os.urandom(16) + text("x" * 200_000), timeout=WAIT_S
    ),
    "sends losses": lambda link, n: link.frame(
        raw.LOSSES, struct.pack("<QI", n, 1) + os.urandom(16 + 8 * 8), timeout=WAIT_S
    ),
    "sends holdings": lambda link, n: link.frame(
        raw.HOLDINGS, struct.pack("<Q", n) + os.urandom(16) + struct.pack("<I", 0), timeout=WAIT_S
    ),
    "counts memory": lambda link, n: link.frame(
        raw.ACCOUNT,
        struct.pack("<QQ", random.choice((0, 2**63, 2**64 - 1)), random.choice((0, 1, 2**64 - 1))),
        timeout=WAIT_S,
    ),
    "never finishes a frame": lambda link, n: link.packet(raw.DEFINITION, b"x", flags=1, timeout=WAIT_S),
    "says goodbye": lambda link, n: link.packet(raw.BYE, struct.pack("<HI", n % 9, 0), timeout=WAIT_S),
}


def add_flood(name, send):
    @attack(f"{name} without end", budget_mib=ANNOUNCEMENTS_MIB)
    def _(stage):
        return flood(stage, send)


for _name, _send in FLOODS.items():
    add_flood(_name, _send)


@attack("attaches and detaches without end")
def attach_storm(stage):
    def send(link, number):
        subscribed = Subscribed(link, "/victim")
        link.frame(raw.DETACH, subscribed.writer.gid + subscribed.gid)
        link.frame(raw.WITHDRAW, subscribed.gid)
        os.close(subscribed.fd)

    return flood(stage, send)


@attack("refuses, closes and reopens the subscriptions of the victim without end")
def writer_storm(stage):
    def send(link, number):
        published = Published(link, "/image", attach=False)
        published.meet()
        kind = (raw.REFUSED, raw.CLOSED)[number % 2]
        if kind == raw.CLOSED:
            published.send_segment()
            published.send_attached()
        link.frame(kind, published.gid + published.reader_gid + struct.pack("<I", number % 30) + text("no" * 2000))
        link.frame(raw.WITHDRAW, published.gid)
        for fd in (published.event_fd, published.ring_fd, published.segment_fd):
            os.close(fd)

    return flood(stage, send)


@attack("replaces its wake socket without end")
def wake_socket_storm(stage):
    import socket

    def send(subscribed, number):
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        subscribed.link.frame(raw.WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [near.fileno()], timeout=WAIT_S)
        near.close()
        far.close()

    return flood(stage, send, lambda link: Subscribed(link, "/victim"))


@attack("joins by a HELLO of every other version")
def versions(stage):
    stage.begin()
    for version in (0, raw.VERSION - 1, raw.VERSION + 1, 255, 65535):

        def act(version=version):
            link = Link(stage.directory, stage.victim, hello=False)
            link.hello(version=version)
            return link.drain(2)

        said = stage.apart(act)
        assert said.startswith("BYE 3"), f"version {version}: {said}"


@attack("answers questions about its type with noise and escape codes")
def definitions(stage):
    """A type of a known name and another hash makes the victim ask for its definition, to print the difference."""
    stage.begin()
    texts = [
        "",
        "\x1b[2J\x1b]0;owned\a" * 100,
        "message std_msgs/String\n" * 8000,
        "message a/B\nstring " + "x" * 200_000,
        "\0" * 1000,
    ]
    for definition in texts:

        def act(definition=definition):
            link = Link(stage.directory, stage.victim)
            gid = link.announce("/victim", False, link.endpoint("/victim", True), hash_=os.urandom(16))
            try:
                link.wait(raw.DEFINITION_REQUEST, 2)
            except TimeoutError:
                pass
            link.frame(raw.DEFINITION, gid + text(definition))
            link.drain(0.05)

        stage.apart(act)
