# SPDX-License-Identifier: Apache-2.0
"""Topics from Zenoh to Baton. Each publisher that has a token has a publisher in the domain, "node@host", with its gid, numbers and stamps. A key
is subscribed to while somebody in the domain subscribes to its topic.

Threads: update() comes from the bridge's thread, _arrive() from Zenoh's; _lock guards the tables and the order of each publisher's messages."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import baton
import xxhash
import zenoh
import zenoh.ext
from baton import _core
from baton._node import Endpoint

from . import names, types
from .names import Token
from .rules import Pace
from .sides import DomainGraph, Sides, now_ns

MOST_PUBLISHERS = 2048
MOST_OF_SESSION = 512
MOST_STRANGERS = 64  # publishers without a token: plain clients of Zenoh
MOST_PENDING_BYTES = 1 << 24  # of messages that wait for their publisher's token or first subscription
_PENDING_BYTES = 256  # of one, beside its payload
_TOKEN_S = 0.25  # a message may overtake the news of its publisher
_FIRST_SUBSCRIPTION_S = 1.0
_AGAIN_S = 5.0  # the token of a publisher comes again: its bridge was replaced
_IDLE_S = 60.0  # of a stranger
MOST_ENDED = 4096  # publishers whose token has gone


@dataclass
class _Proxy:
    """A publisher of the domain that stands for one behind Zenoh."""

    publisher: Any  # None: of a stranger whose token may come
    since: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)  # message
    numbers: int = 0  # of messages without an attachment
    pending: deque[tuple[zenoh.ZBytes, tuple[Any, ...]]] = field(default_factory=deque)


@dataclass
class _AskedKey:
    """A key that is subscribed to."""

    topic: str
    cls: Any
    type_hash: str
    latched: bool
    pace: Pace | None
    subscriber: Any = None
    strangers: dict[bytes, _Proxy] = field(default_factory=dict)  # by gid


def token_gid(token: Token, key: str) -> bytes:
    """The gid in attachments: a bridge's mark says it; rmw_zenoh takes the token's XXH3, the lower half first."""
    if (mark := token.mark) is not None:
        return mark.gid
    return xxhash.xxh3_128_intdigest(key.encode()).to_bytes(16, "little")


def token_key(sides: Sides, token: Token) -> str:
    return sides.scheme.key(sides.domain, token.name, token.type, token.hash)


class Inbound:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lock = threading.RLock()
        self._proxies: dict[bytes, _Proxy] = {}  # by gid
        self._by_token: dict[str, bytes] = {}
        self._refused: set[str] = set()  # tokens that a line was about
        self._sources: dict[str, _AskedKey] = {}
        self._pending_bytes = 0
        self._ended: OrderedDict[bytes, None] = OrderedDict()  # a late message of one brings no publisher back
        self._tokens: dict[bytes, zenoh.LivelinessToken] = {}  # of the domain's subscriptions

    def update(self, graph: DomainGraph, tokens: dict[str, Token]) -> float | None:
        """Returns the seconds after which it is to be called again; None: when a graph has changed."""
        with self._lock:
            for key in [key for key in self._by_token if key not in tokens]:
                gid = self._by_token.pop(key)
                self._drop(self._proxies.pop(gid))
                self._ended[gid] = None
            while len(self._ended) > MOST_ENDED:
                self._ended.popitem(last=False)
            self._refused &= tokens.keys()
            sessions: dict[str, int] = {}
            for key, token in tokens.items():
                if token.kind != "MP" or not self._sides.rules.takes(token.name, token.node):
                    continue
                sessions[token.session] = sessions.get(token.session, 0) + 1
                if key not in self._by_token and key not in self._refused:
                    self._admit(key, token, sessions[token.session])
        self._update_sources(graph)
        with self._lock:
            self._settle_strangers()
            return 0.05 if self._flush() else None

    def _admit(self, key: str, token: Token, of_session: int) -> None:
        lines = self._sides.lines
        try:
            if of_session > MOST_OF_SESSION or len(self._proxies) >= MOST_PUBLISHERS:
                most = MOST_OF_SESSION if of_session > MOST_OF_SESSION else MOST_PUBLISHERS
                raise types.TypeUnknown(f"more than {most} publishers")
            cls = types.class_of(names.baton_type(token.type))
            if types.hash_of(self._sides.scheme, cls) != token.hash:
                raise types.TypeUnknown(f"{token.type} is defined differently there: {token.hash[:20]}...")
            mark = token.mark
            gid = token_gid(token, key)
            qos = baton.QoS(**names.qos_of(token.qos))
            source = self._sources.get(token_key(self._sides, token))
            stranger = source.strangers.pop(gid, None) if source else None
            pending = stranger.pending if stranger else deque()
            del stranger  # with its publisher, which has this gid
            publisher = self._advertise(
                token.name, cls, qos, gid, f"{token.node}@{mark.host if mark else 'zenoh'}", token.hash
            )
            self._proxies[gid] = _Proxy(publisher, pending=pending)
            self._by_token[key] = gid
            self._ended.pop(gid, None)
        except baton.AlreadyExists:
            pass  # it is in this domain, or has come by a link: looked at again when the graph changes
        except (ValueError, baton.BatonError) as error:
            self._refused.add(key)
            lines.count(token.name[:200], "publisher", f"a publisher of Zenoh is left out: {error}")

    def _advertise(self, topic: str, cls: Any, qos: baton.QoS, gid: bytes, node: str, type_hash: str) -> Any:
        ros_hash = bytes.fromhex(type_hash[7:]) if type_hash.startswith("RIHS01_") else None
        return _core._advertise_relayed(self._sides.node, topic, cls, qos, node, "topic", gid, ros_hash)

    def _update_sources(self, graph: DomainGraph) -> None:
        sides = self._sides
        wanted: dict[str, tuple[Endpoint, Any, bool]] = {}
        here = {each.gid: each for each in graph.subscriptions if sides.rules.takes(each.topic)}
        for gone in self._tokens.keys() - here.keys():
            self._tokens.pop(gone).undeclare()
        for gid, each in here.items():
            try:
                key, cls, latched = self._ask_for(each, graph.ros_hashes.get(gid))
                wanted[key] = (each, cls, latched or (key in wanted and wanted[key][2]))
            except (ValueError, zenoh.ZError) as error:
                sides.lines.count(each.topic, "type", f"is not asked for at Zenoh: {error}")
        for key in list(self._sources):
            source = self._sources[key]
            if key not in wanted or (wanted[key][2] and not source.latched):
                source.subscriber.undeclare()
                with self._lock:
                    for stranger in self._sources.pop(key).strangers.values():
                        self._drop(stranger)
        for key in wanted.keys() - self._sources.keys():
            self._subscribe(key, *wanted[key])

    def _ask_for(self, each: Endpoint, said: bytes | None) -> tuple[str, Any, bool]:
        """The key that a subscription of the domain means; its token is there from now on."""
        sides = self._sides
        cls = types.class_of(each.type_name, each.type_hash)
        type_hash = f"RIHS01_{said.hex()}" if said and not sides.scheme.raw else types.hash_of(sides.scheme, cls)
        dds_type = names.dds_type(each.type_name)
        key = sides.scheme.key(sides.domain, each.topic, dds_type, type_hash)
        if each.gid not in self._tokens:
            words = {"name": each.topic, "type": dds_type, "hash": type_hash, "qos": names.qos_text(each.qos)}
            mark = names.Mark(sides.host, each.gid)
            self._tokens[each.gid] = sides.declare("MS", each.node, enclave=mark.enclave(), **words)
        return key, cls, each.qos.durability == "transient_local"

    def _subscribe(self, key: str, endpoint: Endpoint, cls: Any, latched: bool) -> None:
        sides = self._sides
        source = _AskedKey(endpoint.topic, cls, key.rpartition("/")[2], latched, sides.rules.pace(endpoint.topic))
        with self._lock:
            self._sources[key] = source
        arrive = lambda sample: self._arrive(source, sample)  # noqa: E731
        options = {"allowed_origin": zenoh.Locality.REMOTE}
        if latched:
            history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=endpoint.qos.depth)
            declare = zenoh.ext.declare_advanced_subscriber
            source.subscriber = declare(sides.session, key, arrive, history=history, **options)
        else:
            source.subscriber = sides.session.declare_subscriber(key, arrive, **options)
        sides.lines.say(f"{source.topic} crosses from Zenoh to Baton")

    def _arrive(self, source: _AskedKey, sample: zenoh.Sample) -> None:
        lines = self._sides.lines
        try:
            if sample.attachment is None:
                gid = hashlib.sha256(str(sample.key_expr).encode()).digest()[:16]
                words = (0, now_ns(), gid)
            else:
                words = names.read_attachment(bytes(sample.attachment))
            with self._lock:
                proxy = self._proxies.get(words[2]) or self._stranger(source, words[2])
                if source.pace is not None and not source.pace.lets(words[2]):
                    return
                proxy.numbers, proxy.last = words[0] or proxy.numbers + 1, time.monotonic()
                origin = (proxy.numbers, words[1], None, 0, False)
                if not proxy.pending and not self._is_too_early(proxy):
                    return self._sides.publish(proxy.publisher, sample.payload, origin)
                needs = _PENDING_BYTES + len(sample.payload)
                if self._pending_bytes + needs > MOST_PENDING_BYTES:
                    lines.count(
                        source.topic, "pending", "a message of Zenoh is lost: too many came before their subscriptions"
                    )
                    return
                self._pending_bytes += needs
                proxy.pending.append((sample.payload, origin))
            self._sides.wake()
        except baton.AlreadyExists:
            pass  # it has come before: from a cache, or by another router
        except (ValueError, baton.BatonError) as error:
            lines.count(source.topic, type(error).__name__, f"a message of Zenoh is lost: {error}")

    def _stranger(self, source: _AskedKey, gid: bytes) -> _Proxy:
        """Of a publisher whose token has not come."""
        if (known := source.strangers.get(gid)) is not None:
            return known
        if sum(len(each.strangers) for each in self._sources.values()) >= MOST_STRANGERS:
            self._sides.wake()  # some may be idle
            raise ValueError(f"more than {MOST_STRANGERS} publishers have no token of rmw_zenoh")
        made = source.strangers[gid] = _Proxy(None)
        return made

    def _settle_strangers(self) -> None:
        """Those whose token does not come are plain clients of Zenoh, or publishers that have ended."""
        now = time.monotonic()
        for source in self._sources.values():
            for gid, stranger in list(source.strangers.items()):
                has_ended = gid in self._ended
                if now - stranger.last > (_AGAIN_S if has_ended else _IDLE_S):
                    self._drop(source.strangers.pop(gid))
                elif stranger.publisher is None and not has_ended and now - stranger.since > _TOKEN_S:
                    self._promote(source, gid, stranger)

    def _promote(self, source: _AskedKey, gid: bytes, stranger: _Proxy) -> None:
        stranger.since = time.monotonic()
        try:
            qos, node = baton.QoS(), "/zenoh@zenoh"
            stranger.publisher = self._advertise(source.topic, source.cls, qos, gid, node, source.type_hash)
        except baton.BatonError as error:
            self._drop(stranger)
            self._sides.lines.count(source.topic, "stranger", f"messages of Zenoh are lost: {error}")

    @staticmethod
    def _is_too_early(proxy: _Proxy) -> bool:
        if proxy.publisher is None:
            return True
        return proxy.publisher.matched == 0 and time.monotonic() - proxy.since < _FIRST_SUBSCRIPTION_S

    def _drop(self, proxy: _Proxy) -> None:
        """Forgets what waits."""
        self._pending_bytes -= sum(_PENDING_BYTES + len(payload) for payload, _ in proxy.pending)
        proxy.pending.clear()

    def _flush(self) -> bool:
        """Publishes what waited for a first subscription. True: something waits on."""
        waits = False
        every = [*self._proxies.values(), *(p for each in self._sources.values() for p in each.strangers.values())]
        for proxy in every:
            if proxy.pending and self._is_too_early(proxy):
                waits = True
                continue
            for payload, origin in proxy.pending:
                try:
                    self._sides.publish(proxy.publisher, payload, origin)
                except baton.AlreadyExists:
                    pass
                except (ValueError, baton.BatonError) as error:
                    topic = proxy.publisher.topic
                    self._sides.lines.count(topic, type(error).__name__, f"a message of Zenoh is lost: {error}")
            self._drop(proxy)
        return waits

    def close(self) -> None:
        for source in self._sources.values():
            source.subscriber.undeclare()
        with self._lock:
            self._sources.clear()
            self._proxies.clear()
