# SPDX-License-Identifier: Apache-2.0
"""Services both ways. A request and its response are messages; the ids of the client and of the request come back as they went.

Threads: update() comes from the bridge's thread; requests and responses of Baton from the executor's, those of Zenoh from Zenoh's. Each service
has a lock of its own."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from typing import Any

import baton
import zenoh
import zenoh.handlers
from baton import _core
from baton._node import Endpoint

from . import names, types
from .names import Token
from .sides import DomainGraph, Sides, now_ns

MOST_SERVICES = 1024  # of Zenoh
MOST_REQUESTS = 64  # of a service, without a response
_LONGEST_S = 3600.0  # an action's result may take long
_REQUESTS = {"qos": baton.QoS(100, history="keep_all"), "use": "requests", "topic": "/_request"}
_RESPONSES = {"qos": baton.QoS(100, held=64), "use": "responses", "topic": "/_response"}


def _name_and_class(endpoint: Endpoint) -> tuple[str, str, Any]:
    """A service's name, its type and the class of the type. Raises TypeUnknown."""
    type_name = endpoint.type_name.removesuffix("_Request")
    service = types.service_of(type_name)
    if service.Request._struct.hash != endpoint.type_hash:
        raise types.TypeUnknown(
            f"its process defines {type_name} differently; name its packages' directory: --search DIR"
        )
    return endpoint.topic.removesuffix("/_request"), type_name, service


def _advertise(sides: Sides, name: str, cls: Any, of: dict[str, Any], node: str) -> Any:
    args = (sides.node, name + of["topic"], cls, of["qos"], node, of["use"], None, None)
    return _core._advertise_relayed(*args)


def _subscribe(sides: Sides, name: str, cls: Any, of: dict[str, Any], node: str, callback: Any) -> Any:
    return _core._subscribe_unrelayed(sides.node, name + of["topic"], cls, of["qos"], callback, node)


class Offered:
    """A server of Baton, for clients of Zenoh."""

    def __init__(self, sides: Sides, endpoint: Endpoint) -> None:
        self._sides = sides
        self.name, type_name, service = _name_and_class(endpoint)
        dds_type = names.dds_type(type_name, of_service=True)
        type_hash = types.service_hash_of(sides.scheme, type_name, service)
        self._key = sides.scheme.key(sides.domain, self.name, dds_type, type_hash)
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._asked: OrderedDict[int, tuple[zenoh.Query, int, bytes]] = OrderedDict()
        node = f"{sides.node.fully_qualified_name}@zenoh"  # a link sends it to no other host
        self._responses = _subscribe(sides, self.name, service.Response, _RESPONSES, node, self._answer)
        self._client = self._responses.gid
        self._requests = _advertise(sides, self.name, service.Request, _REQUESTS, node)
        self._queryable = sides.session.declare_queryable(self._key, self._ask, complete=True)
        words = {"name": self.name, "type": dds_type, "hash": type_hash, "qos": names.qos_text(_RESPONSES["qos"])}
        self._token = sides.declare("SS", endpoint.node, enclave=f"/_baton/{sides.host}", **words)

    def _ask(self, query: zenoh.Query) -> None:
        lines = self._sides.lines
        try:
            number, _, gid = names.read_attachment(bytes(query.attachment)) if query.attachment else (1, 0, bytes(16))
            with self._lock:
                own = next(self._numbers)
                if len(self._asked) >= MOST_REQUESTS:
                    _, (oldest, _, _) = self._asked.popitem(last=False)
                    oldest.reply_err(f"{MOST_REQUESTS} requests have no response yet")
                    oldest.drop()
                    lines.count(self.name, "requests", f"its oldest request is lost: {MOST_REQUESTS} have no response")
                self._asked[own] = (query, number, gid)
            self._sides.publish(self._requests, query.payload or zenoh.ZBytes(), (0, 0, self._client, own, False))
        except (ValueError, baton.BatonError) as error:
            query.reply_err(str(error)[:200])
            query.drop()
            lines.count(self.name, type(error).__name__, f"a request of Zenoh is lost: {error}")

    def _answer(self, message: Any) -> None:
        client, own, _ = _core._correlation(message)
        if client != self._client:
            return
        with self._lock:
            asked = self._asked.pop(own, None)
        if asked is None:
            return  # another server of this name was faster, or the request was given up
        query, number, gid = asked
        try:
            query.reply(self._key, self._sides.payload(message), attachment=names.attachment(number, now_ns(), gid))
        except (ValueError, baton.BatonError, zenoh.ZError) as error:
            self._sides.lines.count(self.name, type(error).__name__, f"a response does not reach Zenoh: {error}")
        query.drop()

    def close(self) -> None:
        self._token.undeclare()
        self._queryable.undeclare()
        with self._lock:
            for query, _, _ in self._asked.values():
                query.drop()
            self._asked.clear()
        self._requests = self._responses = None  # their callbacks hold this


