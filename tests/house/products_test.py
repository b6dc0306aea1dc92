# SPDX-License-Identifier: Apache-2.0
"""The build of core has no part of ROS 1: no target, no test, no installed file. It has only definitions and formats of ROS 1."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.build import BUILD, ROOT

OF_ROS1 = re.compile(r"ros_?1|rospy|roscpp|baton_converter", re.IGNORECASE)
# Parts about ROS 1 that core has all the same:
FORMATS = re.compile(
    # the codec of ROS 1's wire, which bags and links need;
    r"ros1_codec"
    # the definitions of ROS 1's messages, since one type is of ROS 1 and of ROS 2, and a type of the tests with ROS 1's forms of a definition;
    r"|baton_generator/(ros1_(definitions|headers)\.py|standard_sets/ros1_noetic\b)|golden_msgs_ros1_style"
)


def run(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module", autouse=True)
def build_of_core():
    cache = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
    if "BATON_TESTS:BOOL=ON" not in cache or not (BUILD / "lib/libbaton.so").exists():
        pytest.skip("there is no build: make build")
    if "BATON_ROS1:BOOL=ON" in cache:
        pytest.skip("this build has ROS 1; the part core runs this test")


def of_ros1(names):
    return sorted(name for name in names if OF_ROS1.search(name) and not FORMATS.search(name))


def test_no_target_is_of_ros_1():
    targets = [line.partition(":")[0] for line in run("ninja", "-C", BUILD, "-t", "targets", "all").splitlines()]
    # A path elsewhere, or the full path of this tree, is no part of the build.
    targets = [name.removeprefix(f"{BUILD}/").removeprefix(f"{ROOT}/") for name in targets]
    assert "baton_library" in targets
    assert of_ros1(name for name in targets if not name.startswith("/")) == []


def test_no_test_program_is_of_ros_1():
    tests = json.loads(run("ctest", "--test-dir", BUILD, "--show-only=json-v1"))["tests"]
    programs = {test["name"].partition(".")[0] for test in tests}
    assert "node_tests" in programs
    assert of_ros1(programs) == []


def test_no_installed_file_is_of_ros_1(tmp_path):
    run("cmake", "--install", BUILD, "--prefix", tmp_path)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert any(Path(name).name == "node.hpp" for name in files)
    assert of_ros1(files) == []
