# SPDX-License-Identifier: Apache-2.0
"""Every type of the installed interface packages, filled with values that every end makes for itself (as every_type_values.hpp):
every_type.py list <file> | send <file> <readers> | hear <file> <sender> ...
The file has a type a line, which is also its topic, below EVERY_TYPE_NAMESPACE. Every sender publishes a message as an object and
one serialized; every reader takes each both ways."""

import importlib
import os
import sys
from pathlib import Path

import rclpy
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.serialization import deserialize_message, serialize_message
from rclpy_program import report_and_end, wait_until
from rosidl_parser import definition as idl

LIMIT_S = 280
MASK = (1 << 64) - 1
PARTS = ("Request", "Response", "Goal", "Result", "Feedback")


class Source:
    """SplitMix64, from the FNV-1a hash of a name."""

    def __init__(self, name):
        self.state = 0xCBF29CE484222325
        for byte in name.encode():
            self.state = (self.state ^ byte) * 0x100000001B3 & MASK

    def next(self):
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return z ^ z >> 31

    def below(self, limit):
        return self.next() % limit


def names():
    """Messages, and the parts of services and actions, of every installed package."""
    index = Path(sys.prefix) / "share/ament_index/resource_index/rosidl_interfaces"
    for package in sorted(each.name for each in index.iterdir()):
        for kind in ("msg", "srv", "action"):
            try:
                module = importlib.import_module(f"{package}.{kind}")
            except ImportError:
                continue
            for name in sorted(dir(module)):
                found = getattr(module, name)
                if kind == "msg" and hasattr(found, "SLOT_TYPES"):
                    yield f"{package}/msg/{name}"
                for part in PARTS:
                    if kind != "msg" and hasattr(getattr(found, part, None), "SLOT_TYPES"):
                        yield f"{package}/{kind}/{name}_{part}"


def type_of(name):
    package, kind, base = name.split("/")
    module = importlib.import_module(f"{package}.{kind}")
    if kind == "msg":
        return getattr(module, base)
    service, part = base.rsplit("_", 1)
    return getattr(getattr(module, service), part)


def text(kind, source):
    bound = kind.maximum_size if kind.has_maximum_size() else 0
    wide = isinstance(kind, idl.AbstractWString)
    letters = "abcä\u4e2d" if wide else "abcäö"
    length = source.below((bound if 0 < bound < 19 else 19) + 1)
    return "".join(letters[source.below(5 if wide or not bound else 3)] for _ in range(length))


def value(kind, source):
    if isinstance(kind, idl.NamespacedType):
        return filled(getattr(importlib.import_module(".".join(kind.namespaces)), kind.name), source)
    if isinstance(kind, idl.AbstractGenericString):
        return text(kind, source)
    if isinstance(kind, idl.Array):
        return [value(kind.value_type, source) for _ in range(kind.size)]
    if isinstance(kind, idl.AbstractSequence):
        most = min(kind.maximum_size, 4) if isinstance(kind, idl.BoundedSequence) else 4
        return [value(kind.value_type, source) for _ in range(source.below(most + 1))]
    bits = source.next()
    if kind.typename == "boolean":
        return bool(bits & 1)
    if kind.typename == "octet":
        return bytes([bits & 0xFF])
    if kind.typename in ("float", "double"):
        return (bits % 2001 - 1000) / 8
    width = int(kind.typename.strip("uint") or 8) if "int" in kind.typename else 8
    bits &= (1 << width) - 1
    return bits - (1 << width) if kind.typename.startswith("int") and bits >> width - 1 else bits


def filled(message_type, source):
    message = message_type()
    for slot, kind in zip(message.__slots__, message_type.SLOT_TYPES, strict=False):
        if slot != "_check_fields":
            setattr(message, slot.lstrip("_"), value(kind, source))
    return message


def send(node, types, readers):
    publishers = [(node.create_publisher(kind, name, 10), kind, name) for name, kind in types]
    wait_until(
        lambda: all(each.get_subscription_count() >= int(readers) for each, _, _ in publishers),
        lambda: "nobody hears",
        LIMIT_S,
    )
    for publisher, kind, name in publishers:
        publisher.publish(filled(kind, Source(f"{name} python struct")))
        publisher.publish(serialize_message(filled(kind, Source(f"{name} python bytes"))))
    sys.stdin.readline()
    return {"sent": len(publishers)}


def hear(node, types, *senders):
    wrong, hearings = [], []
    for name, kind in types:
        for raw in (False, True):
            subscription = node.create_subscription(kind, name, lambda _: None, 10, raw=raw)
            seeds = [f"{name} {sender} {way}" for sender in senders for way in ("struct", "bytes")]
            hearings.append((name, kind, subscription, [filled(kind, Source(seed)) for seed in seeds]))

    def take_all():
        for name, kind, subscription, expected in hearings:
            while expected:
                with subscription.handle:
                    taken = subscription.handle.take_message(kind, subscription.raw)
                if taken is None:
                    break
                message = deserialize_message(taken[0], kind) if subscription.raw else taken[0]
                if message in expected:
                    expected.remove(message)
                else:
                    wrong.append(f"{name}: {message} instead of one of {expected}")
                    expected.pop()
        return not any(expected for *_, expected in hearings)

    wait_until(take_all, lambda: f"missed {[name for name, *_, expected in hearings if expected]}", LIMIT_S)
    return {"types": len(types), "wrong": wrong}


def main():
    role, file, *arguments = sys.argv[1:]
    if role == "list":
        with open(file, "w") as lines:
            lines.writelines(f"{name}\n" for name in names())
        return
    with open(file) as lines:
        types = [(name, type_of(name)) for name in lines.read().split()]
    rclpy.init()
    set_logger_level("rmw_baton_cpp", LoggingSeverity.DEBUG)
    node = rclpy.create_node(role, namespace=os.environ.get("EVERY_TYPE_NAMESPACE", ""))
    report = globals()[role](node, types, *arguments)
    report_and_end(report, node)


main()
