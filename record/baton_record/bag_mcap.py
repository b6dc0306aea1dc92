# SPDX-License-Identifier: Apache-2.0
"""Reads MCAP files, whole or cut, without copying messages: their bytes are views of the mapped file, or of a decompressed chunk.

The library `mcap` reads the small records. The walk over records is this module's own, because the library copies each message twice, gives
up at the first damaged byte, and takes as much memory as a compressed chunk says.

Thread rules: an McapFile may be read by several threads. Invariant: bytes of the file are untrusted; every length is checked against the bytes
that are there before it is used.
"""

from __future__ import annotations

import contextlib
import heapq
import mmap
import operator
import struct
import zlib
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from .bag_errors import BagError, check_file, needed

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = 1, 2, 3, 4, 5, 6, 7, 8
ATTACHMENT, STATISTICS, METADATA, DATA_END = 9, 11, 12, 15
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<HIQQ")
_CHUNK = struct.Struct("<QQQII")
MOST_CHUNK_BYTES = 1 << 30  # the largest decompressed size of a chunk
# Decompressed chunks of one file that are in memory at the same time, because their times overlap.
MOST_KEPT_BYTES = 1 << 28
_ENTRY_BYTES = 280  # the memory of an Entry
MOST_MESSAGES = 1 << 22  # of a compressed chunk, whose size says little about their number
MOST_CATALOG_BYTES = 1 << 28  # of the names, schemas and metadata of all channels of a file
_LEAST_MESSAGE_BYTES = _RECORD.size + _MESSAGE.size
FOOTER_BYTES = _RECORD.size + 20  # of the record, which stands before the last magic


class Damaged(BagError):
    """Malformed bytes of a bag. `at`: their place in the file."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"byte {at}: {why}")
        self.at, self.why = at, why


class Entry(NamedTuple):
    """One message: when it was logged, on which channel, and where its data lie in the part's bytes."""

    time_ns: int
    channel: int
    begin: int
    end: int
    publish_ns: int
    sequence: int


@dataclass
class Part:
    """A chunk, or a run of records outside of chunks."""

    start_ns: int
    end_ns: int
    at: int  # its place in the file
    size: int
    is_chunk: bool


class _Loaded(NamedTuple):
    """A part that has been read."""

    view: memoryview
    entries: list[Entry]
    cost: int  # bytes of memory
    damages: list[Damaged]  # why records of the part are left out


@dataclass
class McapChannel:
    """A channel with its schema."""

    topic: str
    encoding: str
    schema_name: str
    schema_encoding: str
    schema: bytes
    metadata: dict[str, str] = field(default_factory=dict)


def records(view: memoryview, begin: int, end: int, base: int = 0) -> Iterator[tuple[int, int, int, int]]:
    """Opcode, place, begin and end of the body of each record in view[begin:end]. `base` is added to the places of errors."""
    at = begin
    while at < end:
        if end - at < _RECORD.size:
            raise Damaged(base + at, "the file ends within a record")
        opcode, size = _RECORD.unpack_from(view, at)
        body = at + _RECORD.size
        if size > end - body:
            raise Damaged(base + at, f"a record of {size} bytes, and {end - body} bytes are left")
        if opcode == 0:  # also a hole of a sparse file, which may be longer than anybody would wait
            raise Damaged(base + at, "a record of no kind: zeros")
        yield opcode, at, body, body + size
        at = body + size


def chunk_bytes(
    view: memoryview, at: int, begin: int, end: int, check_crc: bool = False
) -> tuple[memoryview, int, int]:
    """The records of the chunk whose body is view[begin:end], decompressed, and the times of its first and last message."""
    if end - begin < _CHUNK.size:
        raise Damaged(at, "a chunk without its head")
    start_ns, end_ns, size, crc, length = _CHUNK.unpack_from(view, begin)
    name, data = begin + _CHUNK.size, begin + _CHUNK.size + length + 8
    if length > 64 or data > end:
        raise Damaged(at, "a chunk without its head")
    compression = bytes(view[name : name + length]).decode("utf-8", "replace")
    (stored,) = struct.unpack_from("<Q", view, data - 8)
    if stored > end - data:
        raise Damaged(at, f"a chunk of {stored} bytes, and {end - data} bytes are left")
    if compression and size > MOST_CHUNK_BYTES:
        raise Damaged(at, f"a chunk of {size} bytes: at most {MOST_CHUNK_BYTES} are read")
    plain = _decompressed(view[data : data + stored], compression, size, at)
    if len(plain) != size:
        raise Damaged(at, f"a chunk of {len(plain)} bytes, and {size} are promised")
    if check_crc and crc != 0 and zlib.crc32(plain) != crc:
        raise Damaged(at, "the chunk's CRC is wrong")
    return plain, start_ns, end_ns


