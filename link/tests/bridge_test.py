# SPDX-License-Identifier: Apache-2.0
"""Nodes of ROS 2 on two hosts that DDS does not join: links do, and a bridge on each host with nodes over Fast DDS. What the nodes do gives the same as
on one host."""

from __future__ import annotations

import json
import sys

import pytest
from support.build import ROOT
from support.processes import Process
from support.ros2 import TESTED, needs_ros2

sys.path.insert(0, str(ROOT / "ros2/tests"))
from scenarios_test import EXPECTED

pytestmark = needs_ros2(TESTED.programs / "baton_bridge")


def result(process: Process) -> dict:
    out, _ = process.ends(None)
    return json.loads(out.splitlines()[-1])


# The subscriptions of another host are the link's.
ACROSS = EXPECTED | {"graph": EXPECTED["graph"] | {"large": [["link", *EXPECTED["graph"]["large"][0][1:]]]}}


@pytest.mark.parametrize(
    ("far_rmw", "near_rmw"), [("plain", "plain"), ("plain", "baton"), ("baton", "plain"), ("baton", "baton")]
)
def test_what_nodes_of_two_hosts_do_gives_the_same_across_the_link(hosts, far_rmw, near_rmw):
    a, b = hosts(2)
    a.link()
    b.link(a)
    processes = {}
    for host, role, rmw in ((a, "far", far_rmw), (b, "near", near_rmw)):
        if rmw == "plain":
            host.start_bridge()
        processes[role] = host.program(TESTED.python, ROOT / "ros2/tests/scenarios.py", role, more=host.ros2(rmw))
    found = result(processes["near"])
    assert result(processes["far"])["stopped"]
    assert {name: found[name] for name in ACROSS} == ACROSS
