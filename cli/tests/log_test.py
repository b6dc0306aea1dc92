# SPDX-License-Identifier: Apache-2.0
"""`baton log` with a node that logs, each in a process of its own."""

import json
import re
from functools import partial

import pytest

NODES = """
import os, sys, time, baton
left, right = baton.Node("camera", namespace="left"), baton.Node("camera_2")
print("ready", flush=True)
while not any(e.topic == "/rosout" and not e.is_publisher for e in left.endpoints()):
    time.sleep(0.01)
for _ in range(2):
    left.get_logger().info("frame 1")
    left.get_logger().get_child("driver").warn("frame 2 is late")
    right.get_logger().error("frame 3 is lost")
if "STEERING" in os.environ:
    right.get_logger().fatal("a\\x07\\r\\x1b[2J\\x9b1m\\nb\\tc")
time.sleep(300)
"""


@pytest.fixture
def log(baton, programs):
    """log(*arguments, code=0): the command's output while two nodes log."""
    programs.python(NODES, ready="ready")
    return partial(baton, "log")


def texts(printed):
    return {line.split("] [", 2)[2] for line in printed.splitlines()}


def test_lines_have_the_form_that_they_have_on_stderr(log):
    line = log("--once", "--level", "error")
    assert re.fullmatch(r"\[ERROR\] \[\d{10}\.\d{9}\] \[camera_2\]: frame 3 is lost\n", line)


FRAMES = {1: "left.camera]: frame 1", 2: "left.camera.driver]: frame 2 is late", 3: "camera_2]: frame 3 is lost"}


@pytest.mark.parametrize(
    ("options", "frames"),
    [
        ([], {1, 2, 3}),
        (["--level", "warn"], {2, 3}),
        (["--node", "/left/camera"], {1, 2}),
        (["--node", "camera"], set()),  # neither left.camera nor camera_2
        (["--filter", "^frame [13]$"], {1}),
    ],
)
def test_lines_are_chosen_by_level_node_and_text(log, options, frames):
    if frames:
        assert texts(log("-n", str(2 * len(frames)), *options)) == {FRAMES[frame] for frame in frames}
    else:
        assert "no line for 1.0 s" in log("--timeout", "1", *options, code=1)


def test_json_has_the_place_in_the_source(log):
    line = json.loads(log("--json", "--once", "--level", "warn", "--node", "left.camera.driver"))
    assert (line["level"], line["name"], line["text"]) == ("WARN", "left.camera.driver", "frame 2 is late")
    assert (line["function"], line["file"], line["line"]) == ("<module>", "<string>", 9)
    assert float(line["time"]) > 1.7e9


def test_errors_name_the_option(log):
    assert "--filter '(' is no regular expression" in log("--filter", "(", code=1)
    assert "no line for 0.001 s" in log("--filter", "nothing", "--timeout", "0.001", code=1)


@pytest.fixture
def steering(environment):
    environment["STEERING"] = "1"


def test_a_line_that_would_steer_the_terminal_is_harmless(steering, log):
    printed = log("--once", "--level", "fatal")
    assert printed.split("]: ")[1] == "a\\x07\\r\\x1b[2J\\x9b1m\nb\tc\n"
