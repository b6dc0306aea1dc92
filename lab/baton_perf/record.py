# SPDX-License-Identifier: Apache-2.0
"""`baton perf record`: what recording costs, beside a plain writev(2) of the same bytes to the same file system. Prints verdicts as
`baton perf accept` reads them.

Rate: publishers offer messages as fast as the recorder takes them (no message is given up), so the time is the recorder's. A second run has
the cameras' own rate: it counts what is missing, and CPU and memory of the recorder. The time that a message takes to another subscription is
compared with that beside one more ordinary subscription, in the same round.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from .peers import program_folder
from .verdicts import print_verdict

PROGRAM, COPY_COUNTER = "baton_record", "libbaton_link_copy_counter.so"
IMAGE_BYTES = 1920 * 1080 * 3
# A recording is slower than the plain write by at most a tenth; another subscription waits no longer than beside an ordinary one, but for noise.
TIME_BAR, LATENCY_BAR, MISSING_BAR, COPIES_BAR = 1 / 0.9, 1.1, 0.0, 0.01
GIVE_UP_S = 120.0
ROOT = Path(__file__).resolve().parents[2]  # of a checkout
MEMORY = "tmpfs"  # has no disk that could be written to directly
CHUNK_BYTES = 2 << 20  # that one writev of the recorder takes, at least


@dataclass(frozen=True)
class Load:
    """Topics that are recorded."""

    topics: int
    bytes: int
    hz: float

    @property
    def name(self) -> str:
        if self.bytes == IMAGE_BYTES:
            return f"{self.topics} camera{'s' if self.topics > 1 else ''}, 6.2 MB at {self.hz:g} Hz"
        return f"{self.topics} topics, {self.bytes} B at {self.hz:g} Hz"


LOADS = (Load(1, IMAGE_BYTES, 30), Load(2, IMAGE_BYTES, 30), Load(4, IMAGE_BYTES, 30), Load(100, 1000, 100))


class Failed(Exception):
    """A run that cannot be measured."""


def load_baton() -> ModuleType:
    """The package baton: installed, or of the build whose programs are measured, or of the release build."""
    try:
        import baton
    except ImportError:
        built = program_folder()
        folders = [built.parent] if built else []
        sys.path += [str(folder / "python") for folder in (*folders, ROOT / "build/release")] + [
            str(ROOT / "generator")
        ]
        try:
            import baton
        except ImportError as error:
            raise Failed(f"Baton's Python package is not there ({error}): make build-lab") from None
    return baton


def find(name: str, folder: str) -> Path | None:
    """A file of the build whose programs are measured, of the release build, or of a wheel."""
    built = program_folder()
    places = [built.parent / folder] if built else []
    places.append(ROOT / "build/release" / folder)
    places.append(Path(load_baton().__file__).parent / "programs")  # of a wheel
    return next((place / name for place in places if (place / name).is_file()), None)


class Recording:
    """The recorder with its states."""

    def __init__(self, directory: Path, environment: dict[str, str] | None = None, words: tuple[str, ...] = ()) -> None:
        program = find(PROGRAM, "bin")
        if program is None:
            raise Failed(f"{PROGRAM} is not built: make build-lab")
        command = [program, "--output", directory, "--interval", "10", "--all", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ | (environment or {})
        )
        self.state: dict[str, Any] = {}
        self.next()

    def next(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{PROGRAM} ended with status {self.process.wait()}")
        self.state = json.loads(line)
        return self.state

    def until_written(self, messages: int) -> None:
        give_up = time.monotonic() + GIVE_UP_S
        while self.next()["written_messages"] < messages:
            if self.state["failure"] or time.monotonic() > give_up:
                raise Failed(self.state["failure"] or f"{self.state['written_messages']} of {messages} were written")

    def cpu_s(self) -> float:
        """Of all its threads; the scheduler counts nanoseconds (proc(5), schedstat)."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9

    def memory_mib(self) -> float:
        """Private pages, and shared ones divided by their users."""
        lines = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines()
        return float(next(line for line in lines if line.startswith("Pss:")).split()[1]) / 1024

    def end(self) -> dict[str, Any]:
        with contextlib.suppress(OSError):
            self.process.stdin.write("stop\n")
            self.process.stdin.flush()
        while not self.state["last"]:
            self.next()
        self.process.communicate()
        return self.state

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def own_domain() -> Iterator[None]:
    """A directory for the domain's sockets, so that nothing else is recorded."""
    before = os.environ.get("BATON_RUNTIME_DIR")
    with tempfile.TemporaryDirectory(prefix="baton-record-") as directory:
        os.environ["BATON_RUNTIME_DIR"] = directory
        try:
            yield
        finally:
            if before is None:
                del os.environ["BATON_RUNTIME_DIR"]
            else:
                os.environ["BATON_RUNTIME_DIR"] = before


