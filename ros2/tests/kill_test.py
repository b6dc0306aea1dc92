# SPDX-License-Identifier: Apache-2.0
"""Nodes are killed at any moment: the others go on, and nothing of the dead stays with them."""

import time

from ros2_processes import paths, segments
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
    # Of the readers that were killed the underlying RMW believes in some for 20 s; from then on Baton alone must carry.
    assert paths(said["log"], "/count")["underlying"] < said["numbers"] / 2
    assert len(sockets(tmp_path)) <= len(victims)
    next_one = processes.start("baton", "hear", str(END), **more).says("going")
    until(lambda: len(sockets(tmp_path)) == 1, "the next process sweeps what the dead left")
    processes.kill(next_one)


def test_a_killed_reader_leaves_its_publisher_on_batons_path(processes):
    hearer = processes.start("baton", "hear", str(END)).says("going")
    victims = [processes.start("baton", "hear", str(END)).says("going") for _ in range(2)]
    talker = processes.start("baton", "count_until_told", "3", "3").says("going")
    until(lambda: segments(hearer)[1] > 0)  # they have met
    time.sleep(0.6)
    for victim in victims:
        processes.kill(victim)
    talker.tell()  # the underlying RMW believes in the dead for 20 s
    heard, said = processes.result(hearer), processes.result(talker)
    assert heard["got"] == [*range(said["numbers"]), END]
    assert paths(said["log"], "/count")["underlying"] < said["numbers"] / 2
