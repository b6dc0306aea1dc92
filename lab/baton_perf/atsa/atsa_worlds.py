# SPDX-License-Identifier: Apache-2.0
"""The systems that ATSA's measurements compare, behind one face: World(name).publisher(kind) -> (send, matched),
.subscribe(kind, callback(stamp)), .spin().

A message carries CLOCK_MONOTONIC from the moment before publish(); a callback gets the stamp when the whole message is there as
a Python object. Each world is imported only where it runs: rclpy and Baton in the environment of ROS 2's wheels,
cyclonedds and iceoryx2 in .venv-peers, rospy in Debian's Python.
"""

from __future__ import annotations

import array
import ctypes
import dataclasses
import os
import sys
import threading
import time
from typing import Any

from atsa_messages import DEFINITIONS, IMAGE_BYTES, PACKAGE, PACKET_BYTES, PACKETS, WAYPOINTS, build, fields, genpy_text


def stamp_now(stamp: Any, origin: int | None) -> None:
    stamp.sec, stamp.nanosec = divmod(origin or time.monotonic_ns(), 10**9)


def rosidl_classes() -> Any:
    """The module with rclpy's classes (rosidl_package.py has made it)."""
    sys.path.insert(0, os.environ["ATSA_PACKAGES"])
    return __import__(f"{PACKAGE}.msg", fromlist=["msg"])


def rclpy_message(module: Any, kind: str) -> Any:
    return build(kind, lambda name, **f: getattr(module, name)(**f), lambda n: array.array("B", bytes(n)))


def in_place(publisher: Any, kind: str) -> Any:
    """send() with Baton's classes."""
    import numpy as np

    packet = np.zeros(PACKET_BYTES, np.uint8)

    def write(origin: int | None = None) -> None:
        loan = publisher.loan()
        if kind == "Image":
            loan.data.resize(IMAGE_BYTES)
            loan.data[:] = 1
        elif kind == "Lidar":
            loan.packets.resize(PACKETS)
            for each in loan.packets:
                each.data = packet
        elif kind == "WayPoints":
            loan.points.resize(WAYPOINTS)
            loan.points["pose"]["heading"] = 1
        stamp_now(loan.stamp, origin)
        publisher.publish(loan)

    return write


class Rclpy:
    """Stock; with baton.rclpy.accelerate(); with one of ATSA's two algorithms forced: lsa, hsa; with baton.rclpy's own publishers
    and subscriptions ("views")."""

    def __init__(self, variant: str):
        import rclpy

        self.module = rosidl_classes()
        if variant == "views":
            import baton

            baton.search(os.path.join(os.environ["ATSA_PACKAGES"], "source"))
        if variant == "accelerated":
            import baton.rclpy

            baton.rclpy.accelerate()
        elif variant in ("lsa", "hsa"):
            import baton.rclpy

            baton.rclpy.accelerate(algorithm=variant)
        self.views = variant == "views"
        self.rclpy = rclpy
        rclpy.init()
        self.node = rclpy.create_node(f"atsa_{time.monotonic_ns()}")

    def publisher(self, kind: str) -> Any:
        if self.views:
            import baton.rclpy

            mine = baton.rclpy.create_publisher(self.node, getattr(self.module, kind), kind)
            return in_place(mine, kind), lambda: mine.matched > 0
        publisher = self.node.create_publisher(getattr(self.module, kind), kind, 10)
        message = rclpy_message(self.module, kind)

        def send(origin: int | None = None) -> None:
            stamp_now(message.stamp, origin)
            publisher.publish(message)

        return send, lambda: publisher.get_subscription_count() > 0

    def subscribe(self, kind: str, callback: Any) -> None:
        cls = getattr(self.module, kind)
        if self.views:
            import baton.rclpy

            baton.rclpy.create_subscription(self.node, cls, kind, lambda view: callback(view.stamp))
        else:
            self.node.create_subscription(cls, kind, lambda message: callback(message.stamp), 10)

    def spin(self) -> None:
        threading.Thread(target=lambda: self.rclpy.spin(self.node), daemon=True).start()


class Baton:
    """rclpy's objects in and out of Baton's topics ("objects"), or Baton's own classes ("baton")."""

    def __init__(self, variant: str):
        import baton

        self.baton = baton
        baton.search(os.path.join(os.environ["ATSA_PACKAGES"], "source"))
        self.module = rosidl_classes() if variant == "objects" else None
        self.node = baton.Node("atsa")

    def publisher(self, kind: str) -> Any:
        publisher = self.node.advertise(kind, getattr(self.module, kind) if self.module else f"{PACKAGE}/{kind}")
        if self.module:
            message = rclpy_message(self.module, kind)

            def send(origin: int | None = None) -> None:
                stamp_now(message.stamp, origin)
                publisher.publish(message)

            return send, lambda: publisher.matched > 0

        return in_place(publisher, kind), lambda: publisher.matched > 0

    def subscribe(self, kind: str, callback: Any) -> None:
        if self.module:
            cls = getattr(self.module, kind)
            self.node.subscribe(kind, cls, lambda m: callback(self.baton.convert(m, cls).stamp))
        else:
            self.node.subscribe(kind, f"{PACKAGE}/{kind}", lambda message: callback(message.stamp))

    def spin(self) -> None:
        threading.Thread(target=lambda: self.baton.spin(self.node), daemon=True).start()


