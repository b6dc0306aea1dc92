# SPDX-License-Identifier: Apache-2.0
"""Large arrays of messages that stock roscpp programs receive: not copied, and like any other array."""

import itertools
import signal
import time

import preload_test
from ros1_network import BUILD, PATIENCE_S, tcp_bytes

LARGE = 1_000_000
COUNT = 20
MARKER = 28  # bytes of a marker in the TCP stream
KEPT = 16  # kKeptArrays in ros1/preload/src/arrays.hpp


def arrays(ros, what, topic="images", program="ros1_arrays", **settings):
    return ros.run([BUILD / "bin" / program, topic, what], **settings)


def send(talker, count, *receivers, first=1, size=LARGE):
    """Publishes one image at a time; how many of the arrays each receiver has aliased."""
    aliased = {}
    for number in range(first, first + count):
        talker.do(f"publish {size} 1 0")
        for receiver in receivers:
            line = receiver.line().split()
            assert line[:2] == [str(number), "good"]
            aliased[receiver] = int(line[2])
    return [aliased[receiver] for receiver in receivers]


def warm(talker, *receivers, size=LARGE):
    """Sends until all receivers alias arrays: the ends have met in shared memory. How many it took."""
    end = time.monotonic() + PATIENCE_S
    for number in itertools.count(1):
        if all(send(talker, 1, *receivers, first=number, size=size)):
            return number
        assert time.monotonic() < end, "all arrays were copied"
        time.sleep(0.02)


def counters(receiver):
    """Arrays aliased, those that live, and frees of addresses that are none."""
    receiver.tell("counters")
    return [int(word) for word in receiver.line().split()[1:]]


def test_arrays_of_every_size_are_not_copied_and_the_program_may_do_with_them_what_it_likes(ros):
    whats = ["read", "write", "resize", "threads", "fork"]
    receivers, talker = [arrays(ros, what) for what in whats], ros.talker(latch=True)
    talker.do(f"subscribers {len(receivers)}")
    first = warm(talker, *receivers)
    before = send(talker, COUNT, *receivers, first=first + 1)
    aliased = send(talker, COUNT, *receivers, first=first + COUNT + 1)
    assert [now - then for now, then in zip(aliased, before, strict=True)] == [COUNT] * len(whats), "no copy is left"
    for what, receiver, count in zip(whats, receivers, aliased, strict=True):
        total, live, unknown = counters(receiver)
        assert total == count, what
        assert live <= 4, f"{what}: freed arrays are given back"
        assert unknown == 0, what
    late = arrays(ros, "read")  # gets the latched message, which others have overwritten
    assert late.line().split()[:2] == [str(first + 2 * COUNT), "good"]
    talker.do(f"subscribers {len(receivers) + 1}")
    for i, size in enumerate([LARGE, 70_000, 1_000, 0, 3 * LARGE, 65_535, 65_536, 65_537, LARGE]):
        send(talker, 1, *receivers, late, first=first + 2 * COUNT + 1 + i, size=size)


def test_small_arrays_and_those_of_programs_that_cannot_have_others_are_copied(ros):
    aliases, copies = arrays(ros, "read"), arrays(ros, "write", BATON_HEAP="0")
    own_new = arrays(ros, "resize", program="ros1_arrays_own_new")
    talker = ros.talker()
    talker.do("subscribers 3")
    end = time.monotonic() + PATIENCE_S
    for number in itertools.count(1):
        before, *others = send(talker, 1, aliases, copies, own_new, first=number)
        assert others == [0, 0]
        if before:
            break
        assert time.monotonic() < end, "all arrays were copied"
    after, *others = send(talker, COUNT, aliases, copies, own_new, first=number + 1)
    assert (after > before, others) == (True, [0, 0])
    assert send(talker, COUNT, aliases, copies, own_new, first=number + COUNT + 1, size=65_000) == [after, 0, 0]


def test_a_program_that_keeps_messages_gets_copies_of_the_rest_and_stays_in_shared_memory(ros):
    listener, talker = ros.listener(keep=100), ros.talker()
    preload_test.warm(talker, listener)
    for _ in range(2 * KEPT):
        talker.do(f"publish {LARGE} 1 0")
        assert listener.line().endswith("good")
    before = tcp_bytes(listener)
    for _ in range(COUNT):
        talker.do(f"publish {LARGE} 1 0")
        assert listener.line().endswith("good")
    assert tcp_bytes(listener) - before == COUNT * MARKER
    talker.process.send_signal(signal.SIGKILL)
    talker.process.wait()
    assert listener.end() == 0, "a kept message changed when its publisher was killed"


def test_memory_of_freed_arrays_returns_to_the_publisher(ros):
    receiver = arrays(ros, "write")
    talker = ros.talker(BATON_PROCESS_MEMORY_LIMIT="64M")
    talker.do("subscribers 1")
    first = warm(talker, receiver, size=6_220_800)
    (before,) = send(talker, COUNT, receiver, first=first + 1, size=6_220_800)
    (after,) = send(talker, 2 * COUNT, receiver, first=first + COUNT + 1, size=6_220_800)
    assert after - before == 2 * COUNT, "messages of four times the limit take shared memory"


# Types with a header have their largest array at an aligned place; how often the others are is left to chance.
WITH_HEADER = ["Image", "CompressedImage", "PointCloud2", "LaserScan", "JointState"]
OTHERS = ["MultiEchoLaserScan", "PointCloud", "ByteMultiArray", "Int16MultiArray", "UInt8MultiArray"]
OTHERS += ["Float64MultiArray", "String"]


def received(sink, source):
    """Of one message, which is compared byte for byte: how many arrays were aliased so far."""
    source.tell("publish")
    sent = source.line()
    message, aliased = sink.line().rsplit(" ", 1)
    assert message == sent
    return int(aliased)


def receive_all(ros, kind, count, program="ros1_large"):
    sink = ros.run([BUILD / "bin" / program, "sink", kind])
    source = ros.run([BUILD / "bin" / "ros1_large", "source", kind])
    for _ in range(count):
        received(sink, source)
    return sink, source


def test_every_type_arrives_byte_for_byte_and_those_with_a_header_without_a_copy(ros):
    for kind in ros.each(WITH_HEADER):
        ends = receive_all(ros, kind, COUNT)
        end = time.monotonic() + PATIENCE_S
        while not (before := received(*ends)) and time.monotonic() < end:
            time.sleep(0.02)
        for _ in range(COUNT):
            after = received(*ends)
        assert after - before >= COUNT, kind
    for kind in ros.each(OTHERS):
        receive_all(ros, kind, 8)
    for kind in ros.each(("Image", "LaserScan", "MultiEchoLaserScan")):  # a program that zeroes arrays by itself
        receive_all(ros, kind, 8, program="ros1_large_unoptimized")
