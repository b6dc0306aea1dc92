# SPDX-License-Identifier: Apache-2.0
"""Names of ROS that Baton does not have: the tables of docs/guides/from-ros.md, and the findings of `baton migrate report`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from baton_cli import live, ros_names
from baton_cli.main import baton
from baton_cli.verbs import migrate
from click.testing import CliRunner
from support.build import ROOT, has_package

HEADERS = ROOT / "core/node/include/baton/node"
# The header of a class that has members in the table.
HEADER_OF = {
    "ros::NodeHandle": "node",
    "ros::Subscriber": "subscription",
    "ros::ServiceServer": "service",
    "ros::ServiceClient": "service",
    "ros::Rate": "clock",
    "rclcpp::NodeOptions": "node",
    "rclcpp::TimerBase": "timer",
    "rclcpp::WaitSet": "wait_set",
    "rclcpp::Client": "service",
}


def source_with(name: str) -> tuple[str, str]:
    """A file that uses the name, and its text."""
    of, _, member = name.rpartition("::" if "::" in name else ".")
    is_member = of.rpartition("::")[2].rpartition(".")[2][:1].isupper() and member[:1].islower()
    if re.match(r"(ros2|ros[a-z]+) |ros(bag|run|launch|msg|srv|version)$", name):
        words = name.partition(" -")
        return "start.sh", f"#!/bin/sh\n{words[0]} /camera{words[1]}{words[2]}\n"
    if name.endswith("="):
        call = name if "(" in name else f"create_publisher({name}"
        return "node.py", f"made = node.{call}3)\n"
    if name.startswith("msg::"):
        return "node.cpp", f"void f({name} message) {{}}\n"
    if name.startswith(("ROS_", "RCLCPP_")):
        return "node.cpp", f'void f() {{ {name}("text"); }}\n'
    if "::" in name:
        use = f"{of} made; made.{member}(3);" if is_member else f"{name}0);" if name.endswith("(") else f"{name} made;"
        return "node.cpp", f"void f() {{ {use} }}\n"
    return "node.py", f"made = {of}('x')\nmade.{member}(3)\n" if is_member else f"made = {name}(3)\n"


def test_each_name_of_the_tables_is_found_in_a_source_with_its_way(tmp_path: Path) -> None:
    table = ros_names.table()
    assert len(table) > 350 and all(table.values())
    for number, (name, way) in enumerate(table.items()):
        file, text = source_with(name)
        (folder := tmp_path / str(number)).mkdir()
        (folder / file).write_text(text)
        found = {each.name: each for each in ros_names.find(folder)}
        assert name in found, (name, text, found)
        assert (found[name].path, found[name].message) == (file, f"{name}: in Baton {way}")


ROSCPP = """\
#include <ros/ros.h>
// ros::NodeHandle in a comment, and "ros::spinOnce()" below in a string
struct Viewer {
  ros::NodeHandle handle;
  ros::Publisher pub_;
  std::unique_ptr<int> last_;
  void stop() { pub_.shutdown(); last_.reset(); }
};
int main(int argc, char** argv) {
  const char* text = "ros::spinOnce()";
  ros::Time stamp = ros::Time::now(), zero = ros::Time(0);
  ros::Rate rate(10);
  auto sub = handle.subscribe("image", 4, f);
  sub.getTopic(); text.getTopic(); rate.cycleTime();
  while (ros::ok()) ros::spinOnce();
  ROS_INFO_STREAM_THROTTLE(1.0, "text" << 3);
}
"""
RCLCPP_HEADER = """\
class Camera : public rclcpp::Node {
  rclcpp::Publisher<std::vector<Image>>::SharedPtr pub_;
  rclcpp::TimerBase::SharedPtr timer_;
};
"""
RCLCPP = """\
Camera::Camera() : Node("camera") {
  pub_ = create_publisher<Image>("image", rclcpp::QoS(rclcpp::KeepLast(3)));
  timer_ = this->create_wall_timer(100ms, [this] { pub_->publish(Image()); });
  RCLCPP_INFO(get_logger(), "%s", get_name());
  pub_->reset(); other->reset(); other.get_name();
  rclcpp::executors::MultiThreadedExecutor executor;
  executor.add_node(node); executor.spin();
}
"""
ROSPY = '''\
import rospy
from std_msgs.msg import String
def main():
    """rospy.Rate in a docstring"""
    rospy.init_node("camera", anonymous=True)
    pub = rospy.Publisher("chatter", String, queue_size=10)  # rospy.sleep
    while not rospy.is_shutdown():
        pub.unregister()
        other.unregister()
'''
RCLPY = """\
import rclpy
from rclpy.node import Node
from rclpy.qos import (QoSProfile,
                       ReliabilityPolicy as Policy)
