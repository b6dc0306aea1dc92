# SPDX-License-Identifier: Apache-2.0
"""Data that verbs show of another middleware, whose nodes use Baton and have a graph of their own.

The room that knows such a middleware brings one module; that of ROS 1 is `ros1/command/baton_ros1/graph.py`. Where no room brings one, the
verbs show Baton's graph alone. The module has:

KEY         the name of its option and of its part of `--json`: "ros1" for --ros1
NAME        its name in sentences: "ROS 1"
HELP        the help of that option
VARIABLE    the environment variable that names the network of its nodes
ECHO        the command of that middleware which prints the messages of a topic
SHORT_WAYS  short names of ways, for the table of `baton top`
domain()                          Baton's domain of that network's nodes
silence()                         the sentence for a network that does not answer
look(wanted, domain, endpoints)   the ForeignGraph beside this domain; `wanted`: the user asks for it. None: there is none
judged(graph, endpoints, holdings, domain)   the graph's links, each with its MessagePath
topic_of(name)                    the topic that a topic of Baton's graph carries messages of
is_carrier(endpoint)              whether an endpoint only carries messages of such a topic
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

MODULES = ("baton_ros1.graph",)


def load_if_installed(name: str) -> ModuleType | None:
    """A module of another room; None if that room is not installed. An import that fails inside an installed room is an error."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and name.startswith(error.name):
            return None
        raise


@functools.cache
def brought() -> Any:
    """The module of the other middleware; None: no room brings one."""
    return next((module for name in MODULES if (module := load_if_installed(name))), None)


def topic_of(name: str) -> str:
    other = brought()
    return other.topic_of(name) if other else name


def is_carrier(endpoint: Any) -> bool:
    other = brought()
    return bool(other and other.is_carrier(endpoint))


@dataclass(frozen=True)
class ForeignNode:
    name: str
    host: str = ""
    pid: int = 0  # 0: unknown
    here: bool = True  # whether the node runs on this machine

    def __str__(self) -> str:
        return f"{self.name} ({self.pid})" if self.pid else self.name


@dataclass(frozen=True)
class ForeignLink:
    """A connection of one publisher to one subscriber. Its counts begin when it begins, modulo 2^32."""

    topic: str
    publisher: ForeignNode
    subscriber: ForeignNode
    transport: str = ""  # empty: the usual one
    number: int = -1  # the link's number in its publisher's process
    messages: int = 0
    bytes: int = 0
    tcp_bytes: int = -1  # bytes of its connection that the kernel has counted; -1: not known
    recent: bool = False  # the counts are those of a short time (since()), not all since the link began

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.topic, self.publisher.name, self.subscriber.name, self.number


@dataclass(frozen=True)
class MessagePath:
    """How a link's messages travel. `copies`: how often a whole message is copied, serialization included; None: not known, another system's path."""

    way: str
    copies: int | None
    why: str
    good: bool | None = None  # None: nothing is wrong, but there is a faster way
    way_out: str = ""
    counted: bool = True  # the middleware's own counters have the link's messages

    @property
    def text(self) -> str:
        if self.copies is None:
            return self.way
        return f"{self.way}, {({0: 'no copy', 1: '1 copy'}).get(self.copies, f'{self.copies} copies')}"


def full_name(name: str) -> str:
    """A node's name with a leading slash, which names in Baton's graph do not have in the root namespace."""
    return name if name.startswith("/") else "/" + name


@dataclass
class ForeignGraph:
    uri: str
    answers: bool  # whether the network answers; if not, only Baton's graph is known
    types: dict[str, str] = field(default_factory=dict)
    publishers: dict[str, list[str]] = field(default_factory=dict)  # nodes by topic
    subscribers: dict[str, list[str]] = field(default_factory=dict)
    links: list[ForeignLink] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)  # nodes that do not answer

    @property
    def topics(self) -> set[str]:
        return {topic for topic in {*self.publishers, *self.subscribers} if "/_" not in topic}

    def has_link(self, topic: str, publisher: str, subscriber: str) -> bool:
        """Whether the graph has a link of this topic between these nodes. Their names are those of Baton's graph."""
        wanted = (topic, full_name(publisher), full_name(subscriber))
        return any((link.topic, link.publisher.name, link.subscriber.name) == wanted for link in self.links)

    def has_end(self, topic: str, node: str) -> bool:
        return full_name(node) in {*self.publishers.get(topic, []), *self.subscribers.get(topic, [])}

    def of(self, topic: str) -> ForeignGraph:
        """The part of the graph that belongs to one topic."""
        links = [link for link in self.links if link.topic == topic]
        ends = [{topic: found[topic]} if topic in found else {} for found in (self.publishers, self.subscribers)]
        return ForeignGraph(self.uri, self.answers, self.types, ends[0], ends[1], links, self.silent)

    def type_of(self, topic: str) -> str:
        """`*`: the type is not known, since no publisher of the topic has stated it."""
        return self.types.get(topic, "*")


def since(before: ForeignGraph, now: ForeignGraph) -> ForeignGraph:
    """`now`, with counts since the older graph for each link that is in both. A link that sent nothing since then keeps its totals."""
    known = {link.key: link for link in before.links}
    links = []
    for link in now.links:
        old = known.get(link.key)
        messages = (link.messages - old.messages) & 0xFFFFFFFF if old else 0
        if old and messages:
            by_tcp = link.tcp_bytes - old.tcp_bytes if min(link.tcp_bytes, old.tcp_bytes) >= 0 else -1
            size = (link.bytes - old.bytes) & 0xFFFFFFFF
            link = replace(link, messages=messages, bytes=size, tcp_bytes=by_tcp, recent=True)
        links.append(link)
    return replace(now, links=links)


def as_json(graph: ForeignGraph, links: list[tuple[ForeignLink, MessagePath]]) -> dict[str, Any]:
    return {
        "master": graph.uri,
        "answers": graph.answers,
        "silent": graph.silent,
        "publishers": sorted({n for nodes in graph.publishers.values() for n in nodes}),
        "subscribers": sorted({n for nodes in graph.subscribers.values() for n in nodes}),
        "links": [
            {
                "topic": link.topic,
                "publisher": link.publisher.name,
                "subscriber": link.subscriber.name,
                "way": way.way,
                "copies": way.copies,
                "why": way.why,
                "way_out": way.way_out,
            }
            for link, way in links
        ],
    }
