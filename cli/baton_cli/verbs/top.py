# SPDX-License-Identifier: Apache-2.0
"""`baton top`: topics, rates, bandwidth, latency, held and lost messages of each subscription, and memory, live."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group
from rich.live import Live

from .. import links, live, losses, middleware
from ..examples import examples
from ..option_numbers import Seconds
from ..output import json_text
from ..terminal_keys import Keys, keys
from ..top_view import SORTS, TopView, picture


@dataclass
class Watched:
    """One topic: its subscription, and the messages of the last interval."""

    topic: str
    type_name: str
    far: bool = False  # published by other hosts only
    subscription: Any = None
    why_not: str = ""
    sizes: list[int] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)  # seconds from publish to take
    converted: int = 0  # messages that their publisher copied from other objects
    lost: int = 0

    def on_message(self, message: Any) -> None:
        baton = live.load()
        info = baton.info(message)
        self.sizes.append(baton.size_bytes(message))
        self.converted += info.selection != "in place"
        self.ages.append((info.reception_time_ns - info.source_time_ns) / 1e9)

    def figures(self, seconds: float, here: list[Any]) -> dict[str, Any]:
        """`here`: the topic's endpoints."""
        lost = self.subscription.statuses.lost_total if self.subscription is not None else 0
        new_lost, self.lost = lost - self.lost, lost
        figures = {
            "topic": self.topic,
            "type": self.type_name,
            "publishers": [_end(e) for e in here if e.is_publisher],
            "subscriptions": [_end(e) for e in here if not e.is_publisher],
            # Messages that were overwritten before this command took them were published, too.
            "rate_hz": (len(self.sizes) + new_lost) / seconds,
            "bytes_per_s": (sum(self.sizes) + new_lost * (statistics.fmean(self.sizes) if self.sizes else 0)) / seconds,
            "latency_s": statistics.median(self.ages) if self.ages else None,
            # ATSA's selection: written in place, or converted by the publisher. None: no message came.
            "converted": self.converted / len(self.sizes) if self.sizes else None,
            "note": self.why_not,
        }
        self.sizes.clear()
        self.ages.clear()
        self.converted = 0
        return figures


def _end(endpoint: Any) -> str:
    return f"{endpoint.node.lstrip('/')}({endpoint.pid})"


def watch(node: Any, known: dict[tuple[str, str], Watched], endpoints: list[Any]) -> None:
    """Subscribes to new topics, and forgets topics that have ended. A topic with two types counts as two topics. A topic that only
    other hosts publish is not subscribed: the subscription alone would make it travel. The link knows the rates of topics that travel."""
    baton = live.load()
    topics = {(e.topic, e.type_name): e for e in endpoints if e.is_publisher and "/_" not in e.topic}
    here = {(e.topic, e.type_name) for e in endpoints if e.is_publisher and not links.host_of(e.node)}
    for gone in {key for key, watched in known.items() if key not in topics or watched.far == (key in here)}:
        if (subscription := known.pop(gone).subscription) is not None:
            node.destroy(subscription)
    watching = sum(each.subscription is not None for each in known.values())
    full = f"there are more than {live.MOST_WATCHED} topics"
    left_out = {key for key, watched in known.items() if watched.why_not == full}
    for topic, type_name in sorted((set(topics) - set(known)) | left_out):
        watched = known[topic, type_name] = Watched(topic, type_name, far=(topic, type_name) not in here)
        if watched.far:
            continue
        if watching >= live.MOST_WATCHED:
            watched.why_not = full
            continue
        try:
            # Best effort, so that this command never delays a publisher.
            qos = baton.QoS(100, reliability="best_effort", held=1)
            cls = live.message_class_as(topics[topic, type_name])
            watched.subscription = node.subscribe(topic, cls, watched.on_message, qos)
            watching += 1
        except (click.ClickException, baton.BatonError) as error:
            watched.why_not = str(getattr(error, "message", error)).splitlines()[0]


def lost_messages(
    endpoints: list[Any], before: dict[bytes, Any], now: dict[bytes, Any], seconds: float
) -> list[dict[str, Any]]:
    """The losses of each subscription, the highest rate first. `before`: the counts one interval earlier."""
    rows = []
    for e in endpoints:
        if e.is_publisher or e.gid not in now:
            continue
        counts, earlier = losses.as_json(now[e.gid]), losses.as_json(before.get(e.gid))
        rows.append(
            {
                "topic": middleware.topic_of(e.topic),
                "subscription": _end(e),
                "lost_hz": max(0, counts["total"] - earlier["total"]) / seconds,
                "short": losses.short(counts),
                "why": "; ".join(filter(None, [losses.why(counts, e.qos), losses.remarks(counts)])),
                **counts,
            }
        )
    return sorted(rows, key=lambda r: (-r["lost_hz"], -r["total"], r["topic"], r["subscription"]))


