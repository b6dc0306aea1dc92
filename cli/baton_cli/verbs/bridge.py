# SPDX-License-Identifier: Apache-2.0
"""`baton bridge`: the program that joins Baton's topics and services with nodes of another RMW of ROS 2 (docs/guides/ros2.md)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ..examples import examples

_CHECKOUT = Path(__file__).resolve().parents[3]
_WHEELS = ".venv-ros2-"  # the folder of a distribution's wheels in a checkout
_INSTALLED = "lib/rmw_baton_cpp/baton_bridge"  # in the prefix of a ROS 2, where `ros2 run` finds it


def programs() -> dict[str, Path]:
    """baton_bridge by the name of its ROS 2: where its set-up file says, of this checkout's release build, in the prefix of this command, or in
    /opt/ros. The first one counts."""
    found: dict[str, Path] = {}
    for prefix in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(":")):
        if (program := Path(prefix) / _INSTALLED).exists():
            found.setdefault(os.environ.get("ROS_DISTRO") or Path(prefix).name, program)
    for program in sorted(_CHECKOUT.glob("build/release/bin/*/baton_bridge")):
        found.setdefault(program.parent.name, program)
    for folder in (Path(sys.argv[0]).resolve().parent.parent, Path("/opt/ros")):
        for program in sorted(folder.glob(f"*/{_INSTALLED}")):
            found.setdefault(program.parents[2].name, program)
    return found


def _candidates(found: dict[str, Path]) -> list[str]:
    """The distributions that are left without a name: that of the active wheels, else those whose wheels a build still has, else all."""
    active = Path(os.environ.get("VIRTUAL_ENV", "")).name.removeprefix(_WHEELS)
    if active in found:
        return [active]
    built = _CHECKOUT / "build"
    usable = [name for name, program in found.items() if built not in program.parents or library_path(_wheels(name))]
    return usable or list(found)


def choose(found: dict[str, Path], wanted: str | None) -> tuple[str, Path]:
    """The program for ROS 2 `wanted`; without: that of ROS_DISTRO, or the only candidate."""
    if not found:
        raise click.ClickException(
            "there is no baton_bridge: install ros-<distribution>-rmw-baton-cpp, or run `make setup build` in a checkout (docs/guides/ros2.md)"
        )
    if (name := wanted or os.environ.get("ROS_DISTRO")) is None:
        name, *more = _candidates(found)
        if more:
            raise click.UsageError(f"there are programs for {' and '.join(found)}: choose one with --distribution")
    if name not in found:
        raise click.ClickException(f"there is no baton_bridge for ROS 2 '{name}', but for {' and '.join(found)}")
    return name, found[name]


def _wheels(distribution: str) -> Path:
    return _CHECKOUT / f"{_WHEELS}{distribution}"


def library_path(wheels: Path) -> list[str]:
    """Where the libraries of ROS 2's wheels find what they need; nothing for another installation, whose set-up file names it."""
    if not (wheels / "lib/librmw.so").exists():
        return []
    return [str(wheels / "lib"), *(str(each) for each in sorted(wheels.glob("lib/python3*/site-packages/ros_*.libs")))]


@examples("baton bridge", "baton bridge --rmw rmw_fastrtps_cpp", "baton bridge --domain 3 --ros2-domain 0")
@click.command()
@click.option("--rmw", default="rmw_fastrtps_cpp", show_default=True, help="The RMW of the other nodes.")
@click.option("--distribution", metavar="NAME", help="Of ROS 2. Default: ROS_DISTRO, or the only one here.")
@click.option("--domain", type=click.IntRange(0, 9999), help="Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")
@click.option(
    "--ros2-domain", type=click.IntRange(0, 232), help="Of the other nodes. Default: ROS_DOMAIN_ID, or --domain."
)
@click.option("--enclave", metavar="NAME", help="The bridge's enclave of SROS 2. Default: /.")
def command(
    rmw: str, distribution: str | None, domain: int | None, ros2_domain: int | None, enclave: str | None
) -> None:
    """Join Baton with ROS 2 nodes of another RMW.

    Nodes, topics, services, actions and parameters of each side are there for the other. A message crosses only while somebody on the other side
    subscribes to its topic. It runs until Ctrl-C. One process of a domain does this; a second one is on standby, and takes over."""
    name, program = choose(programs(), distribution)
    environment = dict(os.environ)
    chosen = {"BATON_DOMAIN": domain, "ROS_DOMAIN_ID": ros2_domain, "ROS_SECURITY_ENCLAVE_OVERRIDE": enclave}
    environment |= {variable: str(value) for variable, value in chosen.items() if value is not None}
    wheels = _wheels(name)
    if folders := library_path(wheels):
        environment["LD_LIBRARY_PATH"] = ":".join([*folders, *filter(None, [environment.get("LD_LIBRARY_PATH")])])
        environment["AMENT_PREFIX_PATH"] = ":".join(
            [*filter(None, [environment.get("AMENT_PREFIX_PATH")]), str(wheels)]
        )
    os.execve(program, [str(program), rmw], environment)
