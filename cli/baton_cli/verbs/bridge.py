# SPDX-License-Identifier: Apache-2.0
"""`baton bridge`: the program that joins Baton's topics and services with nodes of another RMW of ROS 2 (docs/guides/ros2.md), and with
`--zenoh` the one that joins them with a Zenoh network (docs/guides/zenoh.md)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..examples import examples
from ..live import add_search, load, search_option

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
    """The folders in which the libraries of ROS 2's wheels find others; none for another installation, whose set-up file names them."""
    if not (wheels / "lib/librmw.so").exists():
        return []
    return [str(wheels / "lib"), *(str(each) for each in sorted(wheels.glob("lib/python3*/site-packages/ros_*.libs")))]


def _zenoh(domain: int | None, zenoh_domain: int | None, chosen: dict[str, Any]) -> None:
    """Works until a signal ends it."""
    baton = load()
    add_search(chosen["search"])
    try:
        from baton_zenoh.bridge import run
        from baton_zenoh.rules import RuleError, Rules
        from baton_zenoh.session import SessionError, configuration
    except ModuleNotFoundError as error:
        if error.name not in ("baton_zenoh", "zenoh", "xxhash"):
            raise
        raise click.ClickException(
            f"the Python package {error.name} is missing: pip install 'baton-ipc[zenoh]'"
        ) from None
    try:
        rules = Rules(**{each: chosen[each] for each in _RULES})
    except RuleError as error:
        raise click.UsageError(str(error)) from None
    options = {"domain": domain, "zenoh_domain": zenoh_domain, "raw": chosen["raw"], "name": chosen["name"]}
    try:
        baton.init([sys.argv[0]])  # from now on SIGTERM ends it like Ctrl-C
        config = configuration(chosen["config"], chosen["router"], chosen["listen"])
        run(config, rules, lambda text: click.echo(f"baton bridge: {text}", err=True), options)
    except (SessionError, baton.BatonError) as error:
        raise click.ClickException(str(error)) from None


_RULES = ("give", "take", "deny", "rate", "priority", "congestion")
_OF_ZENOH = ("raw", "router", "listen", "config", "name", "search", *_RULES)


def _expressions(name: str, text: str, metavar: str = "EXPR") -> Callable[[Any], Any]:
    return click.option(f"--{name}", multiple=True, metavar=metavar, help=f"With --zenoh: {text}")


@examples(
    "baton bridge",
    "baton bridge --rmw rmw_fastrtps_cpp",
    "baton bridge --domain 3 --ros2-domain 0",
    "baton bridge --zenoh --router tcp/192.168.1.10:7447",
    "baton bridge --zenoh --listen tcp/0.0.0.0:7447",
    "baton bridge --zenoh --give 'camera/**' --deny '**/raw' --rate 'camera/**=5'",
)
@click.command()
@click.option("--rmw", default="rmw_fastrtps_cpp", show_default=True, help="The RMW of the other nodes.")
@click.option("--distribution", metavar="NAME", help="Of ROS 2. Default: ROS_DISTRO, or the only one here.")
@click.option("--domain", type=click.IntRange(0, 9999), help="Default: BATON_DOMAIN, ROS_DOMAIN_ID, or 0.")
@click.option(
    "--ros2-domain", type=click.IntRange(0, 232), help="Of the other nodes. Default: ROS_DOMAIN_ID, or --domain."
)
@click.option("--enclave", metavar="NAME", help="The bridge's enclave of SROS 2. Default: /.")
@click.option("--zenoh", is_flag=True, help="Join Baton with a Zenoh network instead.")
@click.option("--raw", is_flag=True, help="With --zenoh: chunks as they lie, for other hosts with Baton alone.")
@_expressions("router", "connect to a router there, as tcp/192.168.1.10:7447. Default: tcp/localhost:7447.", "ENDPOINT")
@_expressions("listen", "be a router that listens there, as tcp/0.0.0.0:7447.", "ENDPOINT")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="With --zenoh: Zenoh's configuration (JSON5), for TLS and access control.",
)
@click.option("--name", metavar="HOST", help="With --zenoh: this host's name for others. Default: the host's name.")
@_expressions("give", "topics and services that go to Zenoh, as 'camera/**'. Default: all.")
@_expressions("take", "topics and services that come from Zenoh. Default: all.")
@_expressions("deny", "topics and services that do not cross.")
@_expressions("rate", "at most so many messages a second, of each publisher.", "EXPR=HZ")
@_expressions("priority", "real_time, interactive_high ... data ... background.", "EXPR=NAME")
@_expressions("congestion", "drop messages, or block, when the line is full.", "EXPR=WHAT")
@search_option("With --zenoh: packages with message types are below DIR.")
@click.pass_context
def command(
    ctx: click.Context,
    rmw: str,
    distribution: str | None,
    domain: int | None,
    ros2_domain: int | None,
    enclave: str | None,
    zenoh: bool,
    **chosen: Any,
) -> None:
    """Join Baton with another RMW's nodes, or with Zenoh.

    Nodes, topics, services, actions and parameters of each side are there for the other. A message crosses only while somebody on the other side
    subscribes to its topic. It runs until Ctrl-C. One process of a domain does this; a second one is on standby, and takes over.

    With --zenoh the other side is a Zenoh network, with nodes over rmw_zenoh, other hosts with Baton, or any client of Zenoh."""
    given = {each for each in ctx.params if ctx.get_parameter_source(each) is click.core.ParameterSource.COMMANDLINE}
    strange = given & ({"rmw", "distribution", "enclave"} if zenoh else set(_OF_ZENOH))
    if strange:
        raise click.UsageError(f"--{min(strange)} {'does not go with' if zenoh else 'needs'} --zenoh")
    if zenoh:
        return _zenoh(domain, ros2_domain, chosen)
    name, program = choose(programs(), distribution)
    environment = dict(os.environ)
    variables = {"BATON_DOMAIN": domain, "ROS_DOMAIN_ID": ros2_domain, "ROS_SECURITY_ENCLAVE_OVERRIDE": enclave}
    environment |= {variable: str(value) for variable, value in variables.items() if value is not None}
    wheels = _wheels(name)
    if folders := library_path(wheels):
        environment["LD_LIBRARY_PATH"] = ":".join([*folders, *filter(None, [environment.get("LD_LIBRARY_PATH")])])
        environment["AMENT_PREFIX_PATH"] = ":".join(
            [*filter(None, [environment.get("AMENT_PREFIX_PATH")]), str(wheels)]
        )
    os.execve(program, [str(program), rmw], environment)
