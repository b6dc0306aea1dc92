# SPDX-License-Identifier: Apache-2.0
"""The state of the link to other hosts, for the verbs that show it: the file link.state (docs/format/link-state.md), read twice for rates."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import click

from . import live
from .fitting import Column


def host_of(node: str) -> str:
    """The host of a node's name, "talker@base"; empty: this host."""
    return node.partition("@")[2]


def is_absent(link: Any) -> bool:
    """Whether the domain has no link, neither a living nor a killed one."""
    return link.state is None and not link.alive and not link.problem


def trouble(link: Any) -> str:
    """Why the saved state of a link is out of date; empty: it is current, or there is no link."""
    if link.problem:
        return link.problem
    if link.state is None:
        return "a process is the link, and has written nothing yet" if link.alive else ""
    age = f"{link.age_s:.0f} s" if link.age_s < 120 else f"{link.age_s / 60:.0f} min"
    if not link.alive:
        return f"the link (process {link.state.pid}) has been dead for at most {age}; start it again: baton link"
    if link.current is None:
        return (
            f"the link (process {link.state.pid}) has written nothing for {age}: it is stopped, or waits for a process"
        )
    return ""


def rate(before: int | None, now: int | None, seconds: float) -> float | None:
    """The growth of a count per second. None: not known, or the count has begun anew."""
    return None if before is None or now is None or now < before or seconds <= 0 else (now - before) / seconds


class Rates:
    """The difference between two readings of one link's state, per second. Every rate is None until the link has written its state twice."""

    def __init__(self, before: Any, now: Any) -> None:
        same = before is not None and now is not None and before.id == now.id and before.pid == now.pid
        self._hosts = {h.id: h for h in before.hosts} if same else {}
        self._topics = {(t.topic, t.type_name, t.sending): t for t in before.topics} if same else {}
        self._seconds = (now.monotonic_ns - before.monotonic_ns) / 1e9 if same else 0.0

    def of_host(self, host: Any, name: str) -> float | None:
        return rate(getattr(self._hosts.get(host.id), name, None), getattr(host, name), self._seconds)

    def of_topic(self, topic: Any, name: str) -> float | None:
        key = topic.topic, topic.type_name, topic.sending
        return rate(getattr(self._topics.get(key), name, None), getattr(topic, name), self._seconds)


def latency_s(host: Any) -> float | None:
    """The latency of a few bytes: half of the round-trip time, since the clocks of two hosts differ."""
    return None if host.round_trip_ns is None else host.round_trip_ns / 2e9


def _ago_s(state: Any, moment_ns: int | None) -> float | None:
    """The seconds from a moment to the writing of the state. None: not known."""
    return None if moment_ns is None else max(0.0, (state.monotonic_ns - moment_ns) / 1e9)


def host_rows(state: Any, rates: Rates) -> list[dict[str, Any]]:
    """Each host, with rates."""
    rows = []
    for host in state.hosts:
        rows.append(
            {
                **asdict(host),
                "connected_s": _ago_s(state, host.connected_since_ns),
                "absent_s": _ago_s(state, host.absent_since_ns),
                "bulk_missing_s": _ago_s(state, host.bulk_missing_since_ns),
                "latency_s": latency_s(host),
                "sent_hz": rates.of_host(host, "sent_messages"),
                "sent_bytes_per_s": rates.of_host(host, "sent_bytes"),
                "received_hz": rates.of_host(host, "received_messages"),
                "received_bytes_per_s": rates.of_host(host, "received_bytes"),
            }
        )
    return sorted(rows, key=lambda r: (not r["connected"], r["name"], r["address"]))


def absent(row: dict[str, Any]) -> str:
    """For a table: since when the host of a row of host_rows() is not connected."""
    lasts = duration(row["absent_s"])
    return "no" + (f", {lasts}" if lasts else "")


def absence(row: dict[str, Any]) -> str:
    """The same as a part of a sentence, with how much of the host's absence budget is used."""
    lasts, percent = duration(row["absent_s"]), row["absence_percent"]
    used = "" if percent is None else f"; {percent} % of its absence budget is used, and at 100 % it is forgotten"
    return (f" for {lasts}" if lasts else "") + used


