# SPDX-License-Identifier: Apache-2.0
"""An ordinary rclpy program: publishes an image 30 times a second."""

import array

import rclpy
from rclpy.executors import ExternalShutdownException
from sensor_msgs.msg import Image

rclpy.init()
node = rclpy.create_node("camera")
publisher = node.create_publisher(Image, "image", 10)
image = Image(width=640, height=480, step=1920, encoding="rgb8", data=array.array("B", bytes(640 * 480 * 3)))
timer = node.create_timer(1 / 30, lambda: publisher.publish(image))
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
