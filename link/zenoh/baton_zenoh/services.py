# SPDX-License-Identifier: Apache-2.0
"""Services both ways. A request and its response are messages; the ids of the client and of the request come back as they went.

Threads: update() and the callbacks of Baton come from the bridge's thread, those of Zenoh from Zenoh's. Each service has a lock of its own."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import baton
import zenoh
import zenoh.handlers
from baton import _core
from baton._node import Endpoint

from . import names
from .names import Token
from .sides import DomainGraph, Sides

MOST_SERVICES = 1024  # of Zenoh
MOST_REQUESTS = 64  # of a service, without a response
MOST_REQUEST_BYTES = 1 << 26  # of Zenoh, of these; one may have more
_LONGEST_S = 3600.0  # an action's result may take long
_REQUESTS, _RESPONSES = baton.QoS(100, history="keep_all"), baton.QoS(100, held=64)


class Offered:
    """A server of Baton, for clients of Zenoh."""

    def __init__(self, sides: Sides, endpoint: Endpoint) -> None:
        self._sides, self._lock = sides, threading.Lock()
        named = sides.named(endpoint)
        self._name, self._key = named.name, named.key
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[zenoh.Query, int, bytes, int]] = {}  # the last number: bytes of its payload
        self._asked_bytes = 0
        node = f"{sides.node.fully_qualified_name}@zenoh"  # a link sends it to no other host
        self._responses = sides.subscribe(f"{named.name}/_response", named.cls.Response, _RESPONSES, self._answer, node)
        self._client = self._responses.gid
        self._requests = sides.advertise(f"{named.name}/_request", named.cls.Request, _REQUESTS, node, "requests")
        self._queryable = sides.session.declare_queryable(self._key, self._ask, complete=True)
        self._token = sides.declare("SS", endpoint, named)

    def _ask(self, query: zenoh.Query) -> None:
        oldest: list[zenoh.Query] = []
        with self._sides.lines.counting(self._name, "a request of Zenoh is lost"):
            try:
                number, _, gid = (
                    names.read_attachment(bytes(query.attachment)) if query.attachment else (1, 0, bytes(16))
                )
                with self._lock:
                    if (requests := self._requests) is None:
                        return  # closed
                    own, payload = next(self._numbers), query.payload or zenoh.ZBytes(b"")
                    self._sides.publish(requests, payload, (0, 0, self._client, own, False))
                    self._asked[own] = (query, number, gid, len(payload))
                    self._asked_bytes += len(payload)
                    while len(self._asked) > 1 and (
                        len(self._asked) > MOST_REQUESTS or self._asked_bytes > MOST_REQUEST_BYTES
                    ):
                        oldest.append(self._forget(next(iter(self._asked)))[0])
            except (ValueError, baton.BatonError) as error:
                query.reply_err(str(error)[:200])
                query.drop()
                raise
        for each in oldest:
            with each:
                each.reply_err("too many requests have no response yet")
            text = "its oldest request is lost: too many have no response"
            self._sides.lines.count(self._name, "requests", text)

    def _forget(self, own: int) -> tuple[zenoh.Query, int, bytes]:
        query, number, gid, size = self._asked.pop(own)
        self._asked_bytes -= size
        return query, number, gid

    def _answer(self, message: Any) -> None:
        client, own, _ = _core._correlation(message)
        with self._lock:
            asked = self._forget(own) if client == self._client and own in self._asked else None
        if asked is None:
            return  # of another client; or another server of this name was faster, or the request was given up
        query, number, gid = asked
        with self._sides.lines.counting(self._name, "a response does not reach Zenoh"), query:
            words = names.attachment(number, time.time_ns(), gid)
            query.reply(self._key, self._sides.payload(message), attachment=words)

    def close(self) -> None:
        self._token.undeclare()
        self._queryable.undeclare()
        self._requests = self._responses = None  # their callbacks hold this
        with self._lock:
            for query, *_ in self._asked.values():
                query.drop()
            self._asked.clear()


class Called:
    """A server of Zenoh, for clients of Baton."""

    def __init__(self, sides: Sides, token: Token) -> None:
        self._sides, self._lock = sides, threading.Lock()
        named = sides.named_by(token)
        self._name = named.name
        self._waiting: set[tuple[bytes, int]] = set()
        self._querier = sides.session.declare_querier(
            named.key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.QueryConsolidation(zenoh.ConsolidationMode.NONE),
            timeout=_LONGEST_S,
            allowed_destination=zenoh.Locality.REMOTE,
        )
        node = f"{token.node}@{token.host}"
        self._responses = sides.advertise(f"{named.name}/_response", named.cls.Response, _RESPONSES, node, "responses")
        self._requests = sides.subscribe(f"{named.name}/_request", named.cls.Request, _REQUESTS, self._ask, node)

    def _ask(self, message: Any) -> None:
        client, number, is_own = _core._correlation(message)
        if not is_own:
            return  # the response would reach a client that has not asked
        request = (client, number)
        with self._sides.lines.counting(self._name, "a request does not reach Zenoh"):
            with self._lock:
                if len(self._waiting) >= MOST_REQUESTS:
                    raise ValueError(f"{MOST_REQUESTS} have no response")
                self._waiting.add(request)
            try:
                words = names.attachment(number, time.time_ns(), client)
                handler = zenoh.handlers.Callback(
                    lambda reply: self._respond(reply, request), lambda: self._end(request)
                )
                self._querier.get(handler, payload=self._sides.payload(message), attachment=words)
            except BaseException:
                self._end(request)
                raise

    def _respond(self, reply: zenoh.Reply, request: tuple[bytes, int]) -> None:
        """The first response counts, as with several servers of a name on one machine."""
        with self._sides.lines.counting(self._name, "a response of Zenoh is lost"):
            if (sample := reply.ok) is None:
                words = reply.err.payload.to_string()[:200] if reply.err else "no words"
                raise ValueError(f"its server refuses the request: {words}")
            responses = self._responses
            if self._end(request) and responses is not None:  # None: closed
                self._sides.publish(responses, sample.payload, (0, 0, *request, True))

    def _end(self, request: tuple[bytes, int]) -> bool:
        """False: it has ended before."""
        with self._lock:
            waited = request in self._waiting
            self._waiting.discard(request)
            return waited

    def close(self) -> None:
        self._querier.undeclare()
        self._requests = self._responses = None  # their callbacks hold this


class Services:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._made: dict[Any, Offered | Called] = {}  # by the gid of a server's reader, or by name
        self._refused: set[Any] = set()

    def update(self, graph: DomainGraph, tokens: dict[str, Token]) -> None:
        crosses = self._sides.rules.crosses
        # One server of each name, the first one: the others of this domain get its requests, too.
        here = {each.topic.removesuffix("/_request"): each for each in reversed(graph.servers)}
        there = [each for each in tokens.values() if each.kind == "SS" and each.name not in graph.served]
        there.sort(key=lambda each: (each.session, each.number), reverse=True)
        called = {each.name: (Called, each.name, each) for each in there if crosses("take", each.name)}
        wanted: dict[Any, Any] = dict(list(called.items())[-MOST_SERVICES:])
        wanted |= {each.gid: (Offered, name, each) for name, each in here.items() if crosses("give", name)}
        for gone in self._made.keys() - wanted.keys():
            self._made.pop(gone).close()
        for key in wanted.keys() - self._made.keys() - self._refused:
            make, name, of = wanted[key]
            self._refused.add(key)  # until it is made
            with self._sides.lines.counting(name, "a service does not cross"):
                self._made[key] = make(self._sides, of)
                self._refused.discard(key)
        self._refused &= wanted.keys()

    def close(self) -> None:
        for each in self._made.values():
            each.close()
