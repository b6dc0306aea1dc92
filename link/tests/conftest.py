# SPDX-License-Identifier: Apache-2.0
"""Hosts for the tests: network namespaces, joined by a bridge, each with a runtime directory of its own, so that nothing but the link
joins them."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/baton_link"
PYTHON = ROOT / "build/release/python"
LIMIT_S = 60
_numbers = itertools.count()


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=LIMIT_S)


class Host:
    """One host. `link()` starts its link, `python()` a program."""

    def __init__(self, name: str, namespace: str, address: str, directory: Path) -> None:
        self.name, self.namespace, self.address, self.directory = name, namespace, address, directory
        directory.mkdir(mode=0o700)
        self.links: list[subprocess.Popen[str]] = []
        self.programs: list[subprocess.Popen[str]] = []
        self.log = directory.parent / f"{name}.log"

    def _start(self, words: list[str], **keywords: object) -> subprocess.Popen[str]:
        environment = os.environ | {
            "BATON_RUNTIME_DIR": str(self.directory),
            "BATON_DOMAIN": "0",
            "PYTHONPATH": str(PYTHON),
        }
        command = ["ip", "netns", "exec", self.namespace, *words]
        return subprocess.Popen(command, env=environment, text=True, **keywords)  # type: ignore[call-overload]

    def link(self, *peers: Host) -> subprocess.Popen[str]:
        words = [str(PROGRAM), "--interface", self.address, "--host-name", self.name]
        words += [word for peer in peers for word in ("--peer", peer.address)]
        with self.log.open("a") as log:
            started = self._start(words, stderr=log)
        self.links.append(started)
        return started

    def python(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        started = self._start(
            [sys.executable, "-c", program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.programs.append(started)
        return started

    def says(self, words: str) -> bool:
        """Whether the link's diagnostics have these words, now or within the limit."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if self.log.exists() and words in self.log.read_text():
                return True
            time.sleep(0.05)
        return False

    def end(self) -> None:
        for process in (*self.programs, *self.links):
            process.send_signal(signal.SIGTERM)
        for process in (*self.programs, *self.links):
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


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
