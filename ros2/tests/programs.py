# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs: programs.py <name> [arguments]. Each prints one line of JSON and ends."""

import itertools
import json
import select
import sys
import time

import rclpy
from rcl_interfaces.msg import Log, ParameterEvent
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import get_rmw_implementation_identifier
from rclpy_program import LIMIT_S, main, spin_until
from sensor_msgs.msg import Image
from std_msgs.msg import String, UInt64
from std_srvs.srv import SetBool
from test_msgs.srv import BasicTypes

LARGE = 1000000
END = LARGE - 1


def meet(node, publisher, readers):
    """Waits until `readers` are there."""
    spin_until(node, lambda: publisher.get_subscription_count() >= int(readers))


def told(within_s):
    return bool(select.select([sys.stdin], [], [], within_s)[0])


def profile(kind):
    return {
        "default": QoSProfile(depth=100),
        "best_effort": QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT),
        "durable": QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        "all": QoSProfile(history=HistoryPolicy.KEEP_ALL),
    }[kind]


def talk(node, kind, count, readers):
    publisher = node.create_publisher(String, "chatter", profile(kind))
    if kind != "durable":
        meet(node, publisher, readers)
    for i in range(int(count)):
        publisher.publish(String(data=f"hello {i}"))
        if kind == "best_effort" and told(0.1):  # what its reader does not know yet is lost
            return {}
    sys.stdin.readline()  # stays until the other end has what it wants
    return {"sent": int(count)}


def listen(node, kind, count):
    got = []
    node.create_subscription(String, "chatter", lambda message: got.append(message.data), profile(kind))
    spin_until(node, lambda: len(got) >= int(count))
    return {"got": got}


def listen_raw(node, count):
    got = []
    node.create_subscription(String, "chatter", lambda data: got.append(data.hex()), 100, raw=True)
    spin_until(node, lambda: len(got) >= int(count))
    return {"got": got}


def count(node, total, period_ms, readers):
    """Publishes 0, 1, 2, ... once `readers` are there."""
    publisher = node.create_publisher(UInt64, "count", 5000)
    meet(node, publisher, readers)
    print("going", flush=True)
    for i in range(int(total)):
        publisher.publish(UInt64(data=i))
        time.sleep(float(period_ms) / 1000)
    sys.stdin.readline()
    return {}


def count_until_told(node, period_ms, readers):
    """Publishes 0, 1, 2, ... once `readers` are there; when a line comes, more than as many again, faster, and END. So what comes behind the
    line is more than half of all."""
    publisher = node.create_publisher(UInt64, "count", 5000)
    meet(node, publisher, readers)
    print("going", flush=True)
    for i in itertools.count():
        publisher.publish(UInt64(data=i))
        if told(float(period_ms) / 1000):
            break
    sys.stdin.readline()
    numbers = 2 * (i + 1) + 200
    for number in range(i + 1, numbers):
        publisher.publish(UInt64(data=number))
        time.sleep(0.001)
    publisher.publish(UInt64(data=END))
    sys.stdin.readline()
    return {"numbers": numbers}


def count_until_refused(node, readers):
    """Publishes 0, 1, 2, ... as fast as it can until one is refused, that one again until it is not, 2000 more, and END."""
    publisher = node.create_publisher(UInt64, "count", profile("all"))
    meet(node, publisher, readers)
    print("going", flush=True)
    sys.stdin.readline()
    number, refused = 0, 0
    last = None
    while last is None or number < last:
        try:
            publisher.publish(UInt64(data=number))
            number += 1
        except RuntimeError:  # rcl's
            refused += 1
            if last is None:
                last = number + 2000
                print("refused", flush=True)
    publisher.publish(UInt64(data=END))
    sys.stdin.readline()
    return {"numbers": number, "refused": refused}


def hear_all(node):
    got = []
    node.create_subscription(UInt64, "count", lambda message: got.append(message.data), profile("all"))
    print("going", flush=True)
    spin_until(node, lambda: got and got[-1] == END)
    return {"got": got}


def say_numbers_for_ever(node):
    """Large ones, for a reader that tells them from those of count()."""
    publisher = node.create_publisher(UInt64, "count", 5000)
    node.create_subscription(UInt64, "count", lambda _: None, 5)
    print("going", flush=True)
    for i in range(LARGE, 2 * LARGE):
        publisher.publish(UInt64(data=i))
        rclpy.spin_once(node, timeout_sec=0)
        time.sleep(0.01)  # slower than their reader: a full queue gives way
    return {}


