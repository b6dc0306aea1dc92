# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs about quality of service: qos_programs.py <name> [arguments]. Each prints one line of JSON and ends;
on the way, "going" when the other end may act, and they act on lines on their standard input."""

import sys
import threading
import time

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile
from rclpy.serialization import serialize_message
from rclpy_program import LIMIT_S, main, spin_until, wait_until
from std_msgs.msg import String, UInt64

WaitSet = rclpy_implementation.WaitSet
TOPIC = "count"


def going():
    print("going", flush=True)


def profile(kind):
    return {
        "last3": QoSProfile(depth=3),
        "all": QoSProfile(history=HistoryPolicy.KEEP_ALL),
        "durable3": QoSProfile(depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        "all_lifespan": QoSProfile(history=HistoryPolicy.KEEP_ALL, lifespan=Duration(seconds=0.5)),
        "lifespan": QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL, lifespan=Duration(seconds=0.2)),
    }[kind]


def write(node, kind, total, readers):
    publisher = node.create_publisher(UInt64, TOPIC, profile(kind))
    spin_until(node, lambda: publisher.get_subscription_count() >= int(readers))
    for i in range(int(total)):
        publisher.publish(UInt64(data=i))
    publisher.wait_for_all_acked(Duration(seconds=LIMIT_S))
    going()
    sys.stdin.readline()
    return {}


def read_late(node, kind, number):
    """Takes nothing before it is told to; then `number` messages, and what comes in half a second more."""
    got = []
    subscription = node.create_subscription(UInt64, TOPIC, lambda message: got.append(message.data), profile(kind))
    going()
    sys.stdin.readline()
    spin_until(node, lambda: subscription.get_publisher_count() and len(got) >= int(number))
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return {"got": got}


def take_all(subscription, number=None):
    """Without waiting; or until there were `number`."""
    got, end = [], time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, False)
        if taken is not None:
            got.append(taken[0].data)
        elif number is None or len(got) >= number:
            break
        else:
            time.sleep(0.01)
    return got


def look(node, subscription):
    """Waits until the subscription is ready, and takes nothing."""
    with subscription.handle, node.context.handle:
        wait_set = WaitSet(1, 0, 0, 0, 0, 0, node.context.handle)
        wait_set.clear_entities()
        index = wait_set.add_subscription(subscription.handle)
        wait_set.wait(LIMIT_S * 10**9)
        return wait_set.is_ready("subscription", index)


def pair(node, qos, kind=UInt64):
    """Both ends, in one process; nothing is taken."""
    subscription = node.create_subscription(kind, TOPIC, lambda _: None, qos)
    publisher = node.create_publisher(kind, TOPIC, qos)
    wait_until(lambda: publisher.get_subscription_count() and subscription.get_publisher_count())
    return publisher, subscription


def leave(node):
    """The publisher goes before its subscription has looked for anything."""
    publisher, subscription = pair(node, 100)
    for i in range(10):
        publisher.publish(UInt64(data=i))
    acked = publisher.wait_for_all_acked(Duration(seconds=LIMIT_S))
    node.destroy_publisher(publisher)
    return {"acked": acked, "got": take_all(subscription, 10)}


def look_and_not_take(node, kind):
    """Looks after every message, which is given as many moments to become too old or one too many."""
    publisher, subscription = pair(node, profile(kind))
    ready = []
    for i in range(10):
        publisher.publish(UInt64(data=i))
        if i < 5:
            ready.append(look(node, subscription))
    time.sleep(1)
    return {"ready": ready, "got": take_all(subscription)}


def write_deep(node):
    """A history that is deeper than usual."""
    publisher, subscription = pair(node, 600, String)
    for i in range(600):
        publisher.publish(serialize_message(String(data=str(i))))
    return {"got": take_all(subscription, 600)}


def refusal_of(publisher, data, kind=UInt64):
    """What the publish says that fails, or None."""
    try:
        publisher.publish(kind(data=data))
    except RuntimeError as error:  # rclpy's RCLError
        return str(error)
    return None


def fill(node):
    """Publishes until the subscription that keeps all has no room, which then takes all."""
    publisher, subscription = pair(node, QoSProfile(history=HistoryPolicy.KEEP_ALL))
    said, refusal = 0, None
    while refusal is None:
        refusal = refusal_of(publisher, said)
        said += refusal is None
    got = take_all(subscription, said)
    publisher.publish(UInt64(data=said))
    return {"said": said, "refusal": refusal, "got": got, "then": take_all(subscription, 1)}


def fill_and_be_taken(node):
    """The same, with a reader that makes room while the publisher waits for it."""
    publisher, subscription = pair(node, QoSProfile(history=HistoryPolicy.KEEP_ALL))
    for i in range(1000):
        publisher.publish(UInt64(data=i))
    taken = []
    taker = threading.Timer(0.02, lambda: taken.extend(take_all(subscription, 1000)))
    taker.start()
    refusal = "not yet"
    end = time.monotonic() + LIMIT_S
    while (
        refusal is not None and time.monotonic() < end
    ):  # on a busy machine the taker comes later than the end of a wait
        refusal = refusal_of(publisher, 1000)
    taker.join()
    return {"refusal": refusal, "got": taken + take_all(subscription, max(0, 1001 - len(taken)))}


def exceed(node):
    """Publishes more than the limit of memory allows, and then less."""
    publisher, subscription = pair(node, 10, String)
    refusal = refusal_of(publisher, "x" * (64 << 20), String)
    publisher.publish(String(data="small"))
    return {"refusal": refusal, "got": take_all(subscription, 1)}


def executors(node):
    """Two executors, one of them with threads, and a publisher that is asked for from a callback."""
    got = {"one": [], "two": []}
    other = rclpy.create_node("other")
    publisher = node.create_publisher(UInt64, TOPIC, 100)
    echo = other.create_publisher(UInt64, "echo", 100)

    def heard(message):
        got["one"].append(message.data)
        echo.publish(message)

    other.create_subscription(UInt64, TOPIC, heard, 100, callback_group=ReentrantCallbackGroup())
    node.create_subscription(UInt64, "echo", lambda message: got["two"].append(message.data), 100)
    first, second = SingleThreadedExecutor(), MultiThreadedExecutor(3)
    first.add_node(node)
    second.add_node(other)
    threads = [threading.Thread(target=each.spin) for each in (first, second)]
    for thread in threads:
        thread.start()
    wait_until(lambda: publisher.get_subscription_count() and echo.get_subscription_count())
    for i in range(100):
        publisher.publish(UInt64(data=i))
    wait_until(lambda: len(got["two"]) >= 100)
    for each in (first, second):
        each.shutdown()
    for thread in threads:
        thread.join()
    other.destroy_node()
    return {"one": sorted(got["one"]), "two": sorted(got["two"])}


main(globals())
