# SPDX-License-Identifier: Apache-2.0
"""Losses of a subscription by reason, seen by itself and by another process; and Baton's own shortage of memory in a callback."""

from __future__ import annotations

import re
import threading
import time

import baton
import pytest
from baton import _core
from spinning import spinning
from support.build import ROOT
from support.waiting import LIMIT_S, until


@pytest.fixture
def node():
    with baton.Node("losing") as node:
        yield node


def pair(node, depth=10, **options):
    subscription = node.subscribe("text", "std_msgs/String", qos=baton.QoS(depth, **options))
    publisher = node.advertise("text", "std_msgs/String", baton.QoS(depth))
    assert publisher.wait_for_subscriptions(1, LIMIT_S) and subscription.wait_for_publishers(1, LIMIT_S)
    return publisher, subscription


def test_messages_that_newer_ones_displaced_are_an_overflow(node):
    publisher, subscription = pair(node, 4)
    for i in range(10):
        publisher.publish({"data": str(i)})
    assert [subscription.take().data for _ in range(4)] == ["6", "7", "8", "9"]
    assert subscription.losses == baton.Losses(6, 0, 0, 0, 0, 0, 0, 0)
    assert subscription.losses.total == subscription.statuses.lost_total == 6


def test_messages_that_were_displaced_while_all_that_may_be_held_was_held_are_of_that_limit(node):
    publisher, subscription = pair(node, 2, held=1)
    publisher.publish({"data": "0"})
    kept = subscription.take()
    publisher.publish({"data": "1"})
    with pytest.raises(baton.HeldLimit):
        subscription.take()
    for i in range(2, 6):
        publisher.publish({"data": str(i)})
    del kept
    assert subscription.take().data == "4"
    assert (subscription.losses.held, subscription.losses.overflow) == (3, 0)
    for i in range(6, 10):
        publisher.publish({"data": str(i)})
    assert subscription.take().data == "8"
    assert (subscription.losses.held, subscription.losses.overflow) == (3, 3), "nothing was held any more"


def test_expired_messages_are_counted_and_not_lost(node):
    publisher, subscription = pair(node, 10, lifespan=0.05)
    for _ in range(3):
        publisher.publish({"data": "old"})
    time.sleep(0.2)
    assert subscription.take() is None
    assert subscription.losses.lifespan == 3 and subscription.losses.total == 0


def test_another_process_sees_the_losses_of_each_subscription(node, programs):
    publisher, subscription = pair(node, 4)
    program = f"""
import baton
with baton.Node("asks") as node:
    while not any(each.gid == bytes.fromhex("{subscription.gid.hex()}") for each in node.endpoints()):
        pass
    report = node.report({LIMIT_S})
    for gid, losses in report.losses.items():
        print(gid.hex(), losses.overflow, losses.total)
    print(len(report.holdings))
"""

    def asked():
        return programs.python(program).ends()[0].split()

    assert asked() == ["1"], "a subscription that lost nothing has no row"
    for i in range(10):
        publisher.publish({"data": str(i)})
    assert subscription.take().data == "6"
    assert asked() == [subscription.gid.hex(), "6", "6", "1"]
    assert node.report(LIMIT_S).losses == {subscription.gid: subscription.losses}


@pytest.mark.parametrize("place", ["timer", "subscription", "loan"])
def test_a_callback_without_memory_for_its_message_is_counted_and_the_executor_goes_on(node, capfd, place):
    big = node.advertise("big", "sensor_msgs/Image", memory_limit=1 << 20)
    calls = []

    def build(*_):
        calls.append(None)
        if place == "loan":
            loans.append(big.loan())
            loans.append(big.loan())
        big.loan().data.resize(8 << 20)

    loans = []
    if place == "subscription":
        publisher, _ = pair(node)
        subscription = node.subscribe("text", "std_msgs/String", build)
        assert subscription.wait_for_publishers(1, LIMIT_S)
        timer = node.create_timer(0.01, lambda: publisher.publish({"data": "again"}))
    else:
        timer = node.create_timer(0.01, build)
    with spinning(node, BaseException) as failed:
        until(lambda: len(calls) >= 5 or failed)
    del timer
    assert not failed
    assert failed.executor.shortages == len(calls)
    assert capfd.readouterr().err.count("without memory for its message") == 1, "a line now and then"


