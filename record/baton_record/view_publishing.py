# SPDX-License-Identifier: Apache-2.0
"""Publishes the messages that clients of a view send."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import baton
from baton import _core
from baton_cli import live

from .view_errors import ViewError
from .view_schemas import whole_cdr

MOST_PUBLISHING = 256  # channels of all clients together


class Publishing:
    """Publishers of what clients send. All methods may be called from any thread."""

    def __init__(self, node: Any, patterns: Iterable[str]) -> None:
        self._node, self._patterns = node, list(patterns)
        self._lock = threading.Lock()
        self._ends: dict[
            tuple[int, int], tuple[Any, bool]
        ] = {}  # by client and its channel: a publisher, and whether the client sends CDR

    def begin(self, key: tuple[int, int], topic: str, schema: str, encoding: str) -> None:
        topic = live.absolute(topic)
        if encoding not in ("cdr", "json"):
            raise ViewError(f"its encoding is {encoding}, not cdr or json")
        if "/_" in topic:
            raise ViewError("hidden topics are not for clients")
        if not any(fnmatchcase(topic, pattern) for pattern in self._patterns):
            raise ViewError(f"baton view was started without --publish {topic}")
        kind = live.short_type(schema)
        there = [each for each in self._node.endpoints() if each.topic == topic and each.type_name == kind]
        cls = live.message_class_as(there[0]) if there else live.message_class(kind)
        with self._lock:
            if len(self._ends) >= MOST_PUBLISHING:
                raise ViewError(f"clients have {MOST_PUBLISHING} channels already")
            publishers = (each for each, _ in self._ends.values())
            same = (each for each in publishers if each.topic == topic and each.message_type is cls)
            publisher = next(same, None) or self._node.advertise(topic, cls, baton.QoS(10))
            self._ends[key] = publisher, encoding == "cdr"

    def end(self, key: tuple[int, int]) -> None:
        with self._lock:
            self._ends.pop(key, None)

    def publish(self, key: tuple[int, int], data: bytes) -> None:
        with self._lock:
            publisher, is_cdr = self._ends.get(key, (None, False))
        if publisher is None:
            return  # its channel was refused, and that was said
        if is_cdr:
            _core._publish_serialized(publisher, whole_cdr(publisher.message_type._struct, data), True)
        else:
            publisher.publish(json.loads(data))
