# SPDX-License-Identifier: Apache-2.0
"""Kills roscpp nodes and the master, and looks at what the others get and at what is left.

kill_run.py --kills 1000 [--seed N] [--kind tzc|lotros]: the long version; of these kinds with types of Baton.
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

from ros1_network import Ros
from support.waiting import until

LARGE, SMALL = 200_000, 1_000


class Network:
    """A talker and a listener that stay, and their reckoning: what the one publishes the other has to get, once, in order."""

    registers_topics = False

    def __init__(self, ros):
        self.ros = ros
        self.listener = self.new_listener(queue_size=1000)
        self.talker = self.new_talker(queue_size=1000)
        self.talker.do("subscribers 1")
        self.published = 0

    def new_listener(self, chance=None, **settings):
        """For a victim a `chance` decides what it is."""
        return self.ros.listener(preload=chance is None or chance.random() < 0.9, **settings)

    def new_talker(self, chance=None, **settings):
        return self.ros.talker(preload=chance is None or chance.random() < 0.9, **settings)

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
        until(lambda: self.talker.maps("baton-ring") <= 1, "the talker keeps connections of dead subscribers")
        until(lambda: self.listener.maps("baton-connection") <= 1, "the listener keeps connections of dead publishers")
        assert not list(Path("/dev/shm").glob("baton*"))
        self.talker.do("subscribers 1")  # no killed one is counted in the place of the newcomer
        # A newcomer removes the names that killed processes left.
        newcomer = self.new_listener()
        self.talker.do("subscribers 2")
        self.publish(LARGE)
        assert int(newcomer.line().split()[0]) == self.published
        assert newcomer.end() == 0
        self.talker.do("subscribers 1")
        self.publish(SMALL)
        until(lambda: len(self.ros.sockets()) <= 2, f"names of dead processes are left: {self.ros.sockets()}")
        # The master has what stock nodes leave there: a killed node stays registered until it is cleaned up, and nothing else
        # of Baton's is ever registered.
        _, _, state = self.master().getSystemState("/test")
        for part in state:
            for topic, _ in part:
                assert self.registers_topics or "baton" not in topic, topic
                assert "_tcpros" not in topic, topic
        assert self.talker.end() == 0
        assert self.listener.end() == 0
        assert len(self.ros.sockets()) == 0, "an orderly end of all leaves nothing"


class TzcNetwork(Network):
    """The same of programs with types of Baton in mode tzc. Victims have this mode, the other one, or are stock."""

    registers_topics = True  # side topics
    mode, other = "tzc", "lotros"

    def new_listener(self, chance=None, **settings):
        if chance is not None and chance.random() < 0.2:
            return self.ros.listener(preload=chance.random() < 0.5, **settings)
        return self.ros.api_listener(BATON_ROS1_MODE=self.mode_of(chance), **settings)

    def new_talker(self, chance=None, **settings):
        if chance is not None and chance.random() < 0.2:
            return self.ros.talker(preload=chance.random() < 0.5, **settings)
        return self.ros.api_talker(BATON_ROS1_MODE=self.mode_of(chance), **settings)

    def mode_of(self, chance):
        return self.other if chance is not None and chance.random() < 0.3 else self.mode


class LotrosNetwork(TzcNetwork):
    """The same in mode lotros."""

    mode, other = "lotros", "tzc"


KINDS = {"preload": Network, "tzc": TzcNetwork, "lotros": LotrosNetwork}


def reap(ros, victim):
    victim.close()
    ros.programs.remove(victim)


def random_kills(ros, kills, seed, kind=Network):
    chance = random.Random(seed)
    network = kind(ros)
    for _ in range(kills):
        what = chance.choice(["listener", "listener", "talker", "both", "master"])
        victims = []
        if what in ("listener", "both"):
            victims.append(network.new_listener(chance, queue_size=10, keep=chance.choice([0, 5])))
        if what in ("talker", "both"):
            victims.append(network.new_talker(chance, queue_size=10, topic="others"))
            victims[-1].tell(f"publish {LARGE} 1000 1")
            victims.append(network.new_listener(queue_size=10, topic="others"))
        delay = chance.random() ** 2 * 0.4
        end = time.monotonic() + delay
        while time.monotonic() < end:
            network.publish(chance.choice([SMALL, LARGE]), chance.randrange(1, 6))
        if what == "master":
            ros.master.kill()
            network.publish(LARGE, 2)
            ros.master.start()
            until(lambda: answers(network), "the master does not come back")
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
    return type(network)(ros)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--kind", choices=KINDS, default="preload")
    words = parser.parse_args()
    print(f"seed {words.seed}", flush=True)
    done, part = 0, 0
    while done < words.kills:
        count = min(100, words.kills - done)
        with tempfile.TemporaryDirectory() as directory:
            ros = Ros(Path(directory))
            try:
                random_kills(ros, count, words.seed + part, KINDS[words.kind])
            finally:
                ros.close()
        done, part = done + count, part + 1
        print(f"{done} kills", flush=True)


if __name__ == "__main__":
    sys.exit(main())