def one_connection(row: dict[str, Any]) -> str:
    """A sentence: since when the host of a row of host_rows() has only one of its two connections, and why; empty: it has both."""
    if row["bulk_missing_s"] is None:
        return ""
    why = f": {row['bulk_missing_why']}" if row["bulk_missing_why"] else ""
    return (
        f"only one of two connections for {duration(row['bulk_missing_s'])}, so small messages wait for big ones{why}"
    )


def peer_rows(state: Any) -> list[dict[str, Any]]:
    """Each named peer that is not reached."""
    return [{**asdict(p), "not_reached_s": _ago_s(state, p.since_ns)} for p in state.peers]


def not_reached(row: dict[str, Any]) -> str:
    """A sentence: since when the peer of a row of peer_rows() is not reached, and why."""
    lasts = duration(row["not_reached_s"])
    return "not reached" + (f" for {lasts}" if lasts else "") + (f": {row['why']}" if row["why"] else "")


def refused_rows(state: Any) -> list[dict[str, Any]]:
    """Each host that is refused, or refuses this one; `last_s`: how long ago."""
    return [{**asdict(r), "last_s": _ago_s(state, r.last_ns)} for r in state.refused_hosts]


def refused_name(row: dict[str, Any]) -> str:
    return f"{row['name']} ({row['address']})" if row["name"] else row["address"]


def refused_why(row: dict[str, Any]) -> str:
    """A sentence: why the host of a row of refused_rows() is not connected, and when it was refused."""
    often = f"{row['times']} times, the last time " if row["times"] > 1 else ""
    return f"{row['why'] or 'refused'} ({often}{duration(row['last_s']) or 'some time'} ago)"


def topic_rows(state: Any, rates: Rates, only: str | None = None) -> list[dict[str, Any]]:
    """Each topic that travels, with rates. `only`: only the topic of this name."""
    rows = [
        {
            "topic": topic.topic,
            "type": topic.type_name,
            "direction": "send" if topic.sending else "receive",
            "hosts": list(topic.hosts),
            "messages": topic.messages,
            "bytes": topic.bytes,
            "rate_hz": rates.of_topic(topic, "messages"),
            "bytes_per_s": rates.of_topic(topic, "bytes"),
            "dropped": topic.dropped,
            "dropped_why": topic.dropped_why,
        }
        for topic in state.topics
        if only is None or topic.topic == only
    ]
    return sorted(rows, key=lambda r: (r["topic"], r["direction"], r["type"]))


def read_twice(domain: int | None, seconds: float) -> tuple[Any, Rates]:
    """A saved link, and rates over at least `seconds` if the link writes on. Waits at most two seconds longer than `seconds`."""
    first = live.saved_link(domain)
    if first.current is None or seconds <= 0:
        return first, Rates(None, first.state)
    end = time.monotonic() + seconds + 2
    while time.monotonic() < end:
        time.sleep(0.05)
        now = live.saved_link(domain)
        if now.current is None or now.current.monotonic_ns - first.state.monotonic_ns >= seconds * 1e9:
            return now, Rates(first.state, now.state)
    return now, Rates(first.state, now.state)


def duration(seconds: float | None) -> str:
    """A duration as text: 12 s, 5 min, 3 h, 2 d."""
    if seconds is None:
        return ""
    for limit, unit, name in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86400:.0f} d"


NODE = "link"  # the node of the link's own subscriptions


def far_nodes(endpoints: Iterable[Any]) -> dict[str, tuple[int, str]]:
    """Nodes of other hosts whose publishers are known on this host: by node, the link's process and the node's host."""
    return {e.node: (e.pid, host_of(e.node)) for e in endpoints if host_of(e.node)}


def nodes_of(node: Any) -> set[str]:
    """The names of all nodes, as `baton node list` prints them."""
    names = {live.node_name(n) for n, _ in node.nodes() if not n.startswith("_baton_")}
    return names | {live.node_name(n) for n in far_nodes(live.others(node))}


def of_name(name: str, nodes: Iterable[str]) -> list[str]:
    """The elements of `nodes` that have this name on any host: for "/talker" also "/talker@base"."""
    return sorted(n for n in nodes if n.partition("@")[0] == name)


