# SPDX-License-Identifier: Apache-2.0
"""api_listener.cpp in Python. Arguments: topic, queue size, how many messages to keep for ever, milliseconds of each callback.
On the line "shared" of its input it prints how many of its messages lay in shared memory. From the line "hold" on a callback that
has printed goes on only after the line "release"."""

import sys
import threading
import time

import baton
import baton.rospy
import numpy
import rospy
from sensor_msgs.msg import Image

topic, queue_size, keep, pause_ms = sys.argv[1], *map(int, sys.argv[2:5])
rospy.init_node("listener", anonymous=True, disable_signals=True)
kept = []
shared = 0
may_go_on = threading.Event()
may_go_on.set()


def say(line):  # whole lines, from several threads
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def good(image):
    places = numpy.arange(len(image.data))
    return numpy.array_equal(image.data, (image.width * 31 + places * 7 + (places >> 12)).astype(numpy.uint8))


def on_image(image):
    global shared
    shared += baton.in_shared_memory(baton.address(image))
    verdict = "good" if image.header.frame_id == "camera" and good(image) else "bad"
    say(f"{image.width} {image.header.seq} {len(image.data)} {verdict}")
    if len(kept) < keep:
        kept.append(image)
    time.sleep(pause_ms / 1000)
    may_go_on.wait()


subscription = baton.rospy.create_subscription(topic, Image, on_image, queue_size=queue_size)
for line in sys.stdin:
    if line == "stock\n":
        rospy.Subscriber(topic, Image, lambda image: say(f"stock {image.width}"))
    elif line == "shared\n":
        say(f"shared {shared}")
    elif line == "hold\n":
        may_go_on.clear()
        say("done hold")
    elif line == "release\n":
        may_go_on.set()
    elif line == "unregister\n":
        subscription.unregister()
        say("unregistered")
sys.exit(0 if all(map(good, kept)) else 4)
