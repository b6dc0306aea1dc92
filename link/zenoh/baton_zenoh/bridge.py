# SPDX-License-Identifier: Apache-2.0
"""The bridge: looks at Baton's graph and at Zenoh's tokens, and makes what they ask for.

Threads: an executor runs Baton's side. One thread has the timer that looks for changes, and the callbacks of messages; another one puts what waits
while the line to Zenoh is full, so that it stops nothing else."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import baton
import zenoh
from baton import _core

from .inbound import Inbound
from .lines import Lines
from .names import KeyScheme, Token, parse_token, short_host
from .outbound import Outbound
from .rules import Rules
from .services import Services
from .session import open_session
from .sides import Sides, look

MOST_TOKENS = 16384
MOST_TOKEN_BYTES = 2048
_LOCK_FILE = "zenoh.lock"
_LOOK_S = 0.02  # between two looks for changes: a crowd that joins costs a few updates


def run(config: zenoh.Config, rules: Rules, say: Callable[[str], object], options: dict[str, Any]) -> None:
    """Works until an exception such as SystemExit ends it. `options`: domain, zenoh_domain, raw and name, as the command has them. Raises
    SessionError and BatonError."""
    node = baton.Node("zenoh_bridge", domain=options["domain"], enable_rosout=False)
    sender = baton.Node("zenoh_bridge_sender", domain=node.domain, enable_rosout=False)
    file = _core._domain_file(node.domain, _LOCK_FILE)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another bridge joins this domain with Zenoh; this one is on standby")
            fcntl.flock(file, fcntl.LOCK_EX)
        with open_session(config, say) as session:
            changed = threading.Event()
            host = short_host(options["name"] or socket.gethostname())
            to = node.domain if options["zenoh_domain"] is None else options["zenoh_domain"]
            sides = Sides(node, sender, session, KeyScheme(options["raw"]), to, host, rules, Lines(say), changed.set)
            what = "chunks" if options["raw"] else "the names of rmw_zenoh"
            bridge = ZenohBridge(sides, changed)
            say(f"joins Baton, domain {node.domain}, with Zenoh, domain {to}, by {what}, as {host}")
            bridge.work()
    finally:
        os.close(file)
        sender.close()
        node.close()


class ZenohBridge:
    def __init__(self, sides: Sides, changed: threading.Event) -> None:
        self._sides, self._changed = sides, changed
        self._outbound, self._inbound, self._services = Outbound(sides), Inbound(sides), Services(sides)
        self._version = -1  # of Baton's graph
        self._due = 0.0  # the inbound side has something to do
        self._lock = threading.Lock()
        self._tokens: dict[str, Token] = {}  # of other sessions; under _lock
        keys = f"{sides.scheme.tokens}/{sides.domain}/**"
        self._subscriber = sides.session.liveliness().declare_subscriber(keys, self._token_changes, history=True)

    def work(self) -> None:
        self._sides.node.create_timer(_LOOK_S, self._look)
        try:
            baton.spin(self._sides.node, self._sides.sender, threads=2)
        finally:
            self._subscriber.undeclare()
            for part in (self._outbound, self._services, self._inbound):
                part.close()
            if lost := self._sides.lines.lost:
                what = "messages, requests, publishers or services"
                self._sides.lines.say(f"{lost} {what} did not cross; the lines above say why")

    def _look(self) -> None:
        version = self._sides.node._graph_version()
        if version == self._version and not self._changed.is_set() and time.monotonic() < self._due:
            return
        self._version = version
        self._changed.clear()
        graph = look(self._sides.node)
        with self._lock:
            tokens = dict(self._tokens)
        self._outbound.update(graph)
        self._due = time.monotonic() + self._inbound.update(graph, tokens)
        self._services.update(graph, tokens)

    def _token_changes(self, sample: zenoh.Sample) -> None:
        """Called by Zenoh's thread."""
        key = str(sample.key_expr)
        with self._sides.lines.counting("tokens", "one of Zenoh is left out"):  # writes its line without _lock
            if sample.kind == zenoh.SampleKind.DELETE:
                with self._lock:
                    is_news = self._tokens.pop(key, None) is not None
            else:
                if len(key) > MOST_TOKEN_BYTES:
                    raise ValueError(f"one has more than {MOST_TOKEN_BYTES} bytes")
                token = parse_token(key)
                is_news = token.kind in ("MP", "SS") and token.session != str(self._sides.session.zid())
                with self._lock:
                    if is_news and len(self._tokens) >= MOST_TOKENS:
                        raise ValueError(f"more than {MOST_TOKENS} tokens")
                    if is_news:
                        self._tokens[key] = token
            if is_news:
                self._changed.set()
