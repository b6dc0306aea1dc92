# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests: network namespaces, joined by a bridge, each with a runtime directory of its own, so that nothing but the link
joins them. A test may take a host's cable, address or power."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support import processes
from support.build import BIN, LIB, LINK
from support.processes import LOG, PIPE, Process
from support.ros2 import TESTED, over
from support.waiting import LIMIT_S, until

EMULATOR = BIN / "baton_network_line"
COPY_COUNTER = LIB / "libbaton_link_copy_counter.so"
CLOCK_SHIFT = LIB / "libbaton_link_clock_shift.so"
PORT = 22700


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=LIMIT_S)


def again(*words: str) -> None:
    """Calls ip() until it succeeds: the kernel removes the devices of a deleted namespace a moment later."""

    def done() -> bool:
        try:
            return ip(*words) is None
        except subprocess.CalledProcessError:
            return False

    if not done():
        until(done, f"ip {words} fails", every_s=0.05)


class Host:
    """One host. `link()` starts its link, `python()` a program. `bridge`: the namespace of the bridge; empty: another line joins it."""

    def __init__(self, number: int, name: str, namespace: str, address: str, directory: Path, bridge: str) -> None:
        self.number, self.name, self.namespace = number, name, namespace
        self.ros_domain = 1 + number  # of its nodes of DDS, which so reach no other host's
        self.address, self.directory = address, directory
        self.bridge, self.port = bridge, f"p{number}"
        directory.mkdir(mode=0o700)
        self.links: list[Process] = []
        self.programs: list[Process] = []
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
        card = f"link add eth0 address 02:00:00:00:00:{self.number + 1:02x} type veth"
        again("-n", self.namespace, *card.split(), "peer", "name", self.port, "netns", self.bridge)
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
        """Makes this host's programs resolve these hosts' names. Call it again after move()."""
        lines = ["127.0.0.1 localhost", *(f"{host.address} {host.name}.test" for host in hosts)]
        self.names.write_text("\n".join(lines) + "\n")

    def cut_power(self) -> None:
        """Ends the host with all its processes and connections, without any packet to the others."""
        self.pull()
        for process in (*self.programs, *self.links):
            process.end()
        self.programs, self.links = [], []
        # Mounts of the other hosts' processes may keep the namespace for a while.
        ip("-n", self.bridge, "link", "delete", self.port)
        ip("netns", "delete", self.namespace)
        shutil.rmtree(self.directory)

    def boot(self) -> float:
        """Starts the host again after cut_power(), with the same name and address. Returns the moment (CLOCK_MONOTONIC)."""
        self.directory.mkdir(mode=0o700)
        self.appear()
        return self.plug()

    # Its clocks.

    def shift_clocks(self, seconds: int) -> None:
        """Programs that are started from now on see CLOCK_REALTIME and CLOCK_MONOTONIC shifted by so much (above 0)."""
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
        until(lambda: children.read_text() or self.clock.poll() is not None)
        if not (found := children.read_text().split()):
            pytest.skip("this machine permits no new time namespaces")
        return ["nsenter", "--time", "--target", found[0], "--"]

    # Its processes.

    def _start(self, words: list[str], more: dict[str, str] | None = None, **options: object) -> Process:
        environment = processes.environment(self.directory, BATON_DOMAIN="0", **{**self._environment, **(more or {})})
        # `ip netns exec` gives the process mounts of its own.
        names = (
            ["sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', str(self.names)] if self.names.exists() else []
        )
        command = ["ip", "netns", "exec", self.namespace, *names, *self._clock(), *words]
        return Process(command, env=environment, watchdog_s=8 * LIMIT_S, **options)

    def link(
        self,
        *peers: Host,
        counted: bool = False,
        by_name: bool = False,
        interface: str = "",
        multicast: bool = False,
        more: tuple[str, ...] = (),
    ) -> Process:
        """`counted`: end_link() returns the bytes that the link copied. `by_name`: peers are named, see know(). `more`: arguments."""
        environment = {"LD_PRELOAD": str(COPY_COUNTER), "BATON_TEST_COPIES": str(self.copies)} if counted else {}
        words = [str(LINK), "--interface", interface or self.address, "--host-name", self.name, *more]
        words += [] if multicast else ["--no-multicast"]
        words += [word for peer in peers for word in ("--peer", f"{peer.name}.test" if by_name else peer.address)]
        with self.log.open("a") as log:
            started = self._start(words, environment, stdin=None, stdout=None, stderr=log)
        self.links.append(started)
        return started

    def start_bridge(self) -> Process:
        """The bridge between Baton and the nodes of Fast DDS on this host, once it works."""
        more = {"LD_LIBRARY_PATH": TESTED.library_path(), "AMENT_PREFIX_PATH": str(TESTED.prefix)}
        words = [str(TESTED.programs / "baton_bridge"), "rmw_fastrtps_cpp"]
        bridge = self._start(words, self.ros2("plain") | more, stderr=LOG)
        self.programs.append(bridge)
        until(lambda: ": joins " in bridge.log() or bridge.poll() is not None, bridge.log)
        assert bridge.poll() is None, bridge.log()
        return bridge

    def ros2(self, rmw: str) -> dict[str, str]:
        """The environment of this host's programs of ROS 2 (support.ros2.over()). Hosts share /dev/shm, where Fast DDS would take processes of two
        hosts for one another."""
        domain = str(self.ros_domain)
        return {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_DOMAIN_ID": domain, "PYTHONPATH": ""} | over(rmw)

    def python(self, program: str, *arguments: str) -> Process:
        return self.program(sys.executable, "-c", program, *arguments)

    def command(self, *words: str) -> Process:
        """The command `baton` with these arguments."""
        return self.program(str(Path(sys.executable).parent / "baton"), *words)

    def program(self, *words: object, more: dict[str, str] | None = None, stderr: int = PIPE) -> Process:
        """Any program, with `more` in its environment."""
        started = self._start([str(word) for word in words], more, stderr=stderr)
        self.programs.append(started)
        return started

    def state(self) -> dict:
        """What `baton link status` says of its link; without one, of nothing."""
        said, _ = self.command("link", "status", "--json", "-i", "0").ends(None)
        nothing: dict = {"hosts": [], "topics": [], "peers": [], "refused_hosts": []}
        return (json.loads(said)["state"] if said else None) or nothing

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
        """Waits until the link's diagnostics have this text so many times. On failure, shows the diagnostics."""
        text = lambda: f"{self.name} does not say {words!r}: {self.log_text()[-4000:]}"  # noqa: E731
        return until(lambda: self.log_text().count(words) >= times, text, every_s=0.05)

    def end(self) -> None:
        every = (*self.programs, *self.links)
        for process in every:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        for process in every:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
            process.end()
        if self.clock is not None:
            self.clock.kill()
            self.clock.wait()
