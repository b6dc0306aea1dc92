# SPDX-License-Identifier: Apache-2.0
"""Baton's endpoints in programs of rospy: messages are views on shared memory, stock nodes take part by TCPROS.

Each end is one of Baton's domain and, beside it, an ordinary one of the ROS topic. Which messages take which way:
docs/format/tcpros.md, "Types of Baton beside TCPROS"; ros1/api/ is the same in C++.
"""

from __future__ import annotations

import importlib
import io
import os
import select
import socket
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from . import _core, _messages
from ._convert import to_foreign
from ._node import Node
from ._ros1_domain import domain_of_master

rospy: Any = importlib.import_module("rospy")  # not `import`: type checkers would take baton/rospy.py
importlib.import_module("rospy.msg")
rosgraph: Any = importlib.import_module("rosgraph")
roslib_message: Any = importlib.import_module("roslib.message")

LONGEST_QUEUE = 1000  # for a queue without a bound, which Baton does not have

_lock = threading.RLock()
_node: weakref.ref[Node] | None = None


def node() -> Node:
    """Baton's node beside this program's. Lives while an end uses it."""
    global _node
    with _lock:
        known = _node() if _node is not None else None
        if known is None:
            if not rospy.core.is_initialized():
                raise rospy.ROSException("baton.rospy: call rospy.init_node() first")
            namespace, _, name = rospy.get_name().rpartition("/")
            chosen = os.environ.get("BATON_DOMAIN")
            known = Node(
                name,
                namespace=namespace,
                domain=None if chosen else domain_of_master(rosgraph.get_master_uri(), socket.gethostname()),
                use_global_arguments=False,  # rospy has applied the rules of the command line
                enable_rosout=False,  # rospy's loggers have ROS 1's /rosout
            )
            _node = weakref.ref(known)
        return known


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


def _ros_name(name: str) -> str:
    return name if name.startswith("/") else "/" + name


class _Readers:
    """The subscriptions of Baton on a topic, by node, as far as all of a node's subscriptions are Baton's."""

    def __init__(self, own: Node, topic: str) -> None:
        self._node, self._topic = own, topic
        self._seen = -1
        self._by_node: dict[str, list[bytes]] = {}

    def of(self, name: str) -> list[bytes]:
        version = self._node._graph_version()
        if version != self._seen:
            self._seen, self._by_node = version, {}
            mixed = set()
            for end in self._node.endpoints():
                if end.is_publisher:
                    continue
                if end.topic == self._topic:
                    self._by_node.setdefault(_ros_name(end.node), []).append(end.gid)
                elif end.topic == self._topic + "/_stock":
                    mixed.add(_ros_name(end.node))
            for each in mixed:
                self._by_node.pop(each, None)
        return self._by_node.get(name, [])


