# SPDX-License-Identifier: Apache-2.0
"""ROS domains and TCP ports, each claimed by one test of this machine at a time. The claim is the name of an abstract socket, and ends
with the process."""

from __future__ import annotations

import random
import socket
import subprocess
from collections.abc import Iterable

from support.waiting import LIMIT_S, until


def _claim(kind: str, numbers: Iterable[int]) -> tuple[int, socket.socket] | None:
    """The first of these numbers that no other test has claimed, with the socket that keeps the claim until it is closed."""
    for number in numbers:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0baton-test-{kind}-{number}")
            return number, claim
        except OSError:
            claim.close()
    return None


def claim_domain() -> tuple[int, socket.socket]:
    """A ROS domain, and the socket whose close() gives the domain back. It is one of the 100 above 0 whose ports lie below the ephemeral range,
    chosen at random, since machines may receive each other's packets."""
    if (found := _claim("ros-domain", random.sample(range(1, 101), 100))) is None:
        raise RuntimeError("all ROS domains are taken")
    return found


class Ports:
    """So many free ports that no program gets by chance: they lie below the ephemeral range, from which the kernel serves
    connections and binds to port 0, and below the ports of the links' domains. No other test on this machine has them until close()."""

    def __init__(self, count: int) -> None:
        self.numbers: list[int] = []
        self._claims: list[socket.socket] = []
        left = iter(random.sample(range(12000, 22700), 1000))
        while len(self.numbers) < count:
            if (found := _claim("tcp-port", left)) is None:
                self.close()
                raise RuntimeError(f"there are no {count} free TCP ports from 12000 to 22699")
            self._claims.append(found[1])
            if _is_free(found[0]):
                self.numbers.append(found[0])

    def __enter__(self) -> list[int]:
        return self.numbers

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Gives the ports back."""
        for claim in self._claims:
            claim.close()


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        try:
            tried.bind(("", port))
            return True
        except OSError:
            return False


def wait_for_server(process: subprocess.Popen, port: int, patience_s: float = LIMIT_S) -> None:
    """Returns when `process` listens on this port of 127.0.0.1. Only this process may use the port."""

    def listens() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"the server of TCP port {port} ended with status {process.returncode}")
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    until(listens, f"nobody listens to TCP port {port}", patience_s, 0.05)
