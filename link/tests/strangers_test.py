# SPDX-License-Identifier: Apache-2.0
"""Crowds of strangers at the port of a link: they hold connections, send half of what they should, or come again and again, from one address and
from many. Honest hosts are served meanwhile, also those that come during the attack, and a host that finds no room learns why."""

from __future__ import annotations

from pathlib import Path

import pytest
from hostile_test import LOG_LINES, Honest, addresses, attacked, log_lines
from link_hosts import Host, ip
from support.waiting import until

MOST_HOSTS = 256  # kMostHosts in link/src/stream/host_limits.hpp
NETWORK = "10.98.{}.{}"


def many_addresses(host: Host, count: int) -> list[str]:
    """So many addresses of the tests' network beside the host's own."""
    made = [NETWORK.format(1 + number // 200, 1 + number % 200) for number in range(count)]
    batch = "".join(f"addr add {address}/16 dev eth0\n" for address in made)
    file = host.directory / "addresses"
    file.write_text(batch)
    ip("-n", host.namespace, "-batch", str(file))
    return made


def threads(host: Host) -> int:
    return len(list(Path(f"/proc/{host.links[-1].pid}/task").iterdir()))


@pytest.fixture
def three(hosts):
    """The victim a, the honest host b, and the hostile one c, which share a network with many addresses."""
    made = hosts(3)
    for host in made:
        ip("-n", host.namespace, "addr", "add", f"{host.address}/16", "dev", "eth0")
    a, b, _ = made
    a.link()
    assert a.says("listens on port")
    yield made
    print(a.log_text()[-4000:], b.log_text()[-2000:])  # shown with a failure


CROWDS = [
    (name, count, many)
    for name in ("silent", "half_hellos", "trickle", "reconnect")
    for count, many in ((256, 0), (1000, 200))
]


@pytest.mark.parametrize(("name", "count", "many"), CROWDS)
def test_a_host_that_comes_among_strangers_is_served(three, name, count, many):
    a, b, c = three
    options = {"address": a.address, "count": count, "from": many_addresses(c, many) if many else addresses()[:0]}
    with attacked(c, name, **options) as seen:
        b.link(a)
        assert a.says("host bbb is connected") and b.says("host aaa is connected")
        honest = Honest(a, b)
        honest.go_on()
        # Threads of programs that were turned away end when a processor is free for them.
        until(lambda: threads(a) < 64 + 40, lambda: str(threads(a)))
    assert seen["connections"] >= count
    honest.end()
    assert log_lines(a) < LOG_LINES


def test_fake_hosts_give_way_to_a_host_from_an_address_with_fewer_and_leave_no_trace(three):
    a, b, c = three
    with attacked(c, "fake_hosts", address=a.address, **{"from": many_addresses(c, 16), "count": MOST_HOSTS}) as seen:
        until(lambda: len(a.state()["hosts"]) == MOST_HOSTS, a.log_text)
        b.link(a)
        assert a.says("host bbb is connected") and b.says("host aaa is connected")
        honest = Honest(a, b)
        assert a.says("gives way to host 'bbb'")
        honest.go_on(100)
    assert seen["held"] >= MOST_HOSTS - 1
    honest.end()
    assert b.log_text().count("host aaa is connected") == 1, "its place is not taken from it"
    assert log_lines(a) < LOG_LINES


def test_a_host_without_room_learns_why_and_is_served_once_the_others_have_left(three):
    a, b, c = three
    with attacked(c, "fake_hosts", address=a.address, **{"from": many_addresses(c, MOST_HOSTS), "count": MOST_HOSTS}):
        b.link(a)
        words = "it has as many hosts as it may have; name this host there with --peer"
        assert b.says(words) and a.says("host 'bbb' is left out: there are 256 other hosts")
        state = until(lambda: (now := b.state())["refused_hosts"] and now, b.state)
        assert words in state["refused_hosts"][0]["why"] and words in state["peers"][0]["why"]
        assert any(each["name"] == "bbb" for each in a.state()["refused_hosts"])
    assert a.says("host bbb is connected")  # the hosts that have left carried nothing
    honest = Honest(a, b)
    honest.go_on()
    honest.end()
    assert log_lines(a) < LOG_LINES
