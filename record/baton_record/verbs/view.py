# SPDX-License-Identifier: Apache-2.0
"""`baton view`: a domain's topics in Foxglove and Lichtblick."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples
from baton_cli.option_numbers import Number


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@examples(
    "baton view",
    "baton view '/camera/*' /tf --max-rate 10",
    "baton view --publish /cmd_vel --call '/arm/*' --set '/camera.*'",
    "baton view '/camera/*' /points --jpeg '/camera/*' --points 20000",
    "baton view /tf '/camera/*' --rerun",
)
@click.command()
@live.domain_options
@click.option("--host", default="127.0.0.1", show_default=True, help="The address at which clients connect.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any that is free.")
@click.option(
    "--max-rate",
    type=Number(min=0, min_open=True),
    default=60,
    show_default=True,
    metavar="HZ",
    help="Messages of each topic in a second; the newest are shown.",
)
@click.option(
    "--publish",
    multiple=True,
    metavar="PATTERN",
    help="Topics on which clients may publish, e.g. /cmd_vel; may be repeated.",
)
@click.option(
    "--call", multiple=True, metavar="PATTERN", help="Services that clients may call, e.g. '/arm/*'; may be repeated."
)
@click.option(
    "--set",
    "settable",
    multiple=True,
    metavar="PATTERN",
    help="Parameters that clients may set, e.g. '/camera.*': the node, a dot, the parameter; may be repeated.",
)
@click.option(
    "--jpeg", multiple=True, metavar="PATTERN", help="Topics whose images are sent as JPEG, e.g. '*'; may be repeated."
)
@click.option("--quality", type=click.IntRange(1, 95), default=75, show_default=True, help="Of --jpeg.")
@click.option(
    "--points",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Points of each cloud at most; those that are sent lie evenly in the message.",
)
@click.option("--rerun", is_flag=True, help="Show them in Rerun, which is started on this machine.")
@click.option("--rerun-connect", "connect", metavar="URL", help="Show them in a Rerun at rerun+http://HOST:9876/proxy.")
@click.option(
    "--rerun-save",
    "save",
    type=click.Path(path_type=Path),
    metavar="FILE.rrd",
    help="Write a file for Rerun. It must not exist.",
)
@click.argument("topics", nargs=-1, shell_complete=live.complete_topics)
def command(
    domain: int | None,
    search: tuple[Path, ...],
    host: str,
    port: int,
    max_rate: float,
    publish: tuple[str, ...],
    call: tuple[str, ...],
    settable: tuple[str, ...],
    jpeg: tuple[str, ...],
    quality: int,
    points: int | None,
    rerun: bool,
    connect: str | None,
    save: Path | None,
    topics: tuple[str, ...],
) -> None:
    """Show TOPICS in Foxglove or Lichtblick, or with --rerun in Rerun.

    TOPICS: names, or patterns such as '/camera/*'; all without one. The viewers connect to the address that is printed, as a "Foxglove WebSocket".
    A topic is subscribed while a viewer watches it. Ctrl-C ends the view.
    """
    live.load()
    from ..view_errors import ViewError
    from ..view_reduction import Reduction
    from ..view_server import absolute

    reduction = Reduction(tuple(absolute(each) for each in jpeg), quality, points)
    shared = {
        "topics": topics,
        "max_rate": max_rate,
        "reduction": reduction,
        "say": lambda sentence: click.echo(live.harmless(sentence), err=True),
    }
    in_rerun = rerun or connect is not None or save is not None
    if in_rerun:
        _refuse_options_of_the_server()
    node = live.join(domain, search, "baton_view")
    try:
        if in_rerun:
            from ..rerun_view import RerunView

            _run(
                RerunView(node, save=save, connect=connect, spawn=rerun, **shared), f"into {save}" if save else "Rerun"
            )
            return
        from ..view_server import View

        view = View(node, host=host, port=port, publish=publish, call=call, settable=settable, **shared)
        if not _is_loopback(host):
            click.echo(f"other hosts that reach {host} can watch this domain", err=True)
        _run(view, f"ws://{f'[{host}]' if ':' in host else host}:{view.port}")
    except ViewError as error:
        raise click.ClickException(live.harmless(str(error))) from None


def _refuse_options_of_the_server() -> None:
    context = click.get_current_context()
    for name in ("host", "port", "publish", "call", "settable"):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            option = next(each.opts[0] for each in context.command.params if each.name == name)
            raise click.UsageError(f"{option} is for viewers that connect; Rerun only shows")


def _run(view: Any, where: str) -> None:
    """Until Ctrl-C."""
    from baton import _signals

    try:
        with _signals.handled():
            click.echo(where)
            view.run()
    except KeyboardInterrupt:
        pass
    finally:
        view.close()
