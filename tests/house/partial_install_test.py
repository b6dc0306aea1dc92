# SPDX-License-Identifier: Apache-2.0
"""An installation after a build of some targets, as after `make demo`, has the targets that were built, and names the missing ones. The tree has none of
the products above core, so core needs none of their files."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The results of building the demo: CMake's files, and these libraries.
BUILT = ("libbaton", "libbaton_real_time_check")

pytestmark = pytest.mark.skipif(
    not shutil.which("c++") or not shutil.which("cmake"), reason="needs CMake and a compiler"
)


def run(*command, **kwargs):
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, timeout=600, **kwargs,
    )  # fmt: skip
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def core_alone(folder):
    """The tree without the products above core."""
    folder.mkdir()
    for path in ROOT.iterdir():
        if path.name not in ("ros1", "lab", "build", "out", ".git"):
            (folder / path.name).symlink_to(path)
    return folder


def build_nothing_but(build, libraries):
    """Empty libraries in the places where the build puts them: the test does not need their contents."""
    version = re.search(r"^project\(baton VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    script = "".join(path.read_text() for path in build.rglob("cmake_install.cmake"))
    for name in libraries:
        (target,) = set(re.findall(rf'"({re.escape(str(build))}/[^"]+/{name}\.so\.{re.escape(version)})"', script))
        so = Path(target).parent / f"{name}.so"
        so.parent.mkdir(parents=True, exist_ok=True)
        major_minor = ".".join(version.split(".")[:2])
        run("c++", "-shared", "-x", "c++", os.devnull, "-o", target)
        for link in (so, Path(f"{so}.{major_minor}")):
            link.symlink_to(Path(target).name)


def test_after_a_build_of_the_demo_the_cpp_package_is_installed_and_the_rest_is_named(tmp_path):
    build, prefix = tmp_path / "build", tmp_path / "prefix"
    on_off = {"DEMO": "ON", "PYTHON_PACKAGE": "ON", "ROS1": "OFF", "ROS2": "OFF"}
    options = [
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_SKIP_RPATH=ON",
        *(f"-DBATON_{name}={value}" for name, value in on_off.items()),
    ]
    run("cmake", "-G", "Ninja", "-S", core_alone(tmp_path / "core"), "-B", build, *options)
    commands = run("ninja", "-C", build, "-t", "commands", "baton_demo")
    for name in BUILT:
        assert f"{name}.so" in commands, "make demo no longer builds it"
    build_nothing_but(build, BUILT)
    said = run("cmake", "--install", build, "--prefix", prefix)
    assert "Not installed, because not built" in said
    assert (prefix / "share/baton/gdb/baton_printers.py").is_file()
    for name in ("baton_link", "_core.", "standard_sets"):
        assert re.search(rf"^ .*{re.escape(name)}", said[said.index("Not installed") :], re.MULTILINE), said
    project = tmp_path / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(user CXX)\nfind_package(baton 0.1 REQUIRED)\n"
        'get_target_property(location baton::library IMPORTED_LOCATION_RELEASE)\nmessage("found ${location}")\n'
    )
    found = run("cmake", "-G", "Ninja", "-S", project, "-B", tmp_path / "user", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert f"found {prefix}/lib" in found
