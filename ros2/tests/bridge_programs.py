# SPDX-License-Identifier: Apache-2.0
"""Programs of rclpy at the two sides of a bridge: bridge_programs.py <name> [arguments]."""

import itertools
import sys
import threading
import time

import rclpy
from rclpy.duration import Duration
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy_program import main, spin_until
from sensor_msgs.msg import Image
from std_msgs.msg import String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
LARGE = 200_000  # bytes of a message: some of them are more than the shared memory that Fast DDS has for a reader that does not read


def told():
    return sys.stdin.readline().strip()


def chat(node, name, others, readers, count):
    """Says `count` lines and "end" once all `others` are there and its publisher has `readers`, and hears until each has said its end."""
    everybody = int(others) + 1
    heard = []
    publisher = node.create_publisher(String, "chat", 1000)
    subscription = node.create_subscription(String, "chat", lambda message: heard.append(message.data), 1000)
    spin_until(
        node,
        lambda: subscription.get_publisher_count() == everybody and publisher.get_subscription_count() == int(readers),
    )
    print("here", flush=True)
    told()
    for line in [*range(int(count)), "end"]:
        publisher.publish(String(data=f"{name} {line}"))
    spin_until(node, lambda: sum(line.endswith(" end") for line in heard) == everybody)
    print("heard", flush=True)
    told()  # Fast DDS sends again what was lost only while its writer lives
    end = time.monotonic() + 0.5
    spin_until(node, lambda: time.monotonic() > end)
    return {"heard": heard}


def tick(node, name, count):
    """Says lines until it has heard so many of each of `count` nodes, itself among them, and a line comes."""
    heard = {}

    def hear(message):
        of, number = message.data.split()
        heard.setdefault(of, []).append(int(number))

    publisher = node.create_publisher(String, "ticks", 1000)
    subscription = node.create_subscription(String, "ticks", hear, 1000)
    numbers = itertools.count()
    node.create_timer(0.05, lambda: publisher.publish(String(data=f"{name} {next(numbers)}")))
    spin_until(node, lambda: len(heard) == int(count) and all(len(each) >= 40 for each in heard.values()))
    publishers = subscription.get_publisher_count()
    print("heard", flush=True)
    end = threading.Thread(target=told)
    end.start()
    spin_until(node, lambda: not end.is_alive())
    return {"heard": heard, "publishers": publishers}


def latch(node, name):
    publisher = node.create_publisher(String, "latched", LATCHED)
    for i in range(5):
        publisher.publish(String(data=f"{name} {i}"))
    print("here", flush=True)
    told()
    return {}


def hear_latched(node, count):
    heard = []
    node.create_subscription(String, "latched", lambda message: heard.append(message.data), LATCHED)
    spin_until(node, lambda: len(heard) >= int(count))
    return {"heard": heard}


def talk_alone(node, topic):
    """How many subscriptions a publisher has until a line comes, and that the bridge shows its node on the other side."""
    publisher = node.create_publisher(String, topic, 10)
    counts = set()
    print("here", flush=True)
    told()
    for _ in range(20):
        publisher.publish(String(data="nobody hears it"))
        counts.add(publisher.get_subscription_count())
        time.sleep(0.01)
    return {"counts": sorted(counts)}


def see(node, name, topic):
    """What the graph says about another side's node, once it is there; it has gone again when the program ends."""
    spin_until(node, lambda: name in node.get_node_names() and node.get_publishers_info_by_topic(topic))
    infos = node.get_publishers_info_by_topic(topic)
    report = {
        "publishers": [[each.node_name, each.topic_type] for each in infos],
        "nodes": sorted(node.get_node_names()),
    }
    print("seen", flush=True)
    told()
    spin_until(node, lambda: name not in node.get_node_names() and not node.get_publishers_info_by_topic(topic))
    return report


def picture(number):
    image = Image(height=1080, width=1920, encoding="rgb8", step=5760, is_bigendian=1)
    image.header.frame_id, image.header.stamp.sec, image.header.stamp.nanosec = f"frame {number}", number, 999_999_999
    image.data.frombytes(bytes((i * 7 + number) % 256 for i in range(5760)) * 1080)
    return image


def film(node, count):
    publisher = node.create_publisher(Image, "image", int(count))
    spin_until(node, publisher.get_subscription_count)
    for i in range(int(count)):
        publisher.publish(picture(i))
    told()
    return {}


def view(node, count):
    seen = []
    node.create_subscription(Image, "image", seen.append, int(count))
    spin_until(node, lambda: len(seen) == int(count))
    return {"same": [image == picture(i) for i, image in enumerate(seen)]}


