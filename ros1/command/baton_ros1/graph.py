# SPDX-License-Identifier: Apache-2.0
"""ROS 1's graph beside Baton's: which links there are, which way the messages of each take, and why.

The master and the nodes say which links exist and what they sent (XML-RPC: getSystemState, getBusInfo, getBusStats; ROS's wiki,
"ROS/Master_Slave_APIs"), Baton's graph says which of them have shared memory (docs/format/tcpros.md), and the kernel how many bytes
went by TCP all the same.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import os
import re
import runpy
import socket
import time
import xml.parsers.expat
import xmlrpc.client
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from baton_cli import live
from baton_cli.middleware import ForeignGraph, ForeignLink, ForeignNode, MessagePath, full_name

from . import tcp_bytes

# baton_cli/middleware.py says what these are for.
KEY, NAME, VARIABLE = "ros1", "ROS 1", "ROS_MASTER_URI"
HELP = "The domain of ROS 1's nodes: BATON_DOMAIN, else that of ROS_MASTER_URI."
ECHO = "rostopic echo"

DEFAULT_MASTER = "http://localhost:11311"
ANSWER_S = 1.0  # that the master and each node have to answer
MOST_ANSWER_BYTES = 16 << 20
MOST_ANSWER_S = 10.0  # of an answer that comes in many parts, its headers included
_PORTS = re.compile(r"on port (\d{1,5}) to \[.*:(\d{1,5}) on socket")  # getBusInfo's words for a connection
_NAME = re.compile(r"/?[A-Za-z0-9_~/]+")
_FAILURES = (OSError, http.client.HTTPException, xmlrpc.client.Error, xml.parsers.expat.ExpatError, ValueError)


@functools.cache
def _common() -> dict[str, Any]:
    """baton/_ros1_domain.py; that of the checkout beside a build without ROS 1. Not at the import of this module: `--help` needs no package
    baton."""
    try:
        from baton import _ros1_domain
    except ImportError:
        of_checkout = Path(__file__).resolve().parents[2] / "rospy/baton/_ros1_domain.py"
        if not of_checkout.exists():
            raise
        return runpy.run_path(str(of_checkout))
    return vars(_ros1_domain)


def _words() -> dict[str, Any]:
    """The constants of ros1/domain/words.hpp."""
    words: dict[str, Any] = _common()["WORDS"]
    return words


def master_uri() -> str:
    return os.environ.get(VARIABLE) or DEFAULT_MASTER


def domain() -> int:
    """Of ROS 1's processes with this environment: BATON_DOMAIN comes first, as there."""
    chosen = os.environ.get("BATON_DOMAIN", "")
    return int(chosen) if chosen.isdecimal() else _common()["domain_of_master"](master_uri(), socket.gethostname())


def silence() -> str:
    return f"ROS 1's master at {master_uri()} does not answer ({VARIABLE})"


def topic_of(name: str) -> str:
    """ROS 1's topic, of a preloaded publisher's channel, too."""
    return name.partition(_words()["kChannelPart"])[0]


def is_carrier(endpoint: Any) -> bool:
    """A preloaded publisher's channel is a link of ROS 1."""
    return bool(endpoint.type_name == _words()["kSerializedType"])


class _Timed(io.RawIOBase):
    """A connection's bytes, until MOST_ANSWER_S are over."""

    def __init__(self, raw: Any) -> None:
        self._raw, self._end = raw, time.monotonic() + MOST_ANSWER_S

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> Any:
        if time.monotonic() >= self._end:
            raise ValueError(f"an answer that takes longer than {MOST_ANSWER_S:g} s")
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self.fp = io.BufferedReader(_Timed(self.fp.detach()))  # type: ignore[attr-defined]


class _Transport(xmlrpc.client.Transport):
    """Does not wait longer than ANSWER_S for a machine that is gone."""

    accept_gzip_encoding = False  # a few bytes could become any number

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        connection = super().make_connection(host)
        connection.timeout = ANSWER_S
        connection.response_class = _Response
        return connection

    def parse_response(self, response: Any) -> Any:
        return super().parse_response(_Answer(response))  # type: ignore[arg-type]


