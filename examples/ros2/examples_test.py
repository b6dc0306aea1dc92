# SPDX-License-Identifier: Apache-2.0
"""Runs the two ROS 2 programs over Baton, as their readers do."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from ros2_distribution import BUILD, TESTED
from ros_domain import claim_domain

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT_S = 300

if not TESTED.library.exists():
    pytest.skip("the RMW is not built: make setup && make build, on x86-64", allow_module_level=True)


def doctor(domain):
    """How the messages from the camera to the viewer travel, in the words of `baton doctor`."""
    command = [ROOT / ".venv/bin/baton", "doctor", "--json", "--look", "0", "--domain", str(domain)]
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False, timeout=LIMIT_S).stdout
    return [each["why"] for each in json.loads(output)["topics"] if each["what"].startswith("/image: /camera")]


@pytest.mark.skipif(not list((BUILD / "python/baton").glob("_core*.so")), reason="doctor needs Baton's Python package")
def test_two_ordinary_programs_meet_in_baton():
    domain, claim = claim_domain()
    environment = dict(os.environ, ROS_DOMAIN_ID=str(domain))
    command = [HERE / "run.sh"]
    viewer = subprocess.Popen([*command, HERE / "viewer.py"], stdout=subprocess.PIPE, text=True, env=environment)
    camera = subprocess.Popen([*command, HERE / "camera.py"], env=environment)
    try:
        for _ in range(3):
            assert viewer.stdout.readline() == "640x480, 921600 bytes\n"
        while not any(why.startswith("Baton's memory") for why in doctor(domain)):
            time.sleep(0.1)
        for program in (viewer, camera):
            program.send_signal(signal.SIGINT)
            program.wait(LIMIT_S)
    finally:
        for program in (viewer, camera):
            program.kill()
            program.wait()
        viewer.stdout.close()
        claim.close()
