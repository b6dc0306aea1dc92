# SPDX-License-Identifier: Apache-2.0
"""`baton doctor`: which pairs share memory, which do not and why, and which settings of the machine are wrong."""

from __future__ import annotations

import itertools
import os
import re
import resource
import stat
import textwrap
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .. import links, live, losses, middleware
from ..examples import examples
from ..near import did_you_mean
from ..option_numbers import Seconds
from ..output import json_text


@dataclass(frozen=True)
class Diagnosis:
    """One line of the output. `good`: nothing is wrong; None: a note, nothing is wrong either."""

    what: str
    good: bool | None
    why: str
    way_out: str = ""


def has_library(pid: int, name: str) -> bool | None:
    """Whether a process has loaded this library. None: not known, as the process is another user's or in another container."""
    maps = live.maps_of(pid)
    return None if maps is None else name in maps


def ros2_processes(endpoints: list[Any]) -> set[int]:
    """The processes of ROS 2 programs over rmw_baton_cpp."""
    return {pid for pid in {e.pid for e in endpoints} if has_library(pid, "librmw_baton_cpp.so")}


_BRIDGE = "/_baton_bridge"  # the node of a bridge on Baton's side (ros2/bridge/src/side.hpp)


def judge_bridges(nodes: list[tuple[str, int]]) -> list[Diagnosis]:
    """A line for each bridge to the nodes of another RMW. `nodes`: names and processes."""
    findings = []
    for pid in sorted(pid for name, pid in nodes if name == _BRIDGE):
        try:
            with Path(f"/proc/{pid}/cmdline").open("rb") as file:
                rmw = Path(file.read(4096).split(b"\0")[1].decode()).stem.removeprefix("lib")
        except (OSError, IndexError, UnicodeDecodeError):
            rmw = ""
        if not re.fullmatch(r"rmw_[a-z0-9_]{1,60}", rmw):  # any process may have such a node
            rmw = "another RMW"
        why = f"process {pid} is a bridge to nodes of {rmw}; its log says if it is on standby"
        findings.append(Diagnosis("bridge", True, why))
    return findings


def judge_dds(domain: int, here: int, of_rmw: int, net: Path = Path("/proc/net")) -> list[Diagnosis]:
    """Programs of ROS 2 over a DDS in the ROS domain of this number, if there is no bridge. They are found by the ports on which a DDS listens for
    discovery (RTPS 2.5, section 9.6.2). `here`: how many nodes Baton's domain has; `of_rmw`: processes over rmw_baton_cpp."""
    ports = {7400 + 250 * domain, 7410 + 250 * domain}
    for table in ("udp", "udp6"):
        try:
            rows = (net / table).read_text().splitlines()[1:]
        except OSError:
            continue
        if any(int(row.split()[1].rpartition(":")[2], 16) in ports for row in rows):
            break
    else:
        return []
    apart = f"the {of_rmw} over rmw_baton_cpp do not meet them" if of_rmw else "Baton's nodes do not meet them"
    return [
        Diagnosis(
            "other RMWs",
            None,
            f"programs of ROS 2 over a DDS seem to use ROS domain {domain} on this host, and "
            + (apart if here else "none uses Baton"),
            "run all programs of the domain over one RMW, or a bridge between the two (`baton bridge`)"
            if here
            else "RMW_IMPLEMENTATION=rmw_baton_cpp for those that are to use Baton (docs/guides/ros2.md)",
        )
    ]


def _pair(publisher: Any, subscription: Any) -> str:
    return f"{publisher.topic}: {publisher.node} ({publisher.pid}) -> {subscription.node} ({subscription.pid})"


def _in_agreement(differing: str) -> str:
    """The two changes of QoS that each mend an incompatibility() of publisher and subscription."""
    found = re.findall(r"([a-z ]+): offered (.+?), requested (.+?)(?:; |$)", differing)
    stronger = ", ".join(f"{policy} {requested}" for policy, _, requested in found)
    weaker = ", ".join(f"{policy} {offered}" for policy, offered, _ in found)
    return f"publish with {stronger}, or subscribe with {weaker}"