class _Answer:
    """The bytes of an answer, uncompressed. A node, also of another host, could send them without an end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self._left = MOST_ANSWER_BYTES

    def read(self, size: int) -> bytes:
        part = self._response.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise ValueError(f"an answer of more than {MOST_ANSWER_BYTES} bytes")
        return part


def _call(uri: str, method: str, *arguments: str) -> Any:
    """The value of a call of ROS's APIs. Raises one of _FAILURES."""
    with xmlrpc.client.ServerProxy(uri, transport=_Transport()) as server:
        answer = getattr(server, method)("/baton", *arguments)
    if method == "getBusStats" and isinstance(answer, list) and answer and isinstance(answer[0], list):
        return answer  # roscpp leaves code and text out
    if not isinstance(answer, list) or len(answer) != 3 or answer[0] != 1:
        raise ValueError(f"{method}: {answer!r}")
    return answer[2]


def _is_here(host: str) -> bool:
    """Whether an address of this host is one of this machine: then a socket can be bound to it."""
    try:
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
    except OSError:
        return False
    for family, kind, protocol, _, address in found:
        try:
            with socket.socket(family, kind, protocol) as bound:
                bound.bind(address)
            return True
        except OSError:
            continue
    return False


def _names(rows: Any) -> dict[str, list[str]]:
    """[[topic, [nodes]]] of getSystemState; names that are none are left out, since they are printed."""
    found: dict[str, list[str]] = {}
    for topic, nodes in rows:
        if _NAME.fullmatch(str(topic)):
            found[str(topic)] = sorted(str(n) for n in nodes if _NAME.fullmatch(str(n)))
    return found


def _statistics(stats: Any) -> Iterator[tuple[str, int, int, int]]:
    """Of a publisher's getBusStats: topic, the link's number, messages and bytes. roscpp and rospy have two forms of it."""
    for topic, *rest in stats[0] if stats and isinstance(stats[0], list) else []:
        links = next((part for part in rest if isinstance(part, list)), [])
        for link in links:
            if len(link) >= 4:
                # roscpp: [number, bytes, bytes of messages, messages, 0]; rospy: [number, bytes, messages, connected]
                messages = link[3] if len(link) >= 5 else link[2]
                yield str(topic), int(link[0]), int(messages) & 0xFFFFFFFF, int(link[1]) & 0xFFFFFFFF


@dataclass
class _Asked:
    """The answers of one node."""

    node: ForeignNode
    bus: list[Any] = field(default_factory=list)
    statistics: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    answers: bool = True


def _ask(uri: str, name: str) -> _Asked:
    asked = _Asked(ForeignNode(name), answers=False)
    try:
        at = str(_call(uri, "lookupNode", name))
        host = urlsplit(at).hostname or ""
        here = _is_here(host)
        asked.node = ForeignNode(name, host, here=here)
        asked.node = ForeignNode(name, host, int(_call(at, "getPid")) if here else 0, here)
        asked.bus = list(_call(at, "getBusInfo"))
        asked.statistics = {(t, n): (messages, size) for t, n, messages, size in _statistics(_call(at, "getBusStats"))}
        asked.answers = True
    except (*_FAILURES, TypeError, IndexError, KeyError):
        pass
    return asked


def graph_at(uri: str, endpoints: Iterable[Any] = ()) -> ForeignGraph:
    """ROS 1's graph. Without the master's answer: the links that Baton's graph has, of which `endpoints` are the ends."""
    try:
        publishers, subscribers, _ = _call(uri, "getSystemState")
        graph = ForeignGraph(uri, True, publishers=_names(publishers), subscribers=_names(subscribers))
        graph.types = {str(topic): live.harmless(str(name)) for topic, name in _call(uri, "getTopicTypes")}
    except (*_FAILURES, TypeError):
        graph = ForeignGraph(uri, False)
        for topic, p, s in _channels(endpoints):
            graph.links.append(
                ForeignLink(topic, ForeignNode(full_name(p.node), pid=p.pid), ForeignNode(full_name(s.node), pid=s.pid))
            )
            graph.publishers.setdefault(topic, []).append(full_name(p.node))
            graph.subscribers.setdefault(topic, []).append(full_name(s.node))
        return graph
    names = sorted({n for nodes in [*graph.publishers.values(), *graph.subscribers.values()] for n in nodes})
    with ThreadPoolExecutor(16) as pool:
        asked = {a.node.name: a for a in pool.map(lambda name: _ask(uri, name), names)}
    by_tcp = tcp_bytes.sent()
    graph.silent = [name for name, a in asked.items() if not a.answers]
    for a in asked.values():
        for row in a.bus:
            with contextlib.suppress(TypeError, ValueError):  # any node may say anything
                graph.links += _links_of(a, row, asked, by_tcp)
    graph.links.sort(key=lambda link: link.key)
    return graph