def _decompressed(data: memoryview, compression: str, size: int, at: int) -> memoryview:
    if compression == "":
        return data
    try:
        if compression == "zstd":
            zstandard = needed("zstandard")
            claimed = zstandard.frame_content_size(data)
            if claimed > size:  # the library takes as much memory as the frame claims to need
                raise Damaged(at, f"a chunk of {claimed} bytes, and {size} are promised")
            return memoryview(zstandard.ZstdDecompressor().decompress(data, max_output_size=size) if size else b"")
        if compression == "lz4":
            frame = needed("lz4.frame")
            claimed = frame.get_frame_info(data)["content_size"]
            if claimed > size:
                raise Damaged(at, f"a chunk of {claimed} bytes, and {size} are promised")
            return memoryview(frame.LZ4FrameDecompressor().decompress(data, max_length=size) if size else b"")
    except (BagError, MemoryError):
        raise
    except Exception as error:  # each library has error classes of its own
        raise Damaged(at, f"a chunk that {compression} does not read: {error}") from None
    raise Damaged(at, f"a chunk compressed by {compression!r}, which is not known")


def chunk_beginning(view: memoryview, at: int, begin: int, end: int) -> memoryview:
    """The records of a chunk whose end is missing, as far as they can be decompressed."""
    if end - begin < _CHUNK.size:
        raise Damaged(at, "a chunk without its head")
    *_, size, _, length = _CHUNK.unpack_from(view, begin)
    data = begin + _CHUNK.size + length + 8
    if length > 64 or data > end or size > MOST_CHUNK_BYTES:
        raise Damaged(at, "a chunk without its head")
    compression = bytes(view[begin + _CHUNK.size : data - 8])
    try:
        if compression == b"zstd":
            source = needed("zstandard").ZstdDecompressor().stream_reader(view[data:end])
            plain = bytearray()
            with contextlib.suppress(needed("zstandard").ZstdError):
                while len(plain) < size and (more := source.read(min(1 << 16, size - len(plain)))):
                    plain += more
            return memoryview(bytes(plain))
        if compression == b"lz4":
            return memoryview(needed("lz4.frame").LZ4FrameDecompressor().decompress(view[data:end], max_length=size))
    except RuntimeError as error:  # of lz4
        raise Damaged(at, str(error)) from None
    return view[data:end] if compression == b"" else memoryview(b"")


def _small(kind: str, view: memoryview, at: int, begin: int, end: int) -> Any:
    """A record that the library reads."""
    stream = needed("mcap.data_stream").ReadDataStream(BytesIO(bytes(view[begin:end])))
    try:
        return getattr(needed("mcap.records"), kind).read(stream)
    except Exception as error:  # the library has no class for all of its errors
        raise Damaged(at, f"a {kind} record that cannot be read ({error})") from None


def message_at(view: memoryview, at: int, begin: int, end: int) -> Entry:
    """A message's head."""
    if end - begin < _MESSAGE.size:
        raise Damaged(at, "a message without its head")
    channel, sequence, log_ns, publish_ns = _MESSAGE.unpack_from(view, begin)
    return Entry(log_ns, channel, begin + _MESSAGE.size, end, publish_ns, sequence)


