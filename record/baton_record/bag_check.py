# SPDX-License-Identifier: Apache-2.0
"""Checks whether a bag is whole: each record, checksum, index and count of an MCAP file; of a database or a bag of ROS 1 whether its library can
read all of it."""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .bag_database import check_database, connected
from .bag_errors import BagError, check_file
from .bag_mcap import (
    CHUNK,
    DATA_END,
    FOOTER,
    FOOTER_BYTES,
    MAGIC,
    MESSAGE,
    MESSAGE_INDEX,
    Damaged,
    Entry,
    McapFile,
    message_at,
)
from .bag_metadata import read_metadata
from .bag_source import open_bag


@dataclass(frozen=True)
class Finding:
    """A fault of a bag. `lost`: messages or topics cannot be read, so `baton bag recover` is needed. Without `lost` all messages can be read: only an
    index, a count or a time is wrong."""

    file: Path
    at: int | None
    what: str
    lost: bool


def check(path: Path, on_bytes: Callable[[int], object] = lambda done: None) -> tuple[int, list[Finding]]:
    """The number of messages that can be read, and the faults in the order of the files' bytes. `on_bytes` gets the number of bytes checked since
    its last call."""
    if not path.exists():
        raise BagError(f"{path} does not exist")
    if not path.is_dir():
        check_file(path)
        if path.suffix == ".mcap" or _is_mcap(path):
            return _Mcap(path, on_bytes).checked()
        return _by_library(path)
    information = read_metadata(path)
    files = sorted(path.glob("*.mcap"))
    if files and not (information or {}).get("compression_mode"):
        readable, findings = 0, []
        for file in files:
            count, found = _Mcap(file, on_bytes).checked()
            readable += count
            findings += found
    else:
        readable, findings = _by_library(path)
    return readable, [*findings, *_metadata(path, information, readable)]


def _metadata(folder: Path, information: dict[str, Any] | None, readable: int) -> Iterator[Finding]:
    """The faults of metadata.yaml, compared with the files beside it."""
    file = folder / "metadata.yaml"
    if information is None:
        yield Finding(folder, None, "there is no metadata.yaml", False)
        return
    named = {Path(name).name for name in information.get("relative_file_paths") or []}
    there = {each.name for each in folder.iterdir()}
    for name in sorted(named - there):
        yield Finding(file, None, f"names {name}, which is not there", True)
    for name in sorted(each for each in there - named if each.endswith((".mcap", ".db3"))):
        yield Finding(file, None, f"does not name {name}, which is there", False)
    if information.get("message_count") != readable:
        yield Finding(
            file, None, f"says {information.get('message_count')} messages, and {readable} can be read", False
        )


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
        with open_bag(path, walk=True) as bag:  # which checks the sums of chunks
            for _ in bag.messages(on_damage=lambda damage: findings.append(Finding(path, None, damage.why, True))):
                readable += 1
            if bag.damage:
                findings.append(Finding(path, None, bag.damage, True))
            if bag.count != readable:
                findings.append(Finding(path, None, f"says {bag.count} messages, and {readable} can be read", True))
    except BagError as error:
        findings.append(Finding(path, None, str(error), True))
    return readable, findings


def _database(file: Path) -> list[str]:
    """The faults that SQLite itself finds."""
    try:
        check_database(file)
        with connected(file) as connection:
            said = [row[0].decode(errors="replace") for row in connection.execute("PRAGMA integrity_check(20)")]
    except BagError as error:
        return [str(error)]
    except (sqlite3.Error, ValueError) as error:  # it quotes names of the file, which may be any bytes
        return [f"SQLite cannot read it: {error}"]
    return [] if said == ["ok"] else [f"SQLite says: {line}" for line in said]


