# SPDX-License-Identifier: Apache-2.0
"""The listener of foxglove-sdk: it gets the requests of a view's clients."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import click

from .view_parameters import Parameters
from .view_publishing import Publishing


class Clients:
    """Handles the requests of clients: the SDK calls on_...(). The SDK would swallow exceptions of these functions, so each is given to report()."""

    def __init__(
        self,
        wake: Callable[[], object],
        publishing: Publishing,
        parameters: Parameters,
        report: Callable[[str], object],
    ) -> None:
        self._lock = threading.Lock()
        self._watchers: dict[int, set[int]] = {}
        self._fresh: set[int] = set()
        self._wake, self._publishing, self._parameters, self._report = wake, publishing, parameters, report

    def watched(self, channel: int) -> bool:
        with self._lock:
            return channel in self._watchers

    def take_fresh(self) -> set[int]:
        """The channels that a client has begun to watch since the last call."""
        with self._lock:
            fresh, self._fresh = self._fresh, set()
            return fresh

    def on_subscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            self._watchers.setdefault(channel.id, set()).add(client.id)
            self._fresh.add(channel.id)
        self._wake()

    def on_unsubscribe(self, client: Any, channel: Any) -> None:
        with self._lock:
            watchers = self._watchers.get(channel.id, set())
            watchers.discard(client.id)
            if not watchers:
                self._watchers.pop(channel.id, None)
                self._fresh.discard(channel.id)
        self._wake()

    def on_client_advertise(self, client: Any, channel: Any) -> None:
        with self._reported(f"{channel.topic} is not published"):
            self._publishing.begin((client.id, channel.id), channel.topic, channel.schema_name, channel.encoding)

    def on_client_unadvertise(self, client: Any, channel: int) -> None:
        self._publishing.end((client.id, channel))

    def on_message_data(self, client: Any, channel: int, data: bytes) -> None:
        with self._reported("a message of a client is not published"):
            self._publishing.publish((client.id, channel), data)

    def on_get_parameters(self, client: Any, names: list[str], request: str | None = None) -> list[Any]:
        with self._reported("parameters are not shown"):
            return self._parameters.get(names)
        return []

    def on_set_parameters(self, client: Any, parameters: list[Any], request: str | None = None) -> list[Any]:
        """Does not wait for the nodes, because this thread serves other clients, too: Parameters publishes the new values when the nodes have
        answered."""
        with self._reported("parameters are not set"):
            self._parameters.set([(each.name, each.get_value()) for each in parameters])
        return []

    def on_parameters_subscribe(self, names: list[str]) -> None:
        pass  # the SDK knows which client wants which values

    def on_parameters_unsubscribe(self, names: list[str]) -> None:
        pass

    @contextlib.contextmanager
    def _reported(self, what: str) -> Iterator[None]:
        try:
            yield
        except click.ClickException as error:
            self._report(f"{what}: {error.message}")
        except Exception as error:  # the values that a client sends may raise anything
            self._report(f"{what}: {error}")
