# SPDX-License-Identifier: Apache-2.0
"""The marks of hot code have one home, and the linker scripts that order the code name functions which exist (docs/concepts/hot-path.md)."""

import fnmatch
import re
import subprocess
from pathlib import Path

import pytest
from support import ros2

ROOT = Path(__file__).resolve().parents[2]
HOME = "core/os/include/baton/os/hot_path.hpp"
PRODUCT = ("core", "link", "python", "ros1", "ros2")
LIB = ROOT / "build/release/lib"
SCRIPTS = {
    "cmake/hot_path.ld": LIB / "libbaton.so",
    "ros2/rmw_baton_cpp/hot_path.ld": LIB / ros2.TESTED.name / "librmw_baton_cpp.so",
}


def test_marks_of_hot_and_cold_code_stand_in_one_header():
    mark = r"gnu::(hot|cold|noinline|always_inline|noplt)|__builtin_expect"
    names = [f"{room}/*{suffix}" for room in PRODUCT for suffix in (".hpp", ".cpp")]
    found = subprocess.run(["git", "grep", "-lE", mark, "--", *names], cwd=ROOT, capture_output=True, text=True)
    assert [name for name in found.stdout.split() if not re.search("_test", name)] == [HOME]


@pytest.mark.parametrize("script", SCRIPTS)
def test_each_name_in_the_order_of_the_code_is_a_function_of_the_library(script):
    library = SCRIPTS[script]
    if not library.exists():
        pytest.skip(f"{library} was not built")
    listed = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    functions = {line.split()[2] for line in listed.splitlines() if re.match(r"[0-9a-f]+ [tTwWiV] ", line)}
    rows = re.findall(r"\*\((\.text[^)]*)\)", (ROOT / script).read_text())
    assert rows, script
    for name in {re.sub(r"^\.text\.((hot|unlikely)\.)?", "", pattern) for row in rows for pattern in row.split()}:
        assert fnmatch.filter(functions, name), f"{script}: nothing is named {name}"
