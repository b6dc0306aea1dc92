# SPDX-License-Identifier: Apache-2.0
"""A program of rclpy that ends its last node and makes another one, again and again. The last node
stays until a line comes: again.py <program> <rounds>"""

import sys
import time

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy_program import report_and_end
from std_msgs.msg import String

LIMIT_S = 200
rclpy.init()
set_logger_level("rmw_baton_cpp", LoggingSeverity.DEBUG)
got = []
for left in reversed(range(int(sys.argv[2]))):
    node = rclpy.create_node("again")
    heard = []
    node.create_subscription(String, "again", lambda message, heard=heard: heard.append(message.data), 10)
    publisher = node.create_publisher(String, "again", 10)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    end = time.monotonic() + LIMIT_S
    while not heard and time.monotonic() < end:
        publisher.publish(String(data=str(left)))
        executor.spin_once(timeout_sec=0.1)
    got.append(heard[:1])
    if left == 0:
        print("going", flush=True)
        sys.stdin.readline()
    executor.shutdown()
    if left != 0:
        node.destroy_node()
report_and_end({"got": got}, node)
