# SPDX-License-Identifier: Apache-2.0
"""Kills roscpp nodes and the master, and looks at what the others get and at what is left.

kill_run.py --kills 1000 [--seed N]: the long version.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
import xmlrpc.client
from pathlib import Path

from ros1_network import PATIENCE_S, Ros

LARGE, SMALL = 200_000, 1_000


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class Network:
    """A talker and a listener that stay, and their reckoning: what the one publishes the other has to get, once, in order."""

    def __init__(self, ros):
        self.ros = ros
        self.listener = ros.listener(queue_size=1000)
        self.talker = ros.talker(queue_size=1000)
        self.talker.do("subscribers 1")
        self.published = 0

    def publish(self, size, count=1):
        self.talker.do(f"publish {size} {count} 0")
        for _ in range(count):
            self.published += 1
            line = self.listener.line()
            words = line.split()
            assert int(words[0]) == self.published, line
            assert int(words[2]) == size, line
            assert words[3] == "good", line

    def master(self):
        return xmlrpc.client.ServerProxy(self.ros.environment["ROS_MASTER_URI"])

    def close(self):
        """What has to be true when all victims are dead."""
        self.publish(LARGE, 3)
        # The others have dropped the dead processes' connections; segments with unread messages were theirs alone.
        wait_until(lambda: self.talker.maps("baton-ring") <= 1, "the talker keeps connections of dead subscribers")
        wait_until(
            lambda: self.listener.maps("baton-connection") <= 1, "the listener keeps connections of dead publishers"
        )
        assert not list(Path("/dev/shm").glob("baton*"))
        # A newcomer removes the names that killed processes left.
        newcomer = self.ros.listener()
        self.talker.do("subscribers 2")
        self.publish(LARGE)
        assert int(newcomer.line().split()[0]) == self.published
        assert newcomer.end() == 0
        self.talker.do("subscribers 1")
        self.publish(SMALL)
        wait_until(lambda: len(self.ros.sockets()) <= 2, f"names of dead processes are left: {self.ros.sockets()}")
        # The master has what stock nodes leave there: a killed node stays registered until it is cleaned up, and nothing of
        # Baton's is ever registered.
        _, _, state = self.master().getSystemState("/test")
        for part in state:
            for topic, _ in part:
                assert "baton" not in topic, topic
                assert "_tcpros" not in topic, topic
        assert self.talker.end() == 0
        assert self.listener.end() == 0
        assert len(self.ros.sockets()) == 0, "an orderly end of all leaves nothing"


def reap(ros, victim):
    victim.close()
    ros.programs.remove(victim)


def random_kills(ros, kills, seed):
    chance = random.Random(seed)
    network = Network(ros)
    for _ in range(kills):
        what = chance.choice(["listener", "listener", "talker", "both", "master"])
        victims = []
        if what in ("listener", "both"):
            victims.append(ros.listener(queue_size=10, keep=chance.choice([0, 5]), preload=chance.random() < 0.9))
        if what in ("talker", "both"):
            victims.append(ros.talker(queue_size=10, preload=chance.random() < 0.9, topic="others"))
            victims[-1].tell(f"publish {LARGE} 1000 1")
            victims.append(ros.listener(queue_size=10, topic="others"))
        delay = chance.random() ** 2 * 0.4
        end = time.monotonic() + delay
        while time.monotonic() < end:
            network.publish(chance.choice([SMALL, LARGE]), chance.randrange(1, 6))
        if what == "master":
            ros.master.send_signal(signal.SIGKILL)
            ros.master.wait()
            network.publish(LARGE, 2)
            ros.master = ros.start_master()
            wait_until(lambda: answers(network), "the master does not come back")
        for victim in victims:
            victim.process.send_signal(signal.SIGKILL)
        network.publish(LARGE)
        for victim in victims:
            reap(ros, victim)
    if any_restart(network):
        network = again(ros, network)
    network.close()


def answers(network):
    try:
        return network.master().getPid("/test")[0] == 1
    except OSError:
        return False


def any_restart(network):
    """The two that stay are unknown to a master that was restarted, as stock nodes are: new ones take over."""
    _, _, state = network.master().getSystemState("/test")
    return not any(topic == "/images" for topic, _ in state[0])


def again(ros, network):
    assert network.talker.end() == 0
    assert network.listener.end() == 0
    return Network(ros)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    words = parser.parse_args()
    print(f"seed {words.seed}", flush=True)
    done, part = 0, 0
    while done < words.kills:
        count = min(100, words.kills - done)
        with tempfile.TemporaryDirectory() as directory:
            ros = Ros(Path(directory))
            try:
                random_kills(ros, count, words.seed + part)
            finally:
                ros.close()
        done, part = done + count, part + 1
        print(f"{done} kills", flush=True)


if __name__ == "__main__":
    sys.exit(main())
