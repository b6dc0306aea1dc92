# SPDX-License-Identifier: Apache-2.0
"""Executors of a test that spin in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import baton


@contextmanager
def spinning(
    node: baton.Node, expected: type[BaseException] = SystemExit, again: bool = False
) -> Iterator[list[BaseException]]:
    """The node's callbacks run in a thread until the block ends. Gives the exceptions of the kind `expected` that ended the spin, each as it
    comes; `again`: then it spins again."""
    executor, raised = baton.Executor(node), []

    def spin() -> None:
        try:
            executor.spin()
        except expected as error:
            raised.append(error)
            if again:
                spin()

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        yield raised
    finally:
        executor.cancel()
        thread.join()
