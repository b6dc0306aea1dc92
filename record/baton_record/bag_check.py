# SPDX-License-Identifier: Apache-2.0
"""Is a bag whole? Every record, checksum, index and count of an MCAP file; what a database and a bag of ROS 1 say of themselves."""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bag_errors import BagError, needed
from .bag_mcap import (
    CHUNK,
    DATA_END,
    FOOTER,
    MAGIC,
    MESSAGE,
    MESSAGE_INDEX,
    Damaged,
    McapFile,
    Part,
    message_at,
    records,
)
from .bag_source import open_bag, read_metadata

_FOOTER_BYTES = 9 + 20  # a footer record, which stands before the last magic


@dataclass(frozen=True)
class Finding:
    """Something wrong. `lost`: messages or topics cannot be read, so `baton bag recover` is needed; else only what helps to find them is wrong."""

    file: Path
    at: int | None
    what: str
    lost: bool


def check(path: Path, on_bytes: Callable[[int], object] = lambda done: None) -> tuple[int, list[Finding]]:
    """How many messages can be read, and what is wrong, in the order of the files' bytes. `on_bytes` gets the number of bytes checked since its
    last call."""
    if not path.exists():
        raise BagError(f"{path} does not exist")
    if not path.is_dir():
        if path.suffix == ".mcap" or _is_mcap(path):
            return _Mcap(path, on_bytes).checked()
        return _by_library(path)
    information = read_metadata(path)
    files = sorted(path.glob("*.mcap"))
    if not files or (information or {}).get("compression_mode"):
        return _by_library(path)
    readable, findings = 0, []
    for file in files:
        count, found = _Mcap(file, on_bytes).checked()
        readable += count
        findings += found
    if information is None:
        findings.append(Finding(path, None, "there is no metadata.yaml", False))
        return readable, findings
    metadata = path / "metadata.yaml"
    named = {Path(name).name for name in information.get("relative_file_paths") or []}
    for name in sorted(named - {file.name for file in files}):
        findings.append(Finding(metadata, None, f"names {name}, which is not there", True))
    for name in sorted({file.name for file in files} - named):
        findings.append(Finding(metadata, None, f"does not name {name}, which is there", False))
    if information.get("message_count") != readable:
        findings.append(
            Finding(
                metadata, None, f"says {information.get('message_count')} messages, and {readable} can be read", False
            )
        )
    return readable, findings


