# SPDX-License-Identifier: Apache-2.0
"""Records from a program: starts baton_record, sends commands to it, and reads its states."""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from .bag_errors import check_number

_logger = logging.getLogger("baton")

REASONS = {
    "queue": "displaced in the queue",
    "held": "displaced while the recorder held as many samples as it may",
    "budget": "displaced while the disk was too slow",
    "disk": "could not be written",
    "malformed": "malformed",
    "interrupted": "the publisher was disconnected",
    "memory": "no memory left",
    "expired": "expired before they were taken",
}


class RecordError(RuntimeError):
    """Recording did not begin, or ended early; the text says why."""


def find_program() -> Path:
    """baton_record of this wheel, of this checkout's release build, or on the PATH."""
    package = Path(__file__).resolve().parent
    on_path = shutil.which("baton_record")
    folders = [package.parent / "baton/programs", package.parents[1] / "build/release/bin"]
    for folder in (*folders, *([Path(on_path).parent] if on_path else [])):
        if (folder / "baton_record").is_file():
            return folder / "baton_record"
    raise RecordError(
        "there is no baton_record: run `make build` in a checkout, or install Baton (docs/guides/install.md)"
    )


@dataclass(frozen=True)
class RecordedTopic:
    topic: str
    type_name: str
    messages: int
    bytes: int
    missing: dict[str, int]  # messages that are not in the bag, by reason (keys of REASONS)


@dataclass(frozen=True)
class RecordState:
    """The progress of a recording. All counts begin at its start."""

    topics: tuple[RecordedTopic, ...]
    notes: tuple[str, ...]  # sentences: which selected topics are not recorded, and why
    files: int
    written_messages: int
    written_bytes: int
    records_bytes: int  # written_bytes as it would be without compression
    queued_bytes: int  # bytes that wait for the disk
    kept_bytes: int  # bytes of messages that wait for a snapshot
    snapshots: int
    free_bytes: int  # free space of the disk
    paused: bool
    failure: str | None  # why the recording ended early
    direct_bytes: int = 0  # how many of written_bytes bypassed the page cache

    @property
    def messages(self) -> int:
        return sum(topic.messages for topic in self.topics)

    @property
    def missing(self) -> int:
        return sum(sum(topic.missing.values()) for topic in self.topics)


def _state(said: dict[str, Any]) -> RecordState:
    topics = (RecordedTopic(t["topic"], t["type"], t["messages"], t["bytes"], t["missing"]) for t in said["topics"])
    return RecordState(
        tuple(topics),
        tuple(said["notes"]),
        said["files"],
        said["written_messages"],
        said["written_bytes"],
        said["records_bytes"],
        said["queued_bytes"],
        said["kept_bytes"],
        said["snapshots"],
        said["free_bytes"],
        said["paused"],
        said["failure"],
        said["direct_bytes"],
    )


