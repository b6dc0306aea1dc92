# SPDX-License-Identifier: Apache-2.0
"""Events tell what happened over both paths: the underlying RMW does not see what Baton alone carries."""

import pytest
from ros2_processes import paths, segments
from support.waiting import until

TOTAL = 60


def start(processes, rmw, *arguments):
    return processes.start(rmw, *arguments, file="event_programs.py")


def silence(pairs, kind):
    """Of each pair of kinds: what the writer and the reader reported of a silence."""
    readers = [start(processes, reader, "listen", kind, str(TOTAL)) for _, reader, processes in pairs]
    for reader in readers:
        reader.says("going")
    writers = [start(processes, writer, "talk", kind, str(TOTAL)) for writer, _, processes in pairs]
    for process in readers + writers:
        process.says("going")  # both ends noticed the silence
    for process in readers + writers:
        process.tell()
    for reader, writer, (kind_of_writer, kind_of_reader, processes) in zip(readers, writers, pairs, strict=True):
        heard = processes.result(reader)
        said = processes.result(writer)
        yield kind_of_writer, kind_of_reader, said, heard


def follows(got):
    """In order, to the end. Of what went to the underlying RMW before the ends met in Baton some may be missing (docs/format/ros2-two-paths.md)."""
    return got == sorted(set(got)) and got[-1] >= TOTAL and len(got) > TOTAL / 2


def counts_up(statuses):
    """Totals are those of the changes."""
    total = 0
    for now, change in statuses:
        total += change
        if now != total:
            return False
    return bool(statuses)


def test_a_deadline_is_missed_when_messages_stay_away_and_only_then(pairs):
    for writer, reader, said, heard in silence(pairs, "deadline"):
        assert follows(heard["got"])
        for end in (said, heard):
            assert end["early"] <= end["may_miss"], f"{writer} to {reader}: {end}"
            assert counts_up(end["missed"]), f"{writer} to {reader}: {end}"
        if (writer, reader) == ("baton", "baton"):
            # The ends meet in the underlying RMW before they meet in Baton, on a busy machine long before.
            assert paths(said["log"], "/count")["underlying"] <= TOTAL, "a deadline needs no second path"


def test_who_publishes_through_baton_is_alive(pairs):
    for writer, reader, said, heard in silence(pairs, "manual"):
        assert follows(heard["got"])
        if not heard["may_miss"]:
            # At the end of more than two leases: without an assertion of each message it would count as lost.
            assert heard["alive_early"][-1] == [1, 0], f"{writer} to {reader}: {heard}"
        assert heard["alive"][-2:] == [[0, 1], [1, 0]]
        if (writer, reader) == ("baton", "baton"):
            assert paths(said["log"], "/count")["underlying"] <= TOTAL


@pytest.mark.parametrize("first", [30])
def test_what_gives_way_in_a_full_queue_is_reported_lost(processes, first):
    writer = start(processes, "baton", "hurry", str(first), "10")
    reader = start(processes, "baton", "fall_behind", str(first - 1), str(first + 9))
    reader.says("going")
    until(lambda: segments(reader)[1] > 0)  # the ends have met in Baton
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
def test_who_asks_for_matches_is_told_and_a_plain_reader_that_comes_later_is_served(processes, rmw, when):
    # That somebody must be served by the underlying RMW is learned from the same event.
    first = processes.start(rmw, "hear", "20")
    writer = start(processes, rmw, "meet", when, "2")
    writer.says("going")
    processes.result(first)
    got = processes.result(processes.start("plain", "hear_some", "20"))["got"]
    assert got == sorted(set(got))
    writer.tell()
    seen = processes.result(writer)["seen"]
    assert seen == sorted(seen) and seen[-1] >= 2
