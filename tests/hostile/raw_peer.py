# SPDX-License-Identifier: Apache-2.0
"""A peer that is written from docs/format/ alone and uses nothing of Baton's code.

A Link is one socket to an honest process: packets, frames and descriptors as in handshake.md. Subscribed and Published are the two
ends of one connection as in connection.md. All of it is honest as long as its caller is; the lies_*.py files are such callers.
One thread per object.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

# handshake.md, sections 3 and 6
HELLO, BYE, PARK, KEEP, GONE = range(1, 6)
MAGIC = bytes.fromhex("89424154 4f4e0d0a")
VERSION = 6
MORE = 1
PACKET_BYTES = 32768
# connection.md, section 1
ANNOUNCE, WITHDRAW, NODE_UP, NODE_DOWN, ATTACH, ATTACHED, REFUSED, SEGMENT = range(0x0100, 0x0108)
RETIRED, DETACH, CLOSED, DEFINITION_REQUEST, DEFINITION, WAKE_SOCKET, ACCOUNT = range(0x0108, 0x010F)
HOLDINGS_REQUEST, HOLDINGS, LOSSES, CALL, REST = range(0x010F, 0x0114)
FOREVER = (1 << 63) - 1

F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1, 2, 4, 16
PAGE = 4096

_libc = ctypes.CDLL(None, use_errno=True)
SYS_FUTEX = {"x86_64": 202, "aarch64": 98}.get(os.uname().machine, 202)


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<I", len(raw)) + raw


def node(name: str, enclave: str = "") -> bytes:
    """The payload of NODE_UP and NODE_DOWN."""
    return text(name) + text(enclave)


def qos(
    depth=10, held=8, reliable=True, keep_all=False, transient_local=False, manual=False, lifespan=FOREVER
) -> bytes:
    # Values in the order of qos.md: best_effort, reliable; keep_last, keep_all; volatile, transient_local; automatic, manual.
    return struct.pack(
        "<BBBBIIqqq", reliable, keep_all, transient_local, manual, depth, held, FOREVER, lifespan, FOREVER
    )


def pages(size: int) -> int:
    return (size + PAGE - 1) // PAGE * PAGE


def memfd(size: int, seals: int = F_SEAL_SHRINK | F_SEAL_GROW, flags: int = os.MFD_ALLOW_SEALING) -> int:
    fd = os.memfd_create("raw", flags | os.MFD_CLOEXEC)
    os.ftruncate(fd, size)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def writable_then_sealed(size: int) -> tuple[int, mmap.mmap]:
    """A segment that only its creator can write: mapped first, sealed against other writers afterwards."""
    fd = memfd(size, 0)
    view = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)
    return fd, view


def store(view: mmap.mmap, offset: int, value: int, size: int = 8) -> None:
    """Stores one word, which the other side may read at the same time, in one piece. (struct.pack_into() makes the bytes 0 first: a reader that finds
    a 0 in a token, a cursor or a release word sees a violation.)"""
    word = memoryview(view)[offset : offset + size].cast({4: "I", 8: "Q"}[size])
    word[0] = value & (1 << 8 * size) - 1


def futex_wake(view: mmap.mmap, offset: int) -> None:
    word = ctypes.c_uint32.from_buffer(view, offset)
    _libc.syscall(SYS_FUTEX, ctypes.byref(word), 1, 0x7FFFFFFF, None, None, 0)


@dataclass
class Endpoint:
    gid: bytes
    is_writer: bool
    topic: str
    node: str
    type_name: str
    type_hash: bytes
    skeleton: int
    qos: bytes


@dataclass
class Frame:
    kind: int
    payload: bytes
    fds: list[int] = field(default_factory=list)

    def close(self) -> None:
        for fd in self.fds:
            os.close(fd)
        self.fds = []


class Gone(Exception):
    """The other side has ended the connection; `reason` and `text` are those of its BYE, or None."""

    def __init__(self, reason=None, text="") -> None:
        super().__init__(f"BYE {reason}: {text}" if reason is not None else "ended without BYE")
        self.reason, self.text = reason, text


def parse_announce(payload: bytes) -> Iterator[Endpoint]:
    """The endpoints of a frame, one behind the other."""
    at = 0

    def take(size: int) -> bytes:
        nonlocal at
        at += size
        return payload[at - size : at]

    def string() -> str:
        return take(struct.unpack("<I", take(4))[0]).decode(errors="replace")

    while at < len(payload):
        gid, is_writer = take(16), bool(take(1)[0])
        topic, node, type_name, type_hash = string(), string(), string(), take(16)
        (skeleton,) = struct.unpack("<I", take(4))
        quality = take(len(qos()))
        take(32 if take(1) != b"\0" else 0)  # the hash of ROS 2
        yield Endpoint(gid, is_writer, topic, node, type_name, type_hash, skeleton, quality)


class Link:
    """One connection to the honest process `name` ("p-..." in `directory`), as process `identity` (16 bytes, new ones if empty)."""

    def __init__(
        self, directory: str, name: str, identity: bytes = b"", hello: bool = True, patience: float = 30.0
    ) -> None:
        self.directory, self.name = directory, name
        self.identity = identity or os.urandom(16)
        self.endpoints: dict[bytes, Endpoint] = {}
        self.detached: set[bytes] = set()  # gids of a writer of this peer and of the reader that left it
        self.bye: Gone | None = None
        self.parts: list[bytes] = []
        self.part_fds: list[int] = []
        self.waiting: list[Frame] = []
        self.sock = connect(directory, name, patience)
        if hello:
            self.hello()
            self.wait(HELLO, patience).close()

    def fileno(self) -> int:
        return self.sock.fileno()

    # --- packets --------------------------------------------------------------------------------------------------------

    def packet(self, kind, payload=b"", fds=(), flags=0, count=None, size=None, timeout=None) -> None:
        """Sends one packet; `count` and `size` are the values of its header, by default the right ones."""
        header = struct.pack(
            "<HBBI", kind, flags, len(fds) if count is None else count, len(payload) if size is None else size
        )
        self.raw(header + payload, fds, timeout)

    def raw(self, data: bytes, fds=(), timeout=None) -> None:
        self.sock.settimeout(timeout)
        try:
            if fds:
                socket.send_fds(self.sock, [data], list(fds))
            else:
                self.sock.send(data)
        except (BrokenPipeError, ConnectionResetError) as gone:
            self.drain(0)
            raise self.bye or Gone() from gone

    def frame(self, kind, payload=b"", fds=(), timeout=None) -> None:
        while len(payload) > PACKET_BYTES:
            self.packet(kind, payload[:PACKET_BYTES], flags=MORE, timeout=timeout)
            payload = payload[PACKET_BYTES:]
        self.packet(kind, payload, fds, timeout=timeout)

    def hello(self, identity=None, version=VERSION, magic=MAGIC, name=b"raw", pid=None) -> None:
        self.packet(
            HELLO,
            magic
            + struct.pack("<HHI", version, 0, os.getpid() if pid is None else pid)
            + (identity or self.identity)
            + struct.pack("<I", len(name))
            + name
            + bytes(16),
        )

    # --- receiving ------------------------------------------------------------------------------------------------------

    def receive(self, timeout: float) -> Frame | None:
        """The next whole frame; None after the timeout. Raises Gone at the end of the connection."""
        end = time.monotonic() + timeout
        while True:
            self.sock.settimeout(max(0.001, end - time.monotonic()))
            try:
                data, fds, _, _ = socket.recv_fds(self.sock, 8 + PACKET_BYTES + 8, 16)
            except TimeoutError:
                return None
            except ConnectionResetError:
                data, fds = b"", []
            if not data:
                raise self.bye or Gone()
            kind, flags, _, _ = struct.unpack_from("<HBBI", data)
            if kind == BYE:
                (reason, _) = struct.unpack_from("<HI", data, 8)
                self.bye = Gone(reason, data[14:].decode(errors="replace"))
                raise self.bye
            if kind == PARK:  # an honest process holds its frames back until the answer comes
                self.packet(KEEP)
                continue
            self.parts.append(data[8:])
            self.part_fds += fds
            if flags & MORE:
                continue
            frame = Frame(kind, b"".join(self.parts), self.part_fds)
            self.parts, self.part_fds = [], []
            if kind == ANNOUNCE:
                self.endpoints |= {endpoint.gid: endpoint for endpoint in parse_announce(frame.payload)}
            elif kind == WITHDRAW:
                self.endpoints.pop(frame.payload[:16], None)
            elif kind == DETACH:
                self.detached.add(frame.payload)
            return frame

    def wait(self, kind: int, patience: float = 20.0) -> Frame:
        """The next frame of that kind; others are kept for later calls, but for their descriptors."""
        for i, frame in enumerate(self.waiting):
            if frame.kind == kind:
                return self.waiting.pop(i)
        end = time.monotonic() + patience
        while time.monotonic() < end:
            frame = self.receive(end - time.monotonic())
            if frame is None:
                break
            if frame.kind == kind:
                return frame
            if kind != HELLO or frame.kind != ANNOUNCE:
                self.waiting.append(frame)
                del self.waiting[:-64]
        raise TimeoutError(f"no frame {kind:#x} came")

    def drain(self, seconds: float) -> Gone | None:
        """Reads everything that comes within `seconds`. Returns how the connection ended, or None."""
        end = time.monotonic() + seconds
        try:
            while True:
                frame = self.receive(max(0.001, end - time.monotonic()))
                if frame is not None:
                    frame.close()
                elif time.monotonic() >= end:
                    return None
        except Gone as gone:
            self.bye = self.bye or gone
            return gone

    def endpoint(self, topic: str, is_writer: bool, patience: float = 20.0) -> Endpoint:
        """The honest process's endpoint of a topic, as it announced it."""
        end = time.monotonic() + patience
        while True:
            for endpoint in self.endpoints.values():
                if endpoint.topic == topic and endpoint.is_writer == is_writer:
                    return endpoint
            if time.monotonic() > end:
                raise TimeoutError(f"nobody announced {topic}")
            frame = self.receive(max(0.001, end - time.monotonic()))
            if frame is not None and frame.kind != ANNOUNCE:
                self.waiting.append(frame)

    def announce(
        self, topic, is_writer, like: Endpoint, gid=None, quality=None, node="raw", hash_=None, ros_hash=b"\0"
    ) -> bytes:
        gid = gid or os.urandom(16)
        self.frame(
            ANNOUNCE,
            gid
            + bytes([is_writer])
            + text(topic)
            + text(node)
            + text(like.type_name)
            + (hash_ or like.type_hash)
            + struct.pack("<I", like.skeleton)
            + (quality or qos())
            + ros_hash,
        )
        return gid

    def close(self) -> None:
        self.sock.close()


