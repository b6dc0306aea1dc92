# SPDX-License-Identifier: Apache-2.0
"""Callbacks for quality-of-service events and diagnostics. They run one after another in a thread of
their own, "baton news", which is made with the first of them; an exception in one goes to threading.excepthook."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _core


@dataclass(frozen=True)
class Diagnostic:
    """An error that no call can return, such as a peer's broken message or a refused type. `text` names its cause and the way out."""

    level: str  # "info", "warning" or "error"
    code: str
    text: str


_lock = threading.Lock()
_callbacks: dict[int, Callable[..., Any]] = {}
_numbers = itertools.count(1)
_thread: threading.Thread | None = None


def register(callback: Callable[..., Any]) -> int:
    """The number under which the extension refers to a callback."""
    global _thread
    with _lock:
        number = next(_numbers)
        _callbacks[number] = callback
        if _thread is None:
            _thread = threading.Thread(target=_run, name="baton news", daemon=True)
            _thread.start()
    return number


def _run() -> None:
    while (news := _core._next_news()) is not None:
        number, what, code, text = news
        with _lock:
            callback = _callbacks.get(number) if what else _callbacks.pop(number, None)
        if callback is None or not what:
            del callback
            continue
        try:
            callback(Diagnostic(what, code, text) if code else what)
        except BaseException:
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))
        del callback


def _end() -> None:
    _core._end_news()
    if _thread is not None and _thread is not threading.current_thread():
        _thread.join()


def _after_fork_in_child() -> None:
    global _thread, _lock
    _lock = threading.Lock()
    _thread = None
    _callbacks.clear()
    _core._forget_news()


atexit.register(_end)
os.register_at_fork(after_in_child=_after_fork_in_child)
