# SPDX-License-Identifier: Apache-2.0
"""`baton param`: the parameters of running nodes, through the services of ROS 2 that every node with parameters has."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

import click

from .. import links, live
from ..examples import examples
from ..groups import VerbGroup
from ..near import did_you_mean
from ..option_numbers import Seconds
from ..output import json_text
from .service import services_of

TYPES = (
    "not_set",
    "bool",
    "integer",
    "double",
    "string",
    "byte_array",
    "bool_array",
    "integer_array",
    "double_array",
    "string_array",
)  # by the numbers of rcl_interfaces/ParameterType


@examples("baton param list", "baton param set camera rate 30", "baton param dump camera > camera.yaml")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at the parameters of running nodes, and set them.

    NODE is a name as `baton node list` prints it: camera, /left/camera, or camera@base for the camera of the host base."""


def _node_options(function: Any) -> Any:
    function = live.domain_option(function)
    return click.option(
        "--timeout",
        type=Seconds(min=0, min_open=True),
        default=5.0,
        show_default=True,
        help="Seconds to wait for the node, and then for its response.",
    )(function)


def _with_parameters(looker: Any) -> list[str]:
    """The nodes that serve parameters."""
    return sorted(
        name.removesuffix("/list_parameters")
        for name, service in services_of(looker).items()
        if name.endswith("/list_parameters") and service.servers
    )


NODE = click.argument("name", metavar="NODE", shell_complete=live.complete_nodes)


class Remote:
    """The parameters of one node. For NODE@HOST the host is checked, because a request has only the name of the node, and reaches each node of
    that name on every host."""

    def __init__(self, looker: Any, name: str, timeout: float) -> None:
        self.looker, self.timeout = looker, timeout
        full = live.node_name(name)
        self.name, at, _ = full.partition("@")
        if not re.fullmatch(r"(/[A-Za-z0-9_]+)+", self.name):
            raise click.ClickException(f"{name!r} is no name of a node; `baton node list` shows them")
        if at:
            self._check_host(full)

    def _check_host(self, full: str) -> None:
        def known() -> bool:
            with contextlib.suppress(click.ClickException):
                return bool(links.find_node(self.looker, full))
            return False

        if not known():
            live.say_if_link_is_dead(self.looker)
        self.looker.wait_for(known, self.timeout)
        found = links.find_node(self.looker, full)
        if others := [n for n in links.of_name(self.name, links.nodes_of(self.looker)) if n != found]:
            raise click.ClickException(
                f"a request to {found} reaches {', '.join(others)}, too: start one of them with another name (-r __node:=NAME)"
            )

    def call(self, service: str, request: dict[str, Any]) -> Any:
        name = f"{self.name}/{service}_parameters"
        if service == "set_atomically":
            name = f"{self.name}/set_parameters_atomically"
        kind = {"get": "Get", "set": "Set", "describe": "Describe", "list": "List"}.get(service)
        type_name = f"rcl_interfaces/{kind}Parameters" if kind else "rcl_interfaces/SetParametersAtomically"
        client = self.looker.client(name, live.service_class(type_name))
        if not client.wait_for_service(self.timeout):
            live.say_if_link_is_dead(self.looker)
            raise click.ClickException(self._absent())
        response = client.call(request, self.timeout)
        if response is None:
            raise click.ClickException(
                f"{self.name} sent no response within {self.timeout:g} s: a node answers while it spins"
            )
        return response

    def _absent(self) -> str:
        nodes = links.nodes_of(self.looker)
        if others := _with_parameters(self.looker):
            known = f"nodes with parameters: {', '.join(others)}"
        else:
            known = "no node has parameters"
        if links.of_name(self.name, nodes):
            return f"{self.name} has no parameters; {known}"
        return f"there is no node {self.name}{live.that_answers(self.looker)}; {known}"

    def names(self) -> list[str]:
        return [str(n) for n in self.call("list", {}).result.names]

    def values(self, names: list[str]) -> list[Any]:
        """Messages of rcl_interfaces/ParameterValue; a name that is not declared is an error."""
        values = list(self.call("get", {"names": names}).values)
        unknown = [name for name, value in zip(names, values, strict=False) if value.type == 0]
        if len(values) < len(names) or unknown:
            raise self._unknown(f"{self.name} has no parameter {', '.join(unknown or names)}", unknown or names)
        self._check_count(len(values), len(names))
        if strange := [name for name, value in zip(names, values, strict=True) if value.type >= len(TYPES)]:
            raise click.ClickException(live.harmless(f"{self.name} has no type of ROS 2 for {', '.join(strange)}"))
        return values

    def set(self, parameters: list[dict[str, Any]]) -> list[Any]:
        """Messages of rcl_interfaces/SetParametersResult, one for each."""
        results = list(self.call("set", {"parameters": parameters}).results)
        self._check_count(len(results), len(parameters))
        return results

    def _check_count(self, got: int, wanted: int) -> None:
        """Checks a response: another process wrote it, so it may be malformed."""
        if got != wanted:
            raise click.ClickException(f"{self.name} answered for {got} parameters, and was asked for {wanted}")

    def describe(self, names: list[str]) -> list[Any]:
        found = list(self.call("describe", {"names": names}).descriptors)
        if len(found) < len(names):
            raise self._unknown(f"{self.name} has not all of {', '.join(names)}", names)
        return found

    def _unknown(self, what: str, names: list[str]) -> click.ClickException:
        hint = self.near(names)
        return click.ClickException(f"{what};{hint and f' {hint}'} `baton param list {self.name}` shows them")

    def near(self, names: list[str]) -> str:
        """A question for each name that the node does not have, with similar names of the node."""
        known = self.names()
        return live.harmless(" ".join(filter(None, (did_you_mean(name, known) for name in names if name not in known))))