def talk_and_end(node, topic, count):
    publisher = node.create_publisher(String, topic, int(count))
    spin_until(node, publisher.get_subscription_count)
    print("here", flush=True)
    told()
    for i in range(int(count)):
        publisher.publish(String(data=f"{i} ".ljust(LARGE)))
    spin_until(node, lambda: publisher.wait_for_all_acked(Duration(seconds=1)))
    return {}


def hear(node, topic, count):
    heard = []
    node.create_subscription(String, topic, lambda message: heard.append(message.data.split()[0]), int(count))
    print("here", flush=True)
    spin_until(node, lambda: len(heard) == int(count))
    return {"heard": heard}


def serve(node, name, service="switch", reliability="RELIABLE"):
    def answer(request, response):
        response.success, response.message = not request.data, name
        return response

    qos = QoSProfile(depth=10, reliability=ReliabilityPolicy[reliability])
    node.create_service(SetBool, service, answer, qos_profile=qos)
    print("here", flush=True)
    spin_until(node, lambda: node.count_subscribers("stop") > 0)
    return {}


def call_own(node, own, other):
    """Calls once the server of the other side is shown without its service."""

    def serves(rmw):
        return "/switch" in dict(node.get_service_names_and_types_by_node(f"serve_{rmw}", "/"))

    servers = {"serve_plain", "serve_baton"}
    spin_until(node, lambda: servers <= {*node.get_node_names()} and serves(own) and not serves(other))
    return call(node, "4")


def call(node, count, service="switch", reliability="RELIABLE"):
    client = node.create_client(
        SetBool, service, qos_profile=QoSProfile(depth=10, reliability=ReliabilityPolicy[reliability])
    )
    spin_until(node, client.service_is_ready)
    answers = []
    for i in range(int(count)):
        asked = [client.call_async(SetBool.Request(data=i % 2 == 0))]
        begun = time.monotonic()

        def answered(i=i, asked=asked, begun=begun):
            if reliability == "BEST_EFFORT" and time.monotonic() > begun + len(asked):  # Fast DDS may have lost it
                asked.append(client.call_async(SetBool.Request(data=i % 2 == 0)))
            return [each.result() for each in asked if each.done()]

        spin_until(node, answered)
        answers.append([answered()[0].success, answered()[0].message])
    return {"answers": answers}


def imitate(node):
    """Takes the names of bridges: that of each one that it sees, a smaller and a greater one, each with a topic."""

    def names():
        return [name for name in node.get_node_names() if name.startswith("_baton_bridge")]

    spin_until(node, names)
    nodes = [
        rclpy.create_node(name) for name in [*names(), "_baton_bridge", "_baton_bridge_0", f"_baton_bridge_{'f' * 16}"]
    ]
    publishers = [each.create_publisher(String, "imitated", 10) for each in nodes]
    print("here", flush=True)
    told()
    return {"publishers": len(publishers)}


def name_bridge(node):
    """The name of the bridge that this side shows."""

    def names():
        return [name for name in node.get_node_names() if name.startswith("_baton_bridge")]

    spin_until(node, names)
    return {"name": names()[0]}


def come_and_go(node, name, space, count):
    for _ in range(int(count)):
        other = rclpy.create_node(name, namespace=space)
        time.sleep(0.2)  # the bridge looks meanwhile
        other.destroy_node()
        time.sleep(0.2)
    return {}


def serve_nobody(node):
    node.create_service(SetBool, "switch", lambda request, response: response)
    print("here", flush=True)
    told()  # in place of spinning
    return {}


def call_without_waiting(node, count):
    client = node.create_client(SetBool, "switch")
    spin_until(node, client.service_is_ready)
    futures = []
    for i in range(int(count)):
        futures.append(client.call_async(SetBool.Request()))
        if i % 10 == 0:
            time.sleep(0.01)  # slower than the bridge: a full queue holds nothing up here
    print("called", flush=True)
    told()
    return {"answered": sum(each.done() for each in futures)}


def hear_anew(node, topic):
    """Says each time that a line has come on a topic, for ever."""
    node.create_subscription(String, topic, lambda message: print(message.data, flush=True), 10)
    print("here", flush=True)
    spin_until(node, lambda: False)
    return {}


def talk_for_ever(node, topic):
    publisher = node.create_publisher(String, topic, 10)
    node.create_timer(0.02, lambda: publisher.publish(String(data="tick")))
    print("here", flush=True)
    spin_until(node, lambda: False)
    return {}


main(
    {
        function.__name__: function
        for function in (
            talk_and_end,
            hear,
            film,
            view,
            call_own,
            chat,
            tick,
            latch,
            hear_latched,
            talk_alone,
            see,
            serve,
            call,
            imitate,
            serve_nobody,
            name_bridge,
            come_and_go,
            call_without_waiting,
            hear_anew,
            talk_for_ever,
        )
    }
    | {"serve_plain": serve, "serve_baton": serve}
)
