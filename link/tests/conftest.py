# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder share: hosts that only the link joins."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from link_hosts import EMULATOR, Host, ip
from support.build import LINK
from support.processes import PIPE, Process
from support.waiting import LIMIT_S

_numbers = itertools.count()


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Callable[..., list[Host]]]:
    """hosts(n): n hosts on one network. hosts(2, line=WORDS): two hosts with a line between them that delays, loses or reorders packets
    (lab/network/main.cpp has the words). At the end the line's counts are printed."""
    if not LINK.is_file():
        pytest.skip("baton_link is not built (make setup, make build)")
    made: list[Host] = []
    spaces: list[str] = []
    lines: list[Process] = []

    def emulate(words: list[str]) -> None:
        if not EMULATOR.is_file():
            pytest.skip("baton_network_line is not built (make build)")
        paths = [f"/run/netns/{host.namespace}" for host in made]
        command = [str(EMULATOR), "--device", "eth0", "--packets", "20000", *words, *paths]
        line = Process(command, stderr=PIPE, watchdog_s=8 * LIMIT_S)
        lines.append(line)
        if line.stdout.readline().strip() != "ready":
            pytest.skip(f"this machine permits no line between namespaces: {line.stderr.read().strip()}")
        for host in made:
            host.use_address()

    def make(count: int, line: list[str] | None = None) -> list[Host]:
        prefix = f"bl{os.getpid() % 100000}x{next(_numbers)}"
        bridge = "" if line else f"{prefix}s"
        try:
            if bridge:
                spaces.append(bridge)
                ip("netns", "add", bridge)
                ip("-n", bridge, "link", "add", "br0", "type", "bridge")
                ip("-n", bridge, "link", "set", "br0", "up")
            for i in range(count):
                spaces.append(f"{prefix}h{i}")
                made.append(Host(i, "abcd"[i] * 3, spaces[-1], f"10.98.0.{i + 1}", tmp_path / "abcd"[i], bridge))
                made[-1].appear()
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"this machine permits no new network namespaces: {getattr(error, 'stderr', error)}")
        if line:
            emulate(line)
        return made

    yield make
    for host in made:
        host.end()
    for line in lines:
        line.send_signal(signal.SIGTERM)
        out, _ = line.ends(None)
        for way, counts in zip(("there", "back"), json.loads(out.splitlines()[-1]) if out else (), strict=False):
            print(f"the line {way}: {counts['entered']} packets, {counts['lost']} lost, {counts['overtook']} overtook")
    for space in spaces:
        subprocess.run(["ip", "netns", "delete", space], check=False, capture_output=True, timeout=LIMIT_S)
