#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long many processes of rclpy need until each of them sees the whole graph, and what one process costs: .venv/bin/python
ros2/tests/scale_run.py --processes 50 [--rmw plain|baton].

Each process has a node with three publishers and three subscriptions, on topics of its own and of its neighbour. All of them begin when
all have their modules, and publish at 10 Hz. The graph is complete when a process sees all nodes and all topics. Printed are the median and the last of all processes, in seconds from the beginning."""

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


def status(name):
    return int(re.search(rf"^{name}:\s+(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)[1])


def private_mb():
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(kb) for kb in re.findall(r"^Private_\w+:\s+(\d+)", rollup, re.MULTILINE)) / 1024


def cost():
    return {"threads": status("Threads"), "fds": len(os.listdir("/proc/self/fd")), "mb": private_mb()}


def member(index, count):
    import rclpy
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
    os._exit(len(kept) - TOPICS)  # how a process ends is not measured


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
    options = parser.parse_args()
    processes = Processes()
    try:
        members = [
            processes.start(options.rmw, "member", str(i), str(options.processes), file="scale_run.py")
            for i in range(options.processes)
        ]
        for each in members:
            each.says("ready")
        for each in members:
            each.tell()
        reports = [report_of(each) for each in members]
    finally:
        processes.close()
    for name in ("graph", "message", "cpu"):
        values = [report[name] for report in reports]
        print(f"{name}: median {statistics.median(values):.2f} s, last {max(values):.2f} s")
    for name in ("threads", "fds", "mb"):
        before, made, at_end = (
            statistics.median(report[when][name] for report in reports) for when in ("before", "made", "all")
        )
        print(f"{name}: modules {before:.1f}, + init and node {made - before:.1f}, at the end {at_end:.1f}")


if __name__ == "__main__":
    member(int(sys.argv[2]), int(sys.argv[3])) if sys.argv[1:2] == ["member"] else main()
