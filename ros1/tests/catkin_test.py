# SPDX-License-Identifier: Apache-2.0
"""examples/ros1_catkin: an ordinary catkin package with a message of its own, whose nodes are recompiled."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ros1_network import ROOT, configure, run

pytestmark = [
    pytest.mark.own_master,  # its topics have absolute names
    pytest.mark.skipif(
        not (shutil.which("catkin_make") and Path("/usr/share/std_msgs/msg").is_dir()),
        reason="needs catkin and ros-std-msgs: make setup installs them",
    ),
]
PYTHON = "-DPYTHON_EXECUTABLE=/usr/bin/python3"  # catkin's modules are Debian's


def package(directory, *left_out):
    """A copy of the package without the lines of its CMakeLists.txt that have one of these words."""
    copy = directory / "height_map"
    shutil.copytree(ROOT / "examples/ros1_catkin", copy)
    leave_out(copy / "CMakeLists.txt", *left_out)
    return copy


def leave_out(path, *words):
    """Removes the lines that have one of these words."""
    lines = path.read_text().splitlines(keepends=True)
    assert all(any(word in line for line in lines) for word in words)
    path.write_text("".join(line for line in lines if not any(word in line for word in words)))


def test_the_example_builds_in_a_workspace_and_talks_to_the_package_without_baton(ros, tmp_path):
    workspace = tmp_path / "workspace"
    (workspace / "src").mkdir(parents=True)
    package(workspace / "src")
    stock = package(tmp_path, "find_package(baton", "baton_ros1_messages")
    text = (stock / "CMakeLists.txt").read_text()
    (stock / "CMakeLists.txt").write_text(text.replace("recompiled_messages ", ""))
    stock_build = configure(stock, tmp_path, PYTHON)
    run("cmake", "--build", stock_build)
    environment = {**os.environ, "CMAKE_PREFIX_PATH": str(tmp_path / "prefix")}
    command = ["catkin_make", "-C", str(workspace), PYTHON]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = workspace / "devel/lib/height_map"
    assert "height_map::HeightMap_<baton::ros1::recompiled::Allocator[abi:baton]>" in run("nm", "-C", nodes / "viewer")
    stock_nodes = stock_build / "devel/lib/height_map"
    viewers = [
        ros.run([folder / "viewer", f"__name:={name}"], preload=False)
        for name, folder in (("recompiled", nodes), ("stock", stock_nodes))
    ]
    for folder in (nodes, stock_nodes):
        mapper = ros.run([folder / "mapper"], preload=False)
        for viewer in viewers:
            assert [viewer.line() for _ in range(3)] == 3 * ["500x800 2.5 -1"]
        mapper.process.terminate()
        mapper.process.wait()
        for viewer in viewers:
            viewer.more(0.3)


def test_a_header_of_catkin_before_that_of_baton_is_an_error_that_names_the_way_out(tmp_path):
    copy = package(tmp_path)
    with (copy / "CMakeLists.txt").open("a") as file:  # after baton_ros1_messages has put its headers first
        for node in ("mapper", "viewer"):
            file.write(
                f"cmake_language(DEFER CALL target_include_directories {node} BEFORE PRIVATE ${{CATKIN_DEVEL_PREFIX}}/include)\n"
            )
    # Without a message inside, of which the compiler would say that it is of another kind.
    leave_out(copy / "msg/HeightMap.msg", "Header header")
    leave_out(copy / "src/mapper.cpp", "->header")
    build = configure(copy, tmp_path, PYTHON)
    done = subprocess.run(["cmake", "--build", build, "--", "-k", "0"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    error = "error: #error \"ROS's height_map/HeightMap.h comes before Baton's header of that name"
    assert done.stdout.count(error) == 2, done.stdout
    assert "write target_include_directories(<program> BEFORE PRIVATE" in done.stdout


def test_a_changed_message_is_recompiled_before_catkin_has_generated_it_anew(tmp_path):
    copy = package(tmp_path)
    build = configure(copy, tmp_path, PYTHON)
    run("cmake", "--build", build, "--target", "viewer")
    header = build / "recompiled_messages/include/height_map/HeightMap.h"
    assert "resolution" not in header.read_text()
    with (copy / "msg/HeightMap.msg").open("a") as file:
        file.write("float32 resolution\n")
    run("cmake", "--build", build, "--target", "viewer")
    assert "_resolution_type resolution" in header.read_text()
