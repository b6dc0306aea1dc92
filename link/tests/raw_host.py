# SPDX-License-Identifier: Apache-2.0
"""A hostile host, written from docs/format (link.md, chunk.md) without a line of Baton. `raw_host.py ATTACK OPTIONS`, options as
JSON: `address` of the victim, `from`: own addresses, `topics`: [name, type, definition, hash] each. It prints "attacks" when the attack is under
way, goes on until a line comes in, and prints one line of JSON: what it saw."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator

PORT = 22700
RESUME, OPEN, READY, CLOSE, PART, ACK, ALIVE, BULK = range(1, 9)
ENDLESS = 2**63 - 1
WORDS = "baton/1/words"
PIECE = 200_000

ATTACKS: dict[str, Callable[[dict], dict]] = {}


def attack(function: Callable[[dict], dict]) -> Callable[[dict], dict]:
    ATTACKS[function.__name__] = function
    return function


def text(value: str | bytes) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(value)) + value


def hello(host: bytes, session: int, name: bytes, version: int = 5, domain: int = 0) -> bytes:
    return (
        struct.pack("<8sII16sQH", b"btnlink\n", version, domain, host, session, PORT).ljust(48, b"\0")
        + name.ljust(80, b"\0")[:80]
    )


def header(size: int, publisher: bytes, type_hash: bytes, sequence: int = 1, skeleton: int = 0) -> bytes:
    now = time.time_ns()
    fields = (b"\0\1BT", 1, 1, 0, size, skeleton, sequence, now, now, publisher, type_hash[:8])
    return struct.pack("<4sHBBIIQqq16s8s", *fields).ljust(128, b"\0")


def gid(number: int) -> bytes:
    """An id. Each ten thousand ids belong to another process."""
    return b"\xee" * 8 + struct.pack("<II", number // 10_000, number)


def end(
    number: int, topic: str, kind: str, type_hash: bytes, *, writer: bool, node: str = "liar", depth: int = 10
) -> bytes:
    qos = struct.pack("<BBBBIqqq", 1, 0, 0, 0, depth, ENDLESS, ENDLESS, ENDLESS)
    return gid(number) + bytes([writer]) + text(topic) + text(kind) + text(node) + type_hash + b"\0" + qos


class RawHost:
    """One connection. `session` 0: only the first hello is sent."""

    def __init__(
        self, address: str, host: bytes | None = None, *, name: bytes = b"liar", session: int = 4711, own: str = ""
    ) -> None:
        self.host = host or os.urandom(16)
        self.name = name
        self.socket = socket.create_connection((address, PORT), timeout=20, source_address=(own, 0) if own else None)
        self.sent_words = 0
        self.wants: list[str] = []  # of the victim, its newest
        self.arriving: dict[int, bytearray] = {}
        self.next_flow = 2
        self.acknowledges = True
        self.ended = False
        self.socket.sendall(hello(self.host, 0, name))
        self.victim = self.get(128)[16:32]
        if session:
            self.socket.sendall(hello(self.host, session, name))
            self.frame(OPEN, flow=1, behind=WORDS.encode())
            self.frame(READY, number=1)

    def get(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            got = self.socket.recv(size - len(out))
            if not got:
                raise ConnectionError("the other side has ended the connection")
            out += got
        return out

    def frame(
        self, kind: int, flow: int = 0, number: int = 0, offset: int = 0, total: int = 0, behind: bytes = b""
    ) -> None:
        self.socket.sendall(struct.pack("<B3xIQQII", kind, flow, number, offset, len(behind), total) + behind)

    def open(self, channel: str) -> int:
        flow, self.next_flow = self.next_flow, self.next_flow + 1
        self.frame(OPEN, flow, behind=channel.encode())
        return flow

    def send(self, flow: int, number: int, whole: bytes) -> None:
        for offset in range(0, len(whole), PIECE):
            self.frame(PART, flow, number, offset, len(whole), whole[offset : offset + PIECE])

    def say(
        self,
        ends: list[bytes] = (),
        types: list[list] = (),
        wants: list[str] = (),
        *,
        host: bytes = b"",
        name: str | bytes = "liar",
    ) -> None:
        """An advertisement; `types`: rows of OPTIONS' topics."""
        words = (host or self.host) + text(name) + struct.pack("<I", len(ends)) + b"".join(ends)
        words += struct.pack("<I", len(types))
        for _, kind, definition, type_hash, skeleton in types:
            words += text(kind) + bytes.fromhex(type_hash) + struct.pack("<I", skeleton) + text(definition)
        words += struct.pack("<I", len(wants)) + b"".join(map(text, wants))
        self.raw_words(words)

    def raw_words(self, words: bytes) -> None:
        self.sent_words += 1
        self.send(1, self.sent_words, header(len(words), self.host, b"btnword1", self.sent_words) + words)

    def serve(self, seconds: float = 0.0) -> None:
        """Reads the victim's frames, answers them as an honest host does, and keeps the connection alive."""
        until = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            self.frame(ALIVE)
        while not self.ended:
            left = max(0.0, until - time.monotonic())
            if not select.select([self.socket], [], [], left)[0]:
                return
            try:
                self._read()
            except OSError:
                self.ended = True

    def _read(self) -> None:
        kind, flow, number, _, size, total = struct.unpack("<B3xIQQII", self.get(32))
        behind = self.get(size)
        if kind == PART:
            arriving = self.arriving.setdefault(flow, bytearray())
            arriving += behind
            if len(arriving) == total:
                whole = bytes(self.arriving.pop(flow))
                if self.acknowledges:
                    self.frame(ACK, flow, number)
                if whole[56:64] == b"btnword1":
                    self._hear(whole[128:])
        elif kind == ALIVE and number != 0:
            self.frame(ALIVE, offset=number)

    def _hear(self, words: bytes) -> None:
        """The channels that the victim wants end its advertisement."""
        self.wants = []
        for at in range(4, len(words)):
            if words.startswith(b"baton/1/", at):
                (size,) = struct.unpack("<I", words[at - 4 : at])
                self.wants.append(words[at : at + size].decode())

    def wanted(self, topic: str, seconds: float = 60.0) -> str:
        """The channel of `topic` that the victim wants."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.ended:
            for channel in self.wants:
                if channel.rsplit("#", 1)[0].endswith(topic):
                    return channel
            self.serve(0.05)
        raise TimeoutError(f"nobody wants {topic}: {self.wants}")


def stopped(seconds: float) -> bool:
    """Whether a line has come in."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def goes_on(each: Callable[[], None], pause: float = 0.05) -> None:
    print("attacks", flush=True)
    while not stopped(pause):
        with contextlib.suppress(OSError):
            each()


