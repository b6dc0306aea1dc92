# SPDX-License-Identifier: Apache-2.0
"""`baton view`: a domain's topics in Foxglove and Lichtblick."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import click
from baton_cli import live
from baton_cli.examples import examples


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
)
@click.command()
@live.domain_options
@click.option("--host", default="127.0.0.1", show_default=True, help="The address at which clients connect.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any that is free.")
@click.option(
    "--max-rate",
    type=click.FloatRange(min=0, min_open=True),
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
    topics: tuple[str, ...],
) -> None:
    """Show TOPICS in Foxglove or Lichtblick.

    TOPICS: names, or patterns such as '/camera/*'; all without one. The viewers connect to the address that is printed, as a "Foxglove WebSocket".
    A topic is subscribed while a viewer watches it. Ctrl-C ends the view.
    """
    live.load()
    from baton import _signals

    from ..view_errors import ViewError
    from ..view_reduction import Reduction
    from ..view_server import View, absolute

    node = live.join(domain, search, "baton_view")
    try:
        view = View(
            node,
            topics=topics,
            host=host,
            port=port,
            max_rate=max_rate,
            publish=publish,
            call=call,
            settable=settable,
            reduction=Reduction(tuple(absolute(each) for each in jpeg), quality, points),
            say=lambda sentence: click.echo(live.harmless(sentence), err=True),
        )
    except ViewError as error:
        raise click.ClickException(str(error)) from None
    try:
        with _signals.handled():
            if not _is_loopback(host):
                click.echo(f"other hosts that reach {host} can watch this domain", err=True)
            shown = f"[{host}]" if ":" in host else host
            click.echo(f"ws://{shown}:{view.port}")
            view.run()
    except KeyboardInterrupt:
        pass
    finally:
        view.close()
