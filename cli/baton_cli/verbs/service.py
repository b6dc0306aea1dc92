# SPDX-License-Identifier: Apache-2.0
"""`baton service`: servers and clients of services, and calls."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from .. import live
from ..examples import examples
from ..groups import VerbGroup
from ..near import did_you_mean
from ..output import json_text


@examples("baton service call /switch '{data: true}'")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at services, and call one."""


@dataclass
class ServiceEnds:
    types: set[str] = field(default_factory=set)
    servers: list[Any] = field(default_factory=list)
    clients: list[Any] = field(default_factory=list)

    def served_as(self) -> list[str]:
        """The types of the servers; a client may have asked for another type."""
        return sorted({e.type_name.removesuffix("_Request") for e in self.servers})


def services_of(node: Any) -> dict[str, ServiceEnds]:
    """The services by name. A service is a pair of topics: its servers subscribe to the requests, its clients publish them."""
    found: dict[str, ServiceEnds] = {}
    for e in live.others(node):
        if e.topic.endswith("/_request"):
            service = found.setdefault(e.topic.removesuffix("/_request"), ServiceEnds())
            service.types.add(e.type_name.removesuffix("_Request"))
            (service.clients if e.is_publisher else service.servers).append(e)
    return found


def _one(node: Any, name: str) -> ServiceEnds:
    name = live.absolute(name)
    services = services_of(node)
    service = services.get(name)
    if service is None:
        live.say_if_link_is_dead(node)
        there = did_you_mean(name, services) or (
            f"there {live.is_are(len(services), 'other service')}: baton service list"
            if services
            else live.nobody_there(node)
        )
        far = live.far_services(node)
        raise click.ClickException(f"nobody serves or calls {name}; {there}" + (f"; {far}" if far else ""))
    return service


@examples("baton service list -t")
@command.command("list")
@live.domain_options
@click.option("-t", "--show-types", is_flag=True)
@click.option("-c", "--count-services", is_flag=True, help="Only how many there are.")
@click.option("--json", "as_json", is_flag=True)
def list_(domain: int | None, search: tuple[Path, ...], show_types: bool, count_services: bool, as_json: bool) -> None:
    """List the services that somebody serves or calls."""
    node = live.join(domain, search)
    live.say_if_link_is_dead(node)
    types = {name: service.types for name, service in services_of(node).items()}
    live.show_names(node, types, "services", show_types, count_services, as_json)
    if not (as_json or count_services):
        live.say_far_services(node)


@examples("baton service type /switch")
@command.command("type")
@live.domain_options
@click.argument("name", metavar="SERVICE", shell_complete=live.complete_services)
def type_(domain: int | None, search: tuple[Path, ...], name: str) -> None:
    """Print the type of SERVICE, each if its ends differ."""
    click.echo("\n".join(sorted(_one(live.join(domain, search), name).types)))


@examples("baton service find std_srvs/SetBool")
@command.command()
@live.domain_options
@click.argument("type_name", metavar="TYPE", shell_complete=live.complete_service_types)
def find(domain: int | None, search: tuple[Path, ...], type_name: str) -> None:
    """List the services of TYPE."""
    wanted = live.short_type(type_name)
    node = live.join(domain, search)
    services = services_of(node)
    found = sorted(name for name, service in services.items() if wanted in service.types)
    for name in found:
        click.echo(name)
    if not found:
        live.say_no_type(node, wanted, "srv", {t for service in services.values() for t in service.types})
    live.say_far_services(node)


@examples("baton service info /switch")
@command.command()
@live.domain_options
@click.argument("name", metavar="SERVICE", shell_complete=live.complete_services)
@click.option("--json", "as_json", is_flag=True)
def info(domain: int | None, search: tuple[Path, ...], name: str, as_json: bool) -> None:
    """Print who serves and calls SERVICE."""
    service = _one(live.join(domain, search), name)
    ends = {"Servers": service.servers, "Clients": service.clients}
    if as_json:
        rows = {
            title.lower(): [{"node": live.node_name(e.node), "pid": e.pid} for e in found]
            for title, found in ends.items()
        }
        click.echo(json_text({"types": sorted(service.types), **rows}))
        return
    click.echo("\n".join(f"Type: {t}" for t in sorted(service.types)))
    for title, found in ends.items():
        click.echo(f"{title}: {len(found)}")
        for e in found:
            click.echo(f"  {live.node_name(e.node)}  (process {e.pid})")


def _served_type(node: Any, name: str, timeout: float) -> str:
    """The type of a service that has a server, or gets one within `timeout` seconds."""

    def types() -> list[str]:
        service = services_of(node).get(name)
        return service.served_as() if service else []

    node.wait_for(types, timeout)
    found = types()
    if len(found) > 1:
        raise click.ClickException(
            f"{name} is served as {' and '.join(found)}; name one behind the service: {name} {found[0]}"
        )
    if not found:
        raise click.ClickException(_nobody_serves(node, name, f"within {timeout:g} s"))
    return found[0]


def _nobody_serves(node: Any, name: str, when: str) -> str:
    live.say_if_link_is_dead(node)
    served = {n: s.served_as() for n, s in services_of(node).items() if s.servers}
    if name in served:
        hint = f"it is served as {', '.join(served[name])}"
    else:
        hint = did_you_mean(name, served) or (live.nobody_there(node) if not served else "baton service list")
    # The type of another host's service is known only if a client of this host has named it.
    far = (
        "; with its TYPE behind the service's name it is looked for on other hosts, too"
        if live.far_services(node)
        else ""
    )
    return f"nobody serves {name} {when}; {hint}{far}"


@examples("baton service call /switch '{data: true}'", "baton service call /switch std_srvs/SetBool '{data: true}'")
@command.command()
@live.domain_options
@click.argument("name", metavar="SERVICE", shell_complete=live.complete_services)
@click.argument("given", metavar="[TYPE] [VALUES]", nargs=-1, shell_complete=live.complete_service_types)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    help="Seconds to wait for a server, and then for its response.",
)
@click.option("--json", "as_json", is_flag=True)
def call(
    domain: int | None,
    search: tuple[Path, ...],
    name: str,
    given: tuple[str, ...],
    timeout: float,
    as_json: bool,
) -> None:
    """Call SERVICE and print the response; VALUES are YAML: '{data: true}'.

    TYPE is needed where servers of two types have the name, and for a service of another host."""
    baton = live.load()
    type_name, values = live.type_and_values(given)
    node = live.join(domain, search, f"service_call_{os.getpid()}")
    name = live.absolute(name)
    type_name = type_name or _served_type(node, name, timeout)
    service = live.service_class(type_name)
    request = live.message_from_yaml(service.Request, values, type_name)
    client = node.client(name, service)
    if not client.wait_for_service(timeout):
        raise click.ClickException(_nobody_serves(node, name, f"as {type_name} within {timeout:g} s"))
    response = client.call(request, timeout)
    if response is None:
        raise click.ClickException(f"{name} sent no response within {timeout:g} s")
    if as_json:
        click.echo(json_text(live.plain(response, 0)))
    else:
        click.echo(baton.format_message(response, 0, 0, hide_header_seq=True), nl=False)
