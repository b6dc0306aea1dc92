# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests: network namespaces, joined by a bridge, each with a runtime directory of its own, so that nothing but the link
joins them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/bin/baton_link"
COPY_COUNTER = ROOT / "build/release/lib/libbaton_link_copy_counter.so"
PYTHON = ROOT / "build/release/python"
LIMIT_S = 60


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
        self.copies = directory.parent / f"{name}.copies"

    def _start(self, words: list[str], more: dict[str, str] | None = None, **keywords: object) -> subprocess.Popen[str]:
        environment = os.environ | {
            "BATON_RUNTIME_DIR": str(self.directory),
            "BATON_DOMAIN": "0",
            "PYTHONPATH": str(PYTHON),
            **(more or {}),
        }
        command = ["ip", "netns", "exec", self.namespace, *words]
        return subprocess.Popen(command, env=environment, text=True, **keywords)  # type: ignore[call-overload]

    def link(self, *peers: Host, counted: bool = False) -> subprocess.Popen[str]:
        """`counted`: end_link() returns how many bytes it has copied."""
        more = {"LD_PRELOAD": str(COPY_COUNTER), "BATON_TEST_COPIES": str(self.copies)} if counted else {}
        words = [str(PROGRAM), "--interface", self.address, "--host-name", self.name]
        words += [word for peer in peers for word in ("--peer", peer.address)]
        with self.log.open("a") as log:
            started = self._start(words, more, stderr=log)
        self.links.append(started)
        return started

    def python(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        return self._program(sys.executable, "-c", program, *arguments)

    def command(self, *words: str) -> subprocess.Popen[str]:
        """The command `baton` with these words."""
        return self._program(str(Path(sys.executable).parent / "baton"), *words)

    def _program(self, *words: str) -> subprocess.Popen[str]:
        started = self._start(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.programs.append(started)
        return started

    def end_link(self) -> int:
        link = self.links.pop()
        link.send_signal(signal.SIGTERM)
        assert link.wait(timeout=LIMIT_S) == 0, self.log.read_text()
        return int(self.copies.read_text())

    def says(self, words: str, times: int = 1) -> bool:
        """Whether the link's diagnostics have these words so many times, now or within the limit."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if self.log.exists() and self.log.read_text().count(words) >= times:
                return True
            time.sleep(0.05)
        return False

    def end(self) -> None:
        processes = (*self.programs, *self.links)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
