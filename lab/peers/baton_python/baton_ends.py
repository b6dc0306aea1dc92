# SPDX-License-Identifier: Apache-2.0
"""The ends of the peer baton_python, as in a program of Baton's Python, with sensor_msgs/Image. peer.cpp calls this module."""

import time

import baton
from baton.msg.sensor_msgs import Image


class Publisher:
    def __init__(self, topic, name, domain, directory, qos):
        self.node = baton.Node(name, domain=domain, runtime_directory=directory)
        self.publisher = self.node.advertise(topic, Image, baton.QoS(**qos))

    def wait_for(self, subscribers):
        """Until they are connected, and a little longer: discovery is not measured."""
        self.publisher.wait_for_subscriptions(subscribers, 30)
        time.sleep(0.3)

    def begin(self, size):
        """The payload, in a loan."""
        self.image = self.publisher.loan()
        self.image.header.frame_id, self.image.encoding, self.image.height = "camera", "mono8", 1
        self.image.width = self.image.step = size
        self.image.data.resize(size)
        return self.image.data

    def publish(self):
        self.publisher.publish(self.image)

    def close(self):
        self.node.close()


class Subscriber:
    """`calls`: by an executor, else take()."""

    def __init__(self, deliver, topic, name, domain, directory, qos, calls):
        self.node = baton.Node(name, domain=domain, runtime_directory=directory)
        self.deliver = deliver
        if calls:
            self.node.subscribe(topic, Image, lambda image: deliver(image.data), baton.QoS(**qos))
            self.executor = baton.Executor()
            self.executor.add(self.node)
            self.receive = self.executor.spin_once
        else:
            self.subscription = self.node.subscribe(topic, Image, qos=baton.QoS(**qos))
            self.receive = self.take

    def take(self, timeout_s):
        image = self.subscription.take(timeout_s)
        while image is not None:
            self.deliver(image.data)
            image = self.subscription.take(0)

    def close(self):
        self.node.close()
