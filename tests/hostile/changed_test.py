# SPDX-License-Identifier: Apache-2.0
"""A publisher that changes a message while a Python callback reads it loses its connection; the executor goes on. A copy out of such a
message ends with an error, and takes memory as the message's size allows."""

import contextlib
import copy
import pickle
import resource
import struct
import sys
import threading
import time

import pytest
import scene
from raw_peer import Link, Published, image_message

sys.path.insert(0, str(scene.PACKAGE))

import baton
from baton import _core
from rosbags.typesys import Stores, get_typestore

IMAGE_DATA = 44  # where the length of sensor_msgs/Image.data stands in the message
LIMIT_S = 120


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
            make_impossible(attacker, handle, IMAGE_DATA)
        received.append(None)
        received[-1] = len(message.data)

    subscription = node.subscribe("image", "sensor_msgs/Image", on_image, 10)
    honest = node.advertise("image", "sensor_msgs/Image", 10)
    attacker = hostile("/image")
    assert subscription.wait_for_publishers(2, LIMIT_S) and honest.wait_for_subscriptions(1, LIMIT_S)
    executor = baton.Executor(node)
    handle = attacker.chunk(image_message(b"x" * 1000))
    attacker.push(handle)
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
            make_impossible(attacker, handle, 0)
        response.values = [{"type": len(request.names)}]

    service = node.serve("get", "rcl_interfaces/GetParameters", handler)
    client = node.client("get", "rcl_interfaces/GetParameters")
    attacker = hostile("/get/_request")
    executor = baton.Executor(node)
    handle = attacker.chunk(bytes(8))  # no names
    attacker.push(handle)
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


STORE = get_typestore(Stores.ROS2_KILTED)
DIAGNOSTICS = baton.message("diagnostic_msgs/DiagnosticArray")
SAME_FIELDS = baton.message_from_text(
    "test_msgs/Same", "std_msgs/Header header\ndiagnostic_msgs/DiagnosticStatus[] status\n"
)
SAME_DEEPER = baton.message_from_text(
    "test_msgs/Deeper",
    """std_msgs/Header header
test_msgs/Status[] status
"""
    + "=" * 80
    + """
MSG: test_msgs/Status
byte level
string name
string message
string hardware_id
diagnostic_msgs/KeyValue[] values
""",
)
NAMES = baton.message("rcl_interfaces/ListParametersResult")


def of_genpy(name, **fields):
    """A class as genpy generates it."""
    package, _, short = name.partition("/")
    space = {"_type": name, "_slot_types": list(fields.values()), "__slots__": list(fields), "__module__": __name__}
    space["__init__"] = lambda self: None if not fields else [setattr(self, each, None) for each in fields] and None
    globals()[f"_{package}__{short}"] = made = type(short, (), space)
    return made


of_genpy("std_msgs/Header", seq="uint32", stamp="uint32", frame_id="string")
of_genpy("diagnostic_msgs/KeyValue", key="string", value="string")
of_genpy("diagnostic_msgs/DiagnosticStatus", level="byte", values="diagnostic_msgs/KeyValue[]")
GENPY = of_genpy("diagnostic_msgs/DiagnosticArray", status="diagnostic_msgs/DiagnosticStatus[]")

MANY, VALUES = 5000, 10_000  # 50 million objects of 16 bytes at least, if each status has all values


def diagnostics():
    """One status with many values, followed by further ones that share these values and are not counted."""
    at_status, at_values = 28, 28 + MANY * 36
    message = bytearray(at_values + VALUES * 16)
    struct.pack_into("<Ii", message, 20, 1, at_status - 24)
    for i in range(MANY):
        words = at_status + i * 36 + 28
        struct.pack_into("<Ii", message, words, VALUES, at_values - (words + 4))
    return bytes(message), 20, MANY


def names():
    """One name of half a megabyte, followed by further ones that share its text and are not counted."""
    text = b"x" * 499_999 + b"\0\0\0\0\0"
    text = text[: len(text) // 4 * 4 - 4] + b"\0\0\0\3"
    at_names = 16
    at_text = at_names + MANY * 8
    message = bytearray(at_text) + text
    struct.pack_into("<Ii", message, 0, 1, at_names - 4)
    for i in range(MANY):
        words = at_names + i * 8
        struct.pack_into("<Ii", message, words, len(text), at_text - (words + 4))
    return bytes(message), 0, MANY


def published(message, node):
    publisher = node.advertise("copies", DIAGNOSTICS, 10)
    publisher.publish(message)


COPIES = {
    "str": lambda message, node: str(message),
    "repr of all": lambda message, node: baton.format_message(message, 0, 0),
    "baton.copy": lambda message, node: baton.copy(message),
    "copy.copy": lambda message, node: copy.copy(message),
    "copy.deepcopy": lambda message, node: copy.deepcopy(message),
    "pickle": lambda message, node: pickle.dumps(message),
    "to_dict": lambda message, node: baton.to_dict(message),
    "its class": lambda message, node: DIAGNOSTICS(message),
    "a field of a new message": lambda message, node: DIAGNOSTICS(status=message.status),
    "a class of the same fields": lambda message, node: SAME_FIELDS(message),
    "a class of the same fields, nested": lambda message, node: SAME_DEEPER(status=message.status),
    "==": lambda message, node: message == DIAGNOSTICS(),
    "== of a field": lambda message, node: message.status == DIAGNOSTICS(status=[{}]).status,
    "rosbags": lambda message, node: baton.convert(
        message, STORE.types["diagnostic_msgs/msg/DiagnosticArray"], STORE.types
    ),
    "rospy": lambda message, node: baton.convert(message, GENPY),
    "publish": published,
    "CDR": lambda message, node: _core._serialized(message, True),
    "the wire of ROS 1": lambda message, node: _core._serialized(message, False),
}
TEXTS = {
    "list": lambda message, node: list(message.names),
    "slice": lambda message, node: message.names[:],
    "join": lambda message, node: "".join(message.names),
    "== of a list": lambda message, node: message.names == ["x"] * MANY,
    "copy": lambda message, node: baton.copy(message),
    "to_dict": lambda message, node: baton.to_dict(message),
    "a field of a new message": lambda message, node: NAMES(names=message.names),
    "CDR": lambda message, node: _core._serialized(message, True),
    "the wire of ROS 1": lambda message, node: _core._serialized(message, False),
}


@contextlib.contextmanager
def memory_for(more_bytes):
    """Limits the process to so much more address space. Without a bound in the code, copying would end with MemoryError."""
    with open("/proc/self/statm") as statm:
        now = int(statm.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    ("kind", "make", "read"),
    [pytest.param(DIAGNOSTICS, diagnostics, read, id=name) for name, read in COPIES.items()]
    + [pytest.param(NAMES, names, read, id="texts: " + name) for name, read in TEXTS.items()],
)
def test_copying_a_message_with_a_changed_length_takes_no_more_memory_than_its_size(node, hostile, kind, make, read):
    subscription = node.subscribe("changed", kind, qos=10)
    attacker = hostile("/changed")
    assert subscription.wait_for_publishers(1, LIMIT_S)
    bytes_, at, changed = make()
    handle = attacker.chunk(bytes_)
    attacker.push(handle)
    message = subscription.take(LIMIT_S)
    read(message, node)  # it is still complete
    attacker.segment[handle + 128 + at : handle + 128 + at + 4] = struct.pack("<I", changed)
    with memory_for(256 << 20), pytest.raises(baton.MalformedMessage, match="changed this message|overlap"):
        read(message, node)
