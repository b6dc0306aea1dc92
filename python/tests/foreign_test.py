# SPDX-License-Identifier: Apache-2.0
"""Objects of rosbags, of genpy-like classes and of anything with attributes."""

import dataclasses
import random
from types import SimpleNamespace

import baton
import numpy as np
import pytest
from baton_generator.model import Shape
from rosbags.typesys import Stores, get_typestore

STORE = get_typestore(Stores.ROS2_HUMBLE)


def rosbags_path():
    t = STORE.types
    stamp = t["builtin_interfaces/msg/Time"](sec=1, nanosec=2)
    header = t["std_msgs/msg/Header"](stamp=stamp, frame_id="map")
    pose = t["geometry_msgs/msg/Pose"](
        position=t["geometry_msgs/msg/Point"](x=1.0, y=2.0, z=3.0),
        orientation=t["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0),
    )
    stamped = t["geometry_msgs/msg/PoseStamped"](header=header, pose=pose)
    return t["nav_msgs/msg/Path"](header=header, poses=[stamped, stamped])


def test_rosbags_objects_are_accepted_and_produced():
    path = rosbags_path()
    message = baton.message(type(path))(path)
    assert (len(message.poses), message.poses[1].pose.position.y, message.header.frame_id) == (2, 2.0, "map")
    assert baton.convert(message, type(path), STORE.types) == path
    array = STORE.types["geometry_msgs/msg/PoseArray"](header=path.header, poses=[p.pose for p in path.poses])
    assert baton.convert(baton.message("geometry_msgs/PoseArray")(array), type(array), STORE.types) == array
    image = baton.message("sensor_msgs/Image")(data=b"abc")
    made = baton.convert(image, STORE.types["sensor_msgs/msg/Image"], STORE.types)
    assert np.array_equal(made.data, [97, 98, 99])
    made.data[0] = 0
    assert image.data[0] == 97


ENDS = {
    "b": [False, True],
    "i": [-1, 0],
    "u": [-1, 0],
    "f": [float("-inf"), 0.0, 1e-40, 7.0],
    "U": ["", "x", "\u00e4" * 9, "\0", "\U0001f40d"],
}


def values_of(kind, seed):
    """Keywords for a message class of Baton in which each field has a value, mostly one of the ends of its range."""
    choose = random.Random(f"{kind.__qualname__} {seed}")

    def scalar(base):
        if base in ("string", "wstring"):
            return choose.choice(ENDS["U"])
        if base == "bool":
            return choose.random() < 0.5
        dtype = np.dtype(base)
        if dtype.kind == "f":
            return float(dtype.type(choose.choice(ENDS["f"])))
        limits = np.iinfo(dtype)
        return choose.choice(
            [int(limits.min), int(limits.max), 0, 200 % (int(limits.max) + 1), 128 % (int(limits.max) + 1)]
        )

    def value(member, struct):
        def one():
            return message(struct.nested[member.type.base]) if member.type.is_message else scalar(member.type.base)

        if member.type.shape is Shape.SINGLE:
            return one()
        most = min(member.type.count or 3, 3)
        return [
            one() for _ in range(member.type.count if member.type.shape is Shape.ARRAY else choose.randint(0, most))
        ]

    def message(struct):
        return {member.name: value(member, struct) for member in struct.members}

    return message(kind._struct)


def same(one, other):
    """Of two objects of rosbags: the same classes, values and types of the arrays' elements."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)
        )
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


def without_seq(message, ros1):
    """The values as rosbags has them: in ROS 2 there is no Header.seq."""

    def clear(values):
        if isinstance(values, dict):
            if set(values) == {"seq", "stamp", "frame_id"}:
                values["seq"] = 0
            list(map(clear, values.values()))
        elif isinstance(values, list):
            list(map(clear, values))
        return values

    return message if ros1 else type(message)(clear(baton.to_dict(message)))


def definitions():
    """(its store, name of a type) of each definition that a standard set has, once: most types are the same in all distributions of a ROS."""
    seen = set()
    for name in (each.value for each in Stores if each.value not in ("empty", "latest")):
        store, version = get_typestore(Stores(name)), 1 if name.startswith("ros1") else 2
        for full_name in store.types:
            if (text := (version, *store.generate_msgdef(full_name, ros_version=version))) not in seen:
                seen.add(text)
                yield name, store, full_name


def test_every_definition_of_a_type_goes_to_rosbags_and_back():
    wrong, sources = [], {}
    for name, store, full_name in definitions():
        ros1 = name.startswith("ros1")
        write, read = (
            (store.serialize_ros1, store.deserialize_ros1) if ros1 else (store.serialize_cdr, store.deserialize_cdr)
        )
        kind = sources.setdefault(name, baton.TypeSource(standard=name)).message(full_name)
        for message in (kind(), kind(values_of(kind, 1)), kind(values_of(kind, 2))):
            try:
                made = baton.convert(message, store.types[full_name], store.types)
                back = read(write(made, full_name), full_name)
                if not same(made, back):
                    wrong.append((name, full_name, "rosbags reads something else", made, back))
                if [str(kind(made)), str(kind(back))] != [str(without_seq(message, ros1))] * 2:
                    wrong.append((name, full_name, "Baton reads something else", made, back, message))
            except Exception as error:
                wrong.append((name, full_name, repr(error)))
    assert len(sources) > 2 and not wrong, f"{len({each[:2] for each in wrong})} types: {wrong[:5]}"


def test_rosbags_objects_are_published():
    node = baton.Node("rosbags")
    publisher = node.advertise("path", STORE.types["nav_msgs/msg/Path"])
    subscription = node.subscribe("path", "nav_msgs/Path")
    assert publisher.wait_for_subscriptions(1, 120)
    publisher.publish(rosbags_path())
    assert subscription.take(120).poses[0].pose.orientation.w == 1.0


def test_any_object_with_the_attributes_will_do():
    class Slots:
        __slots__ = ("x", "y", "z")

    point = Slots()
    point.x, point.y, point.z = 1, 2, 3
    orientation = SimpleNamespace(x=0, y=0, z=0, w=1)
    pose = baton.message("geometry_msgs/Pose")(SimpleNamespace(position=point, orientation=orientation))
    assert (pose.position.x, pose.position.z) == (1.0, 3.0)
    point.x = 7
    pose.position = point
    assert pose.position.x == 7.0
    del point.y
    with pytest.raises(AttributeError, match="y"):
        pose.position = point
    with pytest.raises(TypeError, match="no attribute 'x'"):
        pose.position = SimpleNamespace(y=1)


def test_genpy_shaped_objects_are_accepted():
    stamp = SimpleNamespace(secs=5, nsecs=6)
    header = baton.message("std_msgs/Header")(SimpleNamespace(seq=1, stamp=stamp, frame_id="x"))
    assert (header.seq, header.stamp.sec, header.stamp.nanosec) == (1, 5, 6)


def test_an_object_that_is_no_message_class_is_an_error():
    with pytest.raises(TypeError, match="no message class"):
        baton.convert(baton.message("std_msgs/String")(), int)
    with pytest.raises(TypeError, match="typestore.types"):
        baton.convert(baton.message("std_msgs/Header")(), STORE.types["std_msgs/msg/Header"])


def test_signed_bytes_and_late_seconds_of_rospy_keep_their_bits():
    # docs/format/ros1-ros2-equivalence.md: `byte` is signed in genpy, and seconds are not.
    of_rospy = type("Level", (SimpleNamespace,), {"_slot_types": ["byte", "byte[]"]})
    kind = baton.message_from_text("test_msgs/Level", "byte level\nbyte[] more\n")
    made = kind(of_rospy(level=-81, more=[-1, 0, 127, -128, 255]))
    assert (made.level, list(made.more)) == (175, [255, 0, 127, 128, 255])
    with pytest.raises(OverflowError, match="level"):
        kind(SimpleNamespace(level=-81, more=[]))
    with pytest.raises(OverflowError, match="more"):
        kind(of_rospy(level=0, more=[256]))
    late = baton.message("builtin_interfaces/Time")(SimpleNamespace(secs=2**32 - 1, nsecs=5))
    assert (late.sec, late.nanosec) == (-1, 5)
    with pytest.raises(OverflowError, match="sec"):
        baton.message("builtin_interfaces/Time")(SimpleNamespace(secs=2**32, nsecs=5))


def test_the_empty_definition_of_a_class_of_rospy_is_a_definition():
    empty = type("Nothing", (), {"_type": "test_msgs/Nothing", "_full_text": ""})
    assert baton.message(empty)() == baton.message_from_text("test_msgs/Nothing", "")()