def _links_of(a: _Asked, row: Any, asked: dict[str, _Asked], by_tcp: dict[tuple[int, int], int]) -> list[ForeignLink]:
    """The link of a row of getBusInfo, if it is one of a publisher. Names that are none are left out, since they are printed."""
    if len(row) < 5 or row[2] != "o" or "/_" in str(row[4]):
        return []
    subscriber = asked[str(row[1])].node if str(row[1]) in asked else ForeignNode(str(row[1]), pid=0)
    topic, number = str(row[4]), int(row[0])
    if not (_NAME.fullmatch(subscriber.name) and _NAME.fullmatch(topic)):
        return []
    messages, size = a.statistics.get((topic, number), (0, 0))
    ports = _PORTS.search(str(row[6])) if len(row) > 6 else None
    carried = by_tcp.get((int(ports[1]), int(ports[2])), -1) if ports and a.node.here else -1
    return [ForeignLink(topic, a.node, subscriber, live.harmless(str(row[3])), number, messages, size, carried)]


def _channels(endpoints: Iterable[Any]) -> list[tuple[str, Any, Any]]:
    """The links that have shared memory: topic, and their ends in Baton's graph."""
    ends = [e for e in endpoints if is_carrier(e) and topic_of(e.topic) != e.topic]
    writers = {e.topic: e for e in ends if e.is_publisher}
    return [(topic_of(e.topic), writers[e.topic], e) for e in ends if not e.is_publisher and e.topic in writers]


BY_TCP = "TCP"
BY_MEMORY = "shared memory"
BY_QUEUE = "Baton's queue"
BY_HANDLE = "shared memory, handles by TCP"
BY_POINTER = "pointer"
SHORT_WAYS = {
    BY_MEMORY: "memory",
    f"{BY_MEMORY} and {BY_TCP}": "memory, TCP",
    BY_HANDLE: "handles",
    BY_QUEUE: "queue",
    f"{BY_QUEUE} and {BY_TCP}": "queue, TCP",
}
_SOME, _MOST = 0.05, 0.95  # shares of a link's bytes that go by TCP although both ends have shared memory
_TCP_COPIES = 4  # serialize, into the kernel, out of it, deserialize
_MEMORY_COPIES = 2  # serialize, deserialize
_ALIASED_COPIES = 1  # serialize; the arrays of the received message lie in the chunk


def size_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if size == int(size) else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _environment_of(pid: int) -> dict[str, str] | None:
    try:
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return None
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _data_segments(maps: str, private: bool) -> set[str]:
    """Device and inode of the segments of messages among a process's mappings: its shared ones, or its private ones."""
    from baton._core import _DATA_SEGMENT

    found, wanted = set(), f"/memfd:{_DATA_SEGMENT}"
    for line in maps.splitlines():
        _, mode, _, device, inode, *name = line.split(None, 5)
        if name and name[0].startswith(wanted) and mode.endswith("p") == private:
            found.add(f"{device} {inode}")
    return found


def aliases_arrays(publisher_maps: str | None, subscriber_maps: str | None) -> bool:
    """Whether arrays of received messages lie in the publisher's memory: the subscriber maps it privately for these alone."""
    publishers = _data_segments(publisher_maps or "", private=False)
    return bool(publishers & _data_segments(subscriber_maps or "", private=True))


_NO_TRACE = ("has another build of libroscpp.so, which its lines on stderr name, or its links are new", "")

_NOT_PRELOADED = ("runs without libbaton_roscpp.so", "start it with baton ros1 run")


def _small(link: ForeignLink) -> MessagePath | None:
    """The way of messages that the library leaves to TCP."""
    mean = link.bytes / link.messages if link.messages and link.bytes < 1 << 31 else 0
    if not 0 < mean < (least := _words()["kWorthwhileBytes"]):
        return None
    why = f"messages have {size_text(mean)} on average; those below {size_text(least)} go by TCP, where a descriptor saves nothing"
    return MessagePath(BY_TCP, _TCP_COPIES, why, True)