class Catalog:
    """The schemas and channels seen so far. If several have one number, the first one counts. Raises Damaged at MOST_CATALOG_BYTES."""

    def __init__(self) -> None:
        self._schemas: dict[int, Any] = {}
        self._waiting: dict[int, tuple[Any, int]] = {}  # channels whose schema was not read yet, with their places
        self._waiting_for: dict[int, list[int]] = {}  # the same by their schema
        self._bytes = 0
        self.channels: dict[int, McapChannel] = {}

    def add(self, opcode: int, view: memoryview, at: int, begin: int, end: int) -> None:
        """Adds a Schema or Channel record; ignores other records."""
        if opcode == SCHEMA:
            self.add_schema(_small("Schema", view, at, begin, end), at)
        elif opcode == CHANNEL:
            self.add_channel(_small("Channel", view, at, begin, end), at)

    def add_summary(self, summary: Any) -> None:
        """Adds the schemas and channels that a summary of the library repeats."""
        for schema in summary.schemas.values():
            self.add_schema(schema)
        for channel in summary.channels.values():
            self.add_channel(channel, 0)

    def without_schema(self) -> list[Damaged]:
        """The channels without a schema: their schema was in a damaged chunk."""
        return [Damaged(at, f"the channel {channel.topic} has no schema") for channel, at in self._waiting.values()]

    def _keep(self, at: int, *parts: Any) -> None:
        self._bytes += sum(map(len, parts))
        if self._bytes > MOST_CATALOG_BYTES:
            raise Damaged(at, f"its schemas and channels have more than {MOST_CATALOG_BYTES} bytes")

    def add_schema(self, schema: Any, at: int = 0) -> None:
        """Adds a schema of the library."""
        if schema.id in self._schemas:
            return
        self._keep(at, schema.name, schema.encoding, schema.data)
        self._schemas[schema.id] = schema
        for number in self._waiting_for.pop(schema.id, ()):
            if number in self._waiting:
                self.add_channel(*self._waiting[number])

    def add_channel(self, channel: Any, at: int) -> None:
        """Adds a channel of the library, which is usable as soon as its schema is known."""
        if channel.id in self.channels:
            return
        schema = self._schemas.get(channel.schema_id)
        if channel.id not in self._waiting:
            self._keep(at, channel.topic, channel.message_encoding, *channel.metadata, *channel.metadata.values())
            if schema is None and channel.schema_id != 0:
                self._waiting[channel.id] = channel, at
                self._waiting_for.setdefault(channel.schema_id, []).append(channel.id)
        if schema is None and channel.schema_id != 0:
            return
        self._waiting.pop(channel.id, None)
        self.channels[channel.id] = McapChannel(
            channel.topic,
            channel.message_encoding,
            schema.name if schema else "",
            schema.encoding if schema else "",
            schema.data if schema else b"",
            dict(channel.metadata),
        )


def _times(parts: list[Part]) -> tuple[int, int] | None:
    """The times of the first and last message."""
    with_messages = [part for part in parts if part.end_ns]  # the times of an empty chunk are 0
    if not with_messages:
        return (0, 0) if parts else None
    return min(part.start_ns for part in with_messages), max(part.end_ns for part in with_messages)


_OF_SUMMARY = {SCHEMA: "Schema", CHANNEL: "Channel", CHUNK_INDEX: "ChunkIndex", STATISTICS: "Statistics"}
Visitor = Callable[["McapFile", int, int, int, int, list[Entry] | None], object]


