# SPDX-License-Identifier: Apache-2.0
"""Zero-copy messages between the processes of a robot.

    import baton
    from baton.msg.sensor_msgs import Image

    node = baton.Node("camera")
    publisher = node.advertise("image", Image)
    with publisher.loan() as image:
        image.width, image.height, image.step = 640, 480, 640 * 3
        image.data.resize(640 * 480 * 3)
        image.data[:] = 0

Numeric arrays of a message are NumPy arrays on the shared memory, arrays of fixed structs are structured arrays; strings and
nested messages are made when they are asked for. Received messages are read-only. A message stays valid for as long as Python
holds it or any array made from it. More: docs/guides/python.md.
"""

from __future__ import annotations

import atexit as _atexit
import importlib as _importlib
import os as _os
import sys as _sys
import threading as _threading

if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError("baton does not support free-threaded Python without the GIL; run it with PYTHON_GIL=1")

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from baton_generator.diagnostics import InterfaceError

from . import _core, aio, msg, srv
from ._array import Array, CopyWarning, converted
from ._core import (
    BatonError,
    CallbackGroup,
    Client,
    Losses,
    Message,
    MessageInfo,
    NodeMemory,
    Publisher,
    PublisherCounters,
    PublisherMemory,
    QoS,
    Sequence,
    Service,
    SimulatedClock,
    Statuses,
    Subscription,
    Timer,
    address,
    format_message,
    in_shared_memory,
    incompatibility,
    info,
    is_read_only,
    size_bytes,
)
from ._errors import *  # noqa: F403
from ._link import Link, LinkHost, LinkPeer, LinkRefused, LinkState, LinkTopic, SavedLink
from ._logging import Logger, LoggingSeverity, LogHandler, get_logger
from ._messages import TypeSource, convert, copy, message, message_from_text, same, search, service, to_dict
from ._news import Diagnostic
from ._node import Endpoint, Executor, HeldChunk, Holding, Node, Report, init, spin
from ._parameters import (
    FloatingPointRange,
    IntegerRange,
    ListParametersResult,
    Parameter,
    ParameterDescriptor,
    SetParametersResult,
)

__all__ = [
    "Array",
    "BatonError",
    "CallbackGroup",
    "Client",
    "CopyWarning",
    "Diagnostic",
    "Endpoint",
    "Executor",
    "FloatingPointRange",
    "HeldChunk",
    "Holding",
    "IntegerRange",
    "InterfaceError",
    "Link",
    "LinkHost",
    "LinkPeer",
    "LinkRefused",
    "LinkState",
    "LinkTopic",
    "ListParametersResult",
    "LogHandler",
    "Logger",
    "LoggingSeverity",
    "Losses",
    "Message",
    "MessageInfo",
    "Node",
    "NodeMemory",
    "Parameter",
    "ParameterDescriptor",
    "Publisher",
    "PublisherCounters",
    "PublisherMemory",
    "QoS",
    "Report",
    "SavedLink",
    "Sequence",
    "Service",
    "SetParametersResult",
    "SimulatedClock",
    "Statuses",
    "Subscription",
    "Timer",
    "TypeSource",
    "address",
    "aio",
    "convert",
    "copy",
    "format_message",
    "get_logger",
    "in_shared_memory",
    "incompatibility",
    "info",
    "init",
    "is_read_only",
    "message",
    "message_from_text",
    "msg",
    "search",
    "service",
    "size_bytes",
    "spin",
    "srv",
    "to_dict",
]

__version__ = "0.1.0"

# Names of another room, imported at their first use (docs/guides/record.md).
_BROUGHT = {"Player": "baton_record.play_player", "Recorder": "baton_record.record_process"}
if _TYPE_CHECKING:
    Player: _Any
    Recorder: _Any
else:

    def __getattr__(name: str) -> _Any:
        if name not in _BROUGHT:
            raise AttributeError(f"module 'baton' has no attribute '{name}'")
        return getattr(_importlib.import_module(_BROUGHT[name]), name)


_core._set_python_parts(Array, CopyWarning, converted, same)
del converted, same
_core._set_main_thread(_threading.main_thread().ident)


def _after_fork_in_child() -> None:
    _core._set_main_thread(_threading.get_ident())
    _core._forget_executors()


def _register_end() -> None:
    """Ends spins and waits when the interpreter begins to end, before it joins the threads that are no daemons."""
    try:
        _threading._register_atexit(_core._begin_end)  # type: ignore[attr-defined]
    except RuntimeError:  # it has begun already
        _core._begin_end()


_os.register_at_fork(after_in_child=_after_fork_in_child)
if hasattr(_threading, "_register_atexit"):  # an internal of CPython, since 3.9
    _register_end()
_atexit.register(_core._end_executors)
