# SPDX-License-Identifier: Apache-2.0
"""What the readers of a story must, may and must not see, by the rules of DDS alone: of who carries what this knows nothing.

The story is told to it in its order, one step after the other, and what was seen after the step in which it was seen. Where
DDS is free (best effort, what is not acknowledged, a killed writer's last messages, a lifespan that has not ended) the answer is "may".

Invariants: (1) a reader's `open` are the messages that it may still see, in the order of publishing; (2) of one writer only
larger numbers than the last that was seen are in it, so each comes once and in order."""

from dataclasses import dataclass, field

LATE_S = 3.0  # how much later than its lifespan ends a message may be taken: those who drop it are timers


class Fault(AssertionError):
    """Something was seen that must not be, or not seen that must be."""


@dataclass(frozen=True)
class Qos:
    depth: int  # 0: keep all
    reliable: bool = True
    durable: bool = False
    lifespan_s: float = 0.0  # 0: for ever


@dataclass
class Message:
    writer: str
    number: int
    sure: bool  # nothing but the reader's own depth takes it away
    while_paused: bool


@dataclass
class Writer:
    qos: Qos
    strict: bool
    alive: bool = True
    ended_s: dict = field(default_factory=dict)  # number: when publishing it was over
    sizes: dict = field(default_factory=dict)

    def history(self):
        numbers = sorted(self.ended_s)
        return numbers[-self.qos.depth :] if self.qos.depth else numbers


@dataclass
class Reader:
    qos: Qos
    strict: bool
    alive: bool = True
    paused: bool = False
    open: list = field(default_factory=list)
    last: dict = field(default_factory=dict)  # writer: the last number seen


def fits(writer: Qos, reader: Qos) -> bool:
    return (writer.reliable or not reader.reliable) and (writer.durable or not reader.durable)


def lifespan_s(writer: Qos, reader: Qos) -> float:
    return min([each.lifespan_s for each in (writer, reader) if each.lifespan_s], default=0.0)


