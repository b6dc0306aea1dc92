# SPDX-License-Identifier: Apache-2.0
"""A client of `baton view` that speaks the viewers' protocol over a socket."""

from __future__ import annotations

import json
import struct

from mcap.records import Schema
from mcap_ros2.decoder import DecoderFactory
from websockets.sync.client import connect

_LIMIT_S = 60
_MESSAGE, _SENT = 1, 1  # first bytes of binary frames: to the client, from the client


class Viewer:
    """One connection."""

    def __init__(self, port: int) -> None:
        self._connecting = connect(f"ws://127.0.0.1:{port}", subprotocols=["foxglove.sdk.v1"], max_size=None)
        self.channels: dict[str, dict] = {}
        self.info: dict = {}
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
        return None

    def until(self, condition) -> None:
        while not condition(self):
            self._received()

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
