# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests: network namespaces, joined by a bridge, each with a runtime directory of its own, so that nothing but the link
joins them. A host may lose its cable, its address and its power."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build/release"))
PROGRAM = BUILD / "bin/baton_link"
EMULATOR = BUILD / "bin/baton_network_line"
COPY_COUNTER = BUILD / "lib/libbaton_link_copy_counter.so"
CLOCK_SHIFT = BUILD / "lib/libbaton_link_clock_shift.so"
PYTHON = BUILD / "python"
PORT = 22700
LIMIT_S = 120


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=LIMIT_S)


def again(*words: str) -> None:
    """ip(), tried again: the kernel removes the devices of a namespace that was deleted a moment later."""
    end = time.monotonic() + LIMIT_S
    while True:
        try:
            return ip(*words)
        except subprocess.CalledProcessError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


class Host:
    """One host. `link()` starts its link, `python()` a program. `bridge`: the namespace of the bridge; empty: another line joins it."""

    def __init__(self, number: int, name: str, namespace: str, address: str, directory: Path, bridge: str) -> None:
        self.number, self.name, self.namespace, self.address, self.directory = (
            number,
            name,
            namespace,
            address,
            directory,
        )
        self.bridge, self.port = bridge, f"p{number}"
        directory.mkdir(mode=0o700)
        self.links: list[subprocess.Popen[str]] = []
        self.programs: list[subprocess.Popen[str]] = []
        self.log = directory.parent / f"{name}.log"
        self.copies = directory.parent / f"{name}.copies"
        self.names = directory.parent / f"{name}.hosts"
        self.clock: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}

    # The network of this host.

    def appear(self) -> None:
        """Makes the namespace. Its network card keeps its hardware address when the host is started again."""
        again("netns", "add", self.namespace)
        ip("-n", self.namespace, "link", "set", "lo", "up")
        if not self.bridge:
            return
        peer = ("peer", "name", self.port, "netns", self.bridge)
        again(
            "-n",
            self.namespace,
            "link",
            "add",
            "eth0",
            "address",
            f"02:00:00:00:00:{self.number + 1:02x}",
            "type",
            "veth",
            *peer,
        )
        ip("-n", self.bridge, "link", "set", self.port, "master", "br0", "up")
        self.use_address()

    def use_address(self) -> None:
        ip("-n", self.namespace, "addr", "add", f"{self.address}/24", "dev", "eth0")
        ip("-n", self.namespace, "link", "set", "eth0", "up")

    def pull(self) -> None:
        """Pulls the cable, at the end where the network is: the host's own device stays up, without a carrier."""
        ip("-n", self.bridge, "link", "set", self.port, "down")

    def plug(self) -> float:
        """Puts the cable back; returns the moment (CLOCK_MONOTONIC)."""
        ip("-n", self.bridge, "link", "set", self.port, "up")
        return time.monotonic()

    def rate(self, rate: str) -> None:
        """Limits the host's line, both ways (tc-tbf(8))."""
        for space, device in ((self.namespace, "eth0"), (self.bridge, self.port)):
            words = ["tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf"]
            words += ["rate", rate, "burst", "32kb", "latency", "400ms"]
            subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT_S)

    def move(self, address: str) -> None:
        """Gives the host another address in place of its own."""
        ip("-n", self.namespace, "addr", "del", f"{self.address}/24", "dev", "eth0")
        self.address = address
        self.use_address()

    def know(self, *hosts: Host) -> None:
        """This host's programs resolve these hosts' names; again after a move."""
        lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}.test" for host in hosts)]
        self.names.write_text("\n".join(lines) + "\n")

    def cut_power(self) -> None:
        """The host is gone with all its processes and connections, and nobody hears of it."""
        self.pull()
        for process in (*self.programs, *self.links):
            process.kill()
            process.wait()
            self._close(process)
        self.programs, self.links = [], []
        # Mounts of the other hosts' processes may keep the namespace for a while.
        ip("-n", self.bridge, "link", "delete", self.port)
        ip("netns", "delete", self.namespace)
        shutil.rmtree(self.directory)

    def boot(self) -> float:
        """After cut_power(): the same name and address. Returns the moment."""
        self.directory.mkdir(mode=0o700)
        self.appear()
        return self.plug()

    # Its clocks.

    def shift_clocks(self, seconds: int) -> None:
        """What is started from now on has a CLOCK_REALTIME and a CLOCK_MONOTONIC that are so far ahead (above 0)."""
        if not CLOCK_SHIFT.is_file():
            pytest.skip("builds with a sanitizer have no clock_shift")
        if seconds < 0:
            raise ValueError("CLOCK_MONOTONIC is never before the machine's start")
        self._environment |= {"LD_PRELOAD": str(CLOCK_SHIFT), "BATON_TEST_CLOCK_SHIFT": str(seconds)}
        self.clock = subprocess.Popen(
            ["unshare", "--time", "--monotonic", str(seconds), "--fork", "--kill-child", "sleep", "infinity"]
        )

    def _clock(self) -> list[str]:
        if self.clock is None:
            return []
        children = Path(f"/proc/{self.clock.pid}/task/{self.clock.pid}/children")
        end = time.monotonic() + LIMIT_S
        while not (found := children.read_text().split()):
            if self.clock.poll() is not None or time.monotonic() > end:
                pytest.skip("this machine permits no new time namespaces")
            time.sleep(0.01)
        return ["nsenter", "--time", "--target", found[0], "--"]

    # Its processes.

    def _start(self, words: list[str], more: dict[str, str] | None = None, **keywords: object) -> subprocess.Popen[str]:
        environment = os.environ | {
            "BATON_RUNTIME_DIR": str(self.directory),
            "BATON_DOMAIN": "0",
            "PYTHONPATH": str(PYTHON),
            **self._environment,
            **(more or {}),
        }
        # `ip netns exec` gives the process mounts of its own.
        names = (
            ["sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(self.names)] if self.names.exists() else []
        )
        command = ["ip", "netns", "exec", self.namespace, *names, *self._clock(), *words]
        return subprocess.Popen(command, env=environment, text=True, **keywords)  # type: ignore[call-overload]

    def link(
        self,
        *peers: Host,
        counted: bool = False,
        by_name: bool = False,
        interface: str = "",
        multicast: bool = False,
        more: tuple[str, ...] = (),
    ) -> subprocess.Popen[str]:
        """`counted`: end_link() returns how many bytes it has copied. `by_name`: know() has told their names. `more`: words."""
        environment = {"LD_PRELOAD": str(COPY_COUNTER), "BATON_TEST_COPIES": str(self.copies)} if counted else {}
        words = [str(PROGRAM), "--interface", interface or self.address, "--host-name", self.name, *more]
        words += [] if multicast else ["--no-multicast"]
        words += [word for peer in peers for word in ("--peer", f"{peer.name}.test" if by_name else peer.address)]
        with self.log.open("a") as log:
            started = self._start(words, environment, stderr=log)
        self.links.append(started)
        return started

    def python(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        return self._program(sys.executable, "-c", program, *arguments)

    def file(self, program: Path, *arguments: str) -> subprocess.Popen[str]:
        return self._program(sys.executable, str(program), *arguments)

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

    def kill_link(self) -> None:
        link = self.links.pop()
        link.kill()
        link.wait(timeout=LIMIT_S)

    def end_link(self) -> int:
        link = self.links.pop()
        link.send_signal(signal.SIGTERM)
        assert link.wait(timeout=LIMIT_S) == 0, self.log.read_text()
        return int(self.copies.read_text())

    def log_text(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def says(self, words: str, times: int = 1) -> bool:
        """Whether the link's diagnostics have these words so many times, now or within the limit."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if self.log_text().count(words) >= times:
                return True
            time.sleep(0.05)
        return False

    @staticmethod
    def _close(process: subprocess.Popen[str]) -> None:
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def end(self) -> None:
        processes = (*self.programs, *self.links)
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(
                    timeout=1
                )  # a DDS writer waits for 5 s for the acknowledgement of a reader that was ended before
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            self._close(process)
        if self.clock is not None:
            self.clock.kill()
            self.clock.wait()
