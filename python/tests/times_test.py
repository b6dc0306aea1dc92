# SPDX-License-Identifier: Apache-2.0
"""Seconds at the ends of their ranges, in every function that takes some."""

import asyncio
import math
import re
import threading

import baton
import pytest
from baton.msg.std_msgs import String
from spinning import spinning

LIMIT_S = 120
ENDLESS = [math.inf, 1e300, 9.3e9, 8.9e9, 3.2e10]  # 2^63 ns are 9.2e9 s
OVER = [0, 0.0, -0.0, -1e-300, 5e-324, -1, -9.3e9, -1e300, -math.inf]


class Ends:
    def __init__(self):
        self.node = baton.Node("times")
        self.idle = baton.Executor(baton.Node("idle"))
        self.publisher = self.node.advertise("topic", String)
        self.subscription = self.node.subscribe("topic", String)
        self.publisher.wait_for_subscriptions(1, LIMIT_S)
        self.client = self.node.client("nobody", "std_srvs/SetBool")
        self.other = self.node.client("nobody", "std_srvs/SetBool")  # of an event loop
        self.unread = self.node.advertise("unread", String)
        self.reader = self.node.subscribe("unread", String)
        self.unread.wait_for_subscriptions(1, LIMIT_S)
        self.unread.publish({"data": "not taken"})


@pytest.fixture
def ends():
    return Ends()


# Each waits for what does not happen, and returns a false value when the time is over.
WAITS = {
    "take": lambda e, seconds: e.subscription.take(seconds),
    "spin_once": lambda e, seconds: e.idle.spin_once(seconds),
    "spin_once by name": lambda e, seconds: e.idle.spin_once(timeout=seconds),
    "call": lambda e, seconds: e.client.call({}, seconds),
    "aio.call": lambda e, seconds: asyncio.run(baton.aio.call(e.other, {}, seconds)),
    "wait_for_service": lambda e, seconds: e.client.wait_for_service(seconds),
    "wait_for_subscriptions": lambda e, seconds: e.publisher.wait_for_subscriptions(9999, seconds),
    "wait_for_publishers": lambda e, seconds: e.subscription.wait_for_publishers(9999, seconds),
    "wait_for_all_acked": lambda e, seconds: e.unread.wait_for_all_acked(seconds),
    "wait_for": lambda e, seconds: e.node.wait_for(lambda: False, seconds),
}
# Each takes seconds, and does not wait for their end.
OTHERS = {
    "holdings": lambda e, seconds: e.node.holdings(seconds),
    "set_spin": lambda e, seconds: e.idle.set_spin(seconds),
    "deadline": lambda e, seconds: baton.QoS(deadline=seconds),
    "lifespan": lambda e, seconds: baton.QoS(lifespan=seconds),
    "lease": lambda e, seconds: baton.QoS(lease=seconds),
    "throttle": lambda e, seconds: e.node.get_logger().info("line", throttle_duration_sec=seconds),
    "create_timer": lambda e, seconds: e.node.create_timer(seconds, lambda: None),
}


@pytest.mark.parametrize("call", [*WAITS.values(), *OTHERS.values()], ids=[*WAITS, *OTHERS])
def test_no_number_of_seconds_is_an_error_in_words(ends, call):
    with pytest.raises(ValueError, match="nan"):
        call(ends, math.nan)
    with pytest.raises(TypeError):
        call(ends, "1")


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_time_that_is_over_does_not_wait(ends, wait):
    for seconds in OVER:
        assert not wait(ends, seconds), seconds


def test_a_time_longer_than_the_clocks_is_endless(programs):
    # Only the end of the interpreter ends it: these threads keep no process alive. A wait that is over too early says so before.
    process = programs.python("""
        import sys, threading, time, baton
        from times_test import ENDLESS, WAITS, Ends
        begun = threading.Semaphore(0)
        def run(name, wait, seconds):
            ends = Ends()
            begun.release()
            result = wait(ends, seconds)
            sys.stdout.write(f"over: {name} {seconds} {result}\\n")
        waits = [(name, wait, seconds) for name, wait in WAITS.items() if name != "aio.call" for seconds in ENDLESS]
        for each in waits: threading.Thread(target=run, args=each).start()
        for _ in waits: begun.acquire()
        time.sleep(0.3)  # those that do not wait are over meanwhile
        sys.stdout.write("main ends\\n")
    """)
    out, errors = process.communicate(timeout=2 * LIMIT_S)
    assert (process.returncode, errors) == (0, "") and out.startswith("main ends\n"), out + errors


@pytest.mark.parametrize("seconds", ENDLESS)
def test_an_event_loop_waits_for_a_response_without_end(seconds):
    server, node = baton.Node("server"), baton.Node("caller")
    go = threading.Event()

    def switch(_request, response):
        go.wait(LIMIT_S)
        response.success = True

    server.serve("switch", "std_srvs/SetBool", switch)
    client = node.client("switch", "std_srvs/SetBool")

    async def call():
        asyncio.get_running_loop().call_later(0.1, go.set)
        return await baton.aio.call(client, {"data": True}, seconds)

    with spinning(server):
        client.wait_for_service(LIMIT_S)
        assert asyncio.run(call()).success


@pytest.mark.parametrize("seconds", ENDLESS)
def test_a_timer_of_an_endless_period_does_not_run(seconds):
    node = baton.Node("timers")
    ran = []
    node.create_timer(seconds, lambda: ran.append("endless"))
    node.create_timer(0.01, lambda: ran.append("often"))
    executor = baton.Executor(node)
    while ran.count("often") < 3:
        executor.spin_once(LIMIT_S)
    assert set(ran) == {"often"}


@pytest.mark.parametrize("seconds", [0, -0.0, 1e-10, -1, -1e300, -math.inf])
def test_a_timer_without_a_period_is_refused_with_the_number(ends, seconds):
    with pytest.raises(baton.InvalidArgument, match=re.escape(f"a nanosecond or more, not {float(seconds)!r} s")):
        ends.node.create_timer(seconds, lambda: None)


@pytest.mark.parametrize("policy", ["deadline", "lifespan", "lease"])
def test_an_endless_time_of_qos_is_none(policy):
    for seconds in (math.inf, 1e300, 9.3e9, None):
        assert getattr(baton.QoS(**{policy: seconds}), policy) is None
    assert getattr(baton.QoS(**{policy: 0.5}), policy) == 0.5
    with pytest.raises(ValueError, match=f"{policy}.*-1"):
        baton.QoS(**{policy: -1})


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -math.inf, 1e300, -1e300, 2**31, -(2**31) - 1])
def test_a_stamp_takes_only_seconds_that_it_can_hold(seconds):
    stamp = baton.message("builtin_interfaces/Time")
    with pytest.raises((ValueError, OverflowError)):
        baton.message("std_msgs/Header")(stamp=seconds)
    with pytest.raises((TypeError, OverflowError)):
        stamp() + seconds


def test_seconds_next_to_a_whole_number_are_rounded_into_it():
    header = baton.message("std_msgs/Header")(stamp=math.nextafter(5, 0))
    assert (header.stamp.sec, header.stamp.nanosec) == (5, 0)
