# SPDX-License-Identifier: Apache-2.0
"""Starts ATSA's measurements (atsa/atsa.py) in the Python of ROS 2, with this Baton: of a checkout or installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from .peers import BUILD, CHECKOUT

PROGRAM = Path(__file__).parent / "atsa" / "atsa.py"
FIGURES = {
    "latencies": "Figs. 9 and 11",
    "algorithms": "Fig. 10",
    "steps": "Fig. 4",
    "table1": "Table 1 and Fig. 6",
    "threshold": "Fig. 8",
    "image": "a 6 MB image into a Python callback beside a C++ subscriber",
}
MESSAGES = ("Image", "Lidar", "Novatel", "Pose", "WayPoints", "workflow")


def _measured_python() -> Path | None:
    """A checkout's, with the wheels of the ROS 2 that the laboratory measures."""
    for file in (CHECKOUT / "ros2/distributions").glob("*.toml"):
        if tomllib.loads(file.read_text()).get("measured"):
            python = CHECKOUT / f".venv-ros2-{file.stem}" / "bin/python"
            return python if python.exists() else None
    return None


def _has_rclpy(python: str) -> bool:
    return subprocess.run([python, "-c", "import rclpy"], capture_output=True, check=False).returncode == 0


def python_of_ros2() -> str:
    if found := _measured_python():
        return str(found)
    for python in dict.fromkeys(filter(None, (sys.executable, shutil.which("python3")))):
        if _has_rclpy(python):
            return python
    raise click.ClickException(
        "ATSA's figures need rclpy, which neither this Python nor python3 has: source ROS 2's setup file, or in a checkout run `make setup`"
    )


def packages_of_baton() -> Path:
    """The folder from which that Python imports baton."""
    build = Path(os.environ.get("BATON_BUILD", BUILD)) / "python"
    if (build / "baton").is_dir():
        return build
    spec = importlib.util.find_spec("baton")
    if spec is None or spec.origin is None:
        raise click.ClickException(
            "the package baton is not installed: run `make build-lab` in the checkout, or install baton-ipc"
        )
    return Path(spec.origin).parents[1]


def command(arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The command and its environment."""
    path = os.pathsep.join(
        filter(None, [str(packages_of_baton()), str(PROGRAM.parent), os.environ.get("PYTHONPATH", "")])
    )
    return [python_of_ros2(), str(PROGRAM), *arguments], {**os.environ, "PYTHONPATH": path}
