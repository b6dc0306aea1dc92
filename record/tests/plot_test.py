# SPDX-License-Identifier: Apache-2.0
"""`baton plot`: the picture of some lines, the fields that can be plotted, and the output on a terminal and in a file."""

from __future__ import annotations

import fcntl
import math
import os
import re
import signal
import struct
import sys
import termios
from contextlib import contextmanager

import baton
import numpy as np
import pytest
from baton_record.plot_fields import FieldError, field, numbers, split
from baton_record.plot_figure import Line, Look, draw
from baton_record.verbs.plot import command
from click.testing import CliRunner
from support import processes
from support.build import needs_package
from support.processes import LOG, Programs
from support.waiting import until

pytestmark = needs_package()
LATCHED = baton.QoS(5, durability="transient_local")
STEPS = Line("/a.data", np.linspace(0, 10, 11), np.arange(11.0))


def rows(lines, **look):
    return draw(lines, (0, 10), Look(**({"columns": 40, "rows": 12} | look))).plain.split("\n")


def dots(text):
    return {c for c in text if 0x2800 < ord(c) <= 0x28FF}


def test_a_picture_has_exactly_the_size_of_the_terminal():
    for columns, height, count in ((80, 24, 1), (80, 24, 3), (31, 10, 2)):
        shown = rows([STEPS] * count, columns=columns, rows=height)
        assert len(shown) == height
        assert max(map(len, shown)) == columns


def test_a_line_runs_from_the_oldest_value_at_the_left_to_the_newest_at_the_right():
    shown = rows([STEPS], limits=(0.0, 10.0), colour=False, braille=False)
    height = 10
    bar = shown[0].index("|")
    at = {column: row for row in range(height) for column, c in enumerate(shown[row][bar + 1 :]) if c == "*"}
    assert sorted(at) == list(range(40 - bar - 1))  # no gap
    assert [at[column] for column in sorted(at)] == sorted(at.values(), reverse=True)
    assert (at[0], at[40 - bar - 2]) == (height - 1, 0)
    assert shown[0].strip().startswith("10|") and shown[height - 1].strip().startswith("0|")
    assert shown[-2].split() == ["-10", "s", "-5", "s", "now"]
    assert shown[-1] == "* /a.data  10"


def test_values_that_are_not_finite_are_gaps():
    values = np.where((STEPS.seconds > 3) & (STEPS.seconds < 7), np.nan, 1.0)
    values[9] = np.inf
    (shown,) = (
        row for row in rows([Line("/a.data", STEPS.seconds, values)], braille=False, colour=False) if "**" in row
    )
    assert re.fullmatch(r" *[\d.]+\|\*+ +\*+ +\*", shown), shown
    nothing = rows([Line("/a.data", STEPS.seconds, np.full(11, np.nan))])
    assert not dots("".join(nothing))
    assert rows([Line("/a.data", np.empty(0), np.empty(0))])[-1] == "━ /a.data  no value yet"


@pytest.mark.parametrize("values", [[0.0, 0.0], [5.0, 5.0], [-1.7e308, 1.7e308], [5e-324, 1e-323], [1e16, 1e16 + 2]])
def test_each_range_of_values_has_a_picture(values):
    line = Line("/a.data", np.array([0.0, 10.0]), np.array(values))
    shown = rows([line])
    assert dots("".join(shown))
    assert len(shown) == 12


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (-1.1, 1.1, ["1.1", "-1.1"]),
        (0.0, 10.0, ["10", "0"]),
        (1e-9, 2e-9, ["2e-09", "1e-09"]),
        (-1e9, 1e9, ["1e+09", "-1e+09"]),
        (1000.0, 1000.01, ["1000.01", "1000"]),
    ],
)
def test_labels_have_the_digits_that_they_need(low, high, labels):
    shown = rows([STEPS], limits=(low, high), braille=False, colour=False)[:10]
    seen = [row.partition("|")[0].strip() for row in shown]
    assert [seen[0], seen[-1]] == labels
    assert all(len(each) <= 10 for each in seen)


