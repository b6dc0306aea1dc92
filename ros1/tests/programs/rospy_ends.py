# SPDX-License-Identifier: Apache-2.0
"""The programs talker, listener and latecomers in Python. Arguments: "views" (ends of baton.rospy) or "plain" (rospy's own, without a word of
Baton), and then

  talker TOPIC QUEUE latch|volatile       answers "serialized" with the number of subscribers that get bytes
  listener TOPIC QUEUE KEEP PAUSE_MS      "shared" prints how many of its messages lay in shared memory, "tcp" what its TCP connections received
  latecomers TOPIC
"""

import os
import socket
import struct
import sys
import threading
import time

import numpy
import rospy
from sensor_msgs.msg import Image

views = sys.argv[1] == "views"
if views:
    import baton
    import baton.rospy


def say(line):  # whole lines, from several threads
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def pattern(number, size):
    places = numpy.arange(size)
    return (number * 31 + places * 7 + (places >> 12)).astype(numpy.uint8)


def publisher_of(topic, queue_size, latch):
    if views:
        return baton.rospy.create_publisher(topic, Image, queue_size=queue_size, latch=latch)
    return rospy.Publisher(topic, Image, queue_size=queue_size, latch=latch)


def subscriber_of(topic, callback, queue_size):
    if views:
        return baton.rospy.create_subscription(topic, Image, callback, queue_size=queue_size)
    return rospy.Subscriber(topic, Image, callback, queue_size=queue_size)


def tcp_bytes():
    total = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(fd))) as each:
                info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
        except OSError:
            continue
        total += struct.unpack_from("Q", info, 128)[0]  # tcpi_bytes_received
    return total


def talk(topic, queue_size, latch):
    publisher = publisher_of(topic, int(queue_size), latch == "latch")
    number = 0
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "subscribers":
            while publisher.get_num_connections() != int(rest[0]):
                time.sleep(0.002)
        elif word == "publish":
            size, count, period_ms = map(int, rest)
            for _ in range(count):
                number += 1
                image = publisher.loan() if views else Image()
                image.header.frame_id = "camera"
                image.width, image.height, image.encoding = number, 1, "mono8"
                image.data = pattern(number, size) if views else pattern(number, size).tobytes()
                publisher.publish(image)
                time.sleep(period_ms / 1000)
        elif word == "serialized":
            say(f"serialized {publisher.get_num_connections() - publisher.own.matched}")
        elif word == "drop":
            publisher.unregister()
        say(f"done {line.strip()}")


def is_good(image):
    data = image.data if views else numpy.frombuffer(image.data, numpy.uint8)
    right = views or (type(image.data) is bytes and "/talker" in image._connection_header["callerid"])
    return right and image.header.frame_id == "camera" and numpy.array_equal(data, pattern(image.width, len(data)))


def listen(topic, queue_size, keep, pause_ms):
    kept, shared = [], 0
    may_go_on = threading.Event()
    may_go_on.set()

    def on_image(image):
        nonlocal shared
        shared += views and baton.in_shared_memory(baton.address(image))
        say(f"{image.width} {image.header.seq} {len(image.data)} {'good' if is_good(image) else 'bad'}")
        if len(kept) < int(keep):
            kept.append(image)
        time.sleep(int(pause_ms) / 1000)
        may_go_on.wait()

    subscription = subscriber_of(topic, on_image, int(queue_size))
    for line in sys.stdin:
        if line == "stock\n":
            rospy.Subscriber(topic, Image, lambda image: say(f"stock {image.width}"))
        elif line == "shared\n":
            say(f"shared {shared}")
        elif line == "tcp\n":
            say(f"tcp {tcp_bytes()}")
        elif line == "hold\n":
            may_go_on.clear()
            say("done hold")
        elif line == "release\n":
            may_go_on.set()
        elif line == "unregister\n":
            subscription.unregister()
            say("unregistered")
    sys.exit(0 if all(map(is_good, kept)) else 4)


def meet_again_and_again(topic):
    publisher, published, subscriptions, numbers = None, 0, [], []
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "advertise":
            publisher = publisher_of(topic, 4, True)
        elif word == "publish":
            published += 1
            publisher.publish(Image(height=published, data=bytes(100000)))
        elif word == "subscribe":
            numbers.append([])
            subscriptions.append(subscriber_of(topic, lambda image, own=numbers[-1]: own.append(image.height), 4))
        elif word == "meet":
            while publisher.get_num_connections() < int(rest[0]):
                time.sleep(0.01)
        else:
            while any(each[-1:] != [int(rest[0])] for each in numbers):
                time.sleep(0.01)
            say("|".join(" ".join(map(str, each)) for each in numbers))
            continue
        say(f"done {line.strip()}")


role, *arguments = sys.argv[2:]
rospy.init_node(role, anonymous=True, disable_signals=True)
{"talker": talk, "listener": listen, "latecomers": meet_again_and_again}[role](*arguments)
