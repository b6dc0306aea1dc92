# SPDX-License-Identifier: Apache-2.0
"""Writes bags with the libraries: an MCAP file, a folder of rosbag2, a bag of ROS 1.

A bag is written beside its place, in a folder whose name has `.partial`, and gets its own name when it is whole. No existing file is overwritten, and
a failure leaves no file behind.

Thread rules: a Sink belongs to one thread.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from baton import _core
from baton._messages import _message_from_text
from baton_generator.model import Dialect
from ruamel.yaml import YAML

from .bag_errors import BagError, needed
from .bag_source import CDR, ROS1, SFM, BagMessage, BagTopic
from .bag_types import class_of

MCAP, ROSBAG2, BAG1 = "MCAP", "rosbag2", "ROS 1 bag"
COMPRESSIONS = {MCAP: ("none", "zstd", "lz4"), ROSBAG2: ("none", "zstd"), BAG1: ("none", "bz2", "lz4")}


def format_of(path: Path) -> str:
    """The form of a bag with this name: *.mcap, *.bag, or a folder of rosbag2."""
    if path.suffix in (".db3", ".gz", ".zst", ".yaml"):
        raise BagError(
            f"{path}: write *.mcap, *.bag, or a folder for rosbag2 (--storage sqlite3 makes the .db3 inside)"
        )
    return {".mcap": MCAP, ".bag": BAG1}.get(path.suffix, ROSBAG2)


@cache
def _standard(encoding: str) -> Any:
    typesys = needed("rosbags.typesys")
    return typesys.get_typestore(typesys.Stores.ROS1_NOETIC if encoding == ROS1 else typesys.Stores.ROS2_JAZZY)


def _full(name: str) -> str:
    """rosbags' name of a type."""
    return name.replace("/", "/msg/", 1)


def _ros2_name(name: str) -> str:
    """ROS 2's name of a type; the events of a service are of "srv"."""
    return name.replace("/", "/srv/" if name.endswith("_Event") else "/msg/", 1)


def definition_for(topic: BagTopic, encoding: str) -> tuple[str, str]:
    """The definition of a topic's type for ROS 1 or ROS 2, and the hash that bags keep with it: an MD5 of ROS 1, a RIHS01 of ROS 2. If the bag is of
    the other ROS, the wanted ROS's own definition is taken, provided that it means the same message for Baton."""
    if topic.encoding == encoding and topic.definition is not None and topic.digest:
        return topic.definition, topic.digest
    name = _full(topic.type_name)
    version = 1 if encoding == ROS1 else 2
    try:
        if topic.encoding == encoding and topic.definition is not None:
            store, text = _store_of(topic), topic.definition
        else:
            standard = _standard(encoding)
            other = standard.generate_msgdef(name, ros_version=version)[0] if name in standard.fielddefs else None
            dialect = Dialect.ROS1 if encoding == ROS1 else Dialect.ROS2
            same = other is not None and (
                _message_from_text(topic.type_name, other, dialect)._struct.hash == class_of(topic)._struct.hash
            )
            store = standard if same else _with_header_of(_store_of(topic), standard)
            text = store.generate_msgdef(name, ros_version=version)[0]
        return text, store.generate_msgdef(name)[1] if encoding == ROS1 else store.hash_rihs01(name)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # errors of the library's parser and its tables of types
        why = (
            str(error)
            if isinstance(error, BagError)
            else f"the definition of {topic.type_name} cannot be read: {error!r}"
        )
        raise BagError(f"{topic.name}: {why}; leave it out: -x {topic.name}") from None


def _store_of(topic: BagTopic) -> Any:
    """The library's store of a topic's type and those inside it."""
    typesys = needed("rosbags.typesys")
    name = _full(topic.type_name)
    if topic.definition is not None:
        store = typesys.get_typestore(typesys.Stores.EMPTY)
        store.register(typesys.get_types_from_msg(topic.definition, name))
        return store
    if name not in _standard(topic.encoding).fielddefs:
        raise BagError(f"the bag has no definition of {topic.type_name}, which is no standard type")
    return _standard(topic.encoding)


def _with_header_of(store: Any, standard: Any) -> Any:
    """The same types with the Header of the other ROS: ROS 1's Header has a sequence number."""
    typesys = needed("rosbags.typesys")
    changed = typesys.get_typestore(typesys.Stores.EMPTY)
    header = "std_msgs/msg/Header"
    changed.register({**store.fielddefs, **({header: standard.fielddefs[header]} if header in store.fielddefs else {})})
    return changed


