# SPDX-License-Identifier: Apache-2.0
"""Nodes of ROS 1 for one run: a master of their own, programs that print their observations, and their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .runs import RunFailed, cpu_ns

MASTER = Path("/usr/bin/rosmaster")
PATIENCE_S = 60


class Node:
    """A program whose lines are kept."""

    def __init__(self, name: str, command: list, environment: dict, on_line: threading.Condition):
        self.name = name
        self.lines: list[str] = []
        self._on_line = on_line
        self._errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # Ctrl-C is not for it: this process ends it
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._on_line:
                self.lines.append(line.rstrip("\n"))
                self._on_line.notify_all()
        with self._on_line:
            self.lines.append("")  # the end
            self._on_line.notify_all()

    def has(self, word: str) -> bool:
        return any(line.split(" ", 1)[0] == word for line in self.lines)

    def last_words(self) -> str:
        self._errors.seek(0)
        return " | ".join([*self._errors.read().strip().splitlines()[-3:], *self.lines[-2:]])[-400:].strip()

    def failed(self) -> bool:
        return self.process.poll() is not None

    def finish(self) -> None:
        """Ends the node as `rosnode kill` does; the node then prints its observations."""
        self.process.send_signal(signal.SIGINT)

    def finished(self) -> None:
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{self.name} did not end") from None
        self._reader.join()
        if status != 0:
            raise RunFailed(f"{self.name} ended with {status}: {self.last_words()}")

    def words(self, word: str = "frame") -> list[list[str]]:
        """The words behind `word` in each line that begins with it."""
        return [line.split()[1:] for line in self.lines if line.startswith(word + " ")]

    def rows(self, word: str = "frame") -> list[list[float]]:
        return [[float(n) for n in words] for words in self.words(word)]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            stream.close()


class Nodes(dict[str, Node]):
    """The nodes of a run by their names; they are killed at its end."""

    def __init__(self) -> None:
        self._on_line = threading.Condition()

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *_) -> None:
        for node in reversed(self.values()):
            node.close()

    def start(self, name: str, command: list, environment: dict) -> None:
        self[name] = Node(name, command, environment, self._on_line)

    def wait_for(self, word: str, names: Iterable[str], patience_s: float = PATIENCE_S) -> None:
        """Until each of `names` has printed a line that begins with `word`; fails if any node ends before."""
        names = list(names)

        def there() -> bool:
            dead = [node for node in self.values() if node.failed()]
            if dead:
                raise RunFailed(f"{dead[0].name} ended: {dead[0].last_words()}")
            return all(self[name].has(word) for name in names)

        end = time.monotonic() + patience_s
        with self._on_line:
            while not there():
                if time.monotonic() > end:
                    late = [name for name in names if not self[name].has(word)]
                    raise RunFailed(f"no '{word}' from {', '.join(late)} in {patience_s:.0f} s")
                self._on_line.wait(0.1)  # no line says that a process has ended

    def wait_until_idle(self) -> None:
        """Waits until none of them has computed for half a second. Then messages under way have arrived, also on a busy machine."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            before = {name: cpu_ns(node.process.pid) for name, node in self.items()}
            time.sleep(0.5)
            # A node that waits uses less than 1 % of a CPU, for roscpp's own threads.
            if all(cpu_ns(node.process.pid) - before[name] < 15_000_000 for name, node in self.items()):
                return

    def finish(self) -> None:
        """Ends all of them as `rosnode kill` does; they then print their observations."""
        for node in self.values():
            node.finish()
        for node in self.values():
            node.finished()

    def with_memory_of_baton(self, names: Iterable[str]) -> set[str]:
        """Those of `names` that have shared memory of Baton mapped."""
        return {name for name in names if "baton-data" in Path(f"/proc/{self[name].process.pid}/maps").read_text()}


def environment(directory: str) -> dict:
    """For all processes of a run whose directory this is: neither preloads nor domains of the caller."""
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "BATON_DOMAIN")}
    return plain | {
        "ROS_IP": "127.0.0.1",
        "ROS_HOME": directory,
        "ROS_LOG_DIR": directory,
        "BATON_RUNTIME_DIR": directory,
    }


@contextmanager
def master(environment: dict) -> Iterator[None]:
    """A rosmaster on a port that was free a moment ago, and on another if somebody took it meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment["ROS_MASTER_URI"] = f"http://127.0.0.1:{port}"
        process = subprocess.Popen(
            ["/usr/bin/python3", MASTER, "--core", "-p", str(port)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while process.poll() is None and time.monotonic() < end:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        yield
                        return
                time.sleep(0.02)
        finally:
            process.kill()
            process.wait()
    raise RunFailed("rosmaster does not answer")