class Recorder:
    """A recording, from now until stop() or the end of `with`. A process of its own does the work, and finishes the bag also if this
    process dies. Methods may be called by any thread."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        topics: Iterable[str] = (),
        *,
        all: bool = False,
        regex: Iterable[str] = (),
        types: Iterable[str] = (),
        services: Iterable[str] = (),
        all_services: bool = False,
        exclude: Iterable[str] = (),
        domain: int | None = None,
        max_size_bytes: int | None = None,
        max_duration_s: float | None = None,
        max_queue_bytes: int | None = None,
        snapshot_s: float | None = None,
        compression: str = "none",
        crc: bool = False,
        direct: bool = False,
        raw_sfm: bool = False,
        paused: bool = False,
        node_name: str | None = None,
        interval_s: float = 1.0,
        on_diagnostic: Callable[[str], object] | None = None,
    ) -> None:
        """`directory`: the bag's new folder; it must not exist. Recorded are the topics named in `topics`, those whose whole name matches an
        expression of `regex`, those with a message type of `types`, and the calls of `services` or of `all_services`, as far as servers or clients
        publish their calls (configure_introspection()); but no topic that an expression of `exclude` matches. A file of `max_size_bytes` bytes or
        `max_duration_s` seconds is followed by another one. At most `max_queue_bytes` wait for the disk. With `snapshot_s` nothing is written before
        snapshot(): the messages of the last `snapshot_s` seconds, at most `max_queue_bytes`, are copied and kept in memory. `compression`: "zstd" or
        "lz4", for each chunk. `crc`: writes checksums. `direct`: large arrays go from their memory to the disk, past the page cache (O_DIRECT);
        not with `compression` or `snapshot_s`. `raw_sfm`: writes messages as they lie in memory, for Baton's own tools. `node_name`: a node of this
        program that stands for the recording in lists (None: the recorder makes the node baton_record). `interval_s`: the time between two states.
        `on_diagnostic` is called with each line for people, in a thread of its own; its exceptions are logged. Raises RecordError."""
        if snapshot_s is not None and (max_size_bytes is not None or max_duration_s is not None):
            raise RecordError("a snapshot is one file: it has no largest size and no longest duration")
        for name, value in (
            ("max_duration_s", max_duration_s),
            ("snapshot_s", snapshot_s),
            ("interval_s", interval_s),
            ("max_size_bytes", max_size_bytes),
        ):
            check_number(name, value, RecordError)
        if isinstance(topics, str):
            raise TypeError(f"Recorder(): topics is a list of names; write topics=[{topics!r}]")
        command = [
            str(find_program()),
            "--output",
            os.fspath(directory),
            "--interval",
            str(max(1, round(interval_s * 1000))),
        ]
        command += ["--compression", compression]
        command += (
            ["--all"] * all
            + ["--all-services"] * all_services
            + ["--crc"] * crc
            + ["--direct"] * direct
            + ["--raw-sfm"] * raw_sfm
            + ["--paused"] * paused
        )
        topics = [*topics, *(f"{name.rstrip('/')}/_service_event" for name in services)]
        for name, values in (("--regex", regex), ("--type", types), ("--exclude", exclude)):
            command += [word for value in values for word in (name, value)]
        single = {
            "--domain": domain,
            "--of-node": node_name,
            "--max-size": max_size_bytes,
            "--max-duration": None if max_duration_s is None else max(1, round(max_duration_s * 1e9)),
            "--max-queue": max_queue_bytes,
            "--snapshot": None if snapshot_s is None else max(1, round(snapshot_s * 1e9)),
        }
        command += [word for name, value in single.items() if value is not None for word in (name, str(value))]
        self.directory = Path(directory)
        self._changed = threading.Condition()
        self._latest: RecordState | None = None
        self._told = self._obeyed = 0  # commands
        self._ended = False
        self._keeps = snapshot_s is not None
        self._diagnostics: deque[str] = deque(maxlen=20)
        self._on_diagnostic = on_diagnostic
        # The recorder has a session of its own, so that Ctrl-C reaches only this process, which decides what to do.
        self._process = subprocess.Popen(
            [*command, "--", *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",  # names of topics come from other processes and may be any bytes
            start_new_session=True,
        )
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read_states, self._read_errors)]
        for thread in self._threads:
            thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._latest is not None or self._ended)
        if self._latest is None:
            self._process.wait()
            self._threads[1].join()
            why = " ".join(self._diagnostics).removeprefix("baton_record: ")
            raise RecordError(why or f"baton_record ended with status {self._process.returncode}")

    @property
    def pid(self) -> int:
        """The id of the recording process."""
        return self._process.pid

    def state(self) -> RecordState:
        """The newest state, at most `interval_s` old."""
        with self._changed:
            assert self._latest is not None
            return self._latest

    def wait(self, timeout_s: float) -> bool:
        """Waits for another state, or the end. True: the recording has ended by itself."""
        with self._changed:
            before = self._latest
            self._changed.wait_for(lambda: self._ended or self._latest is not before, timeout_s)
            return self._ended

    def pause(self) -> None:
        """Messages that are taken after this call are left out."""
        self._tell("pause")

    def resume(self) -> None:
        """Messages that are taken after this call are recorded."""
        self._tell("resume")

    def split(self) -> None:
        """The next message begins another file."""
        self._tell("split")

    def snapshot(self, timeout_s: float | None = None) -> bool:
        """Writes the messages that are kept to a file of their own, and forgets them. Waits until they are written: False after `timeout_s`
        seconds, if they could not be written, and without `snapshot_s`."""
        with self._changed:
            before = self._latest
        self._tell("snapshot")
        if not self._keeps:
            return False
        assert before is not None
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self.state().snapshots > before.snapshots, timeout_s)
            return self.state().snapshots > before.snapshots

    def stop(self) -> RecordState:
        """Writes what is queued, and ends. Returns the last state; again the second time. Raises RecordError if the recorder was killed."""
        self.end()
        self._process.wait()
        for thread in self._threads:
            thread.join()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            if not stream.closed:
                try:
                    stream.close()
                except OSError:
                    pass
        if self._process.returncode not in (0, 1):
            raise RecordError(f"the recorder ended with status {self._process.returncode}: the bag is not finished")
        return self.state()

    def end(self) -> None:
        """Requests the end of the recording, and does not wait for it: wait() returns True when it has ended, and stop() then returns the last
        state."""
        self._write("stop")

    def kill(self) -> None:
        """Ends at once. The bag lacks its summary, and the messages that waited for the disk."""
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _tell(self, command: str) -> None:
        """Sends a command, and waits until the recorder has obeyed it or has ended."""
        with self._changed:
            self._told += 1
            number = self._told
            self._write(command)
            self._changed.wait_for(lambda: self._ended or self._obeyed >= number)

    def _write(self, command: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended

    def _read_states(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                if not line.endswith("\n"):
                    break  # it was killed within a line
                said = json.loads(line)
                with self._changed:
                    self._latest = _state(said)
                    self._obeyed = said["commands"]
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._diagnostics.append(line.rstrip("\n"))
            if self._on_diagnostic is not None and self._latest is not None:
                try:
                    self._on_diagnostic(line.rstrip("\n"))
                # An exception of the program; the pipe must still be read, or the recorder would block.
                except Exception:
                    _logger.exception("on_diagnostic raised an exception")
