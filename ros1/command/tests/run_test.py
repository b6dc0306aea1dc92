# SPDX-License-Identifier: Apache-2.0
"""What `baton ros1 run` sets for the command that it starts. ros1/rospy/tests has real programs of rospy that it starts."""

import os
import subprocess
import sys
from pathlib import Path

from baton_ros1.verbs import ros1

START = Path(ros1.__file__).parents[1] / "start"


def test_values_stand_before_those_that_a_variable_has_and_none_stands_there_twice(monkeypatch):
    monkeypatch.setenv("A_PATH", "/b::/a")
    ros1.before("A_PATH", ":", Path("/a"), "/c")
    assert os.environ["A_PATH"] == "/a:/c:/b"


def test_python_gets_a_path_only_where_it_does_not_find_the_packages_by_itself(monkeypatch, tmp_path):
    (tmp_path / "python").mkdir()
    (tmp_path / "python/baton_accelerate.py").touch()
    monkeypatch.setattr(ros1, "CHECKOUT", tmp_path)
    for reads, expected in (([str(tmp_path / "python")], []), ([], [START, tmp_path / "python"])):
        monkeypatch.setattr(ros1.site, "getsitepackages", lambda reads=reads: reads)
        assert ros1.python_folders() == expected


def test_rospy_is_accelerated_from_the_start_and_the_systems_own_start_runs_too(tmp_path):
    (tmp_path / "baton").mkdir()
    (tmp_path / "baton/__init__.py").touch()
    (tmp_path / "baton/rospy.py").write_text("def accelerate(): print('accelerated')\n")
    (tmp_path / "baton_accelerate.py").symlink_to(Path(__file__).parents[3] / "python/site/baton_accelerate.py")
    (tmp_path / "rospy.py").touch()
    (tmp_path / "sitecustomize.py").write_text("print('the system')\n")
    environment = {**os.environ, "BATON_ACCELERATE": "rospy", "PYTHONPATH": f"{START}:{tmp_path}"}
    command = [sys.executable, "-c", "import sitecustomize; print(sitecustomize.__file__); import rospy"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert (done.stdout, done.stderr) == (f"the system\n{tmp_path}/sitecustomize.py\naccelerated\n", "")