class Publisher:
    """Publishes to Baton's subscriptions in shared memory and, serialized, to stock ones. Ends with unregister()."""

    def __init__(self, topic: str, message_type: Any, queue_size: int, latch: bool, options: dict[str, Any]) -> None:
        if not isinstance(queue_size, int) or isinstance(queue_size, bool) or queue_size < 0:
            raise TypeError(f"queue_size is a number of messages, not {queue_size!r}")
        own, self._stock_class = _classes(message_type)
        self._node = node()
        self.name = rospy.resolve_name(topic)
        depth = queue_size or LONGEST_QUEUE
        qos = _core.QoS(1, durability="transient_local") if latch else _core.QoS(depth)
        self._publisher: _core.Publisher[Any] | None = self._node.advertise(self.name, own, qos, **options)
        self._readers = _Readers(self._node, self.name)
        self._latch = latch
        self._last: tuple[bytes, set[bytes]] | None = None  # latched, and the subscriptions that have it
        self._numbered = any(name == "header" for name in getattr(self._stock_class, "__slots__", ())[:1])
        self._number = 0
        self._order = threading.RLock()  # of messages on both ways
        self._greeted: list[Any] = []
        # The latched message is ours to send: rospy's own latch would send it to subscriptions of Baton, too.
        self._stock = rospy.Publisher(
            self.name,
            self._stock_class,
            queue_size=queue_size,
            headers={"latching": "1"} if latch else None,
            subscriber_listener=_Listener(self) if latch else None,
        )
        with _lock:
            _alive.add(self)  # as rospy's publishers, which need not be kept

    @property
    def message_type(self) -> type[_core.Message]:
        return self._own.message_type

    @property
    def own(self) -> _core.Publisher[Any]:
        """Baton's side: counters, statuses, memory."""
        return self._own

    @property
    def _own(self) -> _core.Publisher[Any]:
        if self._publisher is None:
            raise rospy.ROSException("publish() to an unregistered() handle")
        return self._publisher

    def get_num_connections(self) -> int:
        """Subscriptions of Baton, and processes of stock subscribers."""
        with self._order:
            return self._own.matched + len(self._unserved(set(self._own._matched_readers())))

    def loan(self) -> Any:
        """A new message in shared memory, to be filled and published."""
        return self._own.loan()

    def publish(self, message: Any) -> None:
        """Hands a loan over without a copy. Any other message, such as rospy's, is copied once."""
        own = self._own
        loan = message
        if not isinstance(message, own.message_type) or _core.is_read_only(message) or not _is_loan(message):
            loan = own.loan()
            _core._assign(loan, message)
        with self._order:
            if self._numbered:
                loan.header.seq = self._number % 2**32
            matched = set(own._matched_readers())
            stock = None
            if self._latch or self._unserved(matched):
                stock = to_foreign(loan, self._stock_class, None)
            own.publish(loan)
            self._number += 1
            if stock is None:
                return
            data = self._serialized(stock)
            # A subscription that Baton began to serve meanwhile may have the message already.
            matched.update(own._matched_readers())
            if self._latch:
                self._last = data, matched
            for connection in self._unserved(matched):
                _write(connection, data)

    def unregister(self) -> None:
        """Ends both ends. Messages that subscriptions keep stay valid."""
        with self._order:
            if self._publisher is None:
                return
            self._publisher = None
        self._stock.unregister()
        with _lock:
            _alive.discard(self)

    def _serialized(self, stock: Any) -> bytes:
        buffer = io.BytesIO()
        # rospy's publishers number messages from 1, roscpp's and Baton's from 0.
        rospy.msg.serialize_message(buffer, (self._number - 1) % 2**32, stock)
        return buffer.getvalue()

    def _unserved(self, matched: set[bytes]) -> list[Any]:
        """The connections whose node gets a message from nobody else. `matched`: the subscriptions that Baton serves."""
        impl = self._stock.impl
        found = []
        for connection in impl.connections if impl is not None else ():
            readers = self._readers.of(connection.endpoint_id)
            if not readers or not matched.issuperset(readers):
                found.append(connection)
        return found

    def _greet(self) -> None:
        """Sends the latched message to connections that are new, unless Baton handed it to their node."""
        with self._order:
            connections = list(self._stock.impl.connections)
            fresh = [each for each in connections if all(each is not known for known in self._greeted)]
            self._greeted = connections
            if self._last is None:
                return
            data, handed = self._last
            for connection in fresh:
                readers = self._readers.of(connection.endpoint_id)
                if not readers or not handed.issuperset(readers):
                    _write(connection, data)


class _Listener(rospy.topics.SubscribeListener):  # type: ignore[misc]
    def __init__(self, publisher: Publisher) -> None:
        self._publisher = weakref.ref(publisher)

    def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
        publisher = self._publisher()
        if publisher is not None and hasattr(publisher, "_stock"):
            publisher._greet()


def _is_loan(message: Any) -> bool:
    return _core.in_shared_memory(_core.address(message))


def _write(connection: Any, data: bytes) -> None:
    try:
        if not rospy.is_shutdown():
            connection.write_data(data)
    except Exception:  # as rospy does: whatever is wrong with a connection ends it
        rospy.logdebug("baton: the connection to [%s] ended: %s", connection.endpoint_id, traceback.format_exc())
        connection.close()


