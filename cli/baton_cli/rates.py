# SPDX-License-Identifier: Apache-2.0
"""`baton topic hz`, `bw` and `delay`: figures of one topic in lines, or of many topics in one table."""

from __future__ import annotations

import fnmatch
import re
import statistics
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from . import live
from .examples import examples
from .output import json_text

_TYPE = re.compile(r"[a-z]\w*/(msg/)?[A-Z]\w*", re.ASCII)
_PATTERN = re.compile(r"[*?\[]")


def bytes_text(value: float) -> str:
    if value < 1000:
        return f"{value:.0f} B"
    for unit in ("KB", "MB"):
        value /= 1000
        if value < 1000:
            return f"{value:.2f} {unit}"
    return f"{value / 1000:.2f} GB"


class Meter(ABC):
    """Times and sizes of the last `window` messages of one topic."""

    columns: tuple[str, ...] = ()

    def __init__(self, topic: str, window: int) -> None:
        self.topic = topic
        self.seen = 0
        self.shown = 0
        self.why_not = ""
        self.values: deque[Any] = deque(maxlen=window)

    def on_message(self, message: Any) -> None:
        self.seen += 1
        self.values.append(self.value_of(message))

    @abstractmethod
    def value_of(self, message: Any) -> Any:
        """Keeps the times and the size of one message."""

    @abstractmethod
    def figures(self) -> dict[str, float]:
        """The figures for --json; empty while there are too few messages."""

    @abstractmethod
    def text(self, figures: dict[str, float]) -> str:
        """A line of text for one topic."""

    @abstractmethod
    def cells(self, figures: dict[str, float]) -> list[str]:
        """The cells of a table's row, one for each of `columns`."""


def _spread(seconds: list[float] | deque[float], window: int) -> dict[str, float]:
    return {
        "min_s": min(seconds),
        "max_s": max(seconds),
        "std_dev_s": statistics.pstdev(seconds),
        "window": window,
    }


def _spread_text(title: str, f: dict[str, float]) -> str:
    low, high, deviation = f["min_s"], f["max_s"], f["std_dev_s"]
    return f"{title}\n\tmin: {low:.6f}s max: {high:.6f}s std dev: {deviation:.6f}s window: {f['window']}"


def _spread_cells(f: dict[str, float]) -> list[str]:
    return [f"{f[key] * 1e3:.3f}" for key in ("min_s", "max_s", "std_dev_s")] + [str(f["window"])]


class RateMeter(Meter):
    columns = ("Hz", "min ms", "max ms", "std dev ms", "window")

    def value_of(self, message: Any) -> int:
        return int(live.load().info(message).source_monotonic_ns)

    def figures(self) -> dict[str, float]:
        if len(self.values) < 2:
            return {}
        times = list(self.values)
        gaps = [(b - a) / 1e9 for a, b in zip(times, times[1:], strict=False)]
        mean = statistics.fmean(gaps)
        return {"rate_hz": 1 / mean if mean > 0 else 0.0, **_spread(gaps, len(times))}

    def text(self, figures: dict[str, float]) -> str:
        return _spread_text(f"average rate: {figures['rate_hz']:.3f}", figures)

    def cells(self, figures: dict[str, float]) -> list[str]:
        return [f"{figures['rate_hz']:.3f}", *_spread_cells(figures)]


class Width(Meter):
    columns = ("per second", "mean", "min", "max", "messages")

    def value_of(self, message: Any) -> tuple[int, int]:
        baton = live.load()
        return int(baton.info(message).source_monotonic_ns), int(baton.size_bytes(message))

    def figures(self) -> dict[str, float]:
        if not self.values:
            return {}
        found = list(self.values)
        span = (found[-1][0] - found[0][0]) / 1e9
        sizes = [size for _, size in found]
        rate = sum(sizes[1:]) / span if span > 0 else 0.0
        return {
            "bytes_per_s": rate,
            "mean": statistics.fmean(sizes),
            "min": min(sizes),
            "max": max(sizes),
            "messages": len(sizes),
        }

    def text(self, figures: dict[str, float]) -> str:
        mean, low, high = (bytes_text(figures[key]) for key in ("mean", "min", "max"))
        return (
            f"{bytes_text(figures['bytes_per_s'])}/s from {figures['messages']} messages\n"
            f"\tmessage size mean: {mean} min: {low} max: {high}"
        )

    def cells(self, figures: dict[str, float]) -> list[str]:
        sizes = [bytes_text(figures[key]) for key in ("bytes_per_s", "mean", "min", "max")]
        return [f"{sizes[0]}/s", *sizes[1:], str(figures["messages"])]


