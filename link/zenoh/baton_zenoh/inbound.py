# SPDX-License-Identifier: Apache-2.0
"""Topics from Zenoh to Baton. Each publisher that has a token has a publisher in the domain, "node@host", with its gid, numbers and stamps. A key
is subscribed to while somebody in the domain subscribes to its topic.

Threads: update() comes from the bridge's thread, _arrive() from Zenoh's; _lock guards the table of publishers and the order of each one's messages."""

from __future__ import annotations

import functools
import hashlib
import itertools
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import baton
import xxhash
import zenoh
import zenoh.ext

from . import names
from .names import Token
from .rules import Pace
from .sides import DomainGraph, Named, Sides

MOST_PUBLISHERS = 2048
MOST_ADMITTED = 128  # tokens that one look tries: each takes a part of a millisecond, in which no message crosses
MOST_STRANGERS = 64  # publishers without a token: plain clients of Zenoh
MOST_PENDING_BYTES = 1 << 24  # of messages that wait for their publisher's token or first subscription
_PENDING_BYTES = 256  # of one, beside its payload
_TOKEN_S = 0.25  # a message may overtake the news of its publisher
_FIRST_SUBSCRIPTION_S = 1.0
_AGAIN_S = 5.0  # the token of a publisher comes again: its bridge was replaced
_IDLE_S = 60.0  # of a stranger
MOST_ENDED = 4096  # publishers whose token has gone
_FAR_AHEAD = 100  # so many numbers are missing before a message
_BELIEVED = 3  # messages


@dataclass
class _Proxy:
    """A publisher of the domain that stands for one behind Zenoh. Without a token it is a stranger, and its publisher comes later."""

    named: Named
    pace: Pace | None
    token: str = ""
    node: str = "/zenoh@zenoh"
    qos: baton.QoS = field(default_factory=baton.QoS)
    publisher: Any = None
    since: float = field(default_factory=time.monotonic)
    last: float = field(default_factory=time.monotonic)  # message
    number: int = 0  # the greatest one of its messages
    beyond: int = 0  # the last one that was far ahead; 0: there was none
    between: int = 0  # the greatest before that, or of those that came between since
    strays: int = 0  # how many came between
    pending: deque[tuple[zenoh.ZBytes, tuple[Any, ...]]] = field(default_factory=deque)

    @property
    def is_too_early(self) -> bool:
        if self.publisher is None:
            return True
        return self.publisher.matched == 0 and time.monotonic() - self.since < _FIRST_SUBSCRIPTION_S

    def goes_back(self, number: int) -> bool:
        """Whether the number that is far ahead was a lie: anybody may put a message with another publisher's gid, and after a great number Baton
        refuses all smaller ones. The publisher's own numbers go on below it. Late ones from a cache are at most its depth below, and do not
        count."""
        depth = self.qos.depth if self.token else names.MOST_DEPTH  # without a token its QoS is not known
        close = depth if not self.token or self.qos.durability == "transient_local" else 0
        if number > self.number:
            if number - self.number > _FAR_AHEAD + close:
                if not self.beyond:
                    self.between, self.strays = self.number, 0
                self.beyond = number
            self.number = number
        elif self.between < number < self.beyond - close:
            self.between, self.strays = number, self.strays + 1
            if self.strays == _BELIEVED:
                self.number, self.beyond = number, 0
                return True
        return False


def token_gid(token: Token, key: str) -> bytes:
    """The gid in attachments: a bridge's mark says it; rmw_zenoh takes the token's XXH3, the lower half first."""
    return token.gid or xxhash.xxh3_128_intdigest(key.encode()).to_bytes(16, "little")


def _plain_gid(key: str) -> bytes:
    """Of the clients that send no attachment."""
    return hashlib.sha256(key.encode()).digest()[:16]


