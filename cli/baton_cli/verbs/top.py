# SPDX-License-Identifier: Apache-2.0
"""`baton top`: topics, rates, bandwidth, latency, who holds which messages, and memory, live."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console, ConsoleOptions, Group
from rich.live import Live
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from .. import live


@dataclass
class Watched:
    """One topic: how it is watched and what came in the last interval."""

    topic: str
    type_name: str
    subscription: Any = None
    why_not: str = ""
    sizes: list[int] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)  # seconds from publish to take
    converted: int = 0  # messages that their publisher made of other objects
    lost: int = 0

    def on_message(self, message: Any) -> None:
        baton = live.load()
        info = baton.info(message)
        self.sizes.append(baton.size_bytes(message))
        self.converted += info.selection != "in place"
        self.ages.append((info.reception_time_ns - info.source_time_ns) / 1e9)

    def figures(self, seconds: float, endpoints: list[Any]) -> dict[str, Any]:
        here = [e for e in endpoints if (e.topic, e.type_name) == (self.topic, self.type_name)]
        lost = self.subscription.statuses.lost_total if self.subscription is not None else 0
        new_lost, self.lost = lost - self.lost, lost
        figures = {
            "topic": self.topic,
            "type": self.type_name,
            "publishers": [_end(e) for e in here if e.is_publisher],
            "subscriptions": [_end(e) for e in here if not e.is_publisher],
            # What overtook us unread was published too.
            "rate_hz": (len(self.sizes) + new_lost) / seconds,
            "bytes_per_s": (sum(self.sizes) + new_lost * (statistics.fmean(self.sizes) if self.sizes else 0)) / seconds,
            "latency_s": statistics.median(self.ages) if self.ages else None,
            # ATSA's selection: written in place, or converted by the publisher. None: nothing came.
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
    """Subscribes what is new, forgets what is gone. A topic with two types is two: no message passes between them."""
    baton = live.load()
    topics = {(e.topic, e.type_name) for e in endpoints if e.is_publisher and "/_" not in e.topic}
    for gone in set(known) - topics:
        node.destroy(known.pop(gone).subscription)
    for topic, type_name in sorted(topics - set(known)):
        watched = known[topic, type_name] = Watched(topic, type_name)
        try:
            # Best effort, so that looking never holds a publisher up.
            qos = baton.QoS(100, reliability="best_effort", held=1)
            cls = live.message_class(type_name)
            watched.subscription = node.subscribe(topic, cls, watched.on_message, qos)
        except (click.ClickException, baton.BatonError) as error:
            watched.why_not = str(getattr(error, "message", error)).splitlines()[0]


def held_chunks(node: Any, endpoints: list[Any], seconds: float) -> list[dict[str, Any]]:
    """Who has which messages of whom, the most memory first. What only waits to be taken here is left out."""
    known = {e.gid: e for e in endpoints}
    rows = []
    for holding in node.holdings(seconds):
        publisher, subscription = known.get(holding.publisher), known.get(holding.subscription)
        if publisher is None or subscription is None or not (holding.held or holding.unread):
            continue
        rows.append(
            {
                "topic": publisher.topic,
                "publisher": _end(publisher),
                "subscription": _end(subscription),
                "unread": holding.unread,
                "held": holding.held,
                "held_bytes": sum(c.size_bytes for c in holding.chunks),
                "chunks": [
                    {"sequence": c.sequence, "bytes": c.size_bytes, "segment": c.segment, "offset": c.offset}
                    for c in holding.chunks
                ],
            }
        )
    return sorted(rows, key=lambda r: (-r["held_bytes"], -r["unread"], r["topic"]))


_NARROW = 110  # columns below which the tables leave something out; names are cut, never broken


class _Ends:
    """Names with their process, a line each. What does not fit is cut out of the name, so that the process stays."""

    def __init__(self, ends: list[str]) -> None:
        self._ends = ends

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        for end in self._ends:
            name, _, process = end.rpartition("(")
            if (room := options.max_width - len(process) - 1) < len(name):
                name = name[: max(0, room - 1)] + "…"
            yield Text(f"{name}({process}", no_wrap=True, overflow="crop")

    def __rich_measure__(self, *_: object) -> Measurement:
        return Measurement(1, max(map(len, self._ends), default=1))


def _columns(*columns: tuple[str, str]) -> Table:
    """A table whose rows are one line for each name in them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    for name, justify in columns:
        table.add_column(
            name,
            justify=justify,  # type: ignore[arg-type]
            no_wrap=True,
            overflow="ellipsis",
            min_width=len(name),
            ratio=None if justify == "right" or name == "made" else 1,
        )
    return table


