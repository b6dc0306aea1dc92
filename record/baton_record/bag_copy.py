# SPDX-License-Identifier: Apache-2.0
"""Copies bags into a new one: convert, cut, merge, recover."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from pathlib import Path

from .bag_errors import BagError, check_number
from .bag_held import last_of
from .bag_mcap import Damaged
from .bag_sink import COMPRESSIONS, NewBag, Unconvertible, format_of
from .bag_source import Bag, BagMessage, BagTopic, chosen

_SECOND_NS = 10**9


def copy(
    bags: Sequence[Bag],
    path: Path,
    *,
    topics: Sequence[str] = (),
    exclude: Sequence[str] = (),
    start: float | None = None,
    end: float | None = None,
    compression: str | None = None,
    storage: str = "mcap",
    on_damage: Callable[[Damaged], object] | None = None,
    on_message: Callable[[BagMessage], object] = lambda message: None,
    on_unconvertible: Callable[[BagTopic, Unconvertible], object] | None = None,
) -> int:
    """Writes the messages of all bags, in the order of their times, into a new bag. Returns their number. `start`, `end`: seconds since the first
    message of all bags; a message at `end` is left out. Each latched topic begins, at `start`, with the message that it held at that moment.
    `compression`: None means the compression of the first bag, if the form of the new bag has it. `on_unconvertible` gets each message that cannot be
    converted, and the message is left out; without it the first such message raises Unconvertible."""
    check_number("start", start, may_be_least=True)
    check_number("end", end, may_be_least=True)
    with_messages = [bag for bag in bags if bag.count]
    first_ns = min((bag.start_ns for bag in with_messages), default=0)
    start_ns = None if start is None else first_ns + round(start * _SECOND_NS)
    stop_ns = None if end is None else first_ns + round(end * _SECOND_NS)
    if start_ns is not None and stop_ns is not None and stop_ns <= start_ns:
        raise BagError(f"the end ({end:g} s) is not behind the start ({start or 0:g} s)")
    if compression is None:
        compression = bags[0].compression if bags[0].compression in COMPRESSIONS[format_of(path)] else "none"
    selected = {bag: chosen(bag.topics, topics, exclude) for bag in bags}
    if not any(selected.values()) and (topics or exclude):
        raise BagError("no topic is chosen: " + ", ".join(sorted({topic.name for bag in bags for topic in bag.topics})))
    written = 0

    def write(message: BagMessage) -> int:
        try:
            sink.write(message)
            return 1
        except Unconvertible as error:
            if on_unconvertible is None:
                raise
            on_unconvertible(message.topic, error)
            return 0

    with NewBag(path, compression, storage) as sink:
        for bag in bags:
            for topic in selected[bag]:
                sink.add(topic)
            for extra in bag.extras():
                sink.add_extra(extra)
        for bag in () if start_ns is None else bags:
            latched = [topic for topic in selected[bag] if topic.latched]
            before = bag.messages(latched, None, start_ns) if latched else ()
            for message in last_of(before, dict.fromkeys(latched, 1)):
                written += write(message._replace(time_ns=start_ns or 0))
        streams = (bag.messages(selected[bag], start_ns, stop_ns, on_damage) for bag in bags)
        for message in heapq.merge(*streams, key=lambda each: each.time_ns):
            written += write(message)
            on_message(message)
    return written
