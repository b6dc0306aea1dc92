# SPDX-License-Identifier: Apache-2.0
"""A program that knows the ids of all endpoints, as every process of the domain does: it hurts no link of other programs."""

import contextlib
import signal
import struct

import pytest
from liar import subscribe, subscriptions
from preload_test import IN_FLIGHT, LARGE, image, warm
from ros1_network import BUILD, tcp_bytes
from tzc_test import raw_file

pytestmark = pytest.mark.own_master  # its topics have absolute names

POINT = "geometry_msgs/Point", "4a842b65f413084dc2b10fb484ea7f17", "float64 x\nfloat64 y\nfloat64 z\n"


def test_a_message_that_begins_with_the_id_of_its_subscription_is_a_message(ros, tmp_path):
    # Such as a relay may be given, which hands on what others send.
    points = [struct.pack("<ddd", i, 0, 0) for i in range(10)]
    sent = tmp_path / "sent"
    raw_file(sent, *POINT, points[:1])
    sink = ros.run([BUILD / "bin/ros1_raw", "sink", "points", tmp_path / "received"])
    source = ros.run([BUILD / "bin/ros1_raw", "source", "points", sent])
    source.do("subscribers 1")
    source.do("publish 1")
    assert sink.line() == "geometry_msgs/Point 24"
    lies = [
        gid + struct.pack("<Q", number)
        for gid in subscriptions(ros, "/points/_tcpros/")
        for number in (0, 1, 2**64 - 1)
    ]
    with sent.open("ab") as file:
        for message in lies + points[1:]:
            file.write(struct.pack("<I", len(message)) + message)
    source.do(f"publish {len(lies + points[1:])}")
    assert [sink.line() for _ in lies + points[1:]] == ["geometry_msgs/Point 24"] * len(lies + points[1:])
    received = (tmp_path / "received").read_bytes()
    assert received == b"".join(struct.pack("<I", 24) + message for message in [points[0], *lies, *points[1:]])


def test_subscribers_that_name_the_id_of_another_one_take_no_room_of_it(ros):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    (gid,) = subscriptions(ros, "/images/_tcpros/")
    fields = {"baton_tcpros": "3", "baton_reader": gid.hex(), "baton_secret": bytes(16).hex()}
    with contextlib.ExitStack() as liars:
        for _ in range(IN_FLIGHT):
            lying, answer = subscribe(ros.environment, "/images", **fields)
            liars.enter_context(lying)
            assert b"md5sum=" in answer, "a subscriber like any stock one"
            assert b"baton" not in answer
        talker.do(f"subscribers {1 + IN_FLIGHT}")
        before = tcp_bytes(listener)
        listener.process.send_signal(signal.SIGSTOP)
        talker.do(f"publish {LARGE} {IN_FLIGHT} 1")
        listener.process.send_signal(signal.SIGCONT)
        assert [listener.line() for _ in range(IN_FLIGHT)] == [image(first + 1 + i) for i in range(IN_FLIGHT)]
        assert tcp_bytes(listener) - before == IN_FLIGHT * 28, "a marker has 28 bytes"