def held_chunks(holdings: list[Any], endpoints: list[Any]) -> list[dict[str, Any]]:
    """The messages that subscriptions hold, by publisher, the largest memory first. Without messages that only wait for this command."""
    known = {e.gid: e for e in endpoints}
    rows = []
    for holding in holdings:
        publisher, subscription = known.get(holding.publisher), known.get(holding.subscription)
        if publisher is None or subscription is None or not (holding.held or holding.unread):
            continue
        rows.append(
            {
                "topic": middleware.topic_of(publisher.topic),
                "publisher": _end(publisher),
                "subscription": _end(subscription),
                "unread": holding.unread,
                "held": holding.held,
                "held_bytes": holding.held_bytes,
                "chunks": [
                    {"sequence": c.sequence, "bytes": c.size_bytes, "segment": c.segment, "offset": c.offset}
                    for c in holding.chunks
                ],
            }
        )
    return sorted(rows, key=lambda r: (-r["held_bytes"], -r["unread"], r["topic"]))


class _LinkWatch:
    """The state of this host's link, once an interval."""

    def __init__(self, first: Any) -> None:
        self._before = first

    def rows(self, now: Any) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
        """The link with its hosts, None without a link; and the topics that travel."""
        if links.is_absent(now):
            return None, []
        state = now.current
        if state is None:
            return {"trouble": links.trouble(now), "hosts": []}, []
        first = self._before.state
        rates = links.Rates(first, state)
        # The link writes once a second: a shorter interval keeps the older reading.
        if first is None or state.monotonic_ns - first.monotonic_ns > 9e8:
            self._before = now
        of_link = {"trouble": state.why, "host": state.host_name, "phase": state.phase, "port": state.port}
        return {**of_link, "hosts": links.host_rows(state, rates)}, links.topic_rows(state, rates)


def from_afar(rows: list[dict[str, Any]], travelling: list[dict[str, Any]], far: set[tuple[str, str]]) -> None:
    """Rates of topics that are not subscribed because other hosts publish them: the link's rates."""
    brought = {(t["topic"], t["type"]): t for t in travelling if t["direction"] == "receive"}
    for row in rows:
        if (key := (row["topic"], row["type"])) in far:
            found = brought.get(key, {})
            row["rate_hz"] = found.get("rate_hz") or 0.0
            row["bytes_per_s"] = found.get("bytes_per_s") or 0.0


class _Other:
    """The links of another middleware, looked at once an interval."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._before = time.monotonic(), live.other_graph(node)

    def rows(self, holdings: list[Any]) -> list[dict[str, Any]]:
        """A row for each link. The middleware counts messages that it sends itself, not those that Baton's queues take."""
        now, graph = time.monotonic(), live.other_graph(self._node, quiet=True)
        (then, before), self._before = self._before, (now, graph)
        if graph is None:
            return []
        seconds = now - then
        graph = middleware.since(before, graph) if before else graph
        judged = middleware.brought().judged(graph, live.others(self._node), holdings, self._node.domain)
        return [
            {
                "topic": link.topic,
                "publisher": _other_end(link.publisher),
                "subscriber": _other_end(link.subscriber),
                "rate_hz": _rate(link, way, link.messages / seconds),
                "bytes_per_s": _rate(link, way, link.bytes / seconds),
                "way": way.way,
                "copies": way.copies,
                "why": way.why,
                "way_out": way.way_out,
            }
            for link, way in judged
        ]


def _rate(link: middleware.ForeignLink, way: middleware.MessagePath, rate: float) -> float | None:
    """None: the middleware does not count it."""
    return (rate if link.recent else 0.0) if way.counted else None


def _other_end(node: middleware.ForeignNode) -> str:
    return f"{node.name.lstrip('/')}({node.pid or node.host or '?'})"


_LOOK = 0.05  # seconds between two reads of the keys


