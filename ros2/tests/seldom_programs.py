# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs that subscribe to /parameter_events, as each node of rclcpp does: seldom_programs.py <name> [arguments]."""

import re
import sys
from pathlib import Path

from rcl_interfaces.msg import ParameterEvent
from rclpy.qos import qos_profile_parameter_events
from rclpy_program import main, spin_until


def connections():
    return len(re.findall("memfd:baton-connection", Path("/proc/self/maps").read_text()))


def matched(node):
    return node._parameter_event_publisher.get_subscription_count()


def member(node, count):
    """One of `count` nodes: waits until all match and no connection is left; then each declares a parameter, and hears of all."""
    got = []

    def hear(event):
        got.extend(parameter.name for parameter in event.new_parameters if parameter.name.startswith("mine"))

    kept = node.create_subscription(ParameterEvent, "/parameter_events", hear, qos_profile_parameter_events)
    spin_until(node, lambda: matched(node) == int(count) and connections() == 0)
    print("going", flush=True)
    sys.stdin.readline()
    node.declare_parameter(f"mine{sys.stdin.readline().strip()}", 1)
    spin_until(node, lambda: len(got) >= int(count))
    spin_until(node, lambda: connections() == 0)
    report = {"got": sorted(got), "matched": matched(node), "kept": kept.topic_name}
    print("going", flush=True)
    sys.stdin.readline()
    return report


def last_words(node):
    """Publishes an event to a subscription that has no connection, and ends at once."""
    spin_until(node, lambda: matched(node) == 1 and connections() == 0)
    node.declare_parameter("mine", 1)
    return {}


def hear_last_words(node):
    got = []
    kept = node.create_subscription(ParameterEvent, "/parameter_events", got.append, qos_profile_parameter_events)
    print("going", flush=True)
    spin_until(node, lambda: any(each.name == "mine" for event in got for each in event.new_parameters))
    return {"kept": kept.topic_name}


if __name__ == "__main__":
    main({"member": member, "last_words": last_words, "hear_last_words": hear_last_words})
