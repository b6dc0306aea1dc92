# SPDX-License-Identifier: Apache-2.0
"""Starts unmodified ROS 2 programs over the underlying RMW alone ("plain") or with rmw_baton_cpp above it ("baton"). They are programs of
one distribution of ROS 2 (tests/support/ros2.py); a test may start some of another one."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from support.build import BUILD
from support.claims import claim_domain
from support.ros2 import JAZZY, TESTED

ROOT = Path(__file__).resolve().parents[2]
# rclpy of Jazzy sets no content filter.
filters = pytest.mark.skipif(TESTED is JAZZY, reason="rclpy of Jazzy has no content filters")
PYTHON, LIBRARY = TESTED.python, TESTED.library
HEAP = BUILD / "lib/libbaton_heap.so"
# The runtimes of a build with sanitizers, which stand before all else that is preloaded (scripts/sanitize.sh).
SANITIZERS = os.environ.get("BATON_SANITIZER_RUNTIMES")
LIMIT_S = 300  # longer than those of the programs, which say what they waited for


def paths(log, topic):
    """How the messages of the one endpoint of `topic` in a log travelled: through Baton, the underlying RMW, duplicates."""
    found = re.findall(
        rf"of {topic}: (\d+) messages through Baton \((\d+) bytes copied (?:in|out)\), (\d+) through the underlying RMW(?:, (\d+) duplicates)?",
        log,
    )
    assert len(found) == 1, f"{len(found)} endpoints of {topic} in the log:\n{log}"
    baton, copied, underlying, duplicates = found[0]
    return {
        "baton": int(baton),
        "copied": int(copied),
        "underlying": int(underlying),
        "duplicates": int(duplicates or 0),
    }


def log_of(process):
    """Of a program that has ended: reading moves where it would write."""
    process.log.seek(0)
    return process.log.read()


def going(process):
    """A program that has said that it goes."""
    line = process.stdout.readline()
    assert line == "going\n", f"{line}{log_of(process)}"
    return process


def go_on(process):
    """Tells a program what it waits for on its standard input."""
    process.stdin.write("\n")
    process.stdin.flush()


def segments(process):
    """Baton's memory in a process: what it has open, and what it has mapped."""
    fds = [os.readlink(each) for each in Path(f"/proc/{process.pid}/fd").iterdir() if each.is_symlink()]
    maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    return len([each for each in fds if "memfd" in each]), len([each for each in maps if "memfd" in each])


def eventually(condition, within_s=120):
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def wait_as_long_again(begin):
    """So that what happened since `begin`, be the machine as busy as it may, is less than half of what is counted in the end."""
    time.sleep(max(4, 1.5 * (time.monotonic() - begin)))


def environment(rmw, domain, distribution=TESTED, **more):
    """The wheels' librcl names librmw_fastrtps_cpp.so itself, so there another RMW is also preloaded (docs/guides/ros2.md)."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "RMW_IMPLEMENTATION", "BATON_RMW")}
    env["ROS_DOMAIN_ID"] = str(domain)
    if rmw == "baton":
        env |= {"LD_PRELOAD": str(distribution.library), "RMW_IMPLEMENTATION": "rmw_baton_cpp"}
    return env | more


class Processes:
    """The ROS 2 programs of one test, in a ROS domain of their own."""

    def __init__(self):
        self.domain, self._claim = claim_domain()
        self.running = []

    def start(self, rmw, program, *arguments, file="programs.py", cwd=None, distribution=TESTED, **more):
        if SANITIZERS:
            pytest.skip("a program of rclpy, whose libraries are not ours to test")
        command = [distribution.python, Path(__file__).parent / file, program, *arguments]
        return self._run(command, environment(rmw, self.domain, distribution, **more), cwd)

    def _run(self, command, env, cwd=None):
        process = subprocess.Popen(
            command,
            env=env | {"PYTHONFAULTHANDLER": "1"},
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(log := tempfile.TemporaryFile("w+")),  # no pipe: nobody reads it before the end
            text=True,
        )
        process.log = log
        self.running.append(process)
        return process

    def start_standalone(self, program, *arguments):
        """A program of Baton's own in the same domain."""
        env = environment("plain", self.domain, PYTHONPATH=str(BUILD / "python"))
        return self._run([sys.executable, Path(__file__).parent / "standalone.py", program, *arguments], env)

    def start_cpp(self, rmw, *arguments, program="ros2_rcl_image", heap=False, **more):
        """A program of this folder. The wheels' librcl.so needs what their Python packages bring, and symbols of libpython."""
        env = environment(rmw, self.domain, **more)
        packages = TESTED.prefix.glob("lib/python3*/site-packages/ros_*.libs")
        env["AMENT_PREFIX_PATH"] = str(TESTED.prefix)
        env["LD_LIBRARY_PATH"] = ":".join(str(each) for each in [TESTED.prefix / "lib", *packages])
        asked = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('LDLIBRARY'))"
        libpython = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
        env["LD_PRELOAD"] = ":".join(filter(None, [SANITIZERS, heap and str(HEAP), libpython, env.get("LD_PRELOAD")]))
        return self._run([TESTED.programs / program, *map(str, arguments)], env)

    @staticmethod
    def result(process):
        """What the program reported, as JSON on its last line, and the log of rmw_baton_cpp as its "log"."""
        try:
            out, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # Python says where its threads are
            out, _ = process.communicate()
            raise AssertionError(f"{process.args} had not ended after {LIMIT_S} s:\n{out}\n{log_of(process)}") from None
        err = log_of(process)
        # -SIGPROF: the underlying RMW did not end, after the report; rclpy_program.report_and_end(), rcl.hpp.
        assert process.returncode in (0, -signal.SIGPROF), (
            f"{process.args} ended with {process.returncode}:\n{out}\n{err}"
        )
        return json.loads(out.splitlines()[-1]) | {"log": err}

    @staticmethod
    def kill(process):
        process.kill()
        process.communicate()

    def close(self):
        for process in self.running:
            if process.poll() is None:
                self.kill(process)
            process.log.close()
        self._claim.close()
