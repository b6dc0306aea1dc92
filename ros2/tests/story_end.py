# SPDX-License-Identifier: Apache-2.0
"""A process of a story: story_end.py <node>. Obeys commands, one JSON object a line on its standard input, and answers each with one line."""

import ctypes
import json
import os
import queue
import select
import sys
import time
from array import array
from functools import partial

import rclpy
from rclpy.duration import Duration
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy_program import report_and_end
from std_msgs.msg import UInt8MultiArray

TOPIC = "story"
WRITER = 10000  # a message says WRITER * its writer + its number
ACKNOWLEDGED_S = 60
RCL = ctypes.CDLL("librcl.so")  # rclpy has loaded it
ON_NEW_MESSAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)


def profile(qos):
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST if qos["depth"] else HistoryPolicy.KEEP_ALL,
        depth=qos["depth"],
        reliability=ReliabilityPolicy.RELIABLE if qos["reliable"] else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if qos["durable"] else DurabilityPolicy.VOLATILE,
        **({"lifespan": Duration(seconds=qos["lifespan_s"])} if qos["lifespan_s"] else {}),
    )


def content(number, size):
    return bytes([number % 251]) * size


class End:
    def __init__(self, name):
        self.node = rclpy.create_node(name, enable_rosout=False, start_parameter_services=False)
        self.writers, self.readers = {}, {}
        self.paused = set()
        self.told = {}  # of readers that have a callback: how many messages they were told of and did not take
        self.callbacks = []
        self.seen = []
        self.input = b""

    def open_writer(self, name, qos):
        self.writers[name] = self.node.create_publisher(UInt8MultiArray, TOPIC, profile(qos))

    def open_reader(self, name, qos, called):
        self.readers[name] = self.node.create_subscription(UInt8MultiArray, TOPIC, lambda _: None, profile(qos))
        if called:
            self.told[name] = queue.SimpleQueue()  # of one for each message
            callback = ON_NEW_MESSAGE(partial(self.tell, self.told[name]))
            self.callbacks.append(callback)  # C does not keep it
            handle = ctypes.c_void_p(self.readers[name].handle.pointer)
            if code := RCL.rcl_subscription_set_on_new_message_callback(handle, callback, None):
                raise RuntimeError(f"rcl_subscription_set_on_new_message_callback: {code}")

    @staticmethod
    def tell(told, _, count):
        for _ in range(count):
            told.put(None)

    def close(self, name):
        self.paused.discard(name)
        self.told.pop(name, None)
        if name in self.writers:
            self.node.destroy_publisher(self.writers.pop(name))
        else:
            self.node.destroy_subscription(self.readers.pop(name))

    def publish(self, name, numbers, size, acknowledged):
        began = time.monotonic()
        for number in numbers:
            message = UInt8MultiArray(data=array("B", content(number, size)))
            message.layout.data_offset = WRITER * int(name) + number
            self.writers[name].publish(message)
        ended = time.monotonic()
        if acknowledged and not self.writers[name].wait_for_all_acked(Duration(seconds=ACKNOWLEDGED_S)):
            raise TimeoutError(f"not acknowledged in {ACKNOWLEDGED_S} s")
        return {"began": began, "ended": ended}

    def pause(self, name):
        self.paused.add(name)

    def resume(self, name):
        self.paused.discard(name)

    def report(self):
        """What was taken since the last time, how many ends each end here is matched with, and which nodes are known."""
        seen, self.seen = self.seen, []
        matched = {name: each.get_subscription_count() for name, each in self.writers.items()}
        matched |= {name: each.get_publisher_count() for name, each in self.readers.items()}
        return {"seen": seen, "matched": matched, "nodes": self.node.get_node_names()}

    def take(self, name):
        at = time.monotonic()
        with self.readers[name].handle:
            taken = self.readers[name].handle.take_message(UInt8MultiArray, False)
        if taken is None:
            return False
        writer, number = divmod(taken[0].layout.data_offset, WRITER)
        data = taken[0].data.tobytes()
        self.seen.append([name, str(writer), number, at, len(data) if data == content(number, len(data)) else -1])
        return True

    def listen(self):
        """Waits a moment for messages, and takes some."""
        for name in self.told.keys() - self.paused:
            while not self.told[name].empty():
                self.told[name].get()
                self.take(name)
        names = [name for name in self.readers if name not in self.paused and name not in self.told]
        if not names:
            select.select([0], [], [], 0.02)
            return
        with self.node.context.handle:
            wait_set = rclpy_implementation.WaitSet(len(names), 0, 0, 0, 0, 0, self.node.context.handle)
            wait_set.clear_entities()
            for name in names:
                wait_set.add_subscription(self.readers[name].handle)
            wait_set.wait(20_000_000)
            ready = [name for i, name in enumerate(names) if wait_set.is_ready("subscription", i)]
        for name in ready:
            for _ in range(3):
                if not self.take(name):
                    break

    def commands(self):
        """The lines that have come, without waiting. Raises EOFError where there will be no more."""
        if select.select([0], [], [], 0)[0]:
            read = os.read(0, 65536)
            if not read:
                raise EOFError
            self.input += read
        *lines, self.input = self.input.split(b"\n")
        return [json.loads(line) for line in lines]


def main():
    rclpy.init()
    end = End(sys.argv[1])
    print(json.dumps({"started": True}), flush=True)
    try:
        while True:
            for command in end.commands():
                if (verb := command.pop("do")) == "quit":
                    raise EOFError
                print(json.dumps(getattr(end, verb)(**command) or {}), flush=True)
            end.listen()
    except EOFError:
        for name in [*end.writers, *end.readers]:
            end.close(name)
        report_and_end({}, end.node)


main()
