# SPDX-License-Identifier: Apache-2.0
"""TCP ports for tests of every room, each claimed by one test at a time."""

import random
import socket
import time


class Ports:
    """So many ports that nobody has, and that nobody gets by chance: they lie below the ephemeral range, from which the kernel serves
    connections and those who bind to port 0, and below those of the links' domains. No other test on this machine has them until close()."""

    def __init__(self, count):
        self.numbers, self._claims = [], []
        for port in random.sample(range(12000, 22700), 1000):
            claim = socket.socket(socket.AF_UNIX)
            try:
                claim.bind(f"\0baton-test-tcp-port-{port}")
                with socket.socket() as tried:
                    tried.bind(("", port))
            except OSError:
                claim.close()
                continue
            self._claims.append(claim)
            self.numbers.append(port)
            if len(self.numbers) == count:
                return
        self.close()
        raise RuntimeError(f"there are no {count} free TCP ports from 12000 to 22699")

    def close(self):
        for claim in self._claims:
            claim.close()


def wait_for_server(process, port, patience_s=120):
    """Returns when `process`, which serves this port of 127.0.0.1 and is alone in that, listens."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the server of TCP port {port} ended with status {process.returncode}")
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError(f"nobody listens to TCP port {port}")
