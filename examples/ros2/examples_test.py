# SPDX-License-Identifier: Apache-2.0
"""Runs the two ROS 2 programs over Baton, as their readers do."""

import json
import os
from pathlib import Path

from support.build import PACKAGE, ROOT, needs_package
from support.claims import claim_domain
from support.processes import Programs
from support.ros2 import TESTED, needs_ros2
from support.waiting import until

HERE = Path(__file__).parent


def doctor(programs, domain):
    """How the messages from the camera to the viewer travel, in the words of `baton doctor`."""
    command = [ROOT / ".venv/bin/baton", "doctor", "--json", "--look", "0", "--domain", domain]
    topics = json.loads(programs.run(command, env={"PYTHONPATH": str(PACKAGE)}).stdout)["topics"]
    return [each["why"] for each in topics if each["what"].startswith("/image: /camera")]


@needs_ros2(TESTED.library)
@needs_package()  # doctor
def test_two_ordinary_programs_meet_in_baton():
    domain, claim = claim_domain()
    with claim, Programs(dict(os.environ, ROS_DOMAIN_ID=str(domain))) as programs:
        viewer, camera = (programs.start([HERE / "run.sh", HERE / name]) for name in ("viewer.py", "camera.py"))
        for _ in range(3):
            viewer.says("640x480, 921600 bytes")
        until(lambda: any(why.startswith("shared memory") for why in doctor(programs, domain)), every_s=0.1)
        for program in (viewer, camera):
            program.interrupted(None)
