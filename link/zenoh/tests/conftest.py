# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.build import PACKAGE

sys.path[:0] = [str(Path(__file__).parent), str(PACKAGE)]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Any]:
    """fleet("one"): a ZenohHost. fleet.peer: a plain client of Zenoh; fleet.router: its session."""
    pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
    from support.claims import Ports
    from zenoh_hosts import ZenohHost, session

    class Fleet:
        def __init__(self, port: int) -> None:
            self.endpoint = f"tcp/127.0.0.1:{port}"
            self.router = session("router", listen=self.endpoint)
            self.peer = session("client", connect=self.endpoint)
            self.hosts: list[ZenohHost] = []

        def __call__(self, name: str, router: str | None = None) -> ZenohHost:
            self.hosts.append(ZenohHost(name, tmp_path / name, self.endpoint if router is None else router))
            return self.hosts[-1]

        def end(self) -> None:
            for host in self.hosts:
                host.end()
            self.peer.close()
            self.router.close()

    with Ports(1) as ports:
        made = Fleet(ports[0])
        try:
            yield made
        finally:
            made.end()
