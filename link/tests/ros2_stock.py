# SPDX-License-Identifier: Apache-2.0
"""An ordinary rclpy program: ros2_stock.py <role> <JSON>. It knows nothing of Baton."""

import array
import importlib
import json
import os
import sys
import threading
import time

import numpy as np
import rclpy
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

LIMIT_S = 100
BEGIN = time.monotonic()


def quality(wanted):
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=wanted.get("depth", 1000),
        reliability=ReliabilityPolicy.BEST_EFFORT if wanted.get("best_effort") else ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if wanted.get("latched") else DurabilityPolicy.VOLATILE,
    )


def kind(name):
    package, base = name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), base)


def spin_until(node, done, limit=LIMIT_S):
    end = time.monotonic() + limit
    while not done() and time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    return done()


def settle(least):
    """The peer's other half may come as much later as the peer's start took on this machine."""
    time.sleep(max(least, time.monotonic() - BEGIN))


def say(what):
    print(json.dumps(what), flush=True)


def talk(wanted):
    """Publishes "message <i>" and waits for the end of its input."""
    node = rclpy.create_node(wanted.get("node", "stock_talker"))
    String = kind("std_msgs/String")
    publisher = node.create_publisher(String, wanted["topic"], quality(wanted))
    if not wanted.get("latched"):
        assert spin_until(node, lambda: publisher.get_subscription_count() >= wanted.get("subscriptions", 1)), (
            "nobody subscribes"
        )
        settle(wanted.get("settle", 0.5))
    say("begins")
    for i in range(wanted["count"]):
        publisher.publish(String(data=f"message {i}"))
        time.sleep(wanted.get("pause", 0.005))
    say("all")
    sys.stdin.read()


def hear(wanted):
    """Prints the texts that came, up to `until` or `count` of them, and those of the next half second. With `tells` it prints first
    that the first one came."""
    node = rclpy.create_node(wanted.get("node", "stock_listener"))
    got = []

    def on_text(message):
        if wanted.get("tells") and not got:
            say("heard")
        got.append(message.data)

    node.create_subscription(kind("std_msgs/String"), wanted["topic"], on_text, quality(wanted))
    say("ready")
    spin_until(node, lambda: wanted.get("until") in got or len(got) >= wanted.get("count", 1 << 30))
    spin_until(node, lambda: False, 0.5)
    say(got)


def look(wanted):
    """Prints what the graph shows, once it shows the node and its publisher."""
    node = rclpy.create_node("stock_looker")

    def there():
        return wanted["node"] in node.get_node_names() and node.get_publisher_names_and_types_by_node(
            wanted["node"], "/"
        )

    spin_until(node, there)
    publishers = node.get_publishers_info_by_topic(wanted["topic"])
    say(
        {
            "nodes": node.get_node_names(),
            "types": dict(node.get_topic_names_and_types()).get(wanted["topic"]),
            "publishers": [[each.topic_type, str(each.topic_type_hash)] for each in publishers],
            "of_node": node.get_publisher_names_and_types_by_node(wanted["node"], "/"),
        }
    )


def pixels(i):
    """Fills an image as IMAGE_TALK of link_programs.py does."""
    return np.arange(1920 * 1080 * 3 + i, dtype=np.uint32).astype(np.uint8) ^ i


def show(wanted):
    """Publishes five images of 6 MB."""
    node = rclpy.create_node("stock_camera")
    Image = kind("sensor_msgs/Image")
    publisher = node.create_publisher(Image, wanted["topic"], quality(wanted))
    assert spin_until(node, lambda: publisher.get_subscription_count() >= 1), "nobody subscribes"
    settle(0.5)
    for i in range(5):
        image = Image(height=1080, width=1920, encoding="rgb8")
        image.data = array.array("B", pixels(i).tobytes())
        publisher.publish(image)
        time.sleep(0.1)
    say("all")
    sys.stdin.read()


def view(wanted):
    """Prints how many images came unchanged, and what is wrong with the first damaged one."""
    node = rclpy.create_node("stock_viewer")
    got = []
    node.create_subscription(kind("sensor_msgs/Image"), wanted["topic"], got.append, quality(wanted))
    say("ready")
    spin_until(node, lambda: len(got) >= wanted["count"])
    whole = [
        image.encoding == "rgb8"
        and (np.frombuffer(image.data, np.uint8) == pixels(len(image.data) - 1920 * 1080 * 3)).all()
        for image in got
        if len(image.data) >= 1920 * 1080 * 3
    ]
    say([sum(map(bool, whole)), [[image.height, image.width, len(image.data)] for image in got]])


def drown(wanted):
    """Takes images until the text `until` comes; prints their number."""
    node = rclpy.create_node("stock_drowning")
    images, texts = [0], []

    def count(_):
        images[0] += 1

    node.create_subscription(kind("sensor_msgs/Image"), wanted["topic"], count, 10)
    node.create_subscription(kind("std_msgs/String"), wanted["texts"], lambda text: texts.append(text.data), 10)
    say("ready")
    assert spin_until(node, lambda: wanted["until"] in texts), f"{images[0]} images, texts: {texts}"
    say(images[0])


def hashes(wanted):
    """Prints the hash that the publisher of each topic announces; the topics stand in a file."""
    node = rclpy.create_node("stock_reader_of_hashes")
    with open(wanted["file"]) as lines:
        topics = [f"{wanted['prefix']}{name}" for name in lines.read().split()]

    def found():
        return {
            topic: [str(each.topic_type_hash) for each in node.get_publishers_info_by_topic(topic)] for topic in topics
        }

    spin_until(node, lambda: all(found().values()))
    say(found())


def main():
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    role, wanted = sys.argv[1], json.loads(sys.argv[2])
    globals()[role](wanted)
    sys.stdout.flush()
    os._exit(0)  # Fast DDS takes a second to end


threading.Timer(2 * LIMIT_S, lambda: os._exit(3)).start()
main()