def from_addresses(options: dict) -> Iterator[str]:
    while True:
        yield from options.get("from") or [""]


@attack
def crowd(options: dict) -> dict:
    """1000 publishers of each topic, and 40 hosts that want the topic, over all kinds of channels."""
    own, hosts = from_addresses(options), []
    for number in range(41):
        with contextlib.suppress(OSError):
            hosts.append(RawHost(options["address"], own=next(own)))
            ends, wants = [], []
            for place, (name, kind, _, type_hash, _) in enumerate(options["topics"]):
                if number == 0:
                    crowd = range(place * 1000, (place + 1) * 1000)
                    ends += [end(i, name, kind, bytes.fromhex(type_hash), writer=True) for i in crowd]
                ends.append(
                    end(
                        10_000 + 100 * place + number,
                        name,
                        kind,
                        bytes.fromhex(type_hash),
                        writer=False,
                        depth=1 + number * 7,
                    )
                )
                wants += [f"baton/1/{r}{t}/{type_hash[:16]}{name}#{number}" for r in "rb" for t in "tv"]
            hosts[-1].say(ends, options["topics"], wants)
    goes_on(lambda: [host.serve() for host in hosts])
    return {"hosts": sum(not host.ended for host in hosts)}


@attack
def many_publishers(options: dict) -> dict:
    """The most publishers that a topic may have, on each of many topics: more than a process of the victim has connections for."""
    host, ends = RawHost(options["address"]), []
    for place, (name, kind, _, type_hash, _) in enumerate(options["topics"]):
        crowd = range(place * 1000, place * 1000 + 700)
        ends += [end(i, name, kind, bytes.fromhex(type_hash), writer=True) for i in crowd]
    host.say(ends, options["topics"])
    goes_on(host.serve)
    return {"open": not host.ended}


