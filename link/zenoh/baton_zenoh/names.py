# SPDX-License-Identifier: Apache-2.0
"""Names, liveliness tokens and attachments as rmw_zenoh_cpp has them, in its versions from 2025 on (its page "design", and its sources of tokens and
attachments). Pure: no session, no node.

A bridge marks its tokens: the enclave of an endpoint, which rmw_zenoh reads from a node's token alone, is "/_baton/<host>/<gid>"."""

from __future__ import annotations

import re
import struct
import sys
from dataclasses import dataclass
from typing import Any

import baton

MOST_DEPTH = 1000  # of a publisher that another host describes: its memory is this host's
_SECOND_NS = 1_000_000_000
_ATTACHMENT = struct.Struct("<qqB16s")  # number, source time in ns, and 16 bytes with their count in front
_TYPE = re.compile(r"(\w+)::(msg|srv|action)::dds_::(\w+)_")
_HOST = re.compile(r"[^A-Za-z0-9_.-]")
_MARK = re.compile(r"/_baton/([A-Za-z0-9_.-]{1,64})/([0-9a-f]{32})")
_STEERS = re.compile(r"[*$?#]|//")  # what a key expression reads as more than a name
KINDS = ("NN", "MP", "MS", "SS", "SC")


@dataclass(frozen=True)
class KeyScheme:
    """Which names a bridge has: those of rmw_zenoh, or those of chunks as they lie (`raw`), which no node of ROS 2 can read."""

    raw: bool = False

    @property
    def tokens(self) -> str:
        return "@baton_lv" if self.raw else "@ros2_lv"

    def key(self, domain: int, name: str, dds_type: str, type_hash: str) -> str:
        prefix = f"@baton_{sys.byteorder}/" if self.raw else ""
        return _literal(f"{prefix}{domain}/{name.strip('/')}/{dds_type}/{type_hash}")


def _literal(key: str) -> str:
    """Raises ValueError for a key that would mean several."""
    if _STEERS.search(key):
        raise ValueError(f"'{key[:200]}' can be no key of Zenoh: it has '*', '$', '?', '#' or an empty part")
    return key


def short_host(name: str) -> str:
    """A host's name as a part of a token: other characters than letters, digits, "_", "." and "-" become "_"."""
    return _HOST.sub("_", name)[:64] or "host"


def dds_type(name: str, of_service: bool = False) -> str:
    """ "sensor_msgs/Image" as DDS has it. Interfaces that people define have no underscore in their names; the generator's of an action do."""
    package, _, short = name.partition("/")
    part = short[short.find("_") :] if "_" in short else ""
    is_action = part.startswith(("_FeedbackMessage", "_SendGoal", "_GetResult"))
    return f"{package}::{'action' if is_action else 'srv' if of_service else 'msg'}::dds_::{short}_"


def baton_type(name: str) -> str:
    """The way back. Raises ValueError."""
    if (found := _TYPE.fullmatch(name)) is None:
        raise ValueError(f"'{name}' is no name of a type as DDS has it")
    return f"{found[1]}/{found[3]}"


def _mangled(name: str) -> str:
    return name.replace("/", "%") or "%"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ","
    whole, rest = divmod(round(seconds * _SECOND_NS), _SECOND_NS)
    return f"{whole},{rest}"


def qos_text(qos: baton.QoS) -> str:
    """What differs from rmw_qos_profile_default, in rmw's numbers."""
    depth = "" if qos.depth == 10 else str(qos.depth)
    return ":".join(
        (
            "2" if qos.reliability == "best_effort" else "",
            "1" if qos.durability == "transient_local" else "",
            ("2," if qos.history == "keep_all" else ",") + depth,
            _duration(qos.deadline),
            _duration(qos.lifespan),
            ("3," if qos.liveliness == "manual_by_topic" else ",") + _duration(qos.lease),
        )
    )


def qos_of(text: str) -> dict[str, Any]:
    """Arguments of baton.QoS. Deadlines, lifespans and leases do not cross: the network between would break them. Raises ValueError."""
    reliability, durability, history = text.split(":")[:3]
    kind, _, depth = history.partition(",")
    return {
        "reliability": "best_effort" if reliability == "2" else "reliable",
        "durability": "transient_local" if durability == "1" else "volatile",
        "history": "keep_all" if kind == "2" else "keep_last",
        "depth": max(1, min(int(depth or 10), MOST_DEPTH)),
    }


def mark(host: str, gid: bytes) -> str:
    """The enclave of a bridge's token: its host, and the endpoint's gid in Baton."""
    return f"/_baton/{host}/{gid.hex()}"


@dataclass(frozen=True)
class Token:
    """A node (NN), publisher (MP), subscription (MS), server (SS) or client (SC). `node` is absolute; a node has no `name`."""

    session: str
    number: int
    kind: str
    node: str
    name: str = ""
    type: str = ""
    hash: str = ""
    qos: str = ""
    enclave: str = "/"

    def key(self, scheme: KeyScheme, domain: int) -> str:
        """Raises ValueError."""
        space, _, short = self.node.rpartition("/")
        parts = [scheme.tokens, str(domain), self.session, "0", str(self.number), self.kind]
        parts += [_mangled(self.enclave), _mangled(space), short]
        if self.kind != "NN":
            parts += [_mangled(self.name), self.type, self.hash, self.qos]
        return _literal("/".join(parts))

    @property
    def host(self) -> str:
        return found[1] if (found := _MARK.fullmatch(self.enclave)) else "zenoh"

    @property
    def gid(self) -> bytes | None:
        """The gid in Baton, if a bridge has made the token."""
        return bytes.fromhex(found[2]) if (found := _MARK.fullmatch(self.enclave)) else None


def parse_token(key: str) -> Token:
    """Raises ValueError for what is no token."""
    _, _, session, _, number, kind, enclave, space, node, *rest = key.split("/")
    if kind not in KINDS or len(rest) != (0 if kind == "NN" else 4):
        raise ValueError(f"'{key[:200]}' is no token of rmw_zenoh")
    name, type_, hash_, qos = [*rest, "", "", "", ""][:4]
    plain = {text: text.replace("%", "/") for text in (enclave, space, name)}
    node = f"{plain[space].rstrip('/')}/{node}"
    return Token(session, int(number), kind, node, plain[name], type_, hash_, qos, plain[enclave])


def attachment(number: int, time_ns: int, gid: bytes) -> bytes:
    """Raises ValueError: a process of Baton may say any number, and Zenoh's has 63 bits."""
    try:
        return _ATTACHMENT.pack(number, time_ns, len(gid), gid)
    except struct.error:
        raise ValueError(f"its number {number} or its time {time_ns} has no place in rmw_zenoh's attachment") from None


def read_attachment(data: bytes) -> tuple[int, int, bytes]:
    """Number, source time and gid. Raises ValueError."""
    if len(data) != _ATTACHMENT.size or data[16] != 16:
        raise ValueError(f"its attachment has {len(data)} bytes, and rmw_zenoh's has {_ATTACHMENT.size}")
    number, time_ns, _, gid = _ATTACHMENT.unpack(data)
    if number < 1:
        raise ValueError(f"its number is {number}")
    return number, max(0, time_ns), gid
