# SPDX-License-Identifier: Apache-2.0
"""`baton play`: publishes what a bag holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples

from ..bag_errors import BagError


@examples("baton play drive.mcap")
@click.command()
@live.domain_options
@click.argument("bag", type=click.Path(exists=True, path_type=Path))
def command(domain: int | None, search: tuple[Path, ...], bag: Path) -> None:
    """Publish the messages of BAG with the spacing they had.

    BAG: an MCAP file, a folder of rosbag2, a .db3, or a .bag of ROS 1.
    """
    live.load()
    from ..play_player import Player

    node: Any = live.join(domain, search, "baton_player")
    try:
        with Player(bag, node, on_skip=lambda sentence: click.echo(sentence, err=True)) as player:
            player.play()
    except BagError as error:
        raise click.ClickException(str(error)) from None