def judge_pair(
    publisher: Any, subscription: Any, of_rmw: Collection[int] = (), large: Collection[str] = ()
) -> Diagnosis:
    """Whether messages of this publisher reach this subscription, and how often they are copied behind the publisher. `large`: the topics whose
    messages libbaton_heap.so makes cheaper."""
    what = _pair(publisher, subscription)
    if publisher.type_name != subscription.type_name:
        return Diagnosis(
            what, False, f"types differ: {publisher.type_name}, {subscription.type_name}", "use one type, or two topics"
        )
    if publisher.type_hash != subscription.type_hash:
        return Diagnosis(
            what,
            False,
            f"both say {publisher.type_name}, but define it differently",
            "generate both ends from the same .msg file; each end's log shows the difference",
        )
    if differing := live.load().incompatibility(publisher.qos, subscription.qos):
        return Diagnosis(what, False, f"quality of service: {differing}", _in_agreement(differing))
    host = links.host_of(publisher.node)
    way = f"comes from host {host} over the network, then " if host else ""
    if subscription.pid not in of_rmw:
        whose = "link" if host else "publisher"
        return Diagnosis(what, True, f"{way}zero-copy: the subscription reads the {whose}'s memory")
    heap = has_library(subscription.pid, "libbaton_heap.so")
    if heap:
        return Diagnosis(
            what,
            True,
            f"{way}shared memory; arrays are not copied out (libbaton_heap.so is loaded), if the RMW's line at start says so",
        )
    helps = heap is False and publisher.topic in large
    return Diagnosis(
        what,
        None if helps else True,
        f"{way}shared memory; arrays are copied out once, into the ROS 2 message"
        + (", unless libbaton_heap.so is loaded there" if heap is None else ""),
        "LD_PRELOAD=libbaton_heap.so for the subscribing program" if helps else "",
    )


def judge_silent(sentence: str) -> Diagnosis:
    """The diagnosis with a sentence of live.unanswered()."""
    why, _, way_out = sentence.partition("; ")
    what, _, why = why.partition(") ")
    return Diagnosis(f"{what})", False, why, way_out) if why else Diagnosis("processes", False, what, way_out)


MOST_PAIRS = 100_000  # pairs that are examined
MOST_HINTS = 50  # topics that nobody meets with which other names are compared


def pairs_of(endpoints: list[Any]) -> tuple[list[tuple[Any, Any]], int]:
    """Each publisher with each subscription of its topic, the topics with fewest pairs first; and how many pairs are left out."""
    topics: dict[str, tuple[list[Any], list[Any]]] = {}
    for e in endpoints:
        topics.setdefault(e.topic, ([], []))[0 if e.is_publisher else 1].append(e)
    both = sorted(topics.values(), key=lambda ends: len(ends[0]) * len(ends[1]))
    pairs = itertools.chain.from_iterable(itertools.product(*ends) for ends in both)
    found = sorted(itertools.islice(pairs, MOST_PAIRS), key=lambda pair: pair[0].topic)
    return found, sum(len(publishers) * len(subscriptions) for publishers, subscriptions in both) - len(found)


def judge_past(endpoints: list[Any], graph: middleware.ForeignGraph | None = None) -> list[Diagnosis]:
    """The pairs that match, but whose publisher keeps messages that a late subscription does not get. Where another middleware has
    a link, that link brings these messages."""
    findings = []
    for p, s in pairs_of(endpoints)[0]:
        if p.qos.durability != "transient_local" or "/_" in p.topic:
            continue
        if (p.type_name, p.type_hash) != (s.type_name, s.type_hash) or live.load().incompatibility(p.qos, s.qos):
            continue
        if graph is not None and graph.has_link(p.topic, p.node, s.node):
            continue
        last = f"last {p.qos.depth} messages" if p.qos.depth > 1 else "last message"
        if s.qos.durability == "volatile":
            why = f"late data is not replayed: the publisher keeps its {last}, which the subscription does not request"
            way_out = "subscribe with QoS durability transient_local"
        elif s.qos.depth < p.qos.depth:
            why = f"of the publisher's {last} a late subscription gets at most {s.qos.depth}: its depth"
            way_out = f"subscribe with depth {p.qos.depth}"
        else:
            continue
        findings.append(Diagnosis(_pair(p, s), None, why, way_out))
    return findings