def plain_value(value: Any) -> Any:
    """A ParameterValue as Python's own type; bytes as a list of integers, which YAML and JSON have."""
    type_ = TYPES[value.type] if value.type < len(TYPES) else "not_set"
    return live.plain(getattr(value, f"{type_}_value"), 0) if type_ != "not_set" else None


def parameter_message(baton: Any, name: str, value: Any) -> dict[str, Any]:
    """A rcl_interfaces/Parameter."""
    type_ = baton.Parameter(name, value=value).type_
    field = f"{type_.name.lower()}_value"
    return {"name": name, "value": {"type": int(type_), field: value}}


@examples("baton param list", "baton param list camera --json")
@command.command("list")
@_node_options
@click.argument("name", metavar="[NODE]", required=False, shell_complete=live.complete_nodes)
@click.option("--json", "as_json", is_flag=True)
def list_(domain: int | None, timeout: float, name: str | None, as_json: bool) -> None:
    """List the parameters of NODE, or of every node that has some."""
    looker = live.join(domain)
    if not name:
        live.say_if_link_is_dead(looker)
    nodes = [live.node_name(name)] if name else _with_parameters(looker)
    found: dict[str, list[str]] = {}
    for node in nodes:
        try:
            found[node] = sorted(Remote(looker, node, timeout).names())
        except click.ClickException as error:
            if name:
                raise
            # A node that does not spin: the others are listed.
            click.echo(live.harmless(error.message), err=True)
    if as_json:
        click.echo(json_text(found))
    elif not name:
        live.say_if_empty(looker, found, "parameters")
        for node, names in found.items():
            click.echo(live.harmless("\n".join([f"{node}:", *(f"  {n}" for n in names)])))
    else:
        for parameter in found[nodes[0]]:
            click.echo(live.harmless(parameter))


@examples("baton param get camera rate", "baton param get /left/camera roi.width --json")
@command.command()
@_node_options
@NODE
@click.argument("parameter", metavar="NAME")
@click.option("--json", "as_json", is_flag=True)
def get(domain: int | None, timeout: float, name: str, parameter: str, as_json: bool) -> None:
    """Print the value of a parameter of NODE, as YAML."""
    value = plain_value(Remote(live.join(domain), name, timeout).values([parameter])[0])
    click.echo(json_text(value) if as_json else live.load()._core._parameter_yaml(value))


