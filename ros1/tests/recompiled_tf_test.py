# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs that use tf2 and tf: the shadows of their headers, and the stock side below them."""

import re
import time

import pytest
from ros1_network import BUILD, CROSS, PAIRS, PATIENCE_S, ROOT, configure, named, run

pytestmark = pytest.mark.own_master  # its topics have absolute names


with_nodes = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf2_node").exists(),
    reason="needs libtf2-ros-dev, ros-tf2-msgs, libactionlib-dev and libmessage-filters-dev: make build-ros1",
)
with_tf = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf_node").exists(),
    reason="needs libtf-dev, ros-tf2-msgs and libmessage-filters-dev: make build-ros1",
)


def lines_until_end(program, *words):
    """An answer that ends with the line "end"."""
    lines = [program.ask(*words)]
    while lines[-1] != "end":
        lines.append(program.line())
    return lines[:-1]


def move_until_it_is_there(sends, receives, parent, child, stamp):
    """The first transforms may be sent before the two ends have met."""
    deadline = time.monotonic() + PATIENCE_S
    while not receives.ask("ask", parent, child, stamp).startswith(f"{parent} {child}"):
        assert time.monotonic() < deadline
        sends.ask("move", parent, child, stamp, stamp)
        time.sleep(0.01)


@with_nodes
def test_a_listener_of_every_pair_has_the_transforms_of_the_broadcaster(ros):
    for broadcaster, listener in ros.each(PAIRS):
        sends, receives = ros.start(broadcaster, "tf2_node", *named("sends")), ros.start(listener, "tf2_node")
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
        other = ros.start(listener, "tf2_node")
        other.ask("listen", "thread")
        assert other.ask("find", "lidar", "camera", 0).startswith("lidar camera 0.000000000 "), "all of one broadcaster"
        assert other.ask("ask", "robot", "camera", 0) == "robot camera 0.000000000 3 0 0.6", "its newest"


@with_nodes
def test_a_listener_of_every_pair_waits_and_says_why_in_vain(ros):
    for broadcaster, listener in ros.each(CROSS):
        sends, receives = ros.start(broadcaster, "tf2_node"), ros.start(listener, "tf2_node")
        sends.ask("fix", "world", "robot", 1)
        assert receives.ask("listen", "spin") == "listening"
        assert receives.ask("find", "world", "robot", 5) == "world robot 5.000000000 1 0 0.6"
        assert receives.ask("wait", "world", "robot", 5, 10) == "world robot 5.000000000 1 0 0.6", (
            "although it cannot wait"
        )
        assert receives.line().startswith("Do not call canTransform or lookupTransform with a timeout unless")
        assert receives.ask("listen", "thread") == "listening in a thread"
        assert receives.ask("wait", "world", "robot", 5, 60) == "world robot 5.000000000 1 0 0.6", (
            "waits for the latched one"
        )
        assert re.fullmatch(r"\. canTransform returned after [.e-]* timeout was \.", receives.line())


@with_nodes
def test_a_filter_of_every_pair_passes_messages_on_when_they_can_be_transformed(ros):
    for broadcaster, listener in ros.each(CROSS):
        sends, receives = ros.start(broadcaster, "tf2_node"), ros.start(listener, "tf2_node")
        receives.ask("listen", "thread")
        assert sends.ask("point", "robot", 5) == "published"
        assert receives.ask("filter", "world") == "filtering"
        assert receives.more(0.3) == []
        sends.ask("fix", "world", "robot", 2)
        assert receives.line() == "ready 2.280000"
        sends.ask("point", "none", 5)
        assert receives.line() == "failed  2", "a message without a frame"


@with_nodes
def test_the_service_tf2_frames_of_every_pair_tells_the_frames(ros):
    for server, caller in ros.each(CROSS):
        serves, calls = ros.start(server, "tf2_node", *named("serves")), ros.start(caller, "tf2_node")
        calls.ask("fix", "world", "robot", 2)
        assert serves.ask("listen", "debug") == "listening in a thread"
        serves.ask("find", "world", "robot", 0)
        assert lines_until_end(calls, "frames", "serves") == lines_until_end(serves, "yaml")
        assert lines_until_end(calls, "frames", "nobody") == ["no service"]