def judge_topics(
    endpoints: list[Any],
    of_rmw: Collection[int],
    large: Collection[str],
    graph: middleware.ForeignGraph | None = None,
) -> list[Diagnosis]:
    """A line for each pair, and for each endpoint without a match. Links and endpoints of another middleware have their own lines."""
    found: list[tuple[str, Diagnosis]] = []  # by topic
    pairs, left_out = pairs_of(endpoints)
    for p, s in pairs:
        judged = judge_pair(p, s, of_rmw, large)
        if judged.good is False or graph is None or not graph.has_link(p.topic, p.node, s.node):
            found.append((p.topic, judged))
    hidden = "/_"
    met = {
        publishes: {e.topic for e in endpoints if e.is_publisher == publishes and hidden not in e.topic}
        for publishes in (True, False)
    }
    hints = 0
    for e in endpoints:
        if hidden in e.topic or e.topic in met[not e.is_publisher]:
            continue
        if graph is not None and graph.has_end(e.topic, e.node):
            continue
        if links.host_of(e.node):
            continue  # a topic of another host without a subscription on this host is no finding
        kind, missing = ("publisher", "subscription") if e.is_publisher else ("subscription", "publisher")
        hint = did_you_mean(e.topic, met[not e.is_publisher]) if hints < MOST_HINTS else ""
        hints += 1
        what = f"{e.topic}: {kind} of {e.node} ({e.pid})"
        found.append((e.topic, Diagnosis(what, None, f"no {missing}", hint)))
    findings = [finding for _, finding in sorted(found, key=lambda each: each[0])]
    if left_out:
        findings.append(Diagnosis("pairs", None, f"{left_out} of the topics with most pairs are not examined"))
    return findings


def _granted(holdings: list[Any]) -> str:
    """How many samples subscriptions may hold, and how many they asked for: each pair of numbers once."""
    pairs = Counter((h.granted, h.wished) for h in holdings if h.standing == "connected")
    each = ", ".join(f"{count} x {granted} of {wished}" for (granted, wished), count in sorted(pairs.items()))
    gone = sum(h.held for h in holdings if h.standing == "left")
    return (f"granted: {each}" if each else "nothing granted") + (f"; {gone} held by those that left" if gone else "")


def judge_held(pair: str, holding: Any, by_link: bool) -> Diagnosis:
    """A finding about a subscription that gets no further message until it releases samples. `by_link`: it is a subscription of the link, which
    holds messages until another host takes them."""
    why = f"holds all {holding.granted} samples that it may, and {holding.unread} messages wait"
    if by_link:
        return Diagnosis(
            pair,
            None,
            f"the link {why}: another host, or a ROS 2 node, does not take the messages",
            "see `baton link status` for the host and the line; a ROS 2 node that does not read has to read, or to end",
        )
    return Diagnosis(pair, None, f"it {why}", "release samples, or raise QoS 'held' above the number that it keeps")


def judge_slots(
    endpoints: list[Any], holdings: list[Any], link_pid: int | None = None
) -> tuple[list[Diagnosis], list[Diagnosis]]:
    """A line for each publisher: how its slots are granted. And the pairs whose subscription was refused or got fewer slots. `link_pid`: the
    process that is the link."""
    known = {e.gid: e for e in endpoints}
    publishers, pairs = [], []
    by_publisher: dict[bytes, list[Any]] = {}
    for h in holdings:
        if h.publisher in known:
            by_publisher.setdefault(h.publisher, []).append(h)
    for gid, rows in by_publisher.items():
        publisher = known[gid]
        for h in rows:
            if h.subscription not in known:
                continue
            pair = _pair(publisher, known[h.subscription])
            if h.standing == "connected" and h.unread and h.held >= h.granted:
                end = known[h.subscription]
                pairs.append(judge_held(pair, h, end.pid == link_pid and end.node == links.NODE))
            if not h.reason:
                continue
            why, _, way_out = h.reason.partition("; raise ")
            if h.standing == "refused":
                pairs.append(Diagnosis(pair, False, f"refused: {why}", way_out and f"raise {way_out}"))
            else:
                pairs.append(
                    Diagnosis(pair, None, f"zero-copy, but it {why}", "raise PublisherOptions::slot_count (slots=)")
                )
        refused = sum(h.standing == "refused" for h in rows)
        publishers.append(
            Diagnosis(
                f"{publisher.topic}: publisher of {publisher.node} ({publisher.pid})",
                None if refused or any(h.reason for h in rows) else True,
                f"{rows[0].slots} slots, of which {rows[0].shared} can be held: {_granted(rows)}; "
                f"{max(0, rows[0].shared - rows[0].promised)} left" + (f"; {refused} refused" if refused else ""),
            )
        )
    return publishers, pairs


