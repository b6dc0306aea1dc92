# SPDX-License-Identifier: Apache-2.0
"""Runs the examples as their readers do: each in a process of its own, ended by Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUILD = Path(os.environ.get("BATON_BUILD", HERE.parents[1] / "build" / "release"))
LIMIT_S = 300

if not list((BUILD / "python" / "baton").glob("_core*.so")):
    pytest.skip("the Python package is not built: make build", allow_module_level=True)


@pytest.fixture
def start(tmp_path):
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), BATON_RUNTIME_DIR=str(tmp_path), BATON_DOMAIN="7")
    programs = []

    def start(name):
        programs.append(
            subprocess.Popen([sys.executable, HERE / name], stdout=subprocess.PIPE, text=True, env=environment)
        )
        return programs[-1]

    yield start
    for program in programs:
        program.kill()
        program.wait()
        program.stdout.close()


def interrupt(program):
    program.send_signal(signal.SIGINT)
    assert program.wait(LIMIT_S) == 0


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
    interrupt(viewer)
    interrupt(camera)


def test_the_viewer_in_an_event_loop_ends_after_three_images(start):
    viewer, camera = start("viewer_asyncio.py"), start("camera.py")
    assert viewer.communicate(timeout=LIMIT_S)[0] == "640x480, 921600 bytes\n" * 3
    assert viewer.returncode == 0
    interrupt(camera)


def test_the_server_answers_the_client(start):
    server, client = start("server.py"), start("client.py")
    assert client.communicate(timeout=LIMIT_S)[0] == "True: switched\nFalse: nothing to do\n"
    assert client.returncode == 0
    interrupt(server)


def test_the_test_of_a_node_passes(tmp_path):
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), BATON_RUNTIME_DIR=str(tmp_path / "not used"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "/dev/null",
        HERE / "test_counter.py",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr
