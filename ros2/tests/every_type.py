# SPDX-License-Identifier: Apache-2.0
"""Every message type of the installed packages, filled with values that two processes agree on:
every_type.py send <readers> | hear native|raw."""

import importlib
import json
import random
import sys
import time

import rclpy
from rclpy.logging import LoggingSeverity, set_logger_level
from rclpy.serialization import deserialize_message
from rosidl_parser import definition as idl

PACKAGES = ["test_msgs", "sensor_msgs", "std_msgs", "geometry_msgs", "nav_msgs", "lifecycle_msgs", "rosgraph_msgs"]
LIMIT_S = 50
RANGES = {
    f"{sign}int{bits}": (0 if sign else -(1 << bits - 1), (1 << bits) - 1 if sign else (1 << bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ("u", "")
}


def types():
    for package in PACKAGES:
        module = importlib.import_module(package + ".msg")
        for name in sorted(dir(module)):
            if hasattr(getattr(module, name), "SLOT_TYPES"):
                yield f"{package}/{name}", getattr(module, name)


def text(kind, source):
    letters = "abcäö\u4e2d" if isinstance(kind, idl.AbstractWString) or not kind.has_maximum_size() else "abc"
    most = kind.maximum_size if kind.has_maximum_size() else 30
    return "".join(source.choices(letters, k=source.randint(0, most)))


def value(kind, source):
    if isinstance(kind, idl.NamespacedType):
        return filled(getattr(importlib.import_module(".".join(kind.namespaces)), kind.name), source)
    if isinstance(kind, idl.AbstractGenericString):
        return text(kind, source)
    if isinstance(kind, idl.Array):
        return [value(kind.value_type, source) for _ in range(kind.size)]
    if isinstance(kind, idl.AbstractSequence):
        most = min(kind.maximum_size, 9) if isinstance(kind, idl.BoundedSequence) else 9
        return [value(kind.value_type, source) for _ in range(source.randint(0, most))]
    if kind.typename == "boolean":
        return source.random() < 0.5
    if kind.typename == "octet":
        return bytes([source.randint(0, 255)])
    if kind.typename in ("float", "double"):
        return source.randint(-1000, 1000) / 8
    return source.randint(*RANGES.get(kind.typename, (0, 255)))


def filled(message_type, source):
    message = message_type()
    for slot, kind in zip(message.__slots__, message_type.SLOT_TYPES, strict=False):
        if slot != "_check_fields":
            setattr(message, slot.lstrip("_"), value(kind, source))
    return message


def spin_until(node, done):
    end = time.monotonic() + LIMIT_S
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(f"{sys.argv[1:]} not done in {LIMIT_S} s")
        rclpy.spin_once(node, timeout_sec=0.1)


def send(node, readers):
    publishers = [(node.create_publisher(kind, name, 10), filled(kind, random.Random(name))) for name, kind in types()]
    spin_until(node, lambda: all(each.get_subscription_count() >= int(readers) for each, _ in publishers))
    for publisher, message in publishers:
        publisher.publish(message)
    sys.stdin.readline()
    return {"sent": len(publishers)}


def hear(node, kind):
    got, wrong = [], []

    def heard(name, message_type, message):
        got.append(name)
        received = deserialize_message(message, message_type) if kind == "raw" else message
        expected = filled(message_type, random.Random(name))
        if received != expected:
            wrong.append(f"{name}: {received} instead of {expected}")

    every = list(types())
    for name, message_type in every:
        node.create_subscription(
            message_type, name, lambda m, n=name, t=message_type: heard(n, t, m), 10, raw=kind == "raw"
        )
    spin_until(node, lambda: len(got) >= len(every))
    return {"got": len(set(got)), "wrong": wrong}


def main():
    rclpy.init()
    set_logger_level("rmw_baton_cpp", LoggingSeverity.DEBUG)
    node = rclpy.create_node(sys.argv[1])
    report = globals()[sys.argv[1]](node, *sys.argv[2:])
    node.destroy_node()
    rclpy.shutdown()
    print(json.dumps(report))


main()
