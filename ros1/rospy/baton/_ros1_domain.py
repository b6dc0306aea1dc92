# SPDX-License-Identifier: Apache-2.0
"""What Python's part of ROS 1 has in common with that of C++, without rospy: the constants of ros1/domain/words.hpp, which domain the
processes of a master are in, and the words of messages that Baton cannot carry (docs/format/tcpros.md)."""

import ast
import re
import struct
from pathlib import Path
from typing import Any

_INSTALLED = Path(__file__).with_name("words.hpp")
_HEADER = _INSTALLED if _INSTALLED.exists() else Path(__file__).resolve().parents[2] / "domain/words.hpp"
WORDS: dict[str, Any] = {
    name: ast.literal_eval(value)
    for name, value in re.findall(r"^inline constexpr \S+ (\w+)(?:\[\])? = (.+);$", _HEADER.read_text(), re.MULTILINE)
}


def domain_of_master(uri: str, own_host: str) -> int:
    """As domain_of_master() in ros1/domain/domain.cpp: 0 for the usual master of this machine, else 100 to 9999."""
    uri = uri.partition("://")[2] if "://" in uri else uri
    uri = uri.partition("/")[0]
    host, colon, port = uri.rpartition(":")
    if not colon:
        host, port = uri, "11311"
    host = host.lower()
    if host in ("", own_host.lower(), "[::1]") or host.startswith("127."):
        host = "localhost"
    if (host, port) == ("localhost", "11311"):
        return 0
    value = 2166136261  # FNV-1a
    for byte in f"{host}:{port}".encode():
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return 100 + value % 9900


_BY_BYTES = WORDS["kByBytes"].encode()
_TRAILER = struct.Struct("=8s16sQ")
_FOLLOWS = struct.Struct("=8sQ")


def trailer(publisher: bytes, number: int) -> bytes:
    """Behind such a message in its frame of TCPROS: the publisher's id in Baton, and the message's number among those."""
    return _TRAILER.pack(_BY_BYTES, publisher, number)


def read_trailer(wire: bytes) -> tuple[bytes, int] | None:
    """The publisher and the number behind a message; None: it has no trailer."""
    if wire[-_TRAILER.size : -_TRAILER.size + len(_BY_BYTES)] != _BY_BYTES:
        return None
    _, publisher, number = _TRAILER.unpack(wire[-_TRAILER.size :])
    return publisher, number


def follows(number: int) -> bytes:
    """In the attachment of the next message of Baton: the number of the last such message."""
    return _FOLLOWS.pack(_BY_BYTES, number)


def read_follows(attachment: bytes) -> int:
    """The number in an attachment; 0: none."""
    form, number = _FOLLOWS.unpack_from(attachment)
    return int(number) if form == _BY_BYTES else 0
