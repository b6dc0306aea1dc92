# SPDX-License-Identifier: Apache-2.0
"""The log lines of ROS 2's nodes and of Baton's own meet on /rosout: each reader gets each line once."""

import json
import os
import subprocess
import sys

import pytest
from support.build import BUILD, ROOT

WARN = 30
LINES = 5


def start(processes, kind):
    if kind == "standalone":
        return processes.start_standalone("say_lines", str(LINES)).says("going")
    return processes.start(kind, "say_lines", str(LINES)).says("going")


def expected(name):
    return [[name, WARN, f"{name} {i}"] for i in range(LINES)] * 2


@pytest.mark.parametrize("kind", ["standalone", "baton"])
def test_a_ros_node_hears_each_line_once(processes, kind):
    talker = start(processes, kind)
    hearer = processes.start("baton", "hear_lines", str(2 * LINES)).says("going")
    talker.tell()  # lines that are older than their reader; they live ten seconds
    hearer.tell()
    talker.tell()
    heard = processes.result(hearer)
    assert heard["got"] == expected("say_lines")
    talker.tell()
    processes.result(talker)


def test_baton_log_prints_the_lines_of_ros_nodes_and_of_batons_own(processes):
    talkers = [start(processes, kind) for kind in ("standalone", "baton")]
    for talker in talkers:
        talker.tell()
    env = os.environ | {"PYTHONPATH": f"{BUILD / 'python'}:{ROOT / 'cli'}"}
    command = [sys.executable, "-m", "baton_cli", "log", "--json", "--domain", str(processes.domain), "--level", "warn"]
    command += ["--node", "say_lines", "-n", str(2 * LINES)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(line["text"] for line in lines) == sorted([f"say_lines {i}" for i in range(LINES)] * 2)
    files = {os.path.basename(line["file"]) for line in lines}
    assert "standalone.py" in files and len(files) == 2  # rclpy names a file of its own
    for talker in talkers:
        talker.tell()
        talker.tell()
        processes.result(talker)
