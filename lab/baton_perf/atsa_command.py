# SPDX-License-Identifier: Apache-2.0
"""`baton perf atsa`: ATSA's figures as verdicts, as a file of figures, and as a picture."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import click

from .atsa_program import FIGURES, MESSAGES, command
from .terminal import DEFAULT_OUT, INTERRUPTED


@click.command(
    epilog="\b\nExamples:\n  baton perf atsa steps\n  baton perf atsa latencies --message workflow --rounds 6\n"
    "  baton perf atsa steps --from out/perf/atsa-steps.json --plot steps.png"
)
@click.argument("what", type=click.Choice(list(FIGURES)))
@click.option("--rounds", type=click.IntRange(1), default=12, show_default=True)
@click.option("--count", type=click.IntRange(1), default=8, show_default=True, help="Messages a round.")
@click.option("--full", is_flag=True, help="2000 messages of each kind, as the paper.")
@click.option("--message", "messages", type=click.Choice(MESSAGES), multiple=True, help="Only this one; several times.")
@click.option("--world", "worlds", multiple=True, help="Only this system, for example rclpy; several times.")
@click.option(
    "--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Default out/perf/atsa-WHAT.json."
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Only draw this file of --json.",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="As .svg or .png; default beside the file of --json.",
)
def atsa(what, rounds, count, full, messages, worlds, file, source, plot) -> None:
    """Measure ATSA's figures: rclpy as it is, accelerated, and Baton's own Python, beside rospy, cyclonedds and iceoryx2.

    \b
    latencies   Figs. 9 and 11: five messages and the workflow, process to process
    algorithms  Fig. 10: each algorithm forced, and the adaptive choice
    steps       Fig. 4: conversion, serialization and back, in process
    table1      Table 1 and Fig. 6: 10,000 numbers in sixteen shapes
    threshold   Fig. 8: the mean cost of publishing by threshold
    image       a 6 MB image into a Python callback beside a C++ subscriber

    Needs ROS 2's Python (rclpy) and a C++ compiler. Other systems that are missing are named and left out.
    """
    path = source or file or DEFAULT_OUT / f"atsa-{what}.json"
    if source is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        arguments = [what, "--rounds", str(rounds), "--count", str(count), "--json", str(path.resolve())]
        arguments += ["--full"] if full else []
        arguments += ["--messages", *messages] if messages else []
        arguments += ["--worlds", *worlds] if worlds else []
        words, environment = command(arguments)
        try:
            status = subprocess.run(words, env=environment, check=False).returncode
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        if status != 0:
            sys.exit(status)
    if importlib.util.find_spec("matplotlib") is None:
        click.echo("# no picture without matplotlib: pip install matplotlib, or baton-ipc[perf]")
        return
    from . import atsa_pictures

    picture = plot or path.with_suffix(".svg")
    if atsa_pictures.save(path, picture):
        click.echo(f"# recorded in {path}; drawn in {picture}")
