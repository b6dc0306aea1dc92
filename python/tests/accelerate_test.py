# SPDX-License-Identifier: Apache-2.0
"""BATON_ACCELERATE and `python -m baton_accelerate`: programs that know nothing of Baton. A made-up rclpy shows when and that the
real functions are called; ROS 2's own, where its wheels are, that they work."""

import os
import subprocess
import sys

import pytest
from support.build import PACKAGE
from support.ros2 import TESTED

# As in an installed site-packages: Python reads the .pth file there when it starts.
SITE = f"import site; site.addsitedir({str(PACKAGE)!r})\n"
FAKE = {
    "rclpy/__init__.py": "print('rclpy')",
    "rclpy/node.py": "class Node:\n    create_publisher = create_service = create_client = create_subscription = lambda self, msg_type: 0",
    "rclpy/publisher.py": "class Publisher:\n    def publish(self, msg): pass",
}
PROGRAM = """
import sys
from rclpy.node import Node
print(hasattr(Node.create_publisher, '__wrapped__'), 'baton.rclpy' in sys.modules, *sys.argv[1:])
"""
REAL = """
import sys
import rclpy, rclpy.publisher
print(rclpy.publisher.Publisher.publish.__wrapped__.__module__, 'baton.rclpy' in sys.modules)
"""


def run(command, code=0, **variables):
    environment = {k: v for k, v in os.environ.items() if k != "BATON_ACCELERATE"} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


@pytest.fixture
def program(tmp_path):
    """A program beside a package that looks like rclpy."""
    for name, text in FAKE.items():
        path = tmp_path / "fake" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (tmp_path / "node.py").write_text(PROGRAM)
    return tmp_path / "node.py"


def path_of(program):
    return os.pathsep.join([str(PACKAGE), str(program.parent / "fake")])


def test_the_command_accelerates_an_unmodified_program_and_module(program):
    for target in ([str(program)], ["-m", "node"]):
        command = [sys.executable, "-m", "baton_accelerate", "rclpy", *target, "an", "argument"]
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path_of(program)},
            cwd=program.parent,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.stdout == "rclpy\nTrue True an argument\n", done.stderr
    assert "usage" in run([sys.executable, "-m", "baton_accelerate"], 1, PYTHONPATH=str(PACKAGE))[1]


def test_the_variable_accelerates_when_the_site_directory_is_read(program):
    start = SITE + program.read_text()
    fake = {"PYTHONPATH": str(program.parent / "fake")}
    out, errors = run([sys.executable, "-c", start], BATON_ACCELERATE="rclpy", **fake)
    assert (out, errors) == ("rclpy\nTrue True\n", "")
    assert run([sys.executable, "-c", start], **fake)[0] == "rclpy\nFalse False\n"


def test_a_program_without_ros_does_not_even_load_the_package(program):
    code = SITE + "import sys; print('baton' in sys.modules, 'numpy' in sys.modules)"
    assert run([sys.executable, "-c", code], BATON_ACCELERATE="rclpy,rospy") == ("False False\n", "")


def test_a_failed_acceleration_is_a_warning_and_the_program_goes_on(program):
    (program.parent / "fake" / "rclpy" / "publisher.py").write_text("raise ImportError('half installed')")
    out, errors = run(
        [sys.executable, "-c", SITE + "import rclpy; print('on')"],
        BATON_ACCELERATE="rclpy,rosjava",
        PYTHONPATH=str(program.parent / "fake"),
    )
    assert out == "rclpy\non\n"
    assert "rclpy is not accelerated: ImportError: half installed" in errors
    assert "'rosjava' is none of rclpy, rospy" in errors


@pytest.mark.skipif(
    not TESTED.python.exists() or "asan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs ROS 2's wheels (make setup), no sanitizer",
)
def test_ros_2s_own_rclpy_is_accelerated():
    out, errors = run([TESTED.python, "-c", SITE + REAL], BATON_ACCELERATE="rclpy")
    assert out == "rclpy.publisher True\n", errors


@pytest.mark.parametrize("given", ["many", "1.5", "-2"])
def test_a_malformed_threshold_is_an_error_at_once_that_names_the_variable(program, given):
    program.write_text("import rclpy.node")
    _, errors = run(
        [sys.executable, "-m", "baton_accelerate", "rclpy", program],
        PYTHONPATH=path_of(program),
        BATON_ATSA_THRESHOLD=given,
    )
    assert "BATON_ATSA_THRESHOLD is a number of messages, or -1 to serialize always, not " in errors


def test_a_threshold_is_a_whole_number():
    import baton.rclpy

    for given in ("5", 1.5, -2, []):
        with pytest.raises(ValueError, match="threshold is a number of messages"):
            baton.rclpy.accelerate(threshold=given)
