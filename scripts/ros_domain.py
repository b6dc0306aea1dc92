# SPDX-License-Identifier: Apache-2.0
"""ROS domains for tests of every room, each claimed by one test at a time."""

import random
import socket


def claim_domain():
    """A ROS domain that no other test on this machine has until the socket, whose name is the claim, is closed. Of the 100 above 0 whose
    ports lie below the ephemeral range; at random, since machines may hear each other."""
    for domain in random.sample(range(1, 101), 100):
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0baton-test-ros-domain-{domain}")
            return domain, claim
        except OSError:
            claim.close()
    raise RuntimeError("all ROS domains are taken")