def judge_losses(endpoints: list[Any], before: Mapping[bytes, Any], now: Mapping[bytes, Any]) -> list[Diagnosis]:
    """A line for each subscription that lost messages. A second report shows whether it still loses some."""
    findings = []
    for e in endpoints:
        if e.is_publisher or e.gid not in now:
            continue
        counts, earlier = losses.as_json(now[e.gid]), losses.as_json(before.get(e.gid))
        what = f"{e.topic}: subscription of {e.node} ({e.pid})"
        if counts["total"]:
            meanwhile = counts["total"] - earlier["total"]
            recent = f", {meanwhile} of them while this looked" if meanwhile > 0 else ", none while this looked"
            why = f"lost {losses.messages(counts['total'])}{recent}: {losses.why(counts, e.qos)}"
            wrong = any(counts[name] for name in losses.WRONG)
            findings.append(Diagnosis(what, False if wrong else None, why, losses.way_out(counts, e.qos)))
        if text := losses.remarks(counts):
            findings.append(Diagnosis(what, None, f"{text}; not counted as lost"))
    return findings


_LARGE_BYTES = 64 << 10  # smaller arrays are copied with libbaton_heap.so, too (docs/concepts/ros2.md)


def look_at(node: Any, endpoints: list[Any], seconds: float) -> tuple[dict[bytes, str], set[str]]:
    """Looks at messages for some time. Returns, by their gids, publishers that copy messages from other objects instead of building them in place;
    and the topics with large messages."""
    baton = live.load()
    converting: dict[bytes, str] = {}
    large = set()
    subscriptions = []
    topic_of = {e.gid: e.topic for e in endpoints}

    def look(message: Any) -> None:
        info = baton.info(message)
        if info.selection != "in place":
            converting[info.publisher] = info.selection
        if baton.size_bytes(message) >= _LARGE_BYTES and info.publisher in topic_of:
            large.add(topic_of[info.publisher])

    # Not topics of other hosts: their messages would travel only because of this check.
    own = [e for e in endpoints if e.is_publisher and not links.host_of(e.node)]
    publishers = {(e.topic, e.type_name): e for e in own if "/_" not in e.topic}
    if (left_out := len(publishers) - live.MOST_WATCHED) > 0:
        click.echo(
            f"messages of {left_out} topics are not looked at: there are more than {live.MOST_WATCHED}", err=True
        )
    for (topic, _), publisher in sorted(publishers.items())[: live.MOST_WATCHED]:
        try:
            qos = baton.QoS(10, reliability="best_effort", held=1)
            subscriptions.append(node.subscribe(topic, live.message_class_as(publisher), look, qos))
        except (click.ClickException, baton.BatonError):
            continue  # publishers of an unknown type are left out
    executor = baton.Executor(node)
    end = time.monotonic() + seconds
    while subscriptions and (left := end - time.monotonic()) > 0:
        executor.spin_once(left)
    executor.remove(node)
    for subscription in subscriptions:
        node.destroy(subscription)
    return converting, large


def judge_publishing(endpoints: list[Any], converting: Mapping[bytes, str], of_rmw: Collection[int]) -> list[Diagnosis]:
    """A line for each publisher that copies, as look_at() found."""
    return [
        Diagnosis(
            f"{e.topic}: publisher of {e.node} ({e.pid})",
            None,
            "makes each message of another object, a copy that readers do not see"
            + (" (low-layer serialization)" if converting[e.gid] == "low" else ""),
            "libbaton_heap.so and borrow_loaned_message() (C++), or publish an object of Baton's classes (Python)"
            if e.pid in of_rmw
            else "write into a loan: with publisher.loan() as message, or Publisher::loan()",
        )
        for e in endpoints
        if e.is_publisher and e.gid in converting
    ]


