# SPDX-License-Identifier: Apache-2.0
"""Stock ROS 2 nodes (rclpy over rmw_fastrtps_cpp, from PyPI) on the hosts of link_hosts.py, and links that join them."""

from __future__ import annotations

from pathlib import Path

from link_hosts import Host
from support.build import ROOT
from support.processes import Process
from support.ros2 import TESTED, over

ROS2_PYTHON = TESTED.python
STOCK = Path(__file__).parent / "ros2_stock.py"
EVERY_TYPE = ROOT / "ros2/tests/every_type.py"
# Hosts share /dev/shm, where Fast DDS would take processes of two hosts for one another.
ENVIRONMENT = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_DOMAIN_ID": "0", "PYTHONPATH": ""}


def ros2_link(host: Host, *peers: Host, domain: int = 0) -> Process:
    """The link of a host, with its side towards ROS 2."""
    return host.link(*peers, more=("--ros2", "--ros2-domain", str(domain)))


def stock(host: Host, *words: str, rmw_baton: bool = False) -> Process:
    """A role of ros2_stock.py. `rmw_baton`: over rmw_baton_cpp, above the same DDS."""
    return host.program(ROS2_PYTHON, STOCK, *words, more=ENVIRONMENT | over("baton" if rmw_baton else "plain"))


def every_type(host: Host, namespace: str, *words: str) -> Process:
    """A role of the ROS 2 tests' every_type.py."""
    return host.program(ROS2_PYTHON, EVERY_TYPE, *words, more=ENVIRONMENT | {"EVERY_TYPE_NAMESPACE": namespace})
