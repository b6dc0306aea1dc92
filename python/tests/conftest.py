# SPDX-License-Identifier: Apache-2.0
"""The Python package of the build tree, and processes to talk to."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from support.build import BIN, PACKAGE, has_package
from support.own_domain import runtime_directory  # noqa: F401 - a fixture
from support.processes import PIPE, Process, Programs

# A shell's background jobs ignore Ctrl-C, and their children inherit that; the tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

HERE = str(Path(__file__).resolve().parent)
sys.path.insert(0, HERE)  # places
if has_package():
    sys.path.insert(0, str(PACKAGE))
else:
    collect_ignore_glob = ["*_test.py"]


class PythonPrograms(Programs):
    def peer(self, *arguments: object) -> Process:
        """The program of C++."""
        return self.start([BIN / "python_cpp_peer", *arguments])


@pytest.fixture
def programs():
    """Processes in the domain of this one."""
    before = dict(os.environ, PYTHONPATH=os.pathsep.join([str(PACKAGE), HERE, os.environ.get("PYTHONPATH", "")]))
    surroundings = lambda: {**before, "BATON_RUNTIME_DIR": os.environ["BATON_RUNTIME_DIR"]}  # noqa: E731
    with PythonPrograms(surroundings, stderr=PIPE) as programs:
        yield programs
