# SPDX-License-Identifier: Apache-2.0
"""What rclpy programs do, once each: scenarios.py far | near. `far` serves; `near` runs every scenario against it and prints one
line of JSON with what each gave. Nothing in that depends on time, or on which RMW it was."""

import sys
import threading
import time

import rclpy
from lifecycle_msgs.msg import TransitionEvent
from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState
from rcl_interfaces.msg import Log, ParameterEvent, SetParametersResult
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
    qos_profile_parameters,
    qos_profile_sensor_data,
    qos_profile_services_default,
    qos_profile_system_default,
)
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.wait_for_message import wait_for_message
from rclpy_program import LIMIT_S, report_and_end, spin_until
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String, UInt8MultiArray, UInt64
from test_msgs.action import Fibonacci
from test_msgs.srv import BasicTypes

WARM = 1 << 40
RELIABLE, BEST_EFFORT = ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT
VOLATILE, DURABLE = DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL
KEEP_LAST, KEEP_ALL = HistoryPolicy.KEEP_LAST, HistoryPolicy.KEEP_ALL

PROFILES = {
    f"{r.name}_{d.name}_{h.name}".lower(): QoSProfile(depth=50, reliability=r, durability=d, history=h)
    for r in (RELIABLE, BEST_EFFORT)
    for d in (VOLATILE, DURABLE)
    for h in (KEEP_LAST, KEEP_ALL)
} | {
    "deadline": QoSProfile(depth=50, deadline=Duration(seconds=1)),
    "lifespan": QoSProfile(depth=50, lifespan=Duration(seconds=20)),
    "automatic_lease": QoSProfile(depth=50, liveliness_lease_duration=Duration(seconds=5)),
    "manual_lease": QoSProfile(
        depth=50, liveliness=LivelinessPolicy.MANUAL_BY_TOPIC, liveliness_lease_duration=Duration(seconds=5)
    ),
    "depth_1": QoSProfile(depth=1),
    "sensor_data": qos_profile_sensor_data,
    "system_default": qos_profile_system_default,
    "parameters": qos_profile_parameters,
    "services_default": qos_profile_services_default,
}


# --- far ---


class Managed(LifecycleNode):
    def on_configure(self, state):
        self.talk = self.create_lifecycle_publisher(String, "managed_talk", 10)
        self.create_timer(0.05, lambda: self.talk.publish(String(data="active")))
        return super().on_configure(state)

    def on_cleanup(self, state):
        return TransitionCallbackReturn.FAILURE


def far():
    node = rclpy.create_node("far", namespace="/space")
    group = ReentrantCallbackGroup()
    for name, profile in PROFILES.items():
        back = node.create_publisher(UInt64, f"/{name}_back", profile)
        node.create_subscription(UInt64, f"/{name}_out", back.publish, profile)
    large = node.create_publisher(UInt8MultiArray, "/large_back", 2)
    node.create_subscription(UInt8MultiArray, "/large_out", large.publish, 2)
    raw = node.create_publisher(String, "/raw_back", 50)
    node.create_subscription(String, "/raw_out", raw.publish, 50, raw=True)
    history = node.create_publisher(UInt64, "/history", QoSProfile(depth=3, durability=DURABLE))
    for i in range(10):
        history.publish(UInt64(data=i))
    careless = node.create_publisher(String, "/careless", QoSProfile(depth=1, reliability=BEST_EFFORT))
    node.create_timer(0.1, lambda: careless.publish(String(data="careless")))
    clock = node.create_publisher(Clock, "/clock", QoSProfile(depth=1, reliability=BEST_EFFORT))
    node.create_timer(0.1, lambda: clock.publish(Clock(clock=rclpy.time.Time(seconds=4711).to_msg())))

    def twice(request, response):
        response.int32_value = 2 * request.int32_value
        response.string_value = request.string_value[::-1]
        node.get_logger().info(f"asked for {request.int32_value}")
        return response

    node.create_service(BasicTypes, "twice", twice)

    def execute(goal):
        sequence = [0, 1]
        while len(sequence) < goal.request.order:
            sequence.append(sequence[-1] + sequence[-2])
            goal.publish_feedback(Fibonacci.Feedback(sequence=sequence))
            if goal.request.order > 90:
                sequence = [0, 1]
                time.sleep(0.02)
            if goal.is_cancel_requested:
                goal.canceled()
                return Fibonacci.Result(sequence=[-1])
        goal.succeed()
        return Fibonacci.Result(sequence=sequence)

    ActionServer(
        node,
        Fibonacci,
        "fibonacci",
        execute,
        callback_group=group,
        goal_callback=lambda goal: GoalResponse.REJECT if goal.order < 0 else GoalResponse.ACCEPT,
        cancel_callback=lambda _: CancelResponse.ACCEPT,
    )
    node.declare_parameter("color", "red")
    node.declare_parameter("limit", 3)
    node.add_on_set_parameters_callback(
        lambda changes: SetParametersResult(
            successful=all(each.name != "limit" or each.value < 10 for each in changes), reason="too much"
        )
    )
    managed = Managed("managed")
    stopped = []
    node.create_subscription(String, "/stop", stopped.append, 1)
    executor = MultiThreadedExecutor(4)
    executor.add_node(node)
    executor.add_node(managed)
    print("going", flush=True)
    end = time.monotonic() + 2 * LIMIT_S
    while not stopped and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    executor.shutdown()
    return {"stopped": bool(stopped)}, [managed, node]


