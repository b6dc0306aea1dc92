# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 installations that `make setup` makes of wheels, one for each distribution, and the environment of their programs. TESTED is the one
whose programs the tests of every room start: the default, or what BATON_ROS2_DISTRIBUTION names; parts of parts.toml run the tests again over
the other ones. A program of ROS 2 runs over the stock RMW of the wheels ("plain"), or over rmw_baton_cpp ("baton"); the two meet through the
bridge alone."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from support.build import BIN, LIB, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import ros2_distributions

# The library of an RMW that programs of another RMW than Baton's have in place of the wheels' (ros2/tests/bridge_run.py).
OTHER_RMW = Path(os.environ["BATON_OTHER_RMW"]) if os.environ.get("BATON_OTHER_RMW") else None


class Distribution(NamedTuple):
    """A ROS 2, and its programs and libraries in the build."""

    facts: ros2_distributions.Distribution
    library: Path  # rmw_baton_cpp
    programs: Path

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def prefix(self) -> Path:
        return self.facts.venv

    @property
    def python(self) -> Path:
        return self.prefix / "bin/python"

    def library_path(self) -> str:
        """The search path by which C++ programs, and other RMWs, find the libraries of the wheels."""
        packages = self.prefix.glob("lib/python3*/site-packages/ros_*.libs")
        other = [OTHER_RMW.parent] if OTHER_RMW else []
        return ":".join(str(each) for each in [*other, self.prefix / "lib", *packages])


# Those that `make setup` installs, and another one if it is named: most of the programs are not for a rclpy as old as Humble's.
DISTRIBUTIONS = {
    each.name: Distribution(each, LIB / f"{each.name}/librmw_baton_cpp.so", BIN / each.name)
    for each in ros2_distributions.read()
    if each.wheels or each.name == os.environ.get("BATON_ROS2_DISTRIBUTION")
}
TESTED = DISTRIBUTIONS[os.environ.get("BATON_ROS2_DISTRIBUTION") or next(iter(DISTRIBUTIONS))]
MEASURED = next(each for each in DISTRIBUTIONS.values() if each.facts.measured)


def over(rmw: str, distribution: Distribution = TESTED) -> dict[str, str]:
    """The variables that choose the RMW, "plain" or "baton". The wheels' librcl names librmw_fastrtps_cpp.so itself, so there another RMW is also
    preloaded (docs/guides/ros2.md)."""
    if rmw == "baton":
        return {"LD_PRELOAD": str(distribution.library), "RMW_IMPLEMENTATION": "rmw_baton_cpp"}
    if OTHER_RMW is None:
        return {}
    name = OTHER_RMW.stem.removeprefix("lib")
    return {"LD_PRELOAD": str(OTHER_RMW), "RMW_IMPLEMENTATION": name, "LD_LIBRARY_PATH": distribution.library_path()}


def environment(rmw: str, domain: int, distribution: Distribution = TESTED, **more: str) -> dict[str, str]:
    """The environment of a program of ROS 2 over this RMW in this ROS domain: this process's environment without its choice of an RMW."""
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "RMW_IMPLEMENTATION")}
    return {**env, "ROS_DOMAIN_ID": str(domain), **over(rmw, distribution), **more}


def needs_ros2(*files: Path, distribution: Distribution = TESTED) -> pytest.MarkDecorator:
    """Skips a test, or a file as its pytestmark, where this ROS 2 is not installed or one of these files is not built."""
    there = distribution.python.exists() and all(file.exists() for file in files)
    return pytest.mark.skipif(
        not there, reason="needs ROS 2's Python packages and their part of the build: make setup, make build"
    )
