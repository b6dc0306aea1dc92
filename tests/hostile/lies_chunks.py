# SPDX-License-Identifier: Apache-2.0
"""Malformed messages: chunks whose header or words are wrong, and chunks that change after they were checked."""

from __future__ import annotations

import random
import struct
import time

from raw_peer import Gone, Link, Published, image_message, string_message
from table import attack

random = random.Random(11)
MOST = 1 << 31


def publisher(stage, topic="/image", **options) -> Published:
    return stage.keep(Published(stage.keep(Link(stage.directory, stage.victim)), topic, **options))


def each(stage, lies, topic="/image", **options) -> None:
    """Each of lies(published) -> handle by a publisher of its own: a malformed message ends the connection."""
    stage.begin()
    for lie in lies:

        def act(lie=lie):
            published = publisher(stage, topic, **options)
            published.push(lie(published))
            published.await_taken(0.2)
            published.link.drain(0.01)

        stage.apart(act)


@attack("publishes chunks whose header lies")
def headers(stage):
    good = image_message(b"x" * 1000)
    lies = [
        {"magic": 0}, {"magic": 0x00014254}, {"version": 0}, {"version": 2}, {"order": 0}, {"order": 2}, {"order": 255},
        {"size": 0}, {"size": 51}, {"size": 53}, {"size": 1 << 20}, {"size": MOST}, {"size": MOST + 1}, {"size": 2**32 - 1},
        {"skeleton": 0}, {"skeleton": 2**32 - 1}, {"at": (1 << 20) - 128, "size": 1},
    ]  # fmt: skip
    each(stage, [lambda p, lie=lie: p.chunk(good[:0] if "at" in lie else good, **lie) for lie in lies])


@attack("publishes messages that only claim their size")
def claims(stage):
    """A header of 300 MiB costs its publisher a page: in a segment that is mapped, and in one that is copied from."""
    for segment in (1 << 30, 1 << 44):
        each(stage, [lambda p: p.chunk(image_message(b"x" * 100), size=300 << 20)], segment_bytes=segment)


@attack("publishes messages whose words lead anywhere")
def words(stage):
    pairs = []
    for at in (12, 28, 44):
        for length in (1, 2, 4, 8, 1000, 1 << 20, 2**31 - 1, 2**31, 2**32 - 1):
            for offset in (0, 1, -1, 4, -44, -64, -(1 << 31), (1 << 31) - 1, 1 << 20):
                pairs.append({at: (length, offset)})
    if not stage.long:
        pairs = random.sample(pairs, 40)
    each(stage, [lambda p, pair=pair: p.chunk(image_message(b"x" * 100, words=pair)) for pair in pairs])


@attack("publishes strings whose end lies")
def strings(stage):
    def with_end(end):
        message = bytearray(image_message(b"", b"abcdefg"))
        message[52:60] = end
        return bytes(message)

    ends = [b"abcdefgh", b"abcdef\xff\xff", b"abcd\0\0\0\4", b"abc\1\0\0\0\3", b"\0\0\0\0\0\0\0\3", b"abcdef\1\1"]
    each(stage, [lambda p, end=end: p.chunk(with_end(end)) for end in ends])


def deep_message(statuses: int, values: int, self_referring=True) -> bytes:
    """diagnostic_msgs/DiagnosticArray whose statuses all point to one array of values: a small chunk, n times m to walk."""
    skeleton = bytearray(28)  # header (20), then the words of status
    array = 28
    contents = bytearray(36 * statuses)
    value_array = array + len(contents)
    for i in range(statuses):
        at = array + 36 * i
        target = array if self_referring else value_array
        struct.pack_into("<Ii", contents, 36 * i + 28, values, target - (at + 32))
    struct.pack_into("<Ii", skeleton, 20, statuses, array - 24)
    return bytes(skeleton) + bytes(contents) + b"\0" * 16 * (0 if self_referring else values)


@attack("publishes a small message that is endless to walk")
def bomb(stage):
    size = 1 << 24
    count = stage.size(20_000, 200_000)
    lies = [
        lambda p: p.chunk(deep_message(count, count * 36 // 16, True)),
        lambda p: p.chunk(deep_message(count, count, False)),
        lambda p: p.chunk(deep_message(2**27, 0)[:100]),
    ]
    each(stage, lies[:2], "/deep", segment_bytes=size)


@attack("publishes noise")
def noise(stage):
    each(
        stage, [lambda p: p.chunk(random.randbytes(random.choice((52, 100, 4000)))) for _ in range(stage.size(30, 300))]
    )
    lies = [lambda p: p.chunk(random.randbytes(random.choice((28, 100, 4000)))) for _ in range(stage.size(10, 300))]
    each(stage, lies, "/deep")


def rewrite(stage, places, topic="/image", seconds=0.5):
    """Publishes one good message and goes on writing at `places` ({offset in the message: bytes}, several values each)."""
    published = publisher(stage, topic)
    handle = published.chunk(image_message(b"x" * 1000))
    stage.begin()
    end = time.monotonic() + stage.size(seconds, 3)
    try:
        while time.monotonic() < end:
            if published.unread() < 5:
                published.push(handle)
            for _ in range(200):
                at, values = random.choice(places)
                value = random.choice(values)
                published.segment[handle + 128 + at : handle + 128 + at + len(value)] = value
            published.link.drain(0.001)
    except Gone:
        pass


LENGTHS = [struct.pack("<I", n) for n in (0, 1, 8, 1000, 1 << 20, 2**31, 2**32 - 1)]
OFFSETS = [struct.pack("<i", n) for n in (0, 4, 12, 20, -4, -(2**31), 2**31 - 1)]


@attack("rewrites the numbers and bytes of a published message")
def rewrites_contents(stage):
    rewrite(stage, [(20, LENGTHS), (24, LENGTHS), (100, [b"a" * 800, b"\xff" * 800])])


@attack("rewrites the header of a published chunk")
def rewrites_header(stage):
    rewrite(stage, [(-128 + at, LENGTHS) for at in (0, 4, 8, 12, 16, 24, 32, 40, 56)])


# SECURITY.md: a C++ view reads a word again when it is used, and may show garbage or crash. The Python view uses only checked values.
@attack("rewrites the lengths and offsets of a published message", victims=("python",))
def rewrites_words(stage):
    rewrite(
        stage,
        [(12, LENGTHS), (16, OFFSETS), (28, LENGTHS), (32, OFFSETS), (44, LENGTHS), (48, OFFSETS), (52, [b"abcdefgh"])],
    )


@attack("rewrites lengths before they are read", victims=("cpp", "python"))
def rewrites_before(stage):
    """Good and bad words alternate until the handle is pushed, and not afterwards: both victims must survive this."""
    stage.begin()
    for number in range(stage.size(30, 300)):

        def act(number=number):
            published = publisher(stage)
            handle = published.chunk(image_message(b"x" * 1000))
            published.segment[handle + 128 + 44 : handle + 128 + 48] = LENGTHS[number % len(LENGTHS)]
            published.push(handle)
            published.await_taken(0.1)

        stage.apart(act)


@attack("publishes strings that are no UTF-8")
def no_utf8(stage):
    stage.begin()
    published = publisher(stage)
    for value in (b"\xff\xfe\xfd", b"\xed\xa0\x80", b"a\0b", bytes(range(1, 256))):
        published.publish(image_message(b"", value))
    assert string_message(b"abc")
    return f"taken {published.await_taken()}"
