# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs that use tf2 and tf: the shadows of their headers, and the stock side below them."""

import itertools
import re
import subprocess
import time

import pytest
from ros1_network import BUILD, PATIENCE_S, named

PAIRS = list(itertools.product(("recompiled", "stock"), repeat=2))

with_tf2 = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf2_buffer").exists(),
    reason="needs libtf2-ros-dev: make setup, then make build",
)


def output(program, *words):
    return subprocess.run(
        [BUILD / "bin" / program, *words], capture_output=True, text=True, check=True, timeout=300
    ).stdout.splitlines()


@with_tf2
def test_a_buffer_answers_every_question_as_the_stock_buffer_does():
    stock, own = output("ros1_tf2_buffer"), output("ros1_recompiled_tf2_buffer")
    assert len(own) > 100_000
    for word in ("LookupException", "ConnectivityException", "ExtrapolationException", "InvalidArgumentException"):
        assert any(line.startswith(word) for line in own)
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


with_conversions = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf2_convert").exists(),
    reason="needs libtf2-sensor-msgs-dev and libtf2-eigen-dev: make setup, then make build",
)


@with_conversions
def test_messages_and_other_classes_are_transformed_and_converted_as_by_the_stock_headers():
    stock, own = output("ros1_tf2_convert"), output("ros1_recompiled_tf2_convert")
    assert len(own) > 10_000
    assert any("canTransform returned after  timeout was 0.05." in line for line in own)
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


def names(*arguments):
    """What the linker knows of an object or a library, demangled; what an object hides is left out."""
    symbols = subprocess.run(["readelf", "-sWC", *arguments], capture_output=True, text=True, check=True).stdout
    fields = (line.split(maxsplit=7) for line in symbols.splitlines() if re.match(r" *\d+: ", line))
    return {f[7].split("@")[0] for f in fields if len(f) == 8 and f[4] in ("GLOBAL", "WEAK") and f[5] == "DEFAULT"}


def names_shared_with_libraries(kind, program, libraries, namespaces):
    """Names in these namespaces, and in those of messages, that the program's own source file and a stock library have."""
    prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
    compiled = BUILD / f"ros1/tests/CMakeFiles/{prefix}{program}.dir/programs/{program}.cpp.o"
    linked = subprocess.run(["ldd", BUILD / "bin" / f"{prefix}{program}"], capture_output=True, text=True, check=True)
    paths = [line.split()[2] for line in linked.stdout.splitlines() if re.search(rf"lib({libraries})\.so", line)]
    known = set().union(*(names("--dyn-syms", path) for path in paths))
    return {name for name in names(compiled) & known if re.search(rf"\b({namespaces}|\w+_msgs)::", name)}


def assert_no_shared_name_has_a_message(program, libraries, namespaces, control, allowed):
    """`control`: a name that a stock program shares with the libraries; `allowed`: those without a message."""
    stock, own = (names_shared_with_libraries(k, program, libraries, namespaces) for k in ("stock", "recompiled"))
    assert any(control in name for name in stock), "what is looked for is there"
    assert [name for name in sorted(own) if not re.search(allowed, name)] == []


EXCEPTIONS = r"tf2::\w+Exception\b"
MATH = r"tf2::(Matrix3x3|Quaternion|Transform|Vector3)::"


@with_tf2
def test_a_program_shares_with_libtf2_only_names_without_messages():
    assert_no_shared_name_has_a_message("tf2_buffer", "tf2", "tf2", "tf2::BufferCore::lookupTransform(", EXCEPTIONS)


@with_conversions
def test_a_program_shares_with_libtf2_ros_only_names_without_messages():
    assert_no_shared_name_has_a_message(
        "tf2_convert",
        "tf2|tf2_ros",
        r"tf2\w*",
        "tf2_ros::Buffer::lookupTransform(",
        rf"{EXCEPTIONS}|{MATH}",
    )


with_nodes = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_tf2_node").exists(),
    reason="needs libtf2-ros-dev, ros-tf2-msgs and libmessage-filters-dev: make setup, then make build",
)


class Node:
    """A program that prints a line for each line of its input."""

    def __init__(self, ros, kind, program, name=None):
        prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
        self.program = ros.run([BUILD / "bin" / f"{prefix}{program}", *named(name)], preload=False)

    def __call__(self, *words):
        self.program.tell(" ".join(str(word) for word in words))
        return self.program.line()

    def lines(self, *words):
        """Of an answer that ends with the line "end"."""
        lines = [self(*words)]
        while lines[-1] != "end":
            lines.append(self.program.line())
        return lines[:-1]


def move_until_it_is_there(sends, receives, parent, child, stamp):
    """The first transforms may be sent before the two ends have met."""
    deadline = time.monotonic() + PATIENCE_S
    while not receives("ask", parent, child, stamp).startswith(f"{parent} {child}"):
        assert time.monotonic() < deadline
        sends("move", parent, child, stamp, stamp)
        time.sleep(0.01)


