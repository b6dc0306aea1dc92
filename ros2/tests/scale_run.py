#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long many processes of rclpy need until each of them sees the whole graph, and what one process costs: .venv/bin/python
ros2/tests/scale_run.py --processes 50 [--rmw plain|baton].

Each process has a node with three publishers and three subscriptions, on topics of its own and of its neighbour. All of them begin when
all have their modules, and publish at 10 Hz. With --events each also subscribes to /parameter_events, as each node of rclcpp does. The graph is complete when a process sees all nodes and all topics. Printed are the median and the last of all processes, in seconds from the beginning. What a process costs is printed before the node, with it, when the graph is complete, and seconds later:
"connections" are those of Baton with their mapped memory, counted at each end."""

import argparse
import json
import os
import re
import select
import statistics
import sys
import time
from pathlib import Path

TOPICS = 3
LIMIT_S = 200
REST_S = 8


def status(name):
    return int(re.search(rf"^{name}:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[1])


def private_mb():
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.MULTILINE)) / 1024


def connections():
    """How many mappings there are of connections, and how many MB they and their rings have."""
    found = re.findall(
        r"^(\w+)-(\w+) .*memfd:baton-(connection|ring)", Path("/proc/self/maps").read_text(), re.MULTILINE
    )
    size = sum(int(end, 16) - int(begin, 16) for begin, end, _ in found)
    return sum(kind == "connection" for *_, kind in found), size / (1 << 20)


def cost():
    count, mb = connections()
    return {
        "threads": status("Threads"),
        "fds": len(os.listdir("/proc/self/fd")),
        "mb": private_mb(),
        "connections": count,
        "shared_mb": mb,
    }


def member(index, count, events):
    import rclpy
    from rcl_interfaces.msg import ParameterEvent
    from rclpy.qos import qos_profile_parameter_events
    from std_msgs.msg import String

    String()  # its type support is loaded now
    before = cost()
    print("ready", flush=True)
    sys.stdin.readline()
    begin, cpu = time.monotonic(), time.process_time()
    rclpy.init()
    node = rclpy.create_node(f"member_{index}")
    report = {"made": cost()}
    got = []
    publishers = [node.create_publisher(String, f"t{index}_{i}", 10) for i in range(TOPICS)]
    neighbour = (index + 1) % count
    kept = [node.create_subscription(String, f"t{neighbour}_{i}", got.append, 10) for i in range(TOPICS)]
    if events:
        kept.append(
            node.create_subscription(ParameterEvent, "/parameter_events", lambda _: None, qos_profile_parameter_events)
        )
    due = 0.0
    said = False
    while (
        not said or not select.select([sys.stdin], [], [], 0)[0]
    ):  # neighbours need messages until all have said theirs
        now = time.monotonic() - begin
        assert said or now < LIMIT_S, (
            f"{sorted(report)} after {LIMIT_S} s; the graph has {len(node.get_node_names())} nodes"
        )
        if now >= due:  # 10 Hz
            due = now + 0.1
            for publisher in publishers:
                publisher.publish(String(data="hello"))
            if "graph" not in report:
                topics = [name for name, _ in node.get_topic_names_and_types() if re.fullmatch(r"/t\d+_\d", name)]
                if len(set(node.get_node_names())) >= count and len(topics) == TOPICS * count:
                    report["graph"], report["cpu"] = time.monotonic() - begin, time.process_time() - cpu
        rclpy.spin_once(node, timeout_sec=0.02)
        if got and "message" not in report:
            report["message"] = time.monotonic() - begin
        if not said and {"graph", "message"} <= report.keys():
            said = True
            print(json.dumps(report | {"before": before, "all": cost()}), flush=True)
    print(json.dumps({"rested": cost()}), flush=True)
    sys.stdin.readline()
    os._exit(len(kept) - TOPICS - events)  # how a process ends is not measured


def report_of(process):
    for line in process.stdout:
        if line.startswith("{"):  # Fast DDS prints, too
            return json.loads(line)
    raise AssertionError(process.log())


def main():
    from ros2_processes import Processes

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--processes", type=int, default=50)
    parser.add_argument("--rmw", choices=["plain", "baton"], default="baton")
    parser.add_argument("--events", action="store_true")
    options = parser.parse_args()
    processes = Processes()
    try:
        members = [
            processes.start(
                options.rmw, "member", str(i), str(options.processes), str(int(options.events)), file="scale_run.py"
            )
            for i in range(options.processes)
        ]
        for each in members:
            each.says("ready")
        for each in members:
            each.tell()
        reports = [report_of(each) for each in members]
        time.sleep(REST_S)
        for each in members:
            each.tell()
        reports = [report | report_of(each) for report, each in zip(reports, members, strict=True)]
    finally:
        processes.close()
    for name in ("graph", "message", "cpu"):
        values = [report[name] for report in reports]
        print(f"{name}: median {statistics.median(values):.2f} s, last {max(values):.2f} s")
    for name in ("threads", "fds", "mb", "connections", "shared_mb"):
        before, made, at_end, rested = (
            statistics.median(report[when][name] for report in reports) for when in ("before", "made", "all", "rested")
        )
        print(
            f"{name}: modules {before:.1f}, + init and node {made - before:.1f}, at the end {at_end:.1f}, later {rested:.1f}"
        )


if __name__ == "__main__":
    member(*(int(each) for each in sys.argv[2:5])) if sys.argv[1:2] == ["member"] else main()
