# SPDX-License-Identifier: Apache-2.0
"""baton ros1 run: unmodified roscpp programs hand large messages over in shared memory."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import sys
from pathlib import Path

import click
from baton_cli.examples import examples
from baton_cli.groups import Group

LIBRARY = "libbaton_roscpp.so"


def find_library() -> str:
    """The library to preload: of this checkout, beside this command's installation, or on the loader's path."""
    here = Path(__file__).resolve()
    checkout = here.parents[4] / "build" / "ros1" / "lib" / LIBRARY
    installation = here.parents[4] / LIBRARY  # of CMake: the packages are in <libraries>/baton/python
    for candidate in (checkout, installation, *(Path(sys.prefix) / folder / LIBRARY for folder in ("lib", "lib64"))):
        if candidate.exists():
            return str(candidate)
    if ctypes.util.find_library("baton_roscpp"):
        return LIBRARY
    raise click.ClickException(
        f"there is no {LIBRARY}. It is in the Debian package libbaton-roscpp; in a checkout `make build-ros1` builds it"
    )


@examples("baton ros1 run roslaunch robot bringup.launch")
@click.group(cls=Group)
def command() -> None:
    """ROS 1 programs over Baton (docs/guides/ros1.md)."""


@examples(
    "baton ros1 run rosrun image_view image_view image:=/camera/image_raw",
    "baton ros1 run roslaunch robot bringup.launch",
)
@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", metavar="COMMAND [ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED, required=True)
def run(words: tuple[str, ...]) -> None:
    """Run a command whose roscpp nodes use shared memory.

    Programs without ROS, and nodes on other machines or without Baton, notice nothing.
    """
    others = os.environ.get("LD_PRELOAD", "")
    os.environ["LD_PRELOAD"] = f"{find_library()}:{others}" if others else find_library()
    if shutil.which(words[0]) is None:
        raise click.ClickException(f"{words[0]}: no such command")
    os.execvp(words[0], list(words))
