# SPDX-License-Identifier: Apache-2.0
"""A hostile publisher beside `baton view`: its message is left out or shown, and those of others are shown. The peer is written from docs/format/
alone."""

from __future__ import annotations

import struct
import sys
from contextlib import contextmanager

import baton
import pytest
from baton_record.view_reduction import Reduction
from support.build import ROOT, needs_package
from support.waiting import until
from view_client import Viewer, shown

sys.path.insert(0, str(ROOT / "tests/hostile"))
from raw_peer import Link, Published, image_message, string_message

pytestmark = needs_package()
NO_MESSAGE = struct.pack("<Ii", 100, 1000) + b"none"  # the words of a string that lies elsewhere
SOURCE_TIME = 24  # its place in a chunk's header


@contextmanager
def liar(directory, topic):
    """A publisher of the raw peer to this process, the only one in the directory."""
    (socket,) = directory.glob("*/p-*")
    link = Link(str(socket.parent), socket.name)
    try:
        yield Published(link, topic)
    finally:
        link.close()


@pytest.mark.parametrize("time_ns", [-1, -(1 << 63), (1 << 63) - 1])
def test_a_view_shows_messages_of_any_time(runtime_directory, time_ns):
    node = baton.Node("robot")
    honest = node.advertise("/text", "std_msgs/String")
    with shown() as view, Viewer(view.port) as client:
        client.watch("/text")
        assert honest.wait_for_subscriptions(1, 60)
        with liar(runtime_directory, "/text") as publisher:
            handle = publisher.chunk(string_message(b"then"))
            struct.pack_into("<q", publisher.segment, handle + SOURCE_TIME, time_ns)
            publisher.push(handle)
            assert client.message()[1].data == "then"
        honest.publish({"data": "now"})
        assert client.message()[1].data == "now"


@pytest.mark.parametrize(
    "lie",
    [NO_MESSAGE, b"", image_message(b"\1" * 70_000)],
    ids=["no message", "nothing", "an image wider than a JPEG can be"],
)
def test_a_view_leaves_out_messages_that_it_cannot_show(runtime_directory, lie):
    node = baton.Node("robot")
    honest = node.advertise("/image", "sensor_msgs/Image")
    with shown(reduction=Reduction(jpeg=("*",))) as view, Viewer(view.port) as client:
        client.watch("/image")
        assert honest.wait_for_subscriptions(1, 60)
        with liar(runtime_directory, "/image") as publisher:
            publisher.publish(lie)
            assert publisher.await_taken(60)
            honest.publish({"height": 1, "width": 2, "encoding": "mono8", "data": b"ab"})
            assert client.message()[1].format == "jpeg"
    if len(lie) > 12:
        until(lambda: any("/image: a message is left out: " in each for each in view.said))
