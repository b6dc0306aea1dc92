# SPDX-License-Identifier: Apache-2.0
"""The program that rclpy_test.py runs under ROS 2's Python: `rclpy_process.py conversion|topics|malformed|keywords|publish|values|layouts`."""

from __future__ import annotations

import array
import ctypes
import importlib
import os
import random
import re
import sys
import time
import warnings

import baton
import baton._rosidl_layout as rosidl
import baton.rclpy
import numpy as np
import rclpy
from rclpy.serialization import deserialize_message, serialize_message

PACKAGES = ("geometry_msgs", "sensor_msgs", "nav_msgs", "std_msgs", "test_msgs", "builtin_interfaces", "rcl_interfaces")
# Jazzy has none of these.
IDL_ONLY = {"ComplexNestedKey", "KeyedLong", "KeyedString", "NonKeyedWithNestedKey"}
rnd = random.Random(5)


def classes():
    for package in PACKAGES:
        for cls in vars(importlib.import_module(f"{package}.msg")).values():
            if hasattr(cls, "_fields_and_field_types"):
                yield cls


def element(kind):
    if kind == "boolean":
        return rnd.random() < 0.5
    if kind == "octet":
        return bytes([rnd.randrange(256)])
    if kind == "float":
        return float(np.float32(rnd.random()))
    if kind == "double":
        return rnd.random()
    if match := re.fullmatch(r"(u?)int(\d+)", kind):
        bits = int(match[2])
        return rnd.randrange(2**bits) if match[1] else rnd.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))
    if match := re.fullmatch(r"w?string(?:<(\d+)>)?", kind):
        return "".join(rnd.choice("aé b") for _ in range(rnd.randrange(int(match[1] or 20) // 2 + 1)))
    package, name = kind.split("/")
    return filled(getattr(importlib.import_module(f"{package}.msg"), name))


def field(kind, old):
    if match := re.fullmatch(r"sequence<(.*?)(?:, (\d+))?>", kind):
        values = [element(match[1]) for _ in range(rnd.randrange(int(match[2] or 4) + 1))]
        return array.array(old.typecode, values) if isinstance(old, array.array) else values
    if match := re.fullmatch(r"(.*)\[(\d+)\]", kind):
        values = [element(match[1]) for _ in range(int(match[2]))]
        return np.array(values, old.dtype) if isinstance(old, np.ndarray) else values
    return element(kind)


def filled(cls):
    message = cls()
    for name, kind in message.get_fields_and_field_types().items():
        setattr(message, name, field(kind, getattr(message, name)))
    return message


def same(one, two):
    """Equal in values and in the types that hold them."""
    assert type(one) is type(two), (type(one), type(two))
    assert repr(one) == repr(two)
    for name in one.get_fields_and_field_types() if hasattr(one, "get_fields_and_field_types") else ():
        assert type(getattr(one, name)) is type(getattr(two, name)), name
        assert getattr(one, name) is not None


def spin_until(node, condition):
    deadline = time.monotonic() + 120
    while not condition() and time.monotonic() < deadline:
        rclpy.spin_once(node, timeout_sec=0.1)


def conversion():
    count = 0
    for cls in classes():
        for _ in range(3):
            baton.rclpy.decelerate()
            message = filled(cls)
            stock_bytes = serialize_message(message)
            stock = deserialize_message(stock_bytes, cls)
            mine = baton.rclpy.serialize(message)
            same(deserialize_message(mine, cls), stock)
            same(baton.rclpy.deserialize(stock_bytes, cls), stock)
            for end in range(0, len(mine), max(1, len(mine) // 7)):
                try:
                    baton.rclpy.deserialize(mine[:end], cls)
                except ValueError:
                    continue
                raise AssertionError(f"{cls} was read from {end} of {len(mine)} bytes")
            if not message.get_fields_and_field_types():
                continue
            assert baton.rclpy.accelerate_class(cls), cls
            accelerated_bytes = serialize_message(message)
            same(baton.rclpy.deserialize(accelerated_bytes, cls), stock)
            same(deserialize_message(stock_bytes, cls), stock)
            assert deserialize_message(accelerated_bytes, cls) == stock
            # Into Baton's shape and back.
            if cls.__name__ not in IDL_ONLY:
                same(baton.convert(baton.message(cls)(message), cls), message)
        count += 1
    print(f"{count} types")


def topics():
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import Path
    from sensor_msgs.msg import Image
    from std_msgs.msg import String
    from test_msgs.srv import BasicTypes

    baton.rclpy.accelerate(threshold=10)
    rclpy.init()
    node = rclpy.create_node("accelerated")
    got = {}
    publishers = {}
    for cls in (Path, Image, String):
        publishers[cls] = node.create_publisher(cls, cls.__name__, 10)
        node.create_subscription(cls, cls.__name__, lambda m, c=cls: got.setdefault(c, []).append(m), 10)
    pose = PoseStamped()
    pose.pose.position.x = 2.5
    path = Path(poses=[pose] * 2000)
    image = Image(width=3, data=array.array("B", range(200)), encoding="mono8")
    text = String(data="größe")
    sent = {Path: path, Image: image, String: text}
    for cls, publisher in publishers.items():
        publisher.publish(sent[cls])
    short = Path(poses=[pose])
    infos = []
    node.create_subscription(Path, "Path", lambda message, info: infos.append((message, info)), 10)
    awaited = []

    async def later(message):
        awaited.append(message)

    node.create_subscription(Path, "Path", later, 10)
    spin_until(node, lambda: publishers[Path].get_subscription_count() >= 3)
    publishers[Path].publish(short)
    spin_until(node, lambda: sum(map(len, got.values())) >= 4 and infos and awaited)
    assert got[Path] == [path, short]
    assert infos[-1][0] == short and "source_timestamp" in infos[-1][1]
    assert awaited[-1] == short
    assert got[Image] == [image]
    assert got[String] == [text]

    def answer(request, response):
        response.int64_value = -request.int64_value
        response.string_value = request.string_value * 2
        return response

    node.create_service(BasicTypes, "negate", answer)
    client = node.create_client(BasicTypes, "negate")
    assert client.wait_for_service(120)
    future = client.call_async(BasicTypes.Request(int64_value=5, string_value="ä"))
    rclpy.spin_until_future_complete(node, future, timeout_sec=120)
    assert (future.result().int64_value, future.result().string_value) == (-5, "ää")
    try:
        publishers[String].publish(String(data=5))
    except (TypeError, AssertionError):
        pass
    else:
        raise AssertionError("a wrong type was published")
    baton.rclpy.decelerate()
    assert rclpy.publisher.Publisher.publish.__module__ == "rclpy.publisher"
    node.destroy_node()
    rclpy.shutdown()
    print("topics")


def malformed():
    """Malformed messages of any program of the domain are lost, as in the RMW, and end no spin()."""
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import Path

    baton.rclpy.accelerate(algorithm="hsa")
    rclpy.init()
    node, got, awaited = rclpy.create_node("victim"), [], []

    async def later(message):
        awaited.append(message)

    node.create_subscription(Path, "path", got.append, 1000)
    node.create_subscription(Path, "path", later, 1000)
    publisher = node.create_publisher(Path, "path", 1000)
    spin_until(node, lambda: publisher.get_subscription_count() >= 2)
    path = Path(poses=[PoseStamped()] * 3)
    good = baton.rclpy.serialize(path)
    endless = good[:12] + b"\xff\xff\xff\x7f" + good[16:]  # the length of frame_id
    none = [b"", b"\0\1", good[:4], good[:4] + b"\xff" * 8, good[:-40], endless, b"\0\0" + good[2:], b"\0\7" + good[2:]]
    for data in none * 20:
        publisher.publish(data)
    publisher.publish(path)
    spin_until(node, lambda: path in got and path in awaited)
    assert path in got and path in awaited
    baton.rclpy.decelerate()
    rclpy.shutdown()
    print("malformed")


def keywords():
    """Every parameter of everything that accelerate() replaces, given by its name."""
    import inspect
    import threading

    from nav_msgs.msg import Path
    from rclpy.callback_groups import ReentrantCallbackGroup
    from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
    from rclpy.node import Node
    from rclpy.publisher import Publisher
    from rclpy.qos import QoSProfile, qos_profile_services_default
    from rclpy.qos_overriding_options import QoSOverridingOptions
    from rclpy.wait_for_message import wait_for_message  # imported before, as by a program
    from test_msgs.srv import BasicTypes

    filters = {}
    if "content_filter_options" in inspect.signature(Node.create_subscription).parameters:  # Jazzy has none
        from rclpy.subscription_content_filter_options import ContentFilterOptions

        filters["content_filter_options"] = ContentFilterOptions("header.frame_id = %0", ["'map'"])

    baton.rclpy.accelerate(algorithm="hsa")
    rclpy.init()
    node = rclpy.create_node("keywords")
    group, got = ReentrantCallbackGroup(), []
    overrides = QoSOverridingOptions.with_default_policies

    class Named(Publisher):
        pass

    def answer(request, response):
        response.int64_value = -request.int64_value
        return response

    def called(function, **given):
        missing = set(inspect.signature(function).parameters) - {"self", *given}
        assert not missing, f"{function}: what of {missing}?"
        return function(node, **given)

    publisher = called(
        Node.create_publisher,
        msg_type=Path,
        topic="path",
        qos_profile=QoSProfile(depth=10),
        callback_group=group,
        event_callbacks=PublisherEventCallbacks(),
        qos_overriding_options=overrides(),
        publisher_class=Named,
    )
    assert isinstance(publisher, Named)
    for raw in (False, True):
        called(
            Node.create_subscription,
            msg_type=Path,
            topic="path",
            callback=got.append,
            qos_profile=QoSProfile(depth=10),
            callback_group=group,
            event_callbacks=SubscriptionEventCallbacks(),
            qos_overriding_options=overrides(entity_id=f"raw_{raw}"),
            raw=raw,
            **filters,
        )
    service = {"srv_type": BasicTypes, "srv_name": "negate", "qos_profile": qos_profile_services_default}
    called(Node.create_service, **service, callback=answer, callback_group=group)
    client = called(Node.create_client, **service, callback_group=group)
    assert client.wait_for_service(120)
    future = client.call_async(BasicTypes.Request(int64_value=5))
    rclpy.spin_until_future_complete(node, future, timeout_sec=120)
    assert future.result().int64_value == -5
    for wrong in ({}, {"topic": "path", "qos_profile": 1}):
        try:
            node.create_publisher(**wrong)
        except TypeError as error:
            assert "msg_type" in str(error), error
        else:
            raise AssertionError("a publisher without a type was made")

    path, ended = Path(), threading.Event()
    path.header.frame_id = "map"

    def say():
        while not ended.wait(0.02):
            publisher.publish(msg=path)

    sayer = threading.Thread(target=say)
    sayer.start()
    try:
        spin_until(node, lambda: len({type(each) for each in got}) >= 2)
        assert {type(each) for each in got} == {Path, bytes}
        assert all(each == path for each in got if isinstance(each, Path))
        waited = {
            "msg_type": Path,
            "node": node,
            "topic": "path",
            "qos_profile": QoSProfile(depth=1),
            "time_to_wait": 120,
        }
        assert set(inspect.signature(wait_for_message).parameters) == set(waited)
        assert wait_for_message(**waited) == (True, path)
        assert wait_for_message(Path, node, "path") == (True, path)
    finally:
        ended.set()
        sayer.join()
    print("keywords")


def publish():
    """Objects of rclpy on Baton's topics."""
    from nav_msgs.msg import Path

    node = baton.Node("rclpy_objects")
    publisher = node.advertise("path", Path)
    subscription = node.subscribe("path", Path)
    assert publisher.wait_for_subscriptions(1, 120)
    message = filled(Path)
    publisher.publish(message)
    same(baton.convert(subscription.take(120), Path), message)
    print("published")


def ways():
    """The ways out of an object of rclpy: serialized here, by accelerated converters, into a message."""

    def low(message):
        baton.rclpy.accelerate_class(type(message))
        return deserialize_message(serialize_message(message), type(message))

    yield lambda message: deserialize_message(baton.rclpy.serialize(message), type(message))
    yield low
    yield lambda message: baton.convert(baton.message(type(message))(message), type(message))


def values():
    """Values that a field may have, since rclpy does not check them: each way accepts the same ones and refuses the same ones."""
    from geometry_msgs.msg import PoseStamped, PoseWithCovariance
    from nav_msgs.msg import Path
    from sensor_msgs.msg import Image
    from std_msgs.msg import Float64MultiArray, String

    class Own(list):
        def __iter__(self):
            return iter([1, 2, 3])

    class Shrinking:
        def __index__(self):
            shrinking.clear()
            return 1

    shrinking = [Shrinking(), 2]
    taken = [
        (Image, np.array([1, 2], np.int16), [1, 2]),
        (Image, np.arange(10, dtype=np.uint8)[::2], [0, 2, 4, 6, 8]),
        (Image, np.asfortranarray(np.arange(6, dtype=np.uint8).reshape(2, 3)), [0, 1, 2, 3, 4, 5]),
        (Image, memoryview(bytes(range(10)))[::2], [0, 2, 4, 6, 8]),
        (Image, np.array([True, False]), [1, 0]),
        (Image, np.array([1, 2], object), [1, 2]),
        (Image, np.array([]), []),
        (Image, Own([9]), [1, 2, 3]),
        (Image, (i for i in ()), []),
        (Float64MultiArray, np.array([1.5, 2.5], ">f8"), [1.5, 2.5]),
        (Float64MultiArray, np.array([1.5], np.float32), [1.5]),
        (Float64MultiArray, np.array([1, 2]), [1.0, 2.0]),
    ]
    for cls, given, expected in taken:
        for way in ways():
            message = cls()
            message._data = iter(()) if isinstance(given, type(i for i in ())) else given
            assert list(way(message).data) == expected, (given, list(way(message).data))
    refused = [
        (Image, "data", None, TypeError),
        (Image, "data", "abc", TypeError),
        (Image, "data", {1: 2}, TypeError),
        (Image, "data", [300], OverflowError),
        (Image, "data", [10**5000], OverflowError),
        (Image, "data", np.array([-1], np.int8), OverflowError),
        (Image, "data", np.array([1.0]), TypeError),
        (Float64MultiArray, "data", [10**400], OverflowError),
        (Float64MultiArray, "data", np.array([1j]), TypeError),
        (Float64MultiArray, "data", np.zeros(2, "V8"), TypeError),
        (PoseWithCovariance, "covariance", np.zeros(35), ValueError),
        (PoseWithCovariance, "covariance", None, TypeError),
        (String, "data", 5, TypeError),
        (Path, "poses", None, TypeError),
        (Path, "poses", [None], TypeError),
    ]
    for cls, name, given, error in refused:
        for way in ways():
            message = cls()
            setattr(message, f"_{name}", given)
            try:
                way(message)
            except error as raised:
                assert name in str(raised) or isinstance(given, list), raised
            else:
                raise AssertionError(f"{cls} took {given!r}")
    for way in ways():
        shrinking[:] = [Shrinking(), 2]
        message = Image()
        message._data = shrinking
        try:
            way(message)
        except RuntimeError as raised:
            assert "changed" in str(raised)
        else:
            raise AssertionError("a list that shrank was taken")
    numbers = array.array("d", [1.0, 2.0])
    for way in ways():
        message = Float64MultiArray()
        message._data = numbers
        way(message)
        numbers.append(3.0)  # its buffer is not held any more
        pose = Path(poses=(PoseStamped(),))
        assert len(way(pose).poses) == 1
    print("values")


class Altered:
    """A copy of the introspection of a class, which may be changed; in `members` and `list`."""

    def __init__(self, cls, longer_by=0):
        type(cls).__import_type_support__()
        self.plan = baton._plans.plan_of(cls)
        self.name = cls.__name__
        real = rosidl._Members.from_address(rosidl.introspection(rosidl._pointer(type(cls)._TYPE_SUPPORT)))
        self.members = rosidl._Members.from_buffer_copy(real)
        self.stride = ctypes.sizeof(rosidl._Member) + longer_by
        self.memory = ctypes.create_string_buffer(self.stride * real.member_count + 8)
        begin = ctypes.addressof(self.memory) + -ctypes.addressof(self.memory) % 8
        for i in range(real.member_count):
            size = ctypes.sizeof(rosidl._Member)
            ctypes.memmove(begin + i * self.stride, real.members + i * size, size)
        self.members.members = begin
        self.list = [rosidl._Member.from_address(begin + i * self.stride) for i in range(real.member_count)]

    def verdict(self):
        return rosidl.difference(ctypes.addressof(self.members), baton._core._struct_layout(self.plan), self.name)


def layouts():
    from sensor_msgs.msg import Image, JointState

    assert Altered(Image).verdict() is None
    other = Altered(Image)
    other.list[6].offset += 8
    assert other.verdict().startswith("Image.data lies at byte ")
    other = Altered(Image)
    other.members.size_of += 8  # a sequence of 32 bytes at the end
    assert other.verdict().startswith("Image.data is the last member of a struct of ")
    header = Altered(type(Image().header))
    header.list[1].offset += 8
    support = rosidl._Handle(data=ctypes.addressof(header.members))
    find = rosidl._FIND(lambda handle, identifier: handle)
    support.func = ctypes.cast(find, ctypes.c_void_p)
    other = Altered(Image)
    other.list[0].members = ctypes.addressof(support)
    assert other.verdict().startswith("Image.header.frame_id lies at byte ")
    for words in (1, 2, 3, 6):
        for byte in (0, 1, 255):
            longer = Altered(Image, 8 * words)
            for member in longer.list:
                ctypes.memset(ctypes.addressof(member) + ctypes.sizeof(member), byte, 8 * words)
            assert longer.verdict() == "the description of Image.height is not the introspection's MessageMember"
    for alter in ("name", "type_id", "members", "is_array", "size"):
        other = Altered(Image)
        setattr(other.list[1], alter, 77 if alter == "type_id" else 1 if alter == "is_array" else other.list[2].name)
        if alter != "is_array":  # which is not looked at closer than by the offsets
            assert other.verdict() is not None, alter
    other = Altered(Image)
    other.members.member_count -= 1
    assert other.verdict() == "Image has 6 members, where 7 are expected"
    # Such a class is left to rclpy, with a warning.
    other = Altered(JointState)
    other.list[1].offset += 8
    real = rosidl.introspection
    own = rosidl._pointer(type(JointState)._TYPE_SUPPORT)
    rosidl.introspection = lambda handle: ctypes.addressof(other.members) if handle == own else real(handle)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        before = type(JointState)._CONVERT_TO_PY
        assert not baton.rclpy.accelerate_class(JointState) and not baton.rclpy.accelerate_class(JointState)
        assert type(JointState)._CONVERT_TO_PY is before
    assert len(said) == 1 and "JointState.name lies at byte" in str(said[0].message)
    rosidl.introspection = real
    print("layouts")


if __name__ == "__main__":
    every = {"conversion": conversion, "topics": topics, "keywords": keywords, "publish": publish, "values": values}
    (every | {"layouts": layouts, "malformed": malformed})[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)  # the middleware's end is not what is tested
