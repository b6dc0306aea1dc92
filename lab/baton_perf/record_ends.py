# SPDX-License-Identifier: Apache-2.0
"""The ends that `baton perf record` starts: publishers of a load, the recorder, and subscriptions in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .peers import program_folder

PROGRAM = "baton_record"
IMAGE_BYTES = 1920 * 1080 * 3
GIVE_UP_S = 120.0
SLOTS = 16  # buffers of a plain write or read, about as many as a publisher has in rotation
ROOT = Path(__file__).resolve().parents[2]  # of a checkout


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
        """The CPU time of all its threads; the scheduler counts nanoseconds (proc(5), schedstat)."""
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

    def wait(self, subscriptions: int = 1) -> None:
        if not all(end.wait_for_subscriptions(subscriptions, GIVE_UP_S) for end in self._ends):
            raise Failed(f"{subscriptions} subscriptions to each topic did not come")

    def publish_at_rate(self, rounds: int) -> float:
        """Publishes so many messages of each topic at the load's rate. Seconds that this took."""
        began = time.monotonic()
        for number in range(rounds):
            self.publish(number)
            time.sleep(max(0.0, began + (number + 1) / self._load.hz - time.monotonic()))
        return time.monotonic() - began

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
            taken.append((baton.info(message).source_monotonic_ns, time.monotonic_ns()))
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

    def end(self) -> list[list[int]]:
        """The moments in nanoseconds when each message was published and taken."""
        out, _ = self.process.communicate()
        if self.process.returncode != 0:
            raise Failed("a subscriber ended early")
        return json.loads(out)