def own_host(domain: int | None) -> str:
    """The name under which other hosts know this one; empty without a link."""
    try:
        state = live.saved_link(domain).current
    except live.load().BatonError:
        return ""
    return state.host_name if state else ""


def find_node(node: Any, name: str) -> str:
    """The node that the user names, as `baton node list` prints it. "talker" and "/talker" mean the node of this host, or the only node
    of that name; "talker@base" means the node of the host base."""
    nodes = nodes_of(node)
    full = live.node_name(name)
    base, at, host = full.partition("@")
    if full in nodes:
        return full
    if host and base in nodes and host == own_host(node.domain):
        return base
    found = of_name(base, nodes)
    if not at and len(found) == 1:
        return found[0]
    if found:
        instead = f"nodes of that name: {', '.join(found)}"
    else:
        instead = f"there are: {', '.join(sorted(nodes))}" if nodes else ""
    raise click.ClickException(
        f"there is no node '{full}'{live.that_answers(node)}" + (f"; {instead}" if instead else "")
    )


def _number(value: float | None, form: str = "{:.0f}", unit: float = 1) -> str:
    """A number as text; empty if it is not known."""
    return "" if value is None else form.format(value / unit)


def _dropped(row: dict[str, Any]) -> str:
    count = row["dropped"]
    return "" if count is None else live.harmless(f"{count} ({row['dropped_why']})" if count else "0")


def _waiting(row: dict[str, Any]) -> str:
    if row["waiting_messages"] is None:
        return ""
    return f"{row['waiting_messages']}" + (f" ({row['waiting_bytes'] / 1e6:.1f} MB)" if row["waiting_bytes"] else "")


def _dropped_column(rows: list[dict[str, Any]]) -> Column:
    """A column whose number is never cut; the reason behind the number may be."""
    number = max((len(_number(r["dropped"])) for r in rows), default=0)
    return Column("dropped", least=number + 4, cells=[_dropped(r) for r in rows])


def host_columns(rows: list[dict[str, Any]], title: str = "host") -> list[Column]:
    columns = [
        Column(title, least=16),
        Column("address", 4),
        Column("connected"),
        Column("encrypted", 5),
        Column("latency us", 3, right=True),
        Column("sent", 7, right=True),
        Column("MB/s out", 1, right=True),
        Column("received", 6, right=True),
        Column("MB/s in", 2, right=True),
        Column("waiting", 8, right=True),
        Column("sent again", 9, right=True),
    ]
    for r in rows:
        cells = (
            live.harmless(r["name"] or "?"),
            live.harmless(r["address"]),
            duration(r["connected_s"]) or "yes" if r["connected"] else absent(r),
            {True: "yes", False: "no"}.get(r["encrypted"], ""),
            _number(r["latency_s"], unit=1e-6),
            _number(r["sent_messages"]),
            _number(r["sent_bytes_per_s"], "{:.2f}", 1e6),
            _number(r["received_messages"]),
            _number(r["received_bytes_per_s"], "{:.2f}", 1e6),
            _waiting(r),
            _number(r["sent_again"]),
        )
        for column, cell in zip(columns, cells, strict=True):
            column.cells.append(cell)
    return [*columns, _dropped_column(rows)]


def topic_columns(rows: list[dict[str, Any]]) -> list[Column]:
    columns = [
        Column("topic", least=24),
        Column("type", 3, least=24),
        Column("way", least=16),
        Column("messages", 2, right=True),
        Column("Hz", right=True),
        Column("MB/s", 1, right=True),
    ]
    for r in rows:
        cells = (
            live.harmless(r["topic"]),
            live.harmless(r["type"]),
            live.harmless(("to " if r["direction"] == "send" else "from ") + ", ".join(r["hosts"])),
            str(r["messages"]),
            _number(r["rate_hz"], "{:.1f}"),
            _number(r["bytes_per_s"], "{:.2f}", 1e6),
        )
        for column, cell in zip(columns, cells, strict=True):
            column.cells.append(cell)
    return [*columns, _dropped_column(rows)]
