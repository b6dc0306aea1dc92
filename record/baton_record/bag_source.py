# SPDX-License-Identifier: Apache-2.0
"""Any bag as one list of topics and one stream of messages. bag_mcap.py reads MCAP files, and rosbag2's folders of them; the library `rosbags` and
bag_decompression.py read rosbag2's SQLite files, ROS 1's bags, and files and messages that rosbag2 compressed.

Thread rules: a Bag belongs to one thread.
"""

from __future__ import annotations

import fnmatch
import functools
import heapq
import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from . import bag_decompression, bag_events
from .bag_database import check_database
from .bag_errors import BagError, check_file, needed
from .bag_mcap import Damaged, McapChannel, McapFile
from .bag_metadata import Stored, read_yaml, stored_in

CDR, ROS1, SFM = "cdr", "ros1", "baton_sfm"
MOST_QOS_BYTES = 1 << 20  # of all different texts of a bag
MOST_DEFINITION_BYTES = 1 << 20  # as Baton's core reads; a parser takes a hundred times as much


@dataclass(eq=False)
class BagTopic:
    """A topic of a bag with its type. If messages of a topic have two types, there are two BagTopics."""

    name: str
    type_name: str  # package/Name
    definition: str | None  # the full text of a .msg; None: the bag has none that is read
    encoding: str  # CDR, ROS1, SFM, or another one, whose messages are neither played nor converted
    offered: list[Any] = field(default_factory=list)  # the publishers' QoS, in the library's class
    latching: bool = False  # ROS 1's latching
    count: int = 0
    digest: str = ""  # an MD5 of ROS 1 or a RIHS01 of ROS 2, if the bag has it

    @property
    def latched(self) -> bool:
        """Whether subscriptions that come late get the last messages."""
        return self.latching or any(qos.durability.name == "TRANSIENT_LOCAL" for qos in self.offered)


class BagMessage(NamedTuple):
    """One message of a bag. `data` is valid until the bag is closed."""

    topic: BagTopic
    time_ns: int  # when it was recorded
    data: Any
    publish_ns: int
    sequence: int


class Bag:
    """A bag that is open for reading. Times are nanoseconds, as the bag has them."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path = path
        self.kind = kind
        self.topics: list[BagTopic] = []
        self.start_ns = 0
        self.end_ns = 0  # of the last message
        self.count = 0
        self.files: list[Path] = [path]
        self.compression = ""
        self.damage = ""  # why the rest of the bag cannot be read; empty: nothing is wrong

    @property
    def size_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)

    def messages(
        self,
        topics: Collection[BagTopic] | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        on_damage: Callable[[Damaged], object] | None = None,
    ) -> Iterator[BagMessage]:
        """The messages with start_ns <= time < stop_ns, in the order of their times; of messages with the same time those of latched topics first.
        `on_damage` is called for each part that cannot be read; without it, such a part raises Damaged."""
        raise NotImplementedError

    def extras(self) -> Iterator[Any]:
        """The attachments and metadata of an MCAP file, in the library's classes."""
        return iter(())

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def absolute(name: str) -> str:
    """A topic's name with a leading slash, which some bags and users leave out."""
    return name if name.startswith("/") else f"/{name}"


def chosen(topics: Iterable[BagTopic], wanted: Collection[str] = (), unwanted: Collection[str] = ()) -> list[BagTopic]:
    """The topics that a pattern of `wanted` matches (all topics without patterns), and no pattern of `unwanted`."""

    def among(topic: BagTopic, patterns: Collection[str]) -> bool:
        name = absolute(topic.name)
        return any(fnmatch.fnmatchcase(name, each if each.startswith("*") else absolute(each)) for each in patterns)

    return [topic for topic in topics if (not wanted or among(topic, wanted)) and not among(topic, unwanted)]


def open_bag(path: Path | str, walk: bool = False) -> Bag:
    """Opens a bag. Raises BagError if the file is no bag, and OSError. `walk`: read all records of an MCAP file, even if it has a summary."""
    path = Path(path)
    if not path.exists():
        raise BagError(f"{path} does not exist")
    try:
        if path.is_dir():
            stored = stored_in(path)
            return _McapBag(path, stored, walk) if stored.storage == "mcap" else _LibraryBag(path, stored)
        check_file(path)
        if path.suffix == ".mcap" or _begins(path, b"\x89MCAP0"):
            return _McapBag(path, Stored("mcap", [path]), walk)
        return _LibraryBag(path)
    except BagError as error:
        raise BagError(str(error) if str(path) in str(error) else f"{path}: {error}") from None


