# SPDX-License-Identifier: Apache-2.0
"""Subscribers of every kind join and leave topics on which publishers of every kind publish, so the ways of links change all the time.

ways_run.py --steps 1000 [--seed N]: the long version of ways_test.py.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from pathlib import Path

from ros1_network import Ros

KINDS = {
    "stock": lambda ros, end, **words: getattr(ros, end)(preload=False, **words),
    "preload": lambda ros, end, **words: getattr(ros, end)(preload=True, **words),
    "lotros": lambda ros, end, **words: getattr(ros, f"api_{end}")(BATON_ROS1_MODE="lotros", **words),
    "tzc": lambda ros, end, **words: getattr(ros, f"api_{end}")(BATON_ROS1_MODE="tzc", **words),
}
LARGE, SMALL = 100_000, 1_000
QUEUE = 1000


class Crowd:
    """One publisher of each kind on one topic, told apart by the sizes of their messages, and one subscriber of each kind that stays."""

    def __init__(self, ros, seed):
        self.ros, self.seed, self.chance = ros, seed, random.Random(seed)
        self.staying = {kind: self.listener(kind) for kind in KINDS}
        self.talkers = [KINDS[kind](ros, "talker", queue_size=QUEUE) for kind in KINDS]
        self.published = 0  # by each
        self.visitors = []  # kind and program
        self.meet()

    def listener(self, kind):
        return KINDS[kind](self.ros, "listener", queue_size=QUEUE)

    def meet(self):
        for talker in self.talkers:
            talker.do(f"subscribers {len(self.staying) + len(self.visitors)}")

    def publish(self, count):
        """Begins to; the answer is done()."""
        orders = []
        for number, talker in enumerate(self.talkers):
            size = self.chance.choice([SMALL, LARGE]) + number
            orders.append(f"publish {size} {count} {self.chance.choice([0, 1, 2])}")
            talker.tell(orders[-1])
        return orders

    def done(self, orders):
        for talker, order in zip(self.talkers, orders, strict=True):
            assert talker.line() == f"done {order}"

    def received(self, lines, of):
        """The numbers of each publisher's messages, in the order of their arrival."""
        numbers = [[] for _ in self.talkers]
        for line in lines:
            if line.startswith("stock "):
                continue
            number, _, size, state = line.split()
            assert state == "good", f"{of}: {line}; seed {self.seed}"
            numbers[int(size) % 100].append(int(number))
        return numbers

    def leave(self, index):
        kind, visitor = self.visitors.pop(index)
        kills = self.chance.random() < 0.3
        if kills:
            visitor.process.send_signal(signal.SIGKILL)
        else:
            assert visitor.end() == 0
        visitor.process.wait()
        for numbers in self.received(visitor.more(0.1), kind):
            whole = list(range(numbers[0], numbers[-1] + 1)) if numbers else []
            assert numbers == whole, f"a {kind} visitor; seed {self.seed}"
        visitor.close()
        self.ros.programs.remove(visitor)

    def step(self):
        count = self.chance.randrange(10, 60)
        orders = self.publish(count)
        for _ in range(self.chance.randrange(1, 3)):
            if len(self.visitors) < 3 and self.chance.random() < 0.6:
                kind = self.chance.choice(list(KINDS))
                self.visitors.append((kind, self.listener(kind)))
            elif self.visitors:
                self.leave(self.chance.randrange(len(self.visitors)))
        self.done(orders)
        if self.chance.random() < 0.5:
            self.meet()
        self.check(count)

    def check(self, count):
        """Those that stay have got the last `count` messages of each publisher once and in order."""
        self.published += count
        for kind, listener in self.staying.items():
            lines = [listener.line() for _ in range(count * len(self.talkers))] + listener.more(0.02)
            whole = list(range(self.published - count + 1, self.published + 1))
            for publisher, numbers in zip(KINDS, self.received(lines, kind), strict=True):
                assert numbers == whole, f"{publisher} to {kind}; seed {self.seed}"

    def close(self):
        while self.visitors:
            self.leave(0)
        self.meet()
        for program in (*self.talkers, *self.staying.values()):
            assert program.end() == 0


def random_steps(ros, steps, seed):
    crowd = Crowd(ros, seed)
    for _ in range(steps):
        crowd.step()
    crowd.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    words = parser.parse_args()
    print(f"seed {words.seed}", flush=True)
    done, part = 0, 0
    while done < words.steps:
        steps = min(50, words.steps - done)
        with tempfile.TemporaryDirectory() as directory:
            ros = Ros(Path(directory))
            try:
                random_steps(ros, steps, words.seed + part)
            finally:
                ros.close()
        done, part = done + steps, part + 1
        print(f"{done} steps", flush=True)


if __name__ == "__main__":
    sys.exit(main())
