# SPDX-License-Identifier: Apache-2.0
"""A program that says in its connection headers that it is another node: it takes nothing of that node away."""

import struct

import pytest
from api_test import meet
from liar import Liar, frame
from ros1_network import LARGE, image
from tzc_test import HANDLE_MD5, TZC, handle, handles

pytestmark = pytest.mark.own_master  # its topics have absolute names

IMAGE_MD5 = "060021388200f6f0f447d0fcd9c64743"
HIGHEST = 2**64 - 1


def foreign_image(number):
    """An image of a stock publisher, without pixels, as a listener prints it, and as TCPROS has it."""
    camera = struct.pack("<I", 6) + b"camera"
    mono = struct.pack("<I", 5) + b"mono8"
    wire = struct.pack("<III", number - 1, number, 0) + camera + struct.pack("<II", 1, number) + mono
    return image(number, 0), wire + struct.pack("<BII", 0, 0, 0)


@pytest.fixture
def liars():
    made = []

    def make(*words):
        made.append(Liar(*words))
        return made[-1]

    yield make
    for liar in made:
        liar.close()


def test_handles_under_another_nodes_name_take_and_hide_nothing(ros, liars):
    listener, talker = ros.api_listener(**TZC), ros.api_talker(name="camera", **TZC)
    meet(talker, 1)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(1)
    talker.tell("writer")
    word, digits = talker.line().split()
    assert word == "writer"
    assert talker.line() == "done writer"
    writer = bytes.fromhex(digits)
    kind = bytes.fromhex(IMAGE_MD5)
    with liars(ros, "/camera", "/images/_baton", "baton_ros1/Handle", HANDLE_MD5).meet() as lying:
        for number in range(2, 8):
            lying.sendall(frame(handle(number, writer, kind)))
        _, content = foreign_image(77)
        lying.sendall(frame(handle(HIGHEST, writer, kind, place=1, content=content)))
        assert listener.line() == image(77, 0), "an input like a stock publisher's"
        before = handles(listener)
        talker.do(f"publish {LARGE} 11 2")  # the last one: what came too often would come before
        assert [listener.line() for _ in range(11)] == [image(i) for i in range(2, 13)]
        after = handles(listener)
        assert after["taken"] == before["taken"] + 11
        assert after["refused"] == 6
        assert after["carried"] == before["carried"]


def test_handles_of_a_connection_that_has_ended_take_and_hide_nothing(ros, liars):
    listener, talker = ros.api_listener(pause_ms=500, **TZC), ros.api_talker(name="camera", **TZC)
    meet(talker, 1)
    talker.tell("writer")
    writer = bytes.fromhex(talker.line().split()[1])
    assert talker.line() == "done writer"
    kind = bytes.fromhex(IMAGE_MD5)
    with liars(ros, "/camera", "/images/_baton", "baton_ros1/Handle", HANDLE_MD5).meet() as lying:
        talker.do(f"publish {LARGE} 1 0")
        assert listener.line() == image(1)
        # While the callback of the first image runs, the connection comes to its end.
        _, content = foreign_image(77)
        lying.sendall(frame(handle(HIGHEST, writer, kind, place=1, content=content)))
    assert listener.line() == image(77, 0), "an input like a stock publisher's"
    talker.do(f"publish {LARGE} 3 0")
    assert [listener.line() for _ in range(3)] == [image(i) for i in range(2, 5)]


def test_messages_under_another_nodes_name_hide_nothing(ros, liars):
    for mode in ros.each(["lotros", "tzc"]):
        listener = ros.api_listener(BATON_ROS1_MODE=mode)
        talker = ros.api_talker(name="camera", BATON_ROS1_MODE=mode)
        meet(talker, 1)
        talker.do(f"publish {LARGE} 3 0")
        assert [listener.line() for _ in range(3)] == [image(i) for i in range(1, 4)]
        with liars(ros, "/camera", "/images", "sensor_msgs/Image", IMAGE_MD5).meet() as lying:
            for number in (50, 51):
                line, wire = foreign_image(number)
                lying.sendall(frame(wire))
                assert listener.line() == line, "a publisher of its own"
                talker.do(f"publish {LARGE} 3 0")
                assert [listener.line().split()[2] for _ in range(3)] == [str(LARGE)] * 3
        talker.do("publish 10 1 0")  # what came too often would come before
        assert listener.line() == image(10, 10)
