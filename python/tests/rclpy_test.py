# SPDX-License-Identifier: Apache-2.0
"""rclpy of ROS 2 Kilted's wheels, accelerated and as a source of objects. In .venv-ros2 (make setup, x86-64)."""

import os
import subprocess

import pytest
from build_tree import HERE, PACKAGE, ROOT

PYTHON = ROOT / ".venv-ros2" / "bin" / "python"
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="needs ROS 2's wheels: make setup")


@pytest.mark.parametrize(
    ("what", "says"), [("conversion", "127 types\n"), ("topics", "topics\n"), ("publish", "published\n")]
)
def test_rclpy(what, says, tmp_path):
    """conversion: every type, against rclpy's own functions, in values and Python types; topics: publishers, subscriptions and
    services; publish: rclpy's objects on Baton's topics."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "ROS_DOMAIN_ID": "77", "ROS_LOG_DIR": str(tmp_path)}
    done = subprocess.run(
        [PYTHON, HERE / "rclpy_process.py", what], env=environment, capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout) == (0, says), done.stderr
