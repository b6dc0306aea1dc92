# SPDX-License-Identifier: Apache-2.0
"""`baton log` with a node that logs, each in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(os.environ.get("BATON_BUILD", Path(__file__).resolve().parents[2] / "build/release"))
PACKAGE = BUILD / "python"
pytestmark = pytest.mark.skipif(
    not any((PACKAGE / "baton").glob("_core*.so")), reason="the Python package is not built"
)

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
def log(tmp_path, warm_command):
    """log(*arguments, code=0): what the command printed while two nodes log."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    environment = {**os.environ, "BATON_RUNTIME_DIR": str(directory), "PYTHONPATH": str(PACKAGE)}
    nodes = subprocess.Popen(
        [sys.executable, "-c", NODES], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert nodes.stdout.readline() == "ready\n"

    def run(*arguments, code=0):
        done = warm_command.run(["log", *arguments], environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stderr

    yield run
    nodes.kill()
    nodes.communicate()


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
def steering(monkeypatch):
    monkeypatch.setenv("STEERING", "1")


def test_a_line_that_would_steer_the_terminal_is_harmless(steering, log):
    printed = log("--once", "--level", "fatal")
    assert printed.split("]: ")[1] == "a\\x07\\r\\x1b[2J\\x9b1m\nb\tc\n"
