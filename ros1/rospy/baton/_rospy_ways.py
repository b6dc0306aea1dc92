# SPDX-License-Identifier: Apache-2.0
"""The ways of a topic's messages into and out of a program of rospy: Baton's, and beside it TCPROS.

Each end is one of Baton's domain and, beside it, an ordinary one of the ROS topic. Which messages take which way:
docs/format/tcpros.md, "Types of Baton beside TCPROS"; ros1/api/ is the same in C++. Programs that make and take views use them
(_rospy_views.py), and unchanged ones (_rospy_unchanged.py).
"""

from __future__ import annotations

import collections
import contextlib
import functools
import importlib
import io
import math
import os
import select
import socket
import struct
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

from . import _core
from ._convert import to_foreign
from ._node import Node
from ._ros1_domain import WORDS, domain_of_master, follows, read_follows, read_trailer, trailer

rospy: Any = importlib.import_module("rospy")  # not `import`: type checkers would take baton/rospy.py
importlib.import_module("rospy.topics")  # and rospy.msg
rosgraph: Any = importlib.import_module("rosgraph")

LONGEST_QUEUE = 1000  # for a queue without a bound, which Baton does not have

# Of messages that Baton cannot carry (docs/format/tcpros.md).
_PATIENCE_S = 5.0  # for a message that went by TCPROS, and for what comes before it
_MOST_BY_BYTES = 1024  # publishers of which the numbers are kept
_MOST_MARKS = 64  # messages of a thread whose trailers are kept
# Publishers of which messages are held back, and messages of each. What comes beyond is delivered.
_MOST_HELD_BACK = 64
_MOST_OF_ONE_HELD_BACK = 4
_LOOK_MS = 100  # at those that are held back
# Baton has no memory for the message; TCPROS may.
SHORTAGES = (
    _core.OutOfMemory,
    _core.LimitReached,
    _core.MessageTooLarge,
    _core.OutOfDescriptors,
    _core.WindowExhausted,
)

lock = threading.RLock()
_node: weakref.ref[Node] | None = None


def node() -> Node:
    """Baton's node beside this program's. Lives while an end uses it."""
    global _node
    with lock:
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


def _ros_name(name: str) -> str:
    return name if name.startswith("/") else "/" + name


class _Readers:
    """The subscriptions of Baton on a topic, by node, as far as all of a node's subscriptions are Baton's."""

    def __init__(self, own: Node, topic: str) -> None:
        self._node, self._topic = own, topic
        self._seen = -1
        self._by_node: dict[str, list[bytes]] = {}
        self._gids: set[bytes] = set()

    def of(self, name: str) -> list[bytes]:
        self._look()
        return self._by_node.get(name, [])

    def gids(self) -> set[bytes]:
        """Of all subscriptions of Baton on the topic."""
        self._look()
        return self._gids

    def _look(self) -> None:
        version = self._node._graph_version()
        if version != self._seen:
            self._seen, self._by_node, self._gids = version, {}, set()
            for end in self._node._endpoints_of(self._topic):
                if not end.is_publisher:
                    self._by_node.setdefault(_ros_name(end.node), []).append(end.gid)
                    self._gids.add(end.gid)
            stock = self._node._endpoints_of(self._topic + WORDS["kStockPart"])
            mixed = {_ros_name(end.node) for end in stock if not end.is_publisher}
            for each in mixed:
                self._by_node.pop(each, None)


