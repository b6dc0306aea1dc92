# SPDX-License-Identifier: Apache-2.0
"""What genpy_test.py runs under a Python that has genpy: accelerated serialize() and deserialize() against genpy's own."""

from __future__ import annotations

import io
import random
import sys

import baton
import baton.rospy
import genpy
import genpy.dynamic

NESTED = """
Header header
bool flag
bool[] flags
bool[2] two
byte b
char c
byte[] bytes
uint8[] data
uint8[4] four
char[] chars
int16[3] triple
uint64[] numbers
float32 f
float64[] doubles
string text
string[] names
time stamp
duration length
time[] stamps
pkg/Inner inner
pkg/Inner[] inners
pkg/Inner[2] pair
================================================================================
MSG: pkg/Inner
string name
geometry_msgs/Point[] points
pkg/Empty[] nothing
================================================================================
MSG: pkg/Empty

================================================================================
MSG: geometry_msgs/Point
float64 x
float64 y
float64 z
================================================================================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
"""
rnd = random.Random(3)
classes = genpy.dynamic.generate_dynamic("pkg/Everything", NESTED)
Everything = classes["pkg/Everything"]


def inner():
    point = classes["geometry_msgs/Point"]
    return classes["pkg/Inner"](
        "näme", [point(rnd.random(), 2, 3) for _ in range(rnd.randrange(3))], [classes["pkg/Empty"]()]
    )


def filled():
    header = classes["std_msgs/Header"](7, genpy.Time(1, 2), "frame")
    return Everything(
        header, True, [True, False], [False, True], -5, 200, [-1, 2], b"data" * rnd.randrange(9), b"four", b"\xff", (1, -2, 3),
        [2**63], 0.5, [rnd.random() for _ in range(rnd.randrange(5))], "text ü", ["a", ""], genpy.Time(3, 4), genpy.Duration(-1, 5),
        [genpy.Time(5, 6)], inner(), [inner(), inner()], [inner(), inner()],
    )  # fmt: skip


def wire(message):
    buffer = io.BytesIO()
    message.serialize(buffer)
    return buffer.getvalue()


def held(message):
    """The types in which the fields are held."""
    return [type(getattr(message, name)) for name in message.__slots__]


def numpy_arrays_stay():
    """Those of a class of rospy's numpy_msg."""
    from rospy.numpy_msg import numpy_msg

    scan = genpy.dynamic.generate_dynamic("t/Scan", "float32[] ranges")["t/Scan"]
    data = wire(scan(ranges=[1, 2]))
    assert not baton.rospy.accelerate_class(numpy_msg(scan)) and baton.rospy.accelerate_class(scan)
    assert type(numpy_msg(scan)().deserialize(data).ranges).__name__ == "ndarray"


def main():
    for _ in range(50):
        baton.rospy.decelerate()
        message = filled()
        stock_wire = wire(message)
        stock = Everything().deserialize(stock_wire)
        assert baton.rospy.accelerate_class(Everything)
        assert wire(message) == stock_wire
        mine = Everything().deserialize(stock_wire)
        assert mine == stock
        assert held(mine) == held(stock), (held(mine), held(stock))
        for end in range(0, len(stock_wire), 9):
            try:
                Everything().deserialize(stock_wire[:end])
            except genpy.DeserializationError:
                continue
            raise AssertionError(end)
    wrong = filled()
    wrong.text = 5
    try:
        wire(wrong)
    except genpy.SerializationError:
        pass
    else:
        raise AssertionError("a wrong type was serialized")
    header = baton.message("std_msgs/Header")(classes["std_msgs/Header"](7, genpy.Time(1, 2), "frame"))
    back = baton.convert(header, classes["std_msgs/Header"])
    assert (back.seq, back.stamp, back.frame_id) == (7, genpy.Time(1, 2), "frame")
    stamp = header.stamp
    assert genpy.Time(3, 5) - stamp == genpy.Duration(2, 3) == -(stamp - genpy.Time(3, 5))
    assert stamp + genpy.Duration(1, 0) == genpy.Duration(1, 0) + stamp == genpy.Time(2, 2)
    assert stamp - genpy.Duration(0, 2) == genpy.Time(1, 0)
    assert (
        genpy.Time(3, 5) > stamp
        and stamp < genpy.Time(3, 5)
        and not stamp > genpy.Time(1, 2)
        and stamp >= genpy.Time(1, 2)
    )
    assert baton.message("builtin_interfaces/Duration")(sec=1) < genpy.Duration(2, 0)
    for wrong in (lambda: genpy.Time(3, 5) + stamp, lambda: stamp < genpy.Duration(2, 0)):
        try:
            wrong()
        except TypeError:
            continue
        raise AssertionError("two times were added, or a time compared with a duration")
    numpy_arrays_stay()
    print("genpy")


sys.exit(main())
