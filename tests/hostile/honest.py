# SPDX-License-Identifier: Apache-2.0
"""An honest Python process beside a hostile one, with the same commands and reports as honest_main.cpp.

honest.py run <name> <topic it publishes> <topics it subscribes>...
"""

from __future__ import annotations

import json
import os
import select
import sys
import threading
import time
import zlib
from collections import deque

import baton

PERIOD_S = 0.02
DEPTH = 200
FILLER = 900
KEPT = 2
MOST_PAGES = 16384  # pages of a hostile message that are read


def checksummed(body: str) -> str:
    return f"{zlib.crc32(body.encode()):08x}{body}"


def intact(value: str) -> bool:
    return len(value) > 8 and checksummed(value[8:]) == value


class Topic:
    def __init__(self, name: str) -> None:
        self.name = name
        self.held: deque = deque()
        self.lost_before = 0
        self.reset()

    def reset(self) -> None:
        self.received = self.torn = self.torn_held = self.errors = self.since = self.longest_wait = 0
        self.latencies: list[int] = []

    def let_go(self) -> None:
        self.torn_held += not intact(self.held.popleft().data)


class Honest:
    def __init__(self, name: str, topic: str, topics: list[str]) -> None:
        self.lock = threading.Lock()  # protects the next two, which a thread of Baton's writes
        self.diagnostics, self.texts = 0, []
        self.name = name
        self.node = baton.Node(name, on_diagnostic=self.on_diagnostic)
        self.publisher = self.node.advertise(topic, "std_msgs/String", DEPTH)
        self.topics = [Topic(each) for each in topics]
        for each in self.topics:
            each.subscription = self.node.subscribe(
                each.name, "std_msgs/String", lambda message, each=each: self.on_message(each, message), DEPTH
            )
        self.images = self.node.subscribe("/image", "sensor_msgs/Image", self.on_image, 10)
        self.deep = self.node.subscribe("/deep", "diagnostic_msgs/DiagnosticArray", self.on_deep, 10)
        self.polled = self.node.subscribe("/polled", "std_msgs/String", qos=10)
        self.polled_count = 0  # of the poller's thread
        threading.Thread(target=self.poll, daemon=True).start()
        self.timer = self.node.create_timer(PERIOD_S, self.tick)
        self.executor = baton.Executor(self.node)
        self.number = self.published = self.hostile = self.sum = 0
        self.refused: dict[str, int] = {}
        self.paused = False
        self.input = b""
        os.set_blocking(0, False)

    def on_diagnostic(self, diagnostic) -> None:
        with self.lock:
            self.diagnostics += 1
            if len(self.texts) < 8:
                self.texts.append(diagnostic.text)

    def on_message(self, topic: Topic, message) -> None:
        topic.latencies.append(time.monotonic_ns() - baton.info(message).source_monotonic_ns)
        topic.received += 1
        topic.torn += not intact(message.data)
        for other in self.topics:
            if other is not topic:
                other.since += 1
                other.longest_wait = max(other.longest_wait, other.since)
        topic.since = 0
        if not self.paused:
            topic.held.append(message)
            if len(topic.held) > KEPT:
                topic.let_go()

    def on_image(self, message) -> None:
        self.hostile += 1
        self.sum += int(message.data[: MOST_PAGES * 4096 : 4096].sum()) + len(message.encoding)

    def on_deep(self, message) -> None:
        self.hostile += 1
        for status in message.status:
            self.sum += len(status.name) + len(status.values)

    def poll(self) -> None:
        """Sleeps on the descriptor of "/polled"."""
        poller = select.poll()
        poller.register(self.polled.fileno(), select.POLLIN)
        while True:
            poller.poll()
            while self.polled.take(0) is not None:
                self.polled_count += 1

    def tick(self) -> None:
        if not self.paused:
            try:
                with self.publisher.loan() as message:
                    self.number += 1
                    message.data = checksummed(f"{self.number} {self.name}" + chr(ord("a") + self.number % 26) * FILLER)
                self.published += 1
            except baton.BatonError as error:
                self.refused[error.code] = self.refused.get(error.code, 0) + 1
        try:
            got = os.read(0, 256)
        except BlockingIOError:
            return
        if not got:
            self.executor.cancel()
        self.input += got
        while b"\n" in self.input:
            command, self.input = self.input.split(b"\n", 1)
            if command == b"report":
                self.report()
                continue
            if command == b"renew":
                self.publisher.trim()
                print("ok", flush=True)
                continue
            self.paused = command == b"pause"
            for topic in self.topics:
                while topic.held:
                    topic.let_go()
            print("ok", flush=True)

    def report(self) -> None:
        report = {
            "cpu_ns": time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID),
            "published": self.published,
            "matched": self.publisher.matched,
            "hostile": self.hostile + self.polled_count,
            "published_slots": self.publisher.memory.published_slots,
            "refused": self.refused,
            "topics": {},
        }
        for topic in self.topics:
            lost = topic.subscription.statuses.lost_total
            report["topics"][topic.name] = {
                "received": topic.received,
                "matched": topic.subscription.matched,
                "lost": lost - topic.lost_before,
                "copied": topic.subscription.statuses.copied_total,
                "torn": topic.torn,
                "torn_held": topic.torn_held,
                "errors": topic.errors,
                "longest_wait": topic.longest_wait,
                "latencies_ns": topic.latencies,
            }
            topic.reset()
            topic.lost_before = lost
        with self.lock:
            report.update(diagnostics=self.diagnostics, texts=self.texts)
            self.diagnostics, self.texts = 0, []
        self.published = self.hostile = 0
        self.refused = {}
        print(json.dumps(report), flush=True)


def main() -> None:
    _, _, name, topic, *topics = sys.argv
    honest = Honest(name, topic, topics)
    print("ready", flush=True)
    honest.executor.spin()


if __name__ == "__main__":
    main()