@attack
def deep_wants(options: dict) -> dict:
    """Hosts that want all topics of the victim, with the longest queues: more than its publishers' process has memory for."""
    own, hosts = from_addresses(options), []
    for number in range(30):
        hosts.append(RawHost(options["address"], own=next(own)))
        ends, wants = [], []
        for place, (name, kind, _, type_hash, _) in enumerate(options["topics"]):
            gid_number = 10_000 * number + place
            ends.append(end(gid_number, name, kind, bytes.fromhex(type_hash), writer=False, depth=65536))
            wants.append(f"baton/1/rv/{type_hash[:16]}{name}#{number}")
        hosts[-1].say(ends, (), wants)
    goes_on(lambda: [host.serve() for host in hosts])
    return {"open": not any(host.ended for host in hosts)}


@attack
def announced_sizes(options: dict) -> dict:
    """Twelve messages that claim 256 MiB each, of which only 160 bytes are sent."""
    host = RawHost(options["address"])
    name, kind, _, type_hash, skeleton = options["topics"][0]
    host.say([end(1, name, kind, bytes.fromhex(type_hash), writer=True)], options["topics"])
    channel = host.wanted(name)
    for number in range(12):
        size = (256 << 20) - 256 - number
        whole = header(size, gid(1), bytes.fromhex(type_hash), number + 1, skeleton) + bytes(32)
        host.frame(PART, host.open(channel), 1, 0, 128 + size, whole)
    goes_on(host.serve)
    return {"open": not host.ended}


@attack
def endless_parts(options: dict) -> dict:
    """Messages of 2 GiB whose bytes are sent one by one, on as many flows as possible."""
    host = RawHost(options["address"])
    name, kind, _, type_hash, skeleton = options["topics"][0]
    host.say([end(1, name, kind, bytes.fromhex(type_hash), writer=True)], options["topics"])
    channel = host.wanted(name)
    size, flows = (2 << 30) - 64, {}
    for number in range(200):
        flow = host.open(channel)
        host.frame(PART, flow, 1, 0, 128 + size, header(size, gid(1), bytes.fromhex(type_hash), number + 1, skeleton))
        flows[flow] = 128

    def more() -> None:
        for flow, at in flows.items():
            host.frame(PART, flow, 1, at, 128 + size, b"x")
            flows[flow] = at + 1
        host.serve()

    goes_on(more)
    return {"open": not host.ended}


