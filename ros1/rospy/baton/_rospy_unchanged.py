# SPDX-License-Identifier: Apache-2.0
"""Publishers and subscribers that an unchanged program of rospy makes get a way over Baton (baton/rospy.py, accelerate())."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import weakref
from collections.abc import Callable
from typing import Any

from baton_generator.diagnostics import InterfaceError

from . import _core, _messages
from ._convert import to_foreign
from ._plans import Unsupported, plan_of
from ._rospy_ways import (
    LONGEST_QUEUE,
    Incoming,
    Outgoing,
    as_rospy_makes_it,
    incoming,
    lock,
    note_trailers,
    outgoing,
    rospy,
    trailer_of,
)

genpy: Any = importlib.import_module("genpy")

MOST_HEADERS = 1024  # nodes of a topic of which a header is kept

_patched: list[tuple[Any, str, Any]] = []


class Headers:
    """What rospy has from a connection's beginning, for the publishers of a topic that have none."""

    def __init__(self, topic: str, stock_class: Any) -> None:
        self._topic, self._class = topic, stock_class
        self._known: dict[str, dict[str, str]] = {}

    def of(self, publisher: str) -> dict[str, str]:
        if publisher not in self._known:
            if len(self._known) >= MOST_HEADERS:
                self._known.clear()  # made again
            self._known[publisher] = {
                "callerid": publisher,
                "topic": self._topic,
                "type": self._class._type,
                "md5sum": self._class._md5sum,
                "message_definition": self._class._full_text,
                "latching": "0",
            }
        return self._known[publisher]


def _class_for(end: Any) -> type[_core.Message] | None:
    """Baton's class for an end of rospy that can be accelerated."""
    # /rosout has another type in Baton's domain. Before init_node() there is no name for a node.
    if as_rospy_makes_it.depth or not rospy.core.is_initialized() or end.resolved_name.startswith("/rosout"):
        return None
    if end.data_class is not end.impl.data_class:  # what comes first on a topic decides for the process
        return None
    try:
        plan_of(end.data_class)
        return _messages.message(end.data_class)
    except (Unsupported, ImportError, AttributeError, InterfaceError):
        return None


def _add_outgoing(end: Any, latch: bool, queue_size: int | None) -> None:
    own = _class_for(end)
    with lock:
        # A listener of the program may send to single peers, by TCPROS.
        way = outgoing.get(end.impl)
        if way is not None and latch:
            way.latch_from_now()
        if own is None or way is not None or end.impl.subscriber_listeners:
            return
        qos = _core.QoS(1, durability="transient_local") if latch else _core.QoS(queue_size or LONGEST_QUEUE)
        # A message that waits is not given up for one that can go by TCPROS.
        outgoing[end.impl] = Outgoing(end.impl, own, latch, qos, {"policy": "none"})


def _add_incoming(end: Any) -> None:
    own = _class_for(end)
    with lock:
        if own is None or end.impl in incoming:
            return
        impl = weakref.ref(end.impl)
        stock_class = end.data_class
        headers = Headers(end.resolved_name, stock_class)

        def deliver(message: Any, publisher: str) -> None:
            topic = impl()
            if topic is None:
                return
            stock = to_foreign(message, stock_class, None)
            stock._connection_header = headers.of(publisher)
            for callback, arguments in topic.callbacks or ():
                topic._invoke_callback(stock, callback, arguments)

        depth = end.impl.queue_size or LONGEST_QUEUE
        note_trailers(stock_class)
        way = Incoming(end.resolved_name, own, _core.QoS(depth), deliver)
        incoming[end.impl] = way
        close = end.impl.close

        def ended() -> None:
            close()
            way.end()

        end.impl.close = ended


def accelerate_ends() -> None:
    """From now on, publishers and subscribers that rospy makes have a way over Baton."""
    topics = rospy.topics
    if _patched or os.environ.get("BATON_ROS1") == "0":
        return

    def patch(owner: Any, name: str, replacement: Any) -> None:
        _patched.append((owner, name, getattr(owner, name)))
        setattr(owner, name, functools.wraps(getattr(owner, name))(replacement))

    def added(add: Callable[..., None], end: Any, *arguments: Any) -> None:
        try:
            add(end, *arguments)
        except _core.BatonError as error:
            rospy.logwarn(f"baton: {end.resolved_name} goes by TCPROS alone: {error}")

    make_publisher, make_subscriber = topics.Publisher.__init__, topics.Subscriber.__init__
    signature = inspect.signature(make_publisher)

    def init_publisher(self: Any, *arguments: Any, **options: Any) -> None:
        make_publisher(self, *arguments, **options)
        given = signature.bind(self, *arguments, **options).arguments
        added(_add_outgoing, self, bool(given.get("latch")), given.get("queue_size"))

    def init_subscriber(self: Any, *arguments: Any, **options: Any) -> None:
        make_subscriber(self, *arguments, **options)
        added(_add_incoming, self)

    publish = topics._PublisherImpl.publish

    def publish_both_ways(self: Any, message: Any, connection_override: Any = None) -> Any:
        way = outgoing.get(self)
        if way is None or connection_override is not None or self.closed or type(message) is not self.data_class:
            return publish(self, message, connection_override)
        try:
            way.publish_stock(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise genpy.SerializationError(str(error)) from error
        return True

    receive = topics._SubscriberImpl.receive_callback

    def receive_callback(self: Any, messages: Any, connection: Any) -> None:
        way = incoming.get(self)
        if way is None:
            receive(self, messages, connection)
            return
        for message in messages:
            trailer = trailer_of(message)
            one = functools.partial(receive, self, [message], connection)
            if trailer is not None:
                way.in_order(trailer, one)
            elif not way.has(connection.callerid_pub):
                one()

    patch(topics.Publisher, "__init__", init_publisher)
    patch(topics.Subscriber, "__init__", init_subscriber)
    patch(topics._PublisherImpl, "publish", publish_both_ways)
    patch(topics._SubscriberImpl, "receive_callback", receive_callback)


def decelerate_ends() -> None:
    """Gives rospy its own functions back. Ends that were made before keep their way of Baton until they are unregistered."""
    while _patched:
        owner, name, original = _patched.pop()
        setattr(owner, name, original)
