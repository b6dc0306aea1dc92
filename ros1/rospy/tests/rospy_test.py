# SPDX-License-Identifier: Apache-2.0
"""Real rospy (Debian: python3-rospy, python3-rosmaster), an unmodified program: stock and accelerated ends understand each other."""

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


@pytest.fixture
def ros(tmp_path):
    """run(role, how) starts a process of a ROS 1 network of its own: as it is, by baton_accelerate, or by `baton ros1 run`."""
    (tmp_path / "numpy").symlink_to(Path(numpy.__file__).parent)  # alone: .venv has nothing else for this Python
    libraries = Path(numpy.__file__).parents[1] / "numpy.libs"
    if libraries.exists():
        (tmp_path / "numpy.libs").symlink_to(libraries)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(PACKAGE), str(tmp_path)]),
        "ROS_IP": "127.0.0.1",
        "ROS_LOG_DIR": str(tmp_path),
        "ROS_HOME": str(tmp_path),
    }
    if subprocess.run([PYTHON, "-c", PROBE], env=environment, capture_output=True).returncode:
        pytest.skip("needs rospy for this Python: apt-get install python3-rospy python3-rosmaster")
    (tmp_path / "talk.py").write_text(TALK)
    with Ports(1) as (port,), Programs(environment, stderr=PIPE) as programs:
        environment["ROS_MASTER_URI"] = f"http://127.0.0.1:{port}"
        devnull = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        wait_for_server(programs.start([PYTHON, MASTER, "--core", "-p", port], **devnull), port)

        def run(role, how="stock"):
            words = {
                "stock": [PYTHON],
                "accelerated": [PYTHON, "-m", "baton_accelerate", "rospy"],
                "run": [sys.executable, "-m", "baton_cli", "ros1", "run", PYTHON],
            }[how]
            # The command itself says where Baton's packages are.
            more = {"env": {**environment, "PYTHONPATH": str(tmp_path)}} if how == "run" else {}
            return programs.start([*words, tmp_path / "talk.py", role], **more)

        yield run


@pytest.mark.skipif(not MASTER.exists(), reason="needs rospy: apt-get install python3-rospy python3-rosmaster")
@pytest.mark.parametrize("how", ["stock", "accelerated", "run"])
def test_stock_and_accelerated_rospy_talk(ros, how):
    if how == "run" and not (BUILD == ROOT / "build/ros1" and (BUILD / "lib/libbaton_roscpp.so").exists()):
        pytest.skip("the command starts programs with the build of make build-ros1, which this one is not")
    listeners = {
        which: ros(f"listener_{which}", which) for which in ("stock", "accelerated" if how == "stock" else how)
    }
    talker = ros("talker", how)
    for which, listener in listeners.items():
        out, errors = listener.communicate(timeout=240)
        assert out == f"{which != 'stock'} map part 299 (299.0, 0.5)\n", errors
    talker.says(f"{how != 'stock'}")


NUMPY = """
import io
import baton.rospy
import genpy.dynamic
from rospy.numpy_msg import numpy_msg
Scan = genpy.dynamic.generate_dynamic('t/Scan', 'float32[] ranges')['t/Scan']
wire = io.BytesIO()
Scan(ranges=[1, 2]).serialize(wire)
print(baton.rospy.accelerate_class(numpy_msg(Scan)), baton.rospy.accelerate_class(Scan))
print(type(numpy_msg(Scan)().deserialize(wire.getvalue()).ranges).__name__)
"""


def test_a_class_of_numpy_msg_keeps_its_arrays(ros, tmp_path):
    (tmp_path / "talk.py").write_text(NUMPY)
    out, errors = ros("none").communicate(timeout=240)
    assert out == "False True\nndarray\n", errors
