# SPDX-License-Identifier: Apache-2.0
"""Callbacks of entities, alone and beside wait sets (callbacks.cpp)."""

import pytest

PROGRAM = "ros2_callbacks"


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_that_takes_anothers_place_is_not_told_again_of_what_that_one_knew(processes, rmw):
    said = processes.result(processes.start_cpp(rmw, "replaced", program=PROGRAM))
    assert said["rounds"] == [[1, 1, 3, 5]] * 20  # told to each of three, and taken


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_is_told_once_of_each_message_of_a_history_and_behind_it(processes, rmw):
    said = processes.result(processes.start_cpp(rmw, "counted", program=PROGRAM))
    assert (said["told"], said["taken"]) == (46, 46)


def test_a_callback_is_told_of_all_that_waits_and_never_of_too_much_at_a_time(processes):
    said = processes.result(processes.start_cpp("baton", "many", program=PROGRAM))
    assert said["told"] == 1000 and said["most"] <= 256


@pytest.mark.parametrize("rmw", ["plain", "baton"])
@pytest.mark.parametrize("what", ["executed", "executed_durable"])
def test_who_takes_once_for_each_message_he_was_told_of_gets_all_though_callbacks_come_and_go(processes, rmw, what):
    said = processes.result(processes.start_cpp(rmw, what, program=PROGRAM))
    assert (said["in_order"], said["more"]) == (True, 0)


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_callback_that_is_set_after_taking_without_one_is_told_of_all_that_comes(processes, rmw):
    hearer = processes.start_cpp(rmw, "polled", program=PROGRAM)
    talker = processes.start_cpp(rmw, "talk", program=PROGRAM)
    hearer.says("going")
    talker.tell()
    assert processes.result(hearer)["taken"] == 21
    processes.result(talker)


@pytest.mark.parametrize("what", ["events", "messages"])
def test_a_wait_set_wakes_after_the_callback_has_returned(processes, what):
    assert processes.result(processes.start_cpp("baton", what, program=PROGRAM))["early"] == 0