@attack
def log_flood(options: dict) -> dict:
    """Causes every diagnostic of a link again and again, each time with another name."""
    name, kind, _, type_hash, skeleton = options["topics"][0]
    host, others, count = RawHost(options["address"]), [], 0
    host.say([end(1, name, kind, bytes.fromhex(type_hash), writer=True)], options["topics"])
    channel = host.wanted(name)
    flow, sent = host.open(channel), 0

    def flood() -> None:
        nonlocal count, sent
        for _ in range(20):
            count += 1
            # Ends that do not fit, of other names each time.
            odd = [
                end(100 + i, name, f"a/C{count}x{i}", os.urandom(16), writer=bool(i % 2), node=f"n{count}x{i}")
                for i in range(30)
            ]
            host.say([end(1, name, kind, bytes.fromhex(type_hash), writer=True), *odd], options["topics"])
            for _ in range(20):  # messages that are none
                sent += 1
                host.send(
                    flow, sent, header(count, gid(1), bytes.fromhex(type_hash), sent, skeleton) + os.urandom(count)
                )
            host.serve()
        with contextlib.suppress(OSError):  # hosts that come and go, of other versions, domains and languages
            for bad in (
                hello(os.urandom(16), 0, b"v%d" % count, version=count),
                hello(os.urandom(16), 0, b"d%d" % count, domain=count),
                os.urandom(200),
            ):
                with socket.create_connection((options["address"], PORT), timeout=5) as stranger:
                    stranger.sendall(bad)
            others.append(RawHost(options["address"], name=b"x%d" % count))
            others[-1].say(name=f"x{count}")
            others[-1].frame(77)
            if len(others) > 5:
                others.pop(0).socket.close()

    goes_on(flood, pause=0.0)
    return {"rounds": count}


def id_of(address: str) -> bytes:
    """The id of the host at `address`, from its hello."""
    return RawHost(address, session=0).victim


@attack
def stolen_id(options: dict) -> dict:
    """Connects to the victim with the id of the host at `honest`, before that host does, and again whenever the victim accepts."""
    stolen = id_of(options["honest"])
    print("knows", flush=True)
    held: list[RawHost] = []
    until = time.monotonic() + 60
    while not held and time.monotonic() < until:
        try:
            held.append(RawHost(options["address"], stolen, session=1))
        except OSError:
            time.sleep(0.001)

    def stay() -> None:
        for host in held:
            host.serve()
        held[:] = [host for host in held if not host.ended]
        if len(held) < 3:
            held.append(RawHost(options["address"], stolen, session=1 + len(held)))

    goes_on(stay)
    return {"held": len(held)}


