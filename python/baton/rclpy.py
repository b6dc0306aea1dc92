# SPDX-License-Identifier: Apache-2.0
"""Faster unmodified rclpy programs, under any RMW: `import baton.rclpy; baton.rclpy.accelerate()`.

- Conversion (ATSA's low-layer serialization): the converters that rclpy looks up at a message class are replaced by the
  extension's, which read and fill the generated objects directly.
- High-layer serialization: a publisher whose message is complex (K(x) above the threshold) writes CDR itself and publishes the
  bytes; a subscription to a type with sequences of messages takes the bytes and makes the objects from them. The wire is ordinary
  CDR, so neither end need know of the other.

Classes with fields that the extension does not know are left to rclpy, and so are, with a RuntimeWarning, those whose C struct is laid out
differently from what the extension expects (a later ROS 2's may be).

Programs that may be changed take and make messages in place, by this module's create_subscription() and create_publisher().
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import _core, atsa
from ._plans import Unsupported, plan_of
from ._rosidl_layout import difference_of

if TYPE_CHECKING:
    from ._rclpy_views import ViewSubscription

_LOST_PAUSE_S = 10.0  # between two lines about lost messages, of all subscriptions together

_originals: dict[Any, tuple[Any, Any]] = {}
_converters: dict[Any, Any] = {}  # made once per class: the extension has a fixed stock of functions
_accelerated: dict[Any, Any] = {}  # class -> plan
_patched: list[tuple[Any, str, Any]] = []
_threshold: int | None = None
_algorithm = "adaptive"


def serialize(message: Any) -> bytes:
    """A message of rclpy as CDR, written in one walk (high-layer serialization)."""
    return _core._to_wire(plan_of(type(message)), message, True)


def deserialize(data: bytes, cls: Any) -> Any:
    """The message of rclpy that CDR bytes describe."""
    return _core._from_wire(plan_of(cls), None, data, True)


def complexity(message: Any) -> int:
    """K(x) of a message of rclpy."""
    return _core._complexity(plan_of(type(message)), message)


def accelerate_class(cls: Any) -> bool:
    """Replaces the converters of one message class; False if it is left alone."""
    if cls in _accelerated:
        return _accelerated[cls] is not None
    meta = type(cls)
    plan = None
    try:
        plan = plan_of(cls)
        if meta._TYPE_SUPPORT is None:
            meta.__import_type_support__()
        if cls not in _converters and meta._CONVERT_FROM_PY is not None:
            if different := difference_of(cls, _core._struct_layout(plan)):
                warnings.warn(
                    f"this ROS 2 lays messages out differently from what Baton knows, so rclpy converts them itself: {different}",
                    RuntimeWarning,
                    stacklevel=2,
                )
                _converters[cls] = None
            else:
                _converters[cls] = _core._converters(plan)
        converters = _converters.get(cls)
    except (Unsupported, ImportError, AttributeError):
        converters = None
    if converters is None:
        _accelerated[cls] = None
        return False
    _originals[cls] = (meta._CONVERT_FROM_PY, meta._CONVERT_TO_PY)
    meta._CONVERT_FROM_PY, meta._CONVERT_TO_PY = converters
    _accelerated[cls] = plan
    return True


def _classes_of(kind: Any) -> list[Any]:
    """The message classes of an endpoint that a node shall make: one for a topic, those of request and response for a service."""
    if hasattr(kind, "_fields_and_field_types"):
        return [kind]
    return [half for half in (getattr(kind, "Request", None), getattr(kind, "Response", None)) if half is not None]


def calibrate() -> int:
    """Measures this machine's threshold with the paper's three-layer message: conversion and the RMW's serialization against
    serialization here."""
    from geometry_msgs.msg import PoseStamped
    from nav_msgs.msg import Path
    from rclpy.serialization import serialize_message

    accelerate_class(Path)
    pose = PoseStamped()
    return atsa.find_threshold(lambda k: Path(poses=[pose] * k), serialize_message, serialize)


def threshold() -> int:
    """K(x) above which publishers serialize themselves. Measured once per machine; BATON_ATSA_THRESHOLD sets it."""
    global _threshold
    if _threshold is None:
        try:
            # A message without sequences of messages has nothing to gain: its bytes would be copied once more.
            _threshold = max(0, atsa.cached_threshold("rclpy", calibrate))
        except ImportError:  # no nav_msgs to measure with
            _threshold = atsa.MOST
    return _threshold


@functools.cache
def _logger() -> Any:
    """One, since each counts its own lines."""
    from rclpy.logging import get_logger

    return get_logger("baton.rclpy")


def _say_lost(topic: str, error: Exception) -> None:
    logger = _logger()
    logger.error(f"a message on {topic} is lost: {error}", throttle_duration_sec=_LOST_PAUSE_S)


def _reading(callback: Any, cls: Any, topic: str) -> Any:
    """A callback for raw messages that gives `callback` the object: high-layer deserialization, for types with layers. A message that
    cannot be read is its publisher's fault, so it is lost, as in the RMW, and ends no spin()."""
    plan = plan_of(cls)

    def read(data: bytes) -> Any:
        try:
            try:
                return _core._from_wire(plan, None, data, True)
            except _core.Unsupported:  # from a machine of the other byte order
                from rclpy.serialization import deserialize_message

                return deserialize_message(data, cls)
        except Exception as error:
            _say_lost(topic, error)
            return None

    if inspect.iscoroutinefunction(callback):

        @functools.wraps(callback)
        async def wait(data: bytes, *rest: Any) -> Any:
            message = read(data)
            return None if message is None else await callback(message, *rest)

        return wait

    @functools.wraps(callback)
    def run(data: bytes, *rest: Any) -> Any:
        message = read(data)
        return None if message is None else callback(message, *rest)

    return run


