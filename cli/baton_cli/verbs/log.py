# SPDX-License-Identifier: Apache-2.0
"""`baton log`: the log lines of nodes, from the topic /rosout."""

from __future__ import annotations

import re

import click

from .. import live
from ..examples import examples
from ..option_numbers import Seconds
from ..output import json_text

LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40, "fatal": 50}  # of rcl_interfaces/Log
WORDS = {number: word.upper() for word, number in LEVELS.items()}


@examples("baton log", "baton log --level warn --node camera", "baton log --filter 'late|lost' --json -n 10")
@click.command()
@live.domain_option
@click.option("--level", type=click.Choice(list(LEVELS)), default="debug", show_default=True, help="The lowest one.")
@click.option(
    "--node", "logger", metavar="NAME", help="Only this node's loggers: camera, left/camera or left.camera.driver."
)
@click.option("--filter", "pattern", metavar="REGEX", help="Only lines whose text has a match.")
@click.option("--once", is_flag=True, help="Leave after one line.")
@click.option("-n", "--count", type=click.IntRange(1), help="Leave after so many lines.")
@click.option("--json", "as_json", is_flag=True, help="One object a line.")
@click.option("--timeout", type=Seconds(), help="Seconds to wait for a line.")
def command(
    domain: int | None,
    level: str,
    logger: str | None,
    pattern: str | None,
    once: bool,
    count: int | None,
    as_json: bool,
    timeout: float | None,
) -> None:
    """Print what nodes log, beginning with the last ten seconds."""
    try:
        text = re.compile(pattern or "")
    except re.error as error:
        raise click.ClickException(f"--filter '{pattern}' is no regular expression: {error}") from None
    name = logger.strip("/").replace("/", ".") if logger else None
    baton = live.load()
    node = live.join(domain)
    lines = node.subscribe("/rosout", "rcl_interfaces/Log", qos=baton.QoS(1000, durability="transient_local"))
    left = 1 if once else count
    unchanged = live.Unchanged()
    while left is None or left > 0:
        line = lines.take(timeout)
        if line is None:
            raise click.ClickException(f"no line for {timeout} s")
        with unchanged:
            of_node = name is None or line.name == name or line.name.startswith(name + ".")
            if line.level < LEVELS[level] or not of_node or not text.search(line.msg):
                continue
            severity = WORDS.get(line.level, str(line.level))
            stamp = f"{line.stamp.sec}.{line.stamp.nanosec:09}"
            if as_json:
                shown = json_text(
                    {
                        "time": stamp,
                        "level": severity,
                        "name": line.name,
                        "text": line.msg,
                        "function": line.function,
                        "file": line.file,
                        "line": line.line,
                    }
                )
            else:
                shown = live.harmless(f"[{severity}] [{stamp}] [{line.name}]: {line.msg}")
            click.echo(shown)
            left = None if left is None else left - 1
