# SPDX-License-Identifier: Apache-2.0
"""Callbacks of entities, alone and beside wait sets (callbacks.cpp)."""

import pytest

PROGRAM = "ros2_callbacks"


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_that_takes_anothers_place_is_not_told_again_of_what_that_one_knew(processes, rmw):
    said = processes.result(processes.start_cpp(rmw, "replaced", program=PROGRAM))
    assert (said["told"], said["taken"]) == ([1, 1, 3], 5)


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_is_told_once_of_a_message_that_takes_both_paths(processes, rmw):
    said = processes.result(processes.start_cpp(rmw, "counted", program=PROGRAM))
    assert (said["told"], said["taken"]) == (46, 46)


@pytest.mark.parametrize("what", ["events", "messages"])
def test_a_wait_set_wakes_after_the_callback_has_returned(processes, what):
    assert processes.result(processes.start_cpp("baton", what, program=PROGRAM))["early"] == 0
