# SPDX-License-Identifier: Apache-2.0
"""api_talker.cpp in Python. Arguments: topic, queue size, "latch" or "volatile"."""

import sys
import time

import baton.rospy
import numpy
import rospy

topic, queue_size, latch = sys.argv[1:4]
rospy.init_node("talker", anonymous=True, disable_signals=True)
publisher = baton.rospy.create_publisher(topic, "sensor_msgs/Image", queue_size=int(queue_size), latch=latch == "latch")
number = 0
for line in sys.stdin:
    word, *rest = line.split()
    if word == "subscribers":
        while publisher.get_num_connections() != int(rest[0]):
            time.sleep(0.002)
    elif word == "publish":
        size, count, period_ms = map(int, rest)
        places = numpy.arange(size)
        for _ in range(count):
            image = publisher.loan()
            number += 1
            image.header.frame_id = "camera"
            image.width = number
            image.height = 1
            image.encoding = "mono8"
            image.data = (number * 31 + places * 7 + (places >> 12)).astype(numpy.uint8)
            publisher.publish(image)
            time.sleep(period_ms / 1000)
    elif word == "serialized":
        print("serialized", publisher.get_num_connections() - publisher.own.matched, flush=True)
    elif word == "drop":
        publisher.unregister()
    print("done", line.strip(), flush=True)