def _is_mcap(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _by_library(path: Path) -> tuple[int, list[Finding]]:
    """A database or a bag of ROS 1: opened and read to its end."""
    findings = []
    for file in [path, *path.glob("*.db3")] if path.is_dir() else [path]:
        if file.suffix == ".db3":
            findings += [Finding(file, None, sentence, True) for sentence in _database(file)]
    readable = 0
    try:
        with open_bag(path) as bag:
            for _ in bag.messages(on_damage=lambda damage: findings.append(Finding(path, None, damage.why, True))):
                readable += 1
            if bag.count != readable:
                findings.append(Finding(path, None, f"says {bag.count} messages, and {readable} can be read", True))
    except BagError as error:
        findings.append(Finding(path, None, str(error), True))
    return readable, findings


def _database(file: Path) -> list[str]:
    """What SQLite itself finds wrong."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro&immutable=1", uri=True)) as connection:
            said = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.Error as error:
        return [f"SQLite cannot read it: {error}"]
    return [] if said == ["ok"] else [f"SQLite says: {line}" for line in said]


class _Mcap:
    """One MCAP file, record by record."""

    def __init__(self, path: Path, on_bytes: Callable[[int], object]) -> None:
        self._path, self._on_bytes = path, on_bytes
        self._findings: list[Finding] = []
        self._counts: Counter[int] = Counter()
        self._chunks: dict[int, tuple[int, int]] = {}  # place: times of the first and last message in it
        self._times: list[int] = []
        self._indexed: list[
            tuple[int, int]
        ] = []  # (time, offset) of the messages of the last chunk, by channel in _chunk_channels
        self._chunk_messages: Counter[tuple[int, int, int]] = Counter()  # (channel, time, offset)
        self._chunk_at = -1

    def _say(self, at: int | None, what: str, lost: bool) -> None:
        self._findings.append(Finding(self._path, at, what, lost))

    def checked(self) -> tuple[int, list[Finding]]:
        try:
            self._mcap = McapFile(self._path, walk=True)
        except (Damaged, ValueError) as error:
            self._say(getattr(error, "at", 0), getattr(error, "why", str(error)), True)
            return 0, self._findings
        try:
            self._records()
            self._summary()
            readable = sum(self._mcap.counts.values())
        finally:
            self._mcap.close()
        return readable, sorted(self._findings, key=lambda finding: -1 if finding.at is None else finding.at)

    def _records(self) -> None:
        view, size = self._mcap.view, self._mcap.size
        done, at, crc = 0, len(MAGIC), zlib.crc32(MAGIC)
        ended = False
        try:
            for opcode, at, begin, end in records(view, len(MAGIC), size):
                self._on_bytes(at - done)
                done = at
                if opcode == CHUNK:
                    self._end_of_indexes()
                    self._chunk(at, end)
                elif opcode == MESSAGE:
                    self._count(message_at(view, at, begin, end))
                elif opcode == MESSAGE_INDEX:
                    self._message_index(at, begin, end)
                elif opcode == DATA_END:
                    self._end_of_indexes()
                    (promised,) = struct.unpack_from("<I", view, begin) if end - begin >= 4 else (0,)
                    if promised not in (0, crc):
                        self._say(at, "the checksum of the data section is wrong", False)
                elif opcode == FOOTER:
                    ended = True
                    if bytes(view[end : end + len(MAGIC)]) != MAGIC:
                        self._say(end, "the last eight bytes of the file are missing or wrong", False)
                    break
                crc = zlib.crc32(view[at:end], crc)
        except Damaged as error:
            self._say(error.at, error.why, True)
        else:
            if not ended:
                self._say(size, "the file ends without a footer", True)
        self._on_bytes(size - done)

    def _count(self, entry: Any) -> None:
        self._counts[entry.channel] += 1
        self._times.append(entry.time_ns)
        if entry.channel not in self._mcap.channels:
            self._say(None, f"a message of channel {entry.channel}, which is not defined", True)

    def _chunk(self, at: int, end: int) -> None:
        self._chunk_at = at
        self._chunk_messages = Counter()
        try:
            view, entries = self._mcap.read(Part(0, 0, at, end - at, True), check_crc=True)
        except Damaged as error:
            self._say(error.at, error.why, True)
            self._chunk_at = -1
            return
        for entry in entries:
            self._count(entry)
            # A message begins nine bytes of its record and 22 of its own head before its data.
            self._chunk_messages[entry.channel, entry.time_ns, entry.begin - 31] += 1
        times = [entry.time_ns for entry in entries]
        self._chunks[at] = (min(times, default=0), max(times, default=0))
        first, last = struct.unpack_from("<QQ", self._mcap.view, at + 9)
        if times and (first, last) != self._chunks[at]:
            self._say(at, "the times of the chunk's first and last message are wrong", False)
        self._has_index = False

    def _message_index(self, at: int, begin: int, end: int) -> None:
        if self._chunk_at < 0:
            return
        self._has_index = True
        view = self._mcap.view
        channel, size = struct.unpack_from("<HI", view, begin) if end - begin >= 6 else (0, 1)
        if size % 16 or begin + 6 + size > end:
            self._say(at, "a MessageIndex that cannot be read", False)
            return
        for time_ns, offset in struct.iter_unpack("<QQ", view[begin + 6 : begin + 6 + size]):
            key = (channel, time_ns, offset)
            self._chunk_messages[key] -= 1
            if self._chunk_messages[key] < 0:
                self._say(at, f"the index of channel {channel} names a message that is not in the chunk", False)
                return

    def _end_of_indexes(self) -> None:
        """Whether the indexes behind the last chunk named each of its messages."""
        if (
            self._chunk_at >= 0
            and self._has_index
            and (missing := sum(1 for left in self._chunk_messages.values() if left > 0))
        ):
            self._say(self._chunk_at, f"the chunk has {missing} messages that no index names", False)
        self._chunk_at = -1

    def _summary(self) -> None:
        view, size = self._mcap.view, self._mcap.size
        at = size - len(MAGIC) - _FOOTER_BYTES
        if at < len(MAGIC) or view[at] != FOOTER or bytes(view[size - len(MAGIC) :]) != MAGIC:
            return  # reported already
        start, _, promised = struct.unpack_from("<QQI", view, at + 9)
        if start == 0:
            self._say(at, "the file has no summary", False)
            return
        if not len(MAGIC) <= start <= at:
            self._say(at, "the footer names a summary outside of the file", False)
            return
        if promised not in (0, zlib.crc32(view[start : at + 9 + 16])):
            self._say(start, "the checksum of the summary is wrong", False)
        summary = self._mcap.summary()
        if summary is None:
            self._say(start, "the summary cannot be read", False)
            return
        for sentence in self._differences(summary):
            self._say(start, sentence, False)

    def _differences(self, summary: Any) -> Iterator[str]:
        told = summary.statistics
        if told is None:
            yield "the summary has no statistics"
        else:
            count = sum(self._counts.values())
            if told.message_count != count:
                yield f"the statistics say {told.message_count} messages, and there are {count}"
            elif {c: n for c, n in told.channel_message_counts.items() if n} != dict(self._counts):
                yield "the statistics say other numbers of messages for the channels than there are"
            elif self._times and (told.message_start_time, told.message_end_time) != (
                min(self._times),
                max(self._times),
            ):
                yield "the statistics say other times of the first and last message"
        indexes = {index.chunk_start_offset: index for index in summary.chunk_indexes}
        if indexes:
            if missing := set(self._chunks) - set(indexes):
                yield f"{len(missing)} chunks are in no index"
            for at in sorted(set(indexes) - set(self._chunks)):
                yield f"an index names a chunk at byte {at}, and no whole one is there"
            for at, index in sorted(indexes.items()):
                if at in self._chunks and (index.message_start_time, index.message_end_time) != self._chunks[at]:
                    yield f"the index of the chunk at byte {at} says other times than the chunk has"
        known = {(channel.id, channel.topic) for channel in summary.channels.values()}
        there = {(number, channel.topic) for number, channel in self._mcap.channels.items()}
        if known and known != there:
            yield "the summary has other channels than the file"


def whole(path: Path) -> bool:
    """Whether nothing is wrong."""
    needed("mcap")
    return not check(path)[1]
