# SPDX-License-Identifier: Apache-2.0
"""Quality of service is the same with the stock RMW and with Baton. Late readers: scenarios_test.py; silence: event_test.py."""

import time

import pytest


def start(processes, rmw, *arguments):
    return processes.start(rmw, *arguments, file="qos_programs.py")


def results(worlds, running):
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    found = [processes.result(process) for (_, processes), process in zip(worlds, running, strict=True)]
    return [{k: v for k, v in each.items() if k != "log"} for each in found]


@pytest.mark.parametrize(
    ("kind", "expected"), [("last3", [7, 8, 9]), ("all", list(range(10))), ("durable3", [7, 8, 9])]
)
def test_a_history_keeps_what_it_should(worlds, kind, expected):
    late = [
        start(processes, reader, "read_late", kind, str(len(expected))).says("going") for reader, processes in worlds
    ]
    talkers = [start(processes, writer, "write", kind, "10", "1") for writer, processes in worlds]
    for talker in talkers:
        talker.says("going")
    assert results(worlds, late) == [{"got": expected}] * len(worlds)
    results(worlds, talkers)


def test_what_is_too_old_is_not_delivered(worlds):
    talkers = [start(processes, writer, "write", "lifespan", "10", "0") for writer, processes in worlds]
    for talker in talkers:
        talker.says("going")
    time.sleep(0.5)
    late = [start(processes, reader, "read_late", "lifespan", "0").says("going") for reader, processes in worlds]
    assert results(worlds, late) == [{"got": []}] * len(worlds)
    results(worlds, talkers)


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_what_a_publisher_left_behind_is_acknowledged_and_delivered(processes, rmw):
    heard = processes.result(start(processes, rmw, "leave"))
    assert heard["acked"] and heard["got"] == list(range(10))


@pytest.mark.parametrize("rmw", ["plain", "baton"])
@pytest.mark.parametrize(("kind", "expected"), [("last3", [7, 8, 9]), ("all", list(range(10))), ("all_lifespan", [])])
def test_what_was_looked_at_and_not_taken_gives_way_and_grows_old_like_the_rest(processes, rmw, kind, expected):
    heard = processes.result(start(processes, rmw, "look_and_not_take", kind))
    assert heard["got"] == expected
    assert all(heard["ready"]) or kind == "all_lifespan"


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_deep_history_is_not_lost(processes, rmw):
    assert processes.result(start(processes, rmw, "write_deep"))["got"] == [str(i) for i in range(600)]


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_several_executors_with_threads_share_a_process(processes, rmw):
    heard = processes.result(start(processes, rmw, "executors"))
    assert heard["one"] == heard["two"] == list(range(100))


def test_a_publisher_waits_for_a_subscription_that_keeps_all_and_then_says_that_it_is_full(processes):
    heard = processes.result(start(processes, "baton", "fill"))
    assert "a keep_all subscription has not taken its last messages; nothing was published" in heard["refusal"]
    assert heard["got"] == list(range(heard["said"])) and heard["said"] == 1000
    assert heard["then"] == [1000]


def test_a_publisher_that_waits_for_room_publishes_when_there_is_some(processes):
    heard = processes.result(start(processes, "baton", "fill_and_be_taken"))
    assert heard["refusal"] is None and heard["got"] == list(range(1001))


def test_a_message_for_which_there_is_no_memory_is_refused_in_words(processes):
    heard = processes.result(
        processes.start("baton", "exceed", file="qos_programs.py", BATON_PROCESS_MEMORY_LIMIT="16M")
    )
    assert heard["refusal"] and "memory" in heard["refusal"].lower()
    assert heard["got"] == ["small"]
