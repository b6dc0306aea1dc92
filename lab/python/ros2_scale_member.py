# SPDX-License-Identifier: Apache-2.0
"""One process of `baton_ros2_scale` (ros2_scale.py): a node of rclpy with three publishers and three subscriptions, on topics of its own and of
its neighbour. After its imports it waits for a line, publishes at 2 Hz until it sees all nodes and all topics, and prints how long that took. It
looks at the graph rarely, and less often the longer it waits: otherwise the looks of hundreds of processes would be measured."""

import contextlib
import json
import os
import re
import select
import sys
import time
from pathlib import Path

TOPICS = 3
LIMIT_S = 300
PUBLISHES_EACH_S = 0.5
LOOKS_FIRST_S, LOOKS_AFTER = 0.02, 1.1  # so a time is at most a tenth too long


def cost():
    """Descriptors and private memory of this process, and its threads with a name of their own: rclpy's have the program's name."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    private = re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.MULTILINE)
    names = []
    for path in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # it has just ended
            names.append(path.read_text())
    return {
        "threads": len(names) - names.count(Path("/proc/self/comm").read_text()),
        "fds": len(os.listdir("/proc/self/fd")),
        "mb": sum(map(int, private)) / 1024,
    }


def load_all():
    """Loads what rclpy would load with its first node, so that this is not counted as the node's."""
    import rcl_interfaces.srv
    import rclpy.executors
    import rclpy.node
    from rcl_interfaces.msg import Log, ParameterEvent
    from rclpy.type_support import check_for_type_support
    from rosgraph_msgs.msg import Clock
    from std_msgs.msg import String
    from type_description_interfaces.srv import GetTypeDescription

    services = [kind for name, kind in vars(rcl_interfaces.srv).items() if name[0].isupper()]
    assert rclpy.executors and rclpy.node
    for kind in (Log, ParameterEvent, Clock, String, GetTypeDescription, *services):
        check_for_type_support(kind)


def main(index, count, events):
    load_all()
    import rclpy
    from rcl_interfaces.msg import ParameterEvent
    from rclpy.qos import qos_profile_parameter_events
    from std_msgs.msg import String

    before = cost()
    print("ready", flush=True)
    sys.stdin.readline()
    begin, cpu = time.monotonic(), time.process_time()
    rclpy.init()
    node = rclpy.create_node(f"member_{index}")
    report = {"before": before, "made": cost()}
    got = []
    publishers = [node.create_publisher(String, f"t{index}_{i}", 10) for i in range(TOPICS)]
    neighbour = (index + 1) % count
    kept = [node.create_subscription(String, f"t{neighbour}_{i}", got.append, 10) for i in range(TOPICS)]
    if events:
        kept.append(
            node.create_subscription(ParameterEvent, "/parameter_events", lambda _: None, qos_profile_parameter_events)
        )
    publishes = looks = 0.0
    said = False
    while (
        not said or not select.select([sys.stdin], [], [], 0)[0]
    ):  # neighbours need messages until all have said theirs
        now = time.monotonic() - begin
        assert said or now < LIMIT_S, (
            f"{sorted(report)} after {LIMIT_S} s; the graph has {len(node.get_node_names())} nodes"
        )
        if now >= publishes:
            publishes = now + PUBLISHES_EACH_S
            for publisher in publishers:
                publisher.publish(String(data="hello"))
        if now >= looks and "graph" not in report:
            looks = max(now * LOOKS_AFTER, now + LOOKS_FIRST_S)
            if len(set(node.get_node_names())) >= count:
                topics = [name for name, _ in node.get_topic_names_and_types() if re.fullmatch(r"/t\d+_\d", name)]
                if len(topics) == TOPICS * count:
                    report["graph"], report["cpu"] = time.monotonic() - begin, time.process_time() - cpu
        due = publishes if "graph" in report else min(publishes, looks)
        rclpy.spin_once(node, timeout_sec=max(0.0, begin + due - time.monotonic()))
        if got and "message" not in report:
            report["message"] = time.monotonic() - begin
        if not said and {"graph", "message"} <= report.keys():
            said = True
            print(json.dumps(report | {"all": cost()}), flush=True)
    sys.stdin.readline()  # the line that ended the loop
    print("rests", flush=True)
    sys.stdin.readline()
    os._exit(0)  # how a process ends is not measured


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