class Subscription:
    """Calls a callback with a view for each message, whoever publishes. Ends with unregister(), or with the program."""

    def __init__(
        self, topic: str, message_type: Any, callback: Callable[[Any], object], queue_size: int | None, held: int
    ) -> None:
        if not callable(callback):
            raise TypeError(f"callback is to be called with a message; {callback!r} cannot be")
        self._own_class, self._stock_class = _classes(message_type)
        self._node = node()
        self.name = rospy.resolve_name(topic)
        self._callback = callback
        self._one_at_a_time = threading.RLock()  # a callback may publish to its own topic
        self._lock = threading.Lock()
        self._reached: dict[bytes, str] = {}  # publishers of which a message of Baton came, and their nodes
        self._seen = -1
        self._stock_mark: _core.Subscription[Any] | None = None
        self._ended = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._subscription = self._node.subscribe(
            self.name, self._own_class, qos=_core.QoS(queue_size or LONGEST_QUEUE, held=held)
        )
        self._stock = rospy.Subscriber(self.name, self._stock_class, self._take_stock, queue_size=queue_size)
        with _lock:
            _own_callbacks[self.name] = _own_callbacks.get(self.name, 0) + 1
        self._thread = threading.Thread(target=self._pull, name=f"baton {self.name}", daemon=True)
        self._thread.start()
        rospy.on_shutdown(self.unregister)

    @property
    def message_type(self) -> type[_core.Message]:
        return self._own_class

    @property
    def statuses(self) -> _core.Statuses:
        """Baton's side."""
        return self._subscription.statuses

    def get_num_connections(self) -> int:
        """Publishers of Baton and stock ones."""
        stock = 0 if self._ended else self._stock.get_num_connections()
        return max(stock, self._subscription.matched)

    def unregister(self) -> None:
        """The callback runs no more when this returns, unless it is called by the callback itself."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
        os.eventfd_write(self._wake, 1)
        self._stock.unregister()
        with _lock:
            _own_callbacks[self.name] -= 1
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._stock_mark = None

    def _pull(self) -> None:
        """LOT's puller."""
        poll = select.poll()
        poll.register(self._subscription.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while not self._ended:
            try:
                message = self._subscription.take()
                if message is None:
                    poll.poll()
                    continue
                self._note(_core.info(message).publisher)
                self._deliver(message)
                del message
            except _core.HeldLimit:  # no descriptor says when the program gives a message back
                poll.poll(5)
            except _core.BatonError as error:
                rospy.logerr_throttle(1.0, f"baton: no message on {self.name}: {error}")
        os.close(self._wake)

    def _deliver(self, message: Any) -> None:
        with self._one_at_a_time:
            if self._ended:
                return
            try:
                self._callback(message)
            except Exception:
                rospy.logerr("bad callback: %s\n%s", self._callback, traceback.format_exc())

    def _take_stock(self, stock: Any) -> None:
        header = getattr(stock, "_connection_header", None) or {}
        if not self._has(header.get("callerid", "")):
            self._deliver(self._own_class(stock))

    def _has(self, name: str) -> bool:
        """Whether messages of this node come over Baton, so that its serialized ones are older than those, or doubles."""
        if self._subscription.statuses.refused_now > 0:
            return False
        with self._lock:
            return name in self._reached.values()

    def _note(self, publisher: bytes) -> None:
        """Records that `publisher` reaches us over Baton, and looks for stock subscriptions beside us."""
        impl = self._stock.impl
        callbacks = len(impl.callbacks or ()) if impl is not None else 0
        version = self._node._graph_version()
        with self._lock:
            if callbacks <= _own_callbacks.get(self.name, 0):
                self._stock_mark = None
            elif self._stock_mark is None:
                nothing = _messages.message_from_text("baton_ros1/Stock", "")
                self._stock_mark = self._node.subscribe(self.name + "/_stock", nothing, qos=1)
            if version == self._seen and publisher in self._reached:
                return
            self._seen = version
            wanted = {*self._reached, publisher}
            self._reached = {publisher: ""} | {
                end.gid: _ros_name(end.node) for end in self._node.endpoints() if end.is_publisher and end.gid in wanted
            }


_alive: set[Publisher] = set()
_own_callbacks: dict[str, int] = {}  # how many of rospy's callbacks on a topic are ours