class Called:
    """A server of Zenoh, for clients of Baton."""

    def __init__(self, sides: Sides, token: Token) -> None:
        self._sides = sides
        self.name, type_name = token.name, names.baton_type(token.type)
        service = types.service_of(type_name)
        if types.service_hash_of(sides.scheme, type_name, service) != token.hash:
            raise types.TypeUnknown(f"{token.type} is defined differently there: {token.hash[:20]}...")
        self._lock = threading.Lock()
        self._waiting = 0
        key = sides.scheme.key(sides.domain, self.name, token.type, token.hash)
        self._querier = sides.session.declare_querier(
            key,
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.QueryConsolidation(zenoh.ConsolidationMode.NONE),
            timeout=_LONGEST_S,
            allowed_destination=zenoh.Locality.REMOTE,
        )
        parts = token.enclave.split("/")
        node = f"{token.node}@{names.short_host(parts[2]) if parts[1:2] == ['_baton'] and parts[2:] else 'zenoh'}"
        self._responses = _advertise(sides, self.name, service.Response, _RESPONSES, node)
        self._requests = _subscribe(sides, self.name, service.Request, _REQUESTS, node, self._ask)

    def _ask(self, message: Any) -> None:
        client, number, is_own = _core._correlation(message)
        lines = self._sides.lines
        if not is_own:
            return  # the response would reach a client that has not asked
        with self._lock:
            if self._waiting >= MOST_REQUESTS:
                lines.count(self.name, "requests", f"a request is lost: {MOST_REQUESTS} have no response from Zenoh")
                return
            self._waiting += 1
        once = _Once(self, client, number)
        try:
            words = names.attachment(number, now_ns(), client)
            handler = zenoh.handlers.Callback(once.respond, once.end)
            self._querier.get(handler, payload=self._sides.payload(message), attachment=words)
        except (ValueError, baton.BatonError, zenoh.ZError) as error:
            once.end()
            lines.count(self.name, type(error).__name__, f"a request does not reach Zenoh: {error}")

    def respond(self, reply: zenoh.Reply, client: bytes, number: int) -> None:
        lines = self._sides.lines
        if (sample := reply.ok) is None:
            text = reply.err.payload.to_string()[:200] if reply.err is not None else "no words"
            lines.count(self.name, "refused", f"its server behind Zenoh refuses a request: {text}")
            return
        try:
            self._sides.publish(self._responses, sample.payload, (0, 0, client, number, True))
        except (ValueError, baton.BatonError) as error:
            lines.count(self.name, type(error).__name__, f"a response of Zenoh is lost: {error}")

    def end(self) -> None:
        with self._lock:
            self._waiting -= 1

    def close(self) -> None:
        self._querier.undeclare()
        self._requests = self._responses = None  # their callbacks hold this


class _Once:
    """One request: the first response counts, as with several servers of a name on one machine."""

    def __init__(self, called: Called, client: bytes, number: int) -> None:
        self._called, self._client, self._number = called, client, number
        self._responded = self._ended = False

    def respond(self, reply: zenoh.Reply) -> None:
        if not self._responded:
            self._responded = reply.ok is not None
            self._called.respond(reply, self._client, self._number)

    def end(self) -> None:
        if not self._ended:
            self._ended = True
            self._called.end()


class Services:
    def __init__(self, sides: Sides) -> None:
        self._sides = sides
        self._offered: dict[bytes, Offered] = {}  # by the gid of a server's reader
        self._called: dict[str, Called] = {}  # by name
        self._refused: set[Any] = set()

    def update(self, graph: DomainGraph, tokens: dict[str, Token]) -> None:
        rules = self._sides.rules
        here: dict[str, Endpoint] = {}
        for each in graph.servers:
            name = each.topic.removesuffix("/_request")
            if rules.gives(name):
                here.setdefault(name, each)  # the others of this name get its requests, too
        there: dict[str, Token] = {}
        for token in sorted((t for t in tokens.values() if t.kind == "SS"), key=lambda t: (t.session, t.number)):
            if rules.takes(token.name) and token.name not in graph.served and len(there) < MOST_SERVICES:
                there.setdefault(token.name, token)
        self._settle(self._offered, {each.gid: each for each in here.values()}, Offered)
        self._settle(self._called, there, Called)

    def _settle(self, made: dict[Any, Any], wanted: dict[Any, Any], make: Any) -> None:
        for gone in made.keys() - wanted.keys():
            made.pop(gone).close()
        for each in wanted.keys() - made.keys() - self._refused:
            try:
                made[each] = make(self._sides, wanted[each])
            except (ValueError, baton.BatonError, zenoh.ZError) as error:
                if len(self._refused) < MOST_SERVICES:
                    self._refused.add(each)
                name = wanted[each].name if make is Called else wanted[each].topic.removesuffix("/_request")
                self._sides.lines.count(name[:200], "service", f"a service does not cross: {error}")

    def close(self) -> None:
        for each in (*self._offered.values(), *self._called.values()):
            each.close()
        self._offered.clear()
        self._called.clear()
