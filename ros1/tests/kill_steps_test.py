# SPDX-License-Identifier: Apache-2.0
"""A roscpp program is killed at each named step of Baton's libraries for ROS 1 (docs/concepts/crash-points.md)."""

import itertools
import re
import signal
import time

import pytest
from kill_run import KINDS, LARGE, SMALL, Network, reap
from ros1_network import BUILD, HANG_UP, PATIENCE_S, ROOT
from support.waiting import until

pytestmark = pytest.mark.own_master  # which may be killed, too

CRASHING = BUILD / "lib" / "libbaton_roscpp_crashing.so"
SUBSCRIBER = ["ros1.marker", "ros1.taken", "ros1.aliased"]
PUBLISHER = ["ros1.handed_over", "ros1.repeated"]
EACH_PASS = (1, 5)
IN_FLIGHT = 4  # kInFlight in ros1/preload/src/links.hpp
# With types of Baton: the step, and in which modes a program comes by there.
API_SUBSCRIBER = {
    "ros1.api.turn": ["lotros"],
    "ros1.api.taken": ["lotros"],
    "ros1.api.handle": ["tzc"],
    "ros1.api.found": ["tzc"],
    "ros1.api.decoded": ["lotros", "tzc"],
}
API_PUBLISHER = {
    "ros1.api.serialized": ["lotros", "tzc"],
    "ros1.api.published": ["lotros", "tzc"],
    "ros1.api.handles_given": ["tzc"],
    "ros1.api.bytes_given": ["lotros", "tzc"],
}
API_LATCHED = {"ros1.api.linked": ["lotros", "tzc"]}


def each_step(steps):
    """Each step in each of its modes; by turns at the first pass, before the ends have met in Baton, and at a later one."""
    whole = [(step, mode) for step, modes in steps.items() for mode in modes]
    passes = itertools.cycle([1, 5, 5, 1])  # so that no mode always has the same
    return [(mode, step, at_pass) for (step, mode), at_pass in zip(whole, passes, strict=False)]


def crashing(point, at_pass):
    return {"preload": False, "LD_PRELOAD": f"{CRASHING}:{HANG_UP}", "BATON_CRASH_AT": f"{point}:{at_pass}"}


def crashing_api(mode, point, at_pass):
    return {"program": "_crashing", "BATON_ROS1_MODE": mode, "BATON_CRASH_AT": f"{point}:{at_pass}"}


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
    killed = {*SUBSCRIBER, *PUBLISHER, *API_SUBSCRIBER, *API_PUBLISHER, *API_LATCHED}
    assert names == killed == set(re.findall(r"\| `(ros1\..*?)`", page))


def a_subscriber_dies(ros, network, victim):
    until_dead(victim, lambda: network.publish(LARGE))
    network.publish(LARGE, 5)
    reap(ros, victim)


def test_a_subscriber_that_dies_at_a_step_costs_the_others_nothing(ros):
    network = Network(ros)  # the first one: it asserts that no topic of Baton is registered
    for step in itertools.product(SUBSCRIBER, EACH_PASS):
        a_subscriber_dies(ros, network, ros.listener(keep=3, **crashing(*step)))
    network.close()
    steps = each_step(API_SUBSCRIBER)
    decoded = [each for each in steps if each[1] == "ros1.api.decoded"]  # which it does with messages of others alone
    # A publisher in mode tzc has both ways: handles for subscribers in that mode, and Baton's queue for the others.
    for kind, which in (("tzc", [each for each in steps if each not in decoded]), ("preload", decoded)):
        network = KINDS[kind](ros)
        network.registers_topics = True  # the side topic of a dead subscription
        for step in which:
            a_subscriber_dies(ros, network, ros.api_listener(keep=3, **crashing_api(*step)))
        network.close()


def test_a_publisher_that_dies_at_a_step_costs_the_others_nothing(ros):
    network = Network(ros)
    for point, at_pass in itertools.product(PUBLISHER, EACH_PASS):
        a_publisher_dies(ros, network, point, at_pass)
    network.close()


def a_publisher_dies(ros, network, point, at_pass):
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
    a_successor_is_heard(ros, [listener], ros.talker)


def a_successor_is_heard(ros, listeners, talker, **settings):
    """What came of a dead publisher of "others" came once and in order, and all of the next one comes, whose messages have another size."""
    successor = talker(topic="others", **settings)
    successor.do(f"subscribers {len(listeners)}")
    successor.do(f"publish {LARGE + 1} 3 1")
    for listener in listeners:
        of_the_dead, of_the_next = [], []
        while len(of_the_next) < 3:
            if (line := listener.line()).endswith(" good"):
                number, _, size, _ = line.split()
                (of_the_next if size == str(LARGE + 1) else of_the_dead).append(int(number))
        assert of_the_dead == list(range(1, len(of_the_dead) + 1))
        assert of_the_next == [1, 2, 3]
        until(lambda one=listener: one.maps("baton-connection") <= 1, "it keeps the dead publisher's memory")
        assert listener.end() == 0
    assert successor.end() == 0
    for each in (*listeners, successor):
        reap(ros, each)


def test_a_publisher_of_types_of_baton_that_dies_at_a_step_costs_the_others_nothing(ros):
    network = KINDS["tzc"](ros)
    for step in each_step(API_PUBLISHER):
        a_publisher_of_types_of_baton_dies(ros, network, *step)
    network.close()


def a_publisher_of_types_of_baton_dies(ros, network, mode, point, at_pass):
    stock = ros.listener(preload=False, topic="others")
    listeners = [stock, *(ros.api_listener(topic="others", BATON_ROS1_MODE=each) for each in ("lotros", "tzc"))]
    victim = ros.api_talker(topic="others", **crashing_api(mode, point, at_pass))
    victim.do(f"subscribers {len(listeners)}")

    def publish():
        victim.tell(f"publish {LARGE} 1 1")
        time.sleep(0.01)

    try:
        until_dead(victim, publish)
    except BrokenPipeError:
        victim.process.wait(PATIENCE_S)
        assert is_dead(victim)
    network.publish(LARGE, 5)
    reap(ros, victim)
    a_successor_is_heard(ros, listeners, ros.api_talker, BATON_ROS1_MODE=mode)


# Each mode meets each kind of late subscriber that takes another way of it.
def test_a_latched_publisher_that_dies_when_a_subscriber_comes_costs_the_others_nothing(ros):
    network = KINDS["lotros"](ros)
    for (mode, point, _), own in itertools.product(each_step(API_LATCHED), (False, True)):
        late = mode if own else "stock"
        victim = ros.api_talker(topic="others", latch=True, **crashing_api(mode, point, 1))
        victim.do(f"publish {SMALL} 1 1")
        if late == "stock":
            listener = ros.listener(preload=False, topic="others")
        else:
            listener = ros.api_listener(topic="others", BATON_ROS1_MODE=late)
        until_dead(victim, lambda: time.sleep(0.01))
        network.publish(LARGE, 5)
        reap(ros, victim)
        a_successor_is_heard(ros, [listener], ros.api_talker, BATON_ROS1_MODE=mode)
    network.close()
