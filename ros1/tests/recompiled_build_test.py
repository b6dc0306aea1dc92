# SPDX-License-Identifier: Apache-2.0
"""How recompiled programs are built: in projects of their own, with the order of the headers, and with what must not compile or link."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from ros1_network import BUILD, ROOT, build_example, configure, run

HERE = Path(__file__).parent


def test_a_library_with_messages_of_ros_inside_fails_the_build_with_its_names(tmp_path):
    build = configure(HERE / "stock_library", tmp_path)
    done = subprocess.run(["cmake", "--build", build, "--", "-k", "0"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    lines = done.stdout.splitlines()
    undefined = {line.partition("undefined reference to ")[2] for line in lines if "undefined reference" in line}
    assert undefined == {
        "`lamp::show(sensor_msgs::Image_<baton::ros1::recompiled::Allocator[abi:baton]> const&)'",
        "`lamp::picture[abi:baton]()'",
    }
    found = re.findall(
        r"lamp\.hpp:\d+: error: (\S+) of (\S+) has Baton's messages, and (\S+) was compiled", done.stdout
    )
    names = ("Lamp", "Lit", "Viewer", "first", "lit()")
    assert sorted(found) == sorted(
        (f"lamp::{name}", program, library)
        for name in names
        for program, library in (("hidden", "liblamp.so"), ("inside", "liblamp_inside.a"))
    ), "not a word of bulb, or of lamp::Bulb"
    assert not (build / "left_out").exists()
    assert "  its member image_ has sensor_msgs::Image inside; hidden and the library share" in lines
    assert subprocess.run([build / "bulb"], check=False).returncode == 0


def libraries_of(program):
    lines = subprocess.run(
        ["objdump", "-p", BUILD / "bin" / program], capture_output=True, text=True, check=True
    ).stdout
    return frozenset(re.findall(r"NEEDED +(\S+)", lines))


def test_no_recompiled_program_of_this_tree_shares_a_class_with_messages_with_a_stock_library():
    pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")

    def check(program):
        command = [sys.executable, "-m", "baton_converter", "check", BUILD / "bin" / program, "-p", BUILD]
        words = {**os.environ, "PYTHONPATH": str(ROOT / "ros1/converter")}
        return subprocess.run([*command, f"--target={program}"], env=words, capture_output=True, text=True, check=False)

    listener = "ros1_recompiled_ends"
    programs = sorted(path.name for path in (BUILD / "bin").glob("ros1_recompiled_*"))
    assert listener in programs
    more = [program for program in programs if libraries_of(program) - libraries_of(listener)]
    with ThreadPoolExecutor(2) as pool:
        said = dict(zip([listener, *more], pool.map(check, [listener, *more]), strict=True))
    assert {program: done.stderr for program, done in said.items() if done.returncode} == {}


# As catkin makes it: policies of CMake 3.0.2, ROS's headers by include_directories(), and a message of its own without a header yet.
CATKIN_PROJECT = """\
cmake_minimum_required(VERSION 3.0.2)
project(robot CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
baton_ros1_messages(messages FILES msg/Wheel.msg srv/Turn.srv PACKAGES std_msgs)
include_directories(${CMAKE_SOURCE_DIR}/ros)
add_library(odometry STATIC odometry.cpp)
target_link_libraries(odometry PRIVATE messages)
add_library(stock STATIC stock.cpp)
target_link_libraries(stock PRIVATE odometry)
add_executable(robot robot.cpp)
target_link_libraries(robot messages stock odometry ${roscpp_LIBRARIES})
"""
WHEEL = """\
#include <robot/Turn.h>
#include <robot/Wheel.h>
#include <type_traits>
static_assert(!std::is_same<decltype(robot::Wheel::name), std::string>::value, "recompiled");
"""


def test_a_package_of_catkin_with_its_own_messages_is_recompiled(tmp_path):
    headers = next(f for f in map(Path, ("/opt/ros/noetic/include", "/usr/include")) if (f / "ros/ros.h").exists())
    project = tmp_path / "project"
    for name, text in {
        "CMakeLists.txt": CATKIN_PROJECT,
        "package.xml": "<package><name>robot</name><buildtool_depend>catkin</buildtool_depend></package>\n",
        "msg/Wheel.msg": "Header header\nstring name\n",
        "srv/Turn.srv": "Wheel wheel\n---\nbool done\n",
        "odometry.cpp": WHEEL,
        "stock.cpp": "#include <std_msgs/String.h>\nstd_msgs::String_<std::allocator<void>> of_ros;\n",
        "robot.cpp": f"#include <ros/ros.h>\n{WHEEL}int main() {{ return robot::Wheel().name.size(); }}\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "ros").mkdir()
    for package in ("ros", "std_msgs"):
        (project / "ros" / package).symlink_to(headers / package)
    build = configure(project, tmp_path)
    built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout


def compile_errors(tmp_path, source, *before):
    """The compiler's errors for a source file of a recompiled program; `before` are earlier include directories."""
    (tmp_path / "program.cpp").write_text(source)
    folders = [
        *before,
        BUILD / "ros1/tests/ros1_recompiled_messages/include",
        ROOT / "ros1/recompiled/shadows",
        *(
            ROOT / room / "include"
            for room in (
                "ros1/recompiled",
                "ros1/api",
                "core/node",
                "core/transport",
                "core/message",
                "core/memory",
                "core/os",
            )
        ),
    ]
    command = [shutil.which("c++"), "-std=c++17", "-fsyntax-only", *(f"-I{folder}" for folder in folders)]
    command += ["-include", "baton/ros1/recompiled/first.hpp", "program.cpp"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr


MESSAGE_OF_A_FURTHER_PACKAGE = """\
#include <std_msgs/Header.h>
template <class ContainerAllocator>
struct Pose_ { std_msgs::Header_<ContainerAllocator> header; };  // as ROS's generator writes it
Pose_<std::allocator<void>> pose;
"""


# Sources of recompiled programs, and words of the error that they get.
REFUSED = {
    "#include <image_transport/publisher_plugin.h>\n": "not there for recompiled programs",
    MESSAGE_OF_A_FURTHER_PACKAGE: "add the package whose header contains std_msgs::Header_ to baton_ros1_messages",
    "#include <std_msgs/String.h>\nstd_msgs::String_<std::allocator<void>> text;\n": "in your own source write std_msgs::String",
}


def test_what_is_not_there_yet_and_headers_of_ros_before_those_of_baton_do_not_compile(tmp_path):
    for source, words in REFUSED.items():
        assert words in " ".join(compile_errors(tmp_path, source).split()), source
    stock = tmp_path / "stock"
    (stock / "ros").mkdir(parents=True)
    (stock / "ros" / "message_forward.h").write_text(Path("/usr/include/ros/message_forward.h").read_text())
    assert "the headers of ROS come before those of Baton" in compile_errors(tmp_path, "", stock)


PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(noetic CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
baton_ros1_messages(messages PACKAGES sensor_msgs std_msgs)
add_executable(listener {example}/listener.cpp)
target_include_directories(listener PRIVATE {noetic} ${{roscpp_INCLUDE_DIRS}})
target_link_libraries(listener PRIVATE messages ${{roscpp_LIBRARIES}})
"""


def test_headers_of_an_installation_come_before_those_of_a_ros_outside_of_usr(tmp_path):
    noetic, project = tmp_path / "noetic/include", tmp_path / "project"
    for folder in (noetic, project):
        folder.mkdir(parents=True)
    for name in ("ros", "sensor_msgs", "std_msgs"):
        (noetic / name).symlink_to(Path("/usr/include") / name)
    text = PROJECT.format(example=ROOT / "examples/ros1_recompiled", noetic=noetic)
    (project / "CMakeLists.txt").write_text(text)
    build = configure(project, tmp_path)
    run("cmake", "--build", build, "--target", "listener")
    image = "sensor_msgs::Image_<baton::ros1::recompiled::Allocator[abi:baton]>"
    assert image in run("nm", "-C", build / "listener")


def test_the_example_builds_outside_of_the_tree_and_talks_to_stock_programs(ros, tmp_path):
    build = build_example("ros1_recompiled", tmp_path)
    own, stock = (
        ros.run([build / "listener"], preload=False),
        ros.start("stock", "ends", "listener", "image", 100, 0, 0),
    )
    ros.run([build / "talker"], preload=False)
    assert own.line() == "640x480 921600 bytes"
    assert stock.line().split()[2] == "921600"
    assert (build / "recompiled_messages/include/sensor_msgs/Image.h").is_file()
