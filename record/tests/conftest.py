# SPDX-License-Identifier: Apache-2.0
"""The Python package of the build tree, and a domain of its own for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.build import PACKAGE, has_package

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
if has_package():
    sys.path.insert(0, str(PACKAGE))
else:
    collect_ignore_glob = ["*_test.py"]


@pytest.fixture(autouse=True)
def runtime_directory(tmp_path, monkeypatch):
    """Every test has its own domain directory."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("BATON_RUNTIME_DIR", str(directory))
    return directory
