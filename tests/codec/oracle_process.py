# SPDX-License-Identifier: Apache-2.0
"""Runs one of the oracle_*.py programs of this folder in the Python that has the implementation to compare with."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from support.processes import Process


class Oracle:
    """Sends one JSON object on a line, and receives one."""

    def __init__(self, python: str, script: str):
        # A virtual environment in the caller's variables would hide the packages of the other Python.
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
        self.process = Process([python, Path(__file__).with_name(script)], env=environment, watchdog_s=3600)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.end()

    def ask(self, **request):
        self.process.tell(json.dumps(request))
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the oracle died with {self.process.wait()} on {request}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]


def python_with(module: str, candidates: list[str | None]) -> str | None:
    """The first interpreter that can import the module."""
    for python in candidates:
        if not python or not Path(python).exists():
            continue
        try:
            done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, timeout=240, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None