_limit = threshold


def _high(plan: Any, message: Any) -> bool:
    """The selection condition of ATSA's Algorithm 1."""
    if _algorithm != "adaptive":
        return _algorithm == "hsa"
    return _core._complexity(plan, message) > _limit()


def accelerate(threshold: int | None = None, algorithm: str = "adaptive") -> None:
    """From now on, publishers, subscriptions, services and clients that rclpy makes are accelerated. Call it before making them.
    `threshold`: K(x) above which publishers serialize themselves (None: this machine's, measured once). `algorithm`: "adaptive",
    or always "lsa" (this module converts, the RMW serializes) or "hsa" (this module serializes)."""
    global _threshold, _algorithm
    if algorithm not in ("adaptive", "lsa", "hsa"):
        raise ValueError(f"algorithm is 'adaptive', 'lsa' or 'hsa', not {algorithm!r}")
    given = atsa.given_threshold() if threshold is None else atsa.checked_threshold(threshold, "threshold")

    import rclpy.node
    import rclpy.publisher

    _algorithm = algorithm
    if threshold is not None:
        _threshold = given
    if _patched:
        return

    def patch(owner: Any, name: str, replacement: Any) -> None:
        _patched.append((owner, name, getattr(owner, name)))
        setattr(owner, name, replacement)

    def with_type(method: Any) -> Any:
        _, keyword, *_ = inspect.signature(method).parameters  # msg_type, srv_type

        @functools.wraps(method)
        def create(self: Any, *arguments: Any, **options: Any) -> Any:
            kind = arguments[0] if arguments else options.get(keyword)
            for cls in _classes_of(kind) if kind is not None else ():
                accelerate_class(cls)
            return method(self, *arguments, **options)

        return create

    for name in ("create_publisher", "create_service", "create_client"):
        patch(rclpy.node.Node, name, with_type(getattr(rclpy.node.Node, name)))
    subscribe = with_type(rclpy.node.Node.create_subscription)

    @functools.wraps(rclpy.node.Node.create_subscription)
    def create_subscription(
        self: Any, msg_type: Any, topic: Any, callback: Any, *arguments: Any, **options: Any
    ) -> Any:
        known = accelerate_class(msg_type)
        high = known and (
            _algorithm == "hsa"
            or _algorithm == "adaptive"
            and (_core._has_layers(_accelerated[msg_type]) or _limit() < 0)
        )
        # rclpy.wait_for_message() takes the message itself, and returns it to its caller.
        by_hand = getattr(callback, "__module__", None) == "rclpy.wait_for_message"
        if high and not by_hand and not options.get("raw", False):
            callback, options = _reading(callback, msg_type, topic), {**options, "raw": True}
        return subscribe(self, msg_type, topic, callback, *arguments, **options)

    patch(rclpy.node.Node, "create_subscription", create_subscription)

    publish = rclpy.publisher.Publisher.publish

    @functools.wraps(publish)
    def adaptive(self: Any, msg: Any) -> None:
        plan = _accelerated.get(type(msg))
        if plan is not None and isinstance(msg, self.msg_type) and _high(plan, msg):
            msg = _core._to_wire(plan, msg, True)
        publish(self, msg)

    patch(rclpy.publisher.Publisher, "publish", adaptive)


def decelerate() -> None:
    """Gives rclpy its own functions back."""
    while _patched:
        owner, name, original = _patched.pop()
        setattr(owner, name, original)
    for cls in [c for c, plan in _accelerated.items() if plan is not None]:
        meta = type(cls)
        meta._CONVERT_FROM_PY, meta._CONVERT_TO_PY = _originals[cls]
        del _accelerated[cls]


def create_subscription(
    node: Any,
    message_type: Any,
    topic: str,
    callback: Callable[[Any], object],
    qos: Any = 10,
    *,
    callback_group: Any = None,
) -> ViewSubscription:
    """A subscription of a node of rclpy whose callback, run by rclpy's executors, gets views on shared memory as those of
    baton.Node do: arrays are NumPy arrays, nothing is converted. It hears publishers over rmw_baton_cpp and Baton's own.
    `message_type`: a class of rclpy or of baton.msg, or a name; `qos`: a depth, a QoSProfile or a baton.QoS."""
    from . import _rclpy_views

    return _rclpy_views.create_subscription(node, message_type, topic, callback, qos, callback_group)


def create_publisher(node: Any, message_type: Any, topic: str, qos: Any = 10, **options: Any) -> _core.Publisher[Any]:
    """A publisher of Baton on a topic of a node of rclpy: loan() writes in place, publish() takes rclpy's objects too. It is heard
    by subscriptions over rmw_baton_cpp and Baton's own, which rclpy's counts of subscriptions leave out: ask `matched`.
    `options`: those of baton.Node.advertise()."""
    from . import _rclpy_views

    return _rclpy_views.create_publisher(node, message_type, topic, qos, options)
