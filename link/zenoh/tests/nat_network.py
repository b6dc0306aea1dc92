# SPDX-License-Identifier: Apache-2.0
"""A small internet in network namespaces: a cloud with a public address, and sites, each with a host behind a NAT of its own (nftables). All hosts have
the same private address, and none can be reached from outside."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress

import pytest
from support.waiting import LIMIT_S

PUBLIC, PRIVATE, GATEWAY = "203.0.113", "192.168.7.2", "192.168.7.1"
NAT = (
    "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; "
    'add rule ip nat out oifname "wan" masquerade'
)
# Nobody outside opens a connection to a host behind the NAT.
DOOR = (
    "add table ip door; add chain ip door in { type filter hook forward priority 0; }; "
    'add rule ip door in iifname "wan" ct state new drop'
)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT_S)


class Internet:
    def __init__(self) -> None:
        self._prefix = f"bz{os.getpid() % 100000}"
        self._spaces: list[str] = []
        try:
            self._net = self._space("net")
            self._ip(self._net, "link add br0 type bridge")
            self._ip(self._net, "link set br0 up")
            self.cloud = self._space("cloud")
            self._plug_in(self.cloud, 1)
        except (OSError, subprocess.CalledProcessError) as error:
            self.end()
            pytest.skip(f"this machine permits no network namespaces: {getattr(error, 'stderr', error)}")
        self.address = f"{PUBLIC}.1"
        self._sites = 1

    def _space(self, name: str) -> str:
        space = f"{self._prefix}{name}"
        _run("ip", "netns", "add", space)
        self._spaces.append(space)
        self._ip(space, "link set lo up")
        return space

    @staticmethod
    def _ip(space: str, words: str) -> None:
        _run("ip", "-n", space, *words.split())

    def _plug_in(self, space: str, number: int) -> None:
        """Gives a namespace a public address, on its device "wan"."""
        self._ip(space, f"link add wan type veth peer name p{number} netns {self._net}")
        self._ip(space, f"addr add {PUBLIC}.{number}/24 dev wan")
        self._ip(space, "link set wan up")
        self._ip(self._net, f"link set p{number} master br0 up")

    def site(self) -> tuple[str, int]:
        """The namespace of a host behind a NAT, and the number of the site."""
        self._sites += 1
        number = self._sites
        gateway, host = self._space(f"nat{number}"), self._space(f"host{number}")
        self._plug_in(gateway, number)
        self._ip(host, f"link add eth0 type veth peer name lan netns {gateway}")
        self._ip(host, f"addr add {PRIVATE}/24 dev eth0")
        self._ip(host, "link set eth0 up")
        self._ip(gateway, f"addr add {GATEWAY}/24 dev lan")
        self._ip(gateway, "link set lan up")
        self._ip(host, f"route add default via {GATEWAY}")
        _run("ip", "netns", "exec", gateway, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for rules in (NAT, DOOR):
            _run("ip", "netns", "exec", gateway, "nft", rules)
        return host, number

    def cut(self, number: int) -> None:
        self._ip(self._net, f"link set p{number} down")

    def join(self, number: int) -> None:
        self._ip(self._net, f"link set p{number} up")

    def end(self) -> None:
        for space in self._spaces:
            with suppress(subprocess.SubprocessError):
                _run("ip", "netns", "delete", space)
