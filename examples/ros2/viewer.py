# SPDX-License-Identifier: Apache-2.0
"""An ordinary rclpy program: prints the size of every image."""

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Image

rclpy.init()
node = rclpy.create_node("viewer")
subscription = node.create_subscription(
    Image, "image", lambda image: print(f"{image.width}x{image.height}, {len(image.data)} bytes", flush=True), 10
)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