def connect(directory: str, name: str, patience: float) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    end = time.monotonic() + patience
    try:
        while True:
            try:
                sock.setblocking(False)
                sock.connect(f"/proc/self/fd/{fd}/{name}")
                return sock
            except BlockingIOError:  # its backlog is full
                if time.monotonic() > end:
                    raise
                time.sleep(0.005)
    finally:
        os.close(fd)


def listen(directory: str, identity: bytes, backlog: int = 16, announced: bool = True) -> socket.socket:
    """A listening socket with the name of process `identity`; a temporary one unless `announced`."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    temporary = f"/proc/self/fd/{fd}/t-{os.urandom(16).hex()}"
    sock.bind(temporary)
    os.chmod(temporary, 0o600)
    sock.listen(backlog)
    if announced:
        os.rename(temporary, f"/proc/self/fd/{fd}/p-{identity.hex()}")
    os.close(fd)
    return sock


class Subscribed:
    """A subscription of the raw peer at an honest publisher of `topic`."""

    def __init__(
        self, link: Link, topic: str, depth=10, held=8, descriptor=None, size=None, wait=True, **quality
    ) -> None:
        self.link, self.depth, self.held = link, depth, held
        self.writer = link.endpoint(topic, True)
        self.gid = link.announce(topic, False, self.writer, quality=qos(depth, held, **quality))
        self.size = pages(128 + 8 * (depth + held)) if size is None else size
        self.fd = memfd(self.size) if descriptor is None else descriptor
        link.frame(ATTACH, self.writer.gid + self.gid + struct.pack("<Q", self.size), [self.fd])
        self.segments: dict[int, mmap.mmap] = {}
        self.taken: dict[int, tuple[int, int]] = {}  # sequence -> handle, token
        self.view = None
        if descriptor is None:
            self.view = mmap.mmap(self.fd, self.size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        if wait:
            self.attached()

    def attached(self, patience=20.0) -> None:
        while True:
            end = time.monotonic() + patience
            frame = None
            for kind in (SEGMENT, REFUSED, ATTACHED):
                for i, kept in enumerate(self.link.waiting):
                    if kept.kind == kind and frame is None:
                        frame = self.link.waiting.pop(i)
                        break
            if frame is None:
                frame = self.link.receive(max(0.001, end - time.monotonic()))
            if frame is None:
                raise TimeoutError("no answer to ATTACH came")
            if frame.kind == SEGMENT and frame.payload[:16] == self.writer.gid:
                index, size = struct.unpack_from("<IQ", frame.payload, 16)
                self.segments[index] = mmap.mmap(frame.fds[0], size, mmap.MAP_SHARED, mmap.PROT_READ)
                frame.close()
            elif frame.kind == REFUSED and frame.payload[16:32] == self.gid:
                raise Refused(frame.payload[40:].decode(errors="replace"))
            elif frame.kind == ATTACHED and frame.payload[16:32] == self.gid:
                self.control, self.slots, ring_bytes, self.granted, self.first = struct.unpack_from(
                    "<IIQIQ", frame.payload, 32
                )
                self.event = mmap.mmap(frame.fds[0], PAGE, mmap.MAP_SHARED, mmap.PROT_READ)
                self.ring = mmap.mmap(frame.fds[1], ring_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
                frame.close()
                return
            else:
                frame.close()

    @property
    def head(self) -> int:
        return struct.unpack_from("<Q", self.ring, 0)[0]

    @property
    def cursor(self) -> int:
        return struct.unpack_from("<Q", self.view, 0)[0]

    @cursor.setter
    def cursor(self, value: int) -> None:
        store(self.view, 0, value)

    @property
    def sleeping(self) -> int:
        return struct.unpack_from("<I", self.view, 64)[0]

    @sleeping.setter
    def sleeping(self, value: int) -> None:
        store(self.view, 64, value, size=4)

    def release_word(self, index: int, value: int) -> None:
        store(self.view, 128 + 8 * index, value)

    def take(self, patience: float = 5.0) -> int:
        """Takes one message and keeps it. Returns its sequence number. (A store where the format wants a compare-and-swap: honest as long as
        the queue is not full.)"""
        end = time.monotonic() + patience
        while self.head == self.cursor:
            if time.monotonic() > end:
                raise TimeoutError("no message came")
            time.sleep(0.001)
        position = self.cursor
        handle, token, _, sequence = struct.unpack_from("<QQqQ", self.ring, 64 + 32 * (position % self.slots))
        self.cursor = position + 1
        self.taken[sequence] = (handle, token)
        return sequence

    def release(self, sequence: int) -> None:
        _, token = self.taken.pop(sequence)
        self.release_word(token & 0xFFFFF, token)


class Refused(Exception):
    pass


class Published:
    """A publisher of the raw peer with one honest reader. Its data segment has `segment_bytes` and is written by chunk()."""

    def __init__(
        self, link: Link, topic: str, segment_bytes=1 << 20, depth=10, attach=True, gid=None, **quality
    ) -> None:
        self.link = link
        self.reader = link.endpoint(topic, False)
        self.gid = link.announce(topic, True, self.reader, gid, quality=qos(depth, 8, **quality))
        self.segment_bytes = segment_bytes
        self.sequence = 0
        self.place = 0
        if attach:
            self.meet()
            self.send_segment()
            self.send_attached()

    def meet(self) -> None:
        """Waits for ATTACH and makes event page, ring and data segment."""
        while True:
            frame = self.link.wait(ATTACH)
            if frame.payload[:16] == self.gid:
                break
        self.reader_gid = frame.payload[16:32]
        (size,) = struct.unpack_from("<Q", frame.payload, 32)
        self.connection = mmap.mmap(frame.fds[0], size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        frame.close()
        self.depth, self.reader_held = struct.unpack_from("<II", self.reader.qos, 4)
        self.slots = 1
        while self.slots < self.depth:
            self.slots *= 2
        self.ring_bytes = pages(64 + 32 * self.slots)
        self.event_fd, self.event = writable_then_sealed(PAGE)
        self.ring_fd, self.ring = writable_then_sealed(self.ring_bytes)
        self.segment_fd, self.segment = writable_then_sealed(self.segment_bytes)

    def send_segment(self, index=0, size=None, descriptor=None) -> None:
        fd = self.segment_fd if descriptor is None else descriptor
        self.link.frame(
            SEGMENT, self.gid + struct.pack("<IQ", index, self.segment_bytes if size is None else size), [fd]
        )

    def send_attached(self, control=0, slots=None, ring_bytes=None, granted=None, first=1, fds=None) -> None:
        self.link.frame(
            ATTACHED,
            self.gid
            + self.reader_gid
            + struct.pack(
                "<IIQIQ",
                control,
                self.slots if slots is None else slots,
                self.ring_bytes if ring_bytes is None else ring_bytes,
                self.reader_held if granted is None else granted,
                first,
            ),
            [self.event_fd, self.ring_fd] if fds is None else fds,
        )

    def chunk(
        self, message: bytes, at=None, size=None, magic=0x54420100, version=1, order=1, skeleton=None, words=b""
    ) -> int:
        """Writes a chunk with this message, and returns its handle. `words` are those of the header from byte 64 on: in a request, if they are
        not given, the id of a client of this publisher's process and a number."""
        if not words and self.reader.topic.endswith("/_request"):
            words = self.gid + struct.pack("<Q", self.sequence + 1)
        if at is None:
            at = self.place
            self.place = (self.place + 128 + len(message) + 63) // 64 * 64
            if self.place + 65536 > self.segment_bytes:
                self.place = 0
        header = struct.pack(
            "<IHBBIIQqq16s8s",
            magic,
            version,
            order,
            0,
            len(message) if size is None else size,
            self.reader.skeleton if skeleton is None else skeleton,
            self.sequence + 1,
            time.time_ns(),
            time.monotonic_ns(),
            self.gid,
            self.reader.type_hash[:8],
        )
        self.segment[at : at + 128] = (header + words).ljust(128, b"\0")
        self.segment[at + 128 : at + 128 + len(message)] = message
        return at

    def push(self, handle: int, token=None, wake=True, stamp=None) -> None:
        """Pushes this handle at the next position, and wakes the reader as the format says."""
        head = self.head
        self.sequence += 1
        entries = self.depth + self.reader_held
        if token is None:
            token = (head + 1) << 20 | head % entries
        at = 64 + 32 * (head % self.slots)
        struct.pack_into("<Q", self.ring, at, handle)
        struct.pack_into("<qQ", self.ring, at + 16, time.monotonic_ns() if stamp is None else stamp, self.sequence)
        self.set_token(head, token)
        self.set_head(head + 1)
        if wake:
            self.wake()

    @property
    def head(self) -> int:
        return struct.unpack_from("<Q", self.ring, 0)[0]

    def set_token(self, position: int, token: int) -> None:
        store(self.ring, 64 + 32 * (position % self.slots) + 8, token)

    def set_head(self, head: int) -> None:
        store(self.ring, 0, head)

    def wake(self) -> None:
        (word,) = struct.unpack_from("<I", self.event, 0)
        store(self.event, 0, word + 1, size=4)
        futex_wake(self.event, 0)

    def wake_socket(self) -> socket.socket:
        """The wake socket of a reader that waits in poll()."""
        while True:
            frame = self.link.wait(WAKE_SOCKET)
            if frame.payload == self.gid + self.reader_gid:
                return socket.socket(fileno=frame.fds[0])

    def publish(self, message: bytes) -> None:
        self.push(self.chunk(message))

    @property
    def detached(self) -> bool:
        """Whether the reader has ended this connection, as it does with a publisher that breaks the protocol."""
        return self.gid + self.reader_gid in self.link.detached

    def unread(self) -> int:
        return struct.unpack_from("<Q", self.ring, 0)[0] - struct.unpack_from("<Q", self.connection, 0)[0]

    def await_taken(self, patience=5.0) -> bool:
        end = time.monotonic() + patience
        while self.unread() > 0:
            if time.monotonic() > end:
                return False
            self.link.drain(0.005)
        return True


def string_message(value: bytes) -> bytes:
    """std_msgs/String by sfm.md: the skeleton's two words, then the characters, a zero and the padding whose last byte counts it."""
    padding = -(len(value) + 1) % 4
    content = value + b"\0" + (b"\0" * (padding - 1) + bytes([padding]) if padding else b"")
    return struct.pack("<Ii", len(content), 4) + content


def image_message(data: bytes, encoding: bytes = b"mono8", words=None) -> bytes:
    """sensor_msgs/Image: a skeleton of 52 bytes with three pairs of words, at 12 (frame_id), 28 (encoding) and 44 (data). `words`
    replaces pairs: {44: (length, offset)}."""
    text_part = string_message(encoding)[8:]
    pairs = {12: (0, 0), 28: (len(text_part), 52 - 32), 44: (len(data), 52 + len(text_part) - 48 if data else 0)}
    pairs.update(words or {})
    skeleton = bytearray(52)
    struct.pack_into("<II", skeleton, 20, 1, len(data) & 0xFFFFFFFF)
    for at, pair in pairs.items():
        struct.pack_into("<Ii", skeleton, at, *pair)
    return bytes(skeleton) + text_part + data
