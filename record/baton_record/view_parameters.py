# SPDX-License-Identifier: Apache-2.0
"""The parameters of a domain's nodes, as viewers see them: /camera.rate is the parameter rate of the node /camera.

Thread rules: follow() is called by the view's thread, get() and set() by threads of the SDK, which serve other clients, too: so neither waits
for a node, but for the first get(). A few threads of this object talk to the nodes. Its lock is never held during a call of the SDK or of a node.
Invariants: (1) nothing is asked before a client asks; (2) a node is read by one thread at a time, and again if something happened
meanwhile, so the last reading is of the newest values.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from typing import Any

import baton
import click
from baton_cli import live
from baton_cli.verbs import param
from baton_cli.verbs.service import services_of

MOST_NODES = 1000  # nodes with parameters that are shown
MOST_PARAMETERS = 1000  # parameters of one node that are shown
MOST_VALUE_BYTES = 1 << 16  # size of one value that is shown
MOST_SETTING = 64  # requests to set parameters that wait for their nodes
_EVENTS = 1000  # queue length of events, each of which only names a node to read again
_THREADS = 4
_ANSWER_S = 2.0  # how long a node may take
# The least time between two readings of a node because of a client's request; an event is followed at once.
_AGAIN_S = 1.0
_FIRST_S = 1.0  # how long the first client waits for values
_DOUBLES = (param.TYPES.index("double"), param.TYPES.index("double_array"))


class Parameters:
    """`make`: the SDK's class of a parameter. `publish` gets new values, `settable` are patterns such as /camera.*."""

    def __init__(
        self,
        node: Any,
        sdk: Any,
        settable: Iterable[str],
        publish: Callable[[list[Any]], object],
        report: Callable[[str], object],
    ) -> None:
        self._node, self._sdk, self._settable = node, sdk, list(settable)
        self._publish, self._report = publish, report
        self._lock = threading.Lock()
        # By node, then by the parameter's name: its type, its value, and the SDK's object for viewers. None: the node has not answered.
        self._values: dict[str, dict[str, tuple[int, Any, Any]] | None] = {}
        self._reading: dict[str, bool] = {}  # the nodes that a thread is reading now; True: to be read again afterwards
        self._read_at: dict[str, float] = {}  # when the reading of a node ended
        self._awaited: dict[str, set[str]] = {}  # by node: parameters that viewers want to see again, changed or not
        self._setting = 0
        self._asked = threading.Event()
        self._filled = threading.Event()  # each node was read, or has not answered
        self._threads = ThreadPoolExecutor(_THREADS, "baton_view parameters")
        self._version = -1
        self._events: Any = None

    def close(self) -> None:
        """Waits until the threads are done with the nodes that they are asking now."""
        self._threads.shutdown(cancel_futures=True)
        self._events = None

    def get(self, names: list[str]) -> list[Any]:
        """The known values of these parameters; without names, of all parameters."""
        first = not self._asked.is_set()
        self._asked.set()
        if first:
            self._filled.wait(_FIRST_S)
        with self._lock:
            old = time.monotonic() - _AGAIN_S
            stale = [node for node in self._values if self._read_at.get(node, 0.0) < old]
            known = [
                (f"{node}.{name}", shown)
                for node, values in self._values.items()
                for name, (_, _, shown) in (values or {}).items()
            ]
        for node in stale:
            self._read_soon(node)
        wanted = set(names)
        return [shown for name, shown in known if not names or name in wanted]

    def set(self, values: list[tuple[str, Any]]) -> None:
        """Asks the nodes to set parameters, and reports refusals. Afterwards publishes the values that the parameters have."""
        by_node: dict[str, dict[str, Any]] = {}
        for full, value in values:
            node, dot, name = full.partition(".")
            if not dot or not name:
                self._report(f"{full} is not set: the parameter rate of the node /camera is /camera.rate")
            elif not any(fnmatchcase(full, pattern) for pattern in self._settable):
                self._report(f"{full} is not set: baton view was started without --set {full}")
                self._read_soon(node, {name})  # the viewer shows the new value already
            else:
                by_node.setdefault(node, {})[name] = value
        for node, wanted in by_node.items():
            with self._lock:
                free = self._setting < MOST_SETTING
                self._setting += free
            if free:
                self._threads.submit(self._set, node, wanted)
            else:
                self._report(f"{node}: parameters are not set: {MOST_SETTING} requests wait for nodes already")

    def follow(self) -> None:
        """Finds the nodes that have come, gone, or changed a parameter since the last call."""
        if not self._asked.is_set():
            return
        try:
            if self._events is None:
                self._events = self._node.subscribe("/parameter_events", "rcl_interfaces/ParameterEvent", qos=_EVENTS)
            for _ in range(_EVENTS):
                event = self._events.take()
                if event is None:
                    break
                self._read_soon(live.node_name(str(event.node)))
        except baton.BatonError as error:
            self._report(f"/parameter_events: a message is left out: {error}")
        if (version := self._node._graph_version()) == self._version:
            return
        self._version = version
        there = {
            name.removesuffix("/list_parameters")
            for name, service in services_of(self._node).items()
            if name.endswith("/list_parameters") and service.servers
        }
        if len(there) > MOST_NODES:
            self._report(f"parameters of {MOST_NODES} nodes are shown, of {len(there)}")
            there = set(sorted(there)[:MOST_NODES])
        with self._lock:
            fresh = there - self._values.keys()
            self._values = {node: self._values.get(node) for node in sorted(there)}
            self._read_at = {node: at for node, at in self._read_at.items() if node in there}
            self._awaited = {node: names for node, names in self._awaited.items() if node in there}
        for node in sorted(fresh):
            self._read_soon(node)
        if not there:
            self._filled.set()

    def _read_soon(self, node: str, awaited: Iterable[str] = ()) -> None:
        with self._lock:
            if node not in self._values:
                return
            names = self._awaited.setdefault(node, set())
            names.update(each for each in awaited if each in (self._values[node] or {}))
            if node in self._reading:
                self._reading[node] = True
                return
            self._reading[node] = False
        self._threads.submit(self._read, node)

    def _read(self, node: str) -> None:
        values = None
        try:
            remote = param.Remote(self._node, node, _ANSWER_S)
            names = remote.names()
            if len(names) > MOST_PARAMETERS:
                self._report(f"{node} has {len(names)} parameters, of which {MOST_PARAMETERS} are shown")
            names = names[:MOST_PARAMETERS]
            found = remote.call("get", {"names": names}).values if names else []
            values = {}
            for name, value in zip(names, found, strict=False):
                if not 0 < value.type < len(param.TYPES):
                    continue  # undeclared meanwhile, or with an unknown type number
                plain = param.plain_value(value)
                if _size(plain) > MOST_VALUE_BYTES:
                    self._report(f"{node}.{name} is not shown: it has more than {MOST_VALUE_BYTES} bytes")
                    continue
                try:
                    shown = self._shown(f"{node}.{name}", int(value.type), plain)
                except (TypeError, ValueError, OverflowError) as error:  # bytes that are no UTF-8, in a name or value
                    self._report(f"{node}.{name} is not shown: {error}")
                    continue
                values[name] = int(value.type), plain, shown
        except click.ClickException as error:
            self._report(f"parameters of {node} are not shown: {error.message}")
        except (baton.BatonError, ValueError) as error:
            self._report(f"parameters of {node} are not shown: {error}")
        finally:
            with self._lock:
                before, again = self._values.get(node) or {}, self._reading.pop(node)
                awaited = self._awaited.pop(node, set())
                if node in self._values:
                    self._values[node], self._read_at[node] = values, time.monotonic()
                filled = not self._reading
        none = (0, None, None)
        if news := [
            value[2]
            for name, value in (values or {}).items()
            if name in awaited or before.get(name, none)[:2] != value[:2]
        ]:
            self._publish(news)
        if filled:
            self._filled.set()
        if again:
            self._read_soon(node)

    def _set(self, node: str, wanted: dict[str, Any]) -> None:
        try:
            with self._lock:
                known = self._values.get(node) or {}
            request = [_message(name, value, known[name][0] if name in known else 0) for name, value in wanted.items()]
            results = param.Remote(self._node, node, _ANSWER_S).set(request)
            for name, result in zip(wanted, results, strict=True):
                if not result.successful:
                    self._report(f"{node}.{name} is not set: {node} refused it: {result.reason}")
        except click.ClickException as error:
            self._report(f"parameters of {node} are not set: {error.message}")
        except (baton.BatonError, ValueError, TypeError, OverflowError) as error:
            self._report(f"parameters of {node} are not set: {error}")
        finally:
            with self._lock:
                self._setting -= 1
            self._read_soon(node, wanted)

    def _shown(self, name: str, kind: int, value: Any) -> Any:
        types = self._sdk.websocket.ParameterType
        hint = {_DOUBLES[0]: types.Float64, _DOUBLES[1]: types.Float64Array}.get(kind)
        if kind == param.TYPES.index("byte_array"):
            value = bytes(value)
        return self._sdk.websocket.Parameter(name, value=value, type=hint)


def _size(value: Any) -> int:
    """About how many bytes a value takes."""
    if isinstance(value, list):
        return sum(8 + _size(each) for each in value)
    return len(value) if isinstance(value, str) else 0


def _message(name: str, value: Any, declared: int) -> dict[str, Any]:
    """A rcl_interfaces/Parameter. JSON has one kind of number, and empty arrays have no type: those are of the type that was declared."""
    if value is None:
        return {"name": name, "value": {"type": 0}}
    if declared == _DOUBLES[0] and type(value) is int:
        value = float(value)
    elif declared == _DOUBLES[1] and isinstance(value, list) and all(type(each) in (int, float) for each in value):
        value = [float(each) for each in value]
    if value == [] and param.TYPES[declared].endswith("_array"):
        return {"name": name, "value": {"type": declared, f"{param.TYPES[declared]}_value": []}}
    return param.parameter_message(baton, name, value)
