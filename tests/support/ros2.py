# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 installations that `make setup` makes of wheels, and the environment of their programs. TESTED is the one whose programs the tests
of every room start: Jazzy, or what BATON_ROS2_DISTRIBUTION names; the part `kilted` of parts.toml runs the tests again over Kilted. A program of
ROS 2 runs over the underlying RMW alone ("plain"), or with rmw_baton_cpp above it ("baton")."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from support.build import BIN, LIB, ROOT

# "alone": what stands above nothing but Baton (ros2/rmw_baton_cpp/alone/) is what the tests call rmw_baton_cpp.
ALONE = os.environ.get("BATON_ROS2_RMW") == "alone"
FOLDER = "alone/" if ALONE else ""


class Distribution(NamedTuple):
    """A ROS 2, and what the build has for it."""

    name: str
    prefix: Path
    library: Path  # rmw_baton_cpp
    programs: Path

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python"


JAZZY = Distribution("jazzy", ROOT / ".venv-ros2-jazzy", LIB / f"jazzy/{FOLDER}librmw_baton_cpp.so", BIN / "jazzy")
KILTED = Distribution("kilted", ROOT / ".venv-ros2", LIB / f"{FOLDER}librmw_baton_cpp.so", BIN)
TESTED = {each.name: each for each in (JAZZY, KILTED)}[os.environ.get("BATON_ROS2_DISTRIBUTION") or JAZZY.name]


def over(rmw: str, distribution: Distribution = TESTED) -> dict[str, str]:
    """The variables that choose the RMW, "plain" or "baton". The wheels' librcl names librmw_fastrtps_cpp.so itself, so there another RMW is also
    preloaded (docs/guides/ros2.md)."""
    return {"LD_PRELOAD": str(distribution.library), "RMW_IMPLEMENTATION": "rmw_baton_cpp"} if rmw == "baton" else {}


def environment(rmw: str, domain: int, distribution: Distribution = TESTED, **more: str) -> dict[str, str]:
    """The environment of a program of ROS 2 over this RMW in this ROS domain: this process's environment without its choice of an RMW."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "RMW_IMPLEMENTATION", "BATON_RMW")}
    return {**env, "ROS_DOMAIN_ID": str(domain), **over(rmw, distribution), **more}


def needs_ros2(*files: Path, distribution: Distribution = TESTED) -> pytest.MarkDecorator:
    """Skips a test, or a file as its pytestmark, where this ROS 2 is not installed or one of these files is not built."""
    there = distribution.python.exists() and all(file.exists() for file in files)
    return pytest.mark.skipif(
        not there, reason="needs ROS 2's Python packages and their part of the build: make setup, make build"
    )
