# SPDX-License-Identifier: Apache-2.0
"""Programs of one ROS 2 beside programs of another one: they share topics and services, and each refuses the other's library."""

import re
import shutil
import subprocess

import pytest
from ros2_processes import carried, environment
from support.ros2 import DISTRIBUTIONS, TESTED

MISSING = [each for each in DISTRIBUTIONS.values() if not each.library.exists() or not each.python.exists()]
pytestmark = pytest.mark.skipif(
    MISSING != [], reason="needs every ROS 2 of ros2/distributions and the RMW for each: make setup, make build"
)
OTHERS = [each for each in DISTRIBUTIONS.values() if each is not TESTED]
PAIRS = [pair for other in OTHERS for pair in ((TESTED, other), (other, TESTED))]
IDS = [f"{one.name} to {other.name}" for one, other in PAIRS]
# Loads the other ROS 2's library beside the program's own librmw.so, as an installed one would be, and makes the first call of rcl.
FIRST_CALL = """
import ctypes, sys, rclpy
class Allocator(ctypes.Structure):
    _fields_ = [("words", ctypes.c_void_p * 5)]
class Text(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 4096)]
rcutils = ctypes.CDLL("librcutils.so")
rcutils.rcutils_get_default_allocator.restype = Allocator
rcutils.rcutils_get_error_string.restype = Text
library = ctypes.CDLL(sys.argv[1])
library.rmw_init_options_init.argtypes = [ctypes.c_void_p, Allocator]
options = ctypes.create_string_buffer(4096)
print(library.rmw_init_options_init(options, rcutils.rcutils_get_default_allocator()), any(options.raw))
print(rcutils.rcutils_get_error_string().text.decode())
"""


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=IDS)
def test_a_talker_of_one_is_heard_in_order_by_a_listener_of_the_other(processes, one, other):
    talker = processes.start("baton", "talk", "default", "20", "1", distribution=one)
    heard = processes.result(processes.start("baton", "listen", "default", "20", distribution=other))
    said = processes.result(talker)
    assert heard["got"] == [f"hello {i}" for i in range(20)]
    assert carried(said["log"], "/chatter")[0] == carried(heard["log"], "/chatter")[0] == 20


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=IDS)
def test_a_service_of_one_answers_a_client_of_the_other(processes, one, other):
    serving = processes.start("baton", "serve", distribution=one)
    answer = processes.result(processes.start("baton", "call", distribution=other))
    assert (answer["value"], answer["text"], answer["color"]) == (42, "notab", "red")
    assert processes.result(serving)["stopped"]


def titles(distribution):
    """The names of the ROS 2s whose structs have the sizes of this one."""
    same = [each for each in DISTRIBUTIONS.values() if size(each) == size(distribution)]
    return "ROS 2 " + " or ".join(sorted(each.facts.title for each in same))


def size(distribution):
    return distribution.facts.init_options_bytes


def functions(distribution):
    """What its librmw.so exports."""
    command = ["nm", "-D", "--defined-only", distribution.prefix / "lib/librmw.so"]
    return {
        line.split()[-1]
        for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    }


DIFFERENT = [pair for pair in PAIRS if size(pair[0]) != size(pair[1])]


@pytest.mark.parametrize(("program", "library"), DIFFERENT)
def test_a_preloaded_library_that_was_built_for_another_ros2_is_refused_by_name(processes, program, library):
    mixed = program._replace(library=library.library)
    done = subprocess.run(
        [program.python, "-c", "import rclpy; rclpy.init()"],
        env=environment("baton", processes.domain, mixed), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr  # an exception of Python, and no signal
    if lacking := functions(program) - functions(library):
        # A library of the build tree brings its own librmw.so, and the loader misses a function of the program's there.
        missed = re.search(r"undefined symbol: (\w+)", done.stderr)
        assert missed and missed[1] in lacking, done.stderr
        return
    assert f"librmw_baton_cpp.so was built for {titles(library)}, and this program's librmw" in done.stderr
    assert f"use the librmw_baton_cpp.so that was built for {titles(program)}" in done.stderr


@pytest.mark.parametrize("later", [False, True])
def test_the_first_call_refuses_a_librmw_implementation_with_the_functions_of_humble(processes, tmp_path, later):
    # Any library with the functions of an RMW of a later ROS 2, and any one without.
    stands_for_it = tmp_path / "librmw_implementation.so"
    shutil.copy(TESTED.library if later else TESTED.prefix / "lib/librcutils.so", stands_for_it)
    done = subprocess.run(
        [TESTED.python, "-c", f"import ctypes\nctypes.CDLL('{stands_for_it.name}')\n{FIRST_CALL}", TESTED.library],
        env=environment("plain", processes.domain, LD_LIBRARY_PATH=str(tmp_path)),
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result, said = done.stdout.split("\n", 1)
    assert result == ("0 True" if later else "1 False")
    assert later or "and this program's librmw_implementation.so is of ROS 2 Humble: use the" in said


@pytest.mark.parametrize(("program", "library"), [*DIFFERENT, *((each, each) for each in DISTRIBUTIONS.values())])
def test_the_first_call_refuses_the_librmw_of_another_ros2_and_writes_nothing(processes, program, library):
    done = subprocess.run(
        [program.python, "-c", FIRST_CALL, library.library],
        env=environment("plain", processes.domain), capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result, said = done.stdout.split("\n", 1)
    if program is library:
        assert result == "0 True"
    else:
        assert result == "1 False"
        assert f"built for {titles(library)}, and this program's librmw.so is of {titles(program)}" in said
