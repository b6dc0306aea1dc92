# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: hosts that only the link joins."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from link_hosts import LIMIT_S, PROGRAM, Host, ip

_numbers = itertools.count()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Callable[[int], list[Host]]]:
    """hosts(n): n hosts on one network."""
    if not PROGRAM.is_file():
        pytest.skip("baton_link is not built (make setup, make build)")
    made: list[Host] = []
    spaces: list[str] = []

    def make(count: int) -> list[Host]:
        prefix = f"bl{os.getpid() % 100000}x{next(_numbers)}"
        bridge = f"{prefix}s"
        try:
            spaces.append(bridge)
            ip("netns", "add", bridge)
            ip("-n", bridge, "link", "add", "br0", "type", "bridge")
            ip("-n", bridge, "link", "set", "br0", "up")
            for i in range(count):
                space = f"{prefix}h{i}"
                spaces.append(space)
                ip("netns", "add", space)
                ip("-n", space, "link", "set", "lo", "up")
                ip("-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", f"p{i}", "netns", bridge)
                ip("-n", bridge, "link", "set", f"p{i}", "master", "br0", "up")
                ip("-n", space, "addr", "add", f"10.98.0.{i + 1}/24", "dev", "eth0")
                ip("-n", space, "link", "set", "eth0", "up")
                made.append(Host("abc"[i] * 3, space, f"10.98.0.{i + 1}", tmp_path / "abc"[i]))
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"this machine permits no new network namespaces: {getattr(error, 'stderr', error)}")
        return made

    yield make
    for host in made:
        host.end()
    for space in spaces:
        subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True, timeout=LIMIT_S)
