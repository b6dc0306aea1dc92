# SPDX-License-Identifier: Apache-2.0
"""One run: a fresh directory with a plan, the processes, their results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

from .network import ADDRESSES, Network, NetworkFailed
from .peers import Peer


@dataclass(frozen=True)
class Cell:
    """The settings of a run, without its transports. Field names are those of the runner's RunPlan (lab/runner/peer.hpp)."""

    bytes: int = 64
    message: str = "bytes"
    publishers: int = 1
    subscribers: int = 1
    messages: int = 100
    rate: float = 30
    spin: bool = False
    read_all: bool = False
    round_trip: bool = False
    echo: bool = True  # of a round trip: the answer has all bytes of the message, not only its stamp
    answer_s: float = 1  # a round trip that takes longer counts as lost
    one_process: bool = False
    varying: bool = False
    depth: int = 10
    reliable: bool = True
    pinned: bool = False  # publishers on the first CPU, subscribers on the others
    one_cpu: bool = False  # pinned, too: subscribers on the publishers' CPU
    connect_in_order: bool = False  # each subscriber starts when the one before it is ready
    isolation: str = "host"  # host, container (all in one), containers (each its own)
    network: str = ""  # publishers and subscribers on two hosts: a profile of network.py; "": all on one
    priority: int = 0  # of SCHED_FIFO; above 0 with locked memory, prepared at the start
    load: float = 0  # share of every CPU that busy processes use beside
    count_copies: bool = False
    timeline: bool = False  # sample every process's CPU time during the run
    settings: dict = field(default_factory=dict, hash=False, compare=False)

    def label(self) -> str:
        return f"{size_text(self.bytes)} {self.publishers}p{self.subscribers}s"


PLAN_FIELDS = (
    "bytes message publishers subscribers messages rate spin read_all round_trip echo answer_s one_process varying depth reliable priority settings"
).split()


def size_text(bytes: int) -> str:
    for unit, size in (("MB", 1 << 20), ("KB", 1 << 10)):
        if bytes >= size:
            return f"{bytes / size:.3g} {unit}"
    return f"{bytes} B"


class RunFailed(Exception):
    """A run gave no result; says why."""


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


Watch = Callable[[list[subprocess.Popen], str], None]  # called with the processes of a run, and its directory


def perform(peer: Peer, variant: str, cell: Cell, timeout: float | None = None, watch: Watch | None = None) -> dict:
    """Runs all processes to their end and returns what they reported, or raises RunFailed. `watch` is called once all have been started."""
    with tempfile.TemporaryDirectory(prefix="baton-perf-") as directory:
        plan = {key: value for key, value in asdict(cell).items() if key in PLAN_FIELDS}
        plan |= {"variant": variant, "directory": directory, "hosts": list(ADDRESSES) if cell.network else []}
        Path(directory, "plan.json").write_text(json.dumps(plan))
        if timeout is None:
            timeout = 150 + 2 * (cell.messages / cell.rate if cell.rate > 0 else cell.messages * 0.02)
        started = time.time()
        timeline = Timeline() if cell.timeline else None
        with Load(cell.load), _place(cell) as place:
            _run_processes(peer, cell, directory, timeout, timeline, place, watch)
            facts = place.facts()
        processes = [json.loads(file.read_text()) for file in sorted(Path(directory).glob("*_*.json"))]
        if not processes:
            raise RunFailed("no process wrote a result")
        result = {"started": started, "seconds": time.time() - started, "processes": processes, **facts}
        if timeline is not None:
            result["timeline"] = timeline.rows
        return result


class Timeline:
    """CPU time of every process over wall time, for LOT's activity plots: ns as the scheduler counts them, every 100 ms."""

    PERIOD = 0.1

    def __init__(self):
        self.begin = time.monotonic()
        self.rows: list[dict] = []

    def sample(self, processes: list[subprocess.Popen]) -> None:
        now = time.monotonic() - self.begin
        if self.rows and now - self.rows[-1]["t"] < self.PERIOD:
            return
        self.rows.append({"t": round(now, 4), "cpu_ns": [cpu_ns(process.pid) for process in processes]})


