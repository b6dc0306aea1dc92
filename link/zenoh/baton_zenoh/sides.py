# SPDX-License-Identifier: Apache-2.0
"""What the parts of the bridge share: the two networks, the names that a topic or service has in both, and what one look at Baton's graph finds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import zenoh
from baton import Node, _core
from baton._node import Endpoint

from . import names, types
from .lines import Lines
from .names import KeyScheme, Token
from .rules import Rules

LINK = "link"  # the node of the link's subscriptions (docs/format/link.md)


def absolute(node: str) -> str:
    return node if node.startswith("/") else f"/{node}"


@dataclass(frozen=True)
class Named:
    """A topic or a service."""

    name: str
    cls: Any  # a message class, or a class with Request and Response
    dds_type: str
    hash: str
    key: str


@dataclass
class Sides:
    """Baton's node and Zenoh's session. `sender`: its callbacks have a thread of their own, where they may wait for a full line. `wake`: makes the
    bridge look at both graphs again; any thread."""

    node: Node
    sender: Node
    session: zenoh.Session
    scheme: KeyScheme
    domain: int  # in keys of Zenoh
    host: str
    rules: Rules
    lines: Lines
    wake: Callable[[], None]
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def named(self, endpoint: Endpoint, ros_hash: bytes | None = None) -> Named:
        """The topic of an endpoint, or the service of a server's reader. A program of ROS 2 says its type's hash itself. Raises ValueError."""
        of_service = endpoint.topic.endswith("/_request")
        type_name = endpoint.type_name.removesuffix("_Request") if of_service else endpoint.type_name
        cls = types.class_of(type_name, endpoint.type_hash, of_service)
        said = f"RIHS01_{ros_hash.hex()}" if ros_hash and not (of_service or self.scheme.raw) else None
        dds_type = names.dds_type(type_name, of_service)
        return self._named(endpoint.topic.removesuffix("/_request"), cls, dds_type, said)

    def named_by(self, token: Token) -> Named:
        """Raises ValueError, also for a type that is defined differently there."""
        cls = types.class_of(names.baton_type(token.type), of_service=token.kind == "SS")
        named = self._named(token.name, cls, token.type)
        if named.hash != token.hash:
            raise types.TypeUnknown(f"{token.type} is defined differently there: {token.hash[:20]}...")
        return named

    def _named(self, name: str, cls: Any, dds_type: str, said: str | None = None) -> Named:
        type_hash = said or types.hash_of(self.scheme, cls)
        return Named(name, cls, dds_type, type_hash, self.scheme.key(self.domain, name, dds_type, type_hash))

    def declare(self, kind: str, endpoint: Endpoint, named: Named) -> zenoh.LivelinessToken:
        enclave, qos = names.mark(self.host, endpoint.gid), names.qos_text(endpoint.qos)
        return self.declare_node(kind, endpoint.node, (named.name, named.dds_type, named.hash, qos, enclave))

    def declare_node(self, kind: str, node: str, words: tuple[str, ...] = ()) -> zenoh.LivelinessToken:
        token = Token(str(self.session.zid()), next(self._numbers), kind, absolute(node), *words)
        return self.session.liveliness().declare_token(token.key(self.scheme, self.domain))

    def advertise(self, *words: Any, gid: bytes | None = None, ros_hash: bytes | None = None) -> Any:
        """`words`: topic, class, QoS, node, and the use: "topic", "requests" or "responses". `gid`: of the publisher that it stands for."""
        return _core._advertise_relayed(self.node, *words, gid, ros_hash)

    def subscribe(self, *words: Any, waits: bool = False) -> Any:
        """`words`: topic, class, QoS, callback and node. `waits`: the callback runs in the sender's thread."""
        return _core._subscribe_unrelayed(self.sender if waits else self.node, *words)

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
        # "node@host" stands for one of another network: neither a link nor a bridge sends it on.
        if "@" in each.node or (each.node == LINK and not each.is_publisher):
            continue
        graph.nodes.add(absolute(each.node))
        if part == "_request" and not each.is_publisher:
            graph.servers.append(each)
        elif "/_" not in each.topic.replace("/_action/", "/"):
            (graph.publishers if each.is_publisher else graph.subscriptions).append(each)
    return graph
