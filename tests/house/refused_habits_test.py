# SPDX-License-Identifier: Apache-2.0
"""Lines of rclcpp that mean something else here do not compile, and the compiler says what to write."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("os", "memory", "message", "transport", "node", "generator/golden")
PROGRAM = """
#include <baton/baton.hpp>
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/srv/std_srvs/set_bool.hpp>
using baton::msg::sensor_msgs::Image;
using baton::srv::std_srvs::SetBool;
using namespace std::chrono_literals;
void use(baton::Node& node) {{ {statement} }}
"""
CASES = {
    'auto pub = node.create_publisher<Image>("image", 10);': "write node.advertise<T>(topic, qos)",
    'auto sub = node.create_subscription<Image>("image", 10, [](const Image&) {});': "write node.subscribe<T>(topic, qos, callback)",
    'auto client = node.create_client<SetBool>("switch");': "write node.client<S>(name)",
    "auto timer = node.create_wall_timer(20ms, [] {});": "write node.create_timer(period, callback)",
    'auto pub = node.advertise<Image>("image", 1, true);': "QoS(n).transient_local()",
    'auto sub = node.subscribe<Image>("image", 10, [](Image::SharedPtr) {});': "let the callback take T::ConstSharedPtr",
    "auto group = std::make_shared<baton::CallbackGroup>();"
    'auto sub = node.subscribe<Image>("image", 10, [](const Image&) {}, group);': "",
}


@pytest.mark.parametrize("statement", CASES)
def test_the_compiler_says_what_to_write(tmp_path, statement):
    source = tmp_path / "habit.cpp"
    source.write_text(PROGRAM.format(statement=statement))
    include = [f"-I{ROOT / room / 'include'}" for room in ROOMS]
    done = subprocess.run(["c++", "-std=c++17", "-fsyntax-only", *include, source], capture_output=True, text=True)
    if CASES[statement]:
        assert done.returncode != 0
        assert CASES[statement] in done.stderr
    else:
        assert done.returncode == 0, done.stderr
