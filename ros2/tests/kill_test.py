# SPDX-License-Identifier: Apache-2.0
"""Nodes are killed at any moment: the others go on, and nothing of the dead stays with them."""

import os
import time
from pathlib import Path

from ros2_processes import paths

SECONDS = 120


def started(process):
    assert process.stdout.readline() == "going\n"
    return process


def segments(process):
    """Baton's memory in a process: what it has open, and what it has mapped."""
    fds = [os.readlink(each) for each in Path(f"/proc/{process.pid}/fd").iterdir() if each.is_symlink()]
    maps = Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    return len([each for each in fds if "memfd" in each]), len([each for each in maps if "memfd" in each])


def eventually(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_the_others_go_on_and_nothing_of_the_dead_stays(processes, tmp_path):
    more = {"BATON_RUNTIME_DIR": str(tmp_path)}
    # Long enough that both still run when the last victim is dead, also on a busy machine.
    hearer = started(processes.start("baton", "hear", "2999", **more))
    talker = started(processes.start("baton", "count", "3000", "4", "1", **more))
    assert eventually(lambda: segments(hearer)[1] > 0)  # they have met
    time.sleep(0.3)
    before = segments(hearer), segments(talker)
    victims = [
        processes.start("baton", *("hear", "999999") if i % 2 else ("say_numbers_for_ever",), **more) for i in range(6)
    ]
    for i, victim in enumerate(victims):
        if i == 0:
            started(victim)  # in full work; the others at any moment of their start
        time.sleep(0.2 * i)
        processes.kill(victim)
    assert eventually(lambda: (segments(hearer), segments(talker)) == before), (
        segments(hearer),
        segments(talker),
        before,
    )
    got = processes.result(hearer)["got"]
    said = processes.result(talker)
    of_the_talker = [each for each in got if each < 1000000]
    assert of_the_talker == list(range(3000))
    # Of the readers that were killed the underlying RMW believes in some for 20 s; from then on Baton alone must carry.
    assert paths(said["log"], "/count")["below"] < 900
    left = [each for each in tmp_path.rglob("*") if each.is_socket()]
    assert len(left) <= len(victims)
    processes.result(processes.start("baton", "graph", **more))
    assert not [each for each in tmp_path.rglob("*") if each.is_socket()], "who comes next sweeps what the dead left"


def test_a_killed_reader_leaves_its_publisher_on_batons_path(processes):
    hearer = started(processes.start("baton", "hear", "799"))
    victims = [started(processes.start("baton", "hear", "9999")) for _ in range(2)]
    talker = started(processes.start("baton", "count", "800", "3", "3"))
    time.sleep(0.6)
    for victim in victims:
        processes.kill(victim)
    assert processes.result(hearer)["got"] == list(range(800))
    below = paths(processes.result(talker)["log"], "/count")["below"]
    assert below < 200, "the underlying RMW believes in the dead to the end of this test"