class Outgoing:
    """The way of a topic's messages out of this process: each subscription gets a message from Baton or by TCPROS."""

    def __init__(self, impl: Any, own: type[_core.Message], latch: bool, qos: _core.QoS, options: Any) -> None:
        self._impl = weakref.ref(impl)
        self._stock_class = impl.data_class
        self.node = node()
        self.own = self.node.advertise(impl.resolved_name, own, qos, **options)
        self._readers = _Readers(self.node, impl.resolved_name)
        self._latch = latch
        # Latched: the bytes, the subscriptions that Baton gave the message to (None: Baton could not carry it), and the connections
        # that have the bytes.
        self._last: tuple[bytes, set[bytes] | None, list[Any]] | None = None
        self._numbered = "header" in getattr(self._stock_class, "__slots__", ())[:1]
        self._number = 1  # as rospy's
        self._order = threading.RLock()  # of messages on both ways
        self._by_bytes = 0  # messages that Baton could not carry
        self._next_follows = False  # the newest message is one of them
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
            sequence = self._hand_over(loan)
            if stock is None:
                self._number += 1
            else:
                self._send(stock, self._readers_of(sequence))

    def publish_stock(self, stock: Any) -> None:
        with self._order:
            matched = set(self.own._matched_readers())
            by_bytes = False
            if matched or self._latch:
                try:
                    loan: Any = self.own.loan()
                    _core._assign(loan, stock)
                    if self._numbered:
                        loan.header.seq = self._number % 2**32
                    matched = self._readers_of(self._hand_over(loan))
                except SHORTAGES as error:
                    rospy.logwarn_throttle(1.0, f"baton: a message on {self.own.topic} goes by TCPROS: {error}")
                    by_bytes, matched = True, set()
            if by_bytes or self._latch or self._unserved(matched):
                self._send(stock, matched, by_bytes)
            else:
                self._number += 1

    def _hand_over(self, loan: Any) -> int:
        if not self._next_follows:
            return self.own.publish(loan)
        sequence = self.own._publish_attached(loan, follows(self._by_bytes))
        self._next_follows = False
        return sequence

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
            # Only of what is there: others may connect and leave without end while no newer message comes.
            written = [each for each in written if _is_among(each, connections)]
            if handed is not None:
                handed = handed & self._readers.gids()
            self._last = data, handed, written
            for connection in connections:
                if _is_among(connection, written):
                    continue  # its node has the bytes, for later subscriptions, too
                readers = self._readers.of(connection.endpoint_id)
                if handed is not None:
                    handed.update(each for each in readers if each not in handed and self.own._hand_newest_to(each))
                if not _is_among(connection, greeted) and (not readers or not (handed or set()).issuperset(readers)):
                    written.append(connection)
                    _write(connection, self._with_trailer(data) if handed is None and readers else data)

    def _with_trailer(self, data: bytes) -> bytes:
        """`data` with the words that make it no double (docs/format/tcpros.md)."""
        words = trailer(self.own.gid, self._by_bytes)
        return struct.pack("<I", len(data) - 4 + len(words)) + memoryview(data)[4:] + words

    def _send(self, stock: Any, matched: set[bytes], by_bytes: bool = False) -> None:
        buffer = io.BytesIO()
        rospy.msg.serialize_message(buffer, self._number % 2**32, stock)
        self._number += 1
        data = buffer.getvalue()
        unserved = self._unserved(matched)
        if self._latch:
            self._last = data, None if by_bytes else matched, unserved
        with_trailer = None
        if by_bytes:
            self._by_bytes += 1
            self._next_follows = True
        for connection in unserved:
            if by_bytes and self._readers.of(connection.endpoint_id):
                with_trailer = with_trailer or self._with_trailer(data)
                _write(connection, with_trailer)
            else:
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


def _greeting(way: Outgoing) -> Callable[[str], None]:
    known = weakref.ref(way)

    def on_event(event: str) -> None:
        way = known()
        if way is not None and event == "matched":
            way.greet()

    return on_event


class _Listener(rospy.topics.SubscribeListener):  # type: ignore[misc]
    def __init__(self, way: Outgoing) -> None:
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


