# SPDX-License-Identifier: Apache-2.0
"""Two and three hosts with real links and real programs."""

from __future__ import annotations

import json
import signal
import time

import pytest
from link_hosts import COPY_COUNTER, ip
from link_programs import FLOW, HEAR, IMAGE_HEAR, IMAGE_TALK, TALK, expected, lines_of, ready
from support.waiting import LIMIT_S, until


def test_messages_reach_another_host_once_in_order_and_with_their_numbers(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    for here, there in ((a, b), (b, a)):
        listener = ready(there.python(HEAR, "message 99", "volatile"))
        talker = here.python(TALK, "100", "volatile", "1000")
        assert json.loads(lines_of(listener)) == expected(100)
        lines_of(talker)


def test_big_messages_arrive_whole(hosts):
    a, b = hosts(2)
    a.link(b)
    b.link()
    viewer = b.python(IMAGE_HEAR)
    camera = a.python(IMAGE_TALK)
    assert lines_of(viewer) == "5 images"
    lines_of(camera)


def test_neither_host_copies_a_payload(hosts):
    a, b = hosts(2)
    if not COPY_COUNTER.is_file():
        pytest.skip("builds with a sanitizer have the sanitizer's memcpy")
    a.link(counted=True)
    b.link(a, counted=True)
    viewer = b.python(IMAGE_HEAR)
    camera = a.python(IMAGE_TALK)
    assert lines_of(viewer) == "5 images"
    lines_of(camera)
    payload = sum(1920 * 1080 * 3 + i for i in range(5))
    assert a.end_link() < payload / 100
    # Its kernel writes the payload to its place, but for what came with a frame: less than 4 KiB in 256 KiB.
    assert b.end_link() < payload / 50


def test_a_late_subscription_abroad_gets_what_a_transient_local_publisher_keeps(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    talker = ready(a.python(TALK, "20", "transient_local", "5"))
    assert talker.stdout.readline()  # all are published
    listener = ready(b.python(HEAR, "message 19", "transient_local"))
    assert json.loads(lines_of(listener)) == expected(20)[-5:]


def test_nothing_echoes_between_three_hosts(hosts):
    a, b, c = hosts(3)
    a.link()
    b.link(a)
    c.link(a, b)
    listeners = [host.python(HEAR, "message 99", "volatile") for host in (a, b, c)]
    for listener in listeners:
        ready(listener)
    for host in (a, b, c):
        assert host.says("is connected", 2)
    # The listener of its own host, and a subscription of the link for each other host: then all paths are open.
    talker = a.python(TALK.replace("wait_for_subscriptions(1,", "wait_for_subscriptions(3,"), "100", "volatile", "1000")
    for listener in listeners:
        assert json.loads(lines_of(listener)) == expected(100)
    lines_of(talker)


def test_another_type_is_refused_in_words(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    listener = b.python(HEAR.replace("std_msgs import String", "std_msgs import Int32 as String"), "", "volatile")
    ready(listener)
    a.python(TALK, "1", "volatile", "10")
    assert a.says("has type std_msgs/String, the subscription std_msgs/Int32")
    # The subscription itself says it, too: it meets a publisher of the other type that stands for the far one.
    said = listener.stderr.readline()
    assert "std_msgs/Int32" in said and "std_msgs/String" in said, said


def test_a_second_link_takes_over_when_the_first_is_killed(hosts):
    a, b = hosts(2)
    first = a.link(b)
    b.link()
    assert a.says("is connected")
    a.link(b)
    assert a.says("waiting to take over")
    first.send_signal(signal.SIGKILL)
    first.wait(timeout=LIMIT_S)
    listener = ready(b.python(HEAR, "message 99", "volatile"))
    talker = a.python(TALK, "100", "volatile", "1000")
    assert json.loads(lines_of(listener)) == expected(100)
    lines_of(talker)


COUNT = """
import baton, sys
from baton.msg.std_msgs import String
node = baton.Node("listener")
subscription = node.subscribe("chatter", String, qos=baton.QoS(1000))
print("ready", flush=True)
last = 0
while (message := subscription.take(90)) is not None:
    number = baton.info(message).sequence
    assert message.data == f"message {number - 1}", (message.data, number)
    assert number > last, (number, last)
    last = number
    print(number, flush=True)
"""


@pytest.mark.parametrize("end", ["sending", "receiving"])
def test_messages_flow_again_when_a_killed_link_is_started_again(hosts, end):
    a, b = hosts(2)
    a.link(b)
    b.link(a)
    listener = ready(b.python(COUNT))
    talker = ready(a.python(FLOW))
    for _ in range(50):
        assert listener.stdout.readline(), listener.stderr.read()
    killed, other = (a, b) if end == "sending" else (b, a)
    killed.links[0].kill()
    killed.links[0].wait(timeout=LIMIT_S)
    time.sleep(0.5)
    before = other.log.read_text().count("is connected")
    killed.link(other)
    # More than the messages that were on the way at the kill.
    assert other.says("is connected", before + 1)
    for _ in range(100):
        assert (line := listener.stdout.readline()), listener.stderr.read()
    talker.stdin.write("enough\n")
    talker.stdin.flush()
    newest = int(talker.stdout.readline().split()[-1]) + 1
    seen = int(line)
    while seen < newest and (line := listener.stdout.readline()):
        seen = int(line)
    assert seen == newest


# Holds connections to a link with half a hello.
STRANGER = """
import socket, sys, time
held = [socket.create_connection((sys.argv[1], 22700), 60) for _ in range(100)]
for connection in held:
    try:
        connection.sendall(b"btnlink" + bytes((10,)))
    except OSError:
        pass
print("held", flush=True)
time.sleep(60)
"""


def test_a_signal_ends_a_link_although_strangers_hold_connections(hosts):
    a, b, c = hosts(3)
    link = a.link()
    b.link(a)
    assert a.says("is connected")
    ready(c.python(STRANGER, a.address))
    link.send_signal(signal.SIGTERM)
    assert link.wait(timeout=LIMIT_S) in (0, 1), a.log.read_text()


def test_the_command_lists_and_prints_a_topic_of_another_host(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    assert a.says("is connected")
    a.command("topic", "pub", "/chatter", "std_msgs/String", "{data: hello}", "-r", "10")
    echo = b.command("topic", "echo", "/chatter", "--once")
    assert "data: hello" in echo.ends()[0]
    # A command that lists waits for two seconds at most: on a busy machine it may not have met the link.
    until(lambda: "/chatter" in b.command("topic", "list").ends()[0])


def test_a_peer_that_was_never_reached_is_shown_with_the_reason_until_it_is(hosts):
    a, b = hosts(2)
    # It cannot call the other host, and is called by it later.
    ip("-n", a.namespace, "rule", "add", "to", b.address, "ipproto", "tcp", "dport", "22700", "unreachable")
    a.link(b)

    (peer,) = until(lambda: a.state()["peers"], a.log_text)
    assert peer["peer"] == b.address and peer["not_reached_s"] >= 0
    assert peer["why"].startswith(f"{b.address}: "), peer
    said = a.command("link", "status", "-i", "0").ends()[0]
    assert f"peer {b.address}: not reached for " in said and peer["why"] in said
    b.link(a)
    assert a.says("is connected")
    until(lambda: (now := a.state())["hosts"] and not now["peers"], a.log_text)
