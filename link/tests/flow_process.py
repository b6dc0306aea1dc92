# SPDX-License-Identifier: Apache-2.0
"""One end of a flow of numbered messages (flow.py): `flow_process.py talk|listen OPTIONS`, options as JSON. It reads commands from its
input, one a line, and prints what it has to report, one a line. Times are CLOCK_MONOTONIC, which the hosts of a test share.

talk: "go" ends the warm-up, whose messages have the number 0; "end" ends the flow; "close" ends the process.
listen: "until N" names the last number that is awaited, and asks for the report.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time

import baton
import numpy as np
from baton.msg.sensor_msgs import Image

WARM_UP_S = 0.05
REFUSED_S = 0.002
HELD_UP_S = 0.3  # a message that is refused for so long is reported
SILENCE_S = 30.0
REST_S = 0.3

commands: queue.Queue[str] = queue.Queue()


def read_commands() -> None:
    for line in sys.stdin:
        commands.put(line.strip())
    commands.put("close")


def say(*words: object) -> None:
    print(*words, flush=True)


def command(timeout: float | None = 0.0) -> str | None:
    try:
        return commands.get(timeout=timeout) if timeout != 0.0 else commands.get_nowait()
    except queue.Empty:
        return None


def pattern_of(size: int) -> np.ndarray:
    """Contents that differ between neighbouring pages; each message has them XOR its number."""
    block = np.arange(size, dtype=np.uint32)
    return (block ^ (block >> 8)).astype(np.uint8)


def talk(topic: str, bytes: int, start: int, count: int, rate: float, warm: bool, qos: dict) -> None:
    publisher = baton.Node("talker").advertise(topic, Image, baton.QoS(**qos))
    pattern = pattern_of(bytes)
    refusals, longest, sent_at = 0, 0.0, []

    def publish(number: int) -> None:
        nonlocal refusals, longest
        began, reported = time.monotonic(), False
        message = publisher.loan()
        message.height = number
        message.data.resize(bytes)
        message.data[:] = pattern ^ (number & 255)
        while True:
            before = time.time_ns()
            try:
                publisher.publish(message)
                break
            except baton.QueueFull:
                refusals += 1
                if number and not reported and time.monotonic() - began > HELD_UP_S:
                    reported = True
                    say("refused")
                time.sleep(REFUSED_S)
        sent_at.append((before, time.time_ns()))
        longest = max(longest, time.monotonic() - began)

    say("advertised")
    while (word := command(WARM_UP_S)) is None:
        if warm and publisher.matched:
            publish(0)
    assert word == "go", word
    sent_at.clear()
    refusals, longest = 0, 0.0
    number, next_at = start, time.monotonic()
    while (count == 0 or number < start + count) and command() is None:
        number += 1
        publish(number)
        next_at = max(next_at + 1 / rate, time.monotonic() - 0.1)
        time.sleep(max(0.0, next_at - time.monotonic()))
    memory = publisher.memory.backed_bytes
    say(json.dumps({"last": number, "refusals": refusals, "longest_s": longest, "memory": memory, "sent_at": sent_at}))
    while command(None) != "close":
        pass


def listen(topic: str, bytes: int, qos: dict) -> None:
    subscription = baton.Node("listener").subscribe(topic, Image, qos=baton.QoS(**qos))
    pattern = pattern_of(bytes)
    say("ready")
    got: list[tuple[int, float, int]] = []
    damaged, heard, until, newest = 0, False, None, 0
    silent_since = time.monotonic()
    while until is None or newest < until:
        word = command()
        if word == "close":
            break
        if word is not None:
            until, silent_since = int(word.removeprefix("until ")), time.monotonic()
            continue
        message = subscription.take(0.05)
        if message is None:
            if until is not None and time.monotonic() - silent_since > SILENCE_S:
                break
            continue
        silent_since = time.monotonic()
        number = int(message.height)
        if not heard:
            heard = True
            say("heard")
        if number == 0:
            continue
        newest = max(newest, number)
        got.append((number, silent_since, baton.info(message).source_time_ns))
        if len(message.data) != bytes or not np.array_equal(message.data, pattern ^ (number & 255)):
            damaged += 1
        del message
        say("number", number)
    end = time.monotonic() + REST_S
    while time.monotonic() < end:  # what comes twice comes late
        if (message := subscription.take(0.05)) is not None and message.height:
            got.append((int(message.height), time.monotonic(), baton.info(message).source_time_ns))
    say(json.dumps({"got": got, "damaged": damaged, "lost": subscription.statuses.lost_total}))
    while word != "close":
        word = command(None)


threading.Thread(target=read_commands, daemon=True).start()
{"talk": talk, "listen": listen}[sys.argv[1]](**json.loads(sys.argv[2]))