# --- near ---


def answer(node, future):
    spin_until(node, future.done)
    return future.result()


def matched(publisher, subscription):
    return publisher.get_subscription_count() > 0 and subscription.get_publisher_count() > 0


class Echo:
    """A publisher, and what comes back to it."""

    def __init__(self, node, profile_name):
        self.node, self.profile = node, PROFILES[profile_name]
        # The others lose what comes faster than it is taken.
        self.patient = self.profile.reliability == RELIABLE and profile_name not in ("depth_1", "system_default")
        self.got = []
        self.publisher = node.create_publisher(UInt64, f"/{profile_name}_out", self.profile)
        self.subscription = node.create_subscription(UInt64, f"/{profile_name}_back", self.heard, self.profile)
        self.warm = False

    def heard(self, message):
        if message.data == WARM:
            self.warm = True
        else:
            self.got.append(message.data)

    def matched(self):
        """Asks the other end until it answers: what is matched here may not be matched there yet."""
        if not self.warm and matched(self.publisher, self.subscription):
            self.publisher.publish(UInt64(data=WARM))
        return self.warm

    def run(self, total=8, executor=None):
        for i in range(total):
            self.publisher.publish(UInt64(data=i))
            for _ in range(0 if self.patient else 40):
                if self.got and self.got[-1] == i:
                    break
                executor.spin_once(timeout_sec=0.05) if executor else rclpy.spin_once(self.node, timeout_sec=0.05)
        spin_until(self.node, lambda: self.got and self.got[-1] == total - 1, executor)
        # What the reader of the other end had not met yet is lost without reliability; then it is a part of the rest.
        return self.got == list(range(total)) if self.patient else self.got == sorted(set(self.got))


def topics(node):
    echoes = {name: Echo(node, name) for name in PROFILES}
    spin_until(node, lambda: all(each.matched() for each in echoes.values()))
    found = {}
    for name, each in echoes.items():
        try:
            found[name] = each.run()
        except TimeoutError:
            found[name] = each.got
    return found


def history(node):
    got = []
    node.create_subscription(UInt64, "/history", lambda m: got.append(m.data), QoSProfile(depth=10, durability=DURABLE))
    spin_until(node, lambda: len(got) >= 3)
    return got


def incompatible(node):
    got, policies = [], []
    callbacks = SubscriptionEventCallbacks(incompatible_qos=lambda info: policies.append(str(info.last_policy_kind)))
    node.create_subscription(String, "/careless", got.append, 1, event_callbacks=callbacks)
    spin_until(node, lambda: policies)
    return [len(got), policies]


def large(node):
    got = []
    publisher = node.create_publisher(UInt8MultiArray, "/large_out", 2)
    subscription = node.create_subscription(UInt8MultiArray, "/large_back", got.append, 2)
    message = UInt8MultiArray(data=bytes(range(256)) * 8000)

    def asked():
        if not got and matched(publisher, subscription):
            publisher.publish(message)
        return got

    spin_until(node, asked)
    return [len(got[0].data), got[0] == message]


def string_echo(node, heard, wrap, raw=False):
    """Sends "0" to "4" when the other end answers; `heard` gets what comes back, with what rclpy says of it."""
    warm = []

    def came(message, info=None):
        text = deserialize_message(message, String).data if raw else message.data
        warm.append(text) if text == "warm" else heard.append((text, info))

    callback = (lambda m: came(m)) if raw else (lambda m, info: came(m, info))
    publisher = node.create_publisher(String, "/raw_out", 50)
    subscription = node.create_subscription(String, "/raw_back", callback, 50, raw=raw)

    def asked():
        if not warm and matched(publisher, subscription):
            publisher.publish(wrap(String(data="warm")))
        return warm

    spin_until(node, asked)
    for i in range(5):
        publisher.publish(wrap(String(data=f"{i}")))
    spin_until(node, lambda: len(heard) >= 5)
    node.destroy_publisher(publisher)
    node.destroy_subscription(subscription)


def serialized(node):
    got = []
    string_echo(node, got, serialize_message, raw=True)
    return [text for text, _ in got]