def _latched_qos() -> list[Any]:
    """The QoS of ROS 2 that corresponds to ROS 1's latching."""
    rosbags = needed("rosbags.interfaces")
    for_ever = rosbags.QosTime(2147483647, 4294967295)
    return [
        rosbags.Qos(
            rosbags.QosHistory.KEEP_LAST,
            1,
            rosbags.QosReliability.RELIABLE,
            rosbags.QosDurability.TRANSIENT_LOCAL,
            for_ever,
            for_ever,
            rosbags.QosLiveliness.AUTOMATIC,
            for_ever,
            False,
        )
    ]


class Unconvertible(BagError):
    """A message whose bytes do not fit its type, so it has no form in another encoding. None of its bytes were written."""


class Sink:
    """A bag that is being written."""

    encoding = CDR

    def __init__(self, path: Path) -> None:
        self._known: dict[BagTopic, Any] = {}
        self._classes: dict[BagTopic, Any] = {}
        self._twins: dict[tuple[Any, ...], Any] = {}

    def write(self, message: BagMessage) -> None:
        """Adds a message, in this bag's encoding. Raises Unconvertible, after which others can be added, and BagError."""
        topic, data = message.topic, message.data
        if topic not in self._known:
            self._known[topic] = self._connection(topic)
        if topic.encoding != self.encoding:
            try:
                cls, encoding = self._classes[topic], topic.encoding
                if encoding == SFM:
                    data, encoding = _core._cdr_of_sfm(cls, data), CDR
                if encoding != self.encoding:
                    data = _core._reserialized(cls, data, encoding == CDR, self.encoding == CDR)
            except _core.BatonError as error:
                raise Unconvertible(f"{topic.name}: a message cannot be converted: {error}") from None
        try:
            self._write(self._known[topic], message, data)
        except (BagError, OSError, MemoryError):
            raise
        except Exception as error:  # errors of the libraries: a time that the form cannot have
            raise BagError(f"{topic.name}: a message of time {message.time_ns} ns cannot be written: {error}") from None

    def add(self, topic: BagTopic) -> None:
        """Adds a topic, which may get no message."""
        if topic not in self._known:
            self._known[topic] = self._connection(topic)

    def _connection(self, topic: BagTopic) -> Any:
        """The connection of a topic. Equal topics of several bags share a connection."""
        if topic.encoding not in (CDR, ROS1, SFM):
            raise BagError(f"{topic.name}: messages of encoding {topic.encoding!r} cannot be converted")
        as_cdr = replace(topic, encoding=CDR) if topic.encoding == SFM else topic
        definition, digest = definition_for(as_cdr, self.encoding)
        if topic.encoding != self.encoding:
            self._classes[topic] = class_of(topic)
        key = (topic.name, topic.type_name, digest, topic.latched, repr(topic.offered))
        if key not in self._twins:
            self._twins[key] = self._add(topic, definition, digest)
        return self._twins[key]

    def _add(self, topic: BagTopic, definition: str, digest: str) -> Any:
        raise NotImplementedError

    def _write(self, connection: Any, message: BagMessage, data: Any) -> None:
        raise NotImplementedError

    def add_extra(self, extra: Any) -> None:
        """Adds an attachment or metadata of an MCAP file. Other forms of bags have no place for them."""

    def close(self) -> None:
        """Completes the bag."""
        raise NotImplementedError

    def abort(self) -> None:
        """Closes the files of a bag that stays partial."""
        raise NotImplementedError


class _McapSink(Sink):
    def __init__(self, path: Path, compression: str) -> None:
        super().__init__(path)
        library = needed("mcap.writer")
        self._file = path.open("xb")
        self._writer = library.Writer(self._file, compression=library.CompressionType[compression.upper()])
        self._writer.start("ros2", "baton")
        self._schemas: dict[tuple[str, str], int] = {}
        self._dump = needed("rosbags.rosbag2.metadata").dump_qos_v9

    def _add(self, topic: BagTopic, definition: str, digest: str) -> Any:
        key = (topic.type_name, definition)
        if key not in self._schemas:
            self._schemas[key] = self._writer.register_schema(
                _ros2_name(topic.type_name), "ros2msg", definition.encode()
            )
        offered = StringIO()
        yaml = YAML(typ="safe")
        yaml.default_flow_style = False
        profiles = _latched_qos() if topic.latching else topic.offered
        if profiles:
            yaml.dump(self._dump(profiles), offered)
        metadata = {"offered_qos_profiles": offered.getvalue().strip(), "topic_type_hash": digest}
        return self._writer.register_channel(topic.name, "cdr", self._schemas[key], metadata)

    def _write(self, connection: Any, message: BagMessage, data: Any) -> None:
        self._writer.add_message(connection, message.time_ns, bytes(data), message.publish_ns, message.sequence)

    def add_extra(self, extra: Any) -> None:
        if hasattr(extra, "media_type"):
            self._writer.add_attachment(extra.create_time, extra.log_time, extra.name, extra.media_type, extra.data)
        else:
            self._writer.add_metadata(extra.name, extra.metadata)

    def close(self) -> None:
        self._writer.finish()
        self._file.close()

    def abort(self) -> None:
        self._file.close()


