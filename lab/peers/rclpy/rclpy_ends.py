# SPDX-License-Identifier: Apache-2.0
"""The ends of the peer rclpy, as in a program of rclpy, with sensor_msgs/Image. peer.cpp calls this module."""

import time
from array import array

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile, QoSReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image


def accelerate():
    import baton.rclpy

    baton.rclpy.accelerate()


class RclpyEnd:
    def __init__(self, name, namespace, domain, depth, reliable):
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(
            name,
            context=self.context,
            namespace=namespace,
            enable_rosout=False,
            start_parameter_services=False,
        )
        kind = QoSReliabilityPolicy.RELIABLE if reliable else QoSReliabilityPolicy.BEST_EFFORT
        self.qos = QoSProfile(depth=depth, reliability=kind)

    def close(self):
        self.node.destroy_node()
        self.context.try_shutdown()


class Publisher(RclpyEnd):
    def __init__(self, topic, *where):
        super().__init__(*where)
        self.publisher = self.node.create_publisher(Image, topic, self.qos)
        self.image = Image(height=1, encoding="mono8")
        self.image.header.frame_id = "camera"

    def wait_for(self, subscribers):
        """Until the middleware knows them all, and a little longer: discovery is not measured."""
        end = time.monotonic() + 30
        while self.publisher.get_subscription_count() < subscribers and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)

    def begin(self, size):
        """The payload; a driver keeps its message."""
        if len(self.image.data) != size:
            self.image.data = array("B", bytes(size))
            self.image.width = self.image.step = size
        return self.image.data

    def publish(self):
        self.publisher.publish(self.image)


class Subscriber(RclpyEnd):
    def __init__(self, deliver, topic, *where):
        super().__init__(*where)
        self.node.create_subscription(Image, topic, lambda image: deliver(image.data), self.qos)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def receive(self, timeout_s):
        self.executor.spin_once(timeout_sec=timeout_s)

    def close(self):
        self.executor.shutdown()
        super().close()