class _Mcap:
    """One MCAP file, record by record."""

    def __init__(self, path: Path, on_bytes: Callable[[int], object]) -> None:
        self._path, self._on_bytes = path, on_bytes
        self._findings: list[Finding] = []
        self._counts: Counter[int] = Counter()
        self._chunks: dict[int, tuple[int, int]] = {}  # by the chunk's place: the times of its first and last message
        self._times: tuple[int, int] | None = None
        self._chunk_messages: Counter[tuple[int, int, int]] = (
            Counter()
        )  # (channel, time, offset) of messages that no index has named yet
        self._chunk_at = -1
        self._has_index = False
        self._crc = zlib.crc32(MAGIC)
        self._done = 0

    def _say(self, at: int | None, what: str, lost: bool) -> None:
        self._findings.append(Finding(self._path, at, what, lost))

    def checked(self) -> tuple[int, list[Finding]]:
        try:
            mcap = McapFile(self._path, True, self._see)
        except (Damaged, ValueError) as error:
            self._say(getattr(error, "at", 0), getattr(error, "why", str(error)), True)
            return 0, self._findings
        try:
            self._on_bytes(mcap.size - self._done)
            for damage in mcap.damages:
                self._say(damage.at, damage.why, True)
            for channel in sorted(mcap.counts.keys() - mcap.channels.keys()):
                self._say(None, f"{mcap.counts[channel]} messages of channel {channel}, which is not defined", True)
            self._summary(mcap)
            readable = sum(count for channel, count in mcap.counts.items() if channel in mcap.channels)
            return readable, sorted(self._findings, key=lambda f: -1 if f.at is None else f.at)
        finally:
            mcap.close()

    def _see(self, mcap: McapFile, opcode: int, at: int, begin: int, end: int, entries: list[Entry] | None) -> None:
        """One record, in the order of the file."""
        view = mcap.view
        self._on_bytes(at - self._done)
        self._done = at
        if opcode == CHUNK:
            self._end_of_indexes()
            if entries is not None:
                self._chunk(view, at, entries)
        elif opcode == MESSAGE:
            self._count([message_at(view, at, begin, end)])
        elif opcode == MESSAGE_INDEX:
            self._message_index(view, at, begin, end)
        elif opcode == DATA_END:
            self._end_of_indexes()
            (promised,) = struct.unpack_from("<I", view, begin) if end - begin >= 4 else (0,)
            if promised not in (0, self._crc):
                self._say(at, "the checksum of the data section is wrong", False)
        elif opcode == FOOTER and bytes(view[end : end + len(MAGIC)]) != MAGIC:
            self._say(end, "the last eight bytes of the file are missing or wrong", False)
        self._crc = zlib.crc32(view[at:end], self._crc)

    def _count(self, entries: list[Entry]) -> None:
        self._counts.update(entry.channel for entry in entries)
        times = [entry.time_ns for entry in entries]
        if times:
            first, last = self._times or (times[0], times[0])
            self._times = (min(first, *times), max(last, *times))

    def _chunk(self, view: memoryview, at: int, entries: list[Entry]) -> None:
        self._count(entries)
        self._chunk_at, self._has_index = at, False
        # A message begins nine bytes of its record and 22 of its own head before its data.
        self._chunk_messages = Counter((entry.channel, entry.time_ns, entry.begin - 31) for entry in entries)
        times = [entry.time_ns for entry in entries]
        self._chunks[at] = (min(times, default=0), max(times, default=0))
        if times and struct.unpack_from("<QQ", view, at + 9) != self._chunks[at]:
            self._say(at, "the times of the chunk's first and last message are wrong", False)

    def _message_index(self, view: memoryview, at: int, begin: int, end: int) -> None:
        if self._chunk_at < 0:
            return
        self._has_index = True
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

    def _summary(self, mcap: McapFile) -> None:
        view, size = mcap.view, mcap.size
        at = size - len(MAGIC) - FOOTER_BYTES
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
        summary = mcap.summary()
        if summary is None:
            self._say(start, "the summary cannot be read", False)
            return
        for sentence in self._differences(mcap, summary):
            self._say(start, sentence, False)

    def _differences(self, mcap: McapFile, summary: Any) -> Iterator[str]:
        statistics = summary.statistics
        if statistics is None:
            yield "the summary has no statistics"
        else:
            count = sum(self._counts.values())
            if statistics.message_count != count:
                yield f"the statistics say {statistics.message_count} messages, and there are {count}"
            elif {c: n for c, n in statistics.channel_message_counts.items() if n} != dict(self._counts):
                yield "the statistics say other numbers of messages for the channels than there are"
            elif self._times and (statistics.message_start_time, statistics.message_end_time) != (
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
        there = {(number, channel.topic) for number, channel in mcap.channels.items()}
        if known and (missing_channels := there - known):
            yield f"{len(missing_channels)} channels of the file are not in the summary"
