# SPDX-License-Identifier: Apache-2.0
"""The link to other machines, and its state (docs/guides/machines.md, docs/format/link-state.md)."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from . import _core, _logging, _news


@dataclass(frozen=True)
class LinkHost:
    """Another host, as far as this host's link knows it. None: not known. The counts begin when the link begins to work."""

    name: str  # the host's own name for itself; empty: not known yet
    address: str
    id: str
    connected: bool
    connected_since_ns: int | None = None  # time.monotonic_ns() of this host
    round_trip_ns: int | None = None
    sent_messages: int | None = None
    sent_bytes: int | None = None
    received_messages: int | None = None
    received_bytes: int | None = None
    sent_again: int | None = None  # segments that TCP has retransmitted
    dropped: int | None = None
    dropped_why: str = ""
    waiting_messages: int | None = None  # messages that wait to be sent
    waiting_bytes: int | None = None
    encrypted: bool | None = None  # whether the connection is encrypted; None also without a connection
    certificate: str = ""  # the subject of the host's certificate, e.g. CN=/robot
    absent_since_ns: int | None = None  # time.monotonic_ns() of this host; None: connected
    absence_percent: int | None = None  # how much of its absence budget is used; at 100 the host is forgotten
    # Since when its second connection is missing, so that big messages take the first one, too; None: it is not missing.
    bulk_missing_since_ns: int | None = None
    bulk_missing_why: str = ""


@dataclass(frozen=True)
class LinkPeer:
    """A named peer that is not reached: it was never reached, or was forgotten."""

    peer: str  # the name given to the link
    since_ns: int | None  # since when it is not reached, as time.monotonic_ns() of this host
    why: str  # why the last attempt failed


@dataclass(frozen=True)
class LinkRefused:
    """A host, or another program at its address, that this host refuses or that refuses this host."""

    address: str
    name: str  # the host's own name for itself; empty: not known
    why: str  # the reason of the last refusal
    times: int
    last_ns: int | None  # the last refusal, as time.monotonic_ns() of this host


@dataclass(frozen=True)
class LinkTopic:
    """A topic that travels, in one direction."""

    topic: str
    type_name: str
    sending: bool  # False: receiving
    hosts: tuple[str, ...]  # sending: the hosts that want it; receiving: the hosts that publish it
    messages: int
    bytes: int
    dropped: int
    dropped_why: str = ""


@dataclass(frozen=True)
class LinkState:
    """The state of a link."""

    # "waiting": on standby, another process is the leader; "working"; "failed": for the reason `why`, and tries again.
    phase: str
    why: str
    host_name: str  # of this host
    id: str
    domain: int
    pid: int
    port: int | None  # the port on which this host listens
    sent: int  # messages sent
    received: int
    refused: int  # how many received messages were refused
    monotonic_ns: int  # the time of this state, as time.monotonic_ns()
    realtime_ns: int  # the same time, as time.time_ns()
    hosts: tuple[LinkHost, ...] = ()
    topics: tuple[LinkTopic, ...] = ()
    peers: tuple[LinkPeer, ...] = ()  # the named peers that are not reached
    notes: tuple[str, ...] = ()  # sentences: which wanted topics do not travel, and why
    secured: bool | None = None  # whether it makes only encrypted connections (`security`)
    absence_ms: int | None = None  # how long a host that is not reached is remembered (`absence_s`)
    absence_bytes: int | None = None  # how much may wait for such a host (`absence_mib`)
    refused_hosts: tuple[LinkRefused, ...] = ()  # the newest first


@dataclass
class _Record:
    """A line of the format: its fields, the first of each name, and all values of the field `host`."""

    fields: dict[str, str] = field(default_factory=dict)
    hosts: list[str] = field(default_factory=list)

    def text(self, name: str) -> str:
        return self.fields.get(name, "")

    def known(self, name: str) -> int | None:
        value = self.fields.get(name, "")
        return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None

    def number(self, name: str) -> int:
        return self.known(name) or 0

    def flag(self, name: str) -> bool | None:
        return {"0": False, "1": True}.get(self.text(name))


def _record(words: list[str]) -> _Record:
    record = _Record()
    for word in words:
        name, equals, value = word.partition("=")
        if name == "host":
            record.hosts.append(value)
        if equals:
            record.fields.setdefault(name, value)
    return record


_READ: dict[str, Callable[[_Record, str], Any]] = {
    "str": _Record.text,
    "int": _Record.number,
    "int | None": _Record.known,
    "bool": lambda record, name: record.flag(name) is True,
    "bool | None": _Record.flag,
}
_Line = TypeVar("_Line", LinkHost, LinkPeer, LinkRefused, LinkTopic, LinkState)


def _read(cls: type[_Line], record: _Record, **given: Any) -> _Line:
    """An object of `cls` made of a line. Its fields have the format's names and types, except those in `given`."""
    return cls(**given, **{f.name: _READ[str(f.type)](record, f.name) for f in fields(cls) if f.name not in given})


def parse(text: str) -> LinkState:
    """Parses the text of a link.state. Leaves out unknown lines and fields. ValueError: the text has another version."""
    lines = text.split("\n")
    if lines[0] != "baton-link-state 1":
        raise ValueError(f"link.state begins with {lines[0][:40]!r}, not with 'baton-link-state 1'")
    found: dict[str, list[_Record]] = {kind: [] for kind in ("link", "host", "peer", "refused", "topic", "note")}
    for line in lines[1:]:
        kind, *words = line.split("\t")
        if kind in found:
            found[kind].append(_record(words))
    link = found["link"][-1] if found["link"] else _Record()
    topics = (
        _read(
            LinkTopic,
            record,
            topic=record.text("name"),
            type_name=record.text("type"),
            sending=record.text("direction") == "send",
            hosts=tuple(record.hosts),
        )
        for record in found["topic"]
    )
    return _read(
        LinkState,
        link,
        host_name=link.text("host"),
        hosts=tuple(_read(LinkHost, record) for record in found["host"]),
        topics=tuple(topics),
        peers=tuple(_read(LinkPeer, record, peer=record.text("name")) for record in found["peer"]),
        notes=tuple(record.text("text") for record in found["note"]),
        refused_hosts=tuple(_read(LinkRefused, record) for record in found["refused"]),
    )