@examples(
    "baton param set camera rate 30",
    "baton param set camera names '[left, right]'",
    "baton param set camera offset -1",
)
@command.command("set", context_settings={"ignore_unknown_options": True})  # a negative number is no option
@_node_options
@NODE
@click.argument("parameter", metavar="NAME")
@click.argument("value", metavar="VALUE")
def set_(domain: int | None, timeout: float, name: str, parameter: str, value: str) -> None:
    """Set a parameter of NODE to VALUE, which is YAML: 30, 2.5, true, text, '[1, 2]'. The node may refuse it."""
    baton = live.load()
    try:
        given = baton._core._parse_parameter_value(value, "VALUE")
    except baton.BatonError as error:
        raise click.ClickException(str(error)) from None
    remote = Remote(live.join(domain), name, timeout)
    (result,) = remote.set([parameter_message(baton, parameter, given)])
    if not result.successful:
        hint = remote.near([parameter])
        raise click.ClickException(live.harmless(f"{remote.name} refused it: {result.reason}{hint and f'; {hint}'}"))
    click.echo(f"{remote.name}: {parameter} is {baton._core._parameter_yaml(given)} now")


@examples("baton param describe camera rate", "baton param describe camera")
@command.command()
@_node_options
@NODE
@click.argument("parameters", metavar="[NAME]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True)
def describe(domain: int | None, timeout: float, name: str, parameters: tuple[str, ...], as_json: bool) -> None:
    """Print type, description and bounds of parameters of NODE; without NAME, of all."""
    remote = Remote(live.join(domain), name, timeout)
    found = [_described(d) for d in remote.describe(list(parameters) or sorted(remote.names()))]
    if as_json:
        click.echo(json_text(found))
        return
    for one in found:
        lines = [f"{one.pop('name')}:", *(f"  {key}: {value}" for key, value in one.items())]
        click.echo(live.harmless("\n".join(lines)))


def _described(descriptor: Any) -> dict[str, Any]:
    """The lines that describe a parameter. Empty fields are left out."""
    shown: dict[str, Any] = {"name": str(descriptor.name), "type": TYPES[min(descriptor.type, len(TYPES) - 1)]}
    for key in ("description", "additional_constraints"):
        if text := str(getattr(descriptor, key)):
            shown[key] = text
    for key in ("read_only", "dynamic_typing"):
        if getattr(descriptor, key):
            shown[key] = True
    for ranges in (descriptor.integer_range, descriptor.floating_point_range):
        if len(ranges):
            low, high, step = ranges[0].item()
            shown["range"] = f"{low} to {high}" + (f", step {step}" if step else "")
    return shown


@examples("baton param dump camera > camera.yaml")
@command.command()
@_node_options
@NODE
def dump(domain: int | None, timeout: float, name: str) -> None:
    """Print all parameters of NODE as a YAML file, for --params-file and `baton param load`."""
    yaml = live.load()._core._parameter_yaml
    remote = Remote(live.join(domain), name, timeout)
    names = sorted(remote.names())
    click.echo(f"{remote.name}:\n  ros__parameters:")
    for parameter, value in zip(names, remote.values(names) if names else [], strict=True):
        click.echo(f"    {yaml(parameter)}: {yaml(plain_value(value))}")


@examples("baton param load camera camera.yaml")
@command.command()
@_node_options
@NODE
@click.argument("file", type=click.Path(path_type=Path))
def load(domain: int | None, timeout: float, name: str, file: Path) -> None:
    """Set the parameters that FILE has for NODE, in its sections and those with wildcards. Each is set by itself."""
    baton = live.load()
    remote = Remote(live.join(domain), name, timeout)
    try:
        found = baton._core._parameter_file(str(file), remote.name)
    except baton.BatonError as error:
        raise click.ClickException(str(error)) from None
    if not found:
        raise click.ClickException(f"{file} has no parameters for {remote.name}")
    values = {parameter: value for parameter, _, value in found}  # the last value of a name counts
    results = remote.set([parameter_message(baton, parameter, value) for parameter, value in values.items()])
    refused = [
        f"{parameter}: {result.reason}"
        for parameter, result in zip(values, results, strict=True)
        if not result.successful
    ]
    click.echo(f"set {len(values) - len(refused)} of {len(values)} parameters of {remote.name}", err=True)
    if refused:
        click.echo(live.harmless("\n".join(refused)), err=True)
        sys.exit(1)
