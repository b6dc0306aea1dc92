# SPDX-License-Identifier: Apache-2.0
"""What rospy and rclpy call things: each name is answered with what to write here (docs/guides/from-ros.md)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

_SEVERITIES = (("debug", "debug"), ("info", "info"), ("warn", "warn"), ("err", "error"), ("fatal", "fatal"))
_LOG = "node.get_logger().{}(text)"
# Names of the modules rospy and rclpy.
_OF_MODULE = {
    "init_node": "node = baton.Node('camera')",
    "create_node": "node = baton.Node('camera')",
    "is_shutdown": "`while True:`; Ctrl-C raises KeyboardInterrupt, also in a wait of Baton",
    "ok": "`while True:`; Ctrl-C raises KeyboardInterrupt, also in a wait of Baton",
    "shutdown": "node.close()",
    "try_shutdown": "node.close()",
    "signal_shutdown": "sys.exit(); an executor's spin() ends with executor.cancel()",
    "on_shutdown": "atexit.register(function), or try/finally around baton.spin(node)",
    "Rate": "node.create_timer(0.1, callback) with baton.spin(node), or time.sleep(0.1) in a loop of your own",
    "sleep": "time.sleep(seconds)",
    "get_published_topics": "node.topics()",
    "wait_for_shutdown": "baton.spin(node)",
    "get_time": "time.time(), which a stamp takes",
    "get_rostime": "time.time(), which a stamp takes",
    "Time": "time.time(), which a stamp takes; `time.time() - message.header.stamp` is seconds",
    "Duration": "a number of seconds",
    "logdebug": _LOG.format("debug"),
    "loginfo": _LOG.format("info"),
    "logwarn": _LOG.format("warn"),
    "logerr": _LOG.format("error"),
    "logfatal": _LOG.format("fatal"),
    **{f"log{word}_once": f"node.get_logger().{verb}(text, once=True)" for word, verb in _SEVERITIES},
    **{f"log{word}_throttle": f"node.get_logger().{verb}(text, throttle_duration_sec=1)" for word, verb in _SEVERITIES},
    "logging": "baton.get_logger('camera')",
    "Subscriber": "node.subscribe('topic', Type, callback, 10)",
    "ServiceProxy": "node.client('name', Type), and client.call({'data': True}, timeout)",
    "wait_for_service": "node.client('name', Type).wait_for_service(timeout)",
    "wait_for_message": "node.subscribe('topic', Type).take(timeout)",
    "get_param": "node.declare_parameter('rate', 30).value",
    "set_param": "node.set_parameters([baton.Parameter('rate', value=50)])",
    "has_param": "node.has_parameter('rate')",
    "delete_param": "node.undeclare_parameter('rate')",
    "search_param": "node.list_parameters(); a node reads its own parameters alone",
    "get_param_names": "node.list_parameters().names",
    "resolve_name": "node.resolve_topic_name('image')",
    "remap_name": "node.resolve_topic_name('image')",
    "get_name": "node.fully_qualified_name",
    "get_namespace": "node.namespace",
    "myargv": "the result of baton.init()",
    "spin_once": "executor = baton.Executor(node), once, and executor.spin_once(timeout) in the loop",
    "spin_until_future_complete": "client.call(request, timeout), or `await baton.aio.call(client, request, timeout)`",
    "executors": "baton.Executor(node, threads=4)",
    "SingleThreadedExecutor": "baton.Executor(node)",
    "MultiThreadedExecutor": "baton.Executor(node, threads=4)",
    "ReentrantCallbackGroup": "baton.CallbackGroup(reentrant=True)",
    "MutuallyExclusiveCallbackGroup": "baton.CallbackGroup()",
    "Context": "nothing in its place; baton.Node('camera', domain=5) has a domain of its own",
    "QoSProfile": "baton.QoS(10, reliability='best_effort')",
    "qos_profile_sensor_data": "baton.QoS(5, reliability='best_effort')",
    "ReliabilityPolicy": "baton.QoS(10, reliability='best_effort')",
    "QoSReliabilityPolicy": "baton.QoS(10, reliability='best_effort')",
    "DurabilityPolicy": "baton.QoS(1, durability='transient_local')",
    "QoSDurabilityPolicy": "baton.QoS(1, durability='transient_local')",
    "HistoryPolicy": "baton.QoS(100, history='keep_all')",
    "QoSHistoryPolicy": "baton.QoS(100, history='keep_all')",
    "ParameterNotDeclaredException": "baton.NotFound",
    "ROSInterruptException": "KeyboardInterrupt",
    "ROSException": "baton.BatonError",
    "ServiceException": "baton.BatonError; after the timeout client.call() returns None",
    "Bag": "`ros2 bag` for ROS 2's nodes; Baton has no recorder yet",
    "TransformListener": "nothing in its place: /tf is a topic of tf2_msgs/TFMessage",
    "node": "from baton import Node",
    "AnyMsg": "baton.message('package/Name')",
    "TransportTerminated": "baton.BatonError",
}

# Modules of rclpy.
_MODULES = {
    "action": "ROS 2's own: actions are not there",
    "callback_groups": "baton.CallbackGroup(), and reentrant=True for a reentrant one",
    "clock": "time.time(), which a stamp takes",
    "context": "nothing in its place; baton.Node('camera', domain=5) has a domain of its own",
    "duration": "a number of seconds",
    "exceptions": "baton.BatonError and its classes, e.g. baton.NotFound",
    "executors": "baton.Executor(node), with threads=4 for several",
    "lifecycle": "ROS 2's own: lifecycle nodes are not there",
    "logging": "baton.get_logger('camera') and baton.LoggingSeverity",
    "node": "from baton import Node",
    "parameter": "from baton import Parameter",
    "publisher": "from baton import Publisher",
    "qos": "from baton import QoS",
    "serialization": "nothing in its place: messages are not serialized; pickle and baton.to_dict(message) work",
    "service": "from baton import Service",
    "subscription": "from baton import Subscription",
    "task": "baton.aio, for event loops",
    "time": "time.time(), which a stamp takes",
    "timer": "from baton import Timer",
    "utilities": "the result of baton.init(), which has the arguments that are not ROS's",
    "wait_for_message": "node.subscribe('topic', Type).take(timeout)",
}


def module_hint(name: str) -> str | None:
    """What to write instead of the module `baton.name` of rclpy."""
    return _MODULES.get(name)


class Missing:
    """A class attribute that is not there, and says what to write. Unlike a __getattr__, it costs nothing where names are found."""

    def __init__(self, what: str, name: str, way: str) -> None:
        self._text = f"{what} has no '{name}'; write {way} (docs/guides/from-ros.md)"

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(self._text)


_OF_PUBLISHER = {
    "get_num_connections": "publisher.matched",
    "get_subscription_count": "publisher.matched",
    "unregister": "del publisher: it ends with its last reference",
    "destroy": "del publisher: it ends with its last reference",
    "topic_name": "publisher.topic",
    "name": "publisher.topic",
}
_OF_SUBSCRIPTION = {
    "get_num_connections": "subscription.matched",
    "get_publisher_count": "subscription.matched",
    "unregister": "node.destroy(subscription)",
    "destroy": "node.destroy(subscription)",
    "topic_name": "subscription.topic",
    "name": "subscription.topic",
}
_OF_ARRAY = dict.fromkeys(("append", "extend", "insert"), "message.field = [1.0, 2.0], or message.field.resize(n)")
_OF_TIMER = {
    "shutdown": "node.destroy(timer), or timer.cancel()",
    "destroy": "node.destroy(timer)",
}
_OF_CLIENT = {
    "call_async": "client.call(request, timeout), or `await baton.aio.call(client, request, timeout)`",
    "service_is_ready": "client.available()",
    "destroy": "del client: it ends with its last reference",
    "srv_name": "client.name",
}
_OF_SERVICE = {
    "shutdown": "node.destroy(service)",
    "destroy": "node.destroy(service)",
    "srv_name": "service.name",
}


def add_missing(publisher: type, subscription: type, timer: type, client: type, service: type, array: type) -> None:
    """Gives these classes the names that rospy's and rclpy's have."""
    for cls, what, names in (
        (publisher, "a publisher", _OF_PUBLISHER),
        (subscription, "a subscription", _OF_SUBSCRIPTION),
        (timer, "a timer", _OF_TIMER),
        (client, "a client", _OF_CLIENT),
        (service, "a service", _OF_SERVICE),
        (array, "an array of numbers", _OF_ARRAY),
    ):
        for name, way in names.items():
            setattr(cls, name, Missing(what, name, way))


def no_attribute(module: str, name: str) -> AttributeError:
    """What a missing name of the module `baton` raises."""
    hint = _OF_MODULE.get(name)
    return AttributeError(
        f"module '{module}' has no attribute '{name}'" + (f"; write {hint} (docs/guides/from-ros.md)" if hint else "")
    )


def no_member(what: str, of: object, name: str, names: Mapping[str, str]) -> AttributeError:
    """What a missing attribute of an object raises."""
    hint = names.get(name)
    return AttributeError(
        f"{what} has no '{name}'" + (f"; write {hint} (docs/guides/from-ros.md)" if hint else ""), name=name, obj=of
    )


_KEYWORDS = {
    "queue_size": "qos=10",
    "qos_profile": "qos=10, or qos=baton.QoS(...)",
    "latch": "qos=baton.QoS(1, durability='transient_local'), on both ends",
    "data_class": "the type as the second argument",
    "msg_type": "the type as the second argument",
    "name": "topic='image'",
    "tcp_nodelay": "nothing in its place: messages pass no socket",
    "buff_size": "nothing in its place: messages pass no socket",
    "callback_args": "functools.partial(callback, args) as the callback",
    "callback_group": "group=baton.CallbackGroup(), as the other arguments of this call",
    "clock": "nothing in its place: timers are of the steady clock",
    "oneshot": "timer.cancel() in the callback",
    "reset": "nothing in its place",
    "namespace": "namespace='left' at Node()",
    "context": "nothing in its place; domain=5 for a domain of its own",
    "allow_undeclared_parameters": "node.declare_parameter('rate', 30) for what the program reads",
    "automatically_declare_parameters_from_overrides": "node.declare_parameter('rate', 30) for what the program reads",
    "start_parameter_services": "nothing in its place: a node without parameters has no services for them",
    "anonymous": "a name with the process's number: baton.Node(f'camera_{os.getpid()}')",
    "log_level": "node.get_logger().set_level(baton.LoggingSeverity.DEBUG)",
    "disable_signals": "baton.init(signals=False)",
}


def refuse_keywords(call: str, given: Mapping[str, Any]) -> None:
    """Raises TypeError for keyword arguments that `call` does not know."""
    for name in given:
        hint = _KEYWORDS.get(name)
        raise TypeError(
            f"{call}() has no argument '{name}'" + (f"; write {hint} (docs/guides/from-ros.md)" if hint else "")
        )


def check_arguments(callback: Any, count: int, call: str, form: str) -> None:
    """Raises TypeError if `callback` cannot be called with `count` arguments."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # of a builtin that does not say
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        name = getattr(callback, "__qualname__", None) or repr(callback)
        raise TypeError(f"{call}: '{name}{signature}' cannot be called with {form} (docs/guides/from-ros.md)") from None
