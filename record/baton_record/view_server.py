# SPDX-License-Identifier: Apache-2.0
"""Shows a domain's topics to Foxglove and Lichtblick: a WebSocket server, by foxglove-sdk.

Thread rules: run() belongs to one thread, which alone subscribes and converts. The SDK calls _Clients in threads of its own, and inside calls of
run() too; so its lock is never held during a call of the SDK. Invariants: (1) Baton has a subscription of a topic while a client watches
the topic, and no longer; (2) a message is converted once for all clients; (3) a message that no client has read yet gives its place to a newer one.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import baton
import click
from baton import _core
from baton_cli import live

from .bag_errors import BagError, needed

MOST_CHANNELS = 10_000  # topics that clients are offered
MOST_WAITING = 32  # messages for one client
MOST_PUBLISHING = 256  # channels of clients, all together
MOST_KEPT = 64  # messages of a topic on which each message counts
MOST_SAID = 1000  # sentences about what cannot be shown
MOST_CHARACTERS = 500  # of each: clients choose the names in it
_MOST_NEWS = 4  # topics that come or go in one round: each is a message to each client, of which MOST_WAITING may wait
_LOOK_S = 0.05  # between two looks at the graph
_EVERY = ("tf2_msgs/TFMessage", "rcl_interfaces/Log", "rosgraph_msgs/Log")  # a newer message replaces no older one


class ViewError(ValueError):
    """What cannot be shown, with the reason."""


def ros2_name(name: str) -> str:
    """package/msg/Name."""
    return name.replace("/", "/msg/", 1)


def ros2_schema(struct: Any) -> str:
    """The definition of a type and of those inside it, as `ros2msg` has them."""
    lines = []
    inside = ""
    for line in struct.definition.splitlines():
        first, _, rest = line.partition(" ")
        if first == "message":
            lines += ["=" * 80, f"MSG: {rest}"] if inside else []
            inside = rest
        elif (inside, line) != ("std_msgs/Header", "uint32 seq"):  # not in ROS 2, and not in CDR
            lines.append(line)
    return "\n".join([*lines, ""])


@dataclass(eq=False)
class _Topic:
    """A topic that clients are offered."""

    name: str
    cls: Any
    channel: Any
    depth: int  # of the subscription
    latched: bool
    rate: float | None  # messages a second at most
    subscription: Any = None
    due_s: float = 0.0  # when the next message may be converted


class _Clients:
    """What clients want: the SDK calls on_...(). A listener's exception would be lost in the SDK, so each ends in report()."""

    def __init__(self, wake: Callable[[], object], publishing: _Publishing, report: Callable[[str], object]) -> None:
        self._lock = threading.Lock()
        self._watchers: dict[int, set[int]] = {}
        self._fresh: set[int] = set()
        self._wake, self._publishing, self._report = wake, publishing, report

    def watched(self, channel: int) -> bool:
        with self._lock:
            return channel in self._watchers

    def take_fresh(self) -> set[int]:
        """The channels that a client has begun to watch since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, set()
            return fresh

    def on_subscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            self._watchers.setdefault(channel.id, set()).add(client.id)
            self._fresh.add(channel.id)
        self._wake()

    def on_unsubscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            watchers = self._watchers.get(channel.id, set())
            watchers.discard(client.id)
            if not watchers:
                self._watchers.pop(channel.id, None)
                self._fresh.discard(channel.id)
        self._wake()

    def on_client_advertise(self, client: Any, channel: Any) -> None:
        with self._reported(channel.topic):
            self._publishing.begin((client.id, channel.id), channel.topic, channel.schema_name, channel.encoding)

    def on_client_unadvertise(self, client: Any, channel: int) -> None:
        self._publishing.end((client.id, channel))

    def on_message_data(self, client: Any, channel: int, data: bytes) -> None:
        with self._reported("a message of a client"):
            self._publishing.publish((client.id, channel), data)

    @contextlib.contextmanager
    def _reported(self, about: str) -> Any:
        try:
            yield
        except click.ClickException as error:
            self._report(f"{about} is not published: {error.message}")
        except Exception as error:  # of values that a client has sent
            self._report(f"{about} is not published: {error}")


class _Publishing:
    """Publishers of what clients send. All methods may be called from any thread."""

    def __init__(self, node: Any, patterns: Iterable[str]) -> None:
        self._node, self._patterns = node, list(patterns)
        self._lock = threading.Lock()
        self._ends: dict[
            tuple[int, int], tuple[Any, bool]
        ] = {}  # by client and its channel: a publisher, and whether CDR comes

    def begin(self, key: tuple[int, int], topic: str, schema: str, encoding: str) -> None:
        topic = live.absolute(topic)
        if encoding not in ("cdr", "json"):
            raise ViewError(f"its encoding is {encoding}, not cdr or json")
        if "/_" in topic:
            raise ViewError("hidden topics are not for clients")
        if not any(fnmatchcase(topic, pattern) for pattern in self._patterns):
            raise ViewError(f"baton view was started without --publish {topic}")
        kind = live.short_type(schema)
        there = [each for each in self._node.endpoints() if each.topic == topic and each.type_name == kind]
        cls = live.message_class_as(there[0]) if there else live.message_class(kind)
        with self._lock:
            if len(self._ends) >= MOST_PUBLISHING:
                raise ViewError(f"clients have {MOST_PUBLISHING} channels already")
            publishers = (each for each, _ in self._ends.values())
            same = (each for each in publishers if each.topic == topic and each.message_type is cls)
            publisher = next(same, None) or self._node.advertise(topic, cls, baton.QoS(10))
            self._ends[key] = publisher, encoding == "cdr"

    def end(self, key: tuple[int, int]) -> None:
        with self._lock:
            self._ends.pop(key, None)

    def publish(self, key: tuple[int, int], data: bytes) -> None:
        with self._lock:
            publisher, is_cdr = self._ends.get(key, (None, False))
        if publisher is None:
            return  # its channel was refused, and that was said
        if is_cdr:
            _core._publish_serialized(publisher, data, True)
        else:
            publisher.publish(json.loads(data))


class View:
    """A server for viewers. `topics`: patterns of the names that clients are offered, all without one. `max_rate`: messages of a topic in a
    second. `publish`: patterns of topics on which clients may publish. `say` gets each sentence about what cannot be shown once."""

    def __init__(
        self,
        node: Any,
        *,
        topics: Iterable[str] = (),
        host: str = "127.0.0.1",
        port: int = 8765,
        max_rate: float | None = 60,
        publish: Iterable[str] = (),
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        try:
            self._sdk = needed("foxglove", "a view needs", "view")
        except BagError as error:
            raise ViewError(str(error)) from None
        self._node, self._max_rate, self._say = node, max_rate, say
        self._patterns, publish = [_absolute(each) for each in topics], [_absolute(each) for each in publish]
        self._topics: dict[tuple[str, str, bytes], _Topic] = {}
        self._said: set[str] = set()
        self._version = -1
        self._look_s = 0.0
        self._stopped = False
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._context = self._sdk.Context()
        self._clients = _Clients(self._wake, _Publishing(node, publish), self._report)
        self._follow_graph(MOST_CHANNELS)
        try:
            self._server = self._sdk.start_server(
                name=f"Baton, domain {node.domain}",
                host=host,
                port=port,
                capabilities=[self._sdk.Capability.ClientPublish] if publish else [],
                supported_encodings=["cdr", "json"] if publish else [],
                server_listener=self._clients,
                context=self._context,
                message_backlog_size=MOST_WAITING,
            )
        except RuntimeError as error:
            os.close(self._woken)
            os.close(self._waker)
            raise ViewError(f"{host}:{port}: {str(error).removeprefix('FoxgloveError: ')}") from None
        self.port: int = self._server.port

    def stop(self) -> None:
        """Ends run(); from any thread."""
        self._stopped = True
        self._wake()

    def close(self) -> None:
        """Ends the server and the subscriptions."""
        self._server.stop()
        self._topics.clear()
        os.close(self._woken)
        os.close(self._waker)

    def run(self) -> None:
        """Serves clients until stop()."""
        while not self._stopped:
            self._follow_graph()
            self._follow_clients()
            self._wait(self._pass_on())

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # full: the thread wakes as it is
            os.write(self._waker, b"x")

    def _report(self, sentence: str) -> None:
        """Says a sentence once."""
        sentence = sentence[:MOST_CHARACTERS]
        if sentence not in self._said and len(self._said) < MOST_SAID:
            self._said.add(sentence)
            self._say(sentence)

    def _follow_graph(self, most_news: int = _MOST_NEWS) -> None:
        """Offers the topics that have publishers, and no others."""
        now, version = time.monotonic(), self._node._graph_version()
        if version == self._version or now < self._look_s:
            return
        self._look_s = now + _LOOK_S
        published: dict[tuple[str, str, bytes], list[Any]] = {}
        for each in live.others(self._node):
            if each.is_publisher and "/_" not in each.topic and self._wanted(each.topic):
                published.setdefault((each.topic, each.type_name, each.type_hash), []).append(each)
        news = 0
        for key in [*(self._topics.keys() - published.keys()), *sorted(published.keys() - self._topics.keys())]:
            if news == most_news:
                return  # the version is not noted: the others follow in the next rounds
            if key not in published:
                self._withdraw(self._topics.pop(key))
                news += 1
            elif len(self._topics) < MOST_CHANNELS:
                news += self._offer(key, published[key])
            else:
                self._report(f"there are more than {MOST_CHANNELS} topics: name those that matter")
        self._version = version

    def _wanted(self, topic: str) -> bool:
        return not self._patterns or any(fnmatchcase(topic, pattern) for pattern in self._patterns)

    def _offer(self, key: tuple[str, str, bytes], publishers: list[Any]) -> bool:
        """False: its type is not known."""
        name, type_name, _ = key
        try:
            cls = live.message_class_as(publishers[0])
        except click.ClickException as error:
            self._report(f"{name} is not shown: {error.message}")
            return False
        schema = self._sdk.Schema(name=ros2_name(type_name), encoding="ros2msg", data=ros2_schema(cls._struct).encode())
        channel = self._sdk.Channel(name, schema=schema, message_encoding="cdr", context=self._context)
        latched = all(each.qos.durability == "transient_local" for each in publishers)
        every = latched or type_name in _EVERY
        depth = min(MOST_KEPT, sum(each.qos.depth for each in publishers)) if latched else MOST_KEPT if every else 1
        self._topics[key] = _Topic(name, cls, channel, depth, latched, None if every else self._max_rate)
        return True

    def _withdraw(self, topic: _Topic) -> None:
        topic.subscription = None
        topic.channel.close()
        self._sdk.channel._channels_by_id.pop(topic.channel.id(), None)  # the SDK would keep it for ever

    def _follow_clients(self) -> None:
        """Subscribes to what clients watch, and to nothing else."""
        fresh = self._clients.take_fresh()
        for topic in self._topics.values():
            channel = topic.channel.id()
            if not self._clients.watched(channel):
                topic.subscription = None
            elif topic.subscription is None or (topic.latched and channel in fresh):
                topic.subscription = None  # another one: a client that comes late gets the latched messages, too
                durability = "transient_local" if topic.latched else "volatile"
                qos = baton.QoS(topic.depth, held=1, reliability="best_effort", durability=durability)
                try:
                    topic.subscription = self._node.subscribe(topic.name, topic.cls, qos=qos)
                except baton.BatonError as error:
                    self._report(f"{topic.name} is not shown: {error}")

    def _pass_on(self) -> dict[int, float]:
        """Converts the messages that are there and due. Returns when to look again at which subscriptions, by their descriptors."""
        looks = {}
        now = time.monotonic()
        for topic in self._topics.values():
            if topic.subscription is None:
                continue
            if topic.due_s <= now:
                for _ in range(topic.depth):
                    if not self._pass_one(topic):
                        break
                    topic.due_s = now + 1 / topic.rate if topic.rate else 0.0
            looks[topic.subscription.fileno()] = topic.due_s
        return looks

    def _pass_one(self, topic: _Topic) -> bool:
        """False: there was no message."""
        try:
            message = topic.subscription.take()
            if message is None:
                return False
            info = baton.info(message)
            topic.channel.log(_core._serialized(message, True), log_time=info.source_time_ns)
        except baton.BatonError as error:
            self._report(f"{topic.name}: a message is left out: {error}")
        return True

    def _wait(self, looks: dict[int, float]) -> None:
        """Waits for a message that is due, for clients, or for the next look at the graph."""
        now = time.monotonic()
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        end = now + _LOOK_S
        for descriptor, due_s in looks.items():
            if due_s <= now:
                poll.register(descriptor, select.POLLIN)
            else:
                end = min(end, due_s)
        for descriptor, _ in poll.poll(max(0.0, end - now) * 1000):
            if descriptor == self._woken:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)


def _absolute(pattern: str) -> str:
    return pattern if pattern.startswith(("/", "*")) else f"/{pattern}"
