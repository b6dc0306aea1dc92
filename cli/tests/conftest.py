# SPDX-License-Identifier: Apache-2.0
"""What the tests of verbs share: the command in a domain of its own, and processes that it can look at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from warm_command import WarmCommand

BUILD = Path(os.environ.get("BATON_BUILD", Path(__file__).resolve().parents[2] / "build/release"))

CAMERA = """
import baton, sys
node = baton.Node("camera")
images = node.advertise("image", "sensor_msgs/Image")
texts = node.advertise("chatter", "std_msgs/String")
node.serve("switch", "std_srvs/SetBool", lambda request, response: None)
node.subscribe("chatter", "std_msgs/String", lambda message: print(message.data, flush=True) if message.data == "x" else None)
def tick():
    with images.loan() as image:
        image.header.frame_id = "front"
        image.header.stamp.sec = 1
        image.data.resize(1_000_000)
    texts.publish({"data": "hello"})
node.create_timer(0.01, tick)
print("ready", flush=True)
baton.spin(node)
"""


def patient(arguments):
    """The arguments with a longer wait for services than a person has, where a test names none: the machine may be busy."""
    calls = arguments[0] == "param" or arguments[:2] == ("service", "call")
    more = ["--timeout", "120"] if calls and "--timeout" not in arguments else []
    return [*arguments[:2], *more, *arguments[2:]]


@pytest.fixture(scope="session")
def build():
    """The build tree under test."""
    if not any((BUILD / "python" / "baton").glob("_core*.so")):
        pytest.skip("the Python package is not built: make build")
    return BUILD


@pytest.fixture(scope="session")
def warm_command(build):
    command = WarmCommand(build / "python")
    yield command
    command.end()


@pytest.fixture
def environment(build, tmp_path):
    tmp_path.chmod(0o700)
    return {**os.environ, "BATON_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": str(build / "python"), "COLUMNS": "160"}


@pytest.fixture
def baton(environment, warm_command):
    """baton(*arguments) runs the command; .camera starts the process that publishes."""
    running = []

    def run(*arguments, code=0):
        done = warm_command.run(patient(arguments), environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    def camera():
        process = subprocess.Popen([sys.executable, "-c", CAMERA], env=environment, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    run.camera = camera
    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def program(environment):
    """program(*statements) starts a process that keeps what each makes in the list `kept`."""
    running = []

    def start(*statements):
        lines = [f"kept.append({s})" for s in statements]
        code = "\n".join(["import baton", "kept = []", *lines, "print('ready', flush=True)", "input()"])
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()
