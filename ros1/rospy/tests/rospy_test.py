# SPDX-License-Identifier: Apache-2.0
"""`baton ros1 run` with an unmodified program of real rospy (Debian: python3-rospy, python3-rosmaster). ros1/tests/conformance_test.py has
accelerated programs beside every other kind."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from support.build import BUILD, PACKAGE, ROOT
from support.claims import Ports, wait_for_server
from support.processes import PIPE, Programs

PYTHON = "/usr/bin/python3"
MASTER = Path("/usr/bin/rosmaster")
PROBE = f"import sys, rospy, baton.rospy; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}"
TALK = """
import sys
import genpy
import rospy
import genpy.dynamic
TEXT = '''std_msgs/Header header
t/Part[] parts
================================================================================
MSG: t/Part
string name
float64[] numbers
================================================================================
MSG: std_msgs/Header
uint32 seq
time stamp
string frame_id
'''
classes = genpy.dynamic.generate_dynamic('t/Whole', TEXT)
Whole, Part = classes['t/Whole'], classes['t/Part']
role = sys.argv[1]
rospy.init_node(role, disable_signals=True)
if role == 'talker':
    publisher = rospy.Publisher('whole', Whole, queue_size=10)
    while publisher.get_num_connections() < 2:
        rospy.sleep(0.01)
    message = Whole(parts=[Part('part %d' % i, [i, 0.5]) for i in range(300)])
    message.header.frame_id = 'map'
    publisher.publish(message)
    print(hasattr(Whole.serialize, '__wrapped__'), flush=True)
    sys.stdin.read()
else:
    heard = []
    rospy.Subscriber('whole', Whole, heard.append)
    while not heard:
        rospy.sleep(0.01)
    part = heard[0].parts[299]
    print(hasattr(Whole.deserialize, '__wrapped__'), heard[0].header.frame_id, part.name, part.numbers, flush=True)
"""


@pytest.mark.skipif(not MASTER.exists(), reason="needs rospy: apt-get install python3-rospy python3-rosmaster")
def test_programs_that_the_command_starts_are_accelerated_and_talk_to_stock_ones(tmp_path):
    if not (BUILD == ROOT / "build/ros1" and (BUILD / "lib/libbaton_roscpp.so").exists()):
        pytest.skip("the command starts programs with the build of make build-ros1, which this one is not")
    (tmp_path / "numpy").symlink_to(Path(numpy.__file__).parent)  # alone: .venv has nothing else for this Python
    libraries = Path(numpy.__file__).parents[1] / "numpy.libs"
    if libraries.exists():
        (tmp_path / "numpy.libs").symlink_to(libraries)
    environment = {**os.environ, "ROS_IP": "127.0.0.1", "ROS_LOG_DIR": str(tmp_path), "ROS_HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), str(tmp_path)])
    if subprocess.run([PYTHON, "-c", PROBE], env=environment, capture_output=True).returncode:
        pytest.skip("needs rospy for this Python: apt-get install python3-rospy python3-rosmaster")
    environment["PYTHONPATH"] = str(tmp_path)  # the command itself says where Baton's packages are
    (tmp_path / "talk.py").write_text(TALK)
    with Ports(1) as (port,), Programs(environment, stderr=PIPE) as programs:
        environment["ROS_MASTER_URI"] = f"http://127.0.0.1:{port}"
        devnull = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        wait_for_server(programs.start([PYTHON, MASTER, "--core", "-p", port], **devnull), port)
        command = [sys.executable, "-m", "baton_cli", "ros1", "run", PYTHON]
        words = {False: [PYTHON], True: command}
        listeners = {by: programs.start([*words[by], tmp_path / "talk.py", f"listener_{by}"]) for by in words}
        talker = programs.start([*command, tmp_path / "talk.py", "talker"])
        for by_the_command, listener in listeners.items():
            out, errors = listener.communicate(timeout=240)
            assert out == f"{by_the_command} map part 299 (299.0, 0.5)\n", errors
        talker.says("True")
