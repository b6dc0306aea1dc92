# SPDX-License-Identifier: Apache-2.0
"""A big-endian host, written from docs/format (link.md, chunk.md, sfm.md, type-hash.md) without a line of Baton: big_endian_host.py
<address> <JSON of [topic, type, definition, hash, value]>. It publishes each value once a subscription of the other host wants it, and says
"acknowledged" when all are. Its advertisement is that of link/src/advertisement.hpp."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time

PORT = 22700
OWN = b"big-endian host\0"  # its id
RESUME, OPEN, READY, CLOSE, PART, ACK, ALIVE, BULK = range(1, 9)
SCALARS = {"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"}
SCALARS |= {"int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}


class Layout:
    """The layout of sfm.md for the types of one definition, big-endian."""

    def __init__(self, definition: str) -> None:
        self.types: dict[str, list[tuple[str, str]]] = {}
        for line in definition.splitlines():
            first, second = line.split()
            if first == "message":
                fields = self.types[second] = []
            else:
                fields.append((second, first))

    @staticmethod
    def _shape(kind: str) -> tuple[str, str]:
        base, bracket, shape = kind.partition("[")
        return base.split("<=")[0], bracket + shape

    def size_and_alignment(self, kind: str) -> tuple[int, int]:
        base, shape = self._shape(kind)
        if shape and not shape[1:-1].isdecimal():
            return 8, 4
        if shape:
            size, alignment = self.size_and_alignment(base)
            return int(shape[1:-1]) * size, alignment
        if base in ("string", "wstring"):
            return 8, 4
        if base in SCALARS:
            size = struct.calcsize(SCALARS[base])
            return size, size
        at, most = 0, 1
        for _, field in self.types[base]:
            size, alignment = self.size_and_alignment(field)
            at = -(-at // alignment) * alignment + size
            most = max(most, alignment)
        return max(-(-at // most) * most, 1), most

    def message(self, name: str, value: dict) -> tuple[bytes, int]:
        """The message, and the size of its skeleton."""
        size, _ = self.size_and_alignment(name)
        out = bytearray(size)
        self._write(out, 0, name, value)
        return bytes(out), size

    def _content(self, out: bytearray, at: int, length: int, size: int, alignment: int) -> int:
        """Fills the two words at `at`; returns where the content begins."""
        if length == 0:
            return 0
        begin = -(-len(out) // alignment) * alignment
        out.extend(bytes(begin + size - len(out)))
        struct.pack_into(">Ii", out, at, length, begin - (at + 4))
        return begin

    def _write(self, out: bytearray, at: int, kind: str, value: object) -> None:
        base, shape = self._shape(kind)
        if shape:
            values = list(value)
            size, alignment = self.size_and_alignment(base)
            if not shape[1:-1].isdecimal():
                at = self._content(out, at, len(values), len(values) * size, alignment)
            for i, each in enumerate(values):
                self._write(out, at + i * size, base, each)
        elif base == "string":
            text = value.encode()
            if text:
                padding = -(len(text) + 1) % 4
                content = text + b"\0" + (b"" if padding == 0 else bytes(padding - 1) + bytes([padding]))
                begin = self._content(out, at, len(content), len(content), 4)
                out[begin : begin + len(content)] = content
        elif base == "wstring":
            units = value.encode("utf-16-be")
            begin = self._content(out, at, len(units) // 2, len(units), 2)
            out[begin : begin + len(units)] = units
        elif base in SCALARS:
            struct.pack_into(">" + SCALARS[base], out, at, value)
        else:
            for name, field in self.types[base]:
                size, alignment = self.size_and_alignment(field)
                at = -(-at // alignment) * alignment
                self._write(out, at, field, value[name])
                at += size


def chunk(message: bytes, skeleton: int, sequence: int, publisher: bytes, type_hash: bytes) -> bytes:
    now = time.time_ns()
    header = struct.pack(
        ">4sHBBIIQqq16s8s", b"\0\1BT", 1, 2, 0, len(message), skeleton, sequence, now, now, publisher, type_hash[:8]
    )
    return header.ljust(128, b"\0") + message


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


class Host:
    def __init__(self, address: str, topics: list) -> None:
        self.socket = socket.create_connection((address, PORT))
        self.lock = threading.Lock()
        self.wanted: dict[str, list] = {}  # topic -> its publisher
        self.flows: dict[int, str] = {}  # without an ack
        self.names: dict[int, bytes] = {}  # of the other side's flows
        self.chunks: dict[int, bytearray] = {}  # that arrive
        for number, (topic, name, definition, type_hash, value) in enumerate(topics):
            publisher = OWN[:15] + bytes([number + 1])
            self.wanted[topic] = [name, definition, bytes.fromhex(type_hash), value, publisher]
        self.next_flow = 2
        self.hello()
        self.frame(OPEN, flow=1, behind=b"baton/1/words")
        self.frame(READY, number=1)
        threading.Thread(target=self.stay_alive, daemon=True).start()

    def hello(self) -> None:
        for session in (0, 4711):
            greeting = struct.pack("<8sII16sQH", b"btnlink\n", 5, 0, OWN, session, PORT).ljust(48, b"\0")
            self.socket.sendall(greeting + b"big-endian".ljust(80, b"\0"))
            if session == 0:
                assert self.get(128)[:12] == b"btnlink\n" + struct.pack("<I", 5)

    def get(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            got = self.socket.recv(size - len(out))
            assert got, "the other side has ended the connection"
            out += got
        return out

    def frame(
        self, kind: int, flow: int = 0, number: int = 0, offset: int = 0, total: int = 0, behind: bytes = b""
    ) -> None:
        with self.lock:
            self.socket.sendall(struct.pack("<B3xIQQII", kind, flow, number, offset, len(behind), total) + behind)

    def stay_alive(self) -> None:
        while True:
            time.sleep(0.3)
            self.frame(ALIVE)

    def send(self, flow: int, whole: bytes) -> None:
        for offset in range(0, len(whole), 1000):
            self.frame(PART, flow, 1, offset, len(whole), whole[offset : offset + 1000])

    def words(self) -> bytes:
        out = OWN + text("big-endian") + struct.pack("<I", len(self.wanted))
        for topic, (name, _, type_hash, _, publisher) in self.wanted.items():
            out += publisher + b"\1" + text(topic) + text(name) + text("sensor") + type_hash + b"\0"
            endless = 2**63 - 1
            out += struct.pack("<BBBBIqqq", 1, 0, 0, 0, 10, endless, endless, endless)
        out += struct.pack("<I", len(self.wanted))
        for name, definition, type_hash, _, _ in self.wanted.values():
            skeleton, _ = Layout(definition).size_and_alignment(name)
            out += text(name) + type_hash + struct.pack("<I", skeleton) + text(definition)
        return out + struct.pack("<I", 0)

    def publish_what(self, words: bytes) -> None:
        """The advertisement ends with the channels that the other host wants. Only their names end with a number."""
        for at in range(len(words)):
            if not words.startswith(b"baton/1/", at):
                continue
            (size,) = struct.unpack("<I", words[at - 4 : at])
            channel = words[at : at + size].decode()
            topic = channel[channel.index("/", len("baton/1/rv/")) :].rsplit("#", 1)[0]
            if topic not in self.wanted or topic in self.flows.values():
                continue
            name, definition, type_hash, value, publisher = self.wanted[topic]
            message, skeleton = Layout(definition).message(name, value)
            flow, self.next_flow = self.next_flow, self.next_flow + 1
            self.flows[flow] = topic
            self.frame(OPEN, flow, behind=channel.encode())
            self.send(flow, chunk(message, skeleton, 1, publisher, type_hash))

    def run(self) -> None:
        acknowledged: set[int] = set()
        while len(acknowledged) < len(self.wanted):
            kind, flow, number, offset, size, total = struct.unpack("<B3xIQQII", self.get(32))
            behind = self.get(size)
            if kind == READY:
                words = self.words()
                self.send(1, chunk(words, 0, 1, OWN, b"btnword1"))
            elif kind == OPEN:
                self.names[flow] = behind
            elif kind == PART:
                arriving = self.chunks.setdefault(flow, bytearray())
                arriving += behind
                if len(arriving) == total:
                    self.frame(ACK, flow, number)
                    self.publish_what(bytes(self.chunks.pop(flow)[128:]))
            elif kind == ACK and flow in self.flows:
                acknowledged.add(flow)
            elif kind == ALIVE and number != 0:
                self.frame(ALIVE, offset=number)
        print("acknowledged", flush=True)
        while self.socket.recv(65536):
            pass


if __name__ == "__main__":
    Host(sys.argv[1], json.loads(sys.argv[2])).run()
