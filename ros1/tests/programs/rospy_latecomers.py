# SPDX-License-Identifier: Apache-2.0
"""latecomers.cpp in Python, with Baton's views. Argument: topic."""

import sys
import time

import baton.rospy
import rospy
from sensor_msgs.msg import Image

topic = sys.argv[1]
rospy.init_node("latecomers", anonymous=True, disable_signals=True)
subscriptions, numbers = [], []
publisher, published = None, 0


def subscribe():
    own = []
    numbers.append(own)
    subscriptions.append(baton.rospy.create_subscription(topic, Image, lambda image: own.append(image.height)))


for line in sys.stdin:
    word, *rest = line.split()
    if word == "advertise":
        publisher = baton.rospy.create_publisher(topic, Image, latch=True)
    elif word == "publish":
        published += 1
        publisher.publish(Image(height=published, data=bytes(100000)))
    elif word == "subscribe":
        subscribe()
    elif word == "meet":
        while publisher.get_num_connections() < 2:
            time.sleep(0.01)
    else:
        while any(len(each) < int(rest[0]) for each in numbers):
            time.sleep(0.01)
        time.sleep(0.3)  # for messages that are too many
        print("|".join(" ".join(map(str, each)) for each in numbers), flush=True)
        continue
    print("done", line.strip(), flush=True)
