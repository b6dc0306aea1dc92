# SPDX-License-Identifier: Apache-2.0
"""A view, and a client of it that speaks the viewers' protocol over a socket."""

from __future__ import annotations

import json
import struct
import threading
from contextlib import contextmanager

import baton
from baton_record.view_server import View
from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory
from websockets.sync.client import connect

_LIMIT_S = 60
_MESSAGE, _SENT, _CALL, _RESPONSE = 1, 1, 2, 3  # first bytes of binary frames: to the client, from the client


@contextmanager
def shown(**options):
    """A view of the domain in a thread of its own."""
    said: list[str] = []
    view = View(baton.Node("baton_view"), port=0, say=said.append, **options)
    view.said = said
    thread = threading.Thread(target=view.run, daemon=True)
    thread.start()
    try:
        yield view
    finally:
        view.stop()
        thread.join()
        view.close()


class Viewer:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connecting = connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"], max_size=None)
        self.channels: dict[str, dict] = {}
        self.info: dict = {}
        self.services: dict[str, dict] = {}
        self.parameters: dict[str, object] = {}
        self.answers: set[str] = set()  # to get_parameters() and set_parameters(), by their ids
        self.statuses: list[str] = []
        self.responses: dict[int, bytes | str] = {}  # by the number of the call; a text: why there is none
        self._decoders: dict[int, tuple[str, object]] = {}

    def __enter__(self) -> Viewer:
        self._socket = self._connecting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._connecting.__exit__(*error)

    def _received(self) -> bytes | None:
        """A binary frame; None: it was text, which is noted."""
        frame = self._socket.recv(_LIMIT_S)
        if isinstance(frame, bytes):
            return frame
        said = json.loads(frame)
        if said["op"] == "serverInfo":
            self.info = said
        elif said["op"] == "advertise":
            self.channels |= {each["topic"]: each for each in said["channels"]}
        elif said["op"] == "unadvertise":
            self.channels = {t: each for t, each in self.channels.items() if each["id"] not in said["channelIds"]}
        elif said["op"] == "advertiseServices":
            self.services |= {each["name"]: each for each in said["services"]}
        elif said["op"] == "unadvertiseServices":
            self.services = {n: each for n, each in self.services.items() if each["id"] not in said["serviceIds"]}
        elif said["op"] == "parameterValues":
            self.parameters |= {each["name"]: each["value"] for each in said["parameters"]}
            self.answers.add(said.get("id", ""))
        elif said["op"] == "status":
            self.statuses.append(said["message"])
        elif said["op"] == "serviceCallFailure":
            self.responses[said["callId"]] = said["message"]
        return None

    def until(self, condition) -> None:
        while not condition(self):
            if (frame := self._received()) is not None and frame[0] == _RESPONSE:
                number, encoding = struct.unpack_from("<xxxxxII", frame)
                self.responses[number] = frame[13 + encoding :]

    def _send(self, **words) -> None:
        self._socket.send(json.dumps(words))

    def watch(self, *topics: str) -> None:
        """Waits until the topics are offered, and subscribes to them."""
        self.until(lambda me: set(topics) <= me.channels.keys())
        for topic in topics:
            channel = self.channels[topic]
            schema = Schema(0, channel["schema"].encode(), channel["schemaEncoding"], channel["schemaName"])
            self._decoders[channel["id"]] = topic, DecoderFactory().decoder_for(channel["encoding"], schema)
            self._send(op="subscribe", subscriptions=[{"id": channel["id"], "channelId": channel["id"]}])

    def unwatch(self, topic: str) -> None:
        self._send(op="unsubscribe", subscriptionIds=[self.channels[topic]["id"]])

    def message(self):
        """The topic of the next message, and the message."""
        while (frame := self._received()) is None:
            pass
        kind, number, _ = struct.unpack_from("<BIQ", frame)
        assert kind == _MESSAGE
        topic, decode = self._decoders[number]
        return topic, decode(frame[13:])

    def advertise(self, number: int, topic: str, type_name: str, encoding: str) -> None:
        channel = {"id": number, "topic": topic, "encoding": encoding, "schemaName": type_name}
        self._send(op="advertise", channels=[channel])

    def send(self, number: int, data: bytes) -> None:
        self._socket.send(struct.pack("<BI", _SENT, number) + data)

    def get_parameters(self, *names: str) -> dict[str, object]:
        """The values that the view knows now."""
        self.parameters.clear()
        self.answers.discard("get")
        self._send(op="getParameters", parameterNames=names, id="get")
        self.until(lambda me: "get" in me.answers)
        return self.parameters

    def subscribe_parameters(self, *names: str) -> None:
        self._send(op="subscribeParameterUpdates", parameterNames=names)

    def set_parameters(self, **values: object) -> None:
        parameters = [{"name": name, "value": value} for name, value in values.items()]
        self._send(op="setParameters", parameters=parameters, id="set")

    def call(self, number: int, service: str, request: bytes, encoding: bytes = b"cdr") -> None:
        head = struct.pack("<BIII", _CALL, self.services[service]["id"], number, len(encoding))
        self._socket.send(head + encoding + request)

    def response(self, number: int) -> bytes | str:
        self.until(lambda me: number in me.responses)
        return self.responses.pop(number)
