# SPDX-License-Identifier: Apache-2.0
"""The program that rclpy_views_test.py runs under ROS 2's Python, over rmw_baton_cpp unless the test chooses another RMW:
`rclpy_views_process.py talk|listen|mixed|other_rmw|changed`."""

from __future__ import annotations

import array
import gc
import os
import sys
import threading
import time
import warnings
from pathlib import Path

import baton
import baton.rclpy
import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import String

sys.path.insert(0, str(Path(__file__).parents[2] / "tests/hostile"))
COUNT, SIZE = 5, 100_000
LIMIT_S = 120


def until(node, condition):
    deadline = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < deadline, "in vain"
        rclpy.spin_once(node, timeout_sec=0.1)


def talk():
    """A stock publisher of rclpy."""
    node = rclpy.create_node("talker")
    publisher = node.create_publisher(Image, "image", 10)
    sys.stdin.readline()
    for i in range(COUNT):
        publisher.publish(Image(width=i, data=array.array("B", bytes([i]) * SIZE)))
    sys.stdin.readline()


def listen():
    node = rclpy.create_node("listener", namespace="/here")
    got, awaited = [], []

    def on_image(image):
        assert threading.current_thread() is threading.main_thread()
        assert baton.in_shared_memory(image.data.ctypes.data) and not image.data.flags.writeable
        got.append(image)  # all are held: they are views, so they must stay what they are

    async def later(image):
        awaited.append(image.width)

    kept = baton.rclpy.create_subscription(node, Image, "/image", on_image)
    other = baton.rclpy.create_subscription(node, "sensor_msgs/Image", "/image", later, QoSProfile(depth=7))
    assert kept.subscription.topic == "/image"
    assert all(each.subscription.wait_for_publishers(1, LIMIT_S) for each in (kept, other))
    print("ready", flush=True)
    until(node, lambda: len(got) == COUNT and len(awaited) == COUNT)
    assert awaited == list(range(COUNT))
    assert [(image.width, int(image.data[SIZE - 1]), len(image.data)) for image in got] == [
        (i, i, SIZE) for i in range(COUNT)
    ]
    kept.destroy()
    kept.destroy()
    assert kept.subscription is None
    rclpy.spin_once(node, timeout_sec=0)
    assert int(got[3].data[0]) == 3
    print("listened", flush=True)


def mixed():
    """In one process: loans heard by a stock subscription, an executor with threads, a callback that raises, the node's end."""
    node = rclpy.create_node("mixed")
    texts, views = [], []
    node.create_subscription(String, "text", lambda message: texts.append(message.data), 10)
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = baton.rclpy.create_publisher(node, String, "text", latched, slots=64)
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    with publisher.loan() as text:
        text.data = "written in place"
    publisher.publish(String(data="an object"))
    until(node, lambda: len(texts) == 2)
    assert texts == ["written in place", "an object"]

    late = baton.rclpy.create_subscription(node, String, "text", lambda view: views.append(view.data), latched)
    until(node, lambda: views == ["an object"])
    late.destroy()

    def fails(view):
        raise RuntimeError(view.data)

    failing = baton.rclpy.create_subscription(node, String, "text", fails)
    assert failing.subscription.wait_for_publishers(1, LIMIT_S)
    publisher.publish(String(data="raised"))
    try:
        until(node, lambda: False)
    except RuntimeError as error:
        assert str(error) == "raised"
    failing.destroy()

    executor = MultiThreadedExecutor(2)
    executor.add_node(node)
    many = []
    again = baton.rclpy.create_subscription(node, String, "text", lambda view: many.append(view.data), 100)
    assert again.subscription.wait_for_publishers(1, LIMIT_S)
    for i in range(50):
        publisher.publish({"data": str(i)})
    deadline = time.monotonic() + LIMIT_S
    while len(many) < 50 and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    assert many == [str(i) for i in range(50)]
    again.destroy()

    # Two callbacks that exclude each other: a callback that could not run because of the other one runs later.
    running, most, both = [], [], []

    def exclusive(view):
        running.append(view)
        most.append(len(running))
        both.append(view.data)
        time.sleep(0.001)
        running.pop()

    group = MutuallyExclusiveCallbackGroup()
    pair = [
        baton.rclpy.create_subscription(node, String, "text", exclusive, 100, callback_group=group) for _ in range(2)
    ]
    assert all(each.subscription.wait_for_publishers(1, LIMIT_S) for each in pair)
    for i in range(20):
        publisher.publish({"data": str(i)})
    deadline = time.monotonic() + LIMIT_S
    while len(both) < 40 and time.monotonic() < deadline:
        executor.spin_once(timeout_sec=0.1)
    assert len(both) == 40 and max(most) == 1, (len(both), max(most))
    for each in pair:
        each.destroy()
    executor.remove_node(node)
    executor.shutdown()

    # If callbacks hold too many samples, spinning raises an error; it goes on once there is room.
    kept = []
    greedy = baton.rclpy.create_subscription(node, String, "text", kept.append, 20)
    assert greedy.subscription.wait_for_publishers(1, LIMIT_S)
    for i in range(12):
        publisher.publish({"data": str(i)})
    try:
        until(node, lambda: False)
    except baton.HeldLimit:
        assert len(kept) == baton.QoS().held
    kept.clear()
    until(node, lambda: len(kept) == 12 - baton.QoS().held)

    node.destroy_node()
    del node, again, late, failing, pair, greedy, each
    gc.collect()
    rclpy.shutdown()
    publisher.publish({"data": "after the end"})
    print("mixed", flush=True)


def other_rmw():
    node = rclpy.create_node("other")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        baton.rclpy.create_subscription(node, String, "text", print)
    assert "RMW_IMPLEMENTATION=rmw_baton_cpp" in str(said[0].message) and said[0].filename == __file__
    print("said so", flush=True)


def changed():
    """A publisher that changes messages under the callbacks ends their connections and no spin()."""
    from raw_peer import Link, Published, image_message

    warnings.simplefilter("ignore")  # of another RMW: this process is alone in its domain
    node, honest = rclpy.create_node("victim"), []

    def read(image):
        if image.width != 5:
            (liar,) = liars
            data = 44  # where the length of Image.data stands
            liar.segment[handle + 128 + data : handle + 128 + data + 4] = (1 << 30).to_bytes(4, "little")
        honest.append((image.width, len(image.data)))

    async def later(image):
        read(image)

    for callback in (read, later):
        made = baton.rclpy.create_subscription(node, Image, "/image", callback)
        (name,) = Path(os.environ["BATON_RUNTIME_DIR"]).glob("*/p-*")
        liars = [Published(Link(str(name.parent), name.name), "/image")]
        publisher = baton.rclpy.create_publisher(node, Image, "/image")
        until(node, lambda made=made: made.subscription.matched == 2)
        handle = liars[0].chunk(image_message(b"x" * 1000))
        liars[0].push(handle)  # wakes nobody
        publisher.publish(Image(width=5, data=array.array("B", b"abc")))
        until(node, lambda made=made: made.subscription.matched == 1 and honest)
        assert honest == [(5, 3)], honest
        honest.clear()
        made.destroy()
        del publisher
    print("changed", flush=True)


if __name__ == "__main__":
    rclpy.init()
    globals()[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)  # the middleware's end is not what is tested