def test_values_outside_of_the_range_and_of_the_window_are_not_drawn():
    line = Line("/a.data", np.array([-5.0, -1.0, 2.0, 3.0, 4.0]), np.array([1.0, 1.0, 50.0, 1e300, -1e300]))
    inside = rows([line], limits=(0.0, 2.0), braille=False, colour=False)
    assert len(inside) == 12
    assert [row.rstrip().endswith("|") or "*" in row for row in inside[:10]] == [True] * 10
    below = rows([Line("/a.data", np.array([2.0, 8.0]), np.array([-5.0, -5.0]))], limits=(0.0, 1.0))
    assert not dots("".join(below))


def test_lines_without_colours_have_a_character_each():
    other = Line("/b.data", STEPS.seconds, 10 - STEPS.values)
    shown = "\n".join(rows([STEPS, other], colour=False))
    assert shown.count("+") > 10 and shown.count("*") > 10 and not dots(shown)
    coloured = draw([STEPS, other], (0, 10), Look(40, 12))
    assert dots(coloured.plain)
    assert {str(span.style) for span in coloured.spans} == {"cyan", "yellow"}


def struct_of(name):
    return baton.message(name)._struct


def test_numbers_are_found_by_their_paths():
    odometry = baton.message("nav_msgs/Odometry")()
    odometry.pose.pose.position.x, odometry.header.stamp.sec, odometry.header.stamp.nanosec = 1.5, 3, 500_000_000
    odometry.pose.covariance[7] = 2.5
    for path, value in (("pose.pose.position.x", 1.5), ("header.stamp", 3.5), ("pose.covariance[7]", 2.5)):
        assert field("/odom", path, struct_of("nav_msgs/Odometry")).of(odometry) == value
    scan = baton.message("sensor_msgs/LaserScan")({"ranges": [1.0, 2.0]})
    ranges = [field("/scan", f"ranges[{n}]", struct_of("sensor_msgs/LaserScan")).of(scan) for n in (1, 2)]
    assert ranges[0] == 2.0 and math.isnan(ranges[1])
    path = baton.message("nav_msgs/Path")({"poses": [{"pose": {"position": {"y": 4.0}}}]})
    assert field("/path", "poses[0].pose.position.y", struct_of("nav_msgs/Path")).of(path) == 4.0
    assert field("/on", "data", struct_of("std_msgs/Bool")).of(baton.message("std_msgs/Bool")({"data": True})) == 1.0
    assert split("odom.pose.x") == ("/odom", "pose.x")


def test_each_number_of_each_type_that_is_named_can_be_plotted():
    for name in (
        "nav_msgs/Odometry",
        "sensor_msgs/JointState",
        "sensor_msgs/Imu",
        "tf2_msgs/TFMessage",
        "geometry_msgs/PoseArray",
        "diagnostic_msgs/DiagnosticArray",
        "trajectory_msgs/JointTrajectory",
        "std_msgs/Float64",
    ):
        message = baton.message(name)()
        paths = list(numbers(struct_of(name)))
        assert paths
        for path in paths:
            assert isinstance(field("/t", path, struct_of(name)).of(message), float)
    poses = baton.message("geometry_msgs/PoseArray")({"poses": [{"position": {"y": 4.0}}]})
    assert field("/t", "poses[0].position.y", struct_of("geometry_msgs/PoseArray")).of(poses) == 4.0
    steps = baton.message("trajectory_msgs/JointTrajectory")({"points": [{"time_from_start": {"sec": 2}}]})
    assert field("/t", "points[0].time_from_start", struct_of("trajectory_msgs/JointTrajectory")).of(steps) == 2.0


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("", "which field of /imu (sensor_msgs/Imu)? its numbers: header.stamp, orientation.x"),
        ("nothing", "sensor_msgs/Imu has no field nothing; "),
        ("orientation.xx", "has no field orientation.xx; did you mean orientation.x"),
        ("orientation", "/imu.orientation is of type geometry_msgs/Quaternion, no number; its numbers: orientation.x,"),
        ("header.frame_id", "is of type string, no number; its numbers: header.stamp"),
        ("orientation_covariance", "is an array; name an element: /imu.orientation_covariance[0]"),
        ("orientation_covariance[9]", "orientation_covariance has at most 9 elements"),
        ("orientation.x[0]", "x is no array"),
        ("orientation..x", "has no field orientation..x"),
        ("orientation_covariance[-1]", "has no field orientation_covariance[-1]"),
    ],
)
def test_a_field_that_is_no_number_is_refused_with_those_that_are(path, said):
    with pytest.raises(FieldError, match=re.escape(said)):
        field("/imu", path, struct_of("sensor_msgs/Imu"))


