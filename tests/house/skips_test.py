# SPDX-License-Identifier: Apache-2.0
"""conftest.py shows every skip, and fails the run if the missing part could have been installed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest
def test_a(): pass
@pytest.mark.skip(reason="needs ROS 2's Python packages: make setup")
def test_b(): pass
@pytest.mark.skip(reason="this kernel has no transparent huge pages")
def test_c(): pass
"""


@pytest.mark.parametrize(
    ("options", "code", "verdict"),
    [
        ([], 0, ""),
        (["--nothing-missing"], 1, "  MISSING"),
        (["-n", "2", "--nothing-missing"], 1, "  MISSING"),
    ],
    ids=["shown", "refused", "refused by two workers"],
)
def test_skips_are_shown_and_a_part_that_could_be_installed_is_no_reason(tmp_path, options, code, verdict):
    (tmp_path / "some_test.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", tmp_path]
    done = subprocess.run([*command, *options, tmp_path / "some_test.py"], capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stdout
    assert f"     1  needs ROS 2's Python packages: make setup{verdict}\n" in done.stdout
    assert "     1  this kernel has no transparent huge pages\n" in done.stdout
