# SPDX-License-Identifier: Apache-2.0
"""Large arrays of messages that stock roscpp programs receive: not copied, and like any other array."""

import itertools
import signal
import time

import preload_test
import pytest
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


@pytest.mark.parametrize("what", ["read", "write", "resize", "threads", "fork"])
def test_arrays_are_not_copied_and_the_program_may_do_with_them_what_it_likes(ros, what):
    receiver, talker = arrays(ros, what), ros.talker()
    talker.do("subscribers 1")
    first = warm(talker, receiver, size=2_000_000)
    (aliased,) = send(talker, COUNT, receiver, first=first + 1, size=2_000_000)
    assert aliased > COUNT
    total, live, unknown = counters(receiver)
    assert total == aliased
    assert live <= 4, "freed arrays are given back"
    assert unknown == 0


def test_once_the_link_is_in_shared_memory_every_array_is_aliased(ros):
    receiver, talker = arrays(ros, "read"), ros.talker()
    talker.do("subscribers 1")
    first = warm(talker, receiver)
    (before,) = send(talker, COUNT, receiver, first=first + 1)
    (after,) = send(talker, COUNT, receiver, first=first + COUNT + 1)
    assert after - before == COUNT, "no copy is left at the subscriber"


def test_what_a_subscriber_writes_nobody_else_sees(ros):
    writer, reader, talker = arrays(ros, "write"), arrays(ros, "read"), ros.talker(latch=True)
    talker.do("subscribers 2")
    first = warm(talker, writer, reader)
    send(talker, COUNT, writer, reader, first=first + 1)
    late = arrays(ros, "read")  # gets the latched message, which the writer has overwritten
    assert late.line().split()[:2] == [str(first + COUNT), "good"]


def test_small_arrays_are_copied(ros):
    receiver, talker = arrays(ros, "read"), ros.talker()
    talker.do("subscribers 1")
    assert send(talker, COUNT, receiver, size=65_000) == [0]


def test_arrays_of_changing_sizes_keep_their_content(ros):
    receiver, talker = arrays(ros, "read"), ros.talker()
    talker.do("subscribers 1")
    first = warm(talker, receiver)
    for i, size in enumerate([LARGE, 70_000, 1_000, 0, 3 * LARGE, 65_535, 65_536, 65_537, LARGE]):
        send(talker, 1, receiver, first=first + 1 + i, size=size)


def test_baton_heap_0_copies(ros):
    receiver, talker = arrays(ros, "write", BATON_HEAP="0"), ros.talker()
    talker.do("subscribers 1")
    assert send(talker, COUNT, receiver) == [0]


def test_a_program_with_operators_new_and_delete_of_its_own_gets_copies(ros):
    receiver, talker = arrays(ros, "resize", program="ros1_arrays_own_new"), ros.talker()
    talker.do("subscribers 1")
    assert send(talker, COUNT, receiver) == [0]


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


@pytest.mark.parametrize("kind", WITH_HEADER)
def test_types_with_a_header_arrive_byte_for_byte_and_without_a_copy(ros, kind):
    ends = receive_all(ros, kind, COUNT)
    end = time.monotonic() + PATIENCE_S
    while not (before := received(*ends)) and time.monotonic() < end:
        time.sleep(0.02)
    for _ in range(COUNT):
        after = received(*ends)
    assert after - before >= COUNT


def test_other_types_arrive_byte_for_byte(ros):
    for kind in OTHERS:
        receive_all(ros, kind, 8)


def test_programs_that_zero_arrays_by_themselves_get_the_same_bytes(ros):
    for kind in ("Image", "LaserScan", "MultiEchoLaserScan"):
        receive_all(ros, kind, 8, program="ros1_large_unoptimized")
