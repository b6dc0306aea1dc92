# SPDX-License-Identifier: Apache-2.0
"""`baton topic`: what is published, by whom, what it says and how fast."""

from __future__ import annotations

import csv
import json
import os
import statistics
import sys
import time
from collections import deque
from collections.abc import Collection
from pathlib import Path
from typing import Any

import click

from .. import live
from ..yaml_text import text_of


@click.group()
def command() -> None:
    """Look at topics, and publish."""


@command.command("list")
@live.domain_options
@click.option("-t", "--show-types", is_flag=True)
@click.option("-c", "--count-topics", is_flag=True, help="Only how many there are.")
@click.option("--include-hidden-topics", "hidden", is_flag=True, help="Also those that carry services.")
@click.option("--json", "as_json", is_flag=True)
def list_(
    domain: int | None, search: tuple[Path, ...], show_types: bool, count_topics: bool, hidden: bool, as_json: bool
) -> None:
    """List the topics that are known."""
    node = live.join(domain, search)
    topics: dict[str, set[str]] = {}
    for e in live.others(node):
        if hidden or "/_" not in e.topic:
            topics.setdefault(e.topic, set()).add(e.type_name)
    live.show_names(node, topics, "topics", show_types, count_topics, as_json)


@command.command("type")
@live.domain_options
@click.argument("topic")
def type_(domain: int | None, search: tuple[Path, ...], topic: str) -> None:
    """Print the type of TOPIC, each if its ends differ."""
    click.echo("\n".join(live.types_of(live.join(domain, search), topic, wait=False)))


@command.command()
@live.domain_options
@click.argument("type_name", metavar="TYPE")
def find(domain: int | None, search: tuple[Path, ...], type_name: str) -> None:
    """List the topics of TYPE."""
    wanted = live.short_type(type_name)
    for topic in sorted({e.topic for e in live.others(live.join(domain, search)) if e.type_name == wanted}):
        click.echo(topic)


@command.command()
@live.domain_options
@click.argument("topic")
@click.option("-v", "--verbose", is_flag=True, help="Every publisher and subscription.")
@click.option("--json", "as_json", is_flag=True)
def info(domain: int | None, search: tuple[Path, ...], topic: str, verbose: bool, as_json: bool) -> None:
    """Print who publishes and subscribes TOPIC."""
    node = live.join(domain, search)
    types = live.types_of(node, topic, wait=False)
    here = [e for e in live.others(node) if e.topic == live.absolute(topic)]
    if as_json:
        keys = ("reliability", "history", "depth", "durability", "deadline", "lifespan", "liveliness", "lease", "held")
        ends = [
            {
                "kind": "publisher" if e.is_publisher else "subscription",
                "node": e.node,
                "pid": e.pid,
                "gid": e.gid.hex(),
                "type": e.type_name,
                "type_hash": e.type_hash.hex(),
                "qos": {k: getattr(e.qos, k) for k in keys},
            }
            for e in here
        ]
        click.echo(json.dumps({"type": types[0], "types": types, "endpoints": ends}))
        return
    click.echo("\n".join(f"Type: {t}" for t in types))
    for kind, publishers in (("Publisher", True), ("Subscription", False)):
        ends = [e for e in here if e.is_publisher == publishers]
        click.echo(("\n" if verbose else "") + f"{kind} count: {len(ends)}")
        for number, e in enumerate(ends if verbose else []):
            click.echo(("\n" if number else "") + f"  Node name: {live.node_name(e.node)}\n  Process: {e.pid}")
            if len(types) > 1:
                click.echo(f"  Type: {e.type_name}")
            click.echo(f"  GID: {e.gid.hex()}\n  Type hash: {e.type_hash.hex()}")
            click.echo(
                f"  QoS: {e.qos.reliability}, {e.qos.history} {e.qos.depth}, {e.qos.durability}"
                + (f", holds {e.qos.held}" if not publishers else "")
            )


