# SPDX-License-Identifier: Apache-2.0
"""The Python package of the build tree, and a domain of its own for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import processes
from support.build import PACKAGE, has_package
from support.own_domain import runtime_directory  # noqa: F401 - a fixture
from support.processes import Programs

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
if has_package():
    sys.path.insert(0, str(PACKAGE))
else:
    collect_ignore_glob = ["*_test.py"]


@pytest.fixture
def programs(runtime_directory):  # noqa: F811 - the fixture
    """Processes in the domain of the test."""
    with Programs(processes.environment(runtime_directory)) as programs:
        yield programs
