# SPDX-License-Identifier: Apache-2.0
"""`baton node`: the nodes of a domain."""

from __future__ import annotations

from pathlib import Path

import click

from .. import links, live
from ..examples import examples
from ..groups import VerbGroup
from ..output import json_text
from .service import services_of, type_of


@examples("baton node info /camera")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at nodes."""


@examples("baton node list")
@command.command("list")
@live.domain_options
@click.option("--json", "as_json", is_flag=True)
def list_(domain: int | None, search: tuple[Path, ...], as_json: bool) -> None:
    """List the nodes that are known, with their processes.

    Nodes of other hosts that publish are there as NODE@HOST (baton link)."""
    node = live.join(domain, search)
    live.say_if_link_is_dead(node)
    found = sorted((live.node_name(n), pid, "") for n, pid in node.nodes() if not n.startswith("_baton_"))
    found += sorted((live.node_name(n), pid, host) for n, (pid, host) in links.far_nodes(live.others(node)).items())
    if as_json:
        rows = [{"node": name, "pid": pid} | ({"host": host} if host else {}) for name, pid, host in found]
        click.echo(json_text(rows))
    else:
        live.say_if_empty(node, found, "nodes")
        for name, pid, host in found:
            click.echo(
                f"{name}  (process {pid})" if not host else f"{name}  (of host {host}, brought by process {pid})"
            )


@examples("baton node info /camera")
@command.command()
@live.domain_options
@click.argument("name", metavar="NODE", shell_complete=live.complete_nodes)
def info(domain: int | None, search: tuple[Path, ...], name: str) -> None:
    """Print what NODE publishes, subscribes, serves and calls.

    NODE@HOST is a node of another host; @HOST may be left out where only one host has a node of the name."""
    node = live.join(domain, search)
    live.say_if_link_is_dead(node)
    name = links.find_node(node, name)
    mine = [e for e in live.others(node) if live.node_name(e.node) == name]
    sections: dict[str, set[str]] = {
        k: set() for k in ("Subscribers", "Publishers", "Service Servers", "Service Clients")
    }
    for e in mine:
        if not e.topic.endswith(("/_request", "/_response")):
            sections["Publishers" if e.is_publisher else "Subscribers"].add(f"{e.topic}: {e.type_name}")
    for service, ends in services_of(node).items():
        for kind, its in (("Service Servers", ends.servers), ("Service Clients", ends.clients)):
            sections[kind].update(f"{service}: {type_of(e)}" for e in its if live.node_name(e.node) == name)
    click.echo(name)
    if host := links.host_of(name):
        click.echo(f"  Host: {host} (only its publishers and servers are known on this host)")
    for title, lines in sections.items():
        click.echo(f"  {title}:")
        for line in sorted(lines):
            click.echo(f"    {line}")