@command.command()
@live.domain_options
@click.argument("topic")
@click.argument("type_name", metavar="[TYPE]", required=False)
@click.option("--once", is_flag=True, help="Leave after one message.")
@click.option("-n", "--count", type=click.IntRange(1), help="Leave after so many messages.")
@click.option("--field", help="Only this field, e.g. pose.position or poses[0].")
@click.option(
    "--filter", "condition", metavar="EXPR", help="Only messages m for which this Python is true: 'm.data > 3'."
)
@click.option(
    "-l", "--truncate-length", type=click.IntRange(0), default=32, show_default=True, help="Elements; 0: all."
)
@click.option("-f", "--full-length", is_flag=True, help="The same as -l 0.")
@click.option("--no-arr", is_flag=True, help="Arrays only as their length.")
@click.option("--csv", "as_csv", is_flag=True)
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.option("--timeout", type=float, help="Seconds to wait for a message.")
def echo(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str | None,
    once: bool,
    count: int | None,
    field: str | None,
    condition: str | None,
    truncate_length: int,
    full_length: bool,
    no_arr: bool,
    as_csv: bool,
    as_json: bool,
    timeout: float | None,
) -> None:
    """Print messages of TOPIC as YAML. Long arrays are cut: an image does not print megabytes."""
    baton = live.load()
    wanted = live.condition(condition)
    node = live.join(domain, search)
    subscription = live.subscribe(node, topic, type_name, timeout=timeout)
    limit = 0 if full_length else truncate_length
    left = 1 if once else count
    writer = csv.writer(sys.stdout)
    while left is None or left > 0:
        message = subscription.take(timeout)
        if message is None:
            raise click.ClickException(f"no message on {live.absolute(topic)} for {timeout} s")
        if not wanted(message):
            continue
        value = live.field_of(message, field) if field else message
        if as_json or as_csv or field or no_arr:
            data = _lengths(value) if no_arr else live.plain(value, limit)
            if as_json:
                click.echo(json.dumps(data))
            elif as_csv:
                writer.writerow(live.leaves(data))
                sys.stdout.flush()
            else:
                click.echo(text_of(data) + "---")
        else:
            text = baton.format_message(message, limit, 0 if full_length else 128, hide_header_seq=True)
            click.echo(text + "---")
        del message, value
        left = None if left is None else left - 1


def _lengths(value: Any) -> Any:
    baton = live.load()
    if isinstance(value, baton.Message):
        return {name: _lengths(part) for name, part in live.members(value).items()}
    if hasattr(value, "__len__") and not isinstance(value, str):
        return f"<{len(value)} elements>"
    return value


def _sampling(function: Any) -> Any:
    for option in (
        click.option("-n", "--count", type=click.IntRange(2), help="Leave after so many messages."),
        click.option(
            "-w", "--window", type=click.IntRange(2), default=1000, show_default=True, help="Messages looked at."
        ),
        click.option("--json", "as_json", is_flag=True),
        click.argument("type_name", metavar="[TYPE]", required=False),
        click.argument("topic"),
        live.domain_options,
    ):
        function = option(function)
    return function


def _watch(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str | None,
    count: int | None,
    show: Any,
    sample: Any,
) -> None:
    """Calls sample(message) for each, and show() every second and at the end."""
    node = live.join(domain, search)
    subscription = live.subscribe(node, topic, type_name, 100)
    seen, shown, next_show = 0, -1, time.monotonic() + 1
    try:
        while count is None or seen < count:
            message = subscription.take(max(0.0, next_show - time.monotonic()))
            if message is not None:
                seen += 1
                sample(message)
                del message
            if time.monotonic() >= next_show:
                next_show += 1
                if seen == shown or seen == 0:
                    click.echo("no new messages")
                else:
                    show()
                shown = seen
    except KeyboardInterrupt:
        pass
    if seen != shown and seen > 0:
        show()


def _show_spread(first: dict[str, float], title: str, seconds: Collection[float], window: int, as_json: bool) -> None:
    """Least, most and standard deviation of times, behind what they are about."""
    low, high, deviation = min(seconds), max(seconds), statistics.pstdev(seconds)
    if as_json:
        click.echo(json.dumps({**first, "min_s": low, "max_s": high, "std_dev_s": deviation, "window": window}))
    else:
        click.echo(f"{title}\n\tmin: {low:.6f}s max: {high:.6f}s std dev: {deviation:.6f}s window: {window}")


@command.command()
@_sampling
def hz(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str | None,
    count: int | None,
    window: int,
    as_json: bool,
) -> None:
    """Print the rate of TOPIC, by the publisher's clock."""
    baton = live.load()
    times: deque[int] = deque(maxlen=window)

    def show() -> None:
        if len(times) < 2:
            return
        gaps = [(b - a) / 1e9 for a, b in zip(times, list(times)[1:], strict=False)]
        mean = statistics.fmean(gaps)
        rate = 1 / mean if mean > 0 else 0.0
        _show_spread({"rate_hz": rate}, f"average rate: {rate:.3f}", gaps, len(times), as_json)

    _watch(domain, search, topic, type_name, count, show, lambda m: times.append(baton.info(m).source_monotonic_ns))


