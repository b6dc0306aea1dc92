# SPDX-License-Identifier: Apache-2.0
"""Programs that a test starts, controls by lines of text, and ends. No program outlives its test or the watchdog."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from support.build import PACKAGE

WATCHDOG_S = 400  # longer than every limit of a test, so that the test itself reports which limit has passed
PIPE = subprocess.PIPE
LOG = -4  # for stderr: a file that log() reads, so that a program never waits for a reader of its diagnostics


def environment(runtime: Path, **more: str) -> dict[str, str]:
    """The environment of a program that may import baton, with this runtime directory, which is made if it is missing: the environment of this
    process, then `more`."""
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    runtime.chmod(0o700)
    return {**os.environ, "BATON_RUNTIME_DIR": str(runtime), "PYTHONPATH": str(PACKAGE), **more}


class Process(subprocess.Popen):
    """A program whose input and output are text in pipes. Its diagnostics go to pytest's stderr, unless stderr is PIPE or LOG. Functions that
    are not documented are Popen's. After `watchdog_s` the program is killed, so that a test that reads from it does not wait for ever."""

    def __init__(self, command: Sequence[object], *, watchdog_s: float = WATCHDOG_S, **options: Any) -> None:
        words = [str(word) for word in command]
        self._log = tempfile.TemporaryFile("w+") if options.get("stderr") == LOG else None
        if self._log:
            options["stderr"] = self._log
        super().__init__(words, **{"stdin": PIPE, "stdout": PIPE, "text": True, **options})
        self._watchdog = threading.Timer(watchdog_s, self.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def says(self, line: str) -> Process:
        """Waits for the next line of the output, which must be this line."""
        said = self.stdout.readline()
        if said != line + "\n":
            ended = f"; it ended with {self.wait()}" if not said else ""
            errors = self.stderr.read() if self.stderr and not said else self.log()
            raise AssertionError(f"{self.args}: {said!r} in place of {line!r}{ended}\n{errors}")
        return self

    def log(self) -> str:
        """The program's diagnostics until now, if stderr is LOG."""
        # Opened anew: reading through the descriptor that the program shares would move its write position.
        return Path(f"/proc/self/fd/{self._log.fileno()}").read_text() if self._log else ""

    def tell(self, line: str = "") -> None:
        """Writes a line to the program's input."""
        self.stdin.write(line + "\n")
        self.stdin.flush()

    def ends(self, code: int | None = 0, limit_s: float = 240, input: str | None = None) -> tuple[str, str]:
        """Waits for the program's end, with this status (None: any). Returns the rest of its output, and its diagnostics."""
        out, errors = self.communicate(input, timeout=limit_s)
        errors = errors or self.log()
        assert code is None or self.returncode == code, f"{self.args} ended with {self.returncode}:\n{out}{errors}"
        return out, errors

    def interrupted(self, code: int | None = 0, limit_s: float = 240) -> tuple[str, str]:
        """Sends SIGINT, then does the same as ends()."""
        self.send_signal(signal.SIGINT)
        return self.ends(code, limit_s)

    def end(self) -> str:
        """Kills the program if it runs, and closes its pipes. Returns its status and the rest of its output, for a report."""
        self._watchdog.cancel()
        ended = f"ended with {self.poll()}"
        if self.returncode is None:
            self.kill()
            ended = "still ran"
        if self.stdin and self.stdin.closed:
            self.stdin = None  # else communicate() is an error
        try:
            said = "".join(filter(None, self.communicate()))
        except ValueError:  # the test has closed its output
            said = ""
            self.wait()
        if self._log:
            said += self.log()
            self._log.close()
            self._log = None
        return f"{self.args} ({self.pid}) {ended}; it said:\n{said}"


class Programs:
    """The programs of one test. `surroundings`: their environment, or a function that returns it for each; `options`: of Process, for all.

        with Programs(environment(tmp_path)) as programs:
            server = programs.python(SERVER, ready="ready")

    At the end programs that still run are killed. If the test failed, pytest shows the status and output of each."""

    def __init__(self, surroundings: dict[str, str] | Callable[[], dict[str, str]], **options: Any) -> None:
        self._surroundings, self._options = surroundings, options
        self._running: list[Process] = []

    def environment(self, more: dict[str, str] | None = None) -> dict[str, str]:
        """The environment of a program that is started now."""
        return {**(self._surroundings() if callable(self._surroundings) else self._surroundings), **(more or {})}

    def start(
        self, command: Sequence[object], *, ready: str = "", env: dict[str, str] | None = None, **options: Any
    ) -> Process:
        """Starts a program. `env` is added to the environment. `ready`: waits until the program prints this line."""
        process = Process(command, env=self.environment(env), **{**self._options, **options})
        self._running.append(process)
        return process.says(ready) if ready else process

    def python(self, code: str, *arguments: object, **named: Any) -> Process:
        """Starts a program of Python with this text; `named` as in start()."""
        return self.start([sys.executable, "-c", textwrap.dedent(code), *arguments], **named)

    def run(
        self, command: Sequence[object], *, env: dict[str, str] | None = None, limit_s: float = 400, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program to its end, and returns its status and output."""
        words = [str(word) for word in command]
        options = {"capture_output": True, "text": True, **options}
        return subprocess.run(words, env=self.environment(env), timeout=limit_s, check=False, **options)

    def close(self) -> None:
        """Ends all programs; may be called again."""
        while self._running:
            print(self._running.pop().end())

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