def crowd_of(options: dict, connect: Callable[[str, int], socket.socket | None], more: Callable[[list], None]) -> dict:
    """`count` connections that `connect` makes from all own addresses in turn, then `more` again and again."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    own, held = from_addresses(options), []
    for number in range(options["count"]):
        with contextlib.suppress(OSError):
            held.append(connect(next(own), number))
    goes_on(lambda: more(held), pause=0.02)
    return {"connections": options["count"]}


def from_address(options: dict, own: str) -> socket.socket:
    return socket.create_connection((options["address"], PORT), timeout=5, source_address=(own, 0) if own else None)


@attack
def silent(options: dict) -> dict:
    """Connections that say nothing. Those that are ended are made again."""

    def again(held: list[socket.socket]) -> None:
        poll = select.poll()  # select.select() has room for 1024
        by_number = {one.fileno(): one for one in held}
        for number in by_number:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(0)[:50]:
            held.remove(one := by_number[number])
            host = one.getsockname()[0]
            one.close()
            held.append(from_address(options, host if options["from"] else ""))

    return crowd_of(options, lambda own, _: from_address(options, own), again)


@attack
def half_hellos(options: dict) -> dict:
    """Connections that say a part of a hello, or one hello of two."""

    def half(own: str, number: int) -> socket.socket:
        one = from_address(options, own)
        one.sendall(hello(os.urandom(16), 0, b"half")[: (8, 127, 128)[number % 3]])
        return one

    own = from_addresses(options)

    def more(held: list[socket.socket]) -> None:
        held.append(half(next(own), len(held)))
        held.pop(0).close()

    return crowd_of(options, half, more)


@attack
def trickle(options: dict) -> dict:
    """Connections that say their hello byte by byte."""

    def bytes_of(held: list[socket.socket]) -> None:
        for one in held:
            with contextlib.suppress(OSError):
                one.send(b"b", socket.MSG_DONTWAIT)

    return crowd_of(options, lambda own, _: from_address(options, own), bytes_of)


@attack
def reconnect(options: dict) -> dict:
    """Connections that come and go at once."""
    own = from_addresses(options)

    def some(_: list) -> None:
        for _ in range(20):
            from_address(options, next(own)).close()

    return crowd_of(options, lambda own, _: from_address(options, own), some)


@attack
def fake_hosts(options: dict) -> dict:
    """Hosts that say their hellos, each with an id of its own, and carry nothing. Those that are sent away come again."""
    own = from_addresses(options)
    held: list[RawHost] = []
    deadline = time.monotonic() + 60
    while len(held) < options["count"] and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            held.append(RawHost(options["address"], own=next(own)))
        for host in held[len(held) % 16 :: 16] if len(held) < options["count"] else held:
            host.serve()
        held[:] = [host for host in held if not host.ended]

    def stay() -> None:
        for host in held:
            host.serve()

    stay()
    goes_on(stay, pause=0.2)
    return {"held": sum(not host.ended for host in held)}


@attack
def many_ids(options: dict) -> dict:
    """As many hosts as possible, each with a new id."""
    held: list[RawHost] = []

    def more() -> None:
        for host in held:
            host.serve()
        held[:] = [host for host in held if not host.ended]
        for _ in range(20):
            if len(held) < 300:
                held.append(RawHost(options["address"]))

    for _ in range(15):
        with contextlib.suppress(OSError):
            more()
    goes_on(more, pause=0.2)
    return {"held": len(held)}


@attack
def half_open(options: dict) -> dict:
    """Connections that send half a hello or nothing, as many as the system permits."""
    held: list[socket.socket] = []

    def more() -> None:
        for i in range(40):
            one = socket.create_connection((options["address"], PORT), timeout=5)
            one.sendall((b"", b"btnlink\n", hello(os.urandom(16), 0, b"half")[:127])[i % 3])
            held.append(one)
        while len(held) > 400:
            held.pop(0).close()

    more()
    goes_on(more, pause=0.01)
    return {"held": len(held)}


@attack
def forged_publisher(options: dict) -> dict:
    """Advertises the publisher of another host, and publishes for it with the highest sequence number."""
    name, kind, _, type_hash, skeleton = options["topics"][0]
    host = RawHost(options["address"])
    publisher = bytes.fromhex(options["publisher"])
    forged = publisher + end(0, name, kind, bytes.fromhex(type_hash), writer=True)[16:]
    host.say([forged, end(1, name, kind, bytes.fromhex(type_hash), writer=True)], options["topics"])
    flow = host.open(host.wanted(name))
    message = bytes(skeleton)
    for number in range(1, 100):
        host.send(
            flow,
            number,
            header(len(message), publisher, bytes.fromhex(type_hash), 2**64 - 200 + number, skeleton) + message,
        )
    goes_on(host.serve)
    return {"open": not host.ended}


@attack
def next_ids(options: dict) -> dict:
    """Advertises publishers with the ids that the next endpoints of an honest publisher's process will have."""
    name, kind, _, type_hash, _ = options["topics"][0]
    host = RawHost(options["address"])
    publisher = bytes.fromhex(options["publisher"])
    (number,) = struct.unpack_from("<I", publisher, 12)
    behind = end(0, name, kind, bytes.fromhex(type_hash), writer=True)[16:]
    claimed = [publisher[:12] + struct.pack("<I", number + i) + behind for i in range(1, 41)]
    host.say(claimed, options["topics"])
    goes_on(host.serve)
    return {"open": not host.ended}


