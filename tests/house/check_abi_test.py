# SPDX-License-Identifier: Apache-2.0
"""scripts/check_abi.py, on small libraries."""

import shutil
import subprocess

import check_abi
import pytest

HEADER = (
    "struct Pose { double x, y; };\nclass Hidden;\nstruct Robot { Robot(); double at(const Pose&); Hidden* hidden; };\n"
)
SOURCE = '#include "robot.h"\nclass Hidden { public: int a; };\nRobot::Robot() : hidden(new Hidden) {}\n'
SOURCE += "double Robot::at(const Pose& p) { return p.x + hidden->a; }\n"


@pytest.fixture
def library(tmp_path):
    if not shutil.which("abidiff"):
        pytest.skip("needs abidiff (scripts/setup.sh packages)")

    def build(name, header, source):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "robot.h").write_text(header)
        (folder / "robot.cpp").write_text(source)
        subprocess.run(["c++", "-g", "-shared", "-fPIC", "robot.cpp", "-o", "lib.so"], cwd=folder, check=True)
        return folder / "lib.so"

    return build


def report(old, new):
    return check_abi.compare(old, new, [old.parent], [new.parent])


def test_the_newest_release_of_the_same_minor_version_counts():
    assert check_abi.newest(["v0.1.9", "v0.1.10", "v0.2.0", "v0.1.11-rc1", "nightly"], "0.1") == "v0.1.10"
    assert check_abi.newest(["v0.2.0", "v0.10.1"], "0.1") is None


def test_additions_and_changes_behind_the_headers_are_compatible(library):
    old = library("old", HEADER, SOURCE)
    more = SOURCE.replace("int a;", "int a, b;") + "double more(double x) { return x; }\n"
    assert report(old, library("new", HEADER + "double more(double);\n", more)) == ""


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (("double x, y;", "double x, y, z;"), "Pose"),
        (("double at(", "float at("), "float"),
        (("double at(", "double to("), "at("),
    ],
)
def test_a_type_or_a_function_that_changed_is_reported(library, change, shown):
    old = library("old", HEADER, SOURCE)
    source = SOURCE.replace("double Robot::at(", change[1].replace(" ", " Robot::")) if "at(" in change[0] else SOURCE
    assert shown in report(old, library("new", HEADER.replace(*change), source))


def test_a_library_that_cannot_be_read_is_an_error(library, tmp_path):
    with pytest.raises(RuntimeError, match="abidiff failed"):
        report(library("old", HEADER, SOURCE), tmp_path / "missing.so")
