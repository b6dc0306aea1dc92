# SPDX-License-Identifier: Apache-2.0
"""One topic, two paths: what happens to the messages while readers that Baton serves and readers that it does not serve come and
go, and when processes die."""

import signal
import time

import pytest
from ros2_processes import filters, paths, wait_as_long_again

END = 999999  # what count_until_told ends with


def follows(numbers):
    return list(range(numbers[0], numbers[0] + len(numbers)))


def test_served_messages_take_baton_alone(processes):
    begin = time.monotonic()
    talker = processes.start("baton", "count_until_told", "10", "1")
    hearer = processes.start("baton", "hear", str(END))
    talker.says("going")
    wait_as_long_again(begin)
    talker.tell()
    heard = processes.result(hearer)
    said = processes.result(talker)
    assert heard["got"] == [*range(said["numbers"]), END]
    sent, got = paths(said["log"], "/count"), paths(heard["log"], "/count")
    # The two ends may meet in the underlying RMW before they meet in Baton.
    assert sent["baton"] > sent["underlying"]
    assert got["baton"] + got["underlying"] == said["numbers"] + 1 and got["baton"] > got["underlying"]


def test_each_message_comes_once_and_in_order_while_other_readers_come_and_go(processes):
    hearer = processes.start("baton", "hear", str(END)).says("going")
    talker = processes.start("baton", "count_until_told", "3", "1").says("going")
    visitors = []
    for rmw in ["plain", "baton", "plain"]:
        visitors.append(processes.result(processes.start(rmw, "hear_some", "100"))["got"])
    time.sleep(1)
    talker.tell()
    heard = processes.result(hearer)
    said = processes.result(talker)
    for visitor in visitors:
        assert visitor == follows(visitor)
    total = said["numbers"] + 1
    assert heard["got"] == [*range(total - 1), END]
    underlying = paths(said["log"], "/count")["underlying"]
    assert 200 <= underlying < total, "the underlying path is used for the plain visitors and not all the time"
    assert paths(heard["log"], "/count")["underlying"] < total / 2, "only until it is met in Baton"


def test_a_killed_reader_does_not_push_its_publisher_onto_the_other_path(processes):
    hearer = processes.start("baton", "hear", str(END)).says("going")
    victim = processes.start("baton", "hear", str(END)).says("going")
    begin = time.monotonic()
    talker = processes.start("baton", "count_until_told", "3", "2").says("going")
    victim.kill()
    wait_as_long_again(begin)  # the underlying RMW believes in the victim for another 20 s
    talker.tell()
    heard, said = processes.result(hearer), processes.result(talker)
    assert heard["got"] == [*range(said["numbers"]), END]
    assert paths(said["log"], "/count")["underlying"] < said["numbers"] / 2


def test_a_killed_publisher_harms_nobody(processes):
    hearer = processes.start("baton", "hear", "1500").says("going")
    victim = processes.start("baton", "count", "1000", "3", "1").says("going")
    time.sleep(1)
    victim.kill()
    talker = processes.start("baton", "count", "1501", "1", "1")
    heard = processes.result(hearer)
    said = processes.result(talker)
    got = heard["got"]
    # Where the talker's begin; all of the victim's before are there, without a gap, and all of the talker's.
    jumps = [(before, after) for before, after in zip(got, got[1:], strict=False) if after != before + 1]
    assert got[0] == 0 and len(jumps) == 1 and jumps[0][1] == 0 and got[-1] == 1500, (
        f"{got[0]}, {jumps}, {got[-1]}\n{heard['log']}\n{said['log']}"
    )


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_readers_that_keep_all_hear_all_though_one_of_them_stops_until_its_publisher_is_refused(processes, rmw):
    hearers = [processes.start(rmw, "hear_all").says("going") for _ in range(2)]
    talker = processes.start(rmw, "count_until_refused", "2").says("going")
    hearers[0].send_signal(signal.SIGSTOP)
    talker.tell()
    talker.says("refused")
    hearers[0].send_signal(signal.SIGCONT)
    heard = [processes.result(hearer)["got"] for hearer in hearers]
    said = processes.result(talker)
    assert heard == [[*range(said["numbers"]), END]] * 2 and said["refused"] >= 1
    if rmw == "baton":
        sent = paths(said["log"], "/count")
        assert sent["baton"] >= 1000 and sent["underlying"] >= 1000, (
            "a message that a full queue refuses takes the underlying RMW"
        )


@pytest.mark.parametrize(("writer", "reader"), [("baton", "baton"), ("plain", "baton"), ("plain", "plain")])
def test_an_executor_that_is_driven_by_callbacks_hears_everything(processes, writer, reader):
    talker = processes.start(writer, "count", "200", "2", "1")
    heard = processes.result(processes.start(reader, "hear_with_callbacks", "199"))
    processes.result(talker)
    assert heard["got"] == list(range(200))


@filters
@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_filter_is_heeded_beside_a_served_reader(processes, rmw):
    filtered = processes.start(rmw, "hear_filtered", "at_once").says("going")
    served = processes.start(rmw, "hear", "19").says("going")
    talker = processes.start(rmw, "count", "20", "20", "2")
    assert processes.result(served)["got"] == list(range(20))
    heard = processes.result(filtered)
    processes.result(talker)
    assert heard["got"] == list(range(8, 20)) and heard["filtered"]


@filters
@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_served_reader_that_sets_a_filter_is_heard_below(processes, rmw):
    talker = processes.start(rmw, "count", "1000", "5", "1")
    filtered = processes.start(rmw, "hear_filtered", "later").says("going")
    talker.says("going")
    heard = processes.result(filtered)
    processes.result(talker)
    later = [number for number in heard["got"] if number > 7]  # the others were there before the filter
    assert heard["filtered"] and later == follows(later)


@filters
@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_filter_set_by_a_served_reader_is_heeded(processes, rmw):
    talker = processes.start(rmw, "count", "20", "20", "2")
    filtered = processes.start(rmw, "hear_filtered", "later").says("going")
    served = processes.start(rmw, "hear", "19")  # the talker begins
    heard = processes.result(filtered)
    assert processes.result(served)["got"] == list(range(20))
    processes.result(talker)
    assert heard["filtered"] and heard["got"] == list(range(8, 20))


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_two_subscriptions_of_the_publishers_own_process_hear_it(processes, rmw):
    heard = processes.result(processes.start(rmw, "hear_own"))
    assert heard["got"] == heard["others"] == list(range(10)) and heard["acked"]


def test_every_message_may_be_sent_on_both_paths(processes):
    begin = time.monotonic()
    talker = processes.start("baton", "count_until_told", "10", "2", BATON_RMW_PATHS="both")
    hearers = [processes.start(rmw, "hear", str(END)) for rmw in ("baton", "plain")]
    talker.says("going")
    wait_as_long_again(begin)  # the two ends may meet in the underlying RMW before they meet in Baton
    talker.tell()
    heard = [processes.result(hearer)["got"] for hearer in hearers]
    said = processes.result(talker)
    assert heard == [[*range(said["numbers"]), END]] * 2
    sent = paths(said["log"], "/count")
    assert sent["underlying"] == said["numbers"] + 1 and sent["baton"] > 0


def test_baton_can_be_switched_off(processes):
    talker = processes.start("baton", "count", "20", "10", "1", BATON_RMW_PATHS="underlying")
    heard = processes.result(processes.start("baton", "hear", "19"))
    said = processes.result(talker)
    assert heard["got"] == list(range(20))
    assert (
        "Baton's memory is not used (BATON_RMW_PATHS=underlying)" in said["log"] and "through Baton" not in said["log"]
    )
