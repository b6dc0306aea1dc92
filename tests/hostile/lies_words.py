# SPDX-License-Identifier: Apache-2.0
"""Impossible values in shared memory: in a subscriber's connection segment, and in a publisher's ring and event page."""

from __future__ import annotations

import random
import struct
import time

from raw_peer import PAGE, Gone, Link, Published, Refused, Subscribed, image_message
from table import attack

random = random.Random(7)


def subscribe(stage, **options) -> Subscribed:
    return stage.keep(Subscribed(stage.keep(Link(stage.directory, stage.victim)), "/victim", **options))


def publish(stage, **options) -> Published:
    return stage.keep(Published(stage.keep(Link(stage.directory, stage.victim)), "/image", **options))


def scribble(stage, write, seconds=0.4, **options):
    """write(subscribed) again and again, while the victim publishes."""
    subscribed = subscribe(stage, **options)
    subscribed.take()
    stage.begin()
    end = time.monotonic() + stage.size(seconds, 3)
    try:
        while time.monotonic() < end:
            for _ in range(100):
                write(subscribed)
            subscribed.link.drain(0.001)
    except Gone:
        pass


@attack("moves its cursor beyond the head")
def cursor_beyond(stage):
    scribble(stage, lambda s: setattr(s, "cursor", s.head + random.choice((1, 1000, 2**40, 2**63))))


@attack("moves its cursor backwards")
def cursor_backwards(stage):
    subscribed = subscribe(stage)
    for _ in range(5):
        subscribed.take()
    stage.begin()
    subscribed.cursor = 1
    subscribed.link.drain(0.2)
    subscribed.cursor = 0


@attack("lets its cursor flicker between all values")
def cursor_flickers(stage):
    scribble(
        stage,
        lambda s: setattr(
            s, "cursor", random.choice((0, s.head, s.head - 1, s.head + 1, 2**64 - 1, random.getrandbits(64)))
        ),
    )


@attack("says asleep and awake without end")
def sleeping_flickers(stage):
    scribble(stage, lambda s: setattr(s, "sleeping", random.choice((0, 1, 2, 3, 2**32 - 1))))


@attack("says that it sleeps for ever")
def always_asleep(stage):
    subscribed = subscribe(stage)
    stage.begin()
    subscribed.sleeping = 1
    time.sleep(0.2)
    subscribed.sleeping = 2


@attack("fills its release words with garbage")
def release_garbage(stage):
    def write(subscribed):
        for index in range(subscribed.depth + subscribed.held):
            subscribed.release_word(index, random.getrandbits(64))

    scribble(stage, write)


@attack("releases what it never took, and again what it released")
def release_twice(stage):
    subscribed = subscribe(stage, depth=10, held=8)
    stage.begin()
    try:
        for _ in range(stage.size(10, 200)):
            sequence = subscribed.take(0.3)
            _, token = subscribed.taken[sequence]
            subscribed.release(sequence)
            for index in range(18):  # the same token into the words of others
                subscribed.release_word(index, token)
            subscribed.release_word(token & 0xFFFFF, token - (1 << 20))
    except (Gone, TimeoutError):
        pass


@attack("fills its whole connection segment with ones, zeros and noise")
def whole_segment(stage):
    patterns = [b"\xff" * PAGE, b"\0" * PAGE, bytes(range(256)) * 16]

    def write(subscribed):
        subscribed.view[: subscribed.size] = random.choice(patterns)[: subscribed.size]

    scribble(stage, write)


@attack("takes everything and releases nothing")
def releases_nothing(stage):
    subscribed = subscribe(stage, depth=100, held=8)
    stage.begin()
    end = time.monotonic() + stage.size(0.6, 5)
    try:
        while time.monotonic() < end:
            subscribed.cursor = subscribed.head
            subscribed.link.drain(0.005)
    except Gone:
        pass


# --- a publisher's words -----------------------------------------------------------------------------------------------------


def tell_attached(stage, **lies) -> None:
    """One publisher whose ATTACHED has these values. It then publishes as an honest publisher does."""
    published = publish(stage, attach=False)
    published.meet()
    published.send_segment()
    published.send_attached(**lies)
    for number in range(3):
        published.publish(image_message(bytes([number]) * 100))
    published.link.drain(0.05)


