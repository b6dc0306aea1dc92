# SPDX-License-Identifier: Apache-2.0
"""Loans of types of fixed size at both ends, without libbaton_heap.so (loans.cpp)."""

import pytest
from ros2_processes import LIMIT_S

PROGRAM = "ros2_loans"
MESSAGES = 300


def test_the_cases_of_one_process(processes):
    process = processes.start_cpp("baton", program=PROGRAM)
    out, _ = process.communicate(timeout=2 * LIMIT_S)
    assert process.returncode == 0, f"{out[-8000:]}\n{process.log()[-4000:]}"


def line(process):
    found = process.stdout.readline()
    assert found, process.communicate() and process.log()
    return found.strip()


def test_what_is_lent_arrives_in_order(processes):
    readers = [processes.start_cpp("baton", "hear", "/numbers", str(MESSAGES), program=PROGRAM) for _ in range(2)]
    talker = processes.start_cpp("baton", "say", "/numbers", "2", program=PROGRAM)
    assert [processes.result(each)["wrong"] for each in readers] == [0, 0]
    processes.result(talker)


def test_subscriptions_of_nodes_of_one_name_that_start_together_are_all_served(processes):
    readers = [processes.start_cpp("baton", "hear", "/twins", "30", program=PROGRAM) for _ in range(5)]
    talker = processes.start_cpp("baton", "say", "/twins", "5", program=PROGRAM)
    assert [processes.result(each)["wrong"] for each in readers] == [0] * 5
    processes.result(talker)


@pytest.mark.parametrize("killed", [False, True])
def test_loans_stay_as_they_are_after_their_publisher(processes, killed):
    holder = processes.start_cpp("baton", "hold", "/held", str(MESSAGES), program=PROGRAM)
    talker = processes.start_cpp("baton", "say", "/held", "1", program=PROGRAM)
    assert line(holder) == "holding"
    if killed:
        processes.kill(talker)
    else:
        processes.result(talker)
    # The next publisher could take the place of the first.
    reader = processes.start_cpp("baton", "hear", "/held", "100", program=PROGRAM)
    second = processes.start_cpp("baton", "say", "/held", "2", program=PROGRAM)
    assert processes.result(reader)["wrong"] == 0
    processes.result(second)
    held = processes.result(holder)
    assert (held["wrong"], held["kept"], held["unchanged"]) == (0, 4, 4)
