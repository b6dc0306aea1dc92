# SPDX-License-Identifier: Apache-2.0
"""A publisher that changes a message while a Python callback reads it loses its connection; the executor goes on."""

import struct
import sys
import threading
import time

import pytest
import scene
from raw_peer import Link, Published, image_message

sys.path.insert(0, str(scene.PACKAGE))

import baton

IMAGE_DATA = 44  # where the length of sensor_msgs/Image.data stands in the message
LIMIT_S = 120


@pytest.fixture
def said():
    return []


@pytest.fixture
def node(tmp_path, said):
    return baton.Node("honest", runtime_directory=tmp_path, on_diagnostic=lambda each: said.append(each.text))


@pytest.fixture
def hostile(node, tmp_path):
    """hostile(topic): a publisher of the raw peer, in this process."""

    def publisher(topic):
        (name,) = (each for each in tmp_path.glob("*/p-*"))
        return Published(Link(str(name.parent), name.name), topic)

    return publisher


def make_impossible(publisher, handle, at):
    publisher.segment[handle + 128 + at : handle + 128 + at + 4] = struct.pack("<I", 1 << 30)


def spin_until(executor, condition):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, "what the test waits for did not happen"
        executor.spin_once(0.1)


def test_a_message_that_changes_under_its_callback_ends_that_connection_and_not_the_executor(node, said, hostile):
    received = []

    def on_image(message):
        if not received:
            make_impossible(liar, handle, IMAGE_DATA)
        received.append(None)
        received[-1] = len(message.data)

    subscription = node.subscribe("image", "sensor_msgs/Image", on_image, 10)
    honest = node.advertise("image", "sensor_msgs/Image", 10)
    liar = hostile("/image")
    assert subscription.wait_for_publishers(2, LIMIT_S) and honest.wait_for_subscriptions(1, LIMIT_S)
    executor = baton.Executor(node)
    handle = liar.chunk(image_message(b"x" * 1000))
    liar.push(handle)
    spin_until(executor, lambda: said)
    assert received == [None]
    assert subscription.matched == 1
    assert "changed a message after it was checked" in said[0] and "/image" in said[0], said
    honest.publish({"data": b"abc"})
    spin_until(executor, lambda: len(received) == 2)
    assert received == [None, 3]


def test_a_request_that_changes_under_its_handler_ends_that_clients_connection_and_not_the_executor(
    node, said, hostile
):
    def handler(request, response):
        if not said:
            make_impossible(liar, handle, 0)
        response.values = [{"type": len(request.names)}]

    service = node.serve("get", "rcl_interfaces/GetParameters", handler)
    client = node.client("get", "rcl_interfaces/GetParameters")
    liar = hostile("/get/_request")
    executor = baton.Executor(node)
    handle = liar.chunk(bytes(8))  # no names
    liar.push(handle)
    spin_until(executor, lambda: said)
    assert "changed a message after it was checked" in said[0] and service.name in said[0], said
    assert client.wait_for_service(LIMIT_S)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        assert client.call({"names": ["a", "b"]}, LIMIT_S).values[0].type == 2
    finally:
        executor.cancel()
        thread.join()


def test_an_error_of_the_callbacks_own_ends_the_executor_as_before(node):
    def on_image(_message):
        raise baton.MalformedMessage("of a file that the callback read")

    subscription = node.subscribe("image", "sensor_msgs/Image", on_image, 10)
    publisher = node.advertise("image", "sensor_msgs/Image", 10)
    assert subscription.wait_for_publishers(1, LIMIT_S)
    publisher.publish({"data": b"abc"})
    with pytest.raises(baton.MalformedMessage, match="of a file"):
        spin_until(baton.Executor(node), lambda: False)
