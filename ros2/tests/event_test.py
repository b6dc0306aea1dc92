# SPDX-License-Identifier: Apache-2.0
"""Events tell what happened at both ends."""

import pytest
from ros2_processes import segments
from support.waiting import until

TOTAL = 60


def start(processes, rmw, *arguments):
    return processes.start(rmw, *arguments, file="event_programs.py")


def silence(worlds, kind):
    """Of each RMW: what the writer and the reader reported of a silence."""
    readers = [start(processes, reader, "listen", kind, str(TOTAL)) for reader, processes in worlds]
    for reader in readers:
        reader.says("going")
    writers = [start(processes, writer, "talk", kind, str(TOTAL)) for writer, processes in worlds]
    for process in readers + writers:
        process.says("going")  # both ends noticed the silence
    for process in readers + writers:
        process.tell()
    for reader, writer, (rmw, processes) in zip(readers, writers, worlds, strict=True):
        heard = processes.result(reader)
        said = processes.result(writer)
        yield rmw, said, heard


def follows(got):
    return got == list(range(len(got))) and got[-1] >= TOTAL


def counts_up(statuses):
    """Totals are those of the changes."""
    total = 0
    for now, change in statuses:
        total += change
        if now != total:
            return False
    return bool(statuses)


def test_a_deadline_is_missed_when_messages_stay_away_and_only_then(worlds):
    for rmw, said, heard in silence(worlds, "deadline"):
        assert follows(heard["got"])
        for end in (said, heard):
            assert end["early"] <= end["may_miss"], f"{rmw}: {end}"
            assert counts_up(end["missed"]), f"{rmw}: {end}"


def test_who_publishes_is_alive(worlds):
    for rmw, _, heard in silence(worlds, "manual"):
        assert follows(heard["got"])
        if not heard["may_miss"]:
            # At the end of more than two leases: without an assertion of each message it would count as lost.
            assert heard["alive_early"][-1] == [1, 0], f"{rmw}: {heard}"
        assert heard["alive"][-2:] == [[0, 1], [1, 0]]


@pytest.mark.parametrize("first", [30])
def test_what_gives_way_in_a_full_queue_is_reported_lost(processes, first):
    writer = start(processes, "baton", "hurry", str(first), "10")
    reader = start(processes, "baton", "fall_behind", str(first - 1), str(first + 9))
    reader.says("going")
    until(lambda: segments(reader)[1] > 0)  # the ends have met
    writer.tell()
    writer.says("going")
    reader.tell()
    heard = processes.result(reader)
    writer.tell()
    assert heard["got"][-3:] == [first + 7, first + 8, first + 9] and first + 6 not in heard["got"]
    missing = first + 10 - len(heard["got"])
    assert counts_up(heard["lost"]) and missing - heard["early"] <= heard["lost"][-1][0] <= missing
    processes.result(writer)


@pytest.mark.parametrize("when", ["early", "late"])
@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_who_asks_for_matches_is_told_and_a_reader_that_comes_later_is_served(processes, rmw, when):
    first = processes.start(rmw, "hear", "20")
    writer = start(processes, rmw, "meet", when, "2")
    writer.says("going")
    processes.result(first)
    got = processes.result(processes.start(rmw, "hear_some", "20"))["got"]
    assert got == sorted(set(got))
    writer.tell()
    seen = processes.result(writer)["seen"]
    assert seen == sorted(seen) and seen[-1] >= 2
