# SPDX-License-Identifier: Apache-2.0
"""How the rclpy programs of these tests begin and end: <file> <name> [arguments] runs one of the file's functions with a node of that
name, and prints what it found as one line of JSON."""

import json
import signal
import sys
import time

import rclpy
from rclpy.logging import LoggingSeverity, set_logger_level

LIMIT_S = 200


def spin_until(node, done, executor=None):
    """Spins the node, or the executor that has it, until done(), which must come within the limit."""
    end = time.monotonic() + LIMIT_S
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{sys.argv[1:]} saw nothing in {LIMIT_S} s")
        if executor:
            executor.spin_once(timeout_sec=0.05)
        else:
            rclpy.spin_once(node, timeout_sec=0.05)


def wait_until(done, what=lambda: "it did not come", limit_s=LIMIT_S):
    """Waits until done(), which must come within the limit, while another thread spins or nothing has to be spun."""
    end = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{sys.argv[1:]}: {what()} in {limit_s} s")
        time.sleep(0.01)


def report_and_end(report, *nodes):
    """Prints the report as a line of JSON, then ends the nodes.

    Fast DDS 3.2 now and then spins for ever when a participant ends while another one does: its DomainParticipant::set_listener waits for a
    callback, which waits for set_listener's lock. Such a process ends by SIGPROF once it has used 10 s of CPU. What only sleeps for
    ever does not: that would not be Fast DDS's fault."""
    print(json.dumps(report), flush=True)
    signal.setitimer(signal.ITIMER_PROF, 10)
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def main(programs, **more):
    """`more` is added to what is printed."""
    name, *arguments = sys.argv[1:]
    rclpy.init()
    set_logger_level("rmw_baton_cpp", LoggingSeverity.DEBUG)  # endpoints report at their end what they carried
    node = rclpy.create_node(name)
    report = programs[name](node, *arguments) | more
    report_and_end(report, node)
