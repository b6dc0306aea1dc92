# SPDX-License-Identifier: Apache-2.0
"""Several ways between two machines at once: the link, the bridge to Zenoh, and the bridge to another RMW. Each message arrives once, and none comes
back."""

from __future__ import annotations

import sys

import pytest
from bridge_ticks import on_standby, tick
from support.build import ROOT
from support.processes import LOG, Process
from support.ros2 import TESTED, needs_ros2
from support.waiting import until

sys.path.insert(0, str(ROOT / "ros2/tests"))

FAR = """
import sys
import baton
from baton import _core

node = baton.Node("far")
cls = baton.message("std_msgs/String")
publisher = _core._advertise_relayed(node, "/far", cls, baton.QoS(), "/talker@elsewhere", "topic", bytes(range(16)), None)
near = node.advertise("/near", cls)
print("ready", flush=True)
assert node.wait_for(lambda: near.matched, 100)
near.publish({"data": "near"})
sys.stdin.readline()
"""

LISTEN = """
import baton

node = baton.Node("listener")
near = node.subscribe("/near", "std_msgs/String")
far = node.subscribe("/far", "std_msgs/String")
assert near.take(100).data == "near"
print(sorted({each.topic for each in node.endpoints() if each.is_publisher and each.topic in ("/near", "/far")}), flush=True)
"""


def test_the_link_sends_nothing_on_that_stands_for_another_network(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    a.python(FAR).says("ready")
    b.python(LISTEN).says("['/near']")


def zenoh(host, *words: str) -> Process:
    command = [sys.executable, "-m", "baton_cli.main", "bridge", "--zenoh", "--name", host.name, "--domain", "0"]
    bridge = host.program(*command, "--ros2-domain", "0", *words, stderr=LOG)
    until(lambda: ": joins " in bridge.log() or bridge.poll() is not None, bridge.log)
    assert bridge.poll() is None, bridge.log()
    return bridge


@needs_ros2(TESTED.programs / "baton_bridge")
@pytest.mark.parametrize("linked", [True, False], ids=["with_the_link", "without_the_link"])
@pytest.mark.parametrize("domains", [[1, 2], [1, 1]], ids=["dds_apart", "dds_joined"])
def test_each_message_arrives_once_over_all_ways_at_once(hosts, domains, linked):
    pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
    a, b = every = hosts(2)
    for host, domain in zip(every, domains, strict=True):
        host.ros_domain = domain
    zenoh(a, "--listen", f"tcp/{a.address}:7447")
    zenoh(b, "--router", f"tcp/{a.address}:7447")
    if linked:
        a.link()
        b.link(a)
    bridges = [host.start_bridge() for host in every]
    standbys = int(domains == [1, 1])
    until(lambda: sum(map(on_standby, bridges)) == standbys, lambda: "\n".join(each.log() for each in bridges))
    tick(every, bridges)
