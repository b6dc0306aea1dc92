# SPDX-License-Identifier: Apache-2.0
"""baton ros1 run: unmodified programs of roscpp and rospy hand messages over in shared memory."""

from __future__ import annotations

import ctypes.util
import os
import shutil
import site
import sys
from pathlib import Path

import click
from baton_cli.examples import examples
from baton_cli.groups import VerbGroup

LIBRARY = "libbaton_roscpp.so"
HERE = Path(__file__).resolve()
CHECKOUT = HERE.parents[4] / "build" / "ros1"


def find_library() -> str:
    """The library to preload: of this checkout, beside this command's installation, or on the loader's path."""
    installation = HERE.parents[4] / LIBRARY  # of CMake: the packages are in <libraries>/baton/python
    for candidate in (
        CHECKOUT / "lib" / LIBRARY,
        installation,
        *(Path(sys.prefix) / folder / LIBRARY for folder in ("lib", "lib64")),
    ):
        if candidate.exists():
            return str(candidate)
    if ctypes.util.find_library("baton_roscpp"):
        return LIBRARY
    raise click.ClickException(
        f"there is no {LIBRARY}. It is in the Debian package libbaton-roscpp; in a checkout `make build-ros1` builds it"
    )


def python_folders() -> list[Path]:
    """What PYTHONPATH needs so that rospy is accelerated: nothing where pip or Debian installed Baton, since Python reads
    baton_accelerate.pth there."""
    packages = next(
        (folder for folder in (CHECKOUT / "python", HERE.parents[2]) if (folder / "baton_accelerate.py").exists()), None
    )
    known = {Path(folder).resolve() for folder in (*site.getsitepackages(), site.getusersitepackages())}
    return [] if packages is None or packages.resolve() in known else [HERE.parents[1] / "start", packages]


def before(name: str, separator: str, *values: object) -> None:
    """Puts values before those that a variable of the environment has."""
    first = [str(value) for value in values]
    kept = [value for value in os.environ.get(name, "").split(separator) if value and value not in first]
    os.environ[name] = separator.join([*first, *kept])


@examples("baton ros1 run roslaunch robot bringup.launch")
@click.group(cls=VerbGroup)
def command() -> None:
    """ROS 1 programs over Baton (docs/guides/ros1.md)."""


@examples(
    "baton ros1 run rosrun image_view image_view image:=/camera/image_raw",
    "baton ros1 run roslaunch robot bringup.launch",
)
@command.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", metavar="COMMAND [ARGUMENTS]...", nargs=-1, type=click.UNPROCESSED, required=True)
def run(words: tuple[str, ...]) -> None:
    """Run a command whose nodes of roscpp and rospy use shared memory.

    Programs without ROS, and nodes on other machines or without Baton, notice nothing.
    """
    before("LD_PRELOAD", ":", find_library())
    before("BATON_ACCELERATE", ",", "rospy")
    if folders := python_folders():
        before("PYTHONPATH", os.pathsep, *folders)
    if shutil.which(words[0]) is None:
        raise click.ClickException(f"{words[0]}: no such command")
    os.execvp(words[0], list(words))
