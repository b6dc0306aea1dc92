# SPDX-License-Identifier: Apache-2.0
"""Programs of Baton's own, without ROS 2: standalone.py <name> <number of images, lines, requests>."""

import json
import sys
import threading

import baton
from baton.msg.sensor_msgs import Image
from baton.msg.std_msgs import String
from baton.srv.std_srvs import SetBool

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


def parameters(node, _):
    """Until it is told to end."""
    rate = baton.ParameterDescriptor("frames a second", integer_range=baton.IntegerRange(1, 100, 1))
    node.declare_parameter("rate", 10, rate)
    node.declare_parameter("names", ["left", ""])
    node.declare_parameter("serial", "a b", baton.ParameterDescriptor(read_only=True))
    node.declare_parameter("bytes", b"\x00\xff")
    executor = baton.Executor(node)
    threading.Thread(target=lambda: (sys.stdin.readline(), executor.cancel()), daemon=True).start()
    print("going", flush=True)
    executor.spin()
    return {"rate": node.get_parameter("rate").value}


def ends(node, _):
    """Has one of each kind of endpoint, until it is told to end."""
    kept = [
        node.advertise("image", Image),
        node.subscribe("stop", String, lambda _: None),
        node.serve("switch", SetBool, lambda request, response: None),
        node.client("other", SetBool),
    ]
    print("going", flush=True)
    sys.stdin.readline()
    return {"ends": len(kept)}


def switch(node, number):
    """Serves until it has had `number` requests."""
    count = 0

    def answer(request, response):
        nonlocal count
        count += 1
        response.success, response.message = request.data, f"request {count}"

    served = node.serve("switch", SetBool, answer)
    executor = baton.Executor(node)
    print("going", flush=True)
    while count < number:
        executor.spin_once(1.0)
    del served
    return {"count": count}


def press(node, number):
    client = node.client("switch", SetBool)
    assert client.wait_for_service(LIMIT_S)
    got = []
    for i in range(number):
        response = client.call({"data": i % 2 == 1}, LIMIT_S)
        got.append([response.success, str(response.message)])
    return {"got": got}


report = globals()[sys.argv[1]](baton.Node(sys.argv[1]), int(sys.argv[2]))
print(json.dumps(report))
