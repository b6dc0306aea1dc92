# SPDX-License-Identifier: Apache-2.0
"""What the parts of the bridge share: the two networks, and what one look at Baton's graph finds."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import zenoh
from baton import Node, _core
from baton._node import Endpoint

from .lines import Lines
from .names import KeyScheme, Token
from .rules import Rules

LINK = "link"  # the node of the link's subscriptions (docs/format/link.md)


def is_far(node: str) -> bool:
    """Whether an endpoint stands for one of another network: a link's or a bridge's "node@host". It is not sent on."""
    return "@" in node


def absolute(node: str) -> str:
    return node if node.startswith("/") else f"/{node}"


@dataclass
class Sides:
    """Baton's node and Zenoh's session. `wake`: makes the bridge look at both graphs again; any thread."""

    node: Node
    session: zenoh.Session
    scheme: KeyScheme
    domain: int  # in keys of Zenoh
    host: str
    rules: Rules
    lines: Lines
    wake: Callable[[], None]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def declare(self, kind: str, node: str, **words: Any) -> zenoh.LivelinessToken:
        token = Token(str(self.session.zid()), next(self._numbers), kind, absolute(node), **words)
        return self.session.liveliness().declare_token(token.key(self.scheme, self.domain))

    def payload(self, message: Any) -> bytes:
        """A copy: CDR, or the chunk as it lies. Zenoh makes another one."""
        return _core._chunk(message) if self.scheme.raw else _core._serialized(message, True)

    def publish(self, publisher: Any, payload: zenoh.ZBytes, words: tuple[Any, ...]) -> None:
        """Two copies: out of Zenoh, and into a loan, which is checked. Raises BatonError, and publishes nothing, for bytes that are no message."""
        data = bytes(payload)
        if self.scheme.raw:
            _core._publish_chunk(publisher, data, words)
        else:
            _core._publish_serialized(publisher, data, True, words)


@dataclass
class DomainGraph:
    """Baton's endpoints without the bridge's own."""

    publishers: list[Endpoint] = field(default_factory=list)  # of this domain, of topics
    subscriptions: list[Endpoint] = field(default_factory=list)  # the same
    servers: list[Endpoint] = field(default_factory=list)  # their readers of requests; of this domain
    served: set[str] = field(default_factory=set)  # services that a process of this domain or a link serves
    nodes: set[str] = field(default_factory=set)
    ros_hashes: dict[bytes, bytes] = field(default_factory=dict)


def look(node: Node) -> DomainGraph:
    facts = _core._endpoint_facts(node)
    graph = DomainGraph(ros_hashes={gid: ros_hash for gid, (_, ros_hash) in facts.items() if ros_hash})
    for each in node.endpoints():
        if facts.get(each.gid, (True, None))[0]:
            continue  # its own, or newer than the facts: the next look finds it
        part = each.topic.rpartition("/")[2]
        if part == "_response" and each.is_publisher:
            graph.served.add(each.topic.removesuffix("/_response"))
        if is_far(each.node) or (each.node == LINK and not each.is_publisher):
            continue
        graph.nodes.add(absolute(each.node))
        if part == "_request" and not each.is_publisher:
            graph.servers.append(each)
        elif "/_" not in each.topic.replace("/_action/", "/"):
            (graph.publishers if each.is_publisher else graph.subscriptions).append(each)
    return graph


def now_ns() -> int:
    return time.time_ns()
