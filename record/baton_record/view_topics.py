# SPDX-License-Identifier: Apache-2.0
"""Parts of every viewer: which topics are shown, how many of their messages are kept, and the loop that takes messages of several topics."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeVar

import baton
from baton_cli import live

MOST_CHANNELS = 10_000  # topics that are shown
MOST_KEPT = 64  # queue length of a topic whose messages must all be shown
LOOK_S = 0.05  # the time between two looks at the graph
EVERY = ("tf2_msgs/TFMessage", "rcl_interfaces/Log", "rosgraph_msgs/Log")  # types whose messages must all be shown

Key = tuple[str, str, bytes]  # name, type, and the type's hash


class Due(Protocol):
    """A topic that is shown."""

    subscription: Any
    depth: int  # the subscription's queue length
    rate: float | None  # messages a second at most
    due_s: float  # when the next message may be shown


_Due = TypeVar("_Due", bound=Due)


def absolute(pattern: str) -> str:
    return pattern if pattern.startswith(("/", "*")) else f"/{pattern}"


def published(node: Any, patterns: Sequence[str]) -> dict[Key, list[Any]]:
    """The publishers of each topic that is not hidden and matches a pattern; without patterns, of all topics that are not hidden."""
    found: dict[Key, list[Any]] = {}
    for each in live.others(node):
        wanted = not patterns or any(fnmatchcase(each.topic, pattern) for pattern in patterns)
        if each.is_publisher and "/_" not in each.topic and wanted:
            found.setdefault((each.topic, each.type_name, each.type_hash), []).append(each)
    return found


def kept(type_name: str, publishers: list[Any]) -> tuple[bool, bool, int]:
    """Whether the topic is latched, whether all of its messages must be shown, and the depth of a subscription."""
    latched = all(each.qos.durability == "transient_local" for each in publishers)
    every = latched or type_name in EVERY
    depth = min(MOST_KEPT, sum(each.qos.depth for each in publishers)) if latched else MOST_KEPT if every else 1
    return latched, every, depth


def reader_qos(depth: int, latched: bool) -> baton.QoS:
    return baton.QoS(depth, held=1, reliability="best_effort", durability="transient_local" if latched else "volatile")


def pass_on(topics: Iterable[_Due], one: Callable[[_Due], bool]) -> dict[int, float]:
    """Calls `one` for each topic that is due, until it returns False: there was no message. Returns for each subscription, by its descriptor, the
    time at which its topic is due again."""
    looks = {}
    now = time.monotonic()
    for topic in topics:
        if topic.subscription is None:
            continue
        if topic.due_s <= now:
            for _ in range(topic.depth):
                if not one(topic):
                    break
                topic.due_s = now + 1 / topic.rate if topic.rate else 0.0
        looks[topic.subscription.fileno()] = topic.due_s
    return looks


def wait(woken: int, looks: dict[int, float]) -> None:
    """Waits for a message of a topic that is due, for a byte of the pipe `woken` (opened with O_NONBLOCK), or for the next look at the graph."""
    now = time.monotonic()
    poll = select.poll()
    poll.register(woken, select.POLLIN)
    end = now + LOOK_S
    for descriptor, due_s in looks.items():
        if due_s <= now:
            poll.register(descriptor, select.POLLIN)
        else:
            end = min(end, due_s)
    for descriptor, _ in poll.poll(max(0.0, end - now) * 1000):
        if descriptor == woken:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