@attack
def wrong_frames(options: dict) -> dict:
    """Acknowledgements and resumptions of chunks never sent, any number of channels, frames of unknown kinds, parts and continuations of unknown
    flows, a ready of the last connection that there can be, keys that are none."""
    ended = 0

    def acks(host: RawHost) -> None:
        for flow in (1, 2, 3, 2**32 - 1):
            host.frame(ACK, flow, 2**64 - 1)

    def resumes(host: RawHost) -> None:
        for number in (2**64 - 1, 2**63, 5):
            host.frame(RESUME, 1, number, 2**64 - 1)

    def channels(host: RawHost) -> None:
        for number in range(20_000):
            host.frame(OPEN, 10 + number, behind=b"baton/1/rv/" + b"x" * 1000)

    def parts(host: RawHost) -> None:
        host.frame(PART, 99, 1, 0, 2**31, bytes(200))

    def kinds(host: RawHost) -> None:
        host.frame(200, 1, 2, 3, 4)

    def closes(host: RawHost) -> None:
        for flow in range(100_000):
            host.frame(CLOSE, flow)

    def questions(host: RawHost) -> None:
        for number in range(100_000):
            host.frame(ALIVE, 0, number + 1)

    def words(host: RawHost) -> None:
        host.raw_words(os.urandom(1000))
        host.raw_words(host.host + text("liar") + struct.pack("<I", 2**32 - 1))

    def continuations(host: RawHost) -> None:
        for number in range(1000):
            host.frame(OPEN, 10 + number, number + 1, behind=b"baton/1/rv/x")
        host.frame(READY, number=2**64 - 1)

    def reopened(host: RawHost) -> None:
        """Each asks for an answer, and none is read."""
        opening = struct.pack("<B3xIQQII", OPEN, 10, 1, 0, 12, 0) + b"baton/1/rv/x"
        both = opening + struct.pack("<B3xIQQII", CLOSE, 10, 0, 0, 0, 0)
        host.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(ConnectionError):
            for _ in range(400):  # 12.8 MB of answers: more than sockets keep, and more than the link keeps
                host.socket.sendall(both * 1000)
            unended.append(host)

    def keys(host: RawHost) -> None:
        host.frame(BULK, number=2**64 - 1)
        host.frame(BULK)

    unended: list[RawHost] = []
    kinds_of = [acks, resumes, channels, parts, kinds, closes, questions, words, continuations, reopened, keys]

    def some() -> None:
        nonlocal ended
        for each in kinds_of:
            host = RawHost(options["address"])
            try:
                each(host)
                host.serve(0.2)
                ended += host.ended
            except OSError:
                ended += 1
            host.socket.close()

    some()
    goes_on(some)
    return {"ended": ended, "unended": len(unended)}


@attack
def big_words(options: dict) -> dict:
    """An advertisement of the greatest size, again and again: endpoints of every topic, and channels that nobody has."""
    host = RawHost(options["address"])
    name, kind, _, type_hash, _ = options["topics"][0]
    ends = [
        end(i, name if i % 4 else f"/t{i}", kind if i % 3 else f"a/B{i}", bytes.fromhex(type_hash), writer=bool(i % 2))
        for i in range(32768)
    ]
    wants = [f"baton/1/rv/{type_hash[:16]}/t{i}#1" for i in range(16384)]

    def again() -> None:
        host.say(ends, (), wants)
        host.serve()

    again()
    goes_on(again)
    return {"words": host.sent_words, "open": not host.ended}


@attack
def terminal_names(options: dict) -> dict:
    """Names that could control a terminal or forge lines of a log."""
    evil = b"\x1b[2J\nbaton link: error: forged\r\x9b31m\xe2\x80\xae"
    name, kind, _, type_hash, _ = options["topics"][0]
    host = RawHost(options["address"], name=evil)
    odd = [end(1, name, "a/B" + evil.decode("latin-1"), os.urandom(16), writer=False, node=evil.decode("latin-1"))]
    host.say(odd, [], ["baton/1/rv/\x1b[2J"], name=evil)
    with contextlib.suppress(OSError):
        RawHost(options["address"], name=evil).frame(77)
    with socket.create_connection((options["address"], PORT), timeout=5) as other:
        other.sendall(hello(os.urandom(16), 0, evil, domain=5))
        other.recv(128)
    goes_on(host.serve)
    return {"open": not host.ended}


if __name__ == "__main__":
    print(json.dumps(ATTACKS[sys.argv[1]](json.loads(sys.argv[2]))), flush=True)
