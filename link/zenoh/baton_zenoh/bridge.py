# SPDX-License-Identifier: Apache-2.0
"""The bridge: looks at Baton's graph and at Zenoh's tokens, and makes what they ask for.

Threads: run() is the bridge's thread. One thread waits for changes of Baton's graph, one runs the callbacks of Baton's messages."""

from __future__ import annotations

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import baton
import zenoh
from baton import _core

from .inbound import Inbound
from .lines import Lines
from .names import KeyScheme, Token, parse_token, short_host
from .outbound import Outbound
from .rules import Rules
from .services import Services
from .session import configuration, open_session
from .sides import Sides, look

MOST_TOKENS = 16384
MOST_TOKEN_BYTES = 2048
_LOCK_FILE = "zenoh.lock"
_LOOK_S = 1.0  # the longest sleep of the thread that waits for the graph
_PAUSE_S = 0.02  # between two looks: a crowd that joins costs a few of them


@dataclass
class BridgeOptions:
    domain: int | None = None
    zenoh_domain: int | None = None
    raw: bool = False
    config: Path | None = None
    routers: Sequence[str] = ()
    listens: Sequence[str] = ()
    name: str = ""


def run(options: BridgeOptions, rules: Rules, say: Callable[[str], object]) -> None:
    """Works until an exception such as SystemExit ends it. Raises SessionError and BatonError."""
    config = configuration(options.config, options.routers, options.listens)
    node = baton.Node("zenoh_bridge", domain=options.domain, enable_rosout=False)
    file = _core._domain_file(node.domain, _LOCK_FILE)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another bridge joins this domain with Zenoh; this one is on standby")
            fcntl.flock(file, fcntl.LOCK_EX)
        session = open_session(config, say)
        with session:
            ZenohBridge(options, rules, node, session, say).work()
    finally:
        os.close(file)
        node.close()


class ZenohBridge:
    def __init__(
        self,
        options: BridgeOptions,
        rules: Rules,
        node: baton.Node,
        session: zenoh.Session,
        say: Callable[[str], object],
    ) -> None:
        self._changed = threading.Event()
        self._stop = threading.Event()
        domain = node.domain if options.zenoh_domain is None else options.zenoh_domain
        host = short_host(options.name or socket.gethostname())
        lines = Lines(say)
        self._sides = Sides(node, session, KeyScheme(options.raw), domain, host, rules, lines, self._changed.set)
        self._outbound, self._inbound = Outbound(self._sides), Inbound(self._sides)
        self._services = Services(self._sides)
        self._failed: BaseException | None = None  # of the executor's thread
        self._lock = threading.Lock()
        self._tokens: dict[str, Token] = {}  # of other sessions; under _lock

    def work(self) -> None:
        sides = self._sides
        executor = baton.Executor(sides.node)
        watching = threading.Thread(target=self._watch, name="graph", daemon=True)
        running = threading.Thread(target=self._run, args=(executor,), name="messages", daemon=True)
        tokens = f"{sides.scheme.tokens}/{sides.domain}/**"
        heard = sides.session.liveliness().declare_subscriber(tokens, self._hear, history=True)
        try:
            watching.start()
            running.start()
            what = "chunks" if sides.scheme.raw else "the names of rmw_zenoh"
            sides.lines.say(
                f"joins Baton, domain {sides.node.domain}, with Zenoh, domain {sides.domain}, by {what}, as {sides.host}"
            )
            again: float | None = 0.0
            while True:
                self._changed.wait(again)
                self._changed.clear()
                if self._failed is not None:
                    raise self._failed
                again = self._update()
                time.sleep(_PAUSE_S)
        finally:
            self._stop.set()
            heard.undeclare()
            self._outbound.close()
            executor.cancel()
            running.join()
            watching.join()
            self._services.close()
            self._inbound.close()
            if lost := sum(sides.lines.lost.values()):
                sides.lines.say(
                    f"{lost} messages, requests, publishers or services did not cross; the lines above say why"
                )

    def _update(self) -> float | None:
        graph = look(self._sides.node)
        with self._lock:
            tokens = dict(self._tokens)
        self._outbound.update(graph)
        again = self._inbound.update(graph, tokens)
        self._services.update(graph, tokens)
        return again

    def _run(self, executor: baton.Executor) -> None:
        try:
            executor.spin()
        except BaseException as error:  # a bridge that carries nothing must not look alive
            self._failed = error
            self._changed.set()

    def _watch(self) -> None:
        seen = -1
        while not self._stop.is_set():
            now = _core._wait_graph_change(self._sides.node, max(seen, 0), 0.0 if seen < 0 else _LOOK_S)
            if now != seen:
                seen = now
                self._changed.set()

    def _hear(self, sample: zenoh.Sample) -> None:
        key = str(sample.key_expr)
        with self._lock:
            if sample.kind == zenoh.SampleKind.DELETE:
                if self._tokens.pop(key, None) is not None:
                    self._changed.set()
                return
        try:
            if len(key) > MOST_TOKEN_BYTES or len(self._tokens) >= MOST_TOKENS:
                raise ValueError(f"more than {MOST_TOKENS} tokens, or one of more than {MOST_TOKEN_BYTES} bytes")
            token = parse_token(key)
        except ValueError as error:
            self._sides.lines.count("tokens", "malformed", f"one of Zenoh is left out: {error}")
            return
        if token.kind not in ("MP", "SS") or token.session == str(self._sides.session.zid()):
            return
        with self._lock:
            self._tokens[key] = token
        self._changed.set()