@command.command()
@_sampling
def bw(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str | None,
    count: int | None,
    window: int,
    as_json: bool,
) -> None:
    """Print bytes per second and per message of TOPIC. This is what copying them would take."""
    baton = live.load()
    sizes: deque[tuple[int, int]] = deque(maxlen=window)

    def show() -> None:
        span = (sizes[-1][0] - sizes[0][0]) / 1e9
        rate = sum(s for _, s in list(sizes)[1:]) / span if span > 0 else 0.0
        values = [s for _, s in sizes]
        if as_json:
            click.echo(
                json.dumps(
                    {"bytes_per_s": rate, "mean": statistics.fmean(values), "min": min(values), "max": max(values)}
                )
            )
        else:
            click.echo(
                f"{_bytes(rate)}/s from {len(values)} messages\n\tmessage size mean: {_bytes(statistics.fmean(values))} "
                f"min: {_bytes(min(values))} max: {_bytes(max(values))}"
            )

    _watch(
        domain,
        search,
        topic,
        type_name,
        count,
        show,
        lambda m: sizes.append((baton.info(m).source_monotonic_ns, baton.size_bytes(m))),
    )


def _bytes(value: float) -> str:
    if value < 1000:
        return f"{value:.0f} B"
    for unit in ("KB", "MB"):
        value /= 1000
        if value < 1000:
            return f"{value:.2f} {unit}"
    return f"{value / 1000:.2f} GB"


@command.command()
@_sampling
def delay(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str | None,
    count: int | None,
    window: int,
    as_json: bool,
) -> None:
    """Print how old messages of TOPIC are. Their age counts from header.stamp if it is set, else from publish()."""
    baton = live.load()
    ages: deque[float] = deque(maxlen=window)

    def sample(message: Any) -> None:
        info = baton.info(message)
        stamp = getattr(getattr(message, "header", None), "stamp", None)
        since = stamp.sec * 10**9 + stamp.nanosec if stamp is not None else 0
        ages.append((info.reception_time_ns - (since or info.source_time_ns)) / 1e9)

    def show() -> None:
        mean = statistics.fmean(ages)
        _show_spread({"mean_s": mean}, f"average delay: {mean:.6f}", ages, len(ages), as_json)

    _watch(domain, search, topic, type_name, count, show, sample)


@command.command()
@live.domain_options
@click.argument("topic")
@click.argument("type_name", metavar="TYPE")
@click.argument("values", required=False, default="{}")
@click.option("-r", "--rate", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Hz.")
@click.option("-1", "--once", is_flag=True, help="One message, when somebody subscribes; waits until it was taken.")
@click.option("-t", "--times", type=click.IntRange(1), help="So many messages.")
@click.option(
    "-w", "--wait-matching-subscriptions", "wait", type=click.IntRange(0), help="Default: 1 with -1 or -t, else 0."
)
@click.option("--durability", type=click.Choice(["volatile", "transient_local"]), default="volatile", show_default=True)
@click.option("--reliability", type=click.Choice(["reliable", "best_effort"]), default="reliable", show_default=True)
def pub(
    domain: int | None,
    search: tuple[Path, ...],
    topic: str,
    type_name: str,
    values: str,
    rate: float,
    once: bool,
    times: int | None,
    wait: int | None,
    durability: str,
    reliability: str,
) -> None:
    """Publish on TOPIC; VALUES are YAML: '{data: hello}'."""
    baton = live.load()
    node = live.join(domain, search, f"topic_pub_{os.getpid()}")
    cls = live.message_class(type_name)
    message = live.message_from_yaml(cls, values, type_name)
    publisher = node.advertise(topic, cls, baton.QoS(10, durability=durability, reliability=reliability))
    left = 1 if once else times
    wait = (1 if left else 0) if wait is None else wait
    if not publisher.wait_for_subscriptions(wait, 0.3):
        name = live.absolute(topic)
        click.echo(f"waiting for {wait} subscription{'s' if wait > 1 else ''} to {name} ...", err=True)
        if differing := sorted({e.type_name for e in live.others(node) if e.topic == name} - {cls._struct.full_name}):
            click.echo(f"there is {name} with another type: {', '.join(differing)}", err=True)
        publisher.wait_for_subscriptions(wait)
    next_time = time.monotonic()
    while left is None or left > 0:
        number = publisher.publish(message)
        click.echo(f"publishing #{number}: {json.dumps(live.plain(message, 32))}")
        left = None if left is None else left - 1
        if left != 0:
            next_time += 1 / rate
            time.sleep(max(0.0, next_time - time.monotonic()))
    publisher.wait_for_all_acked(5)
