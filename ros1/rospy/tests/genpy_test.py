# SPDX-License-Identifier: Apache-2.0
"""rospy's generated serialize() and deserialize(), replaced. genpy is no PyPI package (Debian: python3-genpy)."""

import os
import subprocess
import sys

import numpy
import pytest
from support.build import PACKAGE, ROOT


def python_with_genpy():
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            code = f"import sys, genpy.dynamic, rospy.numpy_msg; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}"
            if subprocess.run([python, "-c", code], capture_output=True, timeout=240).returncode == 0:
                return python
        except OSError:
            continue
    return None


PYTHON = python_with_genpy()


@pytest.mark.skipif(PYTHON is None, reason="needs genpy and rospy for this Python: apt-get install python3-rospy")
def test_accelerated_classes_write_genpys_bytes_and_make_its_objects():
    packages = os.path.dirname(os.path.dirname(numpy.__file__))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE), packages])}
    done = subprocess.run(
        [PYTHON, ROOT / "ros1/rospy/tests/genpy_process.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, "genpy\n"), done.stderr
