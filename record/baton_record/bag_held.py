# SPDX-License-Identifier: Apache-2.0
"""What latched topics hold at a moment of a bag.

Thread rules: belongs to one thread.
"""

from __future__ import annotations

import mmap
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from .bag_errors import BagError
from .bag_source import BagMessage, BagTopic

MOST_HELD_BYTES = 1 << 30  # of all topics; messages that lie in a mapped file do not count


def _is_mapped(data: Any) -> bool:
    return isinstance(data, memoryview) and isinstance(data.obj, mmap.mmap)


def last_of(messages: Iterable[BagMessage], depths: Mapping[BagTopic, int]) -> list[BagMessage]:
    """The last messages of each topic, as many as its depth, in the order of their times. They are copied out of decompressed chunks, which would
    be in memory as long as one of their messages. Raises BagError at MOST_HELD_BYTES."""
    found: dict[BagTopic, deque[BagMessage]] = {topic: deque() for topic in depths}
    size = 0
    for message in messages:
        kept = found[message.topic]
        kept.append(message if _is_mapped(message.data) else message._replace(data=bytes(message.data)))
        gone = kept.popleft() if len(kept) > depths[message.topic] else None
        for each, sign in ((kept[-1], 1), (gone, -1)):
            size += 0 if each is None or _is_mapped(each.data) else sign * len(each.data)
        if size > MOST_HELD_BYTES:
            raise BagError(
                f"what latched topics hold there has more than {MOST_HELD_BYTES} bytes: leave out {message.topic.name}, or start at 0"
            )
    return sorted((message for kept in found.values() for message in kept), key=lambda message: message.time_ns)
