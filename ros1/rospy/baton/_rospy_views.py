# SPDX-License-Identifier: Apache-2.0
"""Baton's endpoints in programs of rospy that make and take views (baton/rospy.py), beside rospy's own."""

from __future__ import annotations

import functools
import importlib
import threading
import traceback
from collections.abc import Callable
from typing import Any

from . import _core, _messages
from ._ros1_domain import WORDS
from ._rospy_ways import (
    LONGEST_QUEUE,
    Incoming,
    Outgoing,
    as_rospy_makes_it,
    incoming,
    lock,
    node,
    note_trailers,
    rospy,
    trailer_of,
)

roslib_message: Any = importlib.import_module("roslib.message")


def _classes(message_type: Any) -> tuple[type[_core.Message], Any]:
    """Baton's class and rospy's, of the same definition."""
    if hasattr(message_type, "_full_text"):
        return _messages.message(message_type), message_type
    own = message_type if isinstance(message_type, type) and issubclass(message_type, _core.Message) else None
    if own is None and not isinstance(message_type, str):
        raise TypeError(
            f'{message_type!r} is no message type: give a class of rospy or of baton.msg, or "package/Name"'
        )
    name = message_type if own is None else _messages.struct_of(own).full_name
    stock = roslib_message.get_message_class(name)
    if stock is None:
        raise rospy.ROSException(f"rospy has no class of {name}: install or build its ROS 1 package")
    same = _messages.message(stock)
    if own is not None and _messages.struct_of(own).hash != _messages.struct_of(same).hash:
        raise TypeError(
            f"{name}: the fields of this class of baton.msg are not those of ROS 1's; give the class of rospy"
        )
    return own or same, stock


class Publisher:
    """Publishes to Baton's subscriptions in shared memory and, serialized, to stock ones. Ends with unregister()."""

    def __init__(self, topic: str, message_type: Any, queue_size: int, latch: bool, options: dict[str, Any]) -> None:
        if not isinstance(queue_size, int) or isinstance(queue_size, bool) or queue_size < 0:
            raise TypeError(f"queue_size is a number of messages, not {queue_size!r}")
        own, stock_class = _classes(message_type)
        node()  # says first if rospy.init_node() was not called
        self.name = rospy.resolve_name(topic)
        headers = {"latching": "1"} if latch else None
        with as_rospy_makes_it:
            self._stock = rospy.Publisher(self.name, stock_class, queue_size=queue_size, headers=headers)
        qos = _core.QoS(1, durability="transient_local") if latch else _core.QoS(queue_size or LONGEST_QUEUE)
        try:
            self._way: Outgoing | None = Outgoing(self._stock.impl, own, latch, qos, options)
        except BaseException:
            self._stock.unregister()
            raise
        with lock:
            _alive.add(self)  # as rospy's publishers, which need not be kept

    @property
    def message_type(self) -> type[_core.Message]:
        return self.own.message_type

    @property
    def own(self) -> _core.Publisher[Any]:
        """Baton's side: counters, statuses, memory."""
        return self._used().own

    def _used(self) -> Outgoing:
        if self._way is None:
            raise rospy.ROSException(f"the publisher of {self.name} was unregistered")
        return self._way

    def get_num_connections(self) -> int:
        """Subscriptions of Baton, and processes of stock subscribers."""
        way = self._used()
        return way.own.matched + way.unserved()

    def loan(self) -> Any:
        """A new message in shared memory, to be filled and published."""
        return self.own.loan()

    def publish(self, message: Any) -> None:
        """Hands a loan over without a copy. Any other message, such as rospy's, is copied once."""
        way = self._used()
        if not isinstance(message, way.own.message_type) or not _is_loan(message):
            loan = way.own.loan()
            _core._assign(loan, message)
            message = loan
        way.publish(message)

    def unregister(self) -> None:
        """Ends both ends. Messages that subscriptions keep stay valid."""
        with lock:
            way, self._way = self._way, None
            _alive.discard(self)
        if way is not None:
            self._stock.unregister()


def _is_loan(message: Any) -> bool:
    return not _core.is_read_only(message) and _core.in_shared_memory(_core.address(message))