def judge_other(links: list[tuple[middleware.ForeignLink, middleware.MessagePath]]) -> list[Diagnosis]:
    """A row for each link of another middleware."""
    return [
        Diagnosis(
            f"{link.topic}: {link.publisher} -> {link.subscriber}", way.good, f"{way.text}: {way.why}", way.way_out
        )
        for link, way in links
    ]


def judge_machine() -> list[Diagnosis]:
    """The limits of this machine and the variables of this shell that Baton reads."""
    findings = []
    release = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    findings.append(
        Diagnosis("kernel", True, os.uname().release)
        if release >= (5, 16)
        else Diagnosis(
            "kernel", None, f"{os.uname().release} has no futex_waitv", "5.16 or newer wakes sleepers with fewer calls"
        )
    )
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if os.environ.get("BATON_KEEP_NOFILE") != "1" and hard != resource.RLIM_INFINITY:
        soft = max(soft, min(hard, 65536))  # Baton raises the soft limit itself
    findings.append(
        Diagnosis("file descriptors", True, f"{soft} a process")
        if soft >= 1024 or soft == resource.RLIM_INFINITY
        else Diagnosis(
            "file descriptors", False, f"only {soft} a process", "ulimit -n 4096: each peer and publisher needs some"
        )
    )
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY:
        findings.append(
            Diagnosis(
                "address space",
                None,
                f"limited to {space >> 20} MiB",
                "ulimit -v unlimited, or keep BATON_WINDOW small",
            )
        )
    directory = os.environ.get("BATON_RUNTIME_DIR")
    if directory:
        try:
            mode = Path(directory).stat()
            if mode.st_mode & stat.S_IWOTH:
                pass  # joining the domain reports why not
            elif mode.st_mode & stat.S_IWGRP:
                findings.append(
                    Diagnosis(
                        "runtime directory",
                        None,
                        f"{directory} can be written by its group",
                        "the group's users can join the domain: chmod 700, unless that is wanted",
                    )
                )
            else:
                findings.append(Diagnosis("runtime directory", True, directory))
        except FileNotFoundError:
            pass  # joining the domain makes it, or reports why not
        except OSError as error:
            findings.append(Diagnosis("runtime directory", False, str(error), "make it, or unset BATON_RUNTIME_DIR"))
    try:
        cgroup = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if cgroup != "max":
            findings.append(Diagnosis("memory", None, f"the cgroup may use {int(cgroup) >> 20} MiB, messages included"))
    except (OSError, ValueError):
        pass
    return findings


# Bytes in flight for 30 images of 16 MB a second over 10 Gbit/s: 3 ms of the line, which is twice a round trip with queues on the way.
BUFFER_BYTES = 4 << 20
SYSTEM = Path("/proc/sys/net")
_BUFFERS = {
    "net.core.rmem_max": "core/rmem_max",
    "net.core.wmem_max": "core/wmem_max",
    "net.ipv4.tcp_rmem": "ipv4/tcp_rmem",
    "net.ipv4.tcp_wmem": "ipv4/tcp_wmem",
}

# TCP's own limits apply to the link; the general limits to programs that ask for a buffer, as DDS does for UDP.
_BUFFERS_FOR = {
    "ipv4": "16 MB images at 30 Hz over 10 Gbit/s",
    "core": "large messages over UDP, such as those of ROS 2; the link itself does not need it",
}


def judge_buffers(system: Path = SYSTEM) -> list[Diagnosis]:
    """Whether the kernel permits a connection as many bytes in flight as a fast line needs. Limits that cannot be read (in a container's network)
    are left out."""
    findings = []
    for name, file in _BUFFERS.items():
        try:
            numbers = (system / file).read_text().split()
            most = int(numbers[-1])
        except (OSError, ValueError, IndexError):
            continue
        if most >= BUFFER_BYTES:
            findings.append(Diagnosis(name, True, f"at most {most} bytes"))
            continue
        wanted = " ".join([*numbers[:-1], str(BUFFER_BYTES)])
        setting = f"{name}={wanted}" if len(numbers) == 1 else f"{name}='{wanted}'"
        findings.append(
            Diagnosis(
                name,
                None,
                f"at most {most} bytes: too few for {_BUFFERS_FOR[name.split('.')[1]]}",
                f"sudo sysctl -w {setting}",
            )
        )
    return findings