def hear(node, last):
    """What it heard until `last` or a larger number of count()."""
    got = []
    node.create_subscription(UInt64, "count", lambda message: got.append(message.data), 5000)
    print("going", flush=True)
    spin_until(node, lambda: bool(got) and LARGE > got[-1] >= int(last))
    return {"got": got}


def hear_some(node, number):
    got = []
    node.create_subscription(UInt64, "count", lambda message: got.append(message.data), 5000)
    spin_until(node, lambda: len(got) >= int(number))
    return {"got": got}


def say_images(node, number, readers="1"):
    publisher = node.create_publisher(Image, "image", 10)
    spin_until(node, lambda: publisher.get_subscription_count() >= int(readers))
    sys.stdin.readline()
    for i in range(int(number)):
        publisher.publish(Image(height=i, width=3, encoding="rgb8", data=list(range(9))))
    sys.stdin.readline()
    return {}


def hear_images(node, number):
    got = []
    node.create_subscription(
        Image, "image", lambda image: got.append([image.height, image.encoding, list(image.data)]), 10
    )
    spin_until(node, lambda: len(got) >= int(number))
    return {"got": got}


def hear_own(node):
    """A publisher and two subscriptions in one process."""
    got, others = [], []
    publisher = node.create_publisher(UInt64, "count", 100)
    node.create_subscription(UInt64, "count", lambda message: got.append(message.data), 100)
    node.create_subscription(UInt64, "count", lambda message: others.append(message.data), 100)
    spin_until(node, lambda: publisher.get_subscription_count() >= 2)
    for i in range(10):
        publisher.publish(UInt64(data=i))
    spin_until(node, lambda: len(got) + len(others) >= 20)
    return {"got": got, "others": others, "acked": publisher.wait_for_all_acked()}


def say_lines(node, number):
    """As soon as somebody asks for it, and again: `number` lines that begin with the node's name."""
    print("going", flush=True)
    for _ in range(2):
        sys.stdin.readline()
        for i in range(int(number)):
            node.get_logger().warn(f"{node.get_name()} {i}")
    sys.stdin.readline()
    return {}


def hear_lines(node, number):
    """As soon as somebody asks for it: the lines of other nodes, until there are `number`, and those that still come within a second."""
    print("going", flush=True)
    sys.stdin.readline()
    got = []
    lines = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(
        Log, "/rosout", lambda m: m.name != node.get_name() and got.append([m.name, m.level, m.msg]), lines
    )
    spin_until(node, lambda: len(got) >= int(number))
    end = time.monotonic() + 1
    while time.monotonic() < end:
        rclpy.spin_once(node, timeout_sec=0.1)
    return {"got": got}


def ask_parameters(node, name):
    """All that a client of parameters can ask of the node `name` in standalone.py."""
    events = []
    node.create_subscription(
        ParameterEvent,
        "/parameter_events",
        lambda m: m.node == f"/{name}" and events.append([p.name for p in m.changed_parameters]),
        100,
    )
    client = AsyncParameterClient(node, name)
    if not client.wait_for_services(LIMIT_S):
        raise TimeoutError(f"no parameters of {name}")

    def answer(future):
        spin_until(node, future.done)
        return future.result()

    names = sorted(answer(client.list_parameters([], 0)).result.names)
    values = answer(client.get_parameters(names)).values
    types = answer(client.get_parameter_types(names)).types
    described = answer(client.describe_parameters(["rate"])).descriptors[0]
    rates = [Parameter("rate", value=value) for value in (50, 500)]
    results = answer(client.set_parameters(rates)).results
    both = [Parameter("rate", value=60), Parameter("serial", value="c")]
    together = answer(client.set_parameters_atomically(both)).result
    spin_until(node, lambda: ["rate"] in events)
    return {
        "values": {n: parameter_value_to_python(v) for n, v in zip(names, values, strict=True)} | {"bytes": None},
        "types": list(types),
        "described": [described.description, described.integer_range[0].to_value],
        "set": [[each.successful, each.reason] for each in results],
        "together": together.successful,
        "rate": answer(client.get_parameters(["rate"])).values[0].integer_value,
    }


def keep_parameters(node, executor):
    node.declare_parameter("rate", 10)
    node.declare_parameter("names", ["left", "right"])
    node.create_service(SetBool, "switch", lambda request, response: response)
    running = {"waits": SingleThreadedExecutor, "events": EventsExecutor}[executor]()
    running.add_node(node)
    print("going", flush=True)
    while not told(0):
        running.spin_once(timeout_sec=0.1)
    return {"rate": node.get_parameter("rate").value}