class Subscription:
    """Calls a callback with a view for each message, whoever publishes. Ends with unregister(), or with the program."""

    def __init__(
        self, topic: str, message_type: Any, callback: Callable[[Any], object], queue_size: int | None, held: int
    ) -> None:
        if not callable(callback):
            raise TypeError(f"callback is to be called with a message; {callback!r} cannot be")
        self._own_class, stock_class = _classes(message_type)
        self._node = node()
        self.name = rospy.resolve_name(topic)
        self._callback = callback
        self._one_at_a_time = threading.RLock()  # a callback may publish to its own topic
        self._stock_mark: _core.Subscription[Any] | None = None
        self._stock: Any = None
        self._ended = False
        note_trailers(stock_class)
        qos = _core.QoS(queue_size or LONGEST_QUEUE, held=held)
        self._way = Incoming(self.name, self._own_class, qos, self._take)
        try:
            with as_rospy_makes_it:
                self._stock = rospy.Subscriber(self.name, stock_class, self._take_stock, queue_size=queue_size)
        except BaseException:
            self._way.end()
            raise
        with lock:
            _own_callbacks[self.name] = _own_callbacks.get(self.name, 0) + 1
            _alive.add(self)
            _end_with_the_program()

    @property
    def message_type(self) -> type[_core.Message]:
        return self._own_class

    @property
    def statuses(self) -> _core.Statuses:
        """Baton's side."""
        subscription = self._way.subscription
        if subscription is None:
            raise rospy.ROSException(f"the subscription of {self.name} was unregistered")
        return subscription.statuses

    def get_num_connections(self) -> int:
        """Publishers of Baton and stock ones."""
        subscription = self._way.subscription
        return 0 if subscription is None else max(self._stock.get_num_connections(), subscription.matched)

    def unregister(self) -> None:
        """The callback runs no more when this returns, unless it is called by the callback itself."""
        if self._end():
            with self._one_at_a_time:  # waits for a callback that runs
                pass

    def _end(self) -> bool:
        """False in a child after fork: the subscription is its parent's."""
        if self._way.is_of_parent():
            return False
        with lock:
            if self._ended:
                return True
            self._ended = True
            self._stock_mark = None
            _own_callbacks[self.name] -= 1
            _alive.discard(self)
        self._stock.unregister()
        self._way.end()
        return True

    def _take(self, message: Any, publisher: str) -> None:
        self._look_for_stock()
        self._deliver(message)

    def _take_stock(self, stock: Any) -> None:
        header = getattr(stock, "_connection_header", None) or {}
        trailer = trailer_of(stock)
        if trailer is not None:
            self._way.in_order(trailer, lambda: self._deliver(self._own_class(stock)))
        elif not self._way.has(header.get("callerid", "")):
            self._deliver(self._own_class(stock))

    def _deliver(self, message: Any) -> None:
        with self._one_at_a_time:
            if self._ended:
                return
            try:
                self._callback(message)
            except Exception as error:
                way = getattr(self, "_way", None)  # none yet, if the message was there before the constructor's end
                subscription = way.subscription if way is not None else None
                # A publisher that changes the message under the callback loses its connection.
                if isinstance(error, _core.MalformedMessage) and subscription is not None:
                    if subscription._expel_changed(message):
                        return
                rospy.logerr("bad callback: %s\n%s", self._callback, traceback.format_exc())

    def _look_for_stock(self) -> None:
        """Stock subscriptions beside us share our connections, so publishers are to go on writing them."""
        with lock:
            impl = self._stock.impl if self._stock is not None else None
            callbacks = len(impl.callbacks or ()) if impl is not None else 0
            if self._ended or callbacks <= _own_callbacks.get(self.name, 0) or impl in incoming:
                self._stock_mark = None
            elif self._stock_mark is None:
                nothing = _messages.message_from_text("baton_ros1/Stock", "")
                self._stock_mark = self._node.subscribe(self.name + WORDS["kStockPart"], nothing, qos=1)


_alive: set[Publisher | Subscription] = set()
_own_callbacks: dict[str, int] = {}  # how many of rospy's callbacks on a topic are ours


@functools.cache
def _end_with_the_program() -> None:
    """Subscriptions end when rospy shuts down. It waits for no callback: callbacks may wait for rospy.is_shutdown(), which is false
    until this function has returned."""

    def end_all() -> None:
        for each in tuple(_alive):
            if isinstance(each, Subscription):
                each._end()

    rospy.on_shutdown(end_all)
