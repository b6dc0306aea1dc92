# SPDX-License-Identifier: Apache-2.0
"""The ends of the peer rospy, as in a program of rospy, with sensor_msgs/Image. peer.cpp calls this module. Callbacks run in rospy's
threads, or in Baton's."""

import threading
import time

import rospy
from sensor_msgs.msg import Image


def accelerate():
    import baton.rospy

    baton.rospy.accelerate()


def start(name):
    rospy.init_node(name, anonymous=True, disable_signals=True, disable_rosout=True, disable_rostime=True)


class Publisher:
    def __init__(self, topic, depth, views):
        self.views = views
        if views:
            import baton.rospy

            self.publisher = baton.rospy.create_publisher(topic, Image, queue_size=depth)
        else:
            # Without a queue publish() waits for the sockets. With one, another thread writes them.
            self.publisher = rospy.Publisher(topic, Image, queue_size=depth, tcp_nodelay=True)
            self.image = Image(height=1, encoding="mono8")
            self.image.header.frame_id = "camera"

    def wait_for(self, subscribers):
        """Until they are connected, and a little longer: discovery is not measured."""
        end = time.monotonic() + 30
        while self.publisher.get_num_connections() < subscribers and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.3)

    def begin(self, size):
        """The payload; a driver keeps its message, but for a loan."""
        if self.views:
            self.image = self.publisher.loan()
            self.image.header.frame_id = "camera"
            self.image.height, self.image.encoding = 1, "mono8"
            self.image.data.resize(size)
        elif len(self.image.data) != size:
            self.image.data = bytearray(size)
        self.image.width = self.image.step = size
        return self.image.data

    def publish(self):
        self.publisher.publish(self.image)

    def close(self):
        self.publisher.unregister()


class Subscriber:
    def __init__(self, deliver, topic, depth, views):
        self.came = threading.Semaphore(0)

        def callback(image):
            deliver(image.data)
            self.came.release()

        if views:
            import baton.rospy

            self.subscriber = baton.rospy.create_subscription(topic, Image, callback, queue_size=depth)
        else:
            # Without a larger buffer rospy reads a large message in pieces of 64 KiB.
            options = {"queue_size": depth, "buff_size": 1 << 24, "tcp_nodelay": True}
            self.subscriber = rospy.Subscriber(topic, Image, callback, **options)

    def receive(self, timeout_s):
        """The callback delivers; this waits for one."""
        self.came.acquire(timeout=timeout_s) if timeout_s > 0 else self.came.acquire(blocking=False)

    def close(self):
        self.subscriber.unregister()
