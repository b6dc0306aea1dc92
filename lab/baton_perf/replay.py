# SPDX-License-Identifier: Apache-2.0
"""The cost of replay, for `baton perf record`: its rate beside a plain pread(2) of the same bytes, and its error in the messages' spacing.

Thread rules: one thread.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from .record_ends import (
    GIVE_UP_S,
    LOADS,
    SLOTS,
    Failed,
    Load,
    Publishers,
    Recording,
    Subscriber,
    load_baton,
    own_domain,
)
from .verdicts import print_verdict

# At least 0.8 of the plain read's rate; the 99th percentile of the spacing's errors.
TIME_BAR, SPACING_BAR_US = 1 / 0.8, 200.0
PACED = Load(1, 1000, 100)
_SWITCH_S = 0.0001  # as `baton play` sets it


@contextlib.contextmanager
def recorded(folder: Path, load: Load, messages: int) -> Iterator[Path]:
    """A bag of a topic's messages. It is removed at the end."""
    with own_domain(), tempfile.TemporaryDirectory(dir=folder) as directory:
        publishers = Publishers(load)
        with Recording(Path(directory) / "bag") as recording:
            publishers.wait()
            publishers.publish_at_rate(messages)
            recording.until_written(messages)
            recording.end()
        del publishers
        yield Path(directory) / "bag"


def player(bag: Path, rate: float = 1.0) -> Any:
    baton = load_baton()
    return baton.Player(bag, baton.Node("player"), rate=rate)


def plain(bag: Path, load: Load, messages: int) -> float:
    """Seconds of pread(2) of the same bytes into buffers in rotation."""
    buffers = [mmap.mmap(-1, load.bytes) for _ in range(SLOTS)]
    for buffer in buffers:  # no page is new while it is measured
        buffer.write(bytes(load.bytes))
    file = os.open(next(bag.glob("*.mcap")), os.O_RDONLY)
    try:
        began = time.monotonic()
        for number in range(messages):
            if os.preadv(file, [buffers[number % SLOTS]], number * load.bytes) != load.bytes:
                raise Failed(f"{bag} has less than {messages} messages")
        return time.monotonic() - began
    finally:
        os.close(file)


def fastest(bag: Path, messages: int) -> tuple[float, float]:
    """(seconds, CPU seconds) of a replay that never waits. The one before it has touched the publisher's memory."""
    with player(bag, rate=1e9) as playing:
        playing.play()
        before, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
        if playing.play() != messages:
            raise Failed(f"{bag} has other than {messages} messages")
        seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def spacing_us(bag: Path) -> float:
    """The 99th percentile of the errors of all messages' moments, counted from the first."""
    with player(bag) as playing:
        watched = Subscriber("watched")
        try:
            if not playing.wait_for_subscriptions(timeout=GIVE_UP_S):
                raise Failed("the subscription did not come")
            switch = sys.getswitchinterval()
            sys.setswitchinterval(_SWITCH_S)
            playing.play()
            sys.setswitchinterval(switch)
            playing.wait_until_taken(GIVE_UP_S)
            moments = [published for published, _ in watched.end()]
        finally:
            watched.process.kill()
        recorded_at = [message.time_ns for message in playing.bag.messages()]
    if len(moments) != len(recorded_at):
        raise Failed(f"{len(moments)} of {len(recorded_at)} messages arrived")
    errors = sorted(
        abs((moment - moments[0]) - (at - recorded_at[0])) for moment, at in zip(moments, recorded_at, strict=True)
    )
    return errors[len(errors) * 99 // 100] / 1000


def judge(folder: Path, rounds: int, total_bytes: int, seconds: float) -> bool:
    """Measures and prints the verdicts of one file system."""
    camera = replace(LOADS[0], hz=1e9)
    messages = max(2, total_bytes // camera.bytes)
    ratios, cpus = [], []
    with recorded(folder, camera, messages) as bag:
        for _ in range(rounds):
            plain_s = plain(bag, camera, messages)
            replay_s, cpu_s = fastest(bag, messages)
            ratios.append(replay_s / plain_s)
            cpus.append(cpu_s)
    per_gb = sorted(cpus)[len(cpus) // 2] / (messages * camera.bytes / 1e9)
    passed = [
        print_verdict(
            f"replay 6.2 MB images, {folder}: time beside a plain read",
            ratios,
            "x",
            TIME_BAR,
            f"CPU {per_gb:.2f} s for a GB",
        )
    ]
    with recorded(folder, PACED, max(2, round(seconds * PACED.hz))) as bag:
        errors = [spacing_us(bag) for _ in range(rounds)]
    passed.append(
        print_verdict(
            f"replay {PACED.name}, {folder}: 99th percentile of the spacing's errors",
            errors,
            " us",
            SPACING_BAR_US,
            "of the moments of publication, from the first message on",
        )
    )
    return all(passed)