class Rospy:
    """Stock, or with baton.rospy.accelerate(). A master must run (atsa.py starts one)."""

    def __init__(self, variant: str):
        import genpy.dynamic
        import rospy

        if variant == "accelerated":
            import baton.rospy

            baton.rospy.accelerate()
        self.rospy, self.dynamic = rospy, genpy.dynamic
        rospy.init_node("atsa", anonymous=True, disable_signals=True)

    def classes(self, kind: str) -> Any:
        return self.dynamic.generate_dynamic(f"{PACKAGE}/{kind}", genpy_text(kind))

    def publisher(self, kind: str) -> Any:
        classes = self.classes(kind)
        publisher = self.rospy.Publisher(kind, classes[f"{PACKAGE}/{kind}"], queue_size=10, tcp_nodelay=True)
        message = build(kind, lambda name, **f: classes[f"{PACKAGE}/{name}"](**f), bytes)

        def send(origin: int | None = None) -> None:
            stamp_now(message.stamp, origin)
            publisher.publish(message)

        return send, lambda: publisher.get_num_connections() > 0

    def subscribe(self, kind: str, callback: Any) -> None:
        cls = self.classes(kind)[f"{PACKAGE}/{kind}"]
        self.rospy.Subscriber(
            kind, cls, lambda m: callback(m.stamp), queue_size=10, buff_size=1 << 24, tcp_nodelay=True
        )

    def spin(self) -> None:
        """rospy has threads of its own."""


class CycloneDDS:
    """Its dataclasses. uint8[] may be given as bytes, and is received as a list."""

    def __init__(self, variant: str):
        from cyclonedds.domain import DomainParticipant

        self.participant = DomainParticipant(int(os.environ["ROS_DOMAIN_ID"]))
        self.classes = self.classes_of_messages()
        self.topics: dict[str, Any] = {}
        self.readers: list[Any] = []

    @staticmethod
    def classes_of_messages() -> dict[str, Any]:
        from cyclonedds.idl import IdlStruct, types

        made: dict[str, Any] = {}
        plain = {
            "int32": (types.int32, 0),
            "uint32": (types.uint32, 0),
            "uint8": (types.uint8, 0),
            "float64": (types.float64, 0.0),
        }
        for name in DEFINITIONS:
            members: list[Any] = []
            for base, bracket, field in fields(name):
                one, zero = plain.get(base) or (made[base], made[base])
                if bracket == "[]":
                    members.append((field, types.sequence[one], dataclasses.field(default_factory=list)))
                elif bracket:
                    count = int(bracket[1:-1])
                    default = dataclasses.field(default_factory=lambda n=count: [0.0] * n)
                    members.append((field, types.array[one, count], default))
                elif callable(zero):
                    members.append((field, one, dataclasses.field(default_factory=zero)))
                else:
                    members.append((field, one, dataclasses.field(default=zero)))
            space = {"__module__": __name__, "__annotations__": {m[0]: m[1] for m in members}}
            space.update({m[0]: m[2] for m in members})
            cls = type(IdlStruct)(name, (IdlStruct,), space, typename=f"{PACKAGE}.{name}")
            made[name] = dataclasses.dataclass(cls)
        return made

    def topic(self, kind: str) -> Any:
        from cyclonedds.core import Policy, Qos
        from cyclonedds.topic import Topic
        from cyclonedds.util import duration

        if kind not in self.topics:
            qos = Qos(Policy.Reliability.Reliable(duration(seconds=10)), Policy.History.KeepLast(10))
            self.topics[kind] = Topic(self.participant, kind, self.classes[kind], qos=qos), qos
        return self.topics[kind]

    def publisher(self, kind: str) -> Any:
        from cyclonedds.pub import DataWriter

        topic, qos = self.topic(kind)
        writer = DataWriter(self.participant, topic, qos=qos)
        message = build(kind, lambda name, **f: self.classes[name](**f), bytes)

        def send(origin: int | None = None) -> None:
            stamp_now(message.stamp, origin)
            writer.write(message)

        return send, lambda: len(writer.get_matched_subscriptions()) > 0

    def subscribe(self, kind: str, callback: Any) -> None:
        from cyclonedds.sub import DataReader

        topic, qos = self.topic(kind)
        self.readers.append((DataReader(self.participant, topic, qos=qos), callback))

    def spin(self) -> None:
        from cyclonedds.core import InstanceState, ReadCondition, SampleState, ViewState, WaitSet
        from cyclonedds.util import duration

        def loop() -> None:
            waitset = WaitSet(self.participant)
            mask = SampleState.Any | ViewState.Any | InstanceState.Any
            conditions = [ReadCondition(reader, mask) for reader, _ in self.readers]
            for condition in conditions:
                waitset.attach(condition)
            while True:
                waitset.wait(duration(seconds=1))
                for reader, callback in self.readers:
                    for message in reader.take(N=1):
                        callback(message.stamp)

        threading.Thread(target=loop, daemon=True).start()


