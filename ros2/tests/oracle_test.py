# SPDX-License-Identifier: Apache-2.0
"""The oracle itself: what it asks for, and that it finds what is doubled, lost, out of order, expired or not for the reader."""

import pytest
from oracle import LATE_S, Fault, Oracle, Qos


@pytest.fixture
def oracle():
    """A writer w and a reader r that keep all, and 1 to 5 published."""
    found = told(Qos(0), Qos(0))
    found.publish("w", [1, 2, 3, 4, 5], 0)
    return found


def told(writer, reader):
    found = Oracle()
    found.open_writer("w", writer)
    found.open_reader("r", reader)
    return found


def refuses(oracle, number, why, writer="w", **more):
    with pytest.raises(Fault, match=why):
        oracle.saw("r", writer, number, **more)


def numbers(oracle):
    return [number for _, number in oracle.missing("r")]


def test_what_comes_once_and_in_order_is_as_it_must_be(oracle):
    assert numbers(oracle) == [1, 2, 3, 4, 5]
    for number in range(1, 6):
        oracle.saw("r", "w", number)
    assert numbers(oracle) == []


def test_a_doubled_number_is_a_fault(oracle):
    oracle.saw("r", "w", 1)
    refuses(oracle, 1, "twice")


def test_a_reordered_number_is_a_fault(oracle):
    for number in (1, 2, 3):
        oracle.saw("r", "w", number)
    refuses(oracle, 2, "after 3")


def test_a_lost_number_is_missing_and_a_later_one_that_comes_without_it_is_a_fault(oracle):
    oracle.saw("r", "w", 1)
    oracle.saw("r", "w", 2)
    assert numbers(oracle) == [3, 4, 5]
    refuses(oracle, 4, r"\[3\] before it are lost")


def test_what_nobody_published_and_wrong_content_are_faults(oracle):
    refuses(oracle, 6, "nobody")
    refuses(oracle, 1, "nobody", writer="x")
    refuses(oracle, 1, "content", size=-1)


def test_what_is_older_than_both_lifespans_is_a_fault():
    for writer, reader in [(0.5, 0.0), (0.0, 0.5), (9.0, 0.5)]:
        oracle = told(Qos(0, lifespan_s=writer), Qos(0, lifespan_s=reader))
        oracle.publish("w", [1, 2], 100)
        assert numbers(oracle) == []
        oracle.saw("r", "w", 1, 100.4)
        refuses(oracle, 2, "lifespan", at_s=100.6 + LATE_S)


def test_what_a_volatile_reader_missed_is_a_fault():
    oracle = Oracle()
    oracle.open_writer("w", Qos(3, durable=True))
    oracle.publish("w", [1], 0)
    oracle.open_reader("r", Qos(3))
    assert numbers(oracle) == []
    refuses(oracle, 1, "not for this reader")


@pytest.mark.parametrize(("written", "read", "must"), [(3, 10, [3, 4, 5]), (10, 2, [4, 5]), (0, 0, [1, 2, 3, 4, 5])])
def test_a_durable_reader_gets_the_last_of_a_living_durable_writer(written, read, must):
    oracle = Oracle()
    oracle.open_writer("w", Qos(written, durable=True))
    oracle.open_writer("dead", Qos(written, durable=True))
    for writer in ("w", "dead"):
        oracle.publish(writer, [1, 2, 3, 4, 5], 0)
    oracle.kill("dead")
    oracle.open_reader("r", Qos(read, durable=True))
    assert oracle.missing("r") == [("w", each) for each in must]
    refuses(oracle, 5, "not for this reader", writer="dead")
    if written == 3:
        refuses(oracle, 2, "not for this reader")


@pytest.mark.parametrize(("writer", "reader"), [({"reliable": False}, {}), ({}, {"durable": True})])
def test_who_does_not_fit_sees_nothing(writer, reader):
    oracle = told(Qos(0, **writer), Qos(0, **reader))
    oracle.publish("w", [1], 0)
    assert oracle.matched() == {"w": 0, "r": 0} and numbers(oracle) == []
    refuses(oracle, 1, "not for this reader")


def test_best_effort_may_lose_and_still_not_double():
    oracle = told(Qos(0, reliable=False), Qos(0, reliable=False))
    oracle.publish("w", [1, 2, 3], 0)
    assert numbers(oracle) == []
    oracle.saw("r", "w", 2)
    refuses(oracle, 2, "twice")
    refuses(oracle, 1, "after 2")


def test_of_what_a_reader_that_took_nothing_has_no_room_for_the_oldest_give_way():
    oracle = told(Qos(0), Qos(2))
    oracle.pause("r")
    oracle.publish("w", [1, 2, 3], 0)
    refuses(oracle, 3, "took nothing")
    oracle.resume("r")
    assert numbers(oracle) == [2, 3]
    refuses(oracle, 1, "gave way")


def test_what_gives_way_is_counted_over_all_writers():
    oracle = Oracle()
    oracle.open_writer("w", Qos(0))
    oracle.open_writer("x", Qos(0))
    oracle.open_reader("r", Qos(1))
    oracle.pause("r")
    oracle.publish("w", [1, 2], 0)
    oracle.publish("x", [1], 0)
    oracle.resume("r")
    assert oracle.missing("r") == [("x", 1)]
    refuses(oracle, 1, "gave way")
    refuses(oracle, 2, "gave way")


def test_what_may_still_come_takes_room_in_a_history():
    oracle = told(Qos(1), Qos(2))
    oracle.open_writer("x", Qos(0))
    oracle.pause("r")
    oracle.publish("x", [1], 0)
    oracle.publish("w", [1, 2], 0)  # the writer may let go the first
    oracle.resume("r")
    assert oracle.missing("r") == [("w", 2)]
    oracle.saw("r", "x", 1)
    oracle.saw("r", "w", 2)


def test_the_last_messages_of_who_is_killed_may_be_lost(oracle):
    oracle.kill("w")
    assert numbers(oracle) == [] and oracle.matched() == {"r": 0}
    oracle.saw("r", "w", 5)
