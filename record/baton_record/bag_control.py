# SPDX-License-Identifier: Apache-2.0
"""`baton bag control`: calls the services of a recorder or a player that runs (bag_services.py)."""

from __future__ import annotations

from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples
from baton_cli.near import did_you_mean
from baton_cli.option_numbers import Number, Seconds
from baton_cli.verbs.service import services_of

_PACKAGE = "rosbag2_interfaces"
_ASKED = "is_paused", "IsPaused"  # a service of both recorders and players

# By action: the service, its type, and the field of the request that VALUE fills.
_ACTIONS: dict[str, tuple[str, str, str | None]] = {
    "pause": ("pause", "Pause", None),
    "resume": ("resume", "Resume", None),
    "toggle": ("toggle_paused", "TogglePaused", None),
    "status": (*_ASKED, None),
    "stop": ("stop", "Stop", None),
    "split": ("split_bagfile", "SplitBagfile", None),
    "snapshot": ("snapshot", "Snapshot", None),
    "next": ("play_next", "PlayNext", None),
    "burst": ("burst", "Burst", "num_messages"),
    "rate": ("set_rate", "SetRate", "rate"),
    "seek": ("seek", "Seek", "time"),
}


_WHY_NOT = {
    "snapshot": "it was started without --snapshot, or the disk did not take it",
    "next": "it is not paused, or at its end",
    "rate": "a rate is a number above 0",
    "seek": "the bag has no such time (baton bag info)",
}


def _nodes(services: dict[str, Any]) -> list[str]:
    """The nodes that can be controlled."""
    name, type_name = _ASKED
    return sorted(
        service.removesuffix(f"/{name}")
        for service, ends in services.items()
        if service.endswith(f"/{name}") and f"{_PACKAGE}/{type_name}" in ends.served_as()
    )


def _chosen(node: Any, name: str | None) -> str:
    """The node to control: the named one, or the only one."""
    there = _nodes(services_of(node))
    if name is not None:
        name = live.absolute(name)
        if name in there:
            return name
        other = did_you_mean(name, there) or (f"there is {', '.join(there)}" if there else "there is none")
        raise click.ClickException(f"no recorder or player {name} runs{live.that_answers(node)}; {other}")
    if not there:
        raise click.ClickException(
            f"no recorder or player runs{live.that_answers(node)}: start baton record or baton play, in the same domain"
        )
    if len(there) > 1:
        raise click.ClickException(f"there are several: name one with -n: {', '.join(there)}")
    return there[0]


def _request(action: str, field: str | None, value: float | None) -> dict[str, Any]:
    if field is None:
        if value is not None:
            raise click.UsageError(f"{action} takes no value")
        return {}
    if value is None:
        raise click.UsageError(f"{action} needs a value: baton bag control {action} 2")
    if field == "num_messages":
        if not value.is_integer() or not 0 <= value < 2**63:
            raise click.UsageError(f"burst takes a whole number of messages, not {value:g}")
        return {field: int(value)}
    if field == "time":
        if not 0 <= value < 2**31:
            raise click.UsageError(
                "seek takes a time of the bag, in seconds since 1970: baton bag info prints the first one"
            )
        sec, nanosec = divmod(round(value * 10**9), 10**9)
        return {field: {"sec": sec, "nanosec": nanosec}}
    return {field: value}


def _said(action: str, response: Any) -> str:
    if action == "status":
        return "paused" if response.paused else "running"
    if action == "burst":
        return f"{response.actually_burst} messages published"
    return "done"


@examples(
    "baton bag control pause",
    "baton bag control -n baton_record split",
    "baton bag control rate 0.5",
)
@click.command()
@live.domain_option
@click.option("-n", "--node", "name", metavar="NODE", help="Needed if there are several: the name of its node.")
@click.option("--timeout", type=Seconds(min=0), default=10.0, show_default=True, help="Seconds to wait.")
@click.argument("action", type=click.Choice(list(_ACTIONS)))
@click.argument("value", type=Number(), required=False)
def control(domain: int | None, name: str | None, timeout: float, action: str, value: float | None) -> None:
    """Control a recorder or a player that runs, also in another terminal.

    Both: pause, resume, toggle, status, stop. A recorder: split, and snapshot if it keeps messages for one. A player: rate FACTOR, seek TIME (seconds
    since 1970); while it is paused also next (one message) and burst COUNT (0: all)."""
    service, type_name, field = _ACTIONS[action]
    request = _request(action, field, value)
    node = live.join(domain)
    chosen = _chosen(node, name)
    if f"{chosen}/{service}" not in services_of(node):
        raise click.ClickException(f"{chosen} has no service {service}: {action} is not for it")
    client = node.client(f"{chosen}/{service}", f"{_PACKAGE}/{type_name}")
    response = client.call(request, timeout) if client.wait_for_service(timeout) else None
    if response is None:
        raise click.ClickException(f"{chosen} did not answer within {timeout:g} s")
    if not getattr(response, "success", True):
        raise click.ClickException(f"{chosen} could not: {_WHY_NOT[action]}")
    click.echo(f"{chosen}: {_said(action, response)}")
