# SPDX-License-Identifier: Apache-2.0
"""Nodes of ROS 2 on hosts that links join, and a bridge on each host with nodes over Fast DDS: what they do gives the same as on one host. Where DDS
joins the hosts, too, as many bridges stand by as would close a loop."""

from __future__ import annotations

import signal
import sys

import pytest
from bridge_ticks import on_standby, result, tick
from support.build import ROOT
from support.ros2 import TESTED, needs_ros2
from support.waiting import LIMIT_S, until

sys.path.insert(0, str(ROOT / "ros2/tests"))
from scenarios_test import EXPECTED

pytestmark = needs_ros2(TESTED.programs / "baton_bridge")


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


@pytest.mark.parametrize(
    ("links", "domains", "standbys"),
    [
        ([(0, 1)], [1, 1], 1),
        ([(0, 1), (0, 2), (1, 2)], [1, 1, 1], 2),
        ([(0, 1), (0, 2), (1, 2)], [1, 1, 2], 1),
        ([(0, 1), (2, 3)], [1, 2, 1, 2], 1),
        ([], [1, 1], 0),
    ],
    ids=["two_hosts", "three_hosts", "a_third_with_nodes_of_its_own", "a_ring_of_four", "no_links"],
)
def test_of_bridges_that_would_close_a_loop_one_stands_by(hosts, links, domains, standbys):
    every = hosts(len(domains))
    for host, domain in zip(every, domains, strict=True):
        host.ros_domain = domain
    for i, host in enumerate(every):
        host.link(*(every[near] for near, far in links if far == i))
    bridges = [host.start_bridge() for host in every]
    until(lambda: sum(map(on_standby, bridges)) == standbys, lambda: "\n".join(each.log() for each in bridges))
    tick(every, bridges)


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_bridge_on_standby_takes_over(hosts, sent):
    a, b = every = hosts(2)
    b.ros_domain = a.ros_domain
    a.link()
    b.link(a)
    bridges = [host.start_bridge() for host in every]
    until(lambda: any(map(on_standby, bridges)))
    first, second = sorted(bridges, key=on_standby)
    first.send_signal(sent)
    assert first.wait(LIMIT_S) in (0, -signal.SIGKILL)
    until(lambda: not on_standby(second), second.log)
    tick(every, [second])
