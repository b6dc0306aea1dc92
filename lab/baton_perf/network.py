# SPDX-License-Identifier: Apache-2.0
"""Two hosts on one machine: Linux namespaces with a network between them, in which a run's publishers and subscribers live.

Each host has a network, a mount namespace with a /dev/shm and an /etc/hosts of its own, an IPC namespace and a name. Both share the file
system with the run's directory, the clock and the process ids, so that a round trip needs no second clock.

Invariants: (1) The namespaces have no names. They live as long as the first host's init process, and this process waits for the end of a
pipe that only the run holds: however the run ends, also by SIGKILL, the kernel ends every process inside and removes namespaces,
devices and queues. So there is nothing to clean up after a run that died. (2) Nothing outside of the namespaces is changed.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .peers import program_folder

ADDRESSES = ("10.143.0.1", "10.143.0.2")
NAMES = ("baton-host-1", "baton-host-2")
DEVICE = "eth0"
EMULATOR = "baton_network_line"


@dataclass(frozen=True)
class Profile:
    """The network between the hosts. The kernel's `netem` makes delay and loss; where the kernel has none, the program baton_network_line
    (lab/network/) does."""

    what: str
    rate: str = ""  # the rate of `tc`'s tbf in each direction
    # The burst of tbf: at least the bytes that the rate carries in a tick of the kernel (tc-tbf(8)).
    burst: str = "256kb"
    delay_ms: float = 0.0  # delay in each direction
    loss: float = 0.0  # share of the packets, in each direction

    @property
    def lossy(self) -> bool:
        return self.delay_ms > 0 or self.loss > 0


PROFILES = {
    "veth": Profile("the bare pair of virtual devices: as fast as the kernel is"),
    "10gbit": Profile("10 Gbit/s, as ROS-SF's two machines", rate="10gbit"),
    "1gbit": Profile("1 Gbit/s", rate="1gbit"),
    "100mbit": Profile("100 Mbit/s", rate="100mbit", burst="64kb"),
    "1mbit": Profile("1 Mbit/s, as a radio far away", rate="1mbit", burst="8kb"),
    "wifi": Profile("as over Wi-Fi: 5 ms and 1 % of the packets lost, each way", delay_ms=5, loss=0.01),
}
LIMIT_PACKETS = 20_000  # packets that the line holds in each direction: 30 MB of the largest


class NetworkFailed(Exception):
    """The hosts cannot be made; says why, and the way out."""


_NO_RIGHT = (
    "this user may not make network namespaces ({}): run it as root, or allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0), "
    "or in a container give it CAP_SYS_ADMIN and CAP_NET_ADMIN (docker run --privileged)"
)
_HOSTS = "".join(f"{a} {n}\\n" for a, n in zip(("127.0.0.1", *ADDRESSES), ("localhost", *NAMES), strict=True))
# The host's own /dev/shm, names and loopback. The last words come when all of it is there; then the init waits for the end of its input.
_HOST = (
    "set -e; mount -t tmpfs tmpfs /dev/shm; hostname {name}; printf '{hosts}' >/dev/shm/hosts; "
    "mount --bind /dev/shm/hosts /etc/hosts; rm /dev/shm/hosts; ip link set lo up; "
    "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || true; echo ready; read -r _ || true"
)


def _needed(tool: str, package: str) -> None:
    if shutil.which(tool) is None:
        raise NetworkFailed(f"two hosts need the command {tool}: install {package}")


def child_of(process: subprocess.Popen) -> int:
    """The process that unshare(1) or nsenter(1) has forked, by its number on this side."""
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


class Network:
    """A context: inside of it both hosts exist. One thread uses it."""

    def __init__(self, profile: str):
        if profile not in PROFILES:
            raise NetworkFailed(f"there is no network '{profile}'; there are: {', '.join(PROFILES)}")
        self.profile = PROFILES[profile]
        self._processes: list[subprocess.Popen] = []  # the first is the init's parent
        self._init: list[int] = []  # for each host, the id of a process that lives in it
        self._emulator: subprocess.Popen | None = None
        self.emulated = False  # whether baton_network_line emulates the line

    def __enter__(self) -> Network:
        for tool, package in (
            ("unshare", "util-linux"),
            ("nsenter", "util-linux"),
            ("ip", "iproute2"),
            ("hostname", "hostname"),
        ):
            _needed(tool, package)
        if self.profile.rate or self.profile.lossy:
            _needed("tc", "iproute2")
        try:
            self._make_hosts()
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for process in self._processes:
            if process.stdin is not None:
                # The init ends at this; unshare(1) ends when the kernel has ended all processes inside.
                process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()  # unshare --kill-child ends the init
                process.wait()
            for stream in (process.stdout, process.stderr):
                stream.close()
        self._processes, self._init, self._emulator = [], [], None

    def wrap(self, host: int, command: list[str]) -> list[str]:
        """The command, as a process of that host."""
        return [*self._enter(host, "mount", "ipc", "net", "uts", "pid"), "--", *command]

    def run(self, host: int, *command: str) -> str:
        """The output of a short command on that host; fails as NetworkFailed with the command's own words."""
        done = subprocess.run(self.wrap(host, list(command)), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise NetworkFailed(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def line_counts(self) -> list[dict]:
        """Ends the emulator and returns its counts for the way from each host, as it prints them."""
        assert self._emulator is not None, "only with a profile that is emulated"
        # Its own process, not that of nsenter(1).
        os.kill(child_of(self._emulator), signal.SIGTERM)
        out, err = self._emulator.communicate(timeout=30)
        if self._emulator.returncode != 0:
            raise NetworkFailed(f"{EMULATOR}: {err.strip()}")
        return json.loads(out.splitlines()[-1])

    def _enter(self, host: int, *kinds: str) -> list[str]:
        user = ["--user", "--preserve-credentials"] if os.geteuid() != 0 else []
        return ["nsenter", "--target", str(self._init[host]), *user, *(f"--{kind}" for kind in kinds)]

    def _start_host(self, command: list[str], name: str) -> None:
        script = _HOST.format(name=name, hosts=_HOSTS)
        process = subprocess.Popen(
            [*command, "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the run, which ends these
        )
        self._processes.append(process)
        if process.stdout.readline().strip() != "ready":
            process.wait()
            raise NetworkFailed(_NO_RIGHT.format(process.stderr.read().strip() or "unshare(1) says nothing"))
        self._init.append(child_of(process))

    def _make_hosts(self) -> None:
        kinds = ["--mount", "--ipc", "--net", "--uts"]
        user = ["--user", "--map-root-user"] if os.geteuid() != 0 else []
        self._start_host(["unshare", *user, *kinds, "--pid", "--fork", "--kill-child", "--mount-proc"], NAMES[0])
        # The second one has the first one's process ids: what a peer names after its process id stays unique.
        self._start_host([*self._enter(0, "pid"), "--", "unshare", *kinds, "--mount-proc"], NAMES[1])

    def _connect(self) -> None:
        if not self.profile.lossy:
            self._connect_by_veth()
            if self.profile.rate:
                for host in (0, 1):
                    self._shape(host, "tbf", "rate", self.profile.rate, "burst", self.profile.burst, "latency", "20ms")
            return
        self._connect_by_veth()
        try:
            loss = ["loss", f"{self.profile.loss:%}"] if self.profile.loss else []
            for host in (0, 1):
                self._shape(
                    host, "netem", "limit", str(LIMIT_PACKETS), "delay", f"{self.profile.delay_ms * 1000:.0f}us", *loss
                )
        except NetworkFailed:  # this kernel has no netem
            self.run(0, "ip", "link", "delete", DEVICE)
            self._connect_by_emulator()

    def _connect_by_veth(self) -> None:
        other = ("peer", "name", DEVICE, "netns", str(self._pid_inside(1)))
        self.run(0, "ip", "link", "add", "name", DEVICE, "type", "veth", *other)
        for host in (0, 1):
            self._address(host)

    def _pid_inside(self, host: int) -> int:
        """The number of a host's process as the processes of both hosts see it."""
        status = Path(f"/proc/{self._init[host]}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1])

    def _address(self, host: int) -> None:
        self.run(host, "ip", "address", "add", f"{ADDRESSES[host]}/24", "dev", DEVICE)
        self.run(host, "ip", "link", "set", DEVICE, "up", "multicast", "on")
        self.run(host, "ip", "route", "add", "224.0.0.0/4", "dev", DEVICE)

    def _shape(self, host: int, *discipline: str) -> None:
        self.run(host, "tc", "qdisc", "replace", "dev", DEVICE, "root", *discipline)

    def _connect_by_emulator(self) -> None:
        program = (program_folder() or Path()) / EMULATOR
        if not program.is_file():
            raise NetworkFailed(
                f"this kernel has no netem (tc(8)), and {program}, which stands in for it, is not built: make build-lab"
            )
        spaces = [f"/proc/{self._pid_inside(host)}/ns/net" for host in (0, 1)]
        command = [
            str(program.resolve()),
            *(
                "--device",
                DEVICE,
                "--delay-us",
                f"{self.profile.delay_ms * 1000:.0f}",
                "--loss",
                str(self.profile.loss),
            ),
            *("--packets", str(LIMIT_PACKETS), *spaces),
        ]
        self._emulator = subprocess.Popen(
            self.wrap(0, command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._processes.append(self._emulator)
        if self._emulator.stdout.readline().strip() != "ready":
            self._emulator.wait()
            raise NetworkFailed(f"{EMULATOR}: {self._emulator.stderr.read().strip() or 'ended at once'}")
        self.emulated = True
        for host in (0, 1):
            self._address(host)


def check(profile: str) -> None:
    """Raises NetworkFailed if hosts with this network cannot be made here."""
    with Network(profile):
        pass
