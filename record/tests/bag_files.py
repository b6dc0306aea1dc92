# SPDX-License-Identifier: Apache-2.0
"""Bags that tests read, written by the libraries, with values of any type; and `baton bag`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from baton_record.verbs.bag import command
from click.testing import CliRunner
from mcap.writer import CompressionType, Writer
from rosbags.interfaces import Nodetype
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2
from rosbags.typesys import Stores, get_typestore

START_NS = 1_700_000_000 * 10**9
LATCHED = (
    "- {history: keep_last, depth: 2, reliability: reliable, durability: transient_local, deadline: {sec: 0, nsec: 0}, "
    "lifespan: {sec: 0, nsec: 0}, liveliness: automatic, liveliness_lease_duration: {sec: 0, nsec: 0}, avoid_ros_namespace_conventions: false}"
)
STORE = get_typestore(Stores.ROS2_JAZZY)
STORE1 = get_typestore(Stores.ROS1_NOETIC)
_RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)}
_RANGES |= {f"uint{bits}": (0, 2**bits - 1) for bits in (8, 16, 32, 64)} | {
    "octet": (0, 255),
    "byte": (-128, 127),
    "char": (0, 255),
}


def values(store: Any, name: str, chance: random.Random) -> Any:
    """An object of rosbags with a random value in each field."""

    def scalar(kind: str) -> Any:
        if kind == "bool":
            return chance.random() < 0.5
        if kind in ("float32", "float64"):
            return float(np.dtype(kind).type(chance.uniform(-1e6, 1e6)))
        if kind in ("string", "wstring"):
            return "".join(chance.choice("abcdefghijklmnop ä") for _ in range(chance.randrange(12)))
        return chance.randint(*_RANGES[kind])

    def one(node: Any) -> Any:
        kind, what = node
        if kind == Nodetype.BASE:
            return scalar(what[0])
        if kind == Nodetype.NAME:
            return values(store, what, chance)
        element, count = what
        most = count if kind == Nodetype.ARRAY else min(count or 5, 5)
        found = [one(element) for _ in range(most if kind == Nodetype.ARRAY else chance.randrange(most + 1))]
        base = element[1][0] if element[0] == Nodetype.BASE else ""
        if base and base not in ("string", "wstring"):
            return np.array(found, {"octet": "uint8", "byte": "int8", "char": "uint8"}.get(base, base))
        return found

    # The only member of an empty message is padding on the wire.
    fields = [
        0 if field == "structure_needs_at_least_one_member" else one(node) for field, node in store.fielddefs[name][1]
    ]
    return store.types[name](*fields)


def text(data: str) -> bytes:
    """The CDR of a std_msgs/String."""
    return bytes(STORE.serialize_cdr(STORE.types["std_msgs/msg/String"](data), "std_msgs/msg/String"))


def write_mcap(
    path: Path,
    messages: list[tuple[str, str, int, bytes]],
    qos: dict[str, str] | None = None,
    compression: CompressionType = CompressionType.ZSTD,
    encoding: str = "cdr",
    **options: Any,
) -> Path:
    """(topic, type, time, bytes) as an MCAP file."""
    with path.open("wb") as file:
        writer = Writer(file, compression=compression, **options)
        writer.start("ros2", "test")
        schemas: dict[str, int] = {}
        channels: dict[tuple[str, str], int] = {}
        for topic, name, time_ns, data in messages:
            if name not in schemas:
                definition = STORE.generate_msgdef(name, ros_version=2)[0]
                schemas[name] = writer.register_schema(name, "ros2msg", definition.encode())
            if (topic, name) not in channels:
                metadata = {"offered_qos_profiles": (qos or {})[topic]} if topic in (qos or {}) else {}
                channels[topic, name] = writer.register_channel(topic, encoding, schemas[name], metadata)
            writer.add_message(channels[topic, name], time_ns, data, time_ns)
        writer.finish()
    return path


def write_rosbag2(path: Path, messages: list[tuple[str, str, int, bytes]], storage: str) -> Path:
    """The same as a folder of rosbag2."""
    with Writer2(path, version=9, storage_plugin=StoragePlugin[storage]) as writer:
        known: dict[tuple[str, str], Any] = {}
        for topic, name, time_ns, data in messages:
            if (topic, name) not in known:
                known[topic, name] = writer.add_connection(topic, name, typestore=STORE)
            writer.write(known[topic, name], time_ns, data)
    return path


def write_ros1(
    path: Path, messages: list[tuple[str, str, int, bytes]], latched: tuple[str, ...] = (), compression: str = ""
) -> Path:
    """The same as a bag of ROS 1."""
    writer = Writer1(path)
    if compression:
        writer.set_compression(Writer1.CompressionFormat[compression])
    with writer:
        known: dict[tuple[str, str], Any] = {}
        for topic, name, time_ns, data in messages:
            if (topic, name) not in known:
                known[topic, name] = writer.add_connection(
                    topic, name, typestore=STORE1, callerid="/test", latching=int(topic in latched)
                )
            writer.write(known[topic, name], time_ns, data)
    return path


def run(*arguments: object, code: int = 0) -> str:
    """The output of `baton bag` with these arguments."""
    done = CliRunner().invoke(command, [str(each) for each in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done.output