def switch(node, number, executor):
    """Serves until it has had `number` requests."""
    count = 0

    def answer(request, response):
        nonlocal count
        count += 1
        response.success, response.message = request.data, f"request {count}"
        return response

    node.create_service(SetBool, "switch", answer)
    running = {"waits": SingleThreadedExecutor, "events": EventsExecutor}[executor]()
    running.add_node(node)
    print("going", flush=True)
    while count < int(number):
        running.spin_once(timeout_sec=0.1)
    sys.stdin.readline()
    return {"count": count}


def press(node, number, executor):
    client = node.create_client(SetBool, "switch")
    if not client.wait_for_service(LIMIT_S):
        raise TimeoutError("no service")
    running = {"waits": SingleThreadedExecutor, "events": EventsExecutor}[executor]()
    running.add_node(node)
    got = []
    for i in range(int(number)):
        future = client.call_async(SetBool.Request(data=i % 2 == 1))
        spin_until(node, future.done, running)
        got.append([future.result().success, future.result().message])
    return {"got": got}


def serve(node):
    def answer(request, response):
        response.int32_value = request.int32_value * 2
        response.string_value = request.string_value[::-1]
        return response

    node.declare_parameter("color", "red")
    node.create_service(BasicTypes, "twice", answer)
    stopped = []
    node.create_subscription(String, "stop", stopped.append, 1)
    spin_until(node, lambda: stopped)
    return {"stopped": True}


def call(node):
    client = node.create_client(BasicTypes, "twice")
    if not client.wait_for_service(LIMIT_S):
        raise TimeoutError("no service")
    future = client.call_async(BasicTypes.Request(int32_value=21, string_value="baton"))
    spin_until(node, future.done)
    parameters = AsyncParameterClient(node, "serve")
    if not parameters.wait_for_services(LIMIT_S):
        raise TimeoutError("no parameter services")
    color = parameters.get_parameters(["color"])
    spin_until(node, color.done)
    publisher = node.create_publisher(String, "stop", 1)
    spin_until(node, lambda: publisher.get_subscription_count() > 0)
    publisher.publish(String(data="enough"))
    publisher.wait_for_all_acked()
    return {
        "color": color.result().values[0].string_value,
        "value": future.result().int32_value,
        "text": future.result().string_value,
    }


def see_baton(node, name):
    """What the graph has of Baton's node `name`, a program of standalone.py."""
    spin_until(node, lambda: any(n == name for n, _ in node.get_node_names_and_namespaces()))
    spin_until(node, lambda: node.count_publishers("/image") and node.count_services("/switch"))
    spin_until(node, lambda: node.count_publishers("/rosout") >= 2)  # its own, and that of another node of ROS 2
    spin_until(node, lambda: len(node.get_node_names()) >= 3)
    info = node.get_publishers_info_by_topic("/image")[0]
    images = node.create_subscription(Image, "/image", lambda _: None, 1)
    late = node.create_subscription(Image, "/image", lambda _: None, profile("durable"))  # not offered
    lines = node.create_subscription(Log, "/rosout", lambda _: None, 1)
    spin_until(node, lambda: images.get_publisher_count() > 0 and lines.get_publisher_count() >= 2)
    seen = {
        "matched": [each.get_publisher_count() for each in (images, late, lines)],
        "nodes": node.get_node_names_and_namespaces(),
        "info": [info.node_name, info.node_namespace, info.topic_type, info.qos_profile.reliability.name],
        "topics": dict(node.get_topic_names_and_types()),
        "services": dict(node.get_service_names_and_types()),
        "publishes": dict(node.get_publisher_names_and_types_by_node(name, "/")),
        "subscribes": dict(node.get_subscriber_names_and_types_by_node(name, "/")),
        "serves": dict(node.get_service_names_and_types_by_node(name, "/")),
        "calls": dict(node.get_client_names_and_types_by_node(name, "/")),
        "counts": [
            node.count_publishers("/image"),
            node.count_subscribers("/stop"),
            node.count_services("/switch"),
            node.count_clients("/other"),
        ],
        "own": node.count_publishers("/rosout"),
        "stops": [each.node_name for each in node.get_subscriptions_info_by_topic("/stop")],
    }
    print(json.dumps(seen), flush=True)
    sys.stdin.readline()  # that node has ended
    spin_until(node, lambda: not any(n == name for n, _ in node.get_node_names_and_namespaces()))

    def left():
        return [node.count_publishers("/image"), node.count_services("/switch"), images.get_publisher_count()]

    spin_until(node, lambda: not any(left()))  # its ends go one after the other
    return {"left": left()}


main(globals(), rmw=get_rmw_implementation_identifier())
