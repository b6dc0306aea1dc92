# SPDX-License-Identifier: Apache-2.0
"""A publisher that misuses the socket by which it wakes a subscription that waits in poll()."""

from __future__ import annotations

import os
import socket
import struct
import time

from raw_peer import Link, Published
from table import attack

ENDED = "BYE 4: it shut down or flooded its wake socket"


def published(stage) -> tuple[Published, socket.socket]:
    """A publisher on a topic that the victim polls, and its wake socket, which has woken the victim for a message."""
    published = stage.keep(Published(stage.keep(Link(stage.directory, stage.victim)), "/polled"))
    wake_socket = stage.keep(published.wake_socket())
    wake_socket.setblocking(False)
    # A String without characters. push() does not notify: the next line does so, on the wake socket.
    published.push(published.chunk(struct.pack("<Ii", 0, 0)), wake=False)
    wake_socket.send(b"x")
    assert published.await_taken(), "the victim did not wake for a message"
    return published, wake_socket


def until_ended(stage, published, act) -> str:
    """Calls act() again and again while the attack lasts. Returns how the connection ended."""
    stage.begin()
    end = time.monotonic() + stage.size(0.5, 3)
    gone = None
    while time.monotonic() < end:
        try:
            act()
        except (BlockingIOError, BrokenPipeError):
            pass
        if gone is None:
            gone = published.link.drain(0.001)
    return str(gone)


@attack("shuts the wake socket down", expected=ENDED)
def shuts_down(stage):
    publisher, wake_socket = published(stage)
    return until_ended(stage, publisher, lambda: wake_socket.shutdown(socket.SHUT_RDWR))


@attack("ends its direction of the wake socket", expected=ENDED)
def shuts_its_direction_down(stage):
    publisher, wake_socket = published(stage)
    return until_ended(stage, publisher, lambda: wake_socket.shutdown(socket.SHUT_WR))


@attack("fills the wake socket with bytes", expected=ENDED)
def fills(stage):
    publisher, wake_socket = published(stage)
    wake_socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
    return until_ended(stage, publisher, lambda: wake_socket.send(b"x" * 65536))


@attack("sends descriptors through the wake socket", expected=ENDED)
def sends_descriptors(stage):
    publisher, wake_socket = published(stage)
    reading, writing = os.pipe()
    stage.keep(reading, writing)
    return until_ended(stage, publisher, lambda: socket.send_fds(wake_socket, [b"x"], [writing]))


@attack("sends urgent data through the wake socket", expected=ENDED)
def sends_urgent_data(stage):
    publisher, wake_socket = published(stage)
    return until_ended(stage, publisher, lambda: wake_socket.send(b"x", socket.MSG_OOB))


@attack("closes the wake socket", expected="None")
def closes(stage):
    publisher, wake_socket = published(stage)
    return until_ended(stage, publisher, wake_socket.close)


@attack("wakes without a message and without a pause", expected="None")
def wake_storm(stage):
    publisher, wake_socket = published(stage)

    def wake() -> None:
        for _ in range(100):
            wake_socket.send(b"x")

    return until_ended(stage, publisher, wake)
