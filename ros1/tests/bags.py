# SPDX-License-Identifier: Apache-2.0
"""Bags beside the programs that are tested, with Debian's Python.

bags.py write FRAMES BAG TOPIC: a bag of the messages that frames.py wrote; bags.py read BAG FILE: topic, type and bytes of each message.
"""

import struct
import sys

import genpy
import rosbag


def write(frames, path, topic):
    with open(frames, "rb") as file, rosbag.Bag(path, "w") as bag:
        kind, md5 = file.readline().decode().strip(), file.readline().decode().strip()
        definition, count = map(int, file.readline().split())
        text = file.read(definition).decode()
        data_class = type("Data", (), {"_type": kind, "_md5sum": md5, "_full_text": text})
        for number in range(count):
            data = file.read(struct.unpack("<I", file.read(4))[0])
            bag.write(topic, (kind, data, md5, data_class), genpy.Time(1000, number * 20_000_000), raw=True)


def read(path, out):
    with rosbag.Bag(path) as bag, open(out, "wb") as file:
        for topic, (kind, data, md5, *_), _ in bag.read_messages(raw=True):
            file.write(f"{topic} {kind} {md5} {len(data)}\n".encode() + data)


{"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
