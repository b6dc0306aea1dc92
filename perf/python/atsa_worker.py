# SPDX-License-Identifier: Apache-2.0
"""One end of a measurement of atsa.py: `atsa_worker.py WORLD ROLE MESSAGE`. Reads commands from stdin, answers on stdout.

Worlds: rclpy (stock), accelerated (baton.rclpy.accelerate()), objects (rclpy's objects on Baton's topics, converted back),
baton (Baton's own classes). A message carries CLOCK_MONOTONIC in its header from the moment before publish(); a subscriber takes
the time when it has the whole message as a Python object.
"""

from __future__ import annotations

import array
import json
import sys
import threading
import time

import numpy as np

TYPES = {  # the paper's message -> ours
    "Image": ("sensor_msgs", "Image"),  # 8 MB of bytes
    "Lidar": ("sensor_msgs", "MultiEchoLaserScan"),  # 1000 packets of 1250 bytes, each a variable-length array
    "Novatel": ("sensor_msgs", "NavSatFix"),
    "Pose": ("geometry_msgs", "PoseWithCovarianceStamped"),
    "WayPoints": ("nav_msgs", "Path"),  # 2000 stamped poses
}
IMAGE_BYTES, PACKETS, FLOATS, WAYPOINTS = 8_000_000, 1000, 312, 2000
PIPELINE = ["Lidar", "Pose", "WayPoints"]


def rclpy_class(kind):
    package, name = TYPES[kind]
    return getattr(__import__(f"{package}.msg", fromlist=[name]), name)


def rclpy_message(kind):
    message = rclpy_class(kind)()
    message.header.frame_id = "frame"
    if kind == "Image":
        message.data = array.array("B", bytes(IMAGE_BYTES))
    elif kind == "Lidar":
        from sensor_msgs.msg import LaserEcho

        message.ranges = [LaserEcho(echoes=array.array("f", [1.5] * FLOATS)) for _ in range(PACKETS)]
    elif kind == "WayPoints":
        from geometry_msgs.msg import PoseStamped

        message.poses = [PoseStamped() for _ in range(WAYPOINTS)]
    return message


def fill(message, kind):
    """The same in a loan of Baton's class."""
    message.header.frame_id = "frame"
    if kind == "Image":
        message.data.resize(IMAGE_BYTES)
        message.data[:] = 1
    elif kind == "Lidar":
        message.ranges.resize(PACKETS)
        values = np.full(FLOATS, 1.5, np.float32)
        for packet in message.ranges:
            packet.echoes = values
    elif kind == "WayPoints":
        message.poses.resize(WAYPOINTS)


def stamp(header, now):
    header.stamp.sec, header.stamp.nanosec = divmod(now, 10**9)


def age(header):
    return time.monotonic_ns() - (header.stamp.sec * 10**9 + header.stamp.nanosec)


class Ros:
    def __init__(self, accelerated):
        import rclpy

        if accelerated:
            import baton.rclpy

            baton.rclpy.accelerate()
        self.rclpy = rclpy
        rclpy.init()
        self.node = rclpy.create_node(f"atsa_{time.monotonic_ns()}")

    def publisher(self, kind):
        publisher = self.node.create_publisher(rclpy_class(kind), kind, 10)
        message = rclpy_message(kind)

        def send(origin=None):
            stamp(message.header, origin or time.monotonic_ns())
            publisher.publish(message)

        return send, lambda: publisher.get_subscription_count() > 0

    def subscribe(self, kind, callback):
        self.node.create_subscription(rclpy_class(kind), kind, lambda message: callback(message.header), 10)

    def spin(self):
        threading.Thread(target=lambda: self.rclpy.spin(self.node), daemon=True).start()


class Baton:
    def __init__(self, objects):
        import baton

        self.baton = baton
        self.objects = objects
        self.node = baton.Node("atsa")

    def publisher(self, kind):
        publisher = self.node.advertise(kind, rclpy_class(kind) if self.objects else "/".join(TYPES[kind]))
        if self.objects:
            message = rclpy_message(kind)

            def send(origin=None):
                stamp(message.header, origin or time.monotonic_ns())
                publisher.publish(message)
        else:

            def send(origin=None):
                loan = publisher.loan()
                fill(loan, kind)
                stamp(loan.header, origin or time.monotonic_ns())
                publisher.publish(loan)

        return send, lambda: publisher.matched > 0

    def subscribe(self, kind, callback):
        if self.objects:
            cls = rclpy_class(kind)
            self.node.subscribe(kind, cls, lambda m: callback(self.baton.convert(m, cls).header))
        else:
            self.node.subscribe(kind, "/".join(TYPES[kind]), lambda message: callback(message.header))

    def spin(self):
        threading.Thread(target=lambda: self.baton.spin(self.node), daemon=True).start()


def main(world, role, kind):
    ends = Ros(world == "accelerated") if world in ("rclpy", "accelerated") else Baton(world == "objects")
    if role == "publisher":
        send, matched = ends.publisher(kind)
        while not matched():
            time.sleep(0.01)
        print("ready", flush=True)
        for line in sys.stdin:
            count, period = line.split()
            for _ in range(int(count)):
                send()
                time.sleep(float(period))
            print("sent", flush=True)
    elif role == "subscriber":
        ages = []
        ends.subscribe(kind, lambda header: ages.append(age(header)))
        ends.spin()
        print("ready", flush=True)
        for _ in sys.stdin:
            print(json.dumps(ages), flush=True)
            ages.clear()
    else:  # a stage of the workflow: takes one message and sends the next
        send, matched = ends.publisher(kind)
        before = PIPELINE[PIPELINE.index(kind) - 1]
        ends.subscribe(before, lambda header: send(header.stamp.sec * 10**9 + header.stamp.nanosec))
        while not matched():
            time.sleep(0.01)
        ends.spin()
        print("ready", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