STALE_S = 5.0  # a link that works writes its state every second


@dataclass(frozen=True)
class SavedLink:
    """The state that the link of a domain, in any process of this host, has written last."""

    alive: bool  # a process is the leader now
    state: LinkState | None  # None: no state is written
    path: str
    problem: str = ""  # why the file cannot be read

    @property
    def age_s(self) -> float | None:
        """The age of the state; None without a state."""
        return None if self.state is None else max(0.0, (time.monotonic_ns() - self.state.monotonic_ns) / 1e9)

    @property
    def current(self) -> LinkState | None:
        """The state if it is current: its link lives, and writes its state regularly."""
        return self.state if self.alive and self.age_s is not None and self.age_s < STALE_S else None


def saved(domain: int | None = None, runtime_directory: str | os.PathLike[str] | None = None) -> SavedLink:
    """Reads link.state of a domain. Raises the same errors as joining the domain."""
    alive, text, path = _core._saved_link_state(-1 if domain is None else domain, os.fspath(runtime_directory or ""))
    try:
        return SavedLink(alive, None if text is None else parse(text), path)
    except ValueError as error:
        return SavedLink(alive, None, path, str(error))


def _log(diagnostic: _news.Diagnostic) -> None:
    log = _logging.get_logger("baton.link")
    {"info": log.info, "warning": log.warning}.get(diagnostic.level, log.error)(diagnostic.text)


_open: weakref.WeakSet[Link] = weakref.WeakSet()


class Link(_core._Link):
    """The link of this host's domain to other hosts, in this process, until close() or the end of `with`. It does the same as the program
    `baton link`. If several processes of a host have a link of one domain, one is the leader and the others are on standby."""

    def __init__(
        self,
        peers: Iterable[str] = (),
        *,
        interface: str | None = None,
        port: int | None = None,
        domain: int | None = None,
        host_name: str | None = None,
        multicast: bool = True,
        security: str | os.PathLike[str] | None = None,
        priorities: Mapping[str, str] | None = None,
        absence_s: float = 60.0,
        absence_mib: int = 256,
        runtime_directory: str | os.PathLike[str] | None = None,
        on_diagnostic: Callable[[_news.Diagnostic], object] | None = None,
    ) -> None:
        """`peers`: hosts that `multicast` does not find, as "HOST" or "HOST:PORT"; it suffices that one of two hosts names the other. `interface`:
        name or address of the only network interface to use. `port`: the port on which this host listens; default 22700 + domain. `host_name`: the
        name of this host for the others; default: the machine's name. `security`: the folder of an SROS 2 enclave; then all connections are
        encrypted, to hosts of the same identity CA; raises Unsupported where the system has no OpenSSL 3. `priorities`: by topic "high" or "low",
        which chooses one of the two connections to another host; without an entry the size of the topic's messages decides. A host that is not
        reached is remembered for `absence_s`, while at most about `absence_mib` MiB wait for it. `on_diagnostic` is called, in a thread of its own,
        with messages about what no call can return; without it each is a line of the logger "baton.link". Raises AlreadyExists if the port is in use,
        InvalidArgument for a wrong argument. Returns when the network is open, or when another process is the leader."""
        if isinstance(peers, str):
            raise TypeError(f"Link(): peers is a list of hosts; write peers=[{peers!r}]")
        if port is not None and not 1 <= port <= 65535:
            raise _core.InvalidArgument(f"Link(): port is a number from 1 to 65535, not {port}")
        if security is not None and not os.fspath(security):
            raise _core.InvalidArgument("Link(): security is a folder, not ''")
        if not (1 <= absence_s <= 86400 and 1 <= absence_mib <= 1 << 20):
            raise _core.InvalidArgument(
                f"Link(): absence_s is 1 to 86400 and absence_mib 1 to 1048576, not {absence_s} and {absence_mib}"
            )
        for topic, priority in (priorities or {}).items():
            if priority not in ("high", "low"):
                raise _core.InvalidArgument(f"Link(): the priority of {topic!r} is 'high' or 'low', not {priority!r}")
        super().__init__(
            list(peers),
            interface or "",
            port or 0,
            -1 if domain is None else domain,
            os.fspath(runtime_directory or ""),
            host_name or "",
            multicast,
            os.fspath(security or ""),
            [topic for topic, priority in (priorities or {}).items() if priority == "high"],
            [topic for topic, priority in (priorities or {}).items() if priority == "low"],
            int(absence_s * 1000),
            absence_mib << 20,
            on_diagnostic or _log,
        )
        _open.add(self)

    def state(self) -> LinkState:
        """The present state of this link. Raises RuntimeError after close()."""
        text = self._state()
        if text is None:
            raise RuntimeError("this link is closed")
        return parse(text)

    def close(self) -> None:
        """Ends the link; another one of this host that is on standby takes over. May take some seconds while a write to the network is
        under way. A second call does nothing."""
        _open.discard(self)
        self._close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        text = self._state()
        if text is None:
            return "<baton.Link, closed>"
        state = parse(text)
        return f"<baton.Link of '{state.host_name}', domain {state.domain}, {state.phase}>"


def _close_all() -> None:
    for link in list(_open):
        link.close()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_open.clear)
