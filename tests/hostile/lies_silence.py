# SPDX-License-Identifier: Apache-2.0
"""Peers that do not answer, do not read, read slowly, or are stopped."""

from __future__ import annotations

import os
import signal
import struct
import time

import raw_peer as raw
from raw_peer import Gone, Link, Published, Subscribed, image_message, text
from table import HIDDEN, attack


@attack("connects a hundred times and says nothing", victims=HIDDEN)
def silent(stage):
    stage.begin()
    for _ in range(stage.size(100, 1000)):
        try:
            stage.keep(Link(stage.directory, stage.victim, hello=False, patience=1))
        except (OSError, BlockingIOError):
            pass


@attack("asks and reads no answer")
def reads_nothing(stage):
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    for n in range(1, stage.size(20_000, 200_000)):
        try:
            link.frame(raw.HOLDINGS_REQUEST, struct.pack("<Q", n), timeout=0.05)
        except (Gone, TimeoutError, BlockingIOError, OSError):
            break
    time.sleep(1.2)  # the victim gives up on a peer that has taken nothing for a second


@attack("reads one packet in a while")
def reads_slowly(stage):
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    end = time.monotonic() + stage.size(1.0, 10)
    number = 0
    try:
        while time.monotonic() < end:
            for _ in range(100):
                number += 1
                try:
                    link.frame(raw.HOLDINGS_REQUEST, struct.pack("<Q", number), timeout=0.001)
                except (TimeoutError, BlockingIOError):
                    break
            link.receive(0.001)
            time.sleep(0.05)
    except Gone:
        pass


def child(act) -> int:
    """act() in a child of this process, which then stops itself."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        act()
        os.write(writing, b".")
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    os.read(reading, 1)
    return pid


def stopped(stage, act):
    children = [child(act) for _ in range(stage.size(2, 8))]
    stage.begin()
    time.sleep(stage.size(1.5, 12))
    # In the long form the victim has disconnected them. Their held samples are not overwritten, so they may go on.
    for pid in children:
        os.kill(pid, signal.SIGCONT)
        os.waitpid(pid, 0)


@attack("is stopped while it holds samples")
def stopped_subscriber(stage):
    def act():
        subscribed = Subscribed(Link(stage.directory, stage.victim), "/victim")
        for _ in range(8):
            subscribed.take()
        subscribed.sleeping = 1

    stopped(stage, act)


@attack("is stopped while it publishes")
def stopped_publisher(stage):
    def act():
        published = Published(Link(stage.directory, stage.victim), "/image")
        for _ in range(3):
            published.publish(image_message(b"x" * 1000))

    stopped(stage, act)


@attack("is stopped in the middle of its HELLO and of a frame")
def stopped_half(stage):
    def act():
        Link(stage.directory, stage.victim, hello=False)
        link = Link(stage.directory, stage.victim)
        link.packet(raw.DEFINITION, b"x", flags=1)

    stopped(stage, act)


@attack("is stopped while much is on its way to it")
def stopped_reader(stage):
    def act():
        link = Link(stage.directory, stage.victim)
        for n in range(1, 5000):
            try:
                link.frame(raw.HOLDINGS_REQUEST, struct.pack("<Q", n), timeout=0.05)
            except (Gone, TimeoutError, BlockingIOError, OSError):
                break

    stopped(stage, act)


@attack("has a name and answers nobody")
def never_answers(stage):
    stage.begin()
    for backlog in (0, 1, 16):
        stage.keep(raw.listen(stage.directory, os.urandom(16), backlog))
    time.sleep(stage.size(0.5, 10))


@attack("has a name and answers with noise")
def answers_noise(stage):
    """A process that connects to a name sends HELLO first. Here it gets no HELLO in return."""
    stage.begin()
    listener = stage.keep(raw.listen(stage.directory, os.urandom(16)))
    listener.settimeout(0.5)
    answers = [
        b"",
        b"\0" * 100,
        struct.pack("<HBBI", raw.HELLO, 0, 0, 0),
        struct.pack("<HBBI", raw.NODE_UP, 0, 0, 5) + text("n"),
        struct.pack("<HBBI", raw.BYE, 0, 0, 6) + struct.pack("<HI", 7, 0),
        struct.pack("<HBBI", raw.BYE, 0, 0, 6) + struct.pack("<HI", 2, 0),
    ]
    end = time.monotonic() + stage.size(0.5, 5)
    number = 0
    while time.monotonic() < end:
        try:
            accepted, _ = listener.accept()
            number += 1
            if answers[number % len(answers)]:
                accepted.send(answers[number % len(answers)])
            accepted.close()
        except OSError:
            pass