def _begins(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def offered_qos(text: Any) -> list[Any]:
    """The profiles of rosbag2's `offered_qos_profiles`."""
    metadata = needed("rosbags.rosbag2.metadata")
    try:
        return sound_qos(metadata.parse_qos(read_yaml(text) if isinstance(text, str) else text))
    except Exception:  # a damaged text raises errors of many classes
        return []


def sound_qos(profiles: Iterable[Any]) -> list[Any]:
    """The library's profiles whose depth is a number: the library does not check it."""
    return [qos for qos in profiles if isinstance(qos.depth, int)]


def _text_of_idl(name: str, idl: str) -> str | None:
    """The .msg text of an IDL definition (`ros2idl`); None if it cannot be read."""
    try:
        return _read_idl(name, idl)
    except (BagError, OSError, MemoryError):
        raise
    except Exception:  # errors of the library's parser
        return None


def _read_idl(name: str, idl: str) -> str:
    typesys = needed("rosbags.typesys")
    types: dict[str, Any] = {}
    separator = "=" * 80 + "\n"
    for part in idl.split(separator)[1:] if idl.startswith(separator + "IDL: ") else ["\n" + idl]:
        types |= typesys.get_types_from_idl(part.partition("\n")[2])
    store = typesys.get_typestore(typesys.Stores.EMPTY)
    store.register(types)
    text: str = store.generate_msgdef(name.replace("/", "/msg/"), ros_version=2)[0]
    return text


def short_name(name: str) -> str:
    """package/Name of package/msg/Name."""
    package, _, rest = name.partition("/")
    return f"{package}/{rest.rpartition('/')[2]}"


def _by_time(files: list[tuple[int, Callable[[], Iterator[BagMessage]]]]) -> Iterator[BagMessage]:
    """The messages of several files, given with the time of their first message. A file is opened only at this time, so that the chunks of few files
    are in memory at once."""
    waiting = deque(sorted(files, key=lambda file: file[0]))
    heads: list[tuple[int, bool, int, BagMessage, Iterator[BagMessage]]] = []

    def push(number: int, messages: Iterator[BagMessage]) -> None:
        if (message := next(messages, None)) is not None:
            heapq.heappush(heads, (message.time_ns, not message.topic.latched, number, message, messages))

    while waiting or heads:
        while waiting and (not heads or waiting[0][0] <= heads[0][0]):
            push(len(waiting), waiting.popleft()[1]())
        if heads:
            *_, number, message, messages = heapq.heappop(heads)
            yield message
            push(number, messages)


class _McapBag(Bag):
    def __init__(self, path: Path, stored: Stored, walk: bool) -> None:
        super().__init__(path, "rosbag2 (mcap)" if path.is_dir() else "mcap")
        self.files = stored.files
        self._open: list[McapFile] = []
        self._topics: list[dict[int, BagTopic]] = []
        self._unpacked = bag_decompression.Unpacked() if stored.by_file else None
        self._compressed_messages = bool(stored.compression) and not stored.by_file
        known: dict[tuple[Any, ...], BagTopic] = {}
        # By the schema, which any number of channels may share: its text is decoded once.
        self._texts: dict[tuple[str, str, bytes], str | None] = {}
        self._offers: dict[str, list[Any]] = {}  # by the text, which most channels share
        self._qos_left = MOST_QOS_BYTES
        try:
            for file in self.files:
                mcap = McapFile(self._unpacked.file(file) if self._unpacked else file, walk)
                self._open.append(mcap)
                topics = {}
                for number, channel in mcap.channels.items():
                    topic = topics[number] = self._topic(channel, known)
                    topic.count += mcap.counts.get(number, 0)
                self._topics.append(topics)
                if mcap.damages:
                    self.damage = self.damage or f"{file.name}: {mcap.damages[0]}"
        except BaseException:
            self.close()
            raise
        self.topics = sorted(known.values(), key=lambda topic: (topic.name, topic.type_name))
        times = [mcap.times for mcap in self._open if mcap.times]
        self.start_ns = min((first for first, _ in times), default=0)
        self.end_ns = max((last for _, last in times), default=0)
        self.count = sum(topic.count for topic in self.topics)
        compressions = set().union(*(mcap.compression for mcap in self._open)) | {stored.compression}
        self.compression = ", ".join(sorted(compressions - {""}))

    def _definition(self, channel: McapChannel) -> str | None:
        key = (channel.schema_name, channel.schema_encoding, channel.schema)
        if key not in self._texts:
            name, text = short_name(channel.schema_name), channel.schema.decode("utf-8", "replace")
            if len(channel.schema) > MOST_DEFINITION_BYTES:
                self._texts[key] = None
            elif channel.schema_encoding == "ros2idl":
                self._texts[key] = _text_of_idl(name, text)
            elif channel.schema_encoding == "ros2msg":
                self._texts[key] = bag_events.definition_of(name, text)
            else:
                self._texts[key] = text if channel.schema_encoding == "ros1msg" else None
        return self._texts[key]

    def _offered(self, text: str) -> list[Any]:
        if text not in self._offers:
            self._qos_left -= len(text)
            self._offers[text] = offered_qos(text) if self._qos_left >= 0 else []
        return self._offers[text]

    def _topic(self, channel: McapChannel, known: dict[tuple[Any, ...], BagTopic]) -> BagTopic:
        key = (channel.topic, channel.schema_name, channel.encoding, channel.schema)
        found = known.get(key)
        offered = self._offered(channel.metadata.get("offered_qos_profiles", ""))
        if found is None:
            name, text = short_name(channel.schema_name), self._definition(channel)
            found = known[key] = BagTopic(channel.topic, name, text, channel.encoding)
            found.latching = channel.metadata.get("latching") == "1"
            found.digest = channel.metadata.get("topic_type_hash", "")
        found.offered += [qos for qos in offered if qos not in found.offered]
        return found

    def messages(
        self,
        topics: Collection[BagTopic] | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        on_damage: Callable[[Damaged], object] | None = None,
    ) -> Iterator[BagMessage]:
        files = [
            (mcap.times[0], functools.partial(self._of, number, topics, start_ns, stop_ns, on_damage))
            for number, mcap in enumerate(self._open)
            if mcap.times
        ]
        return _by_time(files)

    def _of(
        self,
        number: int,
        topics: Collection[BagTopic] | None,
        start_ns: int | None,
        stop_ns: int | None,
        on_damage: Callable[[Damaged], object] | None,
    ) -> Iterator[BagMessage]:
        known = self._topics[number]
        channels = [channel for channel, topic in known.items() if topics is None or topic in topics]
        latched = {channel for channel in channels if known[channel].latched}
        messages = self._open[number].messages(channels, start_ns, stop_ns, latched, on_damage)
        for entry, data in messages:
            plain: Any = data
            if self._compressed_messages:
                try:
                    plain = bag_decompression.message(data)
                except BagError as error:
                    damage = Damaged(0, f"{self.path} cannot be read to its end: {error}")
                    if on_damage is None:
                        raise damage from None
                    on_damage(damage)
                    return
            yield BagMessage(known[entry.channel], entry.time_ns, plain, entry.publish_ns, entry.sequence)

    def extras(self) -> Iterator[Any]:
        for mcap in self._open:
            yield from mcap.extras()

    def close(self) -> None:
        for mcap in self._open:
            mcap.close()
        if self._unpacked:
            self._unpacked.close()


class _LibraryBag(Bag):
    """A bag that the library rosbags reads. The files of a folder that is not compressed are opened one by one: if metadata.yaml does not fit the
    files, the library's reader of folders leaves messages out without an error."""

    def __init__(self, path: Path, stored: Stored | None = None) -> None:
        is1 = stored is None and (path.suffix == ".bag" or _begins(path, b"#ROSBAG V"))
        super().__init__(path, "ROS 1 bag" if is1 else f"rosbag2 ({stored.storage if stored else 'sqlite3'})")
        if stored is None:
            if not is1 and path.suffix != ".db3":
                raise BagError(f"{path} is no bag: an MCAP file, a folder of rosbag2, a .db3 or a .bag is one")
            stored = Stored("", [path])
        self.files, self.compression = stored.files, stored.compression
        self._unpacked = bag_decompression.Unpacked() if stored.by_file else None
        self._compressed_messages = bool(stored.compression) and not stored.by_file
        library = None if is1 else needed("rosbags.rosbag2")
        self._readers: list[tuple[Any, dict[int, BagTopic]]] = []
        self._topics: dict[tuple[str, ...], BagTopic] = {}
        # Topics share a type's text, whose reading takes long.
        self._idl = functools.lru_cache(maxsize=None)(_text_of_idl)
        try:
            for each in stored.files:
                check_file(each)
                each = self._unpacked.file(each) if self._unpacked else each
                if library:
                    if each.suffix != ".db3":
                        raise BagError(f"{each.name} is no database: metadata.yaml names another storage")
                    check_database(each)
                reader = library.Reader(each) if library else bag_decompression.ros1_reader(each)
                reader.open()
                self._readers.append((reader, {c.id: self._topic(c, is1) for c in reader.connections}))
        except OSError:
            self.close()
            raise
        except Exception as error:  # damaged bytes raise errors of many classes, MemoryError among them
            self.close()
            raise BagError(f"{path} cannot be read: {str(error) or repr(error)}") from None
        self.topics = sorted(self._topics.values(), key=lambda topic: (topic.name, topic.type_name))
        with_messages = [reader for reader, _ in self._readers if reader.message_count]
        self.count = sum(reader.message_count for reader in with_messages)
        self.start_ns = min((reader.start_time for reader in with_messages), default=0)
        self.end_ns = max((reader.end_time - 1 for reader in with_messages), default=0)

    def _topic(self, connection: Any, is1: bool) -> BagTopic:
        name = short_name(connection.msgtype)
        format_, text = connection.msgdef.format.name, connection.msgdef.data
        if len(text) > MOST_DEFINITION_BYTES:
            format_ = "NONE"
        elif format_ == "IDL":
            text = self._idl(name, text)
        elif not is1:
            text = bag_events.definition_of(name, text)
        definition = None if format_ == "NONE" else text
        encoding = ROS1 if is1 else connection.ext.serialization_format
        key = (connection.topic, name, text, encoding)
        topic = self._topics.setdefault(key, BagTopic(connection.topic, name, definition, encoding))
        topic.digest = topic.digest or connection.digest
        topic.count += max(0, connection.msgcount)
        if is1:
            topic.latching = topic.latching or bool(connection.ext.latching)
        else:
            topic.offered += [qos for qos in sound_qos(connection.ext.offered_qos_profiles) if qos not in topic.offered]
        return topic

    def messages(
        self,
        topics: Collection[BagTopic] | None = None,
        start_ns: int | None = None,
        stop_ns: int | None = None,
        on_damage: Callable[[Damaged], object] | None = None,
    ) -> Iterator[BagMessage]:
        files = [
            (reader.start_time, functools.partial(self._of, reader, known, topics, start_ns, stop_ns, on_damage))
            for reader, known in self._readers
        ]
        for _, moment in itertools.groupby(_by_time(files), key=lambda message: message.time_ns):
            first, *others = moment
            yield from sorted([first, *others], key=lambda message: not message.topic.latched) if others else [first]

    def _of(
        self,
        reader: Any,
        known: dict[int, BagTopic],
        topics: Collection[BagTopic] | None,
        start_ns: int | None,
        stop_ns: int | None,
        on_damage: Callable[[Damaged], object] | None,
    ) -> Iterator[BagMessage]:
        wanted = [each for each in reader.connections if topics is None or known[each.id] in topics]
        if not wanted:  # for the library an empty list means all
            return
        try:
            for connection, time_ns, data in reader.messages(wanted, start_ns, stop_ns):
                plain = bag_decompression.message(data) if self._compressed_messages else data
                yield BagMessage(known[connection.id], time_ns, plain, time_ns, 0)
        except OSError:
            raise
        except Exception as error:  # errors of the library for damaged bytes
            damaged = Damaged(0, f"{self.path} cannot be read to its end: {str(error) or repr(error)}")
            if on_damage is None:
                raise damaged from None
            on_damage(damaged)

    def close(self) -> None:
        for reader, _ in self._readers:
            reader.close()
        if self._unpacked:
            self._unpacked.close()
