# SPDX-License-Identifier: Apache-2.0
"""A process writes few lines about other processes, however many connections or processes cause them, and the fault of an honest process is
still one of them."""

import contextlib
import os
import re
import sys
import time

import pytest
from raw_peer import DETACH, Endpoint, Gone, Link
from support.processes import LOG, Process, environment

LIMIT_S = 120
MOST = 50  # kMost in core/os/include/baton/os/line_budget.hpp
OF_PROCESS = 32  # kMaxReports in core/transport/src/participant.hpp
WINDOW_S = 10  # kWindow and kReportWindow

VICTIM = """
import baton
node = baton.Node("victim")
wrong = node.subscribe("/wrong", "std_msgs/String", lambda message: None)
right = node.subscribe("/right", "std_msgs/String", lambda message: print("got", message.data, flush=True))
print("ready", flush=True)
baton.Executor(node).spin()
"""
# Its publisher of /wrong has another type, or offers less than is asked for.
BYSTANDER = """
import baton, sys
node = baton.Node("bystander")
wrong = node.advertise("/wrong", sys.argv[1], baton.QoS(reliability="best_effort"))
right = node.advertise("/right", "std_msgs/String")
assert right.wait_for_subscriptions(1, 60)
right.publish({"data": "hello"})
print("published", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def victim(tmp_path):
    process = Process([sys.executable, "-c", VICTIM], env=environment(tmp_path), stderr=LOG).says("ready")
    yield process
    process.end()


def connect(directory):
    (socket,) = directory.glob("*/p-*")
    return Link(str(socket.parent), socket.name, patience=2)


def misfits(link):
    """Makes as many endpoints that do not match as its process may have lines."""
    with contextlib.suppress(Gone):
        for number in range(OF_PROCESS + 2):
            misfit = Endpoint(b"", True, "/wrong", "n", f"std_msgs/Int{number}", os.urandom(16), 8, b"")
            link.announce("/wrong", True, misfit)
        link.drain(0.05)


def violation(link):
    with contextlib.suppress(Gone):
        link.frame(DETACH, b"x")
        link.drain(0.05)


def in_this_process(directory, attack):
    """Makes them again and again. A process begins at most 64 connections in 10 s."""
    for _ in range(20):
        with contextlib.suppress(Gone, ConnectionError, TimeoutError):
            link = connect(directory)
            attack(link)
            link.close()


def in_processes(directory, attack):
    for _ in range(60):
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                attack(connect(directory))
            os._exit(0)
        os.waitpid(child, 0)


@pytest.mark.parametrize(
    ("flood", "attack", "most", "kind", "wrong", "other_kind"),
    [
        (in_this_process, misfits, OF_PROCESS, "type_mismatch", "std_msgs/String", "incompatible_qos"),
        (in_processes, misfits, MOST, "type_mismatch", "std_msgs/String", "incompatible_qos"),
        (in_processes, violation, MOST, "protocol_violation", "std_msgs/Int32", "type_mismatch"),
    ],
    ids=["one process, many connections", "many processes", "many violations"],
)
def test_a_flood_causes_few_lines_and_the_fault_of_an_honest_process_has_a_line(
    tmp_path, victim, flood, attack, most, kind, wrong, other_kind
):
    begun = time.monotonic()
    flood(tmp_path, attack)
    bystander = Process([sys.executable, "-c", BYSTANDER, wrong], env=environment(tmp_path)).says("published")
    victim.says("got hello")
    windows = 1 + int((time.monotonic() - begun) // WINDOW_S)
    bystander.end()
    said = victim.log().splitlines()
    assert OF_PROCESS <= len([line for line in said if kind in line]) <= most * windows, said
    assert any(other_kind in line and "node 'bystander'" in line for line in said), said
    assert any(re.search(r"before it, \d+ lines were left out", line) for line in said), said
