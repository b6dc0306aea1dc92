# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs that use tf2 and tf: the shadows of their headers, and the stock side below them."""

import re
import time

import pytest
from ros1_network import BUILD, CROSS, PAIRS, PATIENCE_S, ROOT, configure, named, run

pytestmark = pytest.mark.own_master  # its topics have absolute names


with_nodes = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf_node").exists(),
    reason="needs libtf-dev, libtf2-ros-dev, ros-tf2-msgs, libactionlib-dev and libmessage-filters-dev: make build-ros1",
)


def lines_until_end(program, *words):
    """An answer that ends with the line "end"."""
    lines = [program.ask(*words)]
    while lines[-1] != "end":
        lines.append(program.line())
    return lines[:-1]


def move_until_it_is_there(sends, receives, *words, move="move", ask="ask"):
    """A parent, a child and a stamp; the first transforms may be sent before the two ends have met."""
    deadline = time.monotonic() + PATIENCE_S
    while not receives.ask(ask, *words).startswith("{} {} ".format(*words)):
        assert time.monotonic() < deadline
        sends.ask(move, *words, words[-1])
        time.sleep(0.01)


@with_nodes
def test_a_listener_of_every_pair_has_the_transforms_of_the_broadcaster(ros):
    for broadcaster, listener in ros.each(PAIRS):
        sends, receives = ros.start(broadcaster, "tf_node", *named("sends")), ros.start(listener, "tf_node")
        assert sends.ask("fix", "robot", "camera", 1) == "fixed"
        assert receives.ask("listen", "thread") == "listening in a thread"
        assert receives.ask("find", "robot", "camera", 0) == "robot camera 0.000000000 1 0 0.6", (
            "a late joiner has static ones"
        )
        for stamp in (100, 101):
            move_until_it_is_there(sends, receives, "world", "robot", stamp)
        assert receives.ask("find", "world", "camera", 100.5) == "world camera 100.500000000 100.78 0.96 0.96"
        assert receives.ask("find", "camera", "world", 0).startswith("camera world 101.000000000 ")
        assert receives.ask("ask", "world", "camera", 102).startswith("Lookup would require extrapolation 1.0")
        assert receives.ask("ask", "world", "nothing", 0) == (
            '"nothing" passed to lookupTransform argument source_frame does not exist. '
        )
        frames = lines_until_end(receives, "yaml")
        authority = "/sends" if listener == "recompiled" else "unknown_publisher"  # the stock listener does not ask
        assert frames.count(f"  broadcaster: '{authority}'") == 2, frames
        assert sends.ask("fix", "robot", "lidar", 2) == "fixed"
        assert sends.ask("fix", "robot", "camera", 3) == "fixed"
        assert receives.ask("find", "robot", "lidar", 0) == "robot lidar 0.000000000 2 0 0.6"
        other = ros.start(listener, "tf_node")
        other.ask("listen", "thread")
        assert other.ask("find", "lidar", "camera", 0).startswith("lidar camera 0.000000000 "), "all of one broadcaster"
        assert other.ask("ask", "robot", "camera", 0) == "robot camera 0.000000000 3 0 0.6", "its newest"


@with_nodes
def test_nodes_of_every_pair_wait_for_transforms_filter_messages_by_them_and_serve_them(ros):
    for server, caller in ros.each(CROSS):
        serves, calls = ros.start(server, "tf_node", *named("serves")), ros.start(caller, "tf_node")
        serves.ask("fix", "world", "robot", 2)
        for mode in ["thread", "spin"] * 3:  # listeners come and go in a node
            calls.ask("listen", mode)
            assert calls.ask("find", "world", "robot", 0) == "world robot 0.000000000 2 0 0.6"
            calls.ask("forget")

        there = "world robot 5.000000000 2 0 0.6"
        assert calls.ask("listen", "spin") == "listening"
        assert calls.ask("find", "world", "robot", 5) == there
        assert calls.ask("wait", "world", "robot", 5, 10) == there, "although it cannot wait"
        assert calls.line().startswith("Do not call canTransform or lookupTransform with a timeout unless")
        assert calls.ask("listen", "thread") == "listening in a thread"
        assert calls.ask("wait", "world", "robot", 5, 60) == there, "waits for the latched one"
        assert re.fullmatch(r"\. canTransform returned after [.e-]* timeout was \.", calls.line())

        assert serves.ask("listen", "debug") == "listening in a thread"
        serves.ask("find", "world", "robot", 0)
        assert lines_until_end(calls, "frames", "serves") == lines_until_end(serves, "yaml")
        assert lines_until_end(calls, "frames", "nobody") == ["no service"]

        assert serves.ask("serve") == "serving"
        assert calls.ask("client") == "there"
        expected = ["world robot 7.000000000 2 0 0.6"] * 2 + ["can"]
        assert [calls.ask("call", "world", "robot", 7, 0), calls.line(), calls.line()] == expected
        unknown = calls.ask("call", "world", "never", 7, 0.2)
        assert unknown.startswith('"never" passed to lookupTransform argument source_frame does not exist')
        assert [calls.line(), calls.line()] == [unknown, unknown]
        calls.tell("call world camera 8 60")
        serves.ask("fix", "robot", "camera", 1)
        assert calls.line().startswith("world camera 8.000000000 2.28 "), "it waited"
        assert [calls.line().startswith("world camera 8.000000000 2.28 "), calls.line()] == [True, "can"]
        filters_by(serves, calls)
        assert calls.end() == 0


