# SPDX-License-Identifier: Apache-2.0
"""Programs of Baton's own, without ROS 2: standalone.py say|hear <number of images>, standalone.py say_lines <number>."""

import json
import sys

import baton
from baton.msg.sensor_msgs import Image

LIMIT_S = 200


def say(node, number):
    publisher = node.advertise("image", Image)
    node.wait_for(lambda: publisher.matched > 0, LIMIT_S)
    for i in range(number):
        with publisher.loan() as image:
            image.height, image.width, image.encoding = i, 3, "rgb8"
            image.data.resize(9)
            image.data[:] = range(9)
    sys.stdin.readline()
    return {}


def hear(node, number):
    subscription = node.subscribe("image", Image)
    subscription.wait_for_publishers(1, LIMIT_S)
    print("going", flush=True)
    got, made = [], set()
    while len(got) < number:
        image = subscription.take(LIMIT_S)
        got.append([image.height, image.encoding, image.data.tolist()])
        made.add(baton.info(image).selection)
    return {"got": got, "made": sorted(made)}


def say_lines(node, number):
    """As the program of the same name in programs.py."""
    print("going", flush=True)
    for _ in range(2):
        sys.stdin.readline()
        for i in range(number):
            node.get_logger().warn(f"{node.name} {i}")
    sys.stdin.readline()
    return {}


report = globals()[sys.argv[1]](baton.Node(sys.argv[1]), int(sys.argv[2]))
print(json.dumps(report))
