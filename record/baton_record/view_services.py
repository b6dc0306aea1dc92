# SPDX-License-Identifier: Apache-2.0
"""Services of a domain that clients of a view may call.

Thread rules: follow() is called by the view's thread; the SDK calls a service in a thread of its own for each request. A call has a client of its
own, so calls do not wait for each other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

import baton
import click
from baton import _core
from baton_cli import live
from baton_cli.verbs.service import services_of

from .view_schemas import ros2_schema, whole_cdr

MOST_SERVICES = 1000
MOST_CALLS = 32  # calls at the same time
MOST_REQUEST_BYTES = 1 << 24
_ANSWER_S = 10.0  # how long a server may take


class ServiceError(ValueError):
    """A call that has no response, with the reason. Viewers show the name of this class, too."""


class Services:
    """`patterns`: the services that clients may call; without patterns none."""

    def __init__(self, node: Any, sdk: Any, patterns: Iterable[str], report: Callable[[str], object]) -> None:
        self._node, self._sdk, self._patterns, self._report = node, sdk, list(patterns), report
        self._offered: dict[str, str] = {}  # the type of each offered service, by name
        self._version = -1
        self._calls = threading.BoundedSemaphore(MOST_CALLS)

    def follow(self, server: Any, most_news: int) -> None:
        """Offers the services that have servers, and no others."""
        if not self._patterns or (version := self._node._graph_version()) == self._version:
            return
        there: dict[str, str] = {}
        for name, service in sorted(services_of(self._node).items()):
            if "/_" in name or not any(fnmatchcase(name, pattern) for pattern in self._patterns):
                continue
            if len(types := service.served_as()) > 1:
                self._report(f"{name} is not offered: it is served as {' and '.join(types)}")
            elif types and len(there) == MOST_SERVICES:
                self._report(f"there are more than {MOST_SERVICES} services: name those that matter")
            elif types:
                there[name] = types[0]
        gone = [name for name, kind in self._offered.items() if there.get(name) != kind]
        fresh = [name for name in there if name not in self._offered]
        if gone:
            server.remove_services(gone[:most_news])
            for name in gone[:most_news]:
                del self._offered[name]
        for name in fresh[:most_news]:
            self._offer(server, name, there[name])
        if len(gone) <= most_news and len(fresh) <= most_news and not set(gone) & there.keys():
            self._version = version  # otherwise the next rounds add and remove the others

    def _offer(self, server: Any, name: str, kind: str) -> None:
        self._offered[name] = kind  # noted even if offering fails, so that it is tried once
        try:
            cls = live.service_class(kind)
        except click.ClickException as error:
            self._report(f"{name} is not offered: {error.message}")
            return
        service = kind.replace("/", "/srv/", 1)
        websocket = self._sdk.websocket
        request, response = (
            websocket.MessageSchema(
                encoding="cdr",
                schema=self._sdk.Schema(
                    name=f"{service}_{part}", encoding="ros2msg", data=ros2_schema(struct).encode()
                ),
            )
            for part, struct in (("Request", cls.Request._struct), ("Response", cls.Response._struct))
        )
        schema = websocket.ServiceSchema(service, request=request, response=response)
        handler = lambda request: self._call(name, cls, bytes(request.payload))  # noqa: E731  one for each service
        try:
            server.add_services([websocket.Service(name, schema=schema, handler=handler)])
        except RuntimeError as error:  # of the SDK
            self._report(f"{name} is not offered: {error}")

    def _call(self, name: str, cls: Any, request: bytes) -> bytes:
        """The response. The viewer shows the text of an exception."""
        if len(request) > MOST_REQUEST_BYTES:
            raise ServiceError(f"the request has {len(request)} bytes, more than {MOST_REQUEST_BYTES}")
        if not self._calls.acquire(blocking=False):
            raise ServiceError(f"{MOST_CALLS} calls wait for their responses already")
        try:
            client = self._node.client(name, cls)
            if not client.wait_for_service(_ANSWER_S):
                raise ServiceError(f"nobody serves {name} any more")
            loan = client.loan()
            _core._fill_from_serialized(loan, whole_cdr(cls.Request._struct, request), True)
            response = client.call(loan, _ANSWER_S)
            if response is None:
                raise ServiceError(f"{name} sent no response within {_ANSWER_S:g} s: does its node spin?")
            return _core._serialized(response, True)
        except baton.BatonError as error:
            raise ServiceError(f"{name}: {error}") from None
        finally:
            self._calls.release()