def test_every_other_exception_of_a_callback_leaves_spin_also_one_with_such_a_code(node):
    def raises():
        raise baton.LimitReached("of the program's own")

    node.create_timer(0.001, raises)
    executor = baton.Executor(node)
    with pytest.raises(baton.LimitReached, match="program's own") as caught:
        executor.spin()
    assert not caught.value.shortage and executor.shortages == 0


def test_a_shortage_is_marked_where_it_is_raised(node):
    big = node.advertise("big", "sensor_msgs/Image", memory_limit=1 << 20)
    with pytest.raises(baton.LimitReached) as caught:
        big.loan().data.resize(8 << 20)
    assert caught.value.shortage
    assert not baton.BatonError("any").shortage


def test_the_page_of_errors_has_the_owner_of_each_error():
    page = (ROOT / "docs/format/error-codes.md").read_text()
    rows = {
        row.split("|")[1].strip().removeprefix("the ").removesuffix("'s"): re.findall(r"`(\w+)`", row.split("|")[2])
        for row in page.split("## Whose error is it?")[1].split("\n\n")
        for row in row.splitlines()
        if row.startswith("| the ")
    }
    assert {code: whose for whose, codes in rows.items() for code in codes} == _core._whose()


def test_a_shortage_in_a_service_costs_its_response_alone_whatever_its_code(node, capfd):
    asked = []

    def answers(request, response):
        asked.append(request.data)
        if len(asked) == 1:  # as Baton raises it in a handler that publishes where no window is left
            error = baton.WindowExhausted("no room")
            error.shortage = True
            raise error

    service = node.serve("set", "std_srvs/SetBool", answers)
    client = node.client("set", "std_srvs/SetBool")
    with spinning(node, BaseException) as failed:
        assert client.wait_for_service(LIMIT_S)
        assert client.call({"data": True}, timeout=0.5) is None
        assert client.call({"data": False}, timeout=LIMIT_S) is not None
    del service
    assert not failed and asked == [True, False]
    assert "a request gets no response" in capfd.readouterr().err


@pytest.mark.parametrize("when", ["first", "later"])
def test_messages_for_which_no_memory_area_is_left_are_lost_and_nothing_else(node, programs, when):
    """In a process of its own: it uses up vm.max_map_count, before the first message of a publisher or between two segments."""
    program = """
import ctypes, sys, time, baton
LIMIT_S = 120
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
most = int(open("/proc/sys/vm/max_map_count").read())
if most > 1_000_000:
    print("skip"); sys.exit()
received = []
with baton.Node("poor") as node:
    subscription = node.subscribe("text", "std_msgs/String", lambda message: received.append(message.data))
    assert subscription.wait_for_publishers(1, LIMIT_S)
    executor = baton.Executor(node)
    while sys.argv[1] == "later" and not received:
        executor.spin_once(0.1)
    areas = []
    while (at := libc.mmap(None, 4096, len(areas) % 2, 0x22, -1, 0)) not in (None, ctypes.c_void_p(-1).value):
        areas.append(at)
    print("poor", flush=True)
    end = time.monotonic() + (LIMIT_S if sys.argv[1] == "later" else 2)
    while subscription.losses.memory + subscription.losses.limit == 0 and time.monotonic() < end:
        executor.spin_once(0.1)
    end = time.monotonic() + LIMIT_S
    lost = subscription.losses
    while areas:
        libc.munmap(areas.pop(), 4096)
    received.clear()
    print("rich", lost.memory, lost.limit, flush=True)
    while not received and time.monotonic() < end:
        executor.spin_once(0.1)
    print(len(received) > 0, executor.shortages, flush=True)
"""
    publisher = node.advertise("text", "std_msgs/String")
    process = programs.python(program, when)
    stop = threading.Event()

    def publish():
        while not stop.wait(0.02):
            publisher.publish({"data": "x"})

    thread = threading.Thread(target=publish)
    try:
        if when == "later":
            thread.start()
        first = process.stdout.readline().strip()
        if first == "skip":
            pytest.skip("this machine allows too many memory areas")
        assert first == "poor"
        if when == "later":
            publisher.trim()  # the next messages lie in another segment
        else:
            thread.start()
        said = process.ends()[0].split()
        assert said[0] == "rich" and (when == "first" or int(said[1]) > 0), said
        assert said[2] == "0", "an area is memory, as docs/format/error-codes.md says"
        assert said[3:] == ["True", "0"], "it receives again"
    finally:
        stop.set()
        if thread.is_alive():
            thread.join()
