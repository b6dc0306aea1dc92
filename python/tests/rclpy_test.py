# SPDX-License-Identifier: Apache-2.0
"""rclpy of ROS 2's wheels, accelerated and as a source of objects (make setup, x86-64)."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.build import PACKAGE
from support.claims import claim_domain
from support.ros2 import TESTED, needs_ros2

pytestmark = needs_ros2()


SAYS = {
    "conversion": f"{TESTED.facts.converted_types} types\n",
    "topics": "topics\n",
    "malformed": "malformed\n",
    "keywords": "keywords\n",
    "publish": "published\n",
    "values": "values\n",
    "layouts": "layouts\n",
}


@pytest.mark.parametrize("what", SAYS)
def test_rclpy(what, tmp_path):
    """conversion: every type, against rclpy's own functions, in values and Python types; topics: publishers, subscriptions and
    services; malformed: messages that are none; keywords: every parameter by its name; publish: rclpy's objects on Baton's topics; values: what fields may hold, the
    same in all ways out; layouts: C structs that are laid out differently."""
    domain, claim = claim_domain()
    env = {**os.environ, "PYTHONPATH": str(PACKAGE), "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
    with claim, open(tmp_path / "out", "w+") as out, open(tmp_path / "errors", "w+") as errors:
        # Files and a session of its own, because the wheels may start a second process.
        process = subprocess.Popen(
            [TESTED.python, Path(__file__).with_name("rclpy_process.py"), what],
            env=env,
            stdout=out,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = process.wait(240)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        errors.seek(0)
        lines = errors.read()
    assert (code, (tmp_path / "out").read_text()) == (0, SAYS[what]), lines
    if what == "malformed":
        assert 1 <= lines.count("a message on path is lost") <= 12, "one in ten seconds, of 320 messages"
