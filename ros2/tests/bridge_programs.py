# SPDX-License-Identifier: Apache-2.0
"""Programs of rclpy at the two sides of a bridge: bridge_programs.py <name> [arguments]."""

import sys
import time

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy_program import main, spin_until
from std_msgs.msg import String
from std_srvs.srv import SetBool

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


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


def serve(node, name):
    def answer(request, response):
        response.success, response.message = not request.data, name
        return response

    node.create_service(SetBool, "switch", answer)
    print("here", flush=True)
    spin_until(node, lambda: node.count_subscribers("stop") > 0)
    return {}


def call(node, count):
    client = node.create_client(SetBool, "switch")
    spin_until(node, client.service_is_ready)
    answers = []
    for i in range(int(count)):
        future = client.call_async(SetBool.Request(data=i % 2 == 0))
        spin_until(node, future.done)
        answers.append([future.result().success, future.result().message])
    return {"answers": answers}


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
            chat,
            latch,
            hear_latched,
            talk_alone,
            see,
            serve,
            call,
            serve_nobody,
            call_without_waiting,
            hear_anew,
            talk_for_ever,
        )
    }
)
