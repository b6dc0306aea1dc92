# SPDX-License-Identifier: Apache-2.0
"""Hosts of one network find each other without a named peer."""

from __future__ import annotations

import signal
import time

from link_hosts import PORT, ip

# Multicast packets of the link's group that reach a host within so many seconds: how many, and their first bytes.
LISTEN = f"""
import socket, struct, sys, time
group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
group.bind(("", {PORT}))
index = socket.if_nametoindex("eth0")
group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, struct.pack("4s4si", socket.inet_aton("239.255.66.84"), bytes(4), index))
print("ready", flush=True)
end, count = time.monotonic() + float(sys.argv[1]), 0
while (left := end - time.monotonic()) > 0:
    group.settimeout(left)
    try:
        packet = group.recv(2000)
    except TimeoutError:
        break
    assert len(packet) == 128 and packet.startswith(b"btnlink" + bytes((10,))), packet
    count += 1
print(count, flush=True)
"""

# Says that there are hosts which are none: at this host's address, and with garbage. Again and again: who does not listen yet misses it.
LIAR = f"""
import itertools, os, socket, struct, sys, time
group = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
group.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
for i in itertools.count():
    hello = b"btnlink" + bytes((10,)) + struct.pack("<II", 5, 0) + os.urandom(16) + struct.pack("<QHxxxxxx", 0, 9) + b"liar".ljust(80, bytes(1))
    group.sendto((hello, os.urandom(128), hello[:50], hello + hello)[i % 4], ("239.255.66.84", {PORT}))
    if i % 1000 == 999:
        time.sleep(0.5)
"""


def test_hosts_of_one_network_find_each_other(hosts):
    a, b, c = hosts(3)
    for host in (a, b, c):
        host.link(multicast=True)
    for host in (a, b, c):
        for other in {a, b, c} - {host}:
            assert host.says(f"host {other.name} is connected")


def test_hosts_find_each_other_when_the_network_comes_after_the_link(hosts):
    a, b = hosts(2)
    ip("-n", a.namespace, "link", "set", "eth0", "down")
    a.link(multicast=True, interface="eth0")
    b.link(multicast=True)
    assert a.says("no network interface can multicast now")
    ip("-n", a.namespace, "link", "set", "eth0", "up")
    assert a.says("is connected") and b.says("is connected")


def test_hosts_of_another_domain_are_left_alone(hosts):
    a, b, c = hosts(3)
    a.link(multicast=True)
    b.link(multicast=True, more=("--domain", "1", "--port", "22700"))
    c.link(multicast=True)
    assert a.says(f"host {c.name} is connected")
    time.sleep(3)
    assert b.name not in a.log.read_text()
    assert "connected" not in b.log.read_text()


def test_without_multicast_a_host_says_and_hears_nothing(hosts):
    a, b, c = hosts(3)
    listener = c.python(LISTEN, "4").says("ready")
    a.link()
    listener.says("0")
    b.link(multicast=True)
    time.sleep(3)
    assert "connected" not in a.log.read_text() + b.log.read_text()


def test_hosts_that_are_none_do_not_disturb_others(hosts):
    a, b, c = hosts(3)
    a.link(multicast=True)
    liar = c.python(LIAR, c.address)
    assert a.says("host 'liar' says that it is there, and is not reached")
    liar.kill()
    assert liar.wait() == -signal.SIGKILL, liar.stderr.read()
    b.link(multicast=True)
    assert a.says(f"host {b.name} is connected") and b.says(f"host {a.name} is connected")
