# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs about events: event_programs.py <name> [arguments]. Each prints one line of JSON and ends; on the way
they say "going" when the other end may act, and act on lines on their standard input."""

import itertools
import select
import sys
import time

import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import LivelinessPolicy, QoSProfile
from rclpy_program import main, spin_until
from std_msgs.msg import UInt64

TOPIC = "count"
DEADLINE_S = 0.6
# Longer, because threads of Fast DDS watch over it: when one of them has no turn for a lease, a writer that is alive counts as lost.
LEASE_S = 2.0
LIMITS_S = {"deadline": DEADLINE_S, "manual": LEASE_S}
PERIODS_S = {"deadline": 0.03, "manual": 0.08}  # sixty messages take longer than two of the limits
PROFILES = {
    "plain": QoSProfile(depth=100),
    "last3": QoSProfile(depth=3),
    "deadline": QoSProfile(depth=100, deadline=Duration(seconds=DEADLINE_S)),
    "manual": QoSProfile(
        depth=100, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC, liveliness_lease_duration=Duration(seconds=LEASE_S)
    ),
}


def told_to_go_on():
    print("going", flush=True)
    sys.stdin.readline()


def longest_silences(kind, times):
    """How many limits can have passed between messages that came at about these times: what counts them looks at its own."""
    limit = LIMITS_S[kind]
    return sum(int((after - before) / (0.5 * limit)) for before, after in zip(times, times[1:], strict=False))


def talk(node, kind, total):
    """Publishes `total` messages, falls silent until the limit of `kind` has passed, publishes again."""
    missed, lost, sent = [], [], []
    callbacks = PublisherEventCallbacks(
        deadline=lambda info: missed.append((info.total_count, info.total_count_change)),
        liveliness=lambda info: lost.append(info.total_count),
    )
    publisher = node.create_publisher(UInt64, TOPIC, PROFILES[kind], event_callbacks=callbacks)
    spin_until(node, lambda: publisher.get_subscription_count() > 0)
    for i in range(int(total)):
        publisher.publish(UInt64(data=i))
        sent.append(time.monotonic())
        rclpy.spin_once(node, timeout_sec=PERIODS_S[kind])
    early = len(missed)
    silences = longest_silences(kind, [*sent, time.monotonic()])
    spin_until(node, lambda: lost if kind == "manual" else missed[early + 1 :])
    told_to_go_on()
    # Until told to end: a reader that looks late must find it alive.
    for i in itertools.count(int(total)):
        publisher.publish(UInt64(data=i))
        if select.select([sys.stdin], [], [], DEADLINE_S / 6)[0]:
            break
    return {"early": early, "may_miss": silences, "missed": missed, "lost": lost}


def listen(node, kind, total):
    """Hears the above, and counts what the events say before, in and after the silence."""
    got, times, missed, alive = [], [], [], []

    def heard(message):
        got.append(message.data)
        times.append(time.monotonic())

    callbacks = SubscriptionEventCallbacks(
        deadline=lambda info: missed.append((info.total_count, info.total_count_change)),
        liveliness=lambda info: alive.append([info.alive_count, info.not_alive_count]),
    )
    node.create_subscription(UInt64, TOPIC, heard, PROFILES[kind], event_callbacks=callbacks)
    print("going", flush=True)
    spin_until(node, lambda: got and got[-1] == int(total) - 1)
    early, alive_early = len(missed), list(alive)
    silences = longest_silences(kind, [*times, time.monotonic()])
    spin_until(node, lambda: alive[-1] == [0, 1] if kind == "manual" else missed[early + 1 :])
    told_to_go_on()
    spin_until(node, lambda: got[-1] >= int(total) and (kind != "manual" or alive[-1] == [1, 0]))
    return {
        "got": got,
        "early": early,
        "may_miss": silences,
        "missed": missed,
        "alive_early": alive_early,
        "alive": alive,
    }


def hurry(node, first, more):
    """Publishes `first` messages one after the other, and `more` at once when told to."""
    publisher = node.create_publisher(UInt64, TOPIC, PROFILES["plain"])
    spin_until(node, lambda: publisher.get_subscription_count() > 0)
    for i in range(int(first)):
        publisher.publish(UInt64(data=i))
        time.sleep(0.03)
    sys.stdin.readline()
    for i in range(int(more)):
        publisher.publish(UInt64(data=int(first) + i))
    told_to_go_on()
    return {}


def fall_behind(node, first, last):
    """Hears what comes up to `first`, then nothing until told to; says what was lost. Of what gives way before the ends have met in
    Baton nothing is said."""
    got, lost = [], []
    callbacks = SubscriptionEventCallbacks(
        message_lost=lambda info: lost.append((info.total_count, info.total_count_change))
    )
    node.create_subscription(UInt64, TOPIC, lambda m: got.append(m.data), PROFILES["last3"], event_callbacks=callbacks)
    spin_until(node, lambda: bool(got) and got[-1] == int(first))
    early = int(first) + 1 - len(got)
    told_to_go_on()
    spin_until(node, lambda: got[-1] == int(last))
    spin_until(node, lambda: lost and lost[-1][0] >= int(last) + 1 - len(got) - early)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.05)
    return {"got": got, "lost": lost, "early": early}


def meet(node, when, readers):
    """Publishes numbers until told to end; says what the matched event said, asked for from the beginning or after the first match."""
    seen = []
    callbacks = PublisherEventCallbacks(matched=lambda info: seen.append(info.total_count), use_default_callbacks=False)
    publisher = node.create_publisher(
        UInt64, TOPIC, PROFILES["plain"], event_callbacks=callbacks if when == "early" else None
    )
    spin_until(node, lambda: publisher.get_subscription_count() > 0)
    if when == "late":
        handlers = callbacks.create_event_handlers(node.default_callback_group, publisher.handle, publisher.topic_name)
        for handler in handlers:
            node.add_waitable(handler)
    print("going", flush=True)
    numbers = 0
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        publisher.publish(UInt64(data=numbers))
        numbers += 1
        rclpy.spin_once(node, timeout_sec=0.005)
    spin_until(node, lambda: seen and seen[-1] >= int(readers))
    return {"seen": seen}


main(globals())
