# SPDX-License-Identifier: Apache-2.0
"""`baton play`: publishes the messages of a bag."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples
from baton_cli.output import counted
from baton_cli.terminal_keys import Keys, keys

from ..bag_errors import BagError
from ..bag_source import open_bag

_LOOK_S = 0.1  # the time between two looks at the keyboard
_JUMP_S = 10.0  # the distance of a jump by the keys < and >
_SWITCH_S = 0.0001
_TAKE_S = 5.0  # how long the end waits for subscriptions to take the last messages


class _Remap(click.ParamType):
    name = "from:=to"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        before, sign, after = value.partition(":=")
        if not (sign and before and after):
            self.fail(f"{value!r} is no renaming: /image:=/camera/image", param, ctx)
        return before, after


@examples(
    "baton play drive.mcap",
    "baton play drive -t '/camera/*' -r 0.5 --clock 100",
    "baton play old.bag --start 12 --duration 30 --loop -m /image:=/camera/image",
)
@click.command()
@live.domain_options
@click.argument("bag", type=click.Path(path_type=Path))
@click.option(
    "-t", "--topic", "topics", multiple=True, metavar="PATTERN", help="Only these, e.g. '/camera/*'; may be repeated."
)
@click.option("-x", "--exclude", multiple=True, metavar="PATTERN", help="Not these; may be repeated.")
@click.option("-m", "--remap", multiple=True, type=_Remap(), help="Another name for a topic; may be repeated.")
@click.option(
    "-r", "--rate", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True, help="Times as fast."
)
@click.option("-s", "--start", type=click.FloatRange(min=0), default=0.0, help="Seconds from the bag's beginning.")
@click.option("-d", "--duration", type=click.FloatRange(min=0, min_open=True), help="Seconds of the bag.")
@click.option("-l", "--loop", is_flag=True, help="Again and again.")
@click.option("-p", "--paused", is_flag=True, help="Begin paused.")
@click.option(
    "--clock",
    type=click.FloatRange(min=0, min_open=True),
    metavar="HZ",
    help="Publish /clock, for nodes that follow simulated time.",
)
@click.option(
    "--publish-service-requests",
    is_flag=True,
    help="Send the recorded requests to the servers that are there now, and publish no events of calls.",
)
@click.option(
    "--service-requests-source",
    type=click.Choice(["service", "client"]),
    default="service",
    show_default=True,
    help="Whose events have the requests.",
)
@click.option(
    "--qos", type=click.Path(path_type=Path), metavar="FILE", help="QoS of topics, as `ros2 bag play` has it."
)
@click.option(
    "--node-name", default="baton_player", show_default=True, help="Of the node that publishes, and has the services."
)
@click.option(
    "-w",
    "--wait-for",
    multiple=True,
    metavar="TOPIC",
    help="Wait until TOPIC has a subscription (all: each topic); may be repeated.",
)
def command(
    domain: int | None,
    search: tuple[Path, ...],
    bag: Path,
    topics: tuple[str, ...],
    exclude: tuple[str, ...],
    remap: tuple[tuple[str, str], ...],
    rate: float,
    start: float,
    duration: float | None,
    loop: bool,
    paused: bool,
    clock: float | None,
    publish_service_requests: bool,
    service_requests_source: str,
    qos: Path | None,
    node_name: str,
    wait_for: tuple[str, ...],
) -> None:
    """Publish the messages of BAG with the spacing they had.

    BAG: an MCAP file, a folder of rosbag2, a .db3, or a .bag of ROS 1. Types are those that the bag defines. What latched topics (transient local)
    held at the start comes first.

    Keys: space pauses, the right arrow or s plays one message, the arrows up and down change the rate by 10 %, < and > jump 10 seconds, q leaves.
    """
    live.add_search(search)
    from baton import _signals

    from ..bag_services import Services, of_player
    from ..bag_types import read_overrides
    from ..play_player import Player

    try:
        overrides = read_overrides(qos.read_text(), str(qos)) if qos else {}
        opened = open_bag(bag)  # errors of the bag come before the domain is joined
        node = live.join(domain, name=node_name)
        with (
            _signals.handled(),
            Player(
                opened,
                node,
                rate=rate,
                start=start,
                duration=duration,
                loop=loop,
                topics=topics,
                exclude=exclude,
                remap=dict(remap),
                qos=overrides,
                clock=clock,
                paused=paused,
                service_requests=service_requests_source if publish_service_requests else None,
                on_skip=lambda sentence: click.echo(live.harmless(sentence), err=True),
            ) as player,
        ):
            if player.bag.damage:
                said = f"{bag} is damaged, and played as far as it can be read: {player.bag.damage}"
                click.echo(live.harmless(said), err=True)
            if not player.topics:
                raise BagError(f"{bag} has no topic to play: baton bag info {bag}")
            if wait_for:
                click.echo(f"waiting for subscriptions of {', '.join(wait_for)} ...", err=True)
                player.wait_for_subscriptions(None if "all" in wait_for else wait_for)
            sys.setswitchinterval(_SWITCH_S)  # the thread that reads ahead must not delay a message
            with Keys(sys.stderr.isatty()) as terminal:
                ended = threading.Event()
                thread = threading.Thread(target=_control, args=(player, terminal, ended), daemon=True)
                thread.start()
                try:
                    with Services(node, of_player(player)):
                        published = player.play()
                finally:
                    ended.set()
                    thread.join()
            player.wait_until_taken(_TAKE_S)
            click.echo(counted(published, "message"), err=True)
    except (BagError, OSError) as error:
        raise click.ClickException(live.harmless(str(error))) from None


def press(player: Any, key: str) -> None:
    """Obeys a key."""
    if key == " ":
        player.resume() if player.paused else player.pause()
    elif key in ("right", "s"):
        player.step()
    elif key in ("up", "down"):
        player.rate *= 1.1 if key == "up" else 1 / 1.1
    elif key in ("<", ">"):
        player.seek(player.position + (_JUMP_S if key == ">" else -_JUMP_S))
    elif key in ("q", "\x03"):
        player.stop()


def _control(player: Any, terminal: Keys, ended: threading.Event) -> None:
    """Obeys the keys, and shows where the bag is. Does nothing without a terminal."""
    length = (player.bag.end_ns - player.bag.start_ns) / 1e9
    while terminal.there and not ended.is_set():
        for key in keys(terminal.typed(_LOOK_S)):
            press(player, key)
        state = "paused" if player.paused else f"x {player.rate:.3g}"
        click.echo(
            f"\r{player.position:9.2f} of {length:.2f} s  {player.published} messages  {state}\x1b[K",
            nl=False,
            err=True,
        )
    if terminal.there:
        click.echo(err=True)
