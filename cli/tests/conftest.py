# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of verbs: the command in a domain of its own, and processes in that domain."""

import sys

import pytest
from support import processes
from support.build import BUILD, PACKAGE, has_package
from support.processes import PIPE, Programs
from support.warm_command import WarmCommand

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
    """Adds a long wait for services to the arguments, unless the test names a wait: the machine may be busy."""
    calls = arguments[0] == "param" or arguments[:2] == ("service", "call")
    more = ["--timeout", "120"] if calls and "--timeout" not in arguments else []
    return [*arguments[:2], *more, *arguments[2:]]


class Command:
    """The command `baton` beside the programs of a test."""

    def __init__(self, programs, warm):
        self.programs, self._warm = programs, warm

    def done(self, *arguments, code=0, **options):
        """Runs the command to its end, and checks its status. Options of subprocess.run() start a new process for it."""
        if options:
            done = self.programs.run([sys.executable, "-m", "baton_cli", *patient(arguments)], **options)
        else:
            done = self._warm.run(patient(arguments), self.programs.environment())
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def __call__(self, *arguments, code=0):
        """The command's output. If its status is not 0, the output includes the diagnostics."""
        done = self.done(*arguments, code=code)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def start(self, *arguments, **options):
        """Starts the command, and returns at once."""
        command = [sys.executable, "-u", "-m", "baton_cli", *arguments]
        return self.programs.start(command, stderr=PIPE, **options)

    def camera(self):
        """A process that publishes."""
        return self.programs.python(CAMERA, ready="ready")


@pytest.fixture(scope="session")
def build():
    """The build tree under test."""
    if not has_package():
        pytest.skip("the Python package is not built: make build")
    return BUILD


@pytest.fixture(scope="session")
def warm_command(build):
    command = WarmCommand(PACKAGE)
    yield command
    command.end()


@pytest.fixture
def environment(build, tmp_path):
    return processes.environment(tmp_path, COLUMNS="160")


@pytest.fixture
def programs(environment):
    with Programs(environment) as programs:
        yield programs


@pytest.fixture
def baton(programs, warm_command):
    return Command(programs, warm_command)


@pytest.fixture
def program(programs):
    """program(*statements) starts a process that keeps the object that each statement makes in the list `kept`."""

    def start(*statements):
        lines = [f"kept.append({s})" for s in statements]
        code = "\n".join(["import baton", "kept = []", *lines, "print('ready', flush=True)", "input()"])
        return programs.python(code, ready="ready")

    return start
