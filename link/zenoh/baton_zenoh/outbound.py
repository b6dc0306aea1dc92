# SPDX-License-Identifier: Apache-2.0
"""Topics from Baton to Zenoh. Each publisher of the domain has a token; its messages keep number, stamp and gid. A message crosses while Zenoh says
that somebody subscribes to its key. What is latched crosses at once, into the cache that late subscriptions ask (AdvancedPublisher).

Threads: update() and close() come from the bridge's thread, _forward() from the executor's; _lock guards the tables."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import baton
import zenoh
import zenoh.ext
from baton import _core
from baton._node import Endpoint

from . import names, types
from .rules import Pace
from .sides import DomainGraph, Sides

_Class = tuple[str, str]  # reliability, durability


def _class_of(qos: baton.QoS) -> _Class:
    return qos.reliability, qos.durability


@dataclass
class _GivenTopic:
    name: str
    cls: Any
    key: str
    dds_type: str
    hash: str
    pace: Pace | None
    publisher: zenoh.Publisher  # of all that is not latched; its matching status is that of the key
    flows: dict[_Class, Any] = field(default_factory=dict)


@dataclass
class _Shown:
    topic: _GivenTopic
    endpoint: Endpoint
    token: zenoh.LivelinessToken
    latched: zenoh.ext.AdvancedPublisher | None


class Outbound:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lock = threading.RLock()
        self._topics: dict[tuple[str, str, bytes], _GivenTopic] = {}
        self._shown: dict[bytes, _Shown] = {}
        self._nodes: dict[str, zenoh.LivelinessToken] = {}

    def update(self, graph: DomainGraph) -> None:
        with self._lock:
            self._update_nodes(graph.nodes)
            there = {each.gid: each for each in graph.publishers if self._sides.rules.gives(each.topic, each.node)}
            for gid in [gid for gid in self._shown if gid not in there]:
                gone = self._shown.pop(gid)
                gone.token.undeclare()
                if gone.latched is not None:
                    gone.latched.undeclare()
            for endpoint in there.values():
                self._show(endpoint, graph.ros_hashes.get(endpoint.gid))
            self._update_flows()

    def _update_nodes(self, nodes: set[str]) -> None:
        for gone in self._nodes.keys() - nodes:
            self._nodes.pop(gone).undeclare()
        for name in nodes - self._nodes.keys():
            try:
                self._nodes[name] = self._sides.declare("NN", name)
            except (ValueError, zenoh.ZError) as error:
                self._sides.lines.count(name, "node", f"is not there for Zenoh: {error}")

    def _show(self, endpoint: Endpoint, ros_hash: bytes | None = None) -> _Shown | None:
        if (known := self._shown.get(endpoint.gid)) is not None:
            return known
        try:
            return self._make(endpoint, ros_hash)
        except (ValueError, zenoh.ZError) as error:
            self._sides.lines.count(endpoint.topic, "type", f"is not there for Zenoh: {error}")
            return None

    def _make(self, endpoint: Endpoint, ros_hash: bytes | None) -> _Shown:
        sides = self._sides
        topic = self._topic(endpoint, ros_hash)
        qos = endpoint.qos
        latched = None
        if qos.durability == "transient_local":
            latched = zenoh.ext.declare_advanced_publisher(
                sides.session,
                topic.key,
                cache=zenoh.ext.CacheConfig(min(qos.depth, names.MOST_DEPTH)),
                publisher_detection=True,
                **sides.rules.qos(topic.name, qos.history == "keep_all"),
            )
        mark = names.Mark(sides.host, endpoint.gid)
        words = {"name": topic.name, "type": topic.dds_type, "hash": topic.hash, "qos": names.qos_text(qos)}
        token = sides.declare("MP", endpoint.node, enclave=mark.enclave(), **words)
        shown = self._shown[endpoint.gid] = _Shown(topic, endpoint, token, latched)
        return shown

    def _topic(self, endpoint: Endpoint, ros_hash: bytes | None) -> _GivenTopic:
        of = (endpoint.topic, endpoint.type_name, endpoint.type_hash)
        if (known := self._topics.get(of)) is not None:
            return known
        sides = self._sides
        cls = types.class_of(endpoint.type_name, endpoint.type_hash)
        # A program of ROS 2 says its type's hash itself.
        said = f"RIHS01_{ros_hash.hex()}" if ros_hash and not sides.scheme.raw else None
        dds_type, type_hash = names.dds_type(endpoint.type_name), said or types.hash_of(sides.scheme, cls)
        key = sides.scheme.key(sides.domain, endpoint.topic, dds_type, type_hash)
        publisher = sides.session.declare_publisher(
            key, **sides.rules.qos(endpoint.topic, endpoint.qos.history == "keep_all")
        )
        publisher.declare_matching_listener(lambda _: sides.wake())
        topic = _GivenTopic(endpoint.topic, cls, key, dds_type, type_hash, sides.rules.pace(endpoint.topic), publisher)
        self._topics[of] = topic
        return topic

    def _update_flows(self) -> None:
        wanted: dict[tuple[str, str, bytes], dict[_Class, list[baton.QoS]]] = {of: {} for of in self._topics}
        for shown in self._shown.values():
            qos, topic = shown.endpoint.qos, shown.topic
            if qos.durability == "transient_local" or topic.publisher.matching_status.matching:
                of = (topic.name, shown.endpoint.type_name, shown.endpoint.type_hash)
                wanted[of].setdefault(_class_of(qos), []).append(qos)
        used = {id(shown.topic) for shown in self._shown.values()}
        for of, classes in wanted.items():
            topic = self._topics[of]
            for gone in topic.flows.keys() - classes.keys():
                del topic.flows[gone]
            for each in classes.keys() - topic.flows.keys():
                topic.flows[each] = self._subscribe(topic, each, classes[each])
            if id(topic) not in used:
                topic.publisher.undeclare()
                del self._topics[of]

    def _subscribe(self, topic: _GivenTopic, its_class: _Class, offers: list[baton.QoS]) -> Any:
        sides = self._sides
        reliability, durability = its_class
        request = baton.QoS(
            min(max(each.depth for each in offers), names.MOST_DEPTH),
            reliability=reliability,
            durability=durability,
            history="keep_all" if any(each.history == "keep_all" for each in offers) else "keep_last",
        )
        sides.lines.say(f"{topic.name} crosses from Baton to Zenoh")
        return _core._subscribe_unrelayed(
            sides.node,
            topic.name,
            topic.cls,
            request,
            lambda message: self._forward(topic, its_class, message),
            sides.node.fully_qualified_name,
        )

    def _forward(self, topic: _GivenTopic, its_class: _Class, message: Any) -> None:
        info = baton.info(message)
        sides = self._sides
        with self._lock:
            shown = self._shown.get(info.publisher) or self._meet(topic, info.publisher)
        # A best-effort subscription also gets what is reliable, which another one forwards.
        if shown is None or _class_of(shown.endpoint.qos) != its_class:
            return
        if topic.pace is not None and not topic.pace.lets(info.publisher):
            return
        try:
            words = names.attachment(info.sequence, info.source_time_ns, info.publisher)
            (shown.latched or topic.publisher).put(sides.payload(message), attachment=words)
        except (baton.BatonError, ValueError, zenoh.ZError) as error:
            sides.lines.count(topic.name, type(error).__name__, f"a message does not reach Zenoh: {error}")

    def _meet(self, topic: _GivenTopic, gid: bytes) -> _Shown | None:
        """A publisher whose first message comes before the news of it."""
        for endpoint in self._sides.node._endpoints_of(topic.name):
            if endpoint.gid == gid and not endpoint.node.count("@"):
                return self._show(endpoint)
        return None

    def close(self) -> None:
        with self._lock:
            for topic in self._topics.values():
                topic.flows.clear()
