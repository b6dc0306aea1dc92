# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT of a program of nodes (docs/guides/python.md, "Processes, threads, the end").

SIGTERM's default action ends a process without its `finally` blocks, and the kernel does not apply it to the first process of a container. A
shell lets the jobs that it starts with `&` ignore SIGINT. So, as after rospy.init_node() and rclpy.init(), both signals end the program.
A handler that the program has installed is left alone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, NoReturn


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends the process at once
    raise SystemExit(0)


def handle() -> list[tuple[signal.Signals, Any]]:
    """Installs the missing handlers; returns the handlers that they replace. Only the main thread may install handlers."""
    replaced: list[tuple[signal.Signals, Any]] = []
    if threading.current_thread() is not threading.main_thread():
        return replaced
    for number, before, handler in (
        (signal.SIGTERM, signal.SIG_DFL, _terminate),
        (signal.SIGINT, signal.SIG_IGN, signal.default_int_handler),
    ):
        if signal.getsignal(number) == before:
            replaced.append((number, signal.signal(number, handler)))
    return replaced


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """The same for a block. Handlers that the block itself has installed stay."""
    replaced = handle()
    try:
        yield
    finally:
        for number, before in replaced:
            if signal.getsignal(number) in (_terminate, signal.default_int_handler):
                signal.signal(number, before)


def _after_fork_in_child() -> None:
    # Workers are ended by their parent, e.g. multiprocessing's by SIGTERM, and are no programs of nodes until they say so.
    if signal.getsignal(signal.SIGTERM) is _terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


os.register_at_fork(after_in_child=_after_fork_in_child)