def cpu_ns(pid: int) -> int:
    """Of all threads of a process that runs (/proc/<pid>/task/*/schedstat); 0 when it has ended."""
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[0])
        except (OSError, IndexError, ValueError):
            pass  # it ended just now
    return total


def copies_library(peer: Peer) -> Path:
    """The library that counts copies, of the program's build. It must exist: the loader would go on without it, and no copy would be counted."""
    folder = peer.program.resolve().parent
    places = [folder.parent / "lib", folder]  # in a build tree; installed
    for place in places:
        library = place / "libbaton_perf_copies.so"
        if library.is_file():
            return library
    raise RunFailed(f"copies cannot be counted: libbaton_perf_copies.so is not in {' or '.join(map(str, places))}")


def _run_processes(
    peer: Peer,
    cell: Cell,
    directory: str,
    timeout: float,
    timeline: Timeline | None,
    place: _Place,
    watch: Watch | None = None,
) -> None:
    environment = os.environ.copy()
    if cell.count_copies:
        environment["LD_PRELOAD"] = str(copies_library(peer))
        environment["BATON_PERF_COPY_BYTES"] = str(max(256, cell.bytes // 2))
    log = open(Path(directory, "log"), "w+")
    processes: list[subprocess.Popen] = []

    def start(role: str, index: int, where: list[int]) -> None:
        command = [str(peer.program), "--plan", f"{directory}/plan.json", "--role", role, "--index", str(index)]
        if where:
            command += ["--cpus", ",".join(map(str, where))]
        processes.append(
            subprocess.Popen(
                place.wrap(command, role),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        )

    all_cpus = cpus()
    first = all_cpus[:1] if cell.pinned else []
    others = first if cell.one_cpu else (all_cpus[1:] or all_cpus) if cell.pinned else []
    end = time.monotonic() + timeout
    try:
        if cell.one_process:
            start("both", 0, [])
        else:
            for index in range(cell.publishers if cell.connect_in_order else 0):
                start("publisher", index, first)
            for index in range(cell.subscribers):
                start("subscriber", index, others)
                if cell.connect_in_order:
                    _wait_ready(Path(directory, "sync"), index + 1, end, processes)
            for index in range(0 if cell.connect_in_order else cell.publishers):
                start("publisher", index, first)
        if watch is not None:
            watch(processes, directory)
        waiting = list(processes)
        while waiting:
            if timeline is not None:
                timeline.sample(processes)
            for process in list(waiting):
                if process.poll() is not None:
                    waiting.remove(process)
                    if process.returncode != 0:
                        raise RunFailed(_last_words(log) or _how_it_ended(process))
            if time.monotonic() > end:
                raise RunFailed(f"did not finish in {timeout:.0f} s; {_last_words(log)}")
            time.sleep(0.01)
    finally:
        for process in processes:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()
        log.close()
        _wait_for_keeper(directory)


def _wait_for_keeper(directory: str) -> None:
    """Until the run's keeper (lab/runner/keeper.cpp), which reads its pipe as long as it lives, has removed what the run left: the next run
    may use the same names."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            os.close(os.open(f"{directory}/keeper_members", os.O_WRONLY | os.O_NONBLOCK))
        except OSError:  # nobody reads it, or there is none
            return
        time.sleep(0.005)


def _wait_ready(sync: Path, count: int, end: float, processes: list[subprocess.Popen]) -> None:
    """Until `count` subscribers have said that they are ready (the first word of the runner's sync page)."""
    while time.monotonic() < end and all(process.poll() is None for process in processes):
        if sync.exists() and int.from_bytes(sync.read_bytes()[:4], "little") >= count:
            return
        time.sleep(0.005)


def _last_words(log) -> str:
    """The error of the process that failed first: the others end because of it, and print that (lab/runner/runner.cpp)."""
    log.flush()
    lines = Path(log.name).read_text(errors="replace").strip().splitlines()
    lines = [line for line in lines if not line.endswith("another process of this run failed")]
    return " | ".join(lines[-3:])[-500:]


def _how_it_ended(process: subprocess.Popen) -> str:
    if process.returncode < 0:
        return f"a process was ended by {signal.Signals(-process.returncode).name}"
    return f"a process ended with {process.returncode}"


_PREPARE = "mount -t tmpfs tmpfs /dev/shm && { ip link set lo up 2>/dev/null || true; }; "


def _unshare(script: str) -> list[str]:
    """A shell script in namespaces of its own (mount, IPC, network, UTS, PID), as in a container."""
    command = ["unshare", "--mount", "--ipc", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        command += ["--user", "--map-root-user"]
    return [*command, "sh", "-c", script, "sh"]


class _Place(Protocol):
    """The place where the processes of a run live; a context. In all places they share the file system with the run's directory."""

    def __enter__(self) -> _Place: ...
    def __exit__(self, *_) -> None: ...
    def wrap(self, command: list[str], role: str) -> list[str]: ...
    def facts(self) -> dict: ...  # for the recording, after the last process has ended


def _place(cell: Cell) -> _Place:
    if not cell.network:
        return _Isolation(cell.isolation)
    if cell.isolation != "host" or cell.one_process:
        raise RunFailed("on two hosts there are no containers, and the ends are not threads of one process")
    return _TwoHosts(cell.network)


class _TwoHosts:
    """Publishers on the first host, subscribers on the second."""

    def __init__(self, profile: str):
        self.network = Network(profile)

    def __enter__(self):
        try:
            self.network.__enter__()
        except NetworkFailed as problem:
            raise RunFailed(str(problem)) from problem
        return self

    def __exit__(self, *_):
        self.network.__exit__()

    def wrap(self, command: list[str], role: str) -> list[str]:
        host = 1 if role == "subscriber" else 0
        return self.network.wrap(host, [*command, "--host", str(host)])

    def facts(self) -> dict:
        return {"line": self.network.line_counts()} if self.network.emulated else {}


class _Isolation:
    """host: here; container: all in one set of namespaces; containers: each process in its own."""

    def __init__(self, kind: str):
        self.kind = kind
        self.holder: subprocess.Popen | None = None
        self.inside = 0

    def __enter__(self):
        if self.kind == "container":
            # Holds the namespaces that the others enter.
            self.holder = subprocess.Popen(
                _unshare(_PREPARE + "echo ready; exec sleep infinity"),
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                text=True,
            )
            if self.holder.stdout.readline().strip() != "ready":
                self.__exit__()
                raise RunFailed("this user may not make namespaces (unshare(1))")
            self.inside = int(Path(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children").read_text().split()[0])
        return self

    def __exit__(self, *_):
        if self.holder is not None:
            self.holder.kill()  # unshare --kill-child ends the processes inside
            self.holder.wait()

    def facts(self) -> dict:
        return {}

    def wrap(self, command: list[str], role: str) -> list[str]:
        if self.kind == "host":
            return command
        if self.kind == "container":
            enter = ["nsenter", "--target", str(self.inside), "--mount", "--ipc", "--net", "--uts", "--pid"]
            return [*enter, *(["--user", "--preserve-credentials"] if os.geteuid() != 0 else []), "--", *command]
        return [*_unshare(_PREPARE + 'exec "$@"'), *command]


class Load:
    """Busy processes beside the run: one per CPU, each busy for `share` of every 10 ms."""

    def __init__(self, share: float):
        self.share = share
        self.processes: list[subprocess.Popen] = []

    def __enter__(self):
        if self.share > 0:
            program = (
                "import time\n"
                f"share = {self.share!r}\n"
                "while True:\n"
                "    end = time.perf_counter() + 0.01 * share\n"
                "    while time.perf_counter() < end: pass\n"
                "    if share < 1: time.sleep(0.01 * (1 - share))\n"
            )
            # Ctrl-C is not for them: this process ends them.
            self.processes = [subprocess.Popen([sys.executable, "-c", program], start_new_session=True) for _ in cpus()]
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
