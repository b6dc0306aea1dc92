# SPDX-License-Identifier: Apache-2.0
"""baton_generate_messages() in a project of its own: which files a changed interface file rebuilds."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROJECT = f"""
cmake_minimum_required(VERSION 3.25)
project(user_msgs LANGUAGES CXX)
add_library(headers INTERFACE)
add_library(baton::message ALIAS headers)
target_include_directories(headers INTERFACE {ROOT}/core/message/include {ROOT}/core/memory/include {ROOT}/core/os/include)
target_compile_features(headers INTERFACE cxx_std_17)
include({ROOT}/generator/cmake/BatonGenerate.cmake)
baton_generate_messages(messages FILES msg/Outer.msg srv/Ask.srv PACKAGES std_srvs SEARCH packages)
foreach(name IN ITEMS outer ask unrelated)
  add_library(use_${{name}} OBJECT use_${{name}}.cpp)
  target_link_libraries(use_${{name}} PRIVATE messages)
endforeach()
"""

needs_tools = pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("ninja"), reason="needs cmake and ninja")


FILES = {
    "CMakeLists.txt": PROJECT,
    "msg/Outer.msg": "inner_msgs/Inner inner\nuint8[] data\n",
    "srv/Ask.srv": "string question\n---\nstring answer\n",
    "packages/inner_msgs/msg/Inner.msg": "uint32 number\n",
    "packages/inner_msgs/msg/Unused.msg": "uint32 number\n",
    "use_outer.cpp": "#include <baton/msg/user_msgs/outer.hpp>\nauto f(baton::msg::user_msgs::Outer& m) { return m.inner.number; }\n",
    "use_ask.cpp": "#include <baton/srv/user_msgs/ask.hpp>\nusing Ask = baton::srv::user_msgs::Ask;\nbool f(Ask::Request& a) { return a.question.empty(); }\n",
    "use_unrelated.cpp": "#include <baton/srv/std_srvs/set_bool.hpp>\nbool f(baton::srv::std_srvs::SetBool::Request& a) { return a.data; }\n",
}


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.restore()

    def restore(self) -> None:
        """Makes the sources what they were at first."""
        for folder in ("msg", "srv", "packages"):
            for path in (self.root / folder).rglob("*.*"):
                if str(path.relative_to(self.root)) not in FILES:
                    path.unlink()
        for name, text in FILES.items():
            if not (self.root / name).exists() or (self.root / name).read_text() != text:
                self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *command: str) -> subprocess.CompletedProcess:
        environment = {k: v for k, v in os.environ.items() if k not in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH")}
        return subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, timeout=240)

    def configure(self, generator: str = "Ninja") -> subprocess.CompletedProcess:
        return self.run("cmake", "-S", ".", "-B", "build", "-G", generator, f"-DBATON_PYTHON={sys.executable}")

    def build(self) -> list[str]:
        """The sources that were compiled."""
        before = {p: p.stat().st_mtime_ns for p in (self.root / "build").rglob("*.o")}
        result = self.run("cmake", "--build", "build")
        assert result.returncode == 0, result.stdout + result.stderr
        return sorted(
            p.name.removesuffix(".cpp.o")
            for p in (self.root / "build").rglob("*.o")
            if before.get(p) != p.stat().st_mtime_ns
        )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Project:
    result = Project(tmp_path_factory.mktemp("project"))
    configured = result.configure()
    assert configured.returncode == 0, configured.stderr
    assert result.build() == ["use_ask", "use_outer", "use_unrelated"]
    return result


@pytest.fixture
def project(built: Project) -> Project:
    """A project with the sources of FILES that has just been built. Configuring takes longer than a test, so one project serves all tests."""
    built.restore()
    built.build()
    assert built.build() == []
    return built


@needs_tools
def test_a_changed_interface_rebuilds_its_users_in_the_same_build(project: Project) -> None:
    project.write("msg/Outer.msg", "inner_msgs/Inner inner\nuint16[] data\n")
    assert project.build() == ["use_outer"]
    assert project.build() == []


@needs_tools
@pytest.mark.skipif(not shutil.which("make"), reason="needs make")
def test_works_with_makefiles_too(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.configure("Unix Makefiles").returncode == 0
    assert project.build() == ["use_ask", "use_outer", "use_unrelated"]
    assert project.build() == []
    project.write("packages/inner_msgs/msg/Inner.msg", "uint32 number\nuint32 other\n")
    assert project.build() == ["use_outer"]


@needs_tools
def test_a_changed_nested_interface_rebuilds_too(project: Project) -> None:
    project.write("packages/inner_msgs/msg/Inner.msg", "uint32 number\nuint32 other\n")
    assert project.build() == ["use_outer"]
    assert project.build() == []


@needs_tools
def test_a_new_nested_type_is_found_without_being_asked_for(project: Project) -> None:
    project.write("packages/inner_msgs/msg/Fresh.msg", "uint8 x\n")
    project.write("srv/Ask.srv", "string question\ninner_msgs/Fresh fresh\n---\nstring answer\n")
    assert project.build() == ["use_ask"]
    project.write("packages/inner_msgs/msg/Fresh.msg", "uint8 x\nuint8 y\n")
    assert project.build() == ["use_ask"]


@needs_tools
def test_a_change_that_leaves_the_header_alike_rebuilds_nothing(project: Project) -> None:
    project.write("msg/Outer.msg", "inner_msgs/Inner inner\n\nuint8[] data\n")
    project.write("packages/inner_msgs/msg/Unused.msg", "uint8 other\n")
    assert project.build() == []


@needs_tools
def test_an_error_stops_the_build_with_its_place_and_is_gone_when_mended(project: Project) -> None:
    project.write("msg/Outer.msg", "inner_msgs/Inner inner\nunt8[] data\n")
    failed = project.run("cmake", "--build", "build")
    assert failed.returncode != 0
    assert "msg/Outer.msg:2:1: error: unknown type 'user_msgs/unt8'" in failed.stdout + failed.stderr
    project.write("msg/Outer.msg", "inner_msgs/Inner inner\nuint8[] data\nuint8 more\n")
    assert project.build() == ["use_outer"]


@needs_tools
def test_without_a_suitable_python_the_error_names_the_way_out(tmp_path: Path) -> None:
    project = Project(tmp_path)
    failed = project.run("cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DBATON_PYTHON=/bin/false")
    assert failed.returncode != 0
    assert "make setup" in failed.stderr


@needs_tools
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("PACKAGES std_msgs", "write find_package(baton REQUIRED COMPONENTS ros1)"),
        ("ROS1 PACKAGES std_msgs", "unknown arguments: ROS1"),
    ],
)
def test_headers_for_recompiled_programs_need_the_library_for_them(tmp_path, arguments, complaint):
    project = Project(tmp_path)
    project.write("CMakeLists.txt", f"{PROJECT}\nbaton_ros1_messages(recompiled {arguments})\n")
    configured = project.configure()
    assert configured.returncode != 0
    assert complaint in " ".join(configured.stderr.split())


@needs_tools
def test_definitions_beside_the_headers_of_ros_are_found(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("ros/share/robot_msgs/msg/Wheel.msg", "uint32 number\n")
    traits = (("MD5Sum", '"' + 32 * "0" + '"'), ("Definition", r'"uint32 number\n"'))
    values = (
        f"struct {name}<Wheel> {{ static const char* value() {{ return {value}; }} }};\n" for name, value in traits
    )
    project.write("ros/include/robot_msgs/Wheel.h", "#ifndef ROBOT_MSGS_MESSAGE_WHEEL_H\n" + "".join(values))
    recompiled = "add_library(baton::ros1_recompiled ALIAS headers)\nbaton_ros1_messages(recompiled PACKAGES robot_msgs"
    project.write("CMakeLists.txt", f"{PROJECT}\n{recompiled} HEADERS ${{CMAKE_SOURCE_DIR}}/ros/include)\n")
    configured = project.configure()
    assert configured.returncode == 0, configured.stderr
    built = project.run("cmake", "--build", "build", "--target", "recompiled_generate")
    assert built.returncode == 0, built.stdout
    assert (tmp_path / "build/recompiled/include/robot_msgs/Wheel.h").exists()


@needs_tools
def test_messages_for_recompiled_programs_that_no_program_links_are_a_warning(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("msg/Wheel.msg", "uint32 number\n")
    recompiled = (
        "add_library(baton::ros1_recompiled ALIAS headers)\nbaton_ros1_messages(recompiled FILES msg/Wheel.msg)\n"
    )
    project.write("CMakeLists.txt", f"{PROJECT}\n{recompiled}")
    warning = "no target links recompiled, so no program is recompiled with it"
    assert warning in " ".join(project.configure().stderr.split())
    project.write("CMakeLists.txt", f"{PROJECT}\n{recompiled}target_link_libraries(use_outer PRIVATE recompiled)\n")
    assert warning not in " ".join(project.configure().stderr.split())
