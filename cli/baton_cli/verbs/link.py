# SPDX-License-Identifier: Apache-2.0
"""`baton link`: the program that connects this host's topics to those of other hosts (docs/guides/machines.md)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from ..examples import examples


def find_program() -> Path:
    """baton_link of this checkout's release build, or on the PATH."""
    checkout = Path(__file__).resolve().parents[3]
    on_path = shutil.which("baton_link")
    for folder in (checkout / "build/release/bin", *([Path(on_path).parent] if on_path else [])):
        if (folder / "baton_link").is_file():
            return folder / "baton_link"
    raise click.ClickException(
        "there is no baton_link: in a checkout install Cyclone DDS (Debian: cyclonedds-dev) and run `make build`. Packages and wheels do "
        "not have it yet"
    )


@examples("baton link --peer 192.168.1.20", "baton link --interface eth0 --domain 3")
@click.command()
@click.option("--peer", "peers", multiple=True, metavar="HOST[:PORT]", help="Another host. One of two hosts is enough.")
@click.option("--interface", metavar="NAME", help="Network interface, its name or address. Default: chosen.")
@click.option("--port", type=click.IntRange(1, 65535), help="TCP port of this host. Default: 22700 + domain.")
@click.option("--domain", type=click.IntRange(0, 9999), help="Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")
@click.option("--host-name", metavar="NAME", help="By which the others know this host. Default: the machine's name.")
def command(
    peers: tuple[str, ...], interface: str | None, port: int | None, domain: int | None, host_name: str | None
) -> None:
    """Connect this host's topics to other hosts.

    It runs until Ctrl-C. One process of a host does this; a second one waits, and takes over."""
    arguments = [word for peer in peers for word in ("--peer", peer)]
    for name, value in (("interface", interface), ("port", port), ("domain", domain), ("host-name", host_name)):
        if value is not None:
            arguments += [f"--{name}", str(value)]
    program = find_program()
    os.execv(program, [str(program), *arguments])