def _holders(rows: list[dict[str, Any]], width: int) -> Table:
    numbered = width >= _NARROW
    table = _columns(
        ("held by", "left"),
        ("topic", "left"),
        ("of", "left"),
        ("messages", "right"),
        ("MB", "right"),
        *([("numbers", "left")] if numbered else []),
        ("unread", "right"),
    )
    for r in rows:
        numbers = " ".join(str(c["sequence"]) for c in r["chunks"])
        table.add_row(
            _Ends([r["subscription"]]),
            r["topic"],
            _Ends([r["publisher"]]),
            str(r["held"]),
            f"{r['held_bytes'] / 1e6:.2f}",
            *([numbers + (" ..." if r["held"] > len(r["chunks"]) else "")] if numbered else []),
            str(r["unread"]),
        )
    return table


def _table(
    rows: list[dict[str, Any]],
    holders: list[dict[str, Any]],
    memory: dict[str, int],
    nodes: list[tuple[str, int]],
    domain: int,
    width: int,
) -> Group:
    wide = width >= _NARROW
    table = _columns(
        ("topic", "left"),
        *([("type", "left")] if wide else []),
        ("Hz", "right"),
        ("MB/s", "right"),
        ("latency us", "right"),
        *([("made", "left")] if wide else []),
        ("publishers", "left"),
        ("subscriptions", "left"),
    )
    for r in sorted(rows, key=lambda r: -r["bytes_per_s"]):
        latency = "" if r["latency_s"] is None else f"{r['latency_s'] * 1e6:.0f}"
        made = {None: "", 0: "in place", 1: "converted"}.get(r["converted"], "both")
        table.add_row(
            r["topic"],
            *([r["type"]] if wide else []),
            "" if r["note"] else f"{r['rate_hz']:.1f}",
            "" if r["note"] else f"{r['bytes_per_s'] / 1e6:.2f}",
            latency,
            *([made] if wide else []),
            _Ends(r["publishers"]),
            _Ends(r["subscriptions"]),
        )
    processes = len({pid for _, pid in nodes})
    limit = memory["domain_limit_bytes"]
    text = (
        f"domain {domain}: {len(nodes)} node{'s' * (len(nodes) != 1)}, {processes} process{'es' * (processes != 1)}; "
    )
    text += f"message memory {memory['domain_backed_bytes'] / 1e6:.1f} MB"
    if limit < 1 << 62:
        text += f" of {limit / 1e6:.1f} MB"
    notes = [Text(f"{r['topic']} is not watched: {r['note']}") for r in rows if r["note"]]
    return Group(Text(text), table, *notes, *([_holders(holders, width)] if holders else []))


@click.command()
@live.domain_options
@click.option("-i", "--interval", type=click.FloatRange(min=0.1), default=1.0, show_default=True, help="Seconds.")
@click.option("-n", "--count", type=click.IntRange(1), help="Leave after so many intervals.")
@click.option("--json", "as_json", is_flag=True, help="One object for each interval, a line each.")
def command(domain: int | None, search: tuple[Path, ...], interval: float, count: int | None, as_json: bool) -> None:
    """Show rates, bandwidth, latency and memory, live.

    Latency is from publish to a subscription here; also shown is who holds which messages. It subscribes every topic with best effort, so it is one more reader, and never holds a publisher up. A terminal of less than
    110 columns is not shown types, how messages were made, and the numbers of those held; --json has everything.
    """
    baton = live.load()
    node = live.join(domain, search)
    executor = baton.Executor(node)
    known: dict[tuple[str, str], Watched] = {}
    console = Console()
    shown = 0
    with (
        Live(console=console, auto_refresh=False, screen=True)
        if console.is_terminal and not as_json
        else _Lines(console) as view
    ):
        try:
            while count is None or shown < count:
                begin = time.monotonic()
                watch(node, known, live.others(node))
                while (left := begin + interval - time.monotonic()) > 0:
                    executor.spin_once(left)
                endpoints = live.others(node)
                nodes = [n for n in node.nodes() if not n[0].startswith("_baton_")]
                rows = [w.figures(time.monotonic() - begin, endpoints) for w in known.values()]
                holders = held_chunks(node, endpoints, min(interval, 1.0))
                if as_json:
                    click.echo(
                        json.dumps(
                            {"topics": rows, "holders": holders, "memory": node.memory._asdict(), "nodes": nodes}
                        )
                    )
                else:
                    view.update(
                        _table(rows, holders, node.memory._asdict(), nodes, node.domain, console.width), refresh=True
                    )
                shown += 1
        except KeyboardInterrupt:
            pass


class _Lines:
    """Where no screen is: one table below the other."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be put back."""

    def update(self, tables: Group, refresh: bool) -> None:
        self._console.print(tables)