class Age(Meter):
    columns = ("mean ms", "min ms", "max ms", "std dev ms", "window")

    def value_of(self, message: Any) -> float:
        info = live.load().info(message)
        stamp = getattr(getattr(message, "header", None), "stamp", None)
        since = stamp.sec * 10**9 + stamp.nanosec if stamp is not None else 0
        return float(info.reception_time_ns - (since or info.source_time_ns)) / 1e9

    def figures(self) -> dict[str, float]:
        if not self.values:
            return {}
        return {"mean_s": statistics.fmean(self.values), **_spread(self.values, len(self.values))}

    def text(self, figures: dict[str, float]) -> str:
        return _spread_text(f"average delay: {figures['mean_s']:.6f}", figures)

    def cells(self, figures: dict[str, float]) -> list[str]:
        return [f"{figures['mean_s'] * 1e3:.3f}", *_spread_cells(figures)]


def wanted(names: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """Topics and patterns with the types that stand behind them."""
    found: list[tuple[str, str | None]] = []
    for name in names:
        if _TYPE.fullmatch(name) and found and found[-1][1] is None:
            found[-1] = (found[-1][0], name)
        else:
            pattern = bool(_PATTERN.search(name))
            found.append(((name if name.startswith("/") else "/" + name) if pattern else live.absolute(name), None))
    return found


class _RateWatch:
    """The meters of one command, fed by an executor."""

    def __init__(self, node: Any, names: tuple[str, ...], everything: bool, make: Callable[[str], Meter]) -> None:
        if not names and not everything:
            raise click.UsageError("name topics or patterns, such as '/camera/*', or give --all")
        self._node = node
        self._make = make
        named = wanted(names)
        self._patterns = ["/*"] if everything else [name for name, _ in named if _PATTERN.search(name)]
        topics = [(name, kind) for name, kind in named if not _PATTERN.search(name)]
        self.single = len(topics) == 1 and not self._patterns
        self.meters: dict[tuple[str, str], Meter] = {}
        self._waiting = [] if self.single else topics
        self._full = False
        if self.single:
            name, kind = topics[0]
            self._add(name, kind or live.type_of(node, name), 100)

    def look(self) -> None:
        """Subscribes to topics that have appeared since the last call."""
        ends = [e for e in live.others(self._node) if e.is_publisher and "/_" not in e.topic]
        for name, kind in self._waiting:
            types = {e.type_name for e in ends if e.topic == name}
            for type_name in {live.short_type(kind)} if kind and types else types:
                self._add(name, type_name, 100)
        for e in ends:
            if any(fnmatch.fnmatchcase(e.topic, pattern) for pattern in self._patterns):
                self._add(e.topic, e.type_name, 100)

    def _add(self, topic: str, type_name: str, depth: int) -> None:
        if (topic, type_name) in self.meters:
            return
        if len(self.meters) >= live.MOST_WATCHED:
            if not self._full:
                click.echo(f"there are more than {live.MOST_WATCHED} topics: name those that matter", err=True)
            self._full = True
            return
        meter = self.meters[topic, type_name] = self._make(topic)
        try:
            live.subscribe(self._node, topic, type_name, depth, callback=meter.on_message)
        except click.ClickException as error:
            if self.single:
                raise
            meter.why_not = str(error.message).splitlines()[0]

    def waiting(self) -> list[str]:
        """Named topics without a publisher so far."""
        there = {topic for topic, _ in self.meters}
        return [name for name, _ in self._waiting if name not in there]

    def say_what_is_missing(self) -> None:
        """Reports on stderr the named topics without a publisher, with similar names."""
        for name in self.waiting():
            click.echo(f"nobody publishes {name}; {live.instead_of(self._node, name)}", err=True)
        if not self.meters and self._patterns and not self._waiting:
            click.echo(f"no topic is named {' or '.join(self._patterns)} yet", err=True)


def table(meters: list[Meter], columns: tuple[str, ...]) -> Table:
    """One row for each topic, in the order of their names."""
    result = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    result.add_column("topic", no_wrap=True, overflow="ellipsis")
    for name in columns:
        result.add_column(name, justify="right", no_wrap=True)
    for meter in sorted(meters, key=lambda m: m.topic):
        figures = meter.figures()
        news = meter.seen != meter.shown
        empty = meter.why_not or ("no new messages" if meter.seen else "no messages yet")
        cells = map(Text, meter.cells(figures)) if figures and news else [Text(empty, "dim")]
        result.add_row(Text(meter.topic), *cells)
    return result


def _run(
    kind: type[Meter],
    domain: int | None,
    search: tuple[Path, ...],
    topics: tuple[str, ...],
    everything: bool,
    count: int | None,
    window: int,
    as_json: bool,
) -> None:
    baton = live.load()
    node = live.join(domain, search)
    watch = _RateWatch(node, topics, everything, lambda topic: kind(topic, window))
    executor = baton.Executor(node)
    console = Console()
    screen: Live | None = None
    if not watch.single and not as_json and console.is_terminal:
        screen = Live(console=console, auto_refresh=False)
        screen.start()

    def finished() -> bool:
        counted = [m for m in watch.meters.values() if not m.why_not]
        return count is not None and bool(counted) and not watch.waiting() and all(m.seen >= count for m in counted)

    def show() -> None:
        meters = list(watch.meters.values())
        if watch.single:
            (meter,) = meters
            figures = meter.figures()
            if meter.seen == meter.shown:
                click.echo("no new messages")
            elif figures:
                click.echo(json_text(figures) if as_json else meter.text(figures))
        elif as_json:
            click.echo(json_text({"topics": [{"topic": m.topic, **m.figures()} for m in meters]}))
        else:
            for name in watch.waiting():
                meters.append(kind(name, window))
            found = table(meters, kind.columns)
            if screen is None:
                console.print(found)
            else:
                screen.update(found, refresh=True)
        for meter in watch.meters.values():
            meter.shown = meter.seen

    next_show = time.monotonic() + 1
    said = False
    try:
        while not finished():
            if not watch.single:
                watch.look()
            while (left := next_show - time.monotonic()) > 0 and not finished():
                executor.spin_once(left)
            if finished():
                break
            if not said:
                watch.say_what_is_missing()
                said = True
            show()
            next_show += 1
    except KeyboardInterrupt:
        pass
    finally:
        if any(m.seen != m.shown for m in watch.meters.values()):
            show()
        if screen is not None:
            screen.stop()


def _command(kind: type[Meter], name: str, text: str, *shown: str) -> click.Command:
    @examples(*shown)
    @click.command(name, help=text + "\n\n" + _SEVERAL)
    @live.domain_options
    @click.argument("topics", nargs=-1, metavar="[TOPIC [TYPE]]...", shell_complete=live.complete_topics)
    @click.option("-a", "--all", "everything", is_flag=True, help="All topics, also those that come later.")
    @click.option("-n", "--count", type=click.IntRange(2), help="Leave after so many messages of each topic.")
    @click.option("-w", "--window", type=click.IntRange(2), default=1000, show_default=True, help="Messages looked at.")
    @click.option("--json", "as_json", is_flag=True, help="One object a line.")
    def run(**options: Any) -> None:
        _run(kind, **options)

    return run


_SEVERAL = "Several topics, or a pattern such as '/camera/*', make one table. TYPE is needed if a topic has several."
hz = _command(
    RateMeter,
    "hz",
    "Print the rate of TOPIC, by the publisher's clock.",
    "baton topic hz /camera/image",
    "baton topic hz '/camera/*' /imu",
    "baton topic hz --all",
)
bw = _command(
    Width,
    "bw",
    "Print bytes per second and per message of TOPIC. This is what copying them would take.",
    "baton topic bw /camera/image",
    "baton topic bw '/camera/*' /points -n 100",
)
delay = _command(
    Age,
    "delay",
    "Print how old messages of TOPIC are. Their age counts from header.stamp if it is set, else from publish().",
    "baton topic delay /camera/image",
    "baton topic delay '/camera/*'",
)
