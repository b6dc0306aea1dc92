# SPDX-License-Identifier: Apache-2.0
"""Objects of rosbags, of genpy-like classes and of anything with attributes."""

from types import SimpleNamespace

import baton
import numpy as np
import pytest
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


def test_what_is_no_message_class_is_said():
    with pytest.raises(TypeError, match="no message class"):
        baton.convert(baton.message("std_msgs/String")(), int)
    with pytest.raises(TypeError, match="typestore.types"):
        baton.convert(baton.message("std_msgs/Header")(), STORE.types["std_msgs/msg/Header"])


def test_what_only_rospy_can_write_keeps_its_bits():
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