class Inbound:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._lock = threading.Lock()
        self._proxies: dict[bytes, _Proxy] = {}  # by gid
        self._pending_bytes = 0
        self._ended: deque[bytes] = deque(maxlen=MOST_ENDED)  # a late message of one brings no publisher back
        self._refused: set[str] = set()  # tokens that a line was about
        # Tokens whose publisher the domain has already; the one that was tried last is at the end.
        self._again: dict[str, None] = {}
        self._asked: dict[str, tuple[Any, int]] = {}  # by key: the subscriber, and how many old messages it asks for
        # The domain's subscriptions; None: a line was about it.
        self._shown: dict[bytes, tuple[Named, zenoh.LivelinessToken] | None] = {}

    def update(self, graph: DomainGraph, tokens: dict[str, Token]) -> float:
        """Returns the seconds after which it is to be called again, if no graph changes before."""
        with self._lock:
            for gid in [gid for gid, each in self._proxies.items() if each.token and each.token not in tokens]:
                self._drop(gid)
                self._ended.append(gid)
            self._refused &= tokens.keys()
            self._again = {key: None for key in self._again if key in tokens}
            known = self._refused | self._again.keys() | {each.token for each in self._proxies.values()}
            crosses = self._sides.rules.crosses
            fresh = [
                key
                for key, token in tokens.items()
                if token.kind == "MP" and key not in known and crosses("take", token.name, token.node)
            ]
            tried = [*fresh, *itertools.islice(self._again, MOST_ADMITTED)][:MOST_ADMITTED]
            for key in tried:
                self._again.pop(key, None)
                self._admit(key, tokens[key])
            waits = len(fresh) > len(tried)
        self._ask(graph)
        with self._lock:
            return 0.05 if self._settle() or waits else _IDLE_S

    def _admit(self, key: str, token: Token) -> None:
        self._refused.add(key)  # until it is admitted
        with self._sides.lines.counting(token.name, "a publisher of Zenoh is left out"):
            if len(self._proxies) >= MOST_PUBLISHERS:
                raise ValueError(f"more than {MOST_PUBLISHERS} publishers")
            gid, named = token_gid(token, key), self._sides.named_by(token)
            qos = baton.QoS(**names.qos_of(token.qos))
            old = proxy = self._proxies.get(gid)
            if proxy is not None and not proxy.token:
                proxy.publisher = None  # of a stranger, which has this gid
            if proxy is None or proxy.token or proxy.named.key != named.key:
                proxy = _Proxy(named, self._sides.rules.pace(named.name))
            proxy.node, proxy.qos = f"{token.node}@{token.host}", qos
            try:
                proxy.publisher = self._advertise(proxy, gid)
                proxy.token, proxy.since = key, time.monotonic()
                if old is not None and old is not proxy:
                    self._forget(old)
                self._proxies[gid] = proxy
            except baton.AlreadyExists:
                self._again[key] = None  # it is in this domain, or has come by a link: a later look tries again
            self._refused.discard(key)

    def _advertise(self, proxy: _Proxy, gid: bytes) -> Any:
        named = proxy.named
        ros_hash = bytes.fromhex(named.hash[7:]) if named.hash.startswith("RIHS01_") else None
        return self._sides.advertise(named.name, named.cls, proxy.qos, proxy.node, "topic", gid=gid, ros_hash=ros_hash)

    def _ask(self, graph: DomainGraph) -> None:
        """Subscribes to the keys of the domain's subscriptions, which have tokens from now on."""
        sides = self._sides
        wanted: dict[str, tuple[Named, int]] = {}
        here = {each.gid: each for each in graph.subscriptions if sides.rules.crosses("take", each.topic)}
        for gone in self._shown.keys() - here.keys():
            if shown := self._shown.pop(gone):
                shown[1].undeclare()
        for gid, each in here.items():
            if gid not in self._shown:
                self._shown[gid] = None
                with sides.lines.counting(each.topic, "is not asked for at Zenoh"):
                    named = sides.named(each, graph.ros_hashes.get(gid))
                    self._shown[gid] = named, sides.declare("MS", each, named)
            if shown := self._shown[gid]:
                old = each.qos.depth if each.qos.durability == "transient_local" else 0
                wanted[shown[0].key] = shown[0], max(old, wanted.get(shown[0].key, (shown[0], 0))[1])
        for key in self._asked.keys() - wanted.keys():
            self._end(key)
        for key, (named, old) in wanted.items():
            before, asks = self._asked.get(key, (None, -1))
            if asks >= old:
                continue
            if before is not None and _plain_gid(key) in self._proxies:
                self._end(key)  # from two subscribers it would have each message twice, under two numbers
                before = None
            self._asked[key] = self._subscriber(named, old), old
            if before is None:
                sides.lines.say(f"{named.name} crosses from Zenoh to Baton")
            else:
                before.undeclare()  # after the new one, so that nothing is lost between; a number that comes twice is refused

    def _subscriber(self, named: Named, old: int) -> Any:
        """An AdvancedSubscriber refuses what is not stamped later than the last message of its session, which two threads may send: it is for old
        messages alone."""
        session, arrive = self._sides.session, functools.partial(self._arrive, named)
        if not old:
            return session.declare_subscriber(named.key, arrive, allowed_origin=zenoh.Locality.REMOTE)
        history = zenoh.ext.HistoryConfig(detect_late_publishers=True, max_samples=old)
        options = {"history": history, "allowed_origin": zenoh.Locality.REMOTE}
        return zenoh.ext.declare_advanced_subscriber(session, named.key, arrive, **options)

    def _end(self, key: str) -> None:
        """Subscribes no more, and forgets the strangers that came by this key."""
        self._asked.pop(key)[0].undeclare()
        with self._lock:
            for gid in [gid for gid, each in self._proxies.items() if not each.token and each.named.key == key]:
                self._drop(gid)

    def _arrive(self, named: Named, sample: zenoh.Sample) -> None:
        with self._sides.lines.counting(named.name, "a message of Zenoh is lost"), self._lock:
            if sample.attachment is None:
                number, stamp, gid = 0, time.time_ns(), _plain_gid(str(sample.key_expr))
            else:
                number, stamp, gid = names.read_attachment(bytes(sample.attachment))
            proxy = self._proxies.get(gid) or self._stranger(named, gid)
            if proxy.named.key != named.key:
                raise ValueError(f"its publisher's id is that of one of {proxy.named.name}")
            if proxy.pace and not proxy.pace.lets():
                return
            number, proxy.last = number or proxy.number + 1, time.monotonic()
            if proxy.goes_back(number):
                self._forget(proxy)  # the lie may wait among them
                if proxy.publisher is not None:
                    proxy.publisher = None  # a new one, which has sent nothing
                    proxy.publisher, proxy.since = self._advertise(proxy, gid), proxy.last
            waits = proxy.is_too_early
            if waits and self._pending_bytes > MOST_PENDING_BYTES - _PENDING_BYTES - len(sample.payload):
                raise ValueError("too many came before their subscriptions")
            proxy.pending.append((sample.payload, (number, stamp, None, 0, False)))
            self._pending_bytes += _PENDING_BYTES + len(sample.payload)
            if waits:
                self._sides.wake()
            else:
                self._publish(proxy)

    def _stranger(self, named: Named, gid: bytes) -> _Proxy:
        """Of a publisher whose token has not come."""
        if sum(not each.token for each in self._proxies.values()) >= MOST_STRANGERS:
            self._sides.wake()  # some may be idle
            raise ValueError(f"more than {MOST_STRANGERS} publishers have no token of rmw_zenoh")
        made = self._proxies[gid] = _Proxy(named, self._sides.rules.pace(named.name))
        return made

    def _settle(self) -> bool:
        """Publishes what waited for a token or a first subscription. Whose token does not come is a plain client of Zenoh, or a publisher that has
        ended. True: something waits on."""
        now, waits = time.monotonic(), False
        for gid, proxy in list(self._proxies.items()):
            has_ended = not proxy.token and gid in self._ended
            if not proxy.token and now - proxy.last > (_AGAIN_S if has_ended else _IDLE_S):
                self._drop(gid)
                continue
            if proxy.publisher is None and not has_ended and now - proxy.since > _TOKEN_S:
                proxy.since = now
                with self._sides.lines.counting(proxy.named.name, "messages of Zenoh are lost"):
                    proxy.publisher = self._advertise(proxy, gid)
                if proxy.publisher is None:
                    self._forget(proxy)
            if proxy.pending and proxy.is_too_early:
                waits = True
            else:
                self._publish(proxy)
        return waits

    def _publish(self, proxy: _Proxy) -> None:
        while proxy.pending:
            payload, origin = proxy.pending.popleft()
            self._pending_bytes -= _PENDING_BYTES + len(payload)
            # A message that has come before, from a cache or by another router, exists already.
            with self._sides.lines.counting(proxy.named.name, "a message of Zenoh is lost"):
                self._sides.publish(proxy.publisher, payload, origin)

    def _forget(self, proxy: _Proxy) -> None:
        """What waits."""
        self._pending_bytes -= sum(_PENDING_BYTES + len(payload) for payload, _ in proxy.pending)
        proxy.pending.clear()

    def _drop(self, gid: bytes) -> None:
        self._forget(self._proxies.pop(gid))

    def close(self) -> None:
        for subscriber, _ in self._asked.values():
            subscriber.undeclare()
        with self._lock:
            self._proxies.clear()
