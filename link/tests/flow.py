# SPDX-License-Identifier: Apache-2.0
"""Flows of numbered messages between hosts: a talker on one host, listeners on others, and the arrivals (flow_process.py)."""

from __future__ import annotations

import json
import queue
import statistics
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from link_hosts import Host
from support.waiting import LIMIT_S

PROGRAM = Path(__file__).with_name("flow_process.py")


class _End:
    def __init__(self, host: Host, role: str, options: dict) -> None:
        self.host = host
        self.process = host.program(sys.executable, PROGRAM, role, json.dumps(options))
        self._lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self.process.stdout:
                self._lines.put(line.strip())
        except ValueError:
            pass  # closed at the end of the test
        self._lines.put("")

    def says(self, words: str, timeout: float = LIMIT_S) -> str:
        """The first line from now on that begins with these words."""
        end = time.monotonic() + timeout
        while True:
            try:
                line = self._lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"'{words}' did not come within {timeout:.0f} s; {self._state()}") from None
            if not line:
                self.process.wait(timeout=LIMIT_S)
                raise AssertionError(f"it ended before '{words}': {self.process.stderr.read()[-2000:]}")
            self.seen.append(line)
            if line.startswith(words):
                return line

    def _state(self) -> str:
        last = [line for line in self.seen if line[0] != "{"][-1:]
        return f"last it said {last}; the link of {self.host.name} says: {self.host.log_text()[-1500:]}"


def _qos(depth: int, history: str, durability: str) -> dict:
    return {"depth": depth, "history": history, "durability": durability}


@dataclass(frozen=True)
class Sent:
    last: int  # number
    refusals: int  # of publish(), which is tried again
    longest_s: float  # that a message took until it was accepted
    memory: int  # bytes that back the publisher
    sent_at: list[tuple[int, int]]  # of each message: its source time lies between these, CLOCK_REALTIME in ns


class Talker(_End):
    """`count`: 0 publishes until end(). `start`: the number before the first message's."""

    def __init__(
        self,
        host: Host,
        topic: str = "flow",
        *,
        bytes: int = 1000,
        start: int = 0,
        count: int = 0,
        rate: float = 100,
        depth: int = 1000,
        history: str = "keep_last",
        durability: str = "volatile",
    ) -> None:
        qos = _qos(depth, history, durability)
        warm = durability == "volatile"
        super().__init__(
            host,
            "talk",
            {"topic": topic, "bytes": bytes, "start": start, "count": count, "rate": rate, "warm": warm, "qos": qos},
        )
        self.says("advertised")

    def go(self) -> None:
        self.process.tell("go")

    def end(self) -> Sent:
        self.process.tell("end")
        return self.sent()

    def sent(self) -> Sent:
        return Sent(**json.loads(self.says("{")))


@dataclass(frozen=True)
class Got:
    got: list[tuple[int, float, int]]  # number, arrival, source time
    damaged: int
    lost: int  # lost_total of the subscription, the warm-up included

    @property
    def numbers(self) -> list[int]:
        return [number for number, _, _ in self.got]

    def first_after(self, moment: float) -> float:
        """Seconds from a moment until the next arrival."""
        return min((at - moment for _, at, _ in self.got if at > moment), default=float("nan"))

    def longest_gap_s(self) -> float:
        at = [arrival for _, arrival, _ in self.got]
        return max((later - sooner for sooner, later in zip(at, at[1:], strict=False)), default=0.0)

    def latencies_ms(self) -> list[float]:
        """By CLOCK_REALTIME. Arrivals have the times of another clock, so both clocks are read now and compared."""
        offset = time.time() - time.monotonic()
        return [(at + offset - source / 1e9) * 1e3 for _, at, source in self.got]

    def latency(self) -> str:
        values = sorted(self.latencies_ms())
        if not values:
            return "nothing arrived"
        return f"{statistics.median(values):.1f} ms median, {values[-1]:.1f} ms longest"

    def is_whole(self) -> None:
        """Checks that no message is damaged, comes twice or comes out of order."""
        assert self.damaged == 0, f"{self.damaged} of {len(self.got)} messages are damaged"
        disorder = [(a, b) for a, b in zip(self.numbers, self.numbers[1:], strict=False) if b <= a]
        assert disorder == [], f"out of order or twice: {disorder[:5]}"

    def missing(self, last: int) -> list[int]:
        return sorted(set(range(1, last + 1)) - set(self.numbers))

    def is_all(self, last: int) -> None:
        """Checks that every number came once, in order and undamaged."""
        self.is_whole()
        missing = self.missing(last)
        assert missing == [], f"{len(missing)} of {last} are missing, from {missing[0]} to {missing[-1]}"

    def is_all_with_repeats(self, last: int) -> None:
        """Checks that every number came, in order and undamaged. Some may come again later: a new receiving link brings the publishers' history."""
        first: list[int] = []
        for number in self.numbers:
            if number not in first:
                first.append(number)
        assert self.damaged == 0, f"{self.damaged} of {len(self.got)} messages are damaged"
        assert first == list(range(1, last + 1)), f"{self.missing(last)} are missing; the first arrivals: {first}"


class Listener(_End):
    def __init__(
        self,
        host: Host,
        topic: str = "flow",
        *,
        bytes: int = 1000,
        depth: int = 1000,
        history: str = "keep_last",
        durability: str = "volatile",
    ) -> None:
        super().__init__(host, "listen", {"topic": topic, "bytes": bytes, "qos": _qos(depth, history, durability)})
        self.says("ready")

    def heard(self) -> Listener:
        self.says("heard")
        return self

    def reaches(self, number: int) -> None:
        """Waits until this number, or a larger one, has arrived."""
        while int(self.says("number").split()[1]) < number:
            pass

    def next_number(self) -> int:
        """Waits for the next message that arrives."""
        while self._lines.qsize() > 1:  # the last line may say that the process has ended
            self.seen.append(self._lines.get())
        return int(self.says("number").split()[1])

    def until(self, last: int) -> Got:
        """The arrivals, once the last number has arrived, or after half a minute without arrivals."""
        self.process.tell(f"until {last}")
        return Got(**json.loads(self.says("{", timeout=4 * LIMIT_S)))