def filters_by(sends, receives, verb="filter"):
    """A filter passes messages on when they can be transformed."""
    assert sends.ask("point", "hand", 5) == "published"
    assert receives.ask(verb, "world") == "filtering"
    assert receives.more(0.3) == []
    sends.ask("fix", "world", "hand", 2)
    assert receives.line() == "ready 2.280000"
    sends.ask("point", "none", 5)
    assert receives.line() == "failed  2", "a message without a frame"


@with_nodes
def test_a_node_of_tf_of_every_pair_has_the_transforms_of_the_other_and_filters_messages_by_them(ros):
    for broadcaster, listener in ros.each(PAIRS):
        sends, receives = ros.start(broadcaster, "tf_node"), ros.start(listener, "tf_node")
        sends.ask("fix", "robot", "camera", 3)
        assert receives.ask("tf wait", "robot", "camera", 0, 60) == "robot camera 0.000000000 3"
        move_until_it_is_there(sends, receives, "world", "robot", 100, move="tf move", ask="tf ask")
        assert receives.ask("tf ask", "/world", "/camera", 100).startswith("world camera 100.000000000 100.84")
        assert receives.ask("tf wait", "world", "robot", 101, 0.1) == "timeout"
        assert sends.ask("tf replay", "world", "arm", 100, 7) == "replayed"
        assert receives.ask("tf wait", "world", "arm", 100, 60) == "world arm 100.000000000 7"
        assert receives.ask("tf ask", "world", "unknown", 0).startswith('"unknown" passed to lookupTransform')
        of_tf2 = ros.start(broadcaster, "tf_node")
        assert of_tf2.ask("listen", "thread") == "listening in a thread"
        move_until_it_is_there(sends, of_tf2, "world", "robot", 101, move="tf move")
        filters_by(sends, receives, "tf filter")


# As a user writes it. The libraries of tf2 are not named, and the others come before Baton's: who follows whom is baton_ros1_messages' task.
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(transforms CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
find_library(message_filters_library message_filters)
find_library(actionlib_library actionlib)
find_library(tf_library tf)
baton_ros1_messages(messages PACKAGES actionlib_msgs geometry_msgs sensor_msgs std_msgs tf2_msgs)
add_executable(tf_node {programs}/tf_node.cpp)
target_include_directories(tf_node PRIVATE ${{roscpp_INCLUDE_DIRS}})
target_link_libraries(tf_node PRIVATE ${{tf_library}} ${{message_filters_library}} ${{actionlib_library}} messages ${{roscpp_LIBRARIES}})
"""


@with_nodes
def test_a_program_of_tf2_builds_outside_of_the_tree_and_meets_stock_programs(ros, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/CMakeLists.txt").write_text(PROJECT.format(programs=ROOT / "ros1/tests/programs"))
    build = configure(tmp_path / "project", tmp_path)
    run("cmake", "--build", build)
    own = ros.run([build / "tf_node"], preload=False)
    stock = ros.start("stock", "tf_node")
    own.ask("fix", "world", "robot", 2)
    stock.ask("fix", "robot", "camera", 1)
    for receives in (own, stock):
        receives.ask("listen", "thread")
        assert receives.ask("find", "world", "camera", 7).startswith("world camera 7.000000000 2.28 ")
