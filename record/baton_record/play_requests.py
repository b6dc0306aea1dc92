# SPDX-License-Identifier: Apache-2.0
"""Sends the requests of a recorded service to the server that is there now.

Thread rules: those of a Player's publishers: one thread.
"""

from __future__ import annotations

from typing import Any

import baton
from baton import _messages

from .bag_errors import BagError, needed
from .bag_source import CDR, BagTopic, absolute
from .bag_types import class_of

_END = "/_service_event"
# The events that have the requests, by the end that published them: constants of service_msgs/msg/ServiceEventInfo.
SOURCES = {"service": 1, "client": 0}


def service_of(topic: BagTopic) -> str | None:
    """The name of the service whose events the topic has; None for other topics."""
    name = absolute(topic.name)
    return name.removesuffix(_END) if name.endswith(_END) and topic.type_name.endswith("_Event") else None


class ServiceRequests:
    """Takes the place of a publisher of the topic: sends the request of each event."""

    def __init__(self, node: baton.Node, topic: BagTopic, service: str, source: str) -> None:
        """`service`: the name to call. `source`: a key of SOURCES, because a bag may have the events of both ends. Raises BagError."""
        if topic.encoding != CDR or topic.definition is None:
            raise BagError(
                f"{topic.name}: requests are sent again from bags of ROS 2 with definitions of their types alone"
            )
        struct = class_of(topic)._struct
        name = struct.full_name.removesuffix("_Event")
        try:
            halves = {half: _messages._class_of(struct.nested[f"{name}_{half}"]) for half in ("Request", "Response")}
        except KeyError:
            raise BagError(f"{topic.name}: {topic.type_name} is not the type of a service's events") from None
        self._topic = topic.name
        self._kind = SOURCES[source]
        self._type = topic.type_name.replace("/", "/msg/")  # as rosbags has it
        typesys = needed("rosbags.typesys")
        self._store = typesys.get_typestore(typesys.Stores.EMPTY)
        try:
            self._store.register(typesys.get_types_from_msg(topic.definition, topic.type_name))
        except Exception as error:  # the library raises errors of many classes for a definition that it cannot read
            raise BagError(f"{topic.name}: the definition of {topic.type_name} cannot be read: {error}") from None
        self._client = node.client(service, type("Service", (), halves))
        self.service = service

    @property
    def matched(self) -> int:
        """Whether the service has a server."""
        return int(self._client.available())

    def wait_for_all_acked(self, timeout: float) -> bool:
        """Does nothing: a request was delivered, or send() raised QueueFull."""
        return True

    def send(self, data: Any) -> bool:
        """Sends the request of an event, and does not wait for the response. False: the event has no request, or the other end published it. Raises
        BagError if the event cannot be read or there is no server, and QueueFull."""
        try:
            event = self._store.deserialize_cdr(bytes(data), self._type)
            if event.info.event_type != self._kind or len(event.request) == 0:
                return False
            request = event.request[0]
        except Exception as error:  # the library raises errors of many classes for damaged bytes
            raise BagError(f"{self._topic}: an event cannot be read, so it is left out: {error!r}") from None
        if not self._client.available():
            raise BagError(f"{self.service}: nobody serves it, so its requests are left out")
        try:
            self._client._begin(request)
        except baton.BatonError:
            raise  # the player waits for room after QueueFull
        except Exception as error:  # a value that the field cannot have
            raise BagError(f"{self._topic}: a request cannot be sent, so it is left out: {error!r}") from None
        self._client._end()
        return True
