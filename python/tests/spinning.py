# SPDX-License-Identifier: Apache-2.0
"""Executors of a test that spin in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import baton


class Raised(list[BaseException]):
    """The exceptions that ended the spin, each as it comes."""

    def __init__(self, executor: baton.Executor) -> None:
        self.executor = executor


@contextmanager
def spinning(node: baton.Node, expected: type[BaseException] = SystemExit, again: bool = False) -> Iterator[Raised]:
    """The node's callbacks run in a thread until the block ends. Gives the exceptions of the kind `expected`; `again`: then it spins again."""
    executor = baton.Executor(node)
    raised = Raised(executor)

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
