# SPDX-License-Identifier: Apache-2.0
"""Shows a domain's topics in Rerun, or saves them for it, by rerun-sdk: a viewer on this machine, one at an address, or a file.

Thread rules: run() belongs to one thread; stop() may be called from any. Invariant: a message that was not logged yet gives its place to a newer one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import baton
import click
from baton_cli import live

from .bag_errors import BagError, check_number, needed
from .image_pixels import ImageError
from .rerun_convert import Logged, converter
from .view_errors import Complaints, ViewError
from .view_reduction import Reduction
from .view_topics import MOST_CHANNELS, Key, absolute, kept, pass_on, published, reader_qos, wait


@dataclass(eq=False)
class _Topic:
    name: str
    subscription: Any
    log: Callable[[Any], Logged]
    depth: int
    rate: float | None
    due_s: float = 0.0


class RerunView:
    """`save`: a file that does not exist. `connect`: rerun+http://HOST:PORT/proxy of a viewer. `spawn`: starts a viewer on this machine. `topics`,
    `max_rate`, `reduction` and `say` as in View. Subscribes to all topics that match, because a viewer does not request topics."""

    def __init__(
        self,
        node: Any,
        *,
        save: Path | None = None,
        connect: str | None = None,
        spawn: bool = False,
        topics: Iterable[str] = (),
        max_rate: float | None = 60,
        reduction: Reduction | None = None,
        say: Callable[[str], object] = lambda sentence: None,
    ) -> None:
        try:
            self._sdk = needed("rerun", "--rerun needs", "rerun")
        except BagError as error:
            raise ViewError(str(error)) from None
        check_number("max_rate", max_rate, ViewError)
        if save is not None and save.exists():
            raise ViewError(f"{save} exists already; nothing is overwritten")
        self._node, self._max_rate, self._reduction = node, max_rate, reduction or Reduction()
        self._patterns = [absolute(each) for each in topics]
        self._report = Complaints(say).report
        self._topics: dict[Key, _Topic | None] = {}  # None: Rerun cannot show the type
        self._version = -1
        self._stopped = False
        self._woken, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._recording = self._sdk.RecordingStream(f"baton domain {node.domain}")
        sinks = [self._sdk.FileSink(save)] if save is not None else []
        try:
            if connect is not None:
                sinks.append(self._sdk.GrpcSink(connect))
            if spawn:
                self._recording.spawn(connect=not sinks)
                sinks += [self._sdk.GrpcSink()] if sinks else []
            if sinks:
                self._recording.set_sinks(*sinks)
        except (RuntimeError, ValueError, OSError) as error:
            self._close_pipe()
            raise ViewError(f"{save or connect or 'rerun'}: {error}") from None

    def stop(self) -> None:
        """Ends run(); from any thread."""
        self._stopped = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._waker, b"x")

    def close(self) -> None:
        """Ends the subscriptions, and writes what was logged."""
        self._topics.clear()
        with contextlib.suppress(RuntimeError, ValueError, TimeoutError):  # the viewer has gone
            self._recording.flush(timeout_sec=5.0)
        self._recording.disconnect()
        self._close_pipe()

    def _close_pipe(self) -> None:
        os.close(self._woken)
        os.close(self._waker)

    def run(self) -> None:
        """Logs messages until stop()."""
        while not self._stopped:
            self._follow_graph()
            wait(self._woken, pass_on(filter(None, self._topics.values()), self._log_one))

    def _follow_graph(self) -> None:
        version = self._node._graph_version()
        if version == self._version:
            return
        self._version = version
        topics = published(self._node, self._patterns)
        for key in self._topics.keys() - topics.keys():
            del self._topics[key]
        for key in sorted(topics.keys() - self._topics.keys()):
            if len(self._topics) < MOST_CHANNELS:
                self._topics[key] = self._subscribed(key, topics[key])
            else:
                self._report(f"there are more than {MOST_CHANNELS} topics: name those that matter")

    def _subscribed(self, key: Key, publishers: list[Any]) -> _Topic | None:
        name, type_name, _ = key
        try:
            cls = live.message_class_as(publishers[0])
            if (log := converter(self._sdk, name, cls, self._reduction)) is None:
                raise ViewError(f"Rerun shows nothing of {type_name}")
            latched, every, depth = kept(type_name, publishers)
            subscription = self._node.subscribe(name, cls, qos=reader_qos(depth, latched))
            return _Topic(name, subscription, log, depth, None if every else self._max_rate)
        except click.ClickException as error:
            self._report(f"{name} is not shown: {error.message}")
        except (ViewError, ImageError, baton.BatonError) as error:
            self._report(f"{name} is not shown: {error}")
        return None

    def _log_one(self, topic: _Topic) -> bool:
        """False: there was no message."""
        try:
            message = topic.subscription.take()
            if message is None:
                return False
            self._recording.set_time("time", timestamp=baton.info(message).source_time_ns * 1e-9)
            for below, archetype in topic.log(message):
                self._recording.log(f"{topic.name}/{below}" if below else topic.name, archetype)
        except Exception as error:  # another process chose the values: libraries raise errors of many classes
            self._report(f"{topic.name}: a message is left out: {error}")
        return True