@with_nodes
@pytest.mark.parametrize("broadcaster, listener", PAIRS)
def test_a_listener_of_every_pair_has_the_transforms_of_the_broadcaster(ros, broadcaster, listener):
    sends, receives = Node(ros, broadcaster, "tf2_node", "sends"), Node(ros, listener, "tf2_node")
    assert sends("fix", "robot", "camera", 1) == "fixed"
    assert receives("listen", "thread") == "listening in a thread"
    assert receives("find", "robot", "camera", 0) == "robot camera 0.000000000 1 0 0.6", "a late joiner has static ones"
    for stamp in (100, 101):
        move_until_it_is_there(sends, receives, "world", "robot", stamp)
    assert receives("find", "world", "camera", 100.5) == "world camera 100.500000000 100.78 0.96 0.96"
    assert receives("find", "camera", "world", 0).startswith("camera world 101.000000000 ")
    assert receives("ask", "world", "camera", 102).startswith("Lookup would require extrapolation 1.0")
    assert receives("ask", "world", "nothing", 0) == (
        '"nothing" passed to lookupTransform argument source_frame does not exist. '
    )
    frames = receives.lines("yaml")
    authority = "/sends" if listener == "recompiled" else "unknown_publisher"  # the stock listener does not ask
    assert frames.count(f"  broadcaster: '{authority}'") == 2, frames
    assert sends("fix", "robot", "lidar", 2) == "fixed"
    assert sends("fix", "robot", "camera", 3) == "fixed"
    assert receives("find", "robot", "lidar", 0) == "robot lidar 0.000000000 2 0 0.6"
    other = Node(ros, listener, "tf2_node")
    other("listen", "thread")
    assert other("find", "lidar", "camera", 0).startswith("lidar camera 0.000000000 "), "all of one broadcaster"
    assert other("ask", "robot", "camera", 0) == "robot camera 0.000000000 3 0 0.6", "its newest"


@with_nodes
@pytest.mark.parametrize("broadcaster, listener", PAIRS)
def test_a_listener_of_every_pair_waits_and_says_why_in_vain(ros, broadcaster, listener):
    sends, receives = Node(ros, broadcaster, "tf2_node"), Node(ros, listener, "tf2_node")
    sends("fix", "world", "robot", 1)
    assert receives("listen", "spin") == "listening"
    assert receives("find", "world", "robot", 5) == "world robot 5.000000000 1 0 0.6"
    assert receives("wait", "world", "robot", 5, 10) == "world robot 5.000000000 1 0 0.6", "although it cannot wait"
    assert receives.program.line().startswith("Do not call canTransform or lookupTransform with a timeout unless")
    assert receives("listen", "thread") == "listening in a thread"
    assert receives("wait", "world", "robot", 5, 60) == "world robot 5.000000000 1 0 0.6", "waits for the latched one"
    assert re.fullmatch(r"\. canTransform returned after [.e-]* timeout was \.", receives.program.line())


@with_nodes
@pytest.mark.parametrize("broadcaster, listener", PAIRS)
def test_a_filter_of_every_pair_passes_messages_on_when_they_can_be_transformed(ros, broadcaster, listener):
    sends, receives = Node(ros, broadcaster, "tf2_node"), Node(ros, listener, "tf2_node")
    receives("listen", "thread")
    assert sends("point", "robot", 5) == "published"
    assert receives("filter", "world") == "filtering"
    assert receives.program.more(0.3) == []
    sends("fix", "world", "robot", 2)
    assert receives.program.line() == "ready 2.280000"
    sends("point", "none", 5)
    assert receives.program.line() == "failed  2", "a message without a frame"


@with_nodes
@pytest.mark.parametrize("server, caller", PAIRS)
def test_the_service_tf2_frames_of_every_pair_tells_the_frames(ros, server, caller):
    serves, calls = Node(ros, server, "tf2_node", "serves"), Node(ros, caller, "tf2_node")
    calls("fix", "world", "robot", 2)
    assert serves("listen", "debug") == "listening in a thread"
    serves("find", "world", "robot", 0)
    assert calls.lines("frames", "serves") == serves.lines("yaml")
    assert calls.lines("frames", "nobody") == ["no service"]


@with_nodes
@pytest.mark.parametrize("kind", ["recompiled", "stock"])
def test_listeners_come_and_go_in_a_node(ros, kind):
    sends, receives = Node(ros, "stock", "tf2_node"), Node(ros, kind, "tf2_node")
    sends("fix", "world", "robot", 2)
    for mode in ["thread", "spin"] * 3:
        receives("listen", mode)
        assert receives("find", "world", "robot", 0) == "world robot 0.000000000 2 0 0.6"
        receives("forget")
    assert receives.program.end() == 0