NO_LINK = "no link runs in this domain: topics of other hosts need `baton link` on each host (docs/guides/machines.md)"
_REACH = "start `baton link` there, open its port in the firewall, or correct --peer"

_SECOND = "let two TCP connections to the link's port through firewall and tunnel"
_ADMIT = "if it belongs here: --security with certificates of one CA on all hosts, one domain, and one version of Baton"


def judge_link(link: Any) -> list[Diagnosis]:
    """The link of this host: whether it works, which hosts it reaches, which messages it loses. Nothing without a link."""
    if links.is_absent(link):
        return []
    if trouble := links.trouble(link):
        return [Diagnosis("link to other hosts", False, trouble)]
    state = link.state
    here = f"process {state.pid} is the link, as host '{state.host_name}'"
    findings = [
        Diagnosis("link to other hosts", True, f"{here}, on port {state.port}")
        if state.phase == "working"
        else Diagnosis("link to other hosts", False, f"{here}: {state.why or state.phase}", "baton link --help")
    ]
    for row in links.host_rows(state, links.Rates(None, None)):
        name = f"host {row['name'] or row['address'] or '?'}"
        if not row["connected"]:
            findings.append(Diagnosis(name, None, f"not connected{links.absence(row)}", _REACH))
            continue
        why = "connected" + (f" for {links.duration(row['connected_s'])}" if row["connected_s"] is not None else "")
        if row["encrypted"]:
            why += ", encrypted"
        if row["latency_s"] is not None:
            why += f", latency {row['latency_s'] * 1e6:.0f} us (half of a round trip)"
        if row["sent_again"]:
            why += f", {row['sent_again']} segments sent again"
        if row["dropped"]:
            why += f"; {row['dropped']} messages dropped: {row['dropped_why']}"
        missing = links.one_connection(row)
        if missing:
            why += f"; {missing}"
        findings.append(Diagnosis(name, None if row["dropped"] or missing else True, why, _SECOND if missing else ""))
    for row in links.peer_rows(state):
        findings.append(Diagnosis(f"peer {row['peer']}", None, links.not_reached(row), _REACH))
    for row in links.refused_rows(state):
        findings.append(Diagnosis(f"refused {links.refused_name(row)}", None, links.refused_why(row), _ADMIT))
    for row in links.topic_rows(state, links.Rates(None, None)):
        if row["dropped"]:
            way = "sent to" if row["direction"] == "send" else "received from"
            what = f"{row['topic']}: {way} {', '.join(row['hosts']) or 'other hosts'}"
            why = f"{row['dropped']} of {row['messages'] + row['dropped']} messages dropped: {row['dropped_why']}"
            findings.append(Diagnosis(what, None, why, "publish less, or see the tuning in docs/guides/machines.md"))
    findings += [Diagnosis("not connected across hosts", None, note) for note in state.notes]
    return findings


def show(
    sections: dict[str, list[Diagnosis]],
    memory: dict[str, int] | None,
    as_json: bool,
    empty: Mapping[str, str] = MappingProxyType({}),
    lost: int = 0,
) -> None:
    """`memory` None: no process could be examined. `empty`: texts of sections without a finding; "first" comes before all. `lost`: the messages
    that all subscriptions lost."""
    if as_json:
        counted = Counter(f.good for findings in sections.values() for f in findings)
        found = {title: [asdict(f) for f in findings] for title, findings in sections.items()}
        summary = {"wrong": counted[False], "notes": counted[None], "ok": counted[True], "lost": lost}
        click.echo(json_text({"summary": summary, **found, "memory": memory}))
        return
    console = Console()
    sections = {title: shown_first(fold(findings)) for title, findings in sections.items()}
    if text := empty.get("first"):
        console.print(textwrap.fill(text, console.width - 1, **_WHOLE), style="bold", highlight=False, markup=False)
    console.print(summary_line(Counter(f.good for findings in sections.values() for f in findings), lost), end="\n\n")
    for title, findings in sections.items():
        if findings:
            console.print(_heading(title), style="bold", highlight=False)
            console.print(_table(findings) if console.width >= NARROW else _lines(findings, console.width))
            console.print()
        elif memory is not None and (text := empty.get(title)):
            console.print(_heading(title), style="bold", highlight=False)
            console.print(f"{textwrap.fill(text, console.width - 1, **_WHOLE)}\n", highlight=False, markup=False)
    if memory is not None:
        console.print(f"message memory of the domain: {memory['domain_backed_bytes'] / 1e6:.1f} MB", highlight=False)


