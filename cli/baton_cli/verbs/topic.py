# SPDX-License-Identifier: Apache-2.0
"""`baton topic`: topics, their endpoints, messages and rates."""

from __future__ import annotations

import csv
import os
import shutil
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import click

from .. import links, live, losses, middleware, rates
from ..examples import examples
from ..groups import VerbGroup
from ..option_numbers import Number, Seconds
from ..output import json_text
from ..yaml_text import text_of


@examples("baton topic list -t", "baton topic echo /chatter")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at topics, and publish."""


@examples("baton topic list", "baton topic list -t", "baton topic list --domain 7 --json")
@command.command("list")
@live.domain_options
@click.option("-t", "--show-types", is_flag=True)
@click.option("-c", "--count-topics", is_flag=True, help="Only how many there are.")
@click.option("--include-hidden-topics", "hidden", is_flag=True, help="Also those that carry services.")
@click.option("--hosts", "show_hosts", is_flag=True, help="Also which other hosts publish each (baton link).")
@click.option("--json", "as_json", is_flag=True)
def list_(
    domain: int | None,
    search: tuple[Path, ...],
    show_types: bool,
    count_topics: bool,
    hidden: bool,
    show_hosts: bool,
    as_json: bool,
) -> None:
    """List the topics that are known, those of other hosts among them."""
    if show_hosts and (as_json or count_topics):
        raise click.UsageError(
            "--hosts is for people; for programs: baton topic info TOPIC --json, baton link status --json"
        )
    node = live.join(domain, search)
    live.say_if_link_is_dead(node)
    topics: dict[str, set[str]] = {}
    for e in live.others(node):
        if hidden or "/_" not in e.topic:
            topics.setdefault(e.topic, set()).add(e.type_name)
    if graph := live.other_graph(node):
        for topic in graph.topics - set(topics):
            topics[topic] = {graph.type_of(topic)}
    if show_hosts:
        _show_hosts(node, topics, show_types)
    else:
        live.show_names(node, topics, "topics", show_types, count_topics, as_json)


def _show_hosts(node: Any, topics: dict[str, set[str]], show_types: bool) -> None:
    live.say_if_empty(node, topics, "topics")
    ends = live.others(node)
    for name in sorted(topics):
        hosts = sorted({h for e in ends if e.topic == name and (h := links.host_of(e.node))})
        line = f"{name} [{', '.join(sorted(topics[name]))}]" if show_types else name
        click.echo(line + (f"  (of {', '.join(hosts)})" if hosts else ""))


@examples("baton topic type /camera/image")
@command.command("type")
@live.domain_options
@click.argument("topic", shell_complete=live.complete_topics)
def type_(domain: int | None, search: tuple[Path, ...], topic: str) -> None:
    """Print the type of TOPIC, each if its ends differ."""
    click.echo("\n".join(live.types_of(live.join(domain, search), topic, wait=False)))


@examples("baton topic find sensor_msgs/Image")
@command.command()
@live.domain_options
@click.argument("type_name", metavar="TYPE", shell_complete=live.complete_messages)
def find(domain: int | None, search: tuple[Path, ...], type_name: str) -> None:
    """List the topics of TYPE."""
    wanted = live.short_type(type_name)
    node = live.join(domain, search)
    types = {(e.topic, e.type_name) for e in live.others(node) if "/_" not in e.topic}
    if graph := live.other_graph(node):
        types |= {(topic, graph.type_of(topic)) for topic in graph.topics}
    found = sorted(topic for topic, type_name in types if type_name == wanted)
    for topic in found:
        click.echo(topic)
    if not found:
        live.say_no_type(node, wanted, "msg", {type_name for _, type_name in types})


@examples("baton topic info /camera/image -v")
@command.command()
@live.domain_options
@click.argument("topic", shell_complete=live.complete_topics)
@click.option("-v", "--verbose", is_flag=True, help="Every publisher and subscription.")
@click.option("--json", "as_json", is_flag=True)
def info(domain: int | None, search: tuple[Path, ...], topic: str, verbose: bool, as_json: bool) -> None:
    """Print who publishes and subscribes TOPIC."""
    node = live.join(domain, search)
    live.say_if_link_is_dead(node)
    types = live.types_of(node, topic, wait=False)
    name = live.absolute(topic)
    here = [e for e in live.others(node) if e.topic == name]
    graph = live.other_graph(node)
    other = middleware.brought()
    # Without -v only what the link's file says is printed: no process has to answer.
    report = node.report(live.ANSWER_S if graph or as_json or verbose else 0)
    judged = other.judged(graph.of(name), live.others(node), report.holdings, node.domain) if graph else []
    travels = links.topic_rows(report.link.current, links.Rates(None, None), name) if report.link.current else []
    lost = report.losses
    if as_json:
        keys = ("reliability", "history", "depth", "durability", "deadline", "lifespan", "liveliness", "lease", "held")
        ends = [
            {
                "kind": "publisher" if e.is_publisher else "subscription",
                "node": e.node,
                "pid": e.pid,
                "host": links.host_of(e.node) or None,
                "gid": e.gid.hex(),
                "type": e.type_name,
                "type_hash": e.type_hash.hex(),
                "qos": {k: getattr(e.qos, k) for k in keys},
                "losses": None if e.is_publisher else losses.as_json(lost.get(e.gid)),
            }
            for e in here
        ]
        more = {other.KEY: middleware.as_json(graph.of(name), judged)} if graph else {}
        click.echo(json_text({"type": types[0], "types": types, "endpoints": ends, "link": travels, **more}))
        return
    click.echo("\n".join(f"Type: {t}" for t in types))
    for kind, publishers in (("Publisher", True), ("Subscription", False)):
        ends = [e for e in here if e.is_publisher == publishers]
        click.echo(("\n" if verbose else "") + f"{kind} count: {len(ends)}")
        for number, e in enumerate(ends if verbose else []):
            click.echo(("\n" if number else "") + f"  Node name: {live.node_name(e.node)}\n  Process: {e.pid}")
            if host := links.host_of(e.node):
                click.echo(f"  Host: {host}")
            if len(types) > 1:
                click.echo(f"  Type: {e.type_name}")
            click.echo(f"  GID: {e.gid.hex()}\n  Type hash: {e.type_hash.hex()}")
            click.echo(
                f"  QoS: {e.qos.reliability}, {e.qos.history} {e.qos.depth}, {e.qos.durability}"
                + (f", holds {e.qos.held}" if not publishers else "")
            )
            click.echo(
                f"  Deadline: {_seconds(e.qos.deadline)}, lifespan: {_seconds(e.qos.lifespan)}, "
                f"liveliness: {e.qos.liveliness}, lease {_seconds(e.qos.lease)}"
            )
            if not publishers:
                click.echo(textwrap.fill(f"Lost: {_lost_text(lost.get(e.gid), e.qos)}", _width(), **_INDENTED))
    for row in travels:
        click.echo(("\n" if verbose else "") + _travels_line(row))
    if graph and name in graph.topics:
        _show_other(other.NAME, graph, name, judged, verbose)


_INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "    ", "break_on_hyphens": False}


def _lost_text(found: Any, qos: Any) -> str:
    counts = losses.as_json(found)
    parts = [f"{losses.messages(counts['total'])}: {losses.why(counts, qos)}" if counts["total"] else "nothing"]
    return "; ".join([*parts, *filter(None, [losses.remarks(counts)])])


def _seconds(value: float | None) -> str:
    return "infinite" if value is None else f"{value:g} s"


def _travels_line(row: dict[str, Any]) -> str:
    way = "Sent to" if row["direction"] == "send" else "Received from"
    line = f"{way} {', '.join(row['hosts']) or 'other hosts'}: {row['messages']} messages, {row['bytes'] / 1e6:.1f} MB"
    return live.harmless(line + (f"; {row['dropped']} dropped ({row['dropped_why']})" if row["dropped"] else ""))


def _show_other(
    middleware_name: str,
    graph: middleware.ForeignGraph,
    topic: str,
    found: list[tuple[middleware.ForeignLink, middleware.MessagePath]],
    verbose: bool,
) -> None:
    for kind, nodes in (("publisher", graph.publishers), ("subscriber", graph.subscribers)):
        click.echo(("\n" if verbose else "") + f"{middleware_name} {kind} count: {len(nodes.get(topic, []))}")
        for name in nodes.get(topic, []) if verbose else []:
            click.echo(f"  {name}")
    click.echo(("\n" if verbose else "") + f"{middleware_name} link count: {len(found)}")
    for number, (link, way) in enumerate(found if verbose else []):
        click.echo(("\n" if number else "") + f"  {link.publisher} -> {link.subscriber}")
        click.echo(f"  Path: {way.text}")
        click.echo(textwrap.fill(f"Why: {way.why}", _width(), initial_indent="  ", subsequent_indent="    "))
        if way.way_out:
            click.echo(f"  Way out: {way.way_out}")


def _width() -> int:
    return max(40, min(shutil.get_terminal_size().columns, 120))


@examples(
    "baton topic echo /camera/image --once",
    "baton topic echo /odom --field pose.pose.position",
    "baton topic echo /numbers --filter 'm.data > 3'",
    "baton topic echo /chatter --csv -n 100",
)
@command.command()
@live.domain_options
@click.argument("topic", shell_complete=live.complete_topics)
@click.argument("type_name", metavar="[TYPE]", required=False, shell_complete=live.complete_messages)
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
@click.option("--timeout", type=Seconds(), help="Seconds to wait for a message.")
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
    explained = False
    unchanged = live.Unchanged()
    while left is None or left > 0:
        first = PATIENCE_S if timeout is None else min(timeout, PATIENCE_S)
        message = subscription.take(first)
        if message is None and (timeout is None or timeout > first):
            explained = explained or live.say_if_link_is_dead(node)
            message = subscription.take(None if timeout is None else timeout - first)
        if message is None:
            raise click.ClickException(f"no message on {live.absolute(topic)} for {timeout} s")
        value = None
        with unchanged:
            if not wanted(message):
                continue
            value = live.field_of(message, field) if field else message
            if as_json or as_csv or field or no_arr:
                data = _lengths(value) if no_arr else live.plain(value, limit)
                if as_json:
                    click.echo(json_text(data))
                elif as_csv:
                    row = live.leaves(data)
                    writer.writerow(map(live.harmless_part, row) if sys.stdout.isatty() else row)
                    sys.stdout.flush()
                else:
                    click.echo(text_of(data) + "---")
            else:
                text = baton.format_message(message, limit, 0 if full_length else 128, hide_header_seq=True)
                click.echo(text + "---")
            left = None if left is None else left - 1
        del message, value


def _type_there(node: Any, topic: str) -> str:
    """The type of a topic that has an endpoint. Does not wait for one: the first endpoint determines the type."""
    topic = live.absolute(topic)
    found = sorted({e.type_name for e in live.others(node) if e.topic == topic})
    if len(found) == 1:
        return found[0]
    if found:
        raise click.ClickException(f"{topic} has several types: {', '.join(found)}; name one behind the topic")
    raise click.ClickException(
        f"nobody has {topic}, so its type is not known: name it behind the topic; {live.instead_of(node, topic)}"
    )


PATIENCE_S = 2.0  # after so long without a message echo checks whether the link was killed


def _lengths(value: Any) -> Any:
    baton = live.load()
    if isinstance(value, baton.Message):
        return {name: _lengths(part) for name, part in live.members(value).items()}
    if hasattr(value, "__len__") and not isinstance(value, str):
        return f"<{len(value)} elements>"
    return value


for measured in (rates.hz, rates.bw, rates.delay):
    command.add_command(measured)


@examples(
    "baton topic pub -1 /chatter std_msgs/String '{data: hello}'",
    "baton topic pub -1 /chatter '{data: hello}'",
    "baton topic pub -r 10 /cmd_vel geometry_msgs/Twist '{linear: {x: 0.5}}'",
)
@command.command()
@live.domain_options
@click.argument("topic", shell_complete=live.complete_topics)
@click.argument("given", metavar="[TYPE] [VALUES]", nargs=-1, shell_complete=live.complete_messages)
@click.option("-r", "--rate", type=Number(min=0, min_open=True), default=1.0, show_default=True, help="Hz.")
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
    given: tuple[str, ...],
    rate: float,
    once: bool,
    times: int | None,
    wait: int | None,
    durability: str,
    reliability: str,
) -> None:
    """Publish on TOPIC; VALUES are YAML: '{data: hello}'. Without TYPE it has the type that the topic's ends have."""
    baton = live.load()
    type_name, values = live.type_and_values(given)
    node = live.join(domain, search, f"topic_pub_{os.getpid()}")
    type_name = type_name or _type_there(node, topic)
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
        click.echo(f"publishing #{number}: {json_text(live.plain(message, 32))}")
        left = None if left is None else left - 1
        if left != 0:
            next_time += 1 / rate
            time.sleep(max(0.0, next_time - time.monotonic()))
    publisher.wait_for_all_acked(5)
