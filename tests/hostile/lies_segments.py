# SPDX-License-Identifier: Apache-2.0
"""Data segments that cost their reader address space or memory: huge ones, holes, hundreds."""

from __future__ import annotations

import fcntl
import os
import struct
import time

from raw_peer import (
    F_SEAL_FUTURE_WRITE,
    F_SEAL_GROW,
    F_SEAL_SHRINK,
    PAGE,
    RETIRED,
    SEGMENT,
    Gone,
    Link,
    Published,
    image_message,
    memfd,
)
from table import attack

ALL_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE
GIB, TIB = 1 << 30, 1 << 40


def publisher(stage, **options) -> Published:
    return stage.keep(Published(stage.keep(Link(stage.directory, stage.victim)), "/image", **options))


def announce_segments(published, size, indexes) -> None:
    for index in indexes:
        fd = memfd(size, ALL_SEALS)
        try:
            published.send_segment(index, size, fd)
        finally:
            os.close(fd)


def readable_segments(published, size, indexes) -> None:
    """Sparse segments with a good message at the beginning of each, which the reader maps to read it."""
    template = published.chunk(image_message(b"x" * 1000), at=0)
    chunk = published.segment[template : template + 2048]
    for index in indexes:
        fd = memfd(size, 0)
        os.pwrite(fd, chunk, 0)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, ALL_SEALS)
        try:
            published.send_segment(index, size, fd)
        finally:
            os.close(fd)
        published.push(index << 48)
        published.await_taken(0.2)


@attack("publishes from huge sparse segments")
def huge(stage):
    stage.begin()
    for size in (16 * TIB, TIB, 64 * GIB):
        published = publisher(stage)
        try:
            readable_segments(published, size, range(1, stage.size(9, 65)))
            published.link.drain(0.1)
        except Gone:
            pass


@attack("publishes from huge sparse segments of many publishers of many processes")
def huge_many(stage):
    stage.begin()
    for _ in range(stage.size(6, 40)):

        def act():
            link = stage.keep(Link(stage.directory, stage.victim))
            for _ in range(4):
                published = stage.keep(Published(link, "/image"))
                readable_segments(published, 4 * TIB, range(1, 3))

        stage.apart(act, stay=True)


@attack("announces as many segments as one may and uses none")
def unused(stage):
    stage.begin()
    published = publisher(stage)
    try:
        announce_segments(published, 1 << 30, range(1, 250))
    except Gone:
        pass


@attack("announces segments of many publishers, as many as leave the victim hardly a descriptor")
def unused_of_many(stage):
    stage.begin()
    fd = memfd(PAGE, ALL_SEALS)

    def announce(most: int) -> int:
        """Publishes until the victim ends the connection. Returns the number of messages."""
        link = stage.keep(Link(stage.directory, stage.victim))
        count = 0
        try:
            while count < most:
                published = stage.keep(Published(link, "/image"))
                for index in range(1, min(60, most - count)):
                    published.send_segment(index, PAGE, fd)
                    link.drain(0.003)
                    count += 1
                count += 1
        except Gone:
            pass
        return count

    def act():
        ended_at = announce(stage.size(400, 4000))
        return f"{ended_at}, {announce(ended_at - 8)}"

    stage.apart(act, stay=True)
    os.close(fd)


@attack("publishes a hole of 1 GiB", shared_mib=16)
def hole(stage):
    stage.begin()
    published = publisher(stage, segment_bytes=GIB)
    for _ in range(3):
        # The skeleton is there; its million pages of data are not.
        handle = published.chunk(image_message(b"", words={44: (GIB - 4096, 64 - 48 + 52)}), at=0, size=GIB - 128)
        try:
            published.push(handle)
            published.await_taken(1)
            published.link.drain(0.1)
        except Gone:
            published = publisher(stage, segment_bytes=GIB)
    time.sleep(0.3)


@attack("publishes from a hole")
def only_a_hole(stage):
    """Not even the chunk header is there."""
    stage.begin()
    for at in (0, 64 << 20, GIB - 128):
        published = publisher(stage, segment_bytes=GIB)
        try:
            published.push(at)
            published.await_taken(0.3)
        except Gone:
            pass


@attack("announces hundreds of segments")
def hundreds(stage):
    stage.begin()
    for indexes in (range(1, 400), range(65535, 65135, -1)):
        try:
            announce_segments(publisher(stage), PAGE, indexes)
        except Gone:
            pass


@attack("announces and retires segments without end")
def churn(stage):
    stage.begin()
    published = publisher(stage)
    fd = memfd(PAGE, ALL_SEALS)
    end = time.monotonic() + stage.size(0.5, 5)
    index = 0
    try:
        while time.monotonic() < end and index < 65000:
            index += 1
            published.send_segment(index, PAGE, fd)
            published.link.frame(RETIRED, published.gid + struct.pack("<IQ", index, 0))
            published.link.drain(0)
    except Gone:
        pass
    os.close(fd)


@attack("announces segments of impossible sizes and numbers")
def impossible(stage):
    stage.begin()
    for index, size in (
        (0, PAGE),
        (65536, PAGE),
        (2**32 - 1, PAGE),
        (1, 0),
        (1, 1),
        (1, PAGE + 1),
        (1, 2**63),
        (1, 2**64 - 1),
    ):

        def act(index=index, size=size):
            published = publisher(stage)
            fd = memfd(PAGE, ALL_SEALS)
            published.link.frame(SEGMENT, published.gid + struct.pack("<IQ", index, size), [fd])
            published.link.drain(0.02)

        stage.apart(act)


@attack("retires segments that are in use, and those of others")
def retires(stage):
    stage.begin()
    published = publisher(stage)
    try:
        for _ in range(4):
            published.publish(image_message(b"x" * 1000))
        published.link.frame(RETIRED, published.gid + struct.pack("<IQ", 0, 0))
        for _ in range(4):
            published.publish(image_message(b"x" * 1000))
        published.await_taken(0.3)
        published.link.frame(RETIRED, os.urandom(16) + struct.pack("<IQ", 0, 0))
        published.link.frame(RETIRED, published.gid + struct.pack("<IQ", 7, 0))
        published.link.drain(0.1)
    except Gone:
        pass


@attack("grows and shrinks what it has sent")
def resizes(stage):
    """Without the seals that forbid it: the segment must not be mapped."""
    stage.begin()
    for seals in (
        0,
        F_SEAL_SHRINK,
        F_SEAL_GROW,
        F_SEAL_SHRINK | F_SEAL_GROW,
        F_SEAL_FUTURE_WRITE,
        F_SEAL_GROW | F_SEAL_FUTURE_WRITE,
    ):

        def act(seals=seals):
            published = publisher(stage, attach=False)
            fd = memfd(1 << 20, seals)
            published.meet()
            published.send_segment(0, 1 << 20, fd)
            published.send_attached()
            try:
                os.ftruncate(fd, PAGE)
            except OSError:
                pass
            published.push(65536)
            published.await_taken(0.1)

        stage.apart(act)