class _LibrarySink(Sink):
    """rosbags' writers, whose connections have the same form."""

    _writer: Any

    def _write(self, connection: Any, message: BagMessage, data: Any) -> None:
        self._writer.write(connection, message.time_ns, data)

    def close(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        self._writer.abort()


class _Rosbag2Sink(_LibrarySink):
    def __init__(self, path: Path, compression: str, storage: str) -> None:
        super().__init__(path)
        library = needed("rosbags.rosbag2")
        enums = needed("rosbags.rosbag2.enums")
        self._writer = library.Writer(path, version=9, storage_plugin=library.StoragePlugin[storage.upper()])
        if compression != "none":
            mode = enums.CompressionMode.STORAGE if storage == "mcap" else enums.CompressionMode.MESSAGE
            self._writer.set_compression(mode, enums.CompressionFormat.ZSTD)
        self._writer.open()

    def _add(self, topic: BagTopic, definition: str, digest: str) -> Any:
        profiles = _latched_qos() if topic.latching else topic.offered
        return self._writer.add_connection(
            topic.name, _ros2_name(topic.type_name), msgdef=definition, rihs01=digest, offered_qos_profiles=profiles
        )


class _Bag1Sink(_LibrarySink):
    encoding = ROS1

    def __init__(self, path: Path, compression: str) -> None:
        super().__init__(path)
        library = needed("rosbags.rosbag1")
        self._writer = library.Writer(path)
        if compression != "none":
            self._writer.set_compression(library.Writer.CompressionFormat[compression.upper()])
        self._writer.open()

    def _add(self, topic: BagTopic, definition: str, digest: str) -> Any:
        return self._writer.add_connection(
            topic.name, _full(topic.type_name), msgdef=definition, md5sum=digest, latching=int(topic.latched)
        )


class NewBag:
    """A context that gives the Sink of a new bag. The bag has its name only after the context, and only if the context ended without an error."""

    def __init__(self, path: Path, compression: str = "none", storage: str = "mcap") -> None:
        self.path = path
        self.format = format_of(path)
        self._compression, self._storage = compression, storage
        if compression not in COMPRESSIONS[self.format]:
            raise BagError(
                f"{path}: a {self.format} has the compressions {', '.join(COMPRESSIONS[self.format])}, not {compression}"
            )
        if os.path.lexists(path):
            raise BagError(f"{path} exists already and is not overwritten")

    def __enter__(self) -> Sink:
        parent = self.path.absolute().parent
        if not parent.is_dir():
            raise BagError(f"there is no folder {parent}")
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=f"{self.path.name}.partial-", dir=parent))
        except OSError as error:
            raise BagError(f"{self.path} cannot be written: {error.strerror}; choose another folder") from None
        partial = self._partial = self._folder / self.path.name
        try:
            if self.format == MCAP:
                self.sink: Sink = _McapSink(partial, self._compression)
            elif self.format == BAG1:
                self.sink = _Bag1Sink(partial, self._compression)
            else:
                self.sink = _Rosbag2Sink(partial, self._compression, self._storage)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return self.sink

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.sink.close()
                self._name()
            else:
                self.sink.abort()
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _name(self) -> None:
        """Gives the whole bag its name, unless somebody took the name meanwhile."""
        try:
            if self._partial.is_dir():
                self.path.mkdir()  # fails if the name exists; os.rename() replaces this empty folder
                os.rename(self._partial, self.path)
            elif not self._linked():
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))  # as the folder above
                os.rename(self._partial, self.path)
        except FileExistsError:
            raise BagError(f"{self.path} exists already and is not overwritten") from None

    def _linked(self) -> bool:
        """False: the file system has no links."""
        try:
            os.link(self._partial, self.path)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
                raise
            return False
        return True
