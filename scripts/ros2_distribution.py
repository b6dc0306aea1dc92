# SPDX-License-Identifier: Apache-2.0
"""The distributions of ROS 2 that `make setup` installs, and the one whose programs the tests of every room start: TESTED. It is Jazzy, or
what BATON_ROS2_DISTRIBUTION names. The part `kilted` of parts.toml runs the tests again over Kilted."""

import os
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build/release"))


class Distribution(NamedTuple):
    """A ROS 2, and what the build has for it."""

    name: str
    prefix: Path
    library: Path  # rmw_baton_cpp
    programs: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python"


JAZZY = Distribution("jazzy", ROOT / ".venv-ros2-jazzy", BUILD / "lib/jazzy/librmw_baton_cpp.so", BUILD / "bin/jazzy")
KILTED = Distribution("kilted", ROOT / ".venv-ros2", BUILD / "lib/librmw_baton_cpp.so", BUILD / "bin")
TESTED = {each.name: each for each in (JAZZY, KILTED)}[os.environ.get("BATON_ROS2_DISTRIBUTION") or JAZZY.name]
