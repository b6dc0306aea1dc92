# SPDX-License-Identifier: Apache-2.0
"""Runs the examples as their readers do: each in a process of its own, ended by Ctrl-C."""

import re
import sys
from pathlib import Path

import pytest
from support.build import needs_package
from support.processes import Programs, environment

HERE = Path(__file__).parent
pytestmark = needs_package()


@pytest.fixture
def start(tmp_path):
    with Programs(environment(tmp_path, BATON_DOMAIN="7")) as programs:
        yield lambda name: programs.start([sys.executable, HERE / name])


def test_the_viewer_shows_the_images_of_the_camera(start):
    viewer, camera = start("viewer.py"), start("camera.py")
    means = []
    for _ in range(3):
        line = viewer.stdout.readline()
        match = re.fullmatch(r"640x480 from camera, mean (\d+)\.0\n", line)
        assert match, line
        means.append(int(match[1]))
    steps = [(later - sooner) % 256 for sooner, later in zip(means, means[1:], strict=False)]
    assert all(0 < step < 128 for step in steps), f"each image is brighter than the one before, 256 is 0: {means}"
    viewer.interrupted()
    camera.interrupted()


def test_the_viewer_in_an_event_loop_ends_after_three_images(start):
    viewer, camera = start("viewer_asyncio.py"), start("camera.py")
    assert viewer.ends()[0] == "640x480, 921600 bytes\n" * 3
    camera.interrupted()


def test_the_server_answers_the_client(start):
    server, client = start("server.py"), start("client.py")
    assert client.ends()[0] == "True: switched\nFalse: nothing to do\n"
    server.interrupted()


def test_the_test_of_a_node_passes(tmp_path):
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null"]
    command = [sys.executable, "-m", "pytest", *options, HERE / "test_counter.py"]
    done = Programs(environment(tmp_path / "not used")).run(command, cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
