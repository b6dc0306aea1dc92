#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bridge's matrix, or its figures, with any RMW at the other side:

  .venv/bin/python ros2/tests/bridge_run.py [--figures] [--rmw rmw_cyclonedds_cpp --prefix DIR]

`--prefix`: where this RMW is installed (DIR/lib/lib<RMW>.so), built for the ROS 2 under test. What it lacks is named before anything starts. Without
--figures all tests of bridge_test.py run, and every type of messages crosses in both directions.

The figures, for 64 B and 6 MB: the time from publish() of a program of rclpy to the callback of another one, over each of the two RMWs and
with a bridge between them; the bridge's CPU time for each message; and that of a bridge whose nodes publish what nobody subscribes to."""

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

FILE = Path(__file__).name
MESSAGES = {64: 1000, 6_000_000: 60}  # by their bytes
PAUSE_S = {64: 0.005, 6_000_000: 0.2}  # between two
WARM = 20  # first messages, which are not counted
IDLE_S = 5
TYPES = "test_every_message_type_arrives_unchanged_across_the_bridge"


def talk(node, size):
    from rclpy_program import spin_until
    from std_msgs.msg import UInt8MultiArray

    publisher = node.create_publisher(UInt8MultiArray, "measured", 10)
    spin_until(node, publisher.get_subscription_count)
    print("ready", flush=True)
    sys.stdin.readline()
    message = UInt8MultiArray()
    message.data.frombytes(bytes(size))
    for _ in range(MESSAGES[size] + WARM):
        message.data[:8] = type(message.data)("B", struct.pack("=q", time.monotonic_ns()))
        publisher.publish(message)
        time.sleep(PAUSE_S[size])
    message.data[:8] = type(message.data)("B", bytes(8))  # the end
    publisher.publish(message)
    sys.stdin.readline()


def hear(node, _):
    from rclpy_program import spin_until
    from std_msgs.msg import UInt8MultiArray

    took = []

    def heard(message):
        sent = struct.unpack("=q", bytes(message.data[:8]))[0]
        took.append((time.monotonic_ns() - sent) / 1000 if sent else None)

    kept = node.create_subscription(UInt8MultiArray, "measured", heard, 10)
    spin_until(node, lambda: kept and took and took[-1] is None)
    times = sorted(took[WARM:-1])
    print(
        json.dumps({"p50": statistics.median(times), "p99": times[len(times) * 99 // 100], "got": len(took) - 1}),
        flush=True,
    )


def member(name, size):
    import rclpy

    rclpy.init()
    {"talk": talk, "hear": hear}[name](rclpy.create_node(f"measured_{name}"), size)
    os._exit(0)  # how a process ends is not measured


def cpu_s(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(processes, size, talker_rmw, hearer_rmw):
    from ros2_processes import report_of

    bridge = processes.start_bridge() if talker_rmw != hearer_rmw else None
    processes.bridged = True  # a program over the other RMW may run without, too
    hearer = processes.start(hearer_rmw, "hear", str(size), file=FILE)
    talker = processes.start(talker_rmw, "talk", str(size), file=FILE)
    talker.says("ready")
    before = cpu_s(bridge) if bridge else 0.0
    talker.tell()
    report = report_of(hearer)
    count = MESSAGES[size] + WARM
    by_bridge = f", {(cpu_s(bridge) - before) / count * 1e6:.0f} us of the bridge's CPU a message" if bridge else ""
    return f"{size} B: p50 {report['p50']:.0f} us, p99 {report['p99']:.0f} us, {report['got']} of {count}{by_bridge}"


def measure_idle(processes):
    bridge = processes.start_bridge()
    for rmw in ("plain", "baton"):
        processes.start(rmw, "talk_for_ever", f"of_{rmw}", file="bridge_programs.py").says("here")
    time.sleep(IDLE_S)  # the graphs are complete
    before = cpu_s(bridge)
    time.sleep(IDLE_S)
    return f"{(cpu_s(bridge) - before) / IDLE_S * 100:.1f} % of a core"


def figures():
    from ros2_processes import Processes

    kinds = [
        (talker, hearer, size) for size in MESSAGES for talker in ("plain", "baton") for hearer in ("plain", "baton")
    ]
    for kind in [*kinds, None]:
        processes = Processes()
        try:
            if kind is None:
                print("a bridge that nobody needs:", measure_idle(processes), flush=True)
            else:
                talker, hearer, size = kind
                print(f"{talker} to {hearer},", measure(processes, size, talker, hearer), flush=True)
        finally:
            processes.close()


def missing(name, library):
    """Why programs of the ROS 2 under test cannot use this RMW; empty: they can."""
    os.environ["BATON_OTHER_RMW"] = str(library)
    from ros2_processes import PYTHON, environment

    if not library.exists():
        return f"there is no {library}: build {name} into that prefix, for the ROS 2 of {PYTHON.parent.parent}"
    code = "import rclpy.utilities as u; print(u.get_rmw_implementation_identifier())"
    done = subprocess.run([PYTHON, "-c", code], env=environment("plain", 1), capture_output=True, text=True)
    said = (done.stderr or done.stdout).splitlines()
    return "" if done.stdout.strip() == name else f"{library} cannot be used: {said[-1] if said else done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rmw", metavar="NAME")
    parser.add_argument("--prefix", type=Path, metavar="DIR")
    parser.add_argument("--figures", action="store_true")
    options = parser.parse_args()
    if (options.rmw is None) != (options.prefix is None):
        parser.error("--rmw and --prefix go together")
    if options.rmw:
        library = options.prefix.resolve() / f"lib/lib{options.rmw}.so"
        if what := missing(options.rmw, library):
            parser.error(what)
    if options.figures:
        figures()
    else:
        tests = [
            Path(__file__).with_name("bridge_test.py"),
            f"{Path(__file__).with_name('every_type_test.py')}::{TYPES}",
        ]
        sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", *tests]).returncode)


if __name__ == "__main__":
    member(sys.argv[1], int(sys.argv[2])) if sys.argv[1:2] in (["talk"], ["hear"]) else main()
