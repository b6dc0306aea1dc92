# SPDX-License-Identifier: Apache-2.0
"""Quality of service is the same with the underlying RMW alone, with Baton above it, and between the two."""

import time

import pytest

PAIRS = [("plain", "plain"), ("baton", "baton"), ("baton", "plain"), ("plain", "baton")]


def start(processes, rmw, *arguments):
    return processes.start(rmw, *arguments, file="qos_programs.py")


def started(process):
    line = process.stdout.readline()
    assert line == "going\n", f"{line}{process.stderr.read()}"
    return process


@pytest.mark.parametrize(
    ("kind", "expected"), [("last3", [7, 8, 9]), ("all", list(range(10))), ("durable3", [7, 8, 9])]
)
@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_a_history_keeps_what_it_should(processes, writer, reader, kind, expected):
    late = started(start(processes, reader, "read_late", kind))
    talker = started(start(processes, writer, "write", kind, "10", "1"))
    time.sleep(0.5)  # what goes through the network stack arrives
    assert processes.result(late)["got"] == expected
    processes.result(talker)


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_who_comes_late_gets_the_history(processes, writer, reader):
    talker = started(start(processes, writer, "write", "durable3", "10", "0"))
    late = started(start(processes, reader, "read_late", "durable3"))
    assert processes.result(late)["got"] == [7, 8, 9]
    processes.result(talker)


@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_what_is_too_old_is_not_delivered(processes, writer, reader):
    talker = started(start(processes, writer, "write", "lifespan", "10", "0"))
    time.sleep(0.5)
    late = started(start(processes, reader, "read_late", "lifespan"))
    assert processes.result(late)["got"] == []
    processes.result(talker)


@pytest.mark.parametrize("kind", ["deadline", "manual"])
@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_silence_is_noticed_at_both_ends(processes, writer, reader, kind):
    listener = started(start(processes, reader, "notice_silence", kind))
    talker = start(processes, writer, "fall_silent", kind)
    heard = processes.result(listener)
    assert heard["got"] == list(range(10))
    assert processes.result(talker)["lost"]
    assert heard["was_alive"] or kind == "deadline"


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_several_executors_with_threads_share_a_process(processes, rmw):
    heard = processes.result(start(processes, rmw, "executors"))
    assert heard["one"] == heard["two"] == list(range(100))
