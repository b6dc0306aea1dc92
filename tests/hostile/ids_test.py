# SPDX-License-Identifier: Apache-2.0
"""The ids of endpoints: an honest process can make its next endpoints, even if another process has announced their ids before."""

import os
import signal
import struct
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from raw_peer import Link
from support.processes import Process, environment

# Commands: "publish TOPIC", "subscribe TOPIC", "matched TOPIC N": N publishers. Each is answered with a line.
HONEST = """
import baton, sys, time
sys.stdin.reconfigure(line_buffering=True)
node = baton.Node(sys.argv[1], on_diagnostic=lambda each: print(each.text, file=sys.stderr, flush=True))
made = {}
print("ready", flush=True)
for line in sys.stdin:
    verb, topic, *count = line.split()
    if verb == "publish":
        made.setdefault(topic, []).append(node.advertise(topic, "std_msgs/String"))
    elif verb == "subscribe":
        made[topic] = [node.subscribe(topic, "std_msgs/String", lambda message: None)]
    else:
        while made[topic][0].matched != int(count[0]):
            time.sleep(0.01)
    print(line.strip(), flush=True)
"""


class Honest:
    def __init__(self, directory: Path, name: str) -> None:
        before = set(sockets(directory))
        self.process = Process([sys.executable, "-c", HONEST, name], env=environment(directory)).says("ready")
        (self.socket,) = set(sockets(directory)) - before

    def does(self, command: str) -> None:
        self.process.tell(command)
        self.process.says(command)


def sockets(directory: Path) -> list[Path]:
    return list(directory.glob("*/p-*"))


def link_to(honest: Honest, identity: bytes = b"") -> Link:
    return Link(str(honest.socket.parent), honest.socket.name, identity)


@contextmanager
def ending(*processes: Honest):
    try:
        yield
    finally:
        for each in processes:
            each.process.end()


@pytest.fixture
def pair(tmp_path):
    """A victim that subscribes to /a and /b, and an honest process that publishes /a."""
    victim = Honest(tmp_path, "victim")
    with ending(victim):
        victim.does("subscribe /a")
        victim.does("subscribe /b")
        honest = Honest(tmp_path, "honest")
        with ending(honest):
            honest.does("publish /a")
            victim.does("matched /a 1")
            yield victim, honest


def next_ids(endpoint) -> list[bytes]:
    (number,) = struct.unpack_from("<I", endpoint.gid, 12)
    return [endpoint.gid[:12] + struct.pack("<I", number + i) for i in range(1, 40)]


def claim(attacker: Link, like, gids: list[bytes]) -> None:
    for number, gid in enumerate(gids):
        attacker.announce(f"/claimed{number}", number % 2 == 0, like, gid=gid)
    attacker.drain(0.5)


def test_the_next_ids_of_a_process_are_its_own_for_every_other(pair):
    victim, honest = pair
    spy = link_to(honest)
    publisher = spy.endpoint("/a", True)
    spy.close()
    attacker = link_to(victim)
    claim(attacker, publisher, next_ids(publisher))
    honest.does("publish /b")
    victim.does("matched /b 1")
    victim.does("matched /a 1")
    honest.does("publish /b")
    victim.does("matched /b 2")
    attacker.close()


def test_a_process_makes_endpoints_although_another_process_announced_their_ids(pair):
    victim, _ = pair
    attacker = link_to(victim)
    subscription = attacker.endpoint("/b", False)
    claim(attacker, subscription, next_ids(subscription))
    victim.does("publish /c")
    victim.does("subscribe /d")
    attacker.close()


@pytest.mark.parametrize("who", ["a stranger", "a twin"])
def test_a_newcomer_that_meets_the_attacker_first_meets_the_honest_process_too(tmp_path, who):
    """The attacker's process id begins as that of the honest process. The victim stays connected to the attacker until it leaves."""
    honest = Honest(tmp_path, "honest")
    with ending(honest):
        honest.does("publish /a")
        spy = link_to(honest)
        publisher = spy.endpoint("/a", True)
        spy.close()
        honest.process.send_signal(signal.SIGSTOP)  # it comes later
        victim = Honest(tmp_path, "victim")
        with ending(victim):
            attacker = link_to(victim, b"" if who == "a stranger" else publisher.gid[:12] + os.urandom(4))
            claim(attacker, publisher, [publisher.gid, *next_ids(publisher)])
            victim.does("subscribe /a")
            honest.process.send_signal(signal.SIGCONT)
            attacker.drain(0.5)
            if who == "a twin":
                attacker.close()
            victim.does("matched /a 1")
            honest.does("publish /a")
            victim.does("matched /a 2")
            attacker.close()