class Camera(Node):
    def __init__(self):
        super().__init__("camera")
        self.pub = self.create_publisher(Image, "image", 10)
        self.executor = 3
        self.pub.destroy()
        self.get_name(), other.get_name()
"""
ROS2_LIBRARIES = """\
#include "tf2_ros/buffer.h"
void Camera::on_text(const std_msgs::msg::String::SharedPtr text) { std_msgs::msg::String::SharedPtr kept; }
auto on_image = [](sensor_msgs::msg::Image::UniquePtr) {};
void Camera::on_map(nav_msgs::msg::OccupancyGrid::ConstSharedPtr map) {}
void Camera::on_goal() { client_ = rclcpp_action::create_client<Fibonacci>(this, "fibonacci"); }
tf2_ros::TransformListener listener{*std::make_unique<tf2_ros::Buffer>(clock)};
using Policy = message_filters::sync_policies::ApproximateTime<Image, LaserScan>;
image_transport::Publisher pub_;
RCLCPP_COMPONENTS_REGISTER_NODE(Camera)
"""
TF_OF_PYTHON = """\
import message_filters
from tf2_ros.buffer import Buffer
from tf2_ros import TransformListener, TransformBroadcaster
from rclpy.action import ActionClient
pairs = message_filters.ApproximateTimeSynchronizer([a, b], 10, 0.1)
"""
SHELL = """\
# ros2 bag in a comment
ros2 bag record -a
ros2 topic echo /image --qos-depth 3 | grep x --raw
my_ros2 bag; ros2 node list --no-daemon
"""


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (
            {"a.cpp": ROSCPP},
            """4:3 ros::NodeHandle, 7:22 ros::Publisher::shutdown, 11:46 ros::Time(, 14:7 ros::Subscriber::getTopic,
            14:41 ros::Rate::cycleTime, 15:21 ros::spinOnce, 16:3 ROS_INFO_THROTTLE""",
        ),
        (
            {"a.hpp": RCLCPP_HEADER, "b.cpp": RCLCPP},
            """2:3 rclcpp::Publisher::SharedPtr, 3:3 rclcpp::TimerBase::SharedPtr, 2:10 rclcpp::Node::create_publisher,
            2:55 rclcpp::KeepLast, 3:18 rclcpp::Node::create_wall_timer, 4:3 RCLCPP_INFO, 4:35 rclcpp::Node::get_name,
            5:9 rclcpp::Publisher::reset, 6:3 rclcpp::executors::MultiThreadedExecutor, 7:12 rclcpp::Executor::add_node""",
        ),
        (
            {"a.py": ROSPY},
            """5:5 rospy.init_node, 5:31 anonymous=, 6:11 rospy.Publisher, 6:46 queue_size=, 7:15 rospy.is_shutdown,
            8:13 rospy.Publisher.unregister""",
        ),
        (
            {"a.py": RCLPY},
            """2:6 rclpy.node, 3:6 rclpy.qos, 3:24 rclpy.qos.QoSProfile, 4:24 rclpy.qos.ReliabilityPolicy,
            8:25 rclpy.node.Node.create_publisher, 10:18 rclpy.publisher.Publisher.destroy, 11:14 rclpy.node.Node.get_name""",
        ),
        (
            {"a.cpp": ROS2_LIBRARIES},
            """2:38 msg::T::SharedPtr, 3:33 msg::T::UniquePtr, 5:36 rclcpp_action::create_client,
            6:1 tf2_ros::TransformListener, 6:55 tf2_ros::Buffer, 7:16 message_filters::sync_policies::ApproximateTime,
            8:1 image_transport::Publisher, 9:1 RCLCPP_COMPONENTS_REGISTER_NODE""",
        ),
        (
            {"a.py": TF_OF_PYTHON},
            """2:6 tf2_ros.buffer, 3:21 tf2_ros.TransformListener, 3:40 tf2_ros.TransformBroadcaster, 4:6 rclpy.action,
            5:9 message_filters.ApproximateTimeSynchronizer""",
        ),
        ({"a.sh": SHELL}, "2:1 ros2 bag record, 3:1 ros2 topic echo --qos-depth, 4:14 ros2 --no-daemon"),
        ({"a.cpp": "using namespace ros;\nvoid f() { spinOnce(); other::spinOnce(); }\n"}, "2:12 ros::spinOnce"),
    ],
    ids=["roscpp", "rclcpp", "rospy", "rclpy", "libraries-of-ros2", "tf-of-python", "shell", "using"],
)
def test_programs_are_read_without_comments_strings_and_members_of_others(files, found, tmp_path: Path) -> None:
    for file, text in files.items():
        (tmp_path / file).write_text(text)
    said = [f"{each.line}:{each.column} {each.name}" for each in ros_names.find(tmp_path)]
    assert said == re.split(r",\s+", found)


def test_build_outputs_and_hidden_files_are_not_read(tmp_path: Path) -> None:
    for folder, mark in (
        ("build", "CMakeCache.txt"),
        ("install", "COLCON_IGNORE"),
        ("devel", ".catkin"),
        (".git", "x"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / mark).touch()
        (tmp_path / folder / "a.cpp").write_text("ros::NodeHandle handle;\n")
    assert ros_names.find(tmp_path) == []
    assert ros_names.text([]) == "0 names of ROS that Baton does not have, in 0 files"


def test_a_line_of_the_report_reads_as_a_sentence() -> None:
    for name, way in ros_names.table().items():
        assert not way.startswith(("Baton", "in Baton")), name  # "NAME: in Baton WAY"


def test_the_report_has_place_name_and_way_as_text_and_as_json(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("void f() {\n  ros::WallRate rate(10);\n}\n")
    runner = CliRunner()
    said = runner.invoke(migrate.command, ["report", str(tmp_path)])
    assert said.exit_code == 0
    assert said.output.splitlines() == [
        "a.cpp:2:3: ros::WallRate: in Baton `baton::Rate rate(10.0)` [name-of-ros]",
        "1 name of ROS that Baton does not have, in 1 file",
    ]
    said = runner.invoke(migrate.command, ["report", str(tmp_path), "--format", "json"])
    (file,) = json.loads(said.output)["names"]
    assert file == {
        "path": "a.cpp",
        "findings": [
            {
                "rule": "name-of-ros",
                "line": 2,
                "column": 3,
                "name": "ros::WallRate",
                "message": "ros::WallRate: in Baton `baton::Rate rate(10.0)`",
            }
        ],
    }


def test_names_that_the_table_calls_absent_are_absent_in_cpp_and_the_replacements_exist() -> None:
    text = {header.stem: re.sub(r"//[^\n]*", "", header.read_text()) for header in HEADERS.glob("*.hpp")}
    everything = "".join(text.values()) + "".join(
        p.read_text() for p in (ROOT / "core/transport/include").rglob("*.hpp")
    )
    for name, way in ros_names.table().items():
        of, _, member = name.rpartition("::")
        if of.rpartition("::")[2][:1].isupper() and member[:1].islower() and member not in ("take", "reset"):
            header = HEADER_OF.get(of) or of.rpartition("::")[2].lower()
            assert not re.search(rf"(?<![\w.:]){member}\(", text[header].partition("namespace detail")[0]), name
        if "::" not in name:
            continue
        for called, header in (("node", "node"), ("publisher", "publisher"), ("subscription", "subscription"), ("client", "service"), ("executor", "executor"), ("timer", "timer"), ("wait_set", "wait_set"), ("parameter", "parameter"), ("rate", "clock")):  # fmt: skip
            for written in re.findall(rf"\b{called}\.(\w+)\(", way):
                assert re.search(rf"\b{written}\(", text[header]), (name, written)
        for written in re.findall(r"baton::(\w+)", way):
            assert re.search(rf"\b{written}\b", everything), (name, written)


@pytest.mark.skipif(not has_package(), reason="Baton's Python package is not built")
def test_names_that_the_table_calls_absent_are_absent_in_python_and_the_replacements_exist() -> None:
    package = live.load()
    objects = {
        "node": package.Node,
        "executor": package.Executor,
        "publisher": package.Publisher,
        "subscription": package.Subscription,
        "timer": package.Timer,
        "client": package.Client,
        "service": package.Service,
        "parameter": package.Parameter,
    }
    for name, way in ros_names.table().items():
        if not name.startswith(("rospy.", "rclpy.", "rosbag.", "tf.", "tf2_ros.", "message_filters.")):
            continue
        module, _, last = name.rpartition(".")
        of = module.rpartition(".")[2]
        if of[:1].isupper():
            assert not hasattr(getattr(package, of.replace("Subscriber", "Subscription")), last), name
        for called, cls in objects.items():
            for written in re.findall(rf"\b{called}\.(\w+)", way):
                assert hasattr(cls, written), (name, written)
        for written in re.findall(r"\bbaton\.(\w+)", way):
            assert hasattr(package, written), (name, written)


def test_verbs_and_options_that_the_table_calls_absent_are_absent() -> None:
    for name in ros_names.table():
        first, *words = name.split()
        if first != "ros2":
            continue
        at: click.Command | None = baton
        while words and not words[0].startswith("-") and isinstance(at, click.Group):
            at = at.get_command(click.Context(at), words.pop(0))
        if words:
            assert at is not None, name
            assert not {option for parameter in at.params for option in parameter.opts} & set(words), name
        else:
            assert at is None, name