@examples("baton top", "baton top --sort Hz --filter '/camera/*'", "baton top -n 1 --json")
@click.command()
@live.domain_options
@click.option("-i", "--interval", type=Seconds(min=0.1), default=1.0, show_default=True, help="Seconds.")
@click.option("-n", "--count", type=click.IntRange(1), help="Leave after so many intervals.")
@click.option("-s", "--sort", type=click.Choice(SORTS, case_sensitive=False), default=SORTS[0], show_default=True)
@click.option(
    "--filter", "pattern", default="", metavar="TEXT", help="Topics whose name, type or node has it; * and ?."
)
@click.option("--json", "as_json", is_flag=True, help="One object for each interval, a line each.")
def command(
    domain: int | None,
    search: tuple[Path, ...],
    interval: float,
    count: int | None,
    sort: str,
    pattern: str,
    as_json: bool,
) -> None:
    """Show rates, bandwidth, latency, losses and memory, live.

    Latency is the time from publish to a subscription of this command. Also shown are the messages that each subscription holds, and the
    subscriptions that lost messages, with the reason. The command subscribes to every topic with best effort, so it is one more reader, and never
    delays a publisher. It does not subscribe to topics of other hosts, because they would travel only for this: their rate is the link's.

    In a domain of another middleware's nodes it also shows their links, and which way the messages of each take.

    Keys: q leaves, the arrows and page keys scroll, s sorts by the next column, r reverses, / filters. A terminal of less than
    110 columns is not shown types, how messages were made, and the numbers of those held; --json has everything.
    """
    baton = live.load()
    node = live.join(domain, search)
    executor = baton.Executor(node)
    known: dict[tuple[str, str], Watched] = {}
    other, of_other = middleware.brought(), _Other(node)
    console = Console()
    view = TopView(sort=sort, pattern=pattern)
    screen = console.is_terminal and not as_json
    figures: dict[str, Any] = {}
    report, lost_at = node.report(live.ANSWER_S), time.monotonic()
    lost, of_link = report.losses, _LinkWatch(report.link)
    shown = 0

    def draw() -> None:
        if not figures:
            return
        at = (node.domain, console.width, view, console.height if screen else None)
        output.update(
            picture(
                figures["topics"],
                figures["holders"],
                figures["memory"],
                figures["nodes"],
                *at,
                other=other,
                links=figures.get(other.KEY) if other else None,
                link=figures["link"],
                losers=figures["losers"],
            ),
            refresh=True,
        )

    with (
        Live(console=console, auto_refresh=False, screen=True) if screen else _Lines(console) as output,
        Keys(screen) as terminal,
    ):
        try:
            while not view.done and (count is None or shown < count):
                begin = time.monotonic()
                watch(node, known, live.others(node))
                next_look = begin
                while not view.done and (left := begin + interval - time.monotonic()) > 0:
                    executor.spin_once(min(left, _LOOK) if screen else left)
                    if screen and time.monotonic() >= next_look:
                        next_look = time.monotonic() + _LOOK
                        for key in (typed := list(keys(terminal.typed()))):
                            view.on_key(key)
                        if typed:
                            draw()
                if view.done:
                    break
                endpoints = live.others(node)
                seconds = time.monotonic() - begin
                ends: dict[tuple[str, str], list[Any]] = {}
                for e in endpoints:
                    ends.setdefault((e.topic, e.type_name), []).append(e)
                topics = [w.figures(seconds, ends.get(key, [])) for key, w in known.items()]
                lost_before, before_at = lost, lost_at
                report = node.report(min(interval, 1.0))
                lost, lost_at = report.losses, time.monotonic()
                link, travelling = of_link.rows(report.link)
                from_afar(topics, travelling, {key for key, watched in known.items() if watched.far})
                figures = {
                    "topics": topics,
                    "holders": held_chunks(report.holdings, endpoints),
                    "losers": lost_messages(endpoints, lost_before, lost, lost_at - before_at),
                    "memory": asdict(node.memory),
                    **({other.KEY: of_other.rows(report.holdings)} if other else {}),
                    "link": None if link is None else {**link, "topics": travelling},
                    "nodes": [n for n in node.nodes() if not n[0].startswith("_baton_")],
                }
                if as_json:
                    figures["topics"] = view.sorted(figures["topics"])
                    click.echo(json_text(figures))
                else:
                    draw()
                shown += 1
        except KeyboardInterrupt:
            pass


class _Lines:
    """Prints one table below the other, where there is no screen."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        """Restores nothing, because nothing was changed."""

    def update(self, tables: Group, refresh: bool) -> None:
        self._console.print(tables)
