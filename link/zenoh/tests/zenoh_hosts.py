# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests of the Zenoh bridge: each has a runtime directory of its own and a bridge, and a router in the test's process joins them. `peer` is
a plain client of Zenoh, which knows Baton and ROS 2 by their public formats alone."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

import baton
import zenoh
from support.processes import LOG, Process, environment
from support.waiting import LIMIT_S, until

BATON = Path(sys.executable).parent / "baton"


def session(mode: str, *, connect: str = "", listen: str = "") -> zenoh.Session:
    config = zenoh.Config()
    for key, value in {
        "mode": f'"{mode}"',
        "connect/endpoints": f'["{connect}"]' if connect else "[]",
        "listen/endpoints": f'["{listen}"]' if listen else "[]",
        "scouting/multicast/enabled": "false",
        "timestamping/enabled": "true",
    }.items():
        config.insert_json5(key, value)
    return zenoh.open(config)


class ZenohHost:
    """A runtime directory, the nodes of the test in it, and a bridge. `space`: the network namespace of the bridge. The nodes need none."""

    def __init__(self, name: str, directory: Path, router: str, space: str = "") -> None:
        self.name, self.directory = name, directory
        self._inside = ["ip", "netns", "exec", space] if space else []
        self._router = ["--router", router] if router else []
        self._environment = environment(directory, BATON_DOMAIN="0", RUST_LOG="off")
        self.bridges: list[Process] = []
        self.kept: list[Any] = []

    def node(self, name: str, namespace: str = "") -> baton.Node:
        node = baton.Node(name, domain=0, runtime_directory=self.directory, namespace=namespace, enable_rosout=False)
        self.kept.append(node)
        return node

    def bridge(self, *words: str, ready: bool = True) -> Process:
        command = [*self._inside, BATON, "bridge", "--zenoh", "--name", self.name, *self._router, *words]
        bridge = Process(command, env=self._environment, stderr=LOG)
        self.bridges.append(bridge)
        if ready:
            until(lambda: ": joins " in bridge.log() or bridge.poll() is not None, bridge.log)
            assert bridge.poll() is None, bridge.log()
        return bridge

    def says(self, words: str, bridge: Process | None = None) -> None:
        bridge = bridge or self.bridges[-1]
        until(lambda: words in bridge.log(), lambda: f"{self.name} does not say {words!r}: {bridge.log()}")

    def end(self) -> None:
        for bridge in self.bridges:
            bridge.send_signal(signal.SIGTERM)
        for bridge in self.bridges:
            bridge.wait(LIMIT_S)
            print(bridge.end())
        for node in self.kept:
            node.close()


def take(subscription: Any) -> Any:
    """The next message of a subscription, or of a queue of Zenoh's samples."""
    message = subscription.take(LIMIT_S)
    assert message is not None, f"nothing comes on {subscription.topic}"
    return message


def publish_until(publish: Any, came: Any) -> Any:
    """Publishes again and again until something came: for one that is not connected yet. Returns it."""
    found: list[Any] = []

    def look() -> bool:
        publish()
        if (one := came()) is not None:
            found.append(one)
        return bool(found)

    until(look, "nothing comes", every_s=0.1)
    return found[0]