class Incoming:
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
        self._came = threading.Condition(self._lock)
        self._by_bytes: dict[bytes, int] = {}  # the newest messages of publishers that Baton could not carry
        # Of the thread, by publisher: messages that follow one by TCPROS which has not come, and since when the first one waits.
        self._held_back: dict[bytes, tuple[float, collections.deque[Any]]] = {}
        self._moved: dict[
            bytes, float
        ] = {}  # with the lock: when a message by TCPROS was done; inf: one is being delivered
        # How often what waits in the queue was to be delivered, and how often it was. What comes meanwhile, which may be without end, is not
        # waited for: the queue has no more than its depth.
        self._asked = self._emptied = 0
        self._depth = qos.depth
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
                self._came.notify_all()

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

    def in_order(self, trailer: tuple[bytes, int], deliver: Callable[[], None]) -> None:
        """Delivers a message by TCPROS that Baton could not carry: after what its publisher handed over before, and before the rest."""
        publisher, number = trailer
        with self._came:
            if len(self._moved) >= _MOST_BY_BYTES and publisher not in self._moved:
                self._moved.clear()
            self._moved[publisher] = math.inf
            self._asked += 1
            asked = self._asked
            if not self._ended:
                os.eventfd_write(self._wake, 1)
            self._came.wait_for(lambda: self._ended or self._emptied >= asked, _PATIENCE_S)
        try:
            deliver()
        finally:
            with self._came:
                if len(self._by_bytes) >= _MOST_BY_BYTES and publisher not in self._by_bytes:
                    self._by_bytes.clear()
                self._by_bytes[publisher] = max(number, self._by_bytes.get(publisher, 0))
                self._moved[publisher] = time.monotonic()
                if not self._ended:
                    self._asked += 1  # what was held back follows
                    os.eventfd_write(self._wake, 1)

    def _give(self, message: Any) -> None:
        self._deliver(message, self._node_of(_core.info(message).publisher))

    def _has_to_wait(self, message: Any) -> bool:
        """Whether the message by TCPROS that this one follows has not been delivered."""
        number = read_follows(_core._attachment(message))
        if number == 0:
            return False
        with self._lock:
            return self._by_bytes.get(_core.info(message).publisher, 0) < number

    def _hold_back(self, message: Any) -> bool:
        """True: the message is delivered later. Messages of other publishers do not wait for it."""
        publisher = _core.info(message).publisher
        held = self._held_back.get(publisher)
        if held is None:
            if not self._has_to_wait(message) or len(self._held_back) >= _MOST_HELD_BACK:
                return False
            held = self._held_back[publisher] = time.monotonic(), collections.deque()
        held[1].append(message)
        return True

    def _release_held_back(self) -> None:
        """Delivers what has waited for its message, long enough, or in too great a number: rospy may have dropped that message."""
        for publisher, (since, messages) in tuple(self._held_back.items()):
            with self._lock:
                since = max(since, self._moved.get(publisher, 0.0))  # the link brings them, however slowly
            gives_up = time.monotonic() - since >= _PATIENCE_S or len(messages) > _MOST_OF_ONE_HELD_BACK
            while messages and (gives_up or not self._has_to_wait(messages[0])):
                self._give(messages.popleft())
            if not messages:
                del self._held_back[publisher]

    def _pull(self, subscription: _core.Subscription[Any]) -> None:
        poll = select.poll()
        poll.register(subscription.fileno(), select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        goal, left = 0, 0  # which demand is being met, and how many messages may have been in the queue before it
        while not self._ended:
            try:
                asked = self._asked  # before the queue is looked at
                if goal == self._emptied != asked:
                    goal, left = asked, self._depth
                if self._held_back:
                    self._release_held_back()
                message = subscription.take()
                if message is None:
                    with self._came:
                        self._emptied = goal = asked
                        self._came.notify_all()
                        if self._ended or self._asked != asked:
                            continue
                        with contextlib.suppress(BlockingIOError):  # nobody has asked since then
                            os.eventfd_read(self._wake)
                    poll.poll(_LOOK_MS if self._held_back else None)
                    continue
                if not self._hold_back(message):
                    self._give(message)
                del message
            except _core.HeldLimit:  # no descriptor says when the program gives a message back
                poll.poll(5)
                continue
            except Exception as error:  # of this message alone: a thread that ends would silence the topic
                rospy.logerr_throttle(1.0, f"baton: no message on {self._name}: {error}")
            left -= 1
            if left <= 0 and goal != self._emptied:
                with self._came:
                    self._emptied = goal
                    self._came.notify_all()
        self._held_back.clear()
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
                    for end in self._node._endpoints_of(self._name)
                    if end.is_publisher and end.gid in wanted
                }
            return self._reached[publisher]


class _Marks(threading.local):
    """The trailers of messages that rospy deserialized in this thread, by the ids of the messages, which may be gone."""

    def __init__(self) -> None:
        self.by_id: dict[int, tuple[bytes, int]] = {}


_marks = _Marks()


def note_trailers(cls: Any) -> None:
    """From now on trailer_of() knows those of this class of genpy."""
    inner = cls.deserialize
    if hasattr(inner, "_baton_notes_trailers"):
        return

    @functools.wraps(inner)
    def deserialize(self: Any, str: Any) -> Any:
        message = inner(self, str)  # genpy ignores what follows a message
        if (found := read_trailer(str)) is not None:
            if len(_marks.by_id) >= _MOST_MARKS:
                _marks.by_id.clear()
            _marks.by_id[id(message)] = found
        elif _marks.by_id:
            _marks.by_id.pop(id(message), None)  # of an object that was there before
        return message

    deserialize._baton_notes_trailers = True  # type: ignore[attr-defined]
    cls.deserialize = deserialize


def trailer_of(message: Any) -> tuple[bytes, int] | None:
    """Of a message that this thread has deserialized: the publisher's id and the number."""
    return _marks.by_id.get(id(message))


class _Inside(threading.local):
    """In this thread, rospy makes what it makes without Baton."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *exception: object) -> None:
        self.depth -= 1


as_rospy_makes_it = _Inside()
# Of unchanged programs: rospy's publishers or subscribers of a topic in this process share one end of rospy's, and one way.
outgoing: weakref.WeakKeyDictionary[Any, Outgoing] = weakref.WeakKeyDictionary()
incoming: weakref.WeakKeyDictionary[Any, Incoming] = weakref.WeakKeyDictionary()
