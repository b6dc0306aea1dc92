# SPDX-License-Identifier: Apache-2.0
"""`baton migrate`: reports on the sources of ROS programs. Where ROS 1's part is installed, its verb takes the place of this one
and reports messages as well."""

from __future__ import annotations

from pathlib import Path

import click

from .. import ros_names
from ..examples import examples
from ..groups import VerbGroup
from ..output import json_text


@examples("baton migrate report src", "baton migrate report src --format json")
@click.group(cls=VerbGroup)
def command() -> None:
    """Advise on sources of ROS programs."""


@examples("baton migrate report src", "baton migrate report src --format json")
@command.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def report(tree: Path, form: str) -> None:
    """Report names of ROS that Baton does not have.

    Reads the C++, Python and shell sources below DIR, and prints what stands in the place of each name.
    """
    found = ros_names.find(tree.resolve())
    if form == "text":
        click.echo(ros_names.text(found))
    else:
        click.echo(json_text({"tree": str(tree.resolve()), "names": ros_names.as_json(found)}, indent=2))