def message_info(node):
    got = []
    string_echo(node, got, lambda message: message)
    infos = [info for _, info in got]
    numbers = [each["publication_sequence_number"] for each in infos]
    times = [each["source_timestamp"] for each in infos]
    return {
        "numbers_follow": numbers == list(range(numbers[0], numbers[0] + 5)),
        "times_rise": times == sorted(times) and times[0] > 0,
        "received_later": all(each["received_timestamp"] >= each["source_timestamp"] > 0 for each in infos),
    }


def acknowledgements(node):
    publisher = node.create_publisher(UInt64, "/reliable_volatile_keep_last_out", 50)
    spin_until(node, lambda: publisher.get_subscription_count())
    for i in range(10):
        publisher.publish(UInt64(data=i))
    return publisher.wait_for_all_acked(Duration(seconds=LIMIT_S))


def waiting_for_one(node):
    found, message = wait_for_message(
        UInt64, node, "/history", qos_profile=QoSProfile(depth=1, durability=DURABLE), time_to_wait=LIMIT_S
    )
    return found and message.data in (7, 8, 9)


def sim_time(node):
    other = rclpy.create_node("dreamer", parameter_overrides=[Parameter("use_sim_time", value=True)])
    spin_until(other, lambda: other.get_clock().now().nanoseconds > 0)
    now = other.get_clock().now().nanoseconds
    other.destroy_node()
    return now


def services(node):
    client = node.create_client(BasicTypes, "/space/twice")
    client.wait_for_service(LIMIT_S)
    futures = [client.call_async(BasicTypes.Request(int32_value=i, string_value=f"ab{i}")) for i in range(8)]
    return [[(r := answer(node, f)).int32_value, r.string_value] for f in futures]


def rosout(node):
    got = []
    node.create_subscription(
        Log, "/rosout", lambda m: got.append((m.name, m.msg)), QoSProfile(depth=100, durability=DURABLE)
    )
    client = node.create_client(BasicTypes, "/space/twice")
    client.wait_for_service(LIMIT_S)
    wanted = ("space.far", "asked for 12345")
    while wanted not in got:
        answer(node, client.call_async(BasicTypes.Request(int32_value=12345)))
    return list(wanted)


def actions(node):
    client = ActionClient(node, Fibonacci, "/space/fibonacci")
    client.wait_for_server(LIMIT_S)
    feedback = []
    goal = answer(
        node,
        client.send_goal_async(
            Fibonacci.Goal(order=6), feedback_callback=lambda m: feedback.append(list(m.feedback.sequence))
        ),
    )
    result = answer(node, goal.get_result_async())
    refused = answer(node, client.send_goal_async(Fibonacci.Goal(order=-1)))
    long_one = answer(node, client.send_goal_async(Fibonacci.Goal(order=100)))
    canceling = answer(node, long_one.cancel_goal_async())
    canceled = answer(node, long_one.get_result_async())
    client.destroy()
    return {
        "result": [result.status, list(result.result.sequence)],
        "feedback_grows": feedback == sorted(feedback, key=len),
        "refused": refused.accepted,
        "canceled": [len(canceling.goals_canceling), canceled.status, list(canceled.result.sequence)],
    }


def parameters(node):
    events = []
    node.create_subscription(
        ParameterEvent,
        "/parameter_events",
        lambda m: events.append([m.node, [p.name for p in m.changed_parameters]]),
        100,
    )
    client = AsyncParameterClient(node, "/space/far")
    client.wait_for_services(LIMIT_S)
    before = answer(node, client.get_parameters(["color"])).values[0].string_value
    changed = answer(node, client.set_parameters([Parameter("color", value="blue"), Parameter("limit", value=99)]))
    after = answer(node, client.get_parameters(["color", "limit"])).values
    listed = answer(node, client.list_parameters(["color", "limit"], 10)).result.names
    described = answer(node, client.describe_parameters(["limit"])).descriptors[0]
    spin_until(node, lambda: ["/space/far", ["color"]] in events)
    answer(node, client.set_parameters([Parameter("color", value="red")]))
    return {
        "before": before,
        "changed": [[each.successful, each.reason] for each in changed.results],
        "after": [after[0].string_value, after[1].integer_value],
        "listed": sorted(listed),
        "described": [described.name, described.type],
    }


