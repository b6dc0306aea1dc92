# SPDX-License-Identifier: Apache-2.0
"""Shows a domain's topics to Foxglove and Lichtblick: a WebSocket server, by foxglove-sdk.

Thread rules: run() belongs to one thread, which alone subscribes and converts. The SDK calls Clients in threads of its own, and inside calls of
run() too; so its lock is never held during a call of the SDK. Invariants: (1) Baton has a subscription of a topic while a client watches
the topic, and no longer; (2) a message is converted once for all clients; (3) a message that no client has read yet gives its place to a newer one.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import baton
import click
from baton import _core
from baton_cli import live

from . import view_topics
from .bag_errors import BagError, check_number, needed
from .view_clients import Clients
from .view_errors import Complaints, ViewError
from .view_parameters import Parameters
from .view_publishing import Publishing
from .view_reduction import Reduced, Reduction, reduced_class
from .view_schemas import ros2_name, ros2_schema
from .view_services import Services
from .view_topics import LOOK_S, MOST_CHANNELS, Key, absolute, kept, pass_on, reader_qos, wait

MOST_WAITING = 32  # messages for one client
# Topics that are added or removed in one round: each costs a message to each client, and at most MOST_WAITING messages may wait.
_MOST_NEWS = 4


@dataclass(eq=False)
class _Topic:
    """A topic that is offered to clients."""

    name: str
    cls: Any
    channel: Any
    depth: int  # the subscription's queue length
    latched: bool
    rate: float | None  # messages a second at most
    subscription: Any = None
    reduced: Reduced | None = None
    due_s: float = 0.0  # when the next message may be converted


class View:
    """A server for viewers. `topics`: patterns of the topics that are offered to clients; without patterns all. `max_rate`: messages of a topic per
    second. `publish`, `call`, `settable`: patterns of the topics, services and parameters that clients may publish, call and set; without patterns
    none. `reduction`: which messages are made smaller. Each error is a sentence, which `say` gets once; clients get it, too."""

    def __init__(
        self,
        node: Any,
        *,
        topics: Iterable[str] = (),
        host: str = "127.0.0.1",
        port: int = 8765,
        max_rate: float | None = 60,
        publish: Iterable[str] = (),
        call: Iterable[str] = (),
        settable: Iterable[str] = (),
        reduction: Reduction | None = None,
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        try:
            self._sdk = needed("foxglove", "a view needs", "view")
        except BagError as error:
            raise ViewError(str(error)) from None
        check_number("max_rate", max_rate, ViewError)
        self._node, self._max_rate, self._reduction = node, max_rate, reduction or Reduction()
        self._patterns, publish, call, settable = (
            [absolute(each) for each in patterns] for patterns in (topics, publish, call, settable)
        )
        self._topics: dict[Key, _Topic] = {}
        self._complaints = Complaints(say)
        self._report = self._complaints.report
        self._version = -1
        self._look_s = 0.0
        self._stopped = False
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._context = self._sdk.Context()
        self._services = Services(node, self._sdk, call, self._report)
        self._parameters = Parameters(node, self._sdk, settable, self._publish_parameters, self._report)
        self._clients = Clients(self._wake, Publishing(node, publish), self._parameters, self._report)
        self._follow_graph(MOST_CHANNELS)
        can = self._sdk.websocket.Capability
        try:
            self._server = self._sdk.start_server(
                name=f"Baton, domain {node.domain}",
                host=host,
                port=port,
                capabilities=[
                    can.Parameters,
                    *([can.ClientPublish] if publish else []),
                    *([can.Services] if call else []),
                ],
                supported_encodings=["cdr", "json"] if publish else [],
                server_listener=self._clients,
                context=self._context,
                message_backlog_size=MOST_WAITING,
            )
        except RuntimeError as error:
            self._parameters.close()
            os.close(self._woken)
            os.close(self._waker)
            raise ViewError(f"{host}:{port}: {str(error).removeprefix('FoxgloveError: ')}") from None
        self.port: int = self._server.port

    def stop(self) -> None:
        """Ends run(); from any thread."""
        self._stopped = True
        self._wake()

    def close(self) -> None:
        """Ends the server and the subscriptions. Waits for calls of services and nodes that clients have begun."""
        self._server.stop()
        self._parameters.close()
        self._topics.clear()
        os.close(self._woken)
        os.close(self._waker)

    def run(self) -> None:
        """Serves clients until stop()."""
        while not self._stopped:
            self._follow_graph()
            self._follow_clients()
            self._parameters.follow()
            self._services.follow(self._server, _MOST_NEWS)
            for sentence in self._complaints.take_unsent(_MOST_NEWS):
                self._server.publish_status(sentence, self._sdk.StatusLevel.Warning, id=sentence)
            wait(self._woken, pass_on(self._topics.values(), self._pass_one))

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes the thread as well
            os.write(self._waker, b"x")

    def _publish_parameters(self, parameters: list[Any]) -> None:
        self._server.publish_parameter_values(parameters)

    def _follow_graph(self, most_news: int = _MOST_NEWS) -> None:
        """Offers the topics that have publishers, and no others."""
        now, version = time.monotonic(), self._node._graph_version()
        if version == self._version or now < self._look_s:
            return
        self._look_s = now + LOOK_S
        published = view_topics.published(self._node, self._patterns)
        news = 0
        for key in [*(self._topics.keys() - published.keys()), *sorted(published.keys() - self._topics.keys())]:
            if news == most_news:
                return  # the version is not noted, so the next rounds add and remove the others
            if key not in published:
                self._withdraw(self._topics.pop(key))
                news += 1
            elif len(self._topics) < MOST_CHANNELS:
                news += self._offer(key, published[key])
            else:
                self._report(f"there are more than {MOST_CHANNELS} topics: name those that matter")
        self._version = version

    def _offer(self, key: Key, publishers: list[Any]) -> bool:
        """False: its type is not known."""
        name, type_name, _ = key
        try:
            cls = live.message_class_as(publishers[0])
            reduced = self._reduction.of(name, type_name)
            shown = reduced_class(reduced)._struct if reduced else cls._struct
        except click.ClickException as error:
            self._report(f"{name} is not shown: {error.message}")
            return False
        schema = self._sdk.Schema(name=ros2_name(shown.full_name), encoding="ros2msg", data=ros2_schema(shown).encode())
        channel = self._sdk.Channel(name, schema=schema, message_encoding="cdr", context=self._context)
        latched, every, depth = kept(type_name, publishers)
        self._topics[key] = _Topic(
            name, cls, channel, depth, latched, None if every else self._max_rate, reduced=reduced
        )
        return True

    def _withdraw(self, topic: _Topic) -> None:
        topic.subscription = None
        topic.channel.close()
        self._sdk.channel._channels_by_id.pop(topic.channel.id(), None)  # else the SDK would keep the channel for ever

    def _follow_clients(self) -> None:
        """Subscribes to the topics that clients watch, and ends all other subscriptions."""
        fresh = self._clients.take_fresh()
        for topic in self._topics.values():
            channel = topic.channel.id()
            if not self._clients.watched(channel):
                topic.subscription = None
            elif topic.subscription is None or (topic.latched and channel in fresh):
                # A new subscription, so that a client that comes late also gets the latched messages.
                topic.subscription = None
                qos = reader_qos(topic.depth, topic.latched)
                try:
                    topic.subscription = self._node.subscribe(topic.name, topic.cls, qos=qos)
                except baton.BatonError as error:
                    self._report(f"{topic.name} is not shown: {error}")

    def _pass_one(self, topic: _Topic) -> bool:
        """False: there was no message."""
        try:
            message = topic.subscription.take()
            if message is None:
                return False
            info = baton.info(message)
            cdr = topic.reduced.cdr(message) if topic.reduced else _core._serialized(message, True)
            topic.channel.log(cdr, log_time=max(0, info.source_time_ns))  # the SDK's times have no sign
        except Exception as error:  # another process chose the values: libraries raise errors of many classes
            self._report(f"{topic.name}: a message is left out: {error}")
        return True
