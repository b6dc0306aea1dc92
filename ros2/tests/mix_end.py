# SPDX-License-Identifier: Apache-2.0
"""A process of the mix (mix_run.py): mix_end.py <node> <seed>. A rclpy node with publishers and subscriptions of a few types, chosen by the
seed. It checks what it takes, keeps the last few messages, and checks each again before it lets go. Ends when its standard input ends."""

import random
import select
import signal
import sys
import time
from array import array
from collections import deque

import rclpy
from nav_msgs.msg import GridCells, OccupancyGrid, Path
from rclpy_program import report_and_end
from sensor_msgs.msg import (
    BatteryState,
    CameraInfo,
    CompressedImage,
    Image,
    JointState,
    LaserScan,
    MultiEchoLaserScan,
    PointCloud2,
)
from std_msgs.msg import MultiArrayDimension, MultiArrayLayout, UInt8MultiArray
from trajectory_msgs.msg import JointTrajectory
from visualization_msgs.msg import Marker, MarkerArray

# Those of the first group have an array of bytes called data. Many types, so that a process meets some that it does not have itself.
BYTES = (Image, CompressedImage, PointCloud2, UInt8MultiArray)
TYPES = (*BYTES, OccupancyGrid, GridCells, Path, BatteryState, CameraInfo, JointState, LaserScan, MultiEchoLaserScan, MultiArrayLayout,
         MultiArrayDimension, JointTrajectory, Marker, MarkerArray)  # fmt: skip
SIZES = (16, 3_000, 100_000, 300_000)
KEPT = 3
PERIOD_S = 0.02


def content(value, size):
    return bytes([value]) * size


class End:
    def __init__(self, name, chance):
        self.node = rclpy.create_node(name)
        self.chance = chance
        self.taken, self.wrong = 0, 0
        self.kept = deque()
        self.publishers = []
        for kind in (chance.choice(BYTES), *chance.sample(TYPES, 4)):
            self.publishers.append((kind, self.node.create_publisher(kind, self.topic(kind), 10)))
        for kind in (*BYTES, *chance.sample(TYPES, 3)):
            self.node.create_subscription(kind, self.topic(kind), self.take, 10)
        self.node.create_timer(PERIOD_S, self.publish)

    @staticmethod
    def topic(kind):
        return f"mix_{kind.__name__}"

    def publish(self):
        kind, publisher = self.chance.choice(self.publishers)
        message = kind()
        if kind in BYTES:
            message.data = array("B", content(self.chance.randrange(256), self.chance.choice(SIZES)))
        publisher.publish(message)

    @staticmethod
    def is_right(message):
        data = message.data.tobytes() if hasattr(message.data, "tobytes") else bytes(message.data)
        return not data or data == content(data[0], len(data))

    def take(self, message):
        self.taken += 1
        if not isinstance(message, BYTES):
            return
        self.wrong += not self.is_right(message)
        self.kept.append(message)
        if len(self.kept) > KEPT:
            self.wrong += not self.is_right(self.kept.popleft())

    def report(self):
        self.wrong += sum(not self.is_right(each) for each in self.kept)
        return {"taken": self.taken, "wrong": self.wrong}


def main():
    name, seed = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tester's is not ours
    rclpy.init()
    end = End(name, random.Random(seed))
    print("going", flush=True)
    while not select.select([0], [], [], 0)[0]:
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            rclpy.spin_once(end.node, timeout_sec=0.05)
    report_and_end(end.report(), end.node)


main()
