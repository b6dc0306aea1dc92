# SPDX-License-Identifier: Apache-2.0
"""Baton's endpoints in nodes of rclpy: messages are views on shared memory, callbacks are run by rclpy's executors.

A thread, "baton rclpy", waits for the descriptors of all such subscriptions; when one is readable it triggers the guard condition
that stands for the subscription in rclpy's wait set, and leaves it alone until the executor has taken all messages.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

from rclpy.executors import await_or_execute
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.utilities import get_rmw_implementation_identifier
from rclpy.waitable import NumberOfEntities, Waitable

from . import _core
from ._node import Node

_lock = threading.Lock()
_nodes: weakref.WeakKeyDictionary[Any, Node] = weakref.WeakKeyDictionary()
_waker: _Waker | None = None


class _Waker:
    """Triggers a subscription's guard condition once its descriptor is readable, once for each arm()."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._by_descriptor: dict[int, weakref.ref[ViewSubscription]] = {}
        threading.Thread(target=self._run, name="baton rclpy", daemon=True).start()

    def add(self, subscription: ViewSubscription, descriptor: int) -> None:
        self._by_descriptor[descriptor] = weakref.ref(subscription)
        self._epoll.register(descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def arm(self, descriptor: int) -> None:
        self._epoll.modify(descriptor, select.EPOLLIN | select.EPOLLONESHOT)

    def remove(self, descriptor: int) -> None:
        self._epoll.unregister(descriptor)
        self._by_descriptor.pop(descriptor, None)

    def _run(self) -> None:
        while True:
            for descriptor, _ in self._epoll.poll():
                known = self._by_descriptor.get(descriptor)
                subscription = known() if known is not None else None
                if subscription is not None:
                    subscription._ring()
                del subscription


class ViewSubscription(Waitable):  # type: ignore[misc]
    """A subscription of a node of rclpy whose callback gets views. Ends with destroy(), or with its node."""

    def __init__(
        self,
        node: Any,
        subscription: _core.Subscription[Any],
        callback: Callable[[Any], object],
        group: Any,
        waker: _Waker,
    ) -> None:
        super().__init__(group)
        self._node = weakref.ref(node)
        self._subscription: _core.Subscription[Any] | None = subscription
        self._callback = callback
        self._waker = waker
        self._guard: Any = GuardCondition(None, None, context=node.context)
        self._used: Any = self._guard.handle  # by the executor that waits now
        self._index = 0
        self._ready = False
        self._descriptor = subscription.fileno()
        waker.add(self, self._descriptor)
        node.add_waitable(self)

    @property
    def subscription(self) -> _core.Subscription[Any] | None:
        """The subscription of Baton behind this one, for statuses, events and publishers. None after destroy()."""
        return self._subscription

    def destroy(self) -> None:
        """The callback runs no more. Messages that it kept stay valid."""
        with _lock:
            guard, self._guard = self._guard, None
        if guard is None:
            return
        node = self._node()
        if node is not None:
            node.remove_waitable(self)
        self._waker.remove(self._descriptor)
        guard.destroy()
        self._subscription = None

    def _ring(self) -> None:
        guard = self._guard
        if guard is not None:
            # The context may have ended meanwhile.
            with contextlib.suppress(rclpy_implementation.InvalidHandle, rclpy_implementation.RCLError):
                guard.trigger()

    # --- the methods of a Waitable, which rclpy's executors call

    def __enter__(self) -> None:
        guard = self._guard
        if guard is None:
            raise rclpy_implementation.InvalidHandle("this subscription was destroyed")
        self._used = guard.handle
        self._used.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._used.__exit__(*exception)

    def get_num_entities(self) -> Any:
        return NumberOfEntities(num_gcs=1)

    def add_to_wait_set(self, wait_set: Any) -> None:
        self._index = wait_set.add_guard_condition(self._used)
        if self._ready:
            self._ring()

    def is_ready(self, wait_set: Any) -> bool:
        # A guard condition is reset by the wait that saw it, but the executor may find the callback group busy and ask anew.
        if wait_set.is_ready("guard_condition", self._index):
            self._ready = True
        return self._ready

    def take_data(self) -> tuple[Any, Exception | None]:
        # An exception of this function would leave the executor believing that the callback still runs, so execute() raises it.
        self._ready = False
        subscription = self._subscription
        if subscription is None:
            return None, None
        try:
            taken = subscription.take()
        except Exception as error:
            self._ring()  # the next message may be well-formed, or there may be room for it
            return None, error
        if taken is not None:
            self._ring()  # until none is left
        else:
            with contextlib.suppress(FileNotFoundError):  # destroyed meanwhile
                self._waker.arm(self._descriptor)
        return taken, None

    async def execute(self, taken_data: tuple[Any, Exception | None]) -> None:
        taken, error = taken_data
        del taken_data
        if error is not None:
            raise error
        if taken is None:
            return
        subscription = self._subscription  # the callback may destroy it
        try:
            await await_or_execute(self._callback, taken)
        except _core.MalformedMessage:
            # A publisher that changes the message under the callback loses its connection; it does not end the executor.
            if subscription is None or not subscription._expel_changed(taken):
                raise


def _node_of(node: Any) -> Node:
    """The node of Baton that stands beside a node of rclpy, in the domain that rmw_baton_cpp uses for it."""
    with _lock:
        if node not in _nodes:
            domain = None if os.environ.get("BATON_DOMAIN") else node.context.get_domain_id()
            _nodes[node] = Node(node.get_name(), namespace=node.get_namespace(), domain=domain)
        return _nodes[node]


def _qos(qos: Any) -> _core.QoS:
    if isinstance(qos, _core.QoS):
        return qos
    if isinstance(qos, int):
        return _core.QoS(qos)
    if not isinstance(qos, QoSProfile):
        raise TypeError(f"qos is a number of messages, a QoSProfile or a baton.QoS, not {qos!r}")

    def seconds(duration: Any) -> float | None:
        given = duration.nanoseconds / 1e9
        return given if 0 < given < 9e9 else None  # "infinite" is 9223372036.85 s

    return _core.QoS(
        qos.depth or 10,
        reliability="best_effort" if qos.reliability == ReliabilityPolicy.BEST_EFFORT else "reliable",
        history="keep_all" if qos.history == HistoryPolicy.KEEP_ALL else "keep_last",
        durability="transient_local" if qos.durability == DurabilityPolicy.TRANSIENT_LOCAL else "volatile",
        deadline=seconds(qos.deadline),
        lifespan=seconds(qos.lifespan),
    )


def create_subscription(
    node: Any, message_type: Any, topic: str, callback: Callable[[Any], object], qos: Any, callback_group: Any
) -> ViewSubscription:
    global _waker
    if not callable(callback):
        raise TypeError(f"callback is to be called with a message; {callback!r} cannot be")
    if (rmw := get_rmw_implementation_identifier()) != "rmw_baton_cpp":
        warnings.warn(
            f"{topic}: only Baton's own publishers will be heard here, for rclpy runs over {rmw}; "
            "set RMW_IMPLEMENTATION=rmw_baton_cpp (docs/guides/ros2.md)",
            RuntimeWarning,
            stacklevel=3,
        )
    made = _node_of(node).subscribe(node.resolve_topic_name(topic), message_type, qos=_qos(qos))
    with _lock:
        if _waker is None:
            _waker = _Waker()
    return ViewSubscription(node, made, callback, callback_group or node.default_callback_group, _waker)


def create_publisher(
    node: Any, message_type: Any, topic: str, qos: Any, options: dict[str, Any]
) -> _core.Publisher[Any]:
    return _node_of(node).advertise(node.resolve_topic_name(topic), message_type, _qos(qos), **options)


def _after_fork_in_child() -> None:
    global _waker, _lock
    _lock = threading.Lock()
    _waker = None
    _nodes.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
