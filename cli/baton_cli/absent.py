# SPDX-License-Identifier: Apache-2.0
"""Verbs and options of `ros2`, and of ROS 1's commands, that this command does not have: each is answered with what to write."""

from __future__ import annotations

import click

# By the verb above ("" is baton itself) and the name. "write " stands before each way.
VERBS = {
    "": {
        "bag": "`baton topic echo --json` prints messages. There is no recorder for Baton's own nodes yet; `ros2 bag` records over "
        "rmw_baton_cpp (docs/guides/questions.md)",
        "run": "the program's own path: it reads --ros-args (docs/guides/names.md)",
        "launch": "a Procfile, a shell script, tmux or a launch file that starts executables (docs/guides/launching.md)",
        "action": "`ros2 action`: Baton's own nodes have no actions (docs/guides/from-ros.md)",
        "lifecycle": "`ros2 lifecycle`: Baton's own nodes have no lifecycle (docs/guides/from-ros.md)",
        "component": "`ros2 component`: each program of Baton is a process, and processes share messages without a copy "
        "(docs/guides/from-ros.md)",
        "pkg": "`baton interface package NAME` for the messages of a package",
        "daemon": "nothing: there is no daemon",
        "multicast": "`baton doctor`: processes of one machine meet in a directory, without a network",
        "security": "permissions of the runtime directory (SECURITY.md)",
        "wtf": "`baton doctor`",
        "msg": "`baton interface show TYPE`",
        "srv": "`baton interface show TYPE`",
        "version": "`baton --version`",
        "rosmsg": "`baton interface show TYPE`",
        "rossrv": "`baton interface show TYPE`",
        "rosrun": "the program's own path: it reads name:=value (docs/guides/names.md)",
        "roslaunch": "a Procfile, a shell script or tmux (docs/guides/launching.md), or `baton ros1 run roslaunch` for programs of roscpp",
    },
    "node": {
        "ping": "`baton node info NODE`",
        "kill": "`kill` with the process that `baton node list` shows",
        "cleanup": "nothing: a node that died is not listed",
    },
    "service": {"args": "`baton interface show TYPE`", "uri": "`baton service info SERVICE`", "echo": "a line of the logger in the handler, and `baton log`: requests cannot be watched from outside"},
    "param": {"delete": "`node.undeclare_parameter(name)` in the node's program"},
    "interface": {"packages": "`baton interface list`", "proto": "`baton interface show TYPE`, whose fields are the VALUES in YAML"},
}  # fmt: skip

_OFFERED = "nothing: echo asks for what the publishers offer"
_MEASURED = "nothing: every publisher is measured"
OPTIONS = {
    "topic echo": {
        **dict.fromkeys(
            ("--qos-profile", "--qos-reliability", "--qos-durability", "--qos-history", "--qos-depth"), _OFFERED
        ),
        "--raw": "`--json`",
        "-p": "`--csv`",
        "--flow-style": "`--json`",
        "--no-str": "`--field`, for the fields that shall be shown",
    },
    "topic pub": {
        "--qos-profile": "`--reliability best_effort`, `--durability transient_local`",
        "--qos-reliability": "`--reliability`",
        "--qos-durability": "`--durability`",
        "--print": "nothing: each message is printed",
        "--node-name": "nothing: the node is called after its process",
    },
    "topic list": {"--verbose": "`baton topic info -v TOPIC`", "-v": "`baton topic info -v TOPIC`"},
    "topic hz": {"--wall-time": "nothing: the publisher's clock is measured", "--qos-profile": _MEASURED},
    "node list": {"--all": "nothing: all nodes are listed", "-a": "nothing: all nodes are listed"},
    "doctor": {
        "--report": "nothing: all is shown",
        "-r": "nothing: all is shown",
        "--include-warnings": "nothing: all is shown",
    },
    "param get": {"--hide-type": "nothing: the value alone is printed"},
}
# Of every verb.
ANYWHERE = {
    "--no-daemon": "nothing: there is no daemon",
    "--spin-time": "nothing: who is there is known at once",
    "--use-sim-time": "nothing: rates are those of the publisher's clock",
}


def _path(ctx: click.Context) -> str:
    """The verbs without the program's name: "topic echo"."""
    names = []
    at: click.Context | None = ctx
    while at is not None and at.parent is not None:
        names.append(at.info_name or "")
        at = at.parent
    return " ".join(reversed(names))


def verb(ctx: click.Context, name: str) -> str | None:
    """What to write instead of this verb, or None."""
    return VERBS.get(_path(ctx), {}).get(name)


def option(error: click.NoSuchOption) -> str | None:
    """What to write instead of this option, or None."""
    if error.ctx is None:
        return None
    return OPTIONS.get(_path(error.ctx), {}).get(error.option_name) or ANYWHERE.get(error.option_name)