class Iceoryx2:
    """Its Python messages are fixed ctypes structures: sequences have the most that is sent. An event wakes the subscriber."""

    def __init__(self, variant: str):
        import iceoryx2

        self.iox = iceoryx2
        iceoryx2.set_log_level(iceoryx2.LogLevel.Error)
        self.node = iceoryx2.NodeBuilder.new().create(iceoryx2.ServiceType.Ipc)
        self.classes = self.classes_of_messages()
        self.readers: list[Any] = []
        self.kept: list[Any] = []

    @staticmethod
    def classes_of_messages() -> dict[str, Any]:
        made: dict[str, Any] = {}
        plain = {
            "int32": ctypes.c_int32,
            "uint32": ctypes.c_uint32,
            "uint8": ctypes.c_uint8,
            "float64": ctypes.c_double,
        }
        most = {"packets": PACKETS, "points": WAYPOINTS}
        for name in DEFINITIONS:
            if name in "ABC":
                continue
            members = []
            for base, bracket, field in fields(name):
                one = plain.get(base) or made[base]
                if bracket == "[]":
                    one = one * most.get(field, PACKET_BYTES if name == "Packet" else IMAGE_BYTES)
                elif bracket:
                    one = one * int(bracket[1:-1])
                members.append((field, one))
            made[name] = type(name, (ctypes.Structure,), {"_fields_": members})
        return made

    def _services(self, kind: str) -> Any:
        name = f"atsa_{os.environ['ROS_DOMAIN_ID']}_{kind}"
        data = self.node.service_builder(self.iox.ServiceName.new(name))
        event = self.node.service_builder(self.iox.ServiceName.new(name))
        services = data.publish_subscribe(self.classes[kind]).open_or_create(), event.event().open_or_create()
        self.kept.append(services)
        return services

    def publisher(self, kind: str) -> Any:
        data, event = self._services(kind)
        publisher, notifier = data.publisher_builder().create(), event.notifier_builder().create()

        def send(origin: int | None = None) -> None:
            sample = publisher.loan_uninit()
            payload = sample.payload().contents
            if kind == "Image":
                ctypes.memset(payload.data, 1, IMAGE_BYTES)
            elif kind == "Lidar":
                for packet in payload.packets:
                    ctypes.memset(packet.data, 1, PACKET_BYTES)
            elif kind == "WayPoints":
                ctypes.memset(payload.points, 0, ctypes.sizeof(payload.points))
            stamp_now(payload.stamp, origin)
            sample.assume_init().send()
            notifier.notify()

        return send, lambda: data.dynamic_config.number_of_subscribers > 0

    def subscribe(self, kind: str, callback: Any) -> None:
        data, event = self._services(kind)
        self.readers.append((data.subscriber_builder().create(), event.listener_builder().create(), callback))

    def spin(self) -> None:
        def loop(subscriber: Any, listener: Any, callback: Any) -> None:
            while True:
                listener.timed_wait(self.iox.Duration.from_millis(1000))
                while (sample := subscriber.receive()) is not None:
                    callback(sample.payload().contents.stamp)
                    sample.delete()

        for reader in self.readers:
            threading.Thread(target=loop, args=reader, daemon=True).start()


WORLDS = {  # name -> (class, variant, which Python)
    "rclpy": (Rclpy, "stock", "ros2"),
    "rclpy-lsa": (Rclpy, "lsa", "ros2"),
    "rclpy-hsa": (Rclpy, "hsa", "ros2"),
    "accelerated": (Rclpy, "accelerated", "ros2"),
    "rmw": (Rclpy, "stock", "ros2"),  # over rmw_baton_cpp
    "rmw-accelerated": (Rclpy, "accelerated", "ros2"),
    "rmw-views": (Rclpy, "views", "ros2"),
    "objects": (Baton, "objects", "ros2"),
    "baton": (Baton, "own", "ros2"),
    "rospy": (Rospy, "stock", "debian"),
    "rospy-accelerated": (Rospy, "accelerated", "debian"),
    "cyclonedds": (CycloneDDS, "", "peers"),
    "iceoryx2": (Iceoryx2, "", "peers"),
}