def summary_line(counted: Mapping[bool | None, int], lost: int) -> Text:
    """The first lines: whether anything is wrong, and whether messages were lost."""
    wrong, notes, ok = counted[False], counted[None], counted[True]
    if wrong:
        text = Text("1 thing is wrong" if wrong == 1 else f"{wrong} things are wrong", "bold red")
    else:
        text = Text("nothing is wrong", "bold green")
    if lost:
        text.append("; ", "not bold default").append(f"{losses.messages(lost)} lost", "bold yellow")
    rest = [f"{notes} to know"] * bool(notes) + [f"{ok} fine"] * bool(ok)
    return text.append("".join(f"; {part}" for part in rest), "not bold default")


# Every node has these topics: they are of interest only if something is wrong with a subscription.
OF_EVERY_NODE = ("/rosout: ", "/parameter_events: ")


def fold(findings: list[Diagnosis]) -> list[Diagnosis]:
    """Merges lines about many nodes' endpoints of one such topic into one row."""
    kept, folded = [], {}
    for f in findings:
        topic = next((t for t in OF_EVERY_NODE if f.what.startswith(t)), None)
        if topic is None or f.good is False:
            kept.append(f)
        else:
            folded.setdefault((topic, f.good, f.why, f.way_out), []).append(f)
    for (topic, good, why, way_out), same in folded.items():
        kinds = (
            "pairs" if "->" in same[0].what else "publishers" if ": publisher of" in same[0].what else "subscriptions"
        )
        kept.append(same[0] if len(same) == 1 else Diagnosis(f"{topic}{len(same)} {kinds}", good, why, way_out))
    return kept


def shown_first(findings: list[Diagnosis]) -> list[Diagnosis]:
    """Problems first, then notes, each in the order in which they were found."""
    return sorted(findings, key=lambda f: {False: 0, None: 1, True: 2}[f.good])


HEADINGS = {
    "machine": "Machine",
    "topics": "Topics",
    "link": "Other hosts",
    "slots": "Slots of publishers",
}


def _heading(title: str) -> str:
    """The title of a section; that of another middleware has the middleware's name."""
    return HEADINGS.get(title) or f"Links of {middleware.brought().NAME}"


NARROW = 110  # on narrower terminals a finding is a paragraph, not a row
_MARKS = {True: Text("ok", "green"), False: Text("no", "red"), None: Text("- ", "yellow")}


