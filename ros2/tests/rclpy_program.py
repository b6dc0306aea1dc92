# SPDX-License-Identifier: Apache-2.0
"""How the rclpy programs of these tests begin and end: <file> <name> [arguments] runs one of the file's functions with a node of that
name, and prints what it found as one line of JSON."""

import json
import signal
import sys

import rclpy
from rclpy.logging import LoggingSeverity, set_logger_level


def main(programs, **more):
    """`more` is added to what is printed."""
    name, *arguments = sys.argv[1:]
    rclpy.init()
    set_logger_level("rmw_baton_cpp", LoggingSeverity.DEBUG)  # endpoints report which path their messages took
    node = rclpy.create_node(name)
    report = programs[name](node, *arguments) | more
    print(json.dumps(report), flush=True)
    if rclpy.get_rmw_implementation_identifier() != "rmw_baton_cpp":
        signal.alarm(60)  # Fast DDS by itself sometimes spins for ever when a participant ends; see Processes.result()
    node.destroy_node()
    rclpy.shutdown()
