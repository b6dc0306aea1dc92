# SPDX-License-Identifier: Apache-2.0
"""Stock ROS 2 nodes (rclpy over rmw_fastrtps_cpp, from PyPI) on the hosts of link_hosts.py, and links that join them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from link_hosts import ROOT, Host
from ros2_distribution import TESTED

ROS2_PYTHON, RMW_BATON = TESTED.python, TESTED.library
STOCK = Path(__file__).parent / "ros2_stock.py"
EVERY_TYPE = ROOT / "ros2/tests/every_type.py"
# Hosts share /dev/shm, where Fast DDS would take processes of two hosts for one another.
ENVIRONMENT = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4", "ROS_DOMAIN_ID": "0", "PYTHONPATH": ""}


def ros2_link(host: Host, *peers: Host, domain: int = 0) -> subprocess.Popen[str]:
    """The link of a host, with its side towards ROS 2."""
    return host.link(*peers, more=("--ros2", "--ros2-domain", str(domain)))


def stock(host: Host, *words: str, rmw_baton: bool = False) -> subprocess.Popen[str]:
    """A role of ros2_stock.py. `rmw_baton`: over rmw_baton_cpp, above the same DDS."""
    more = {"LD_PRELOAD": str(RMW_BATON), "RMW_IMPLEMENTATION": "rmw_baton_cpp"} if rmw_baton else {}
    return program(host, [str(ROS2_PYTHON), str(STOCK), *words], ENVIRONMENT | more)


def every_type(host: Host, namespace: str, *words: str) -> subprocess.Popen[str]:
    """A role of the ROS 2 tests' every_type.py."""
    return program(host, [str(ROS2_PYTHON), str(EVERY_TYPE), *words], ENVIRONMENT | {"EVERY_TYPE_NAMESPACE": namespace})


def program(host: Host, words: list[str], more: dict[str, str]) -> subprocess.Popen[str]:
    started = host._start(
        words,
        more,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    host.programs.append(started)
    return started
