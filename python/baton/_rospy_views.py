# SPDX-License-Identifier: Apache-2.0
"""Baton's endpoints in programs of rospy, beside rospy's own: in programs that make and take views, and in unchanged ones.

Each end is one of Baton's domain and, beside it, an ordinary one of the ROS topic. Which messages take which way:
docs/format/tcpros.md, "Types of Baton beside TCPROS"; ros1/api/ is the same in C++.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import io
import os
import select
import socket
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from baton_generator.diagnostics import InterfaceError

from . import _core, _messages
from ._convert import to_foreign
from ._node import Node
from ._plans import Unsupported, plan_of
from ._ros1_domain import domain_of_master

rospy: Any = importlib.import_module("rospy")  # not `import`: type checkers would take baton/rospy.py
importlib.import_module("rospy.topics")  # and rospy.msg
genpy: Any = importlib.import_module("genpy")
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


class _Outgoing:
    """The way of a topic's messages out of this process: each subscription gets a message from Baton or by TCPROS."""

    def __init__(
        self, impl: Any, own: type[_core.Message], first: int, latch: bool, qos: _core.QoS, options: Any
    ) -> None:
        self._impl = weakref.ref(impl)
        self._stock_class = impl.data_class
        self.node = node()
        self.own = self.node.advertise(impl.resolved_name, own, qos, **options)
        self._readers = _Readers(self.node, impl.resolved_name)
        self._latch = latch
        # Latched: the bytes, the subscriptions that Baton gave the message to, and the connections that have the bytes.
        self._last: tuple[bytes, set[bytes], list[Any]] | None = None
        self._numbered = "header" in getattr(self._stock_class, "__slots__", ())[:1]
        self._number = first
        self._order = threading.RLock()  # of messages on both ways
        self._greeted: list[Any] = []
        if latch:
            impl.add_subscriber_listener(_Listener(self))
            self.own.on_event(_greeting(self))

    def latch_from_now(self) -> None:
        """A later publisher of the program latches; rospy has one end for all of a topic's."""
        impl = self._impl()
        with self._order:
            if not self._latch and impl is not None:
                self._latch = True
                self._greeted = list(impl.connections)
                impl.add_subscriber_listener(_Listener(self))

    def publish(self, loan: Any) -> None:
        with self._order:
            if self._numbered:
                loan.header.seq = self._number % 2**32
            matched = set(self.own._matched_readers())
            stock = None
            if self._latch or self._unserved(matched):
                stock = to_foreign(loan, self._stock_class, None)
            sequence = self.own.publish(loan)
            if stock is None:
                self._number += 1
            else:
                self._send(stock, self._readers_of(sequence))

    def publish_stock(self, stock: Any) -> None:
        with self._order:
            matched = set(self.own._matched_readers())
            if matched or self._latch:
                try:
                    loan: Any = self.own.loan()
                    _core._assign(loan, stock)
                    if self._numbered:
                        loan.header.seq = self._number % 2**32
                    matched = self._readers_of(self.own.publish(loan))
                except (_core.OutOfMemory, _core.LimitReached, _core.MessageTooLarge) as error:
                    rospy.logerr_throttle(
                        1.0, f"baton: a message on {self.own.topic} is lost for {len(matched)}: {error}"
                    )
            if self._latch or self._unserved(matched):
                self._send(stock, matched)
            else:
                self._number += 1

    def unserved(self) -> int:
        with self._order:
            return len(self._unserved(set(self.own._matched_readers())))

    def _readers_of(self, sequence: int) -> set[bytes]:
        """The subscriptions that Baton has given this message, the newest: some may have come while it was published."""
        if self._latch:
            for each in self.own._matched_readers():
                self.own._hand_newest_to(each)
        return set(self.own._readers_of(sequence))

    def greet(self) -> None:
        """Gives the latched message to connections that are new, and to new subscriptions of nodes that got it by Baton: rospy makes no
        connection for a second subscription of a node."""
        impl = self._impl()
        if impl is None:
            return
        with self._order:
            connections = list(impl.connections)
            greeted, self._greeted = self._greeted, connections
            if self._last is None:
                return
            data, handed, written = self._last
            for connection in connections:
                if _is_among(connection, written):
                    continue  # its node has the bytes, for later subscriptions, too
                readers = self._readers.of(connection.endpoint_id)
                handed.update(each for each in readers if each not in handed and self.own._hand_newest_to(each))
                if not _is_among(connection, greeted) and (not readers or not handed.issuperset(readers)):
                    written.append(connection)
                    _write(connection, data)

    def _send(self, stock: Any, matched: set[bytes]) -> None:
        buffer = io.BytesIO()
        rospy.msg.serialize_message(buffer, self._number % 2**32, stock)
        self._number += 1
        data = buffer.getvalue()
        unserved = self._unserved(matched)
        if self._latch:
            self._last = data, matched, unserved
        for connection in unserved:
            _write(connection, data)

    def _unserved(self, matched: set[bytes]) -> list[Any]:
        """The connections whose node gets a message from nobody else. `matched`: the subscriptions that Baton serves."""
        impl = self._impl()
        found = []
        for connection in impl.connections if impl is not None else ():
            readers = self._readers.of(connection.endpoint_id)
            if not readers or not matched.issuperset(readers):
                found.append(connection)
        return found


