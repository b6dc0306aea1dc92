# SPDX-License-Identifier: Apache-2.0
"""An ordinary rclpy program: publishes a line about every image."""

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Image
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node("watcher")
publisher = node.create_publisher(String, "seen", 10)
subscription = node.create_subscription(
    Image, "image", lambda image: publisher.publish(String(data=f"{image.width}x{image.height}, {image.encoding}")), 10
)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
