# SPDX-License-Identifier: Apache-2.0
"""Callbacks of entities, alone and beside wait sets (callbacks.cpp)."""

import pytest

PROGRAM = "ros2_callbacks"


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_that_takes_anothers_place_is_not_told_again_of_what_that_one_knew(processes, rmw):
    said = processes.result(processes.start_cpp(rmw, "replaced", program=PROGRAM))
    assert said["taken"] == 5
    if rmw == "plain":
        assert said["told"] == [1, 1, 3]
    else:  # the copies of a message that takes both paths, while its ends meet, are told, too (docs/ros2.md)
        assert min(said["told"]) >= 1 and sum(said["told"]) <= 2 * said["taken"]


@pytest.mark.parametrize("what", ["events", "messages"])
def test_a_wait_set_wakes_after_the_callback_has_returned(processes, what):
    assert processes.result(processes.start_cpp("baton", what, program=PROGRAM))["early"] == 0
