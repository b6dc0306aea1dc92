# SPDX-License-Identifier: Apache-2.0
"""Starts unmodified ROS 2 programs over the stock RMW ("plain") or over rmw_baton_cpp ("baton"). They are programs of
one distribution of ROS 2 (tests/support/ros2.py); a test may start some of another one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))  # story_run.py and mix_run.py are commands, too
from support import ros2
from support.build import LIB, PACKAGE
from support.claims import claim_domain
from support.processes import LOG, Process
from support.ros2 import TESTED

PYTHON, LIBRARY = TESTED.python, TESTED.library
HEAP = LIB / "libbaton_heap.so"
# The runtimes of a build with sanitizers, which stand before all else that is preloaded (scripts/sanitize.sh).
SANITIZERS = os.environ.get("BATON_SANITIZER_RUNTIMES")
LIMIT_S = 300  # longer than those of the programs, which say what they waited for


def carried(log, topic):
    """What the one endpoint of `topic` in a log says of itself: how many messages it had, and how many bytes it copied."""
    found = re.findall(rf"of {topic}: (\d+) messages through Baton \((\d+) bytes copied (?:in|out)\)", log)
    assert len(found) == 1, f"{len(found)} endpoints of {topic} in the log:\n{log}"
    return tuple(map(int, found[0]))


def segments(process):
    """Baton's memory in a process: what it has open, and what it has mapped."""
    fds = [os.readlink(each) for each in Path(f"/proc/{process.pid}/fd").iterdir() if each.is_symlink()]
    maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    return len([each for each in fds if "memfd" in each]), len([each for each in maps if "memfd" in each])


def environment(rmw, domain, distribution=TESTED, **more):
    """As support.ros2's, of the distribution under test."""
    return ros2.environment(rmw, domain, distribution, **more)


def report_of(process):
    """The next report of a program that goes on, as JSON on a line of its output; Fast DDS prints there, too."""
    for line in process.stdout:
        if line.startswith("{"):
            return json.loads(line)
    raise AssertionError(f"{process.args} ended:\n{process.log()[-2000:]}")


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

    @staticmethod
    def _libraries():
        """Where a program that is no Python finds what the wheels' libraries need."""
        return {"AMENT_PREFIX_PATH": str(TESTED.prefix), "LD_LIBRARY_PATH": TESTED.library_path()}

    def start_bridge(self, *arguments, rmw=str(ros2.OTHER_RMW or "rmw_fastrtps_cpp"), joins=True, **more):
        """The bridge between Baton and the nodes of `rmw`; with `joins`, once it works."""
        more["LD_PRELOAD"] = ""  # the bridge loads its RMWs itself
        env = environment("plain", self.domain, **self._libraries(), **more)
        bridge = self._run([TESTED.programs / "baton_bridge", rmw, *arguments], env)
        while joins and ": joins " not in bridge.log():
            assert bridge.poll() is None, bridge.log()
            time.sleep(0.01)
        return bridge

    def _run(self, command, env, cwd=None):
        env |= {"PYTHONFAULTHANDLER": "1"}
        process = Process(command, env=env, cwd=cwd, stderr=LOG, watchdog_s=3 * LIMIT_S)
        self.running.append(process)
        return process

    def start_standalone(self, program, *arguments):
        """A program of Baton's own in the same domain."""
        env = environment("plain", self.domain, PYTHONPATH=str(PACKAGE))
        return self._run([sys.executable, Path(__file__).parent / "standalone.py", program, *arguments], env)

    def start_cpp(self, rmw, *arguments, program="ros2_rcl_image", heap=False, **more):
        """A program of this folder. The wheels' librcl.so needs what their Python packages bring, and symbols of libpython."""
        env = environment(rmw, self.domain, **more)
        env |= self._libraries()
        asked = "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('LDLIBRARY'))"
        libpython = subprocess.run([PYTHON, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
        env["LD_PRELOAD"] = ":".join(filter(None, [SANITIZERS, heap and str(HEAP), libpython, env.get("LD_PRELOAD")]))
        return self._run([TESTED.programs / program, *arguments], env)

    @staticmethod
    def result(process):
        """What the program reported, as JSON on its last line, and the log of rmw_baton_cpp as its "log"."""
        try:
            out, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # Python says where its threads are
            out, _ = process.communicate()
            raise AssertionError(f"{process.args} had not ended after {LIMIT_S} s:\n{out}\n{process.log()}") from None
        err = process.log()
        # -SIGPROF: the stock RMW did not end, after the report; rclpy_program.report_and_end(), rcl.hpp.
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
            process.end()
        self._claim.close()
