# SPDX-License-Identifier: Apache-2.0
"""rclpy of ROS 2's wheels, accelerated and as a source of objects (make setup, x86-64)."""

import contextlib
import os
import signal
import subprocess

import pytest
from build_tree import HERE, PACKAGE
from ros2_distribution import TESTED
from ros_domain import claim_domain

PYTHON = TESTED.python
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="needs ROS 2's wheels: make setup")


SAYS = {
    "conversion": f"{ {'jazzy': 123, 'kilted': 127}[TESTED.name] } types\n",
    "topics": "topics\n",
    "keywords": "keywords\n",
    "publish": "published\n",
    "values": "values\n",
    "layouts": "layouts\n",
}


@pytest.mark.parametrize("what", SAYS)
def test_rclpy(what, tmp_path):
    """conversion: every type, against rclpy's own functions, in values and Python types; topics: publishers, subscriptions and
    services; keywords: every parameter by its name; publish: rclpy's objects on Baton's topics; values: what fields may hold, the
    same in all ways out; layouts: C structs that are laid out differently."""
    domain, claim = claim_domain()
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
    with claim, open(tmp_path / "out", "w+") as out, open(tmp_path / "errors", "w+") as errors:
        # Files and a session of its own, because the wheels may start a second process.
        process = subprocess.Popen(
            [PYTHON, HERE / "rclpy_process.py", what],
            env=environment,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = process.wait(240)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (code, (tmp_path / "out").read_text()) == (0, SAYS[what]), (tmp_path / "errors").read_text()
