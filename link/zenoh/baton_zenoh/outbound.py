# SPDX-License-Identifier: Apache-2.0
"""Topics from Baton to Zenoh. Each publisher of the domain has a token and a publisher of Zenoh; its messages keep number, stamp and gid. A message
crosses while Zenoh says that somebody subscribes to its key. What is latched crosses at once, into the cache that late subscriptions ask
(AdvancedPublisher).

Threads: the bridge's, and the one of Sides.sender: it takes and puts the messages that wait while the line is full. _lock guards the table of
publishers, and is not held during a put."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any

import baton
import zenoh
import zenoh.ext
from baton._node import Endpoint

from . import names
from .rules import Pace
from .sides import DomainGraph, Named, Sides

# Key, Baton's hash of the type, reliability, durability, and whether it waits while the line is full.
_Flow = tuple[str, bytes, str, str, bool]


@dataclass
class _Shown:
    endpoint: Endpoint
    named: Named
    token: zenoh.LivelinessToken
    publisher: zenoh.Publisher | zenoh.ext.AdvancedPublisher
    pace: Pace | None
    blocks: bool

    @property
    def flow(self) -> _Flow:
        qos = self.endpoint.qos
        return self.named.key, self.endpoint.type_hash, qos.reliability, qos.durability, self.blocks

    @property
    def is_wanted(self) -> bool:
        return not isinstance(self.publisher, zenoh.Publisher) or self.publisher.matching_status.matching


class Outbound:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lock = threading.Lock()
        self._shown: dict[bytes, _Shown] = {}
        self._refused: set[bytes] = set()  # publishers that a line was about
        self._nodes: dict[str, zenoh.LivelinessToken] = {}
        self._flows: dict[_Flow, Any] = {}

    def update(self, graph: DomainGraph) -> None:
        with self._lock:
            self._update(graph)

    def _update(self, graph: DomainGraph) -> None:
        rules, lines = self._sides.rules, self._sides.lines
        for node in self._nodes.keys() - graph.nodes:
            self._nodes.pop(node).undeclare()
        for name in graph.nodes - self._nodes.keys():
            with lines.counting(name, "is not there for Zenoh"):
                self._nodes[name] = self._sides.declare_node("NN", name)
        there = {each.gid: each for each in graph.publishers if rules.crosses("give", each.topic, each.node)}
        for gone in self._shown.keys() - there.keys():
            self._shown.pop(gone).token.undeclare()  # its publisher ends with its last put
        self._refused &= there.keys()
        for endpoint in there.values():
            self._show(endpoint, graph.ros_hashes.get(endpoint.gid))
        wanted: dict[_Flow, list[_Shown]] = {}
        for shown in self._shown.values():
            if shown.is_wanted:
                wanted.setdefault(shown.flow, []).append(shown)
        for flow in self._flows.keys() - wanted.keys():
            del self._flows[flow]
        for flow in wanted.keys() - self._flows.keys():
            self._flows[flow] = self._subscribe(flow, wanted[flow])

    def _show(self, endpoint: Endpoint, ros_hash: bytes | None = None) -> _Shown | None:
        sides, qos = self._sides, endpoint.qos
        if endpoint.gid not in self._shown and endpoint.gid not in self._refused:
            self._refused.add(endpoint.gid)  # until it is shown
            with sides.lines.counting(endpoint.topic, "is not there for Zenoh"):
                named = sides.named(endpoint, ros_hash)
                options = sides.rules.qos(named.name, qos.history == "keep_all")
                publisher: Any
                if qos.durability == "transient_local":
                    cache = zenoh.ext.CacheConfig(min(qos.depth, names.MOST_DEPTH))
                    options |= {"cache": cache, "publisher_detection": True}
                    publisher = zenoh.ext.declare_advanced_publisher(sides.session, named.key, **options)
                else:
                    publisher = sides.session.declare_publisher(named.key, **options)
                    publisher.declare_matching_listener(lambda _: sides.wake())
                token, pace = sides.declare("MP", endpoint, named), sides.rules.pace(named.name)
                blocks = options["congestion_control"] == zenoh.CongestionControl.BLOCK
                self._shown[endpoint.gid] = _Shown(endpoint, named, token, publisher, pace, blocks)
                self._refused.discard(endpoint.gid)
        return self._shown.get(endpoint.gid)

    def _subscribe(self, flow: _Flow, offers: list[_Shown]) -> Any:
        named, qos = offers[0].named, [each.endpoint.qos for each in offers]
        request = baton.QoS(
            min(max(each.depth for each in qos), names.MOST_DEPTH),
            reliability=flow[2],
            durability=flow[3],
            history="keep_all" if any(each.history == "keep_all" for each in qos) else "keep_last",
        )
        self._sides.lines.say(f"{named.name} crosses from Baton to Zenoh")
        forward = functools.partial(self._forward, named.name, flow)
        words = named.name, named.cls, request, forward, self._sides.node.fully_qualified_name
        return self._sides.subscribe(*words, waits=flow[4])

    def _forward(self, topic: str, flow: _Flow, message: Any) -> None:
        info = baton.info(message)
        shown = self._shown.get(info.publisher) or self._meet(topic, info.publisher)
        # A best-effort subscription also gets what is reliable, which another one forwards.
        if shown is None or shown.flow != flow or (shown.pace and not shown.pace.lets()):
            return
        with self._sides.lines.counting(topic, "a message does not reach Zenoh"):
            words = names.attachment(info.sequence, info.source_time_ns, info.publisher)
            shown.publisher.put(self._sides.payload(message), attachment=words)

    def _meet(self, topic: str, gid: bytes) -> _Shown | None:
        """A publisher whose first message comes before the news of it."""
        with self._lock:
            for endpoint in self._sides.node._endpoints_of(topic):
                if endpoint.gid == gid and "@" not in endpoint.node:
                    return self._show(endpoint)
        return None

    def close(self) -> None:
        self._flows.clear()
