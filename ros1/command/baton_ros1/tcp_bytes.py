# SPDX-License-Identifier: Apache-2.0
"""How many bytes the TCP connections of this machine have sent, as the kernel counts them (sock_diag(7)). Needs no privileges."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_NETLINK_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_INFO = 2  # the attribute with struct tcp_info (linux/inet_diag.h)
_ESTABLISHED = 1 << 1
_BYTES_ACKED = 120  # of struct tcp_info (linux/tcp.h, since Linux 4.1)


def sent() -> dict[tuple[int, int], int]:
    """Bytes that arrived at the other end, by own port and the other end's port. Empty where the kernel does not say it."""
    found: dict[tuple[int, int], int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            found.update(_of_family(family))
        except OSError:
            continue
    return found


def _of_family(family: int) -> Iterator[tuple[tuple[int, int], int]]:
    request = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 1 << (_INFO - 1), _ESTABLISHED)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(1)
        link.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, _DUMP, 1, 0) + request)
        while True:
            data = link.recv(1 << 16)
            while len(data) >= 16:
                length, kind = struct.unpack_from("=IH", data)
                if kind in (_DONE, _ERROR) or length < 16:
                    return
                yield from _of_socket(data[16:length])
                data = data[(length + 3) & ~3 :]


def _of_socket(message: bytes) -> Iterator[tuple[tuple[int, int], int]]:
    """struct inet_diag_msg has 72 bytes, its ports at 4 and 6; attributes follow."""
    if len(message) < 72:
        return
    ports = struct.unpack_from("!HH", message, 4)
    at = 72
    while at + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, at)
        if kind == _INFO and length >= 4 + _BYTES_ACKED + 8:
            yield ports, struct.unpack_from("=Q", message, at + 4 + _BYTES_ACKED)[0]
        at += max(4, (length + 3) & ~3)
