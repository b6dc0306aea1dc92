# SPDX-License-Identifier: Apache-2.0
"""Programs of rclpy that a hostile peer attacks: attacked_programs.py <name> [arguments]. Each answers every line on its standard input with
a line of JSON, and ends with the input."""

import json
import select
import sys

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.qos import QoSProfile
from rclpy.service_introspection import ServiceIntrospectionState
from rclpy_program import main, spin_until
from std_msgs.msg import String
from std_srvs.srv import SetBool


def attend(node, kind, state):
    """Spins; whatever leaves a spin ends the program. The last report is that of the end."""
    executor = {"waits": SingleThreadedExecutor, "events": EventsExecutor}[kind]()
    executor.add_node(node)
    print("going", flush=True)
    while True:
        executor.spin_once(timeout_sec=0.05)
        if not select.select([sys.stdin], [], [], 0)[0]:
            continue
        if not sys.stdin.readline():
            return state()
        print(json.dumps(state()), flush=True)


def hear(node, kind, raw, depth=100):
    got, lost = [], [0]

    def count(status):
        lost[0] += status.total_count_change

    events = SubscriptionEventCallbacks(message_lost=count)
    node.create_subscription(
        String, "chatter", got.append, QoSProfile(depth=int(depth)), raw=raw == "raw", event_callbacks=events
    )

    def state():
        return {
            "count": len(got),
            "got": [message.data for message in got[-200:]] if raw != "raw" else [],
            "lost": lost[0],
            "publishers": [
                bytes(each.endpoint_gid)[:16].hex()
                for each in node.get_publishers_info_by_topic("/chatter")
                if each.node_name == "talk"
            ],
        }

    return attend(node, kind, state)


def names(node):
    subscription = node.create_subscription(String, "chatter", print, QoSProfile(depth=1))

    def state():
        return {
            "topic": subscription.topic_name,
            "names": sorted(node.get_node_names()),
            "with enclaves": sorted(name for name, _, _ in node.get_node_names_and_namespaces_with_enclaves()),
        }

    return attend(node, "waits", state)


def talk(node, period_s):
    publisher = node.create_publisher(String, "chatter", QoSProfile(depth=100))
    said = [0]

    def say():
        publisher.publish(String(data=f"hello {said[0]}"))
        said[0] += 1

    timer = node.create_timer(float(period_s), say)
    return attend(node, "waits", lambda: {"said": said[0], "timer": timer.timer_period_ns})


def garble(node, count):
    """A publisher whose serialized messages are none."""
    publisher = node.create_publisher(String, "chatter", QoSProfile(depth=100))
    spin_until(node, lambda: publisher.get_subscription_count() > 0)
    for _ in range(int(count)):
        publisher.publish(b"\0\1\0\0\xff\xff\xff\x7fabcd")
    return attend(node, "waits", lambda: {"matched": publisher.get_subscription_count()})


def answer(node, kind):
    """A service that also reports by which gids it knows its clients."""
    count, clients = [0], []

    def respond(request, response):
        count[0] += 1
        response.success, response.message = request.data, f"request {count[0]}"
        return response

    def look(event):
        if event.info.event_type == event.info.REQUEST_RECEIVED:
            clients.append(bytes(int(each) for each in event.info.client_gid).hex())

    service = node.create_service(SetBool, "switch", respond)
    service.configure_introspection(node.get_clock(), QoSProfile(depth=100), ServiceIntrospectionState.METADATA)
    node.create_subscription(SetBool.Event, "switch/_service_event", look, QoSProfile(depth=100))
    return attend(node, kind, lambda: {"count": count[0], "clients": clients})


def busy(node):
    """A server whose first request takes until a line comes."""
    count = [0]

    def respond(request, response):
        if count[0] == 0:
            print(json.dumps({"count": 0}), flush=True)
            sys.stdin.readline()
            print(json.dumps({"count": 0}), flush=True)
        count[0] += 1
        return response

    node.create_service(SetBool, "switch", respond)
    return attend(node, "events", lambda: {"count": count[0]})


def press(node):
    """Each line makes a request, if the one before is answered."""
    client = node.create_client(SetBool, "switch")
    futures = []

    def state():
        if client.service_is_ready() and all(future.done() for future in futures):
            futures.append(client.call_async(SetBool.Request()))
        return {"answered": sum(future.done() for future in futures)}

    return attend(node, "waits", state)


main(globals())