def _table(findings: list[Diagnosis]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in ("mark", "what", "finding"):
        table.add_column(overflow="fold")
    for f in findings:
        finding = f.why + (f"\n{_ARROW}{f.way_out}" if f.way_out else "")
        table.add_row(_MARKS[f.good], Text(live.harmless(f.what)), Text(live.harmless(finding)))
    return table


def _lines(findings: list[Diagnosis], width: int) -> Text:
    """A paragraph for each finding, because names in narrow columns would be broken."""
    text = Text()
    for f in findings:
        first = f"{f.what}: {f.why}"
        indented = ("" if len(first) + 4 <= width else f.why, f.way_out and f"{_ARROW}{f.way_out}")
        head = f.what if indented[0] else first
        text.append_text(_MARKS[f.good]).append(
            f"  {textwrap.fill(head, width - 5, subsequent_indent=' ' * 4, **_WHOLE)}\n"
        )
        for part in filter(None, indented):
            text.append(textwrap.fill(part, width - 1, initial_indent=_IN, subsequent_indent=_IN, **_WHOLE) + "\n")
    text.rstrip()
    return text


_ARROW = "way out: "
_IN = " " * 8
_WHOLE: dict[str, Any] = {"break_on_hyphens": False}


def _sections(
    machine: list[Diagnosis],
    topics: list[Diagnosis],
    link: list[Diagnosis],
    of_other: list[Diagnosis],
    slots: list[Diagnosis],
) -> dict[str, list[Diagnosis]]:
    """The sections by their names in --json, in the order of the output."""
    other = middleware.brought()
    links = {other.KEY: of_other} if other else {}
    return {"machine": machine, "topics": topics, "link": link, **links, "slots": slots}


def join_or_say(
    domain: int | None, search: tuple[Path, ...], machine: list[Diagnosis], as_json: bool
) -> tuple[Any, list[Diagnosis]]:
    """A node for observing, and findings about processes that do not answer. If the node cannot be made, one finding says why."""
    silent: list[str] = []
    try:
        return live.join(domain, search, say=silent.append), [judge_silent(sentence) for sentence in silent]
    except click.ClickException as error:
        why, _, way_out = error.message.partition("; ")
        what = "runtime directory" if "runtime_directory" in why else "joining the domain"
        rest = [f for f in machine if f.what != what]
        machine = [*rest, Diagnosis(what, False, why, way_out)]
        show(_sections(machine, [], [], [], []), None, as_json)
        raise SystemExit(1) from None


@examples("baton doctor", "baton doctor --look 2 --json")
@click.command()
@live.domain_options
@click.option("--look", type=Seconds(min=0), default=0.5, show_default=True, help="Seconds to look at messages.")
@click.option("--json", "as_json", is_flag=True)
def command(domain: int | None, search: tuple[Path, ...], look: float, as_json: bool) -> None:
    """Report which pairs are zero-copy, which are not, and why.

    The report also has advice, the state of the link to other hosts, how publishers' slots are granted, and what the machine lacks. Exit
    status 1 if something is wrong. For a moment the command subscribes to every topic with best effort, to see which publishers convert
    their messages. Only a publisher's own counters have copies of whole messages (of a loan whose arrays are in use).
    """
    machine = judge_machine()
    node, silent = join_or_say(domain, search, machine, as_json)
    endpoints = live.others(node)
    first = node.report(live.ANSWER_S)
    begin, graph = time.monotonic(), live.other_graph(node)
    # An endpoint that carries messages of another middleware belongs to a link there, which has a row of its own.
    everything = endpoints
    endpoints = [e for e in endpoints if not middleware.is_carrier(e)]
    link = first.link
    slots, lacking = judge_slots(endpoints, first.holdings, link.current.pid if link.current else None)
    of_rmw = ros2_processes(endpoints)
    converting, large = look_at(node, endpoints, look)
    topics = judge_topics(endpoints, of_rmw, large, graph)
    nodes = live.nodes_there(node)
    lacks = {f.what for f in lacking}
    pairs = [
        *silent,
        *(judge_bridges(node.nodes()) or judge_dds(node.domain, len(nodes), len(of_rmw))),
        *(f for f in topics if f.what not in lacks),
        *lacking,
        *judge_past(endpoints, graph),
        *judge_publishing(endpoints, converting, of_rmw),
    ]
    time.sleep(max(0.0, begin + look - time.monotonic()))
    last = node.report(live.ANSWER_S)
    pairs = [*judge_losses(endpoints, first.losses, last.losses), *pairs]
    known = {e.gid for e in everything}
    lost = sum(found.total for gid, found in last.losses.items() if gid in known)
    of_other = []
    if graph:
        recent = middleware.since(graph, live.other_graph(node, quiet=True) or graph)
        judged = middleware.brought().judged(recent, everything, last.holdings, node.domain)
        of_other = judge_other(judged)
    memory = asdict(node.memory)
    of_link = judge_link(link)
    if of_link:
        of_link += judge_buffers()
    sections = _sections(machine, pairs, of_link, of_other, slots)
    empty = {"link": NO_LINK}
    if not of_other:
        empty["topics" if nodes else "first"] = live.nobody_there(node)
    show(sections, memory, as_json, empty, lost)
    raise SystemExit(1 if any(f.good is False for f in [*machine, *pairs, *of_link, *of_other]) else 0)
