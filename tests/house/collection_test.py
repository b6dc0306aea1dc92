# SPDX-License-Identifier: Apache-2.0
"""Every process collects the same tests under the same names: the workers of pytest-xdist refuse to run different ones."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def names(hash_seed):
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


def test_no_name_depends_on_the_time_or_on_the_order_of_a_set():
    first = names("1")
    assert len(first) > 1000
    assert names("2") == first


def test_the_long_files_of_conftest_are_there():
    named = re.findall(r'"(\S+_test\.py)"', (ROOT / "conftest.py").read_text())
    assert len(named) > 1 and [name for name in named if not (ROOT / name).is_file()] == []
