# SPDX-License-Identifier: Apache-2.0
"""Peers with the identity of another process, and frames about endpoints of other processes."""

from __future__ import annotations

import os
import struct

import raw_peer as raw
from raw_peer import Gone, Link, Published, Refused, Subscribed, text
from table import attack


def bystanders(stage) -> list[str]:
    return [name for name in os.listdir(stage.directory) if name.startswith("p-") and name != stage.victim]


def their_endpoints(stage) -> list[raw.Endpoint]:
    """The ids that the bystanders announce to every process that connects: an attacker may learn each of them."""
    found = []
    for name in bystanders(stage):
        link = Link(stage.directory, name)
        link.drain(0.1)
        found += link.endpoints.values()
        link.packet(raw.BYE, struct.pack("<HI", 1, 0))
        link.close()
    return found


@attack("says that it is a bystander")
def another_process(stage):
    ids = [bytes.fromhex(name[2:]) for name in bystanders(stage)]
    stage.begin()
    for _ in range(stage.size(10, 100)):
        for identity in ids:

            def act(identity=identity):
                link = Link(stage.directory, stage.victim, identity, hello=False)
                link.hello()
                link.drain(0.02)

            stage.apart(act)


def holdings(writer: bytes, reader: bytes, question: int = 1) -> bytes:
    """The payload of HOLDINGS with one row: the reader holds all samples of the writer."""
    row = reader + struct.pack("<BII", 0, 65536, 65536) + text("") + struct.pack("<IIQB", 65536, 65536, 1 << 40, 0)
    return struct.pack("<Q", question) + writer + struct.pack("<IIII", 65536, 65536, 65536, 1) + row


@attack("speaks of endpoints that are a bystander's")
def others_endpoints(stage):
    endpoints = their_endpoints(stage)
    assert endpoints
    own = Link(stage.directory, stage.victim)
    victims = list((own.drain(0.1), own.endpoints)[1].values())
    own.close()
    stage.begin()
    for endpoint in endpoints:
        for other in victims:
            pair = (endpoint.gid, other.gid)
            for first, second in (pair, pair[::-1]):
                for act in (
                    lambda link, a, b: link.frame(raw.WITHDRAW, a),
                    lambda link, a, b: link.frame(raw.DETACH, a + b),
                    lambda link, a, b: link.frame(raw.CLOSED, a + b + struct.pack("<I", 16) + text("no")),
                    lambda link, a, b: link.frame(raw.REFUSED, a + b + struct.pack("<I", 3) + text("no")),
                    lambda link, a, b: link.frame(raw.RETIRED, a + struct.pack("<IQ", 0, 0)),
                    lambda link, a, b: link.frame(raw.SEGMENT, a + struct.pack("<IQ", 0, 4096), [raw.memfd(4096)]),
                    lambda link, a, b: link.frame(raw.ATTACH, a + b + struct.pack("<Q", 4096), [raw.memfd(4096)]),
                    lambda link, a, b: link.frame(raw.WAKE_SOCKET, a + b, [raw.memfd(4096)]),
                    lambda link, a, b: link.frame(
                        raw.ATTACHED,
                        a + b + struct.pack("<IIQIQ", 0, 16, 4096, 8, 1),
                        [raw.memfd(4096), raw.memfd(4096)],
                    ),
                    lambda link, a, b: link.frame(raw.CALL, a + b),
                    lambda link, a, b: link.frame(raw.REST, a + b),
                    lambda link, a, b: link.frame(raw.HOLDINGS, holdings(a, b)),
                    lambda link, a, b: link.frame(raw.LOSSES, struct.pack("<QI", 1, 1) + b + bytes([255, 0]) * 32),
                    lambda link, a, b: link.frame(raw.DEFINITION, a + text("message a/B")),
                ):

                    def lie(act=act, first=first, second=second):
                        link = Link(stage.directory, stage.victim)
                        act(link, first, second)
                        link.drain(0.002)

                    stage.apart(lie)
            if not stage.long:
                break


