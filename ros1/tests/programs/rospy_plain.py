# SPDX-License-Identifier: Apache-2.0
"""rospy_talker.py and rospy_listener.py as plain rospy programs, without a word of Baton. Arguments: "talker", topic, "latch" or
"volatile"; or "listener", topic. On the line "tcp" the listener prints the bytes that its connections received."""

import sys
import time

import rospy
from sensor_msgs.msg import Image


def pattern(number, size):
    return bytes((number * 31 + i * 7 + (i >> 12)) % 256 for i in range(size))


def say(line):  # whole lines, from several threads
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def talk(topic, latch):
    publisher = rospy.Publisher(topic, Image, queue_size=100, latch=latch == "latch")
    number = 0
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "connections":
            while publisher.get_num_connections() != int(rest[0]):
                time.sleep(0.002)
        elif word == "publish":
            size, count, period_ms = map(int, rest)
            for _ in range(count):
                number += 1
                image = Image(width=number, height=1, encoding="mono8", data=pattern(number, size))
                image.header.frame_id = "camera"
                publisher.publish(image)
                time.sleep(period_ms / 1000)
        say(f"done {line.strip()}")


def listen(topic):
    def on_image(image):
        right = type(image.data) is bytes and image.data == pattern(image.width, len(image.data))
        right = (
            right and image.header.frame_id == "camera" and image._connection_header["callerid"].startswith("/talker")
        )
        say(f"{image.width} {image.header.seq} {len(image.data)} {'good' if right else 'bad'}")

    subscriber = rospy.Subscriber(topic, Image, on_image)
    for line in sys.stdin:
        if line == "tcp\n":
            say(f"tcp {sum(each.stat_bytes for each in subscriber.impl.connections)}")


role, *arguments = sys.argv[1:]
rospy.init_node(role, anonymous=True, disable_signals=True)
(talk if role == "talker" else listen)(*arguments)