def lifecycle(node):
    heard, transitions = [], []
    node.create_subscription(String, "/managed_talk", lambda m: heard.append(m.data), 10)
    node.create_subscription(
        TransitionEvent, "/managed/transition_event", lambda m: transitions.append(m.goal_state.label), 10
    )
    change = node.create_client(ChangeState, "/managed/change_state")
    state = node.create_client(GetState, "/managed/get_state")
    available = node.create_client(GetAvailableTransitions, "/managed/get_available_transitions")
    for client in (change, state, available):
        client.wait_for_service(LIMIT_S)
    spin_until(node, lambda: node.count_publishers("/managed/transition_event"))
    seen = []

    def to(label):
        request = ChangeState.Request()
        request.transition.label = label
        done = answer(node, change.call_async(request)).success
        seen.append([label, done, answer(node, state.call_async(GetState.Request())).current_state.label])

    # Who answers this knows the reader of the events, which was there first.
    answer(node, state.call_async(GetState.Request()))
    to("configure")
    silent = len(heard)
    to("activate")
    spin_until(node, lambda: heard)
    offered = answer(node, available.call_async(GetAvailableTransitions.Request())).available_transitions
    to("deactivate")
    to("cleanup")
    to("shutdown")
    spin_until(node, lambda: transitions[-1:] == ["finalized"])
    return {
        "seen": seen,
        "silent": silent,
        "offered": sorted({each.transition.label for each in offered}),
        "told": [each for each in transitions if each in ("active", "inactive", "finalized")],
    }


def execute(kind):
    node = rclpy.create_node("executed")
    executor = kind()
    executor.add_node(node)
    seen = set()
    node.create_timer(0.01, lambda: seen.add("timer"))
    wanted = {"timer"}
    if kind is not EventsExecutor:  # it has no guard conditions
        node.create_guard_condition(lambda: seen.add("guard")).trigger()
        wanted.add("guard")
    echo = Echo(node, "reliable_volatile_keep_last")
    spin_until(node, echo.matched, executor)
    arrived = echo.run(executor=executor)
    spin_until(node, lambda: wanted <= seen, executor)
    executor.remove_node(node)
    executor.shutdown()
    node.destroy_node()
    return arrived


def executors(_):
    return {kind.__name__: execute(kind) for kind in (SingleThreadedExecutor, MultiThreadedExecutor, EventsExecutor)}


def woken(node):
    """An executor that sleeps is woken by a task of another thread."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    done = []
    thread = threading.Thread(target=lambda: executor.create_task(lambda: done.append("woken")))
    thread.start()
    end = time.monotonic() + LIMIT_S
    while not done and time.monotonic() < end:
        executor.spin_once(timeout_sec=LIMIT_S)
    thread.join()
    executor.remove_node(node)
    executor.shutdown()
    return done


def graph(node):
    def services_of_far():
        return dict(node.get_service_names_and_types_by_node("far", "/space"))

    spin_until(
        node,
        lambda: (
            node.count_publishers("/history")
            and node.count_subscribers("/large_out")
            and ("far", "/space") in node.get_node_names_and_namespaces()
            and "/space/twice" in services_of_far()
        ),
    )
    info = node.get_publishers_info_by_topic("/history")
    subscribers = node.get_subscriptions_info_by_topic("/large_out")
    other = rclpy.create_node("passing")
    spin_until(node, lambda: "passing" in node.get_node_names())
    other.destroy_node()
    spin_until(node, lambda: "passing" not in node.get_node_names())
    return {
        "history": [[i.node_namespace, i.node_name, i.topic_type, i.qos_profile.durability.name] for i in info],
        "hash": str(info[0].topic_type_hash)[:7],
        "enclave": [
            enclave for name, _, enclave in node.get_node_names_and_namespaces_with_enclaves() if name == "far"
        ],
        "large": [[i.node_name, i.topic_type, i.qos_profile.reliability.name] for i in subscribers],
        "type": dict(node.get_topic_names_and_types())["/history"],
        "service": services_of_far()["/space/twice"],
        "publishes": "/history" in dict(node.get_publisher_names_and_types_by_node("far", "/space")),
        "waits": node.wait_for_node("/space/far", LIMIT_S),
    }


SCENARIOS = {
    each.__name__: each
    for each in (
        topics,
        history,
        incompatible,
        large,
        serialized,
        message_info,
        acknowledgements,
        waiting_for_one,
        sim_time,
        services,
        rosout,
        actions,
        parameters,
        lifecycle,
        executors,
        woken,
        graph,
    )
}


def near():
    found = {}
    node = rclpy.create_node("near", start_parameter_services=False)
    for name, scenario in SCENARIOS.items():
        begin = time.monotonic()
        try:
            found[name] = scenario(node)
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        print(f"{name}: {time.monotonic() - begin:.1f} s", file=sys.stderr)
    stop = node.create_publisher(String, "/stop", QoSProfile(depth=1))
    spin_until(node, lambda: stop.get_subscription_count())
    stop.publish(String(data="enough"))
    stop.wait_for_all_acked()
    return found, [node]


def main():
    rclpy.init()
    report, nodes = {"far": far, "near": near}[sys.argv[1]]()
    report_and_end(report, *nodes)


if __name__ == "__main__":
    main()
