# SPDX-License-Identifier: Apache-2.0
"""`baton service`: servers and clients of services, and calls."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from .. import links, live
from ..examples import examples
from ..groups import VerbGroup
from ..near import did_you_mean
from ..option_numbers import Seconds
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
        return sorted({type_of(e) for e in self.servers})


def type_of(endpoint: Any) -> str:
    return endpoint.type_name.removesuffix("_Request").removesuffix("_Response")


def services_of(node: Any) -> dict[str, ServiceEnds]:
    """The services by name. A service is a pair of topics: its servers subscribe to the requests, its clients publish them. A server
    of another host is known by its publisher of responses; the link subscribes to the requests in its place."""
    found: dict[str, ServiceEnds] = {}
    ends = live.others(node)
    of_link = {(links.NODE, e.pid) for e in ends if links.host_of(e.node)}
    for e in ends:
        name, _, topic = e.topic.rpartition("/")
        is_client = topic == "_request" and e.is_publisher
        is_server = topic == "_request" and not e.is_publisher and (e.node, e.pid) not in of_link
        is_far_server = topic == "_response" and e.is_publisher and links.host_of(e.node)
        if is_client or is_server or is_far_server:
            service = found.setdefault(name, ServiceEnds())
            service.types.add(type_of(e))
            (service.clients if is_client else service.servers).append(e)
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
        raise click.ClickException(f"nobody serves or calls {name}; {there}")
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
    return f"nobody serves {name} {when}; {hint}"


@examples("baton service call /switch '{data: true}'", "baton service call /switch std_srvs/SetBool '{data: true}'")
@command.command()
@live.domain_options
@click.argument("name", metavar="SERVICE", shell_complete=live.complete_services)
@click.argument("given", metavar="[TYPE] [VALUES]", nargs=-1, shell_complete=live.complete_service_types)
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
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