@attack("calls the bystanders gone, and parks links in their names")
def others_ends(stage):
    ids = [bytes.fromhex(name[2:]) for name in bystanders(stage)]
    stage.begin()
    for _ in range(stage.size(10, 100)):
        for identity in ids:

            def gone(identity=identity):
                link = Link(stage.directory, stage.victim, hello=False)
                link.packet(raw.GONE, identity + os.urandom(16))
                link.drain(0.02)

            def park(identity=identity):
                link = Link(stage.directory, stage.victim, identity, hello=False)
                link.packet(raw.PARK, struct.pack("<Q", 0))
                link.drain(0.02)

            stage.apart(gone)
            stage.apart(park)


@attack("announces endpoints with the ids of others")
def others_ids(stage):
    endpoints = their_endpoints(stage)
    stage.begin()
    for endpoint in endpoints:
        for is_writer in (False, True):
            link = stage.keep(Link(stage.directory, stage.victim))
            try:
                link.announce(endpoint.topic, is_writer, endpoint, gid=endpoint.gid)
                link.drain(0.02)
            except Gone:
                pass


def claim(stage, gids: list[bytes], endpoint: raw.Endpoint) -> None:
    link = stage.keep(Link(stage.directory, stage.victim))
    try:
        for number, gid in enumerate(gids):
            link.announce(f"/claimed{number}", number % 2 == 0, endpoint, gid=gid)
            link.frame(raw.WITHDRAW, gid)
            link.announce(f"/claimed{number}", number % 2 == 1, endpoint, gid=gid)
        link.drain(0.1)
    except Gone:
        pass


@attack("announces the ids that the next endpoints of others will have")
def next_ids(stage):
    endpoints = their_endpoints(stage)
    assert endpoints
    stage.begin()
    for endpoint in endpoints:
        (number,) = struct.unpack_from("<I", endpoint.gid, 12)
        claim(stage, [endpoint.gid[:12] + struct.pack("<I", number + i) for i in range(1, 40)], endpoint)


@attack("announces the ids that the victim's next endpoints will have")
def victims_next_ids(stage):
    own = Link(stage.directory, stage.victim)
    endpoints = list((own.drain(0.1), own.endpoints)[1].values())
    own.close()
    assert endpoints
    stage.begin()
    gids = {endpoints[0].gid[:12] + struct.pack("<I", i) for i in range(1, 200)}
    claim(stage, sorted(gids - {each.gid for each in endpoints}), endpoints[0])


@attack("has a process id that begins as another's")
def twin(stage):
    ids = [bytes.fromhex(name[2:]) for name in (*bystanders(stage), stage.victim)]
    stage.begin()
    for identity in ids:

        def act(identity=identity):
            link = Link(stage.directory, stage.victim, identity[:12] + os.urandom(4), hello=False)
            link.hello()
            link.drain(0.02)

        stage.apart(act)


@attack("takes down nodes that are others'")
def others_nodes(stage):
    stage.begin()
    for name in ("cpp", "python", "victim", ""):
        link = stage.keep(Link(stage.directory, stage.victim))
        try:
            link.frame(raw.NODE_DOWN, raw.node(name))
            link.drain(0.02)
        except Gone:
            pass


@attack("is a second publisher and a second subscription of everything")
def same_topics(stage):
    """Allowed: the topics have one more publisher and one more subscription, without an effect on the other ends."""
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    try:
        for topic in ("/cpp", "/python"):
            published = stage.keep(Published(link, topic))
            assert published.reader.topic == topic
        subscribed = stage.keep(Subscribed(link, "/victim"))
        for _ in range(5):
            subscribed.release(subscribed.take())
    except (Gone, Refused):
        pass


@attack("lies about its pid")
def pids(stage):
    stage.begin()
    for pid in (0, 1, stage.victim_pid, os.getppid(), 2**31 - 1, 2**32 - 1):
        link = stage.keep(Link(stage.directory, stage.victim, hello=False))
        link.hello(pid=pid)
        link.drain(0.02)
