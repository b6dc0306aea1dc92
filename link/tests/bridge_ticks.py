# SPDX-License-Identifier: Apache-2.0
"""Nodes on several hosts that count, with bridges of which some stand by."""

from __future__ import annotations

import json

from support.build import ROOT
from support.processes import Process
from support.ros2 import TESTED


def result(process: Process) -> dict:
    out, _ = process.ends(None)
    return json.loads(out.splitlines()[-1])


BY = {"standby": "this one is on standby", "works": "this one works now"}


def on_standby(bridge: Process) -> bool:
    return bridge.log().count(BY["standby"]) > bridge.log().count(BY["works"])


def tick(hosts: list, bridges: list[Process]) -> None:
    """A node over Baton and one over DDS on each host: each has each one's messages once, in order, and sees as many publishers as there are."""
    standing_by = [on_standby(each) for each in bridges]
    count = str(2 * len(hosts))
    nodes = [
        host.program(
            TESTED.python,
            ROOT / "ros2/tests/bridge_programs.py",
            "tick",
            f"{rmw}_{host.name}",
            count,
            more=host.ros2(rmw),
        )
        for host in hosts
        for rmw in ("plain", "baton")
    ]
    for node in nodes:
        assert node.stdout.readline(), node.stderr.read()
    for node in nodes:
        print("all", file=node.stdin, flush=True)
    for node in nodes:
        found = result(node)
        assert found["publishers"] == len(nodes)
        for name, lines in found["heard"].items():
            assert lines == [*range(lines[0], lines[0] + len(lines))], name
    assert [on_standby(each) for each in bridges] == standing_by
