# SPDX-License-Identifier: Apache-2.0
"""Samples that are not released: by peers that live, that are disconnected, that break the protocol, and that die."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time

import raw_peer as raw
from raw_peer import Gone, Link, Refused, Subscribed
from table import attack


def holder(stage, held=8, count=None, link=None, keep=True) -> Subscribed:
    """A subscription that holds as much as it was granted."""
    link = link or Link(stage.directory, stage.victim)
    subscribed = Subscribed(link, "/victim", held=held)
    for _ in range(min(count or subscribed.granted, 8)):
        subscribed.take()
    if keep:
        stage.keep(link, subscribed)
    return subscribed


@attack("asks for 65,536 held samples")
def wishes(stage):
    stage.begin()
    subscribed = holder(stage, held=65536)
    return f"granted {subscribed.granted}"


@attack("asks for 65,536 held samples and takes all that it can")
def takes_all(stage):
    stage.begin()
    subscribed = stage.keep(
        Subscribed(stage.keep(Link(stage.directory, stage.victim)), "/victim", depth=200, held=65536)
    )
    end = time.monotonic() + stage.size(4, 10)
    try:
        while time.monotonic() < end and len(subscribed.taken) < 300:
            subscribed.take(1)
    except (Gone, TimeoutError):
        pass
    return f"took {len(subscribed.taken)} of {subscribed.granted}"


@attack("asks for much as many processes")
def many_wishes(stage):
    stage.begin()
    granted = [
        stage.apart(lambda: holder(stage, held=65536, count=4).granted, stay=True) for _ in range(stage.size(6, 30))
    ]
    return f"granted {granted}"


@attack("attaches a hundred subscriptions that hold")
def many_subscriptions(stage):
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    count = 0
    try:
        for _ in range(100):
            stage.keep(Subscribed(link, "/victim", depth=1, held=8))
            count += 1
    except (Gone, Refused, TimeoutError) as end:
        return f"{count} attached, then {end}"
    return f"{count} attached"


@attack("holds samples after its BYE")
def after_bye(stage):
    stage.begin()
    for _ in range(4):
        subscribed = holder(stage)
        subscribed.link.packet(raw.BYE, struct.pack("<HI", 1, 0))
        subscribed.link.drain(0.05)


@attack("holds samples after it shut its socket down for writing")
def after_shutdown(stage):
    stage.begin()
    for _ in range(4):
        subscribed = holder(stage)
        subscribed.link.sock.shutdown(socket.SHUT_WR)
        subscribed.link.drain(0.05)


@attack("holds samples after it shut its socket down for reading")
def after_shutdown_reading(stage):
    stage.begin()
    for _ in range(4):
        holder(stage).link.sock.shutdown(socket.SHUT_RD)


@attack("holds samples after it closed its socket")
def after_close(stage):
    stage.begin()
    for _ in range(4):
        holder(stage).link.close()


@attack("holds samples after a violation")
def after_violation(stage):
    stage.begin()
    for _ in range(4):
        subscribed = holder(stage)
        subscribed.link.packet(0x0999)
        subscribed.link.drain(0.05)
    subscribed = holder(stage)
    subscribed.cursor = 2**40
    subscribed.link.drain(0.1)


@attack("holds samples after its DETACH and its WITHDRAW")
def after_detach(stage):
    stage.begin()
    for _ in range(4):
        subscribed = holder(stage)
        subscribed.link.frame(raw.DETACH, subscribed.writer.gid + subscribed.gid)
    for _ in range(4):
        subscribed = holder(stage)
        subscribed.link.frame(raw.WITHDRAW, subscribed.gid)
    subscribed.link.drain(0.05)


@attack("holds samples as ten processes that break a rule and die")
def ten_dead(stage):
    """Ten dead attackers must not leave an honest subscriber without a grant."""
    stage.begin()
    for number in range(stage.size(10, 60)):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                subscribed = holder(stage)
                if number % 3 == 0:
                    subscribed.link.packet(0x0999)
                elif number % 3 == 1:
                    subscribed.link.packet(raw.BYE, struct.pack("<HI", (1, 5, 7)[number // 3 % 3], 0))
                else:
                    for index in range(18):
                        subscribed.release_word(index, 1)
                subscribed.link.drain(0.1)
            except BaseException:  # refused: the others already hold all that there is
                pass
            os.write(writing, b".")
            time.sleep(60)
        os.read(reading, 1)
        os.close(reading)
        os.close(writing)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@attack("holds samples, is ended, and comes back to hold more")
def comes_back(stage):
    """The samples that a process holds are bounded, even if it is disconnected often."""
    stage.begin()
    held = 0
    identity = os.urandom(16)
    for _ in range(stage.size(40, 200)):
        try:
            link = stage.keep(Link(stage.directory, stage.victim, identity, patience=2))
            subscribed = holder(stage, link=link)
            held += len(subscribed.taken)
            link.packet(raw.BYE, struct.pack("<HI", 7, 0))
            link.drain(0.02)
        except (Gone, Refused, TimeoutError, OSError):
            time.sleep(0.01)
    return f"holds {held}"


@attack("passes its socket to another process and dies")
def survives_its_process(stage):
    """Another process has the socket too, so that the attacker's death does not close it. The samples return when that process ends, or before."""
    stage.begin()
    for _ in range(3):
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        pid = os.fork()
        if pid == 0:
            subscribed = holder(stage)
            socket.send_fds(far, [b"x"], [subscribed.link.fileno()])
            os._exit(0)
        os.waitpid(pid, 0)
        _, fds, _, _ = socket.recv_fds(near, 1, 4)
        stage.keep(fds)
        far.close()


@attack("gives the victim its own end of their connection")
def own_end(stage):
    """The victim itself keeps the connection open: the attacker's death does not close it."""
    stage.begin()
    for frame in range(3):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                subscribed = holder(stage)
                link = subscribed.link
                if frame == 0:
                    link.frame(raw.WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [link.fileno()])
                elif frame == 1:
                    link.frame(raw.NODE_UP, raw.node("n"), [link.fileno()])
                else:
                    link.packet(raw.DEFINITION, b"x", [link.fileno()], flags=raw.MORE)
                link.drain(0.05)
            except BaseException:
                pass
            os.write(writing, b".")
            time.sleep(60)
        os.read(reading, 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