class Judge:
    """Says which way each link takes; asks /proc once about each process."""

    def __init__(self, endpoints: list[Any], holdings: list[Any], node_domain: int) -> None:
        self._ends = [e for e in endpoints]
        self._holdings = {(h.publisher, h.subscription): h for h in holdings}
        self._channels = {(t, full_name(p.node), full_name(s.node)): (p, s) for t, p, s in _channels(endpoints)}
        self._domain = node_domain
        self._lacks: dict[ForeignNode, tuple[str, str]] = {}

    def _has(self, topic: str, node: ForeignNode, publisher: bool) -> Any:
        """The node's end of a topic in Baton's graph, if it has one."""
        wanted = (topic, node.name, publisher)
        return next((e for e in self._ends if (e.topic, full_name(e.node), e.is_publisher) == wanted), None)

    def judge(self, link: ForeignLink) -> MessagePath:
        p, s = link.publisher, link.subscriber
        if link.transport == "INTRAPROCESS" or p.name == s.name:
            return MessagePath(BY_POINTER, 0, "both ends are in one process", True)
        if link.transport not in ("", "TCPROS"):
            return MessagePath(link.transport, None, f"the subscriber asked for {link.transport}")
        own, its = self._has(link.topic, p, True), self._has(link.topic, s, False)
        if own and its:
            return self._of_baton(link, own, its)
        if channel := self._channels.get((link.topic, p.name, s.name)):
            return self._of_preload(link, *channel)
        return self._of_tcp(link, own, its)

    def _of_baton(self, link: ForeignLink, own: Any, its: Any) -> MessagePath:
        holding = self._holdings.get((own.gid, its.gid))
        if holding and holding.standing == "refused":
            return MessagePath(BY_TCP, _TCP_COPIES, f"Baton refused the subscription: {holding.reason}", False)
        if own.type_hash != its.type_hash:
            return MessagePath(
                BY_TCP, _TCP_COPIES, f"both have types of Baton, but define {own.type_name} differently", False
            )
        words = _words()
        if self._has(link.topic + words["kSidePart"], link.subscriber, False) and self._has(
            link.topic + words["kSidePublisherPart"], link.publisher, False
        ):
            return MessagePath(BY_HANDLE, 0, "types of Baton at both ends, mode tzc", True, counted=False)
        if self._has(link.topic + words["kStockPart"], link.subscriber, False):
            why = "types of Baton at both ends; by TCP, too, for stock subscriptions in the subscriber's process"
            return MessagePath(f"{BY_QUEUE} and {BY_TCP}", _TCP_COPIES, why, counted=False)
        return MessagePath(BY_QUEUE, 0, "types of Baton at both ends", True, counted=False)

    def _of_preload(self, link: ForeignLink, own: Any, its: Any) -> MessagePath:
        if small := _small(link):
            return small
        holding = self._holdings.get((own.gid, its.gid))
        if holding and holding.standing == "refused":
            return MessagePath(BY_TCP, _TCP_COPIES, f"no memory for its samples: {holding.reason}", False)
        least = size_text(_words()["kWorthwhileBytes"])
        why = f"libbaton_roscpp.so at both ends; TCP carries a descriptor for each message of {least} or more"
        copies = _MEMORY_COPIES
        if aliases_arrays(live.maps_of(link.publisher.pid), live.maps_of(link.subscriber.pid)):
            copies = _ALIASED_COPIES
            why += "; large arrays stay in its memory at the subscriber"
        full = ""
        if holding and holding.unread >= _words()["kInFlight"]:
            full = f"{holding.unread} messages wait to be taken; the next go by TCP until there is room"
        elif holding and holding.held >= holding.granted:
            full = f"the subscriber keeps {holding.held} messages; the next go by TCP until it lets go of some"
        if not link.recent or link.tcp_bytes < 0 or not link.bytes:
            return MessagePath(BY_MEMORY, copies, full or why, True)
        share = link.tcp_bytes / link.bytes
        if share < _SOME:
            return MessagePath(BY_MEMORY, copies, full or why, True)
        limit = (_environment_of(link.publisher.pid) or {}).get("BATON_PROCESS_MEMORY_LIMIT", "")
        short = f"the publisher has no memory left{f' (BATON_PROCESS_MEMORY_LIMIT={limit[:20]})' * bool(limit)}"
        why = f"{min(share, 1):.0%} of the bytes go by TCP: {full or short + ', or too many messages wait'}"
        way_out = "" if full else "raise the memory limits: docs/guides/environment.md"
        if share > _MOST:
            return MessagePath(BY_TCP, _TCP_COPIES, why, None, way_out)
        return MessagePath(f"{BY_MEMORY} and {BY_TCP}", _TCP_COPIES, why, None, way_out)

    def _of_tcp(self, link: ForeignLink, own: Any, its: Any) -> MessagePath:
        p, s = link.publisher, link.subscriber
        away = {role: n.host or "?" for role, n in (("publisher", p), ("subscriber", s)) if not n.here}
        if away:
            return MessagePath(
                BY_TCP, _TCP_COPIES, f"another machine: {', '.join(f'{r} on {h}' for r, h in away.items())}", True
            )
        if own or its:
            has, other, call, made = (
                ("publisher", "subscriber", "subscribe", "subscription")
                if own
                else ("subscriber", "publisher", "advertise", "publisher")
            )
            way_out = f"recompile the {other} too, or baton::ros1::{call}() or baton.rospy.create_{made}() in it"
            return MessagePath(BY_TCP, _TCP_COPIES, f"only the {has} has types of Baton", None, way_out)
        if link.topic == "/rosout":
            return MessagePath(BY_TCP, _TCP_COPIES, "log lines go by TCP", True)
        lacks = {role: self._lack(node) for role, node in (("publisher", p), ("subscriber", s))}
        found = {role: lack for role, lack in lacks.items() if lack[0]}
        if len(set(found.values()) - {_NO_TRACE}) > 0:  # a preloaded end without a preloaded peer leaves no trace
            found = {role: lack for role, lack in found.items() if lack != _NO_TRACE}
        if found:
            if set(found.values()) == {_NOT_PRELOADED} and (small := _small(link)):
                return small  # the library would change nothing
            same = len(found) == 2 and len(set(found.values())) == 1
            if same:
                why, way_out = found["publisher"]
                return MessagePath(BY_TCP, _TCP_COPIES, f"each end {why}", None, way_out)
            why = "; ".join(f"the {role} {lack[0]}" for role, lack in found.items())
            ways_out = [f"{role}: {lack[1]}" for role, lack in found.items() if lack[1]]
            return MessagePath(BY_TCP, _TCP_COPIES, why, None, "; ".join(ways_out))
        return MessagePath(BY_TCP, _TCP_COPIES, "both have libbaton_roscpp.so, and did not meet in this domain", None)

    def _lack(self, node: ForeignNode) -> tuple[str, str]:
        """Why a roscpp node has no shared memory, as far as its process shows it; empty: nothing is seen."""
        if node not in self._lacks:
            self._lacks[node] = self._look_at(node)
        return self._lacks[node]

    def _look_at(self, node: ForeignNode) -> tuple[str, str]:
        libraries = live.maps_of(node.pid) if node.pid else None
        if libraries is None:
            return "cannot be looked at (another user's, in a container, or gone)", ""
        if "libroscpp.so" not in libraries:
            if "python" in libraries:
                return (
                    "is a rospy program without baton.rospy",
                    "start it with baton ros1 run, or use baton.rospy (docs/guides/ros1.md)",
                )
            return "is no program of roscpp", ""
        if "libbaton_roscpp.so" not in libraries:
            return _NOT_PRELOADED
        environment = _environment_of(node.pid) or {}
        if environment.get("BATON_ROS1") == "0":
            return "has BATON_ROS1=0", "unset it there"
        if any(full_name(e.node) == node.name for e in self._ends):
            return "", ""
        chosen = environment.get("BATON_DOMAIN")
        if chosen and chosen != str(self._domain):
            return f"has BATON_DOMAIN={chosen[:20]}, another domain", "the same BATON_DOMAIN for all, or none"
        if environment.get("BATON_RUNTIME_DIR") != os.environ.get("BATON_RUNTIME_DIR"):
            return "has another BATON_RUNTIME_DIR", "the same for all, or none"
        return _NO_TRACE


def judged(
    graph: ForeignGraph, endpoints: list[Any], holdings: list[Any], node_domain: int
) -> list[tuple[ForeignLink, MessagePath]]:
    judge = Judge(endpoints, holdings, node_domain)
    return [(link, judge.judge(link)) for link in graph.links]


def look(wanted: bool, node_domain: int, endpoints: list[Any]) -> ForeignGraph | None:
    """ROS 1's graph, if the domain is that of ROS 1's nodes: the user or ROS_MASTER_URI says so, or their links are there."""
    asks = wanted or bool(os.environ.get(VARIABLE))
    graph = graph_at(master_uri() if asks and domain() == node_domain else "", endpoints)
    return graph if graph.answers or graph.links or wanted else None