@with_nodes
def test_a_buffer_server_of_every_pair_answers_the_client(ros):
    for server, client in ros.each(CROSS):
        serves, calls = ros.start(server, "tf2_node"), ros.start(client, "tf2_node")
        serves.ask("listen", "thread")
        assert serves.ask("serve") == "serving"
        assert calls.ask("client") == "there"
        calls.ask("fix", "world", "robot", 2)
        serves.ask("find", "world", "robot", 0)
        expected = ["world robot 7.000000000 2 0 0.6"] * 2 + ["can"]
        assert [calls.ask("call", "world", "robot", 7, 0), calls.line(), calls.line()] == expected
        unknown = calls.ask("call", "world", "never", 7, 0.2)
        assert unknown.startswith('"never" passed to lookupTransform argument source_frame does not exist')
        assert [calls.line(), calls.line()] == [unknown, unknown]
        calls.tell("call world camera 8 60")
        serves.ask("fix", "robot", "camera", 1)
        assert calls.line().startswith("world camera 8.000000000 2.28 "), "it waited"


@with_nodes
def test_listeners_come_and_go_in_a_node(ros):
    sends, receives = ros.start("stock", "tf2_node"), ros.start("recompiled", "tf2_node")
    sends.ask("fix", "world", "robot", 2)
    for mode in ["thread", "spin"] * 3:
        receives.ask("listen", mode)
        assert receives.ask("find", "world", "robot", 0) == "world robot 0.000000000 2 0 0.6"
        receives.ask("forget")
    assert receives.end() == 0


@with_tf
def test_a_node_of_tf_of_every_pair_has_the_transforms_of_the_other(ros):
    for broadcaster, listener in ros.each(PAIRS):
        sends, receives = ros.start(broadcaster, "tf_node"), ros.start(listener, "tf_node")
        of_tf2 = ros.start(broadcaster, "tf2_node")
        of_tf2.ask("fix", "robot", "camera", 3)
        assert receives.ask("wait", "robot", "camera", 0, 60) == "robot camera 0.000000000 3"
        move_until_it_is_there(sends, receives, "world", "robot", 100)
        assert receives.ask("ask", "/world", "/camera", 100).startswith("world camera 100.000000000 100.84")
        assert receives.ask("wait", "world", "robot", 101, 0.1) == "timeout"
        assert sends.ask("replay", "world", "arm", 100, 7) == "replayed"
        assert receives.ask("wait", "world", "arm", 100, 60) == "world arm 100.000000000 7"
        assert receives.ask("ask", "world", "unknown", 0).startswith('"unknown" passed to lookupTransform')
        assert of_tf2.ask("listen", "thread") == "listening in a thread"
        move_until_it_is_there(sends, of_tf2, "world", "robot", 101)


@with_tf
def test_a_filter_of_tf_of_every_pair_passes_messages_on_when_they_can_be_transformed(ros):
    for broadcaster, listener in ros.each(CROSS):
        sends, receives = ros.start(broadcaster, "tf2_node"), ros.start(listener, "tf_node")
        assert sends.ask("point", "robot", 5) == "published"
        assert receives.ask("filter", "world") == "filtering"
        assert receives.more(0.3) == []
        sends.ask("fix", "world", "robot", 2)
        assert receives.line() == "ready 2.280000"
        sends.ask("point", "none", 5)
        assert receives.line() == "failed  2", "a message without a frame"


# As a user writes it. tf2's library is not named, and the others come before Baton's: who follows whom is baton_ros1_messages' task.
PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(transforms CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
find_library(message_filters_library message_filters)
find_library(actionlib_library actionlib)
baton_ros1_messages(messages PACKAGES actionlib_msgs geometry_msgs std_msgs tf2_msgs)
add_executable(tf2_node {programs}/tf2_node.cpp)
target_include_directories(tf2_node PRIVATE ${{roscpp_INCLUDE_DIRS}})
target_link_libraries(tf2_node PRIVATE ${{message_filters_library}} ${{actionlib_library}} messages ${{roscpp_LIBRARIES}})
"""


@with_nodes
def test_a_program_of_tf2_builds_outside_of_the_tree_and_meets_stock_programs(ros, tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "project/CMakeLists.txt").write_text(PROJECT.format(programs=ROOT / "ros1/tests/programs"))
    build = configure(tmp_path / "project", tmp_path)
    run("cmake", "--build", build)
    own = ros.run([build / "tf2_node"], preload=False)
    stock = ros.start("stock", "tf2_node")
    own.ask("fix", "world", "robot", 2)
    stock.ask("fix", "robot", "camera", 1)
    for receives in (own, stock):
        receives.ask("listen", "thread")
        assert receives.ask("find", "world", "camera", 7).startswith("world camera 7.000000000 2.28 ")