class McapFile:
    """One MCAP file, open for reading."""

    def __init__(self, path: Path, walk: bool = False, visit: Visitor = lambda *record: None) -> None:
        """`walk`: read all records, also if there is a summary. `visit` is then called for each record, with the file, the record's opcode, place,
        begin and end of its body, and the messages if the record is a chunk that can be read."""
        self.path = path
        check_file(path)
        with path.open("rb") as file:
            self.size = path.stat().st_size
            if self.size < len(MAGIC) or file.read(len(MAGIC)) != MAGIC:
                raise Damaged(0, "this is no MCAP file: its first bytes are others")
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.view = memoryview(self._map)
        try:
            self.catalog = Catalog()
            self.parts: list[Part] = []
            self.counts: dict[int, int] = {}
            self.times: tuple[int, int] | None = None
            self.complete = True  # False: the file has no summary that fits, and was read to its last whole record
            self.damages: list[Damaged] = []
            self._beginning = memoryview(b"")  # the bytes of the chunk that the file's end cut
            self._beginning_at = -1
            self.compression: set[str] = set()
            if walk or not self._by_summary():
                self._by_walking(visit)
        except BaseException:
            self.close()
            raise

    @property
    def channels(self) -> dict[int, McapChannel]:
        return self.catalog.channels

    def close(self) -> None:
        """Ends the mapping as soon as there is no view of it any more."""
        self.view.release()
        try:
            self._map.close()
        except BufferError:  # views of messages are still there; the mapping goes with the last
            pass

    def extras(self) -> Iterator[Any]:
        """The attachments and metadata, as the library has them."""
        with contextlib.suppress(Damaged):
            for opcode, at, begin, end in records(self.view, len(MAGIC), self.size):
                if opcode in (ATTACHMENT, METADATA):
                    yield _small("Attachment" if opcode == ATTACHMENT else "Metadata", self.view, at, begin, end)
                elif opcode == DATA_END:
                    return

    def summary(self) -> Any:
        """The summary, in the library's class; None: the file has none that can be read. The library's own reader would also decompress what lies
        there, a chunk of any size."""
        needed("mcap")
        found = needed("mcap.summary").Summary()
        at = self.size - len(MAGIC) - FOOTER_BYTES
        if at < len(MAGIC) or self.view[at] != FOOTER or self.view[self.size - len(MAGIC) :] != MAGIC:
            return None
        (start,) = struct.unpack_from("<Q", self.view, at + _RECORD.size)
        if not len(MAGIC) <= start <= at:
            return None  # 0: there is none
        try:
            for opcode, place, begin, end in records(self.view, start, at):
                if opcode in _OF_SUMMARY:
                    record = _small(_OF_SUMMARY[opcode], self.view, place, begin, end)
                    if opcode == SCHEMA:
                        found.schemas[record.id] = record
                    elif opcode == CHANNEL:
                        found.channels[record.id] = record
                    elif opcode == CHUNK_INDEX:
                        found.chunk_indexes.append(record)
                    else:
                        found.statistics = record
        except Damaged:
            return None
        return found

    def _by_summary(self) -> bool:
        """Reads the summary. False: there is none, or it leaves something out. Between the chunks that it names all records are read, because
        messages outside of chunks are in no index."""
        summary = self.summary()
        if summary is None or summary.statistics is None:
            return False
        statistics = summary.statistics
        indexes = sorted(summary.chunk_indexes, key=lambda index: index.chunk_start_offset)
        if len(indexes) != statistics.chunk_count or len(summary.channels) != statistics.channel_count:
            return False
        parts, catalog = [], Catalog()
        at = len(MAGIC)
        try:
            catalog.add_summary(summary)
            for index in indexes:
                begin, size = index.chunk_start_offset, index.chunk_length
                if begin < at or begin + size > self.size or size < _RECORD.size or self.view[begin] != CHUNK:
                    return False
                parts += self._loose(at, begin, catalog)
                parts.append(Part(index.message_start_time, index.message_end_time, begin, size, True))
                self.compression.add(index.compression)
                at = begin + size + index.message_index_length
                if at > self.size:
                    return False
            parts += self._loose(at, self.size, catalog)
        except Damaged:
            return False
        if catalog.without_schema():
            return False
        self.parts, self.catalog = parts, catalog
        self.counts = {channel: count for channel, count in statistics.channel_message_counts.items() if count}
        self.times = _times(parts)  # rosbag2's statistics have been wrong
        return True

    def _loose(self, begin: int, end: int, catalog: Catalog) -> list[Part]:
        """The run of messages outside of chunks between two places, if there is one."""
        times = []
        for opcode, at, first, last in records(self.view, begin, end):
            if opcode == MESSAGE:
                times.append(message_at(self.view, at, first, last).time_ns)
            elif opcode == DATA_END:
                end = at
                break
            else:
                catalog.add(opcode, self.view, at, first, last)
        return [Part(min(times), max(times), begin, end - begin, False)] if times else []

    def _by_walking(self, visit: Visitor) -> None:
        """Reads all records of a file that was cut or has no summary. Leaves out a chunk that cannot be read or whose CRC is wrong. Behind a record
        with a wrong length, goes on with the chunks that a summary names; without a summary, with the beginning of the last chunk. Takes schemas and
        channels that were in a damaged chunk from the summary, which repeats them."""
        self.complete = False
        self.parts, self.catalog, self.counts, self.compression = [], Catalog(), {}, set()
        run: list[Entry] = []  # the messages outside of chunks since the last chunk
        run_at = last = len(MAGIC)
        ended = False  # the data section has ended: behind it the summary repeats schemas and channels
        found: list[Part] = self.parts

        def add(entries: list[Entry], begin: int, end: int, is_chunk: bool) -> None:
            if entries:
                times = [entry.time_ns for entry in entries]
                found.append(Part(min(times), max(times), begin, end - begin, is_chunk))
            for entry in entries:
                self.counts[entry.channel] = self.counts.get(entry.channel, 0) + 1

        try:
            for opcode, at, begin, end in records(self.view, len(MAGIC), self.size):
                last = at
                entries = None
                if opcode == CHUNK:
                    add(run, run_at, at, False)
                    run, run_at = [], end
                    try:
                        _, entries = self.read(Part(0, 0, at, end - at, True), self.catalog, check_crc=True)
                        add(entries, at, end, True)
                    except Damaged as error:
                        self.damages.append(error)
                elif opcode == MESSAGE:
                    run.append(message_at(self.view, at, begin, end))
                elif not ended:
                    self.catalog.add(opcode, self.view, at, begin, end)
                else:
                    with contextlib.suppress(Damaged):  # damage behind the data section costs no message
                        self.catalog.add(opcode, self.view, at, begin, end)
                visit(self, opcode, at, begin, end, entries)
                ended = ended or opcode == DATA_END
                if opcode == FOOTER:
                    break
            else:
                last = self.size
                self.damages.append(Damaged(last, "the file ends without a footer"))
        except Damaged as error:
            self.damages.append(error)
            last = max(last, error.at)
        add(run, run_at, last, False)
        beyond: list[tuple[int, int]] = []
        if self.damages and last < self.size and (summary := self.summary()) is not None:
            beyond = self._chunks_beyond(last, summary)
            try:
                self.catalog.add_summary(summary)
            except Damaged as error:
                self.damages.append(error)
        for begin, end in beyond:
            try:
                add(self.read(Part(0, 0, begin, end - begin, True), self.catalog, check_crc=True)[1], begin, end, True)
            except Damaged as error:
                self.damages.append(error)
        if not beyond and last < self.size and self.view[last] == CHUNK:
            self._salvage(last, add)
        self.damages += self.catalog.without_schema()
        self.times = _times(found)

    def _chunks_beyond(self, at: int, summary: Any) -> list[tuple[int, int]]:
        """The chunks behind a damaged place, by the summary."""
        places = (
            (index.chunk_start_offset, index.chunk_start_offset + index.chunk_length) for index in summary.chunk_indexes
        )
        return sorted(
            (begin, end)
            for begin, end in places
            if at <= begin < end - _RECORD.size and end <= self.size and self.view[begin] == CHUNK
        )

    def _salvage(self, at: int, add: Callable[[list[Entry], int, int, bool], None]) -> None:
        """The messages at the beginning of a chunk that the file's end cut."""
        try:
            plain = chunk_beginning(self.view, at, at + _RECORD.size, self.size)
        except Damaged:
            return
        entries: list[Entry] = []
        try:
            for opcode, place, begin, end in records(plain, 0, len(plain)):
                if opcode == MESSAGE:
                    entries.append(message_at(plain, place, begin, end))
                    if len(entries) == MOST_MESSAGES:
                        break
                else:
                    self.catalog.add(opcode, plain, place, begin, end)
        except Damaged:
            pass  # the cut
        self._beginning = plain[: entries[-1].end] if entries else plain[:0]
        self._beginning_at = at
        add(entries, at, self.size, True)

    def read(
        self, part: Part, catalog: Catalog | None = None, check_crc: bool = False
    ) -> tuple[memoryview, list[Entry]]:
        """Reads a part: its bytes, and its messages in the order of the file. `catalog` gets the schemas and channels of a chunk."""
        view, begin, end, base = self.view, part.at, part.at + part.size, 0
        if part.at == self._beginning_at:
            view, begin, end = self._beginning, 0, len(self._beginning)
        elif part.is_chunk:
            view, _, _ = chunk_bytes(view, part.at, begin + _RECORD.size, end, check_crc)
            begin, end, base = 0, len(view), part.at
        crowded = view.obj is not self._map and len(view) > MOST_MESSAGES * _LEAST_MESSAGE_BYTES
        entries: list[Entry] = []
        append, unpack, head = entries.append, _MESSAGE.unpack_from, _MESSAGE.size
        for opcode, at, first, last in records(view, begin, end, base):
            if opcode == MESSAGE:
                if last - first < head:
                    raise Damaged(base + at, "a message without its head")
                channel, sequence, log_ns, publish_ns = unpack(view, first)
                append(Entry(log_ns, channel, first + head, last, publish_ns, sequence))
                if crowded and len(entries) > MOST_MESSAGES:
                    raise Damaged(base, f"a compressed chunk of more than {MOST_MESSAGES} messages")
            elif catalog is not None:
                catalog.add(opcode, view, base + at, first, last)
        return view, entries

    def messages(
        self,
        channels: Collection[int] | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        first: Collection[int] = (),
        on_damage: Callable[[Damaged], object] | None = None,
    ) -> Iterator[tuple[Entry, memoryview]]:
        """Messages with start_ns <= time < stop_ns in the order of their times. Of messages with the same time those of the channels `first` come
        first. Another thread reads the next part ahead. Parts that cannot be read are left out, and `on_damage` is called for each."""
        parts = sorted(
            (
                part
                for part in self.parts
                if (start_ns is None or part.end_ns >= start_ns) and (stop_ns is None or part.start_ns < stop_ns)
            ),
            key=lambda part: part.start_ns,
        )

        everything = channels is None or self.channels.keys() <= set(channels)

        def load(part: Part) -> _Loaded:
            try:
                view, entries = self.read(part)
            except Damaged as error:
                return _Loaded(memoryview(b""), [], 0, [error])
            inside = (start_ns is None or part.start_ns >= start_ns) and (stop_ns is None or part.end_ns < stop_ns)
            strange = {entry.channel for entry in entries} - self.channels.keys()
            if strange or not (everything and inside):
                entries = [
                    entry
                    for entry in entries
                    if (entry.channel in self.channels if channels is None else entry.channel in channels)
                    and (start_ns is None or entry.time_ns >= start_ns)
                    and (stop_ns is None or entry.time_ns < stop_ns)
                ]
            entries.sort(key=operator.itemgetter(0))
            if first:
                entries.sort(key=lambda entry: (entry.time_ns, entry.channel not in first))
            cost = len(entries) * _ENTRY_BYTES + (0 if view.obj is self._map else len(view))
            left_out = []
            if strange:
                others = f" (and of {len(strange) - 1} more)" if len(strange) > 1 else ""
                left_out.append(Damaged(part.at, f"messages of channel {min(strange)}, which is not defined{others}"))
            return _Loaded(view, entries, cost, left_out)

        heads: list[tuple[int, bool, int, int]] = []  # (time, not first, part, next entry)
        # Parts of `heads` that are in memory; the others are read again when their turn comes.
        loaded: dict[int, _Loaded] = {}
        kept = 0  # the sum of their costs

        def keep(number: int, part: _Loaded) -> None:
            """Drops the parts whose turn comes last."""
            nonlocal kept
            loaded[number] = part
            kept += part.cost
            while kept > MOST_KEPT_BYTES and (others := [head for head in heads if head[2] in loaded]):
                kept -= loaded.pop(max(others)[2]).cost

        with ThreadPoolExecutor(1, "bag") as reader:
            ahead: Future[_Loaded] | None = reader.submit(load, parts[0]) if parts else None
            number = 0
            while heads or number < len(parts):
                # All parts that may hold a message before the earliest known one are read first.
                while number < len(parts) and (not heads or parts[number].start_ns <= heads[0][0]):
                    assert ahead is not None
                    found = ahead.result()
                    number += 1
                    ahead = reader.submit(load, parts[number]) if number < len(parts) else None
                    for damage in found.damages:
                        if on_damage is None:
                            raise damage
                        on_damage(damage)
                    if found.entries:
                        head = found.entries[0]
                        heapq.heappush(heads, (head.time_ns, head.channel not in first, number - 1, 0))
                        keep(number - 1, found)
                    del found  # it may have been dropped already
                if not heads:
                    continue
                *_, which, index = heapq.heappop(heads)
                if which not in loaded:
                    keep(which, load(parts[which]))
                view, entries, *_ = loaded[which]
                begun = index
                other = min(
                    (heads[0][0] if heads else 1 << 64), (parts[number].start_ns if number < len(parts) else 1 << 64)
                )
                while index < len(entries):
                    entry = entries[index]
                    if entry.time_ns >= other and index != begun:
                        heapq.heappush(heads, (entry.time_ns, entry.channel not in first, which, index))
                        break
                    yield entry, view[entry.begin : entry.end]
                    index += 1
                else:
                    kept -= loaded.pop(which).cost
