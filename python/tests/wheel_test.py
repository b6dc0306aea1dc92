# SPDX-License-Identifier: Apache-2.0
"""The steps of `make wheels` for the Python that runs the tests, without the package index."""

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for needed in ("build", "auditwheel"):
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"needs {needed}: make test", allow_module_level=True)

specification = importlib.util.spec_from_file_location("make_wheels", ROOT / "scripts" / "make_wheels.py")
make_wheels = importlib.util.module_from_spec(specification)
specification.loader.exec_module(make_wheels)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    return make_wheels.make_sdist(tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    version = f"3.{sys.version_info.minor}"
    out = tmp_path_factory.mktemp("wheel")
    with pytest.MonkeyPatch.context() as patch:
        # The compiler's names as CMake finds them: so the compiler cache has most files from the release build.
        patch.setenv("CC", "cc")
        patch.setenv("CXX", "c++")
        return make_wheels.make_wheel(sdist, version, Path(sys.executable), platform.machine(), out)


def test_the_sdist_has_the_sources_of_the_build_and_no_file_that_git_ignores(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CMakeLists.txt", "LICENSE", "PKG-INFO", "python/src/module.cpp", "lab/msg/CMakeLists.txt"} <= names
    assert not [name for name in names if re.match(r"(build|out|\.venv[^/]*|\.git)/", name)]


def test_the_wheel_is_named_after_the_oldest_c_library_that_runs_it(wheel):
    oldest = tuple(map(int, re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", wheel.name).groups()))
    assert oldest <= tuple(map(int, platform.libc_ver()[1].split(".")))


def test_the_wheel_has_the_extension_stubs_and_programs_and_no_library_by_mistake(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    extension = f"baton/_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    programs = {
        "baton_cli/programs/baton_demo",
        *(f"baton_perf/programs/{name}" for name in ("baton_perf_baton", "baton_perf_unix_socket", "baton_accept")),
    }
    of_ros1 = {"baton/rospy.py", "baton/_rospy_ways.py", "baton_ros1/verbs/ros1.py"}
    assert {extension, "baton/_core.pyi", "baton/py.typed", "baton_generator/cpp.py", *of_ros1, *programs} <= set(names)
    own = {name for name in names if ".so" in name and not re.search(make_wheels.GRAFTED, name)}
    assert own == {extension, "baton_perf/programs/libbaton_perf_copies.so"}


def test_the_wheel_of_the_sdist_works_in_a_fresh_environment_outside_the_checkout(wheel):
    packages = sysconfig.get_path("purelib")
    command = [sys.executable, ROOT / "scripts" / "try_wheel.py", wheel, "--packages", packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_interpreter_that_is_none_of_ours_is_refused_by_name():
    with pytest.raises(make_wheels.Failed, match=re.escape(shutil.which("true"))):
        make_wheels.interpreters([Path(shutil.which("true"))])