class Oracle:
    """After open_writer() and open_reader() the story goes on when both ends of each pair know each other: matched()."""

    def __init__(self):
        self.writers: dict[str, Writer] = {}
        self.readers: dict[str, Reader] = {}

    def matched(self):
        """How many ends each living end must be matched with."""
        pairs = [(w, r) for w in self.writers for r in self.readers if self._pair(w, r)]
        names = [name for ends in (self.writers, self.readers) for name, end in ends.items() if end.alive]
        return {name: sum(name in pair for pair in pairs) for name in names}

    def _pair(self, writer, reader):
        w, r = self.writers[writer], self.readers[reader]
        return w.alive and r.alive and fits(w.qos, r.qos)

    def open_writer(self, name, qos, strict=True):
        """`strict`: nothing is taken after its lifespan if both ends are. Fast DDS now and then keeps what waits in a reader."""
        self.writers[name] = Writer(qos, strict)

    def open_reader(self, name, qos, strict=True):
        reader = self.readers[name] = Reader(qos, strict)
        if not qos.durable:
            return
        histories = {w: each.history() for w, each in self.writers.items() if self._pair(w, name)}
        full = sum(bool(each) for each in histories.values()) > 1 and self._overflows(qos, histories)
        for w, numbers in histories.items():  # of several histories that do not fit nobody knows which come first
            self._expect(reader, w, numbers, len(numbers), sure=not full)

    @staticmethod
    def _overflows(qos, histories):
        return qos.depth and sum(map(len, histories.values())) > qos.depth

    def publish(self, name, numbers, ended_s, size=0, sure=True):
        """`sure`: the call returned, and where a reader is paused, what was published is acknowledged."""
        writer = self.writers[name]
        for number in numbers:
            writer.ended_s[number] = ended_s
            writer.sizes[number] = size
        for r, reader in self.readers.items():
            if self._pair(name, r):  # a writer may let go what is not acknowledged: all but its depth
                self._expect(reader, name, numbers, writer.qos.depth or len(numbers), sure)

    def _expect(self, reader, name, numbers, kept, sure):
        writer = self.writers[name]
        sure = sure and writer.qos.reliable and reader.qos.reliable and not lifespan_s(writer.qos, reader.qos)
        for i, number in enumerate(numbers):
            held = sure and i >= len(numbers) - kept
            reader.open.append(Message(name, number, held, reader.paused))
        if not reader.paused:
            self._settle(reader)

    def published(self, name, numbers, ended_s):
        """When publishing was over, known only afterwards."""
        self.writers[name].ended_s.update(dict.fromkeys(numbers, ended_s))

    @staticmethod
    def _must(reader):
        """What the reader must see of what is open: the newest, as many as it has room for beside what it may see."""
        if not reader.qos.depth:
            return [each for each in reader.open if each.sure]
        anchored, floating, must = set(), 0, []
        for each in reversed(reader.open):
            floating += not each.sure and each.writer not in anchored  # may arrive at any time
            anchored |= {each.writer} if each.sure else set()
        room, anchored = reader.qos.depth - floating, set()
        for each in reversed(reader.open):
            if each.sure:
                anchored.add(each.writer)
                must += [each] if room > 0 else []
            room -= each.sure or each.writer in anchored
        return must[::-1]

    def _settle(self, reader):
        """What has no room now may be lost for ever."""
        must = self._must(reader)
        for each in reader.open:
            each.sure = each in must

    def pause(self, name):
        self.readers[name].paused = True

    def resume(self, name):
        """What gave way while the reader took nothing, it must not see any more."""
        reader = self.readers[name]
        reader.paused = False
        if not reader.qos.depth:
            return
        arrived = [each for each in reader.open if each.sure and each.while_paused]
        for each in arrived[: -reader.qos.depth]:
            reader.open.remove(each)
        self._settle(reader)

    def close(self, name):
        (self.writers if name in self.writers else self.readers)[name].alive = False

    def kill(self, name):
        self.close(name)
        for reader in self.readers.values():
            for each in reader.open:
                each.sure = each.sure and each.writer != name

    def missing(self, name):
        """What the reader must still see."""
        reader = self.readers[name]
        if reader.paused or not reader.alive:
            return []
        return [(each.writer, each.number) for each in reader.open if each.sure]

    def saw(self, name, writer, number, at_s=0.0, size=0):
        """`at_s`: before it was taken. Raises Fault."""
        reader = self.readers[name]

        def fault(why):
            qos = self.writers[writer].qos if writer in self.writers else None
            return Fault(f"reader {name} ({reader.qos}) saw {number} of writer {writer} ({qos}): {why}")

        if writer not in self.writers or number not in self.writers[writer].ended_s:
            raise fault("nobody published it")
        if size != self.writers[writer].sizes[number]:
            raise fault(f"its content is wrong ({size})")
        last = reader.last.get(writer, 0)
        if number == last:
            raise fault("twice")
        if number < last:
            raise fault(f"after {last}")
        if reader.paused:
            raise fault("while it took nothing")
        found = [each for each in reader.open if (each.writer, each.number) == (writer, number)]
        if not found:
            raise fault("it gave way, is older than the history, or was not for this reader")
        if lost := [
            each.number for each in reader.open if each.sure and each.writer == writer and each.number < number
        ]:
            raise fault(f"{lost} before it are lost")
        span_s = lifespan_s(self.writers[writer].qos, reader.qos)
        age_s = at_s - self.writers[writer].ended_s[number]
        if span_s and self.writers[writer].strict and reader.strict and age_s > span_s + LATE_S:
            raise fault(f"{age_s:.1f} s after it was published, with a lifespan of {span_s} s")
        reader.last[writer] = number
        reader.open = [each for each in reader.open if each.writer != writer or each.number > number]
