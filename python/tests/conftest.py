# SPDX-License-Identifier: Apache-2.0
"""The Python package of the build tree, and processes to talk to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

# A shell's background jobs ignore Ctrl-C, and their children inherit that; the tests send it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.insert(0, str(Path(__file__).resolve().parent))
from build_tree import BUILD, HERE, PACKAGE

if any((PACKAGE / "baton").glob("_core*.so")):
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


WATCHDOG_S = 400  # longer than every limit of a test, so that what a test says of its limit is what is read


@pytest.fixture
def start(monkeypatch):
    """start(code, *arguments) runs Python code in a process, start.peer(*arguments) the C++ program, start.command(list) any. All
    end with the test; if it fails, how each ended and what it said stands in the report."""
    running = []
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([str(PACKAGE), str(HERE), environment.get("PYTHONPATH", "")])

    def run(command, **options):
        env = {**environment, "BATON_RUNTIME_DIR": os.environ["BATON_RUNTIME_DIR"], **options.pop("env", {})}
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
            **options,
        )
        watchdog = threading.Timer(WATCHDOG_S, process.kill)  # ends a test that reads from a process that hangs
        watchdog.daemon = True
        watchdog.start()
        running.append((process, watchdog))
        return process

    def start_python(code, *arguments, **options):
        return run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], **options)

    def start_peer(*arguments):
        return run([str(BUILD / "bin" / "python_cpp_peer"), *map(str, arguments)])

    start_python.peer = start_peer
    start_python.command = run
    yield start_python
    for process, watchdog in running:
        watchdog.cancel()
        ended = f"ended with {process.poll()}"
        if process.poll() is None:
            process.kill()
            ended = "still ran"
        out, errors = process.communicate()
        print(f"{process.args} ({process.pid}) {ended}; it said:\n{out}{errors}")  # shown if the test failed
