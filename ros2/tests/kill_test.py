# SPDX-License-Identifier: Apache-2.0
"""Nodes come, go, are stopped and are killed at any moment: the others go on, and nothing of the dead stays with them."""

import signal
import time

from ros2_processes import segments
from support.waiting import until

END = 999999  # what count_until_told ends with


def sockets(directory):
    return [each for each in directory.rglob("*") if each.is_socket()]


def settled(look, while_s):
    """What `look` gives once that has not changed for so long."""
    seen, since = look(), time.monotonic()
    while time.monotonic() - since < while_s:
        time.sleep(0.05)
        if (now := look()) != seen:
            seen, since = now, time.monotonic()
    return seen


def test_the_others_go_on_and_nothing_of_the_dead_stays(processes, tmp_path):
    more = {"BATON_RUNTIME_DIR": str(tmp_path)}
    hearer = processes.start("baton", "hear", str(END), **more).says("going")
    begin = time.monotonic()
    talker = processes.start("baton", "count_until_told", "4", "1", **more).says("going")
    until(lambda: segments(hearer)[1] > 0)  # they have met
    # On a busy machine all takes longer, the talker's start, too.
    before = settled(lambda: (segments(hearer), segments(talker)), max(1, time.monotonic() - begin))
    victims = [
        processes.start("baton", *("hear", "999999") if i % 2 else ("say_numbers_for_ever",), **more) for i in range(6)
    ]
    for i, victim in enumerate(victims):
        if i == 0:
            victim.says("going")  # in full work; the others at any moment of their start
        time.sleep(0.2 * i)
        processes.kill(victim)
    until(
        lambda: (segments(hearer), segments(talker)) == before,
        lambda: (segments(hearer), segments(talker), before),
    )
    talker.tell()
    got = processes.result(hearer)["got"]
    said = processes.result(talker)
    of_the_talker = [each for each in got if each <= END]
    assert of_the_talker == [*range(said["numbers"]), END]
    assert len(sockets(tmp_path)) <= len(victims)
    next_one = processes.start("baton", "hear", str(END), **more).says("going")
    until(lambda: len(sockets(tmp_path)) == 1, "the next process sweeps what the dead left")
    processes.kill(next_one)


def follows(numbers):
    return list(range(numbers[0], numbers[0] + len(numbers)))


def test_each_message_comes_once_and_in_order_while_other_readers_come_go_and_are_killed(processes):
    hearer = processes.start("baton", "hear", str(END)).says("going")
    victims = [processes.start("baton", "hear", str(END)).says("going") for _ in range(2)]
    talker = processes.start("baton", "count_until_told", "3", "3").says("going")
    for _ in range(2):
        visitor = processes.result(processes.start("baton", "hear_some", "100"))["got"]
        assert visitor == follows(visitor)
        processes.kill(victims.pop())
    talker.tell()
    heard, said = processes.result(hearer), processes.result(talker)
    assert heard["got"] == [*range(said["numbers"]), END]


def test_a_killed_publisher_harms_nobody(processes):
    hearer = processes.start("baton", "hear", "1500").says("going")
    victim = processes.start("baton", "count", "1000", "3", "1").says("going")
    time.sleep(1)
    victim.kill()
    talker = processes.start("baton", "count", "1501", "1", "1")
    got = processes.result(hearer)["got"]
    processes.result(talker)
    # Where the talker's begin; all of the victim's before are there, without a gap, and all of the talker's.
    jumps = [(before, after) for before, after in zip(got, got[1:], strict=False) if after != before + 1]
    assert got[0] == 0 and len(jumps) == 1 and jumps[0][1] == 0 and got[-1] == 1500, f"{got[0]}, {jumps}, {got[-1]}"


def test_readers_that_keep_all_hear_all_though_one_of_them_stops_until_its_publisher_is_refused(processes):
    hearers = [processes.start("baton", "hear_all").says("going") for _ in range(2)]
    talker = processes.start("baton", "count_until_refused", "2").says("going")
    hearers[0].send_signal(signal.SIGSTOP)
    talker.tell()
    talker.says("refused")
    hearers[0].send_signal(signal.SIGCONT)
    heard = [processes.result(hearer)["got"] for hearer in hearers]
    said = processes.result(talker)
    assert heard == [[*range(said["numbers"]), END]] * 2 and said["refused"] >= 1