def test_a_type_without_numbers_says_so():
    with pytest.raises(FieldError, match="std_msgs/String has no numbers"):
        field("/text", "data", struct_of("std_msgs/String"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/a.data", "--rate", "nan"], "--rate is a number above 0, not nan"),
        (["/a.data", "--rate", "0"], "--rate is a number above 0, not 0"),
        (["/a.data", "--window", "-1"], "--window is a number above 0, not -1"),
        (["/a.data", "--duration", "inf"], "--duration is a number above 0, not inf"),
        (["/a.data", "--range", "2", "1"], "--range is two numbers, the lower one first, not 2 1"),
        (["/a.data", "--range", "nan", "1"], "--range is two numbers"),
        ([f"/a.data[{n}]" for n in range(9)], "9 lines are too many for one picture: at most 8"),
        (["/a b.data"], "'/a b' is no topic name"),
        (["/nobody.data", "--timeout", "0.1"], "nobody publishes or subscribes /nobody"),
    ],
)
def test_wrong_arguments_are_errors_with_the_way_out(arguments, said):
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code != 0
    assert said in " ".join(result.output.split())


@contextmanager
def plotted(runtime_directory, *arguments, **options):
    with Programs(processes.environment(runtime_directory, TERM="xterm-256color", PYTHONUTF8="1")) as programs:
        yield programs.start([sys.executable, "-m", "baton_cli", "plot", *arguments], stderr=LOG, **options)


def published():
    node = baton.Node("robot")
    speeds = node.advertise("cmd_vel", "geometry_msgs/Twist", LATCHED)
    return node, speeds


def test_a_file_gets_one_picture_at_the_end(runtime_directory):
    node, speeds = published()
    with plotted(
        runtime_directory, "/cmd_vel.linear.x", "cmd_vel.angular.z", "--window", "1000", "--range", "-1", "4"
    ) as plot:
        assert speeds.wait_for_subscriptions(1, 60)
        for number in range(4):
            speeds.publish({"linear": {"x": float(number)}})
        until(lambda: [each.unread for each in node.holdings(10)] == [0])
        out, _ = plot.interrupted()
    lines = out.split("\n")
    assert "\x1b" not in out
    assert lines[0].strip().startswith("4│") and len(lines) == 25
    assert lines[-3:] == ["* /cmd_vel.linear.x  3", "+ /cmd_vel.angular.z  0", ""]


def test_a_terminal_shows_each_new_value(runtime_directory):
    _, speeds = published()
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    try:
        with plotted(runtime_directory, "/cmd_vel.linear.x", stdin=theirs, stdout=theirs) as plot:
            assert speeds.wait_for_subscriptions(1, 60)
            seen = ""
            for number in (1.25, 2.5):
                speeds.publish({"linear": {"x": number}})
                while f"  {number}" not in seen:
                    seen += os.read(ours, 65536).decode(errors="replace")
            assert dots(seen)
            plot.send_signal(signal.SIGINT)
            assert plot.wait(60) == 0
    finally:
        os.close(ours)
        os.close(theirs)
