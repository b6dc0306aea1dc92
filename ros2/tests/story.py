# SPDX-License-Identifier: Apache-2.0
"""From a seed to a story: the steps of processes whose readers and writers of one topic come, go, are killed, publish and take."""

import random

from oracle import Qos

KINDS = ("baton", "baton", "heap")  # rmw_baton_cpp, and that with libbaton_heap.so
PROCESSES = 4
ENDS = 7
LIFESPAN_S = 0.5


def writer_qos(chance):
    durable = chance.random() < 0.4
    return Qos(
        depth=chance.choice((1, 3, 10, 0)),
        reliable=durable or chance.random() < 0.7,
        durable=durable,
        lifespan_s=LIFESPAN_S if chance.random() < 0.15 else 0.0,
    )


def reader_qos(chance):
    return Qos(
        depth=chance.choice((1, 3, 10, 0)),
        reliable=chance.random() < 0.75,
        durable=chance.random() < 0.35,
        lifespan_s=LIFESPAN_S if chance.random() < 0.07 else 0.0,
    )


class Cast:
    """Who is there while a story is thought up."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.processes = []
        self.of = {}  # end: its process
        self.writers, self.readers, self.paused = set(), set(), set()
        self.published = {}
        self.named = 0
        self.ghosts = False  # the others do not know yet that somebody was killed

    def pick(self, names):
        return self.chance.choice(sorted(names))

    def name(self):
        self.named += 1
        return str(self.named)

    def start(self, kinds):
        process = f"p{self.name()}"
        self.processes.append(process)
        return {"step": "start", "process": process, "kind": self.chance.choice(kinds)}

    def open(self, kind):
        name, process = self.name(), self.pick(self.processes)
        self.of[name] = process
        (self.writers if kind == "writer" else self.readers).add(name)
        qos = (writer_qos if kind == "writer" else reader_qos)(self.chance)
        return {"step": f"open_{kind}", "process": process, "name": name, "qos": qos}

    def numbers(self, writer):
        first = self.published.get(writer, 0) + 1
        self.published[writer] = first + self.chance.choice((1, 2, 5, 12, 40)) - 1
        return list(range(first, self.published[writer] + 1))

    def publish(self):
        writer = self.pick(self.writers)
        # libbaton_heap.so lends arrays of 64 KiB and more.
        size = self.chance.choice((16, 16, 100_000))
        return {"step": "publish", "name": writer, "numbers": self.numbers(writer), "size": size}

    def pause(self):
        reader = self.pick(self.readers - self.paused)
        self.paused.add(reader)
        return {"step": "pause", "name": reader}

    def resume(self):
        reader = self.pick(self.paused)
        self.paused.discard(reader)
        return {"step": "resume", "name": reader}

    def close(self):
        name = self.pick(self.of)
        self.forget([name])
        return {"step": "close", "name": name}

    def leave(self, how):
        """A process quits or is killed; who is killed may be in the midst of publishing."""
        process = self.pick(self.processes)
        step = {"step": how, "process": process}
        writers = [name for name in self.writers if self.of[name] == process]
        if how == "kill" and writers and self.chance.random() < 0.5:
            writer = self.pick(writers)
            step |= {"name": writer, "numbers": self.numbers(writer), "size": 16}
        self.processes.remove(process)
        self.forget([name for name, its in self.of.items() if its == process])
        self.ghosts = self.ghosts or how == "kill"
        return step

    def forget(self, names):
        for name in names:
            del self.of[name]
        for ends in (self.writers, self.readers, self.paused):
            ends.difference_update(names)

    def bury(self):
        self.ghosts = False
        return {"step": "bury"}

    def age(self):
        return {"step": "age", "of_s": LIFESPAN_S}

    def possible(self, kinds):
        """What may come next, and how often."""
        choices = []
        if self.writers:
            choices += [(self.publish, 8)]
        if self.readers - self.paused:
            choices += [(self.pause, 2)]
        if self.paused:
            choices += [(self.resume, 3), (self.age, 0.3)]
        if self.ghosts:  # until they are gone nobody knows who is matched with them
            return [*choices, (self.bury, 3)]
        if self.processes and len(self.of) < ENDS:
            choices += [(lambda: self.open("writer"), 3), (lambda: self.open("reader"), 4)]
        if len(self.of) > 3:
            choices += [(self.close, 1.5)]
        if len(self.processes) < PROCESSES:
            choices += [(lambda: self.start(kinds), 3)]
        if len(self.processes) > 2:
            choices += [(lambda: self.leave("quit"), 0.5), (lambda: self.leave("kill"), 0.5)]
        return choices


def story(seed, length=40, kinds=KINDS):
    """Begins with two processes and an end of each kind; at last all readers take."""
    cast = Cast(seed)
    steps = [cast.start(kinds), cast.start(kinds), cast.open("writer"), cast.open("reader"), cast.open("reader")]
    while len(steps) < length:
        moves, weights = zip(*cast.possible(kinds), strict=True)
        steps.append(cast.chance.choices(moves, weights)[0]())
    while cast.paused:
        steps.append(cast.resume())
    return steps
