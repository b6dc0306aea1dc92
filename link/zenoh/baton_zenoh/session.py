# SPDX-License-Identifier: Apache-2.0
"""The Zenoh session: its configuration, and opening it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import zenoh

ROUTER = "tcp/localhost:7447"  # where rmw_zenohd listens
_AGAIN_S = 1.0


class SessionError(RuntimeError):
    """The session cannot be configured or opened."""


def configuration(file: str | Path | None, routers: Sequence[str], listens: Sequence[str]) -> zenoh.Config:
    """Zenoh's own JSON5 file, if there is one, and above it the endpoints of the options. Without a file and options: a client of ROUTER."""
    try:
        config = zenoh.Config() if file is None else zenoh.Config.from_file(str(file))
    except zenoh.ZError as error:
        raise SessionError(f"--config {file}: {_words(error)}") from None

    def insert(key: str, value: object) -> None:
        try:
            config.insert_json5(key, json.dumps(value))
        except zenoh.ZError:
            words = f"{key} cannot be {json.dumps(value)}: an endpoint is as tcp/192.168.1.10:7447"
            raise SessionError(words) from None

    if file is None or routers or listens:
        # A client has all by its router, so a robot behind a NAT is reached; a router also carries what others say to each other.
        insert("mode", "router" if listens else "client")
        insert("connect/endpoints", list(routers) if routers or listens else [ROUTER])
        insert("listen/endpoints", list(listens))
    if file is None:
        insert("scouting/multicast/enabled", False)
    insert("timestamping/enabled", True)  # histories of latched topics need stamps
    return config


def _words(error: zenoh.ZError) -> str:
    """Without the line of Zenoh's source."""
    return str(error).partition(" at /")[0].strip()


def open_session(config: zenoh.Config, say: Callable[[str], object]) -> zenoh.Session:
    """Tries again until a router is there. Raises SessionError for what stays wrong: an address in use, a missing certificate."""
    waits = False
    while True:
        try:
            return zenoh.open(config)
        except zenoh.ZError as error:
            words = _words(error)
            if not words.startswith("Unable to connect"):
                raise SessionError(f"Zenoh: {words}") from None
            if not waits:
                say(f"waits for a router of Zenoh: {words}")
            waits = True
        time.sleep(_AGAIN_S)
