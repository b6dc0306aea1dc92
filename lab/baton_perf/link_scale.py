# SPDX-License-Identifier: Apache-2.0
"""`baton_link_scale`: many processes and topics on two hosts that only the link joins. Measures the time until all are connected, the round-trip
time of a message among them, and the memory of a link. Prints verdicts in the form that `baton perf accept` reads.

Each process publishes one topic and subscribes to one of the other host, so that half of the topics go each way, ten messages a second
each. Times are CLOCK_MONOTONIC, which both hosts share (network.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, Queue

import click

from .network import ADDRESSES, Network, NetworkFailed, child_of
from .peers import program_folder
from .verdicts import print_verdict

END, LINK = "baton_link_scale_end", "baton_link"
CONNECTED_BAR_S, ROUND_TRIP_BAR_US, MEMORY_BAR_MIB = 10, 2000, 32
GIVE_UP_S = 120
SETTLES_S = 1.0


class _Process:
    """One process on a host; its lines are read by a thread, so that no other process waits for its reader."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("a") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
            )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def line(self, words: str, end: float) -> list[str]:
        """The rest of the next line, which begins with these words; empty if it does not come before `end` (monotonic)."""
        try:
            line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
        except Empty:
            return []
        return line.removeprefix(words).split() if line.startswith(words) else []

    def tell(self, line: str) -> None:
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    @property
    def inside(self) -> int:
        """The process itself, not that of nsenter(1)."""
        return child_of(self._process)

    def end(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(timeout=0.1)
        except subprocess.TimeoutExpired:
            self._process.kill()  # processes inside end with the network
            self._process.wait()


def _proportional_kib(pid: int) -> float:
    """Private pages, and shared ones divided by their users."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return float(next(line for line in lines if line.startswith("Pss:")).split()[1])


def _cpu_ticks(pid: int) -> int:
    """utime and stime, fields 14 and 15 of /proc/PID/stat (proc(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _measure(programs: Path, processes: int, network: str, directory: Path) -> dict:
    """One round. Without "connected_s" not all were connected in time; "log" has the output of the processes."""
    with Network(network) as net:
        links, ends = [], []
        log = directory / "log"
        for host in (0, 1):
            runtime = directory / f"host_{host}"
            runtime.mkdir(mode=0o700)
            # The first host waits to be called.
            peer = ["--peer", ADDRESSES[0]] if host == 1 else []
            command = [str(programs / LINK), "--domain", "0", "--interface", ADDRESSES[host], *peer]
            links.append(_Process(net.wrap(host, ["env", f"BATON_RUNTIME_DIR={runtime}", *command]), log))
        began = time.monotonic()
        for index in range(processes):
            for host in (0, 1):
                words = ["--directory", str(directory / f"host_{host}"), "--host", str(host), "--index", str(index)]
                ends.append(_Process(net.wrap(host, [str(programs / END), *words]), log))
        try:
            give_up = began + GIVE_UP_S
            connected = [end.line("connected", give_up) for end in ends]
            out: dict = {"missing": sum(not said for said in connected), "log": log.read_text()[-500:]}
            if out["missing"]:
                return out
            out["connected_s"] = max(int(said[0]) for said in connected) / 1e9 - began
            time.sleep(SETTLES_S)
            pids = [link.inside for link in links]
            before, at = [_cpu_ticks(pid) for pid in pids], time.monotonic()
            ends[0].tell("measure")
            said = ends[0].line("round trips", time.monotonic() + GIVE_UP_S)
            spent = max(_cpu_ticks(pid) - ticks for pid, ticks in zip(pids, before, strict=True))
            out["cpu"] = spent / os.sysconf("SC_CLK_TCK") / (time.monotonic() - at)
            out["memory_mib"] = max(map(_proportional_kib, pids)) / 1024
            if said:
                out["round_trip_us"], out["p99_us"] = (int(ns) / 1000 for ns in said[:2])
                out["lost"] = int(said[2])
            return out
        finally:
            for process in (*ends, *links):
                process.end()


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option("--processes", default=50, show_default=True, type=click.IntRange(1, 500), help="On each host.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 100))
@click.option(
    "--network", default="10gbit", show_default=True, help="What lies between the hosts (baton perf run --help)."
)
def main(processes: int, rounds: int, network: str) -> None:
    programs = program_folder()
    if programs is None or not all((programs / name).is_file() for name in (END, LINK)):
        print(f"baton_link_scale: {END} or {LINK} is not built: make build-lab", file=sys.stderr)
        sys.exit(2)
    done = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="baton-scale-") as directory:
            try:
                done.append(_measure(programs, processes, network, Path(directory)))
            except NetworkFailed as problem:
                print(f"baton_link_scale: {problem}", file=sys.stderr)
                sys.exit(2)
    what = f"{2 * processes} topics, {processes} processes a host"
    if bad := [run for run in done if "round_trip_us" not in run]:
        print(
            f"FAIL  link-scale: {what}: {bad[0]['missing']} of {2 * processes} processes were not connected; {bad[0]['log']!r}"
        )
        sys.exit(1)

    def values(key: str) -> list[float]:
        return [run[key] for run in done]

    passed = [
        print_verdict(
            f"all connected, {what}", values("connected_s"), " s", CONNECTED_BAR_S, "processes started within this time"
        ),
        print_verdict(
            "a round trip among them, 5 B",
            values("round_trip_us"),
            " us",
            ROUND_TRIP_BAR_US,
            f"p99 {max(values('p99_us')):.0f} us, {sum(values('lost')):.0f} lost, others 10 messages a second each",
        ),
        print_verdict(
            "memory of the larger link",
            values("memory_mib"),
            " MiB",
            MEMORY_BAR_MIB,
            f"proportional set size; it uses {max(values('cpu')):.0%} of a CPU",
        ),
    ]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
