# SPDX-License-Identifier: Apache-2.0
"""A process cannot take the domain's memory from others by claims: all claims together count at most as much as the kernel counts."""

import struct
import sys
from pathlib import Path

import pytest
from raw_peer import ACCOUNT, HOLDINGS, HOLDINGS_REQUEST, Link
from support.processes import Process, environment

HONEST = """
import baton, sys
node = baton.Node("honest")
publisher = node.advertise("/a", "std_msgs/String")
subscription = node.subscribe("/a", "std_msgs/String")
assert publisher.wait_for_subscriptions(1, 60)
print("ready", flush=True)
for line in sys.stdin:
    publisher.publish({"data": "x" * int(line)})
    print(len(subscription.take(60).data), node.memory.domain_backed_bytes, flush=True)
"""


def shared_memory():
    counts = dict(line.split()[:2] for line in Path("/proc/meminfo").read_text().splitlines())
    return sum(int(counts[name]) for name in ("Shmem:", "SwapTotal:")) - int(counts["SwapFree:"]) << 10


@pytest.mark.parametrize("liars", [1, 3])
def test_processes_that_claim_all_memory_of_the_domain_take_none_of_it(tmp_path, liars):
    limit = shared_memory() + (2 << 30)
    honest = Process([sys.executable, "-c", HONEST], env=environment(tmp_path, BATON_DOMAIN_MEMORY_LIMIT=str(limit)))
    try:
        honest.says("ready")
        (socket,) = tmp_path.glob("*/p-*")
        links = [Link(str(socket.parent), socket.name) for _ in range(liars)]
        for link in links:
            link.frame(ACCOUNT, struct.pack("<QQ", 2**63, 0))
            link.frame(HOLDINGS_REQUEST, struct.pack("<Q", 1))
            link.wait(HOLDINGS).close()  # so it has the claim
        for number in range(1, 30):
            honest.tell(str(number << 20))
            got, domain = map(int, honest.stdout.readline().split())
            assert got == number << 20 and domain < limit
        for link in links:
            link.close()
    finally:
        print(honest.end())
