# SPDX-License-Identifier: Apache-2.0
"""`baton link`: the program that connects this host's topics to those of other hosts, and its state (docs/guides/machines.md)."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console

from .. import fitting, links, live
from ..examples import examples
from ..groups import VerbGroup
from ..option_numbers import Seconds
from ..output import json_text
from ..programs import find_program


class _LinkGroup(VerbGroup):
    """The group has few verbs, so an unknown word that could name a host gets a hint about --peer."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if self.get_command(ctx, word) is None and not self.instead_of(ctx, word) and _HOST.fullmatch(word):
            ctx.fail(f"No such command '{word}'; write `baton link --peer {word}` for another host.")
        return super().resolve_command(ctx, args)


def _gone(ctx: click.Context, option: click.Parameter, value: object) -> None:
    if value:
        ctx.fail(
            f"The link does not join ROS 2 nodes any more, so it has no {option.opts[0]}: run `baton bridge` beside it."
        )


# A name or an address of IPv4 or IPv6, with a port or without.
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*(:\d{1,5})?|\[[0-9A-Fa-f:.]+\](:\d{1,5})?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")


@examples("baton link --peer 192.168.1.20", "baton link --interface eth0 --domain 3", "baton link status")
@click.group(cls=_LinkGroup, invoke_without_command=True, subcommand_metavar="[status]")
@click.option(
    "--peer", "peers", multiple=True, metavar="HOST[:PORT]", help="Another host that multicast does not find."
)
@click.option("--no-multicast", is_flag=True, help="Do not look for the hosts of the network.")
@click.option("--interface", metavar="NAME", help="Network interface, its name or address. Default: all.")
@click.option("--port", type=click.IntRange(1, 65535), help="TCP port of this host. Default: 22700 + domain.")
@click.option("--domain", type=click.IntRange(0, 9999), help="Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")
@click.option("--host-name", metavar="NAME", help="This host's name for other hosts. Default: the machine's name.")
@click.option("--security", metavar="DIR", help="Encrypt, and connect only to hosts of one CA: an enclave of SROS 2.")
@click.option(
    "--priority",
    "priorities",
    multiple=True,
    metavar="TOPIC=high|low",
    help="Which of the two connections to other hosts a topic takes. Default: by the size of its messages.",
)
@click.option(
    "--absence-time",
    type=click.IntRange(1, 86400),
    metavar="S",
    help="Seconds for which a host that is not reached is remembered. Default: 60.",
)
@click.option(
    "--absence-mib", type=click.IntRange(1, 1 << 20), metavar="N", help="MiB that may wait for it. Default: 256."
)
@click.option("--ros2", is_flag=True, hidden=True, expose_value=False, callback=_gone)
@click.option("--ros2-domain", hidden=True, expose_value=False, callback=_gone)
@click.pass_context
def command(
    ctx: click.Context,
    peers: tuple[str, ...],
    no_multicast: bool,
    security: str | None,
    interface: str | None,
    port: int | None,
    domain: int | None,
    host_name: str | None,
    priorities: tuple[str, ...],
    absence_time: int | None,
    absence_mib: int | None,
) -> None:
    """Connect this host's topics to other hosts.

    It runs until Ctrl-C. Only one process of a host does this; a second one is on standby, and takes over. `baton link status` shows its
    state."""
    arguments = [word for peer in peers for word in ("--peer", peer)] + ["--no-multicast"] * no_multicast
    arguments += [word for priority in priorities for word in ("--priority", priority)]
    for name, value in (
        ("interface", interface),
        ("port", port),
        ("domain", domain),
        ("host-name", host_name),
        ("security", security),
        ("absence-time", absence_time),
        ("absence-mib", absence_mib),
    ):
        if value is not None:
            arguments += [f"--{name}", str(value)]
    if ctx.invoked_subcommand is not None:
        if arguments:
            raise click.UsageError(f"{arguments[0]} stands behind the verb: baton link {ctx.invoked_subcommand} ...")
        return
    program = find_program("baton_link", "install the package baton-link (docs/guides/install.md)")
    os.execv(program, [str(program), *arguments])


@examples("baton link status", "baton link status --json", "baton link status -i 5")
@command.command()
@live.domain_option
@click.option(
    "-i",
    "--interval",
    type=Seconds(min=0),
    default=1.0,
    show_default=True,
    help="Seconds, for rates; 0: none.",
)
@click.option("--json", "as_json", is_flag=True)
def status(domain: int | None, interval: float, as_json: bool) -> None:
    """Show other hosts, and which topics travel.

    Exit status 1 if no link works here. Latency is half of the time of a round trip: the clocks of two hosts differ. On a terminal
    that is too narrow the least important columns are left out; --json has everything."""
    baton = live.load()
    try:
        link, rates = links.read_twice(live.chosen_domain(domain), interval)
    except baton.BatonError as error:
        raise click.ClickException(str(error)) from None
    state = link.state
    works = link.current is not None and link.current.phase == "working"
    if as_json:
        found = {
            "alive": link.alive,
            "current": link.current is not None,
            "age_s": link.age_s,
            "trouble": links.trouble(link),
            "state": None
            if state is None
            else {
                **asdict(state),
                "hosts": links.host_rows(state, rates),
                "peers": links.peer_rows(state),
                "refused_hosts": links.refused_rows(state),
                "topics": links.topic_rows(state, rates),
            },
        }
        click.echo(json_text(found))
    elif links.is_absent(link):
        click.echo("this host has no link in this domain: start one with `baton link`")
    else:
        _show(link, rates)
    raise SystemExit(0 if works else 1)


def _show(link: Any, rates: links.Rates) -> None:
    state = link.state
    if trouble := links.trouble(link):
        click.echo(trouble)
    if state is None:
        return
    if not link.alive:
        met = sorted(h.name or h.address or "?" for h in state.hosts if h.connected)
        before = f"it was host '{state.host_name}' of domain {state.domain}"
        click.echo(live.harmless(before + (f", connected to {', '.join(met)}" if met else "")))
        return
    if link.current is None:
        click.echo("its last state:")
    head = f"host '{state.host_name}', domain {state.domain}: {state.phase}"
    if state.port is not None:
        head += f", port {state.port}"
    if state.secured:
        head += ", encrypted"
    click.echo(live.harmless(f"{head} (process {state.pid})"))
    if state.why:
        click.echo(live.harmless(f"why: {state.why}"))
    if state.hosts:
        rows = links.host_rows(state, rates)
        fitting.show(links.host_columns(rows), Console())
        for row in rows:
            if missing := links.one_connection(row):
                click.echo(live.harmless(f"host {row['name']}: {missing}; trying again"))
    elif state.phase == "working" and not state.peers and not state.refused_hosts:
        click.echo(
            "no other host is known yet: start `baton link` there; if multicast does not reach it, name it with --peer, here or there"
        )
    for row in links.peer_rows(state):
        click.echo(live.harmless(f"peer {row['peer']}: {links.not_reached(row)}; trying again"))
    for row in links.refused_rows(state):
        click.echo(live.harmless(f"refused: {links.refused_name(row)}: {links.refused_why(row)}"))
    if state.topics:
        fitting.show(links.topic_columns(links.topic_rows(state, rates)), Console())
    elif any(h.connected for h in state.hosts):
        click.echo("no topic travels: no subscription wants a topic of another host")
    for note in state.notes:
        click.echo(live.harmless(f"note: {note}"))
