# SPDX-License-Identifier: Apache-2.0
"""A peer that repeats the frames of an honest process from before its restart, or that answers questions about endpoints of others: the honest
processes get each message once, each call has its response, and no answer of the hostile peer counts."""

import contextlib
import os
import signal
import sys
import threading

import pytest
import scene
from ids_test import sockets
from raw_peer import ATTACH, BYE, HELLO, HOLDINGS, HOLDINGS_REQUEST, LOSSES, Gone, Link, memfd
from support.processes import Process, environment
from support.waiting import until

sys.path.insert(0, str(scene.PACKAGE))
import baton
from lies_identity import holdings

COUNT = 200

# "robot": publishes /count from the number in its argument on, and serves /double. Its subscription makes it send ATTACH.
ROBOT = """
import baton, sys, threading
node = baton.Node("robot", on_diagnostic=lambda each: None)
counts = node.advertise("/count", "std_msgs/Int32", baton.QoS(1000))
orders = node.subscribe("/orders", "std_msgs/Int32", lambda message: None)
def answer(request, response):
    response.success = not request.data
node.serve("/invert", "std_srvs/SetBool", answer)
executor = baton.Executor(node)
threading.Thread(target=executor.spin, daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    counts.wait_for_subscriptions(1, 120)
    for number in range(int(line), int(line) + 200):
        counts.publish({"data": number})
    print("published", flush=True)
"""


class Recorded(Link):
    """A link that keeps the frames that come, without their descriptors."""

    def receive(self, timeout):
        frame = super().receive(timeout)
        if frame is not None and frame.kind != HELLO:
            self.__dict__.setdefault("heard", []).append((frame.kind, frame.payload))
        return frame


def replay(directory, name, identity, heard):
    """In a process of its own: all frames of the recording, as that process."""
    child = os.fork()
    if child == 0:
        sent = 0
        try:
            for of in (identity, os.urandom(16)):
                with contextlib.suppress(Gone, TimeoutError, OSError):
                    link = Link(directory, name, of, patience=5)
                    for kind, payload in heard:
                        link.frame(kind, payload, [memfd(4096)] if kind == ATTACH else [])
                        sent += 1
                    link.drain(0.3)
        except BaseException:
            sent = 0
        os._exit(0 if sent else 1)
    assert os.waitpid(child, 0)[1] == 0, "nothing was replayed"


@pytest.mark.parametrize("when", ["before the new one comes", "beside the new one"])
def test_frames_of_a_former_process_have_no_effect_if_another_process_repeats_them(tmp_path, when):
    node = baton.Node("victim", runtime_directory=tmp_path, on_diagnostic=lambda each: None)
    received = []
    subscription = node.subscribe("/count", "std_msgs/Int32", lambda message: received.append(message.data), 1000)
    orders = node.advertise("/orders", "std_msgs/Int32", 10)
    client = node.client("/invert", "std_srvs/SetBool")
    (own,) = sockets(tmp_path)
    executor = baton.Executor(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()

    def start():
        return Process([sys.executable, "-c", ROBOT], env=environment(tmp_path)).says("ready")

    try:
        former = start()
        try:
            former.tell("0")
            former.says("published")
            (name,) = (each for each in sockets(tmp_path) if each != own)
            link = Recorded(str(name.parent), name.name)
            link.announce("/orders", True, link.endpoint("/orders", False))  # the robot attaches to it, too
            link.wait(ATTACH).close()
            link.drain(0.2)
            heard, identity = link.heard, bytes.fromhex(name.name[2:])
            link.packet(BYE, b"\1\0\0\0\0\0")
            link.close()
            until(lambda: len(received) == COUNT)
        finally:
            former.send_signal(signal.SIGKILL)
            former.end()
        assert {kind for kind, _ in heard} >= {ATTACH}
        if when == "before the new one comes":
            until(lambda: subscription.matched == 0)
            replay(str(own.parent), own.name, identity, heard)
        new = start()
        try:
            if when == "beside the new one":
                assert subscription.wait_for_publishers(1, 120)
                replay(str(own.parent), own.name, identity, heard)
            new.tell(str(COUNT))
            new.says("published")
            until(lambda: len(received) >= 2 * COUNT)
            assert received == list(range(2 * COUNT))
            assert client.wait_for_service(120)
            for data in (True, False):
                assert client.call({"data": data}, timeout=120).success is not data
            assert orders.wait_for_subscriptions(1, 120)
        finally:
            new.end()
    finally:
        executor.cancel()
        thread.join()


def test_answers_about_ends_of_others_do_not_count(tmp_path):
    honest = baton.Node("honest", runtime_directory=tmp_path, on_diagnostic=lambda each: None)
    publisher = honest.advertise("/count", "std_msgs/Int32", 10)
    subscription = honest.subscribe("/count", "std_msgs/Int32", qos=10)
    assert publisher.wait_for_subscriptions(1, 60)
    (own,) = sockets(tmp_path)
    link = Link(str(own.parent), own.name)
    mine, theirs = link.endpoint("/count", False), link.endpoint("/count", True)
    reports = []
    asked = threading.Thread(target=lambda: reports.append(honest.report(60)))
    asked.start()
    question = link.wait(HOLDINGS_REQUEST).payload
    link.frame(HOLDINGS, question + holdings(theirs.gid, mine.gid)[8:])
    link.frame(LOSSES, question + b"\1\0\0\0" + mine.gid + b"\xff\0" * 32)
    link.frame(HOLDINGS, question + bytes(16 + 4 * 4))
    asked.join()
    (report,) = reports
    assert [(each.publisher, each.held) for each in report.holdings] == [(theirs.gid, 0)]
    assert not report.losses
    link.close()
    del subscription