class Publishers:
    """One publisher for each topic. With the policy "none" no message is given up: publish() waits while the recorder has no room."""

    def __init__(self, load: Load, policy: str = "none") -> None:
        self._baton = load_baton()
        self._load = load
        self._node = self._baton.Node("cameras")
        # Few messages of a camera: what waits for the recorder is memory that the next ones need.
        slots = 32 if load.bytes >= 1 << 20 else 256
        self._ends = [
            self._node.advertise(f"/load/{number}", "sensor_msgs/Image", 100, slots=slots, policy=policy)
            for number in range(load.topics)
        ]

    def wait(self) -> None:
        if not all(end.wait_for_subscriptions(1, GIVE_UP_S) for end in self._ends):
            raise Failed("the recorder did not subscribe to all topics")

    def publish(self, round_: int) -> None:
        """One message of each topic."""
        for end in self._ends:
            give_up = time.monotonic() + GIVE_UP_S
            while True:
                try:
                    with end.loan() as image:
                        image.header.stamp.sec = round_
                        image.data.resize(self._load.bytes)
                    break
                except (self._baton.LimitReached, self._baton.OutOfMemory):
                    if time.monotonic() > give_up:
                        raise Failed("the recorder takes no more messages") from None
                    time.sleep(0.0002)


def plain(path: Path, load: Load, messages: int, direct: bool = False) -> tuple[float, float]:
    """(seconds, CPU seconds) of writev(2) of the same bytes. The sources are as many buffers as a publisher's slots in rotation. `direct`: past the
    page cache, of whole pages."""
    buffers = [mmap.mmap(-1, load.bytes) for _ in range(16)]
    for number, buffer in enumerate(buffers):
        buffer.write(bytes([number]) * load.bytes)
    pieces = max(1, min(1024, CHUNK_BYTES // load.bytes))
    size = load.bytes // mmap.PAGESIZE * mmap.PAGESIZE if direct else load.bytes
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | (os.O_DIRECT if direct else 0))
    try:
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        for first in range(0, messages, pieces):
            chosen = [
                memoryview(buffers[each % len(buffers)])[:size] for each in range(first, min(first + pieces, messages))
            ]
            left = os.writev(file, chosen) - size * len(chosen)
            if left != 0:
                raise Failed(f"writev wrote {-left} bytes less: is the disk full?")
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    finally:
        os.close(file)
        path.unlink()
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fastest(folder: Path, load: Load, rounds: int, words: tuple[str, ...] = ()) -> tuple[float, float]:
    """(seconds, CPU seconds) of a recording whose publishers always have the next message. `words`: more options of the recorder."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        publishers = Publishers(load)
        with Recording(Path(directory) / "bag", words=words) as recording:
            publishers.wait()
            for number in range(2):  # memory of the publishers, and the recorder's mappings
                publishers.publish(number)
            recording.until_written(2 * load.topics)
            cpu, began = recording.cpu_s(), time.monotonic()
            for number in range(rounds):
                publishers.publish(number)
            recording.until_written((rounds + 2) * load.topics)
            out = time.monotonic() - began, recording.cpu_s() - cpu
            recording.end()
        return out


def at_rate(folder: Path, load: Load, seconds: float) -> dict[str, float]:
    """A recording at the load's own rate: "missing" messages, "cpu" of one processor, "memory_mib", and the rate that
    the publishers reached ("hz"): they have this machine's processors, too."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        publishers = Publishers(load, "medium_effort")
        with Recording(Path(directory) / "bag") as recording:
            publishers.wait()
            cpu, began = recording.cpu_s(), time.monotonic()
            rounds = max(1, round(seconds * load.hz))
            for number in range(rounds):
                publishers.publish(number)
                time.sleep(max(0.0, began + (number + 1) / load.hz - time.monotonic()))
            took = time.monotonic() - began
            out = {
                "hz": rounds / took,
                "cpu": (recording.cpu_s() - cpu) / took,
                "memory_mib": recording.memory_mib(),
            }
            said = recording.end()
            out["missing"] = rounds * load.topics - said["written_messages"]
        return out


def copied(folder: Path, load: Load, rounds: int) -> float | None:
    """Bytes that the recorder copied in user space, per byte of payload; None without the library that counts."""
    counter = find(COPY_COUNTER, "lib")
    if counter is None:
        return None
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        said = Path(directory) / "copies"
        publishers = Publishers(load)
        with Recording(
            Path(directory) / "bag", {"LD_PRELOAD": str(counter), "BATON_TEST_COPIES": str(said)}
        ) as recording:
            publishers.wait()
            for number in range(rounds):
                publishers.publish(number)
            recording.until_written(rounds * load.topics)
            recording.end()
        return int(said.read_text()) / (rounds * load.topics * load.bytes)


_SUBSCRIBER = """
import json, sys, threading, time
import baton
node = baton.Node(sys.argv[1])
subscription = node.subscribe("/load/0", "sensor_msgs/Image", qos=100)
taken, ends = [], threading.Event()
def take():
    while not ends.is_set():
        message = subscription.take(0.1)
        if message is not None:
            taken.append(time.monotonic_ns() - baton.info(message).source_monotonic_ns)
            del message
thread = threading.Thread(target=take)
thread.start()
sys.stdin.read()
ends.set()
thread.join()
print(json.dumps(taken))
"""


class Subscriber:
    def __init__(self, name: str) -> None:
        paths = os.pathsep.join(map(str, sys.path))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SUBSCRIBER, name],
            env=os.environ | {"PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self) -> list[int]:
        """Nanoseconds from publish to take, of each message."""
        out, _ = self.process.communicate()
        if self.process.returncode != 0:
            raise Failed("a subscriber ended early")
        return json.loads(out)


def hand_over_us(folder: Path, beside_recorder: bool, load: Load, rounds: int) -> float:
    """The median time to a subscription, beside the recorder or beside one more subscription."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory, contextlib.ExitStack() as ends:
        publishers = Publishers(load)
        watched = Subscriber("watched")
        ends.callback(watched.process.kill)
        if beside_recorder:
            ends.enter_context(Recording(Path(directory) / "bag"))
        else:
            other = Subscriber("other")
            ends.callback(other.process.kill)
        if not publishers._ends[0].wait_for_subscriptions(2, GIVE_UP_S):
            raise Failed("the two subscriptions did not come")
        for number in range(rounds):
            publishers.publish(number)
            time.sleep(1 / load.hz)
        taken = watched.end()
        if not taken:
            raise Failed("the subscriber got no message")
        return statistics.median(taken) / 1000


def judge_time(
    folder: Path, where: str, load: Load, rounds: int, total_bytes: int, words: tuple[str, ...] = ()
) -> bool:
    count = max(2, total_bytes // load.bytes // load.topics)
    times, cpus, plain_mb = [], [], []
    for _ in range(rounds):
        plain_s, plain_cpu = plain(
            folder / f"baton-plain-{os.getpid()}", load, count * load.topics, "--direct" in words
        )
        record_s, record_cpu = fastest(folder, load, count, words)
        times.append(record_s / plain_s)
        cpus.append(record_cpu / max(plain_cpu, 1e-6))
        plain_mb.append(count * load.topics * load.bytes / plain_s / 1e6)
    typical, cpu = statistics.median(plain_mb), statistics.median(cpus)
    return print_verdict(
        " ".join(("record", *words, f"{load.name}, {where}: time beside a plain writev", *words)),
        times,
        "x",
        TIME_BAR,
        f"plain {typical:.0f} MB/s; CPU {cpu:.2f} times that of the plain write",
    )


def judge(folder: Path, loads: tuple[Load, ...], rounds: int, total_bytes: int, seconds: float) -> bool:
    """Measures and prints the verdicts of one file system."""
    where = subprocess.run(
        ["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True
    ).stdout.strip()
    passed = []
    for load in loads:
        if load.bytes == IMAGE_BYTES:  # the publishers of small messages are slower than any file system
            passed.append(judge_time(folder, where, load, rounds, total_bytes))
            if where != MEMORY:
                passed.append(judge_time(folder, where, load, rounds, total_bytes, ("--direct",)))
        paced = [at_rate(folder, load, seconds) for _ in range(rounds)]
        passed.append(
            print_verdict(
                f"record {load.name}, {where}: messages missing",
                [run["missing"] for run in paced],
                "",
                MISSING_BAR,
                f"published at {min(run['hz'] for run in paced):.1f} Hz; {max(run['cpu'] for run in paced):.0%} of a CPU, "
                f"{max(run['memory_mib'] for run in paced):.0f} MiB",
            )
        )
    return all(passed)


@click.command(
    help=(__doc__ or "").partition("\n\n")[0],
    epilog="\b\nExamples:\n  baton perf record\n  baton perf record --folder /tmp --rounds 3",
)
@click.option(
    "--folder",
    "folders",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    multiple=True,
    default=("/dev/shm", "."),
    show_default=True,
    help="Where bags are written; may be repeated.",
)
@click.option("--rounds", type=click.IntRange(1), default=10, show_default=True)
@click.option("--topics", type=click.IntRange(1), help="Only the loads with so many topics.")
@click.option(
    "--megabytes", type=click.IntRange(1), default=1000, show_default=True, help="Payload of a run without a rate."
)
@click.option("--seconds", type=click.FloatRange(0.01), default=5.0, show_default=True, help="Of a run with a rate.")
def command(folders: tuple[Path, ...], rounds: int, topics: int | None, megabytes: int, seconds: float) -> None:
    loads = tuple(load for load in LOADS if topics in (None, load.topics))
    if not loads:
        raise click.UsageError(f"no load has {topics} topics: {', '.join(str(load.topics) for load in LOADS)}")
    passed = []
    try:
        for folder in folders:
            if shutil.disk_usage(folder).free < 3 * megabytes * 10**6:
                raise Failed(f"{folder} has less than {3 * megabytes} MB free: choose --folder or --megabytes")
            passed.append(judge(folder, loads, rounds, megabytes * 10**6, seconds))
        copies = copied(folders[0], loads[0], 20)
        if copies is not None:
            passed.append(
                print_verdict(
                    "copies of a byte of payload in the recorder", [copies], "", COPIES_BAR, "memcpy and the like"
                )
            )
        camera = loads[0]
        messages = max(1, round(seconds * camera.hz))
        ratios = [
            hand_over_us(folders[0], True, camera, messages) / hand_over_us(folders[0], False, camera, messages)
            for _ in range(rounds)
        ]
        passed.append(
            print_verdict(
                f"{camera.name}: time to another subscription", ratios, "x", LATENCY_BAR, "beside one more subscription"
            )
        )
    except Failed as problem:
        print(f"baton perf record: {problem}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    command()