def _is_among(connection: Any, connections: list[Any]) -> bool:
    return any(connection is each for each in connections)


def _greeting(way: _Outgoing) -> Callable[[str], None]:
    known = weakref.ref(way)

    def on_event(event: str) -> None:
        way = known()
        if way is not None and event == "matched":
            way.greet()

    return on_event


class _Listener(rospy.topics.SubscribeListener):  # type: ignore[misc]
    def __init__(self, way: _Outgoing) -> None:
        self._way = weakref.ref(way)

    # The latched message is ours to send: rospy's own latch would send it to subscriptions of Baton, too.
    def peer_subscribe(self, topic_name: str, topic_publish: Any, peer_publish: Any) -> None:
        way = self._way()
        if way is not None:
            way.greet()


def _write(connection: Any, data: bytes) -> None:
    try:
        if not rospy.is_shutdown():
            connection.write_data(data)
    except Exception:  # as rospy does: whatever is wrong with a connection ends it
        rospy.logdebug("baton: the connection to [%s] ended: %s", connection.endpoint_id, traceback.format_exc())
        connection.close()


class _Incoming:
    """The way of a topic's messages into this process by Baton. A thread, LOT's puller, gives each to `deliver(message, node)`."""

    def __init__(
        self, name: str, own: type[_core.Message], qos: _core.QoS, deliver: Callable[[Any, str], None]
    ) -> None:
        self._node = node()
        self._name = name
        self._deliver = deliver
        self.subscription: _core.Subscription[Any] | None = self._node.subscribe(name, own, qos=qos)
        self._lock = threading.Lock()
        self._reached: dict[bytes, str] = {}  # publishers of which a message of Baton came, and their nodes
        self._seen = -1
        self._ended = False
        self._process = os.getpid()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        thread = threading.Thread(target=self._pull, args=(self.subscription,), name=f"baton {name}", daemon=True)
        thread.start()

    def end(self) -> None:
        """Ends Baton's end after the message that is delivered now, if any. Does not wait for it: the callback may wait for what the
        caller holds, such as rospy's locks, or for rospy.is_shutdown()."""
        if self.is_of_parent():
            return
        with self._lock:
            if not self._ended:
                self._ended = True
                self.subscription = None
                os.eventfd_write(self._wake, 1)  # with the lock: the thread closes it

    def is_of_parent(self) -> bool:
        """After a fork. The descriptor is the parent's, too: what is written there wakes the parent's thread."""
        return os.getpid() != self._process

    def has(self, name: str) -> bool:
        """Whether messages of this node come over Baton, so that its serialized ones are older than those, or doubles."""
        subscription = self.subscription
        if subscription is None or subscription.statuses.refused_now > 0:
            return False
        with self._lock:
            return name in self._reached.values()

    def _pull(self, subscription: _core.Subscription[Any]) -> None:
        poll = select.poll()
        poll.register(subscription.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while not self._ended:
            try:
                message = subscription.take()
                if message is None:
                    poll.poll()
                    continue
                self._deliver(message, self._node_of(_core.info(message).publisher))
                del message
            except _core.HeldLimit:  # no descriptor says when the program gives a message back
                poll.poll(5)
            except _core.BatonError as error:
                rospy.logerr_throttle(1.0, f"baton: no message on {self._name}: {error}")
        with self._lock:
            os.close(self._wake)

    def _node_of(self, publisher: bytes) -> str:
        """Its node's name. Records that its messages come over Baton."""
        version = self._node._graph_version()
        with self._lock:
            if version != self._seen or publisher not in self._reached:
                self._seen = version
                wanted = {*self._reached, publisher}
                self._reached = {publisher: ""} | {
                    end.gid: _ros_name(end.node)
                    for end in self._node.endpoints()
                    if end.is_publisher and end.gid in wanted
                }
            return self._reached[publisher]


# --- programs that make and take views


class Publisher:
    """Publishes to Baton's subscriptions in shared memory and, serialized, to stock ones. Ends with unregister()."""

    def __init__(self, topic: str, message_type: Any, queue_size: int, latch: bool, options: dict[str, Any]) -> None:
        if not isinstance(queue_size, int) or isinstance(queue_size, bool) or queue_size < 0:
            raise TypeError(f"queue_size is a number of messages, not {queue_size!r}")
        own, stock_class = _classes(message_type)
        node()  # says first if rospy.init_node() was not called
        self.name = rospy.resolve_name(topic)
        headers = {"latching": "1"} if latch else None
        with _as_rospy_makes_it:
            self._stock = rospy.Publisher(self.name, stock_class, queue_size=queue_size, headers=headers)
        qos = _core.QoS(1, durability="transient_local") if latch else _core.QoS(queue_size or LONGEST_QUEUE)
        try:
            # Numbered from 0, as by roscpp.
            self._way: _Outgoing | None = _Outgoing(self._stock.impl, own, 0, latch, qos, options)
        except BaseException:
            self._stock.unregister()
            raise
        with _lock:
            _alive.add(self)  # as rospy's publishers, which need not be kept

    @property
    def message_type(self) -> type[_core.Message]:
        return self.own.message_type

    @property
    def own(self) -> _core.Publisher[Any]:
        """Baton's side: counters, statuses, memory."""
        return self._used().own

    def _used(self) -> _Outgoing:
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
        with _lock:
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
        qos = _core.QoS(queue_size or LONGEST_QUEUE, held=held)
        self._way = _Incoming(self.name, self._own_class, qos, self._take)
        try:
            with _as_rospy_makes_it:
                self._stock = rospy.Subscriber(self.name, stock_class, self._take_stock, queue_size=queue_size)
        except BaseException:
            self._way.end()
            raise
        with _lock:
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
        with _lock:
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
        if not self._way.has(header.get("callerid", "")):
            self._deliver(self._own_class(stock))

    def _deliver(self, message: Any) -> None:
        with self._one_at_a_time:
            if self._ended:
                return
            try:
                self._callback(message)
            except Exception:
                rospy.logerr("bad callback: %s\n%s", self._callback, traceback.format_exc())

    def _look_for_stock(self) -> None:
        """Stock subscriptions beside us share our connections, so publishers are to go on writing them."""
        with _lock:
            impl = self._stock.impl if self._stock is not None else None
            callbacks = len(impl.callbacks or ()) if impl is not None else 0
            if self._ended or callbacks <= _own_callbacks.get(self.name, 0) or impl in _incoming:
                self._stock_mark = None
            elif self._stock_mark is None:
                nothing = _messages.message_from_text("baton_ros1/Stock", "")
                self._stock_mark = self._node.subscribe(self.name + "/_stock", nothing, qos=1)


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


# --- unchanged programs: rospy's publishers and subscribers of a topic share one end of rospy's, and one way of ours


class _Inside(threading.local):
    """In this thread, rospy makes what it makes without Baton."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1


_as_rospy_makes_it = _Inside()
_outgoing: weakref.WeakKeyDictionary[Any, _Outgoing] = weakref.WeakKeyDictionary()
_incoming: weakref.WeakKeyDictionary[Any, _Incoming] = weakref.WeakKeyDictionary()
_patched: list[tuple[Any, str, Any]] = []


def _class_for(end: Any) -> type[_core.Message] | None:
    """Baton's class for an end of rospy that can be accelerated."""
    # /rosout has another type in Baton's domain. Before init_node() there is no name for a node.
    if _as_rospy_makes_it.depth or not rospy.core.is_initialized() or end.resolved_name.startswith("/rosout"):
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
    with _lock:
        # A listener of the program may send to single peers, by TCPROS.
        way = _outgoing.get(end.impl)
        if way is not None and latch:
            way.latch_from_now()
        if own is None or way is not None or end.impl.subscriber_listeners:
            return
        qos = _core.QoS(1, durability="transient_local") if latch else _core.QoS(queue_size or LONGEST_QUEUE)
        _outgoing[end.impl] = _Outgoing(end.impl, own, 1, latch, qos, {})


def _add_incoming(end: Any) -> None:
    own = _class_for(end)
    with _lock:
        if own is None or end.impl in _incoming:
            return
        impl = weakref.ref(end.impl)
        stock_class = end.data_class
        headers: dict[str, dict[str, str]] = {}

        def deliver(message: Any, publisher: str) -> None:
            topic = impl()
            if topic is None:
                return
            stock = to_foreign(message, stock_class, None)
            if publisher not in headers:
                headers[publisher] = {
                    "callerid": publisher,
                    "topic": topic.resolved_name,
                    "type": stock_class._type,
                    "md5sum": stock_class._md5sum,
                    "message_definition": stock_class._full_text,
                    "latching": "0",
                }
            stock._connection_header = headers[publisher]
            for callback, arguments in topic.callbacks or ():
                topic._invoke_callback(stock, callback, arguments)

        depth = end.impl.queue_size or LONGEST_QUEUE
        way = _Incoming(end.resolved_name, own, _core.QoS(depth), deliver)
        _incoming[end.impl] = way
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
        way = _outgoing.get(self)
        if way is None or connection_override is not None or self.closed or type(message) is not self.data_class:
            return publish(self, message, connection_override)
        try:
            way.publish_stock(message)
        except (TypeError, ValueError, OverflowError) as error:
            raise genpy.SerializationError(str(error)) from error
        return True

    receive = topics._SubscriberImpl.receive_callback

    def receive_callback(self: Any, messages: Any, connection: Any) -> None:
        way = _incoming.get(self)
        if way is None or not way.has(connection.callerid_pub):
            receive(self, messages, connection)

    patch(topics.Publisher, "__init__", init_publisher)
    patch(topics.Subscriber, "__init__", init_subscriber)
    patch(topics._PublisherImpl, "publish", publish_both_ways)
    patch(topics._SubscriberImpl, "receive_callback", receive_callback)


def decelerate_ends() -> None:
    """Gives rospy its own functions back. Ends that were made before keep their way of Baton until they are unregistered."""
    while _patched:
        owner, name, original = _patched.pop()
        setattr(owner, name, original)