@attack("describes its ring in every wrong way")
def ring_descriptions(stage):
    stage.begin()
    for lies in (
        {"control": 64 * 64}, {"control": 4032 + 60}, {"control": 1}, {"control": 2**32 - 64},
        {"slots": 0}, {"slots": 3}, {"slots": 1}, {"slots": 2**31}, {"slots": 2**32 - 1},
        {"ring_bytes": 0}, {"ring_bytes": 1}, {"ring_bytes": 2**63}, {"ring_bytes": 2**64 - 1}, {"slots": 2**20, "ring_bytes": 4096},
        {"granted": 0}, {"granted": 9}, {"granted": 2**32 - 1},
        {"first": 0}, {"first": 2**64 - 1}, {"first": 2**63},
    ):  # fmt: skip
        stage.apart(lambda lies=lies: tell_attached(stage, **lies))


def scribble_ring(stage, write, seconds=0.4):
    published = publish(stage)
    published.publish(image_message(b"x" * 100))
    stage.begin()
    end = time.monotonic() + stage.size(seconds, 3)
    try:
        while time.monotonic() < end:
            write(published)
            published.wake()
            published.link.drain(0.001)
    except Gone:
        pass


@attack("says that its ring's head is anywhere")
def ring_head(stage):
    for value in (2**64 - 1, 2**63, 1000, 0):
        scribble_ring(stage, lambda p, value=value: p.set_head(value), 0.15)


@attack("lets its ring's head flicker")
def ring_head_flickers(stage):
    scribble_ring(stage, lambda p: p.set_head(random.choice((0, 1, 2, 5, 11, 200, 2**32, random.getrandbits(64)))))


@attack("says that its slots hold messages of any position")
def positions(stage):
    for position in (0, 1, 2, 3, 1000, 2**43, 2**44 - 1):
        scribble_ring(stage, lambda p, position=position: p.set_token(1, position << 20), 0.1)


@attack("lets the position of its next slot flicker")
def position_flickers(stage):
    scribble_ring(
        stage, lambda p: p.set_token(1, random.choice((0, 1, 2, 3, 9, 10, 2**43)) << 20 | random.randrange(20))
    )


@attack("hands over handles that lead anywhere")
def handles(stage):
    stage.begin()
    for handle in (
        1, 63, 1 << 47, (1 << 48) - 64, (1 << 20) - 64, (1 << 20) - 128, 1 << 20, 1 << 48, 0xFFFF << 48, 2**64 - 64, 2**64 - 1,
    ):  # fmt: skip

        def act(handle=handle):
            published = publish(stage)
            published.push(handle)
            published.link.drain(0.05)

        stage.apart(act)


@attack("hands over tokens that name no release word, and one release word for all messages")
def tokens(stage):
    stage.begin()
    for token in (0, 1, 18, 1 << 20 | 18, 1 << 20 | 0xFFFFF, 2 << 20, 0xFFFFF, 2**64 - 1, 1 << 63):

        def act(token=token):
            published = publish(stage)
            handle = published.chunk(image_message(b"x" * 100))
            published.push(handle, token)
            published.push(handle, token)
            published.link.drain(0.05)

        stage.apart(act)
    published = publish(stage)
    handle = published.chunk(image_message(b"x" * 100))
    try:
        for _ in range(10):
            published.push(handle, (published.head + 1) << 20)
            published.link.drain(0.005)
    except Gone:
        pass


@attack("moves its event word without a message and without a pause")
def event_storm(stage):
    published = publish(stage)
    stage.begin()
    end = time.monotonic() + stage.size(0.5, 3)
    while time.monotonic() < end:
        published.wake()


@attack("changes a slot of the ring while it is read")
def slot_flickers(stage):
    published = publish(stage)
    good = published.chunk(image_message(b"x" * 100))

    def write(p):
        p.push(good)
        for _ in range(20):
            position = random.randrange(p.slots)
            at = 64 + 32 * position
            struct.pack_into("<Q", p.ring, at, random.getrandbits(64))
            struct.pack_into("<qQ", p.ring, at + 16, -1, random.getrandbits(64))
            # Most tokens stay: if a token names a wrong position, the reader does not look at the slot's other words.
            if random.random() < 0.1:
                p.set_token(position, random.getrandbits(64))

    stage.begin()
    end = time.monotonic() + stage.size(0.4, 3)
    try:
        while time.monotonic() < end:
            write(published)
            published.link.drain(0.001)
    except Gone:
        pass


@attack("writes into the connection segment of a subscription it serves")
def scribbles_as_publisher(stage):
    published = publish(stage)
    published.publish(image_message(b"x" * 100))
    stage.begin()
    size = len(published.connection)
    end = time.monotonic() + stage.size(0.4, 3)
    try:
        while time.monotonic() < end:
            published.connection[:size] = random.randbytes(size)
            published.set_head(random.choice((1, 2, 3)))
            published.wake()
            published.link.drain(0.001)
    except (Gone, Refused):
        pass
