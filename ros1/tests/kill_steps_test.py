# SPDX-License-Identifier: Apache-2.0
"""A stock roscpp program is killed at each named step of libbaton_roscpp.so (docs/concepts/crash-points.md)."""

import re
import signal
import time

import pytest
from kill_run import LARGE, Network, reap
from ros1_network import BUILD, HANG_UP, PATIENCE_S, ROOT

CRASHING = BUILD / "lib" / "libbaton_roscpp_crashing.so"
SUBSCRIBER = ["ros1.marker", "ros1.taken", "ros1.aliased"]
PUBLISHER = ["ros1.handed_over", "ros1.repeated"]
IN_FLIGHT = 4  # kInFlight in ros1/preload/src/links.hpp


def crashing(point, at_pass):
    return {"preload": False, "LD_PRELOAD": f"{CRASHING}:{HANG_UP}", "BATON_CRASH_AT": f"{point}:{at_pass}"}


def is_dead(victim):
    return victim.process.poll() == -signal.SIGKILL


def until_dead(victim, step):
    deadline = time.monotonic() + PATIENCE_S
    while not is_dead(victim):
        assert time.monotonic() < deadline, f"{victim.errors}: the step was not reached"
        step()


def test_the_steps_are_those_of_the_sources_and_of_the_page():
    sources = [*(ROOT / "ros1").rglob("*.cpp")]
    names = {name for path in sources for name in re.findall(r'BATON_CRASH_POINT\("(.*?)"\)', path.read_text())}
    page = (ROOT / "docs" / "concepts" / "crash-points.md").read_text()
    assert names == {*SUBSCRIBER, *PUBLISHER} == set(re.findall(r"\| `(ros1\..*?)`", page))


@pytest.mark.parametrize("at_pass", [1, 5])
@pytest.mark.parametrize("point", SUBSCRIBER)
def test_a_subscriber_that_dies_at_a_step_costs_the_others_nothing(ros, point, at_pass):
    network = Network(ros)
    victim = ros.listener(keep=3, **crashing(point, at_pass))
    until_dead(victim, lambda: network.publish(LARGE))
    network.publish(LARGE, 5)
    reap(ros, victim)
    network.close()


@pytest.mark.parametrize("at_pass", [1, 5])
@pytest.mark.parametrize("point", PUBLISHER)
def test_a_publisher_that_dies_at_a_step_costs_the_others_nothing(ros, point, at_pass):
    network = Network(ros)
    listener = ros.listener(topic="others")
    victim = ros.talker(topic="others", **crashing(point, at_pass))
    victim.do("subscribers 1")

    def hand_over():
        victim.tell(f"publish {LARGE} 1 1")
        time.sleep(0.01)

    def lose():
        listener.process.send_signal(signal.SIGSTOP)
        victim.tell(f"publish {LARGE} {IN_FLIGHT} 1")
        time.sleep(0.2)
        if not is_dead(victim):
            victim.break_baton_connections()
        time.sleep(0.2)
        listener.process.send_signal(signal.SIGCONT)
        time.sleep(0.2)

    try:
        until_dead(victim, hand_over if point == "ros1.handed_over" else lose)
    except BrokenPipeError:
        victim.process.wait(PATIENCE_S)
        assert is_dead(victim)
    listener.process.send_signal(signal.SIGCONT)
    network.publish(LARGE, 5)
    reap(ros, victim)
    numbers = [int(line.split()[0]) for line in listener.more(1) if line.endswith("good")]
    assert numbers == list(range(1, len(numbers) + 1)), "what came of the dead publisher came once and in order"
    successor = ros.talker(topic="others")
    successor.do("subscribers 1")
    successor.do(f"publish {LARGE} 3 1")
    assert [listener.line().split()[::3] for _ in range(3)] == [[str(i), "good"] for i in (1, 2, 3)]
    assert listener.end() == 0
    assert successor.end() == 0
    network.close()
