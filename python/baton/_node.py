# SPDX-License-Identifier: Apache-2.0
"""Nodes and executors: the part of the API that is written in Python."""

from __future__ import annotations

import inspect
import math
import os
import sys
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from . import _core, _link, _logging, _messages, _news, _parameters, _signals, _usage
from ._core import QoS
from ._link import SavedLink
from ._parameters import ListParametersResult, Parameter, ParameterDescriptor, SetParametersResult

if TYPE_CHECKING:
    import asyncio

_M = TypeVar("_M", bound=_core.Message)


@dataclass(frozen=True)
class Endpoint:
    """A publisher or subscription that is known in the domain."""

    gid: bytes
    is_publisher: bool
    topic: str
    type_name: str
    node: str
    type_hash: bytes
    qos: QoS
    pid: int


@dataclass(frozen=True)
class HeldChunk:
    """A message that a subscription holds, and where it lies in its publisher's memory."""

    sequence: int
    size_bytes: int
    segment: int
    offset: int


@dataclass(frozen=True)
class Holding:
    """The messages of one publisher that one subscription has, and how many it may have. `publisher`, `subscription`: Endpoint.gid."""

    publisher: bytes
    subscription: bytes
    unread: int
    held: int
    held_bytes: int  # bytes of all held messages
    chunks: list[HeldChunk]  # the oldest eight held messages
    # "connected"; "left": the subscription has gone, its process still holds samples; "refused": see reason.
    standing: str
    wished: int  # its QoS.held
    granted: int  # how many of `wished` were granted; 0 if refused
    reason: str  # the publisher's sentence about why it was refused or got less; else empty
    # About the publisher, the same in each of its rows:
    slots: int  # messages that may be alive at the same time
    shared: int  # how many of them all subscriptions together may hold
    promised: int  # how many of them are granted, or held by subscriptions that left


@dataclass(frozen=True)
class Report:
    """The answers of the processes of a domain."""

    holdings: list[Holding]
    losses: dict[bytes, _core.Losses]  # by the subscription's Endpoint.gid; a subscription without losses has no entry
    link: SavedLink  # the last state of this host's link to other hosts, even if the link has ended


def _lost(losses: _core.Losses) -> int:
    return sum((losses.overflow, losses.held, losses.limit, losses.memory, losses.malformed, losses.interrupted))


_core.Losses.total = property(_lost)  # type: ignore[method-assign,assignment]


def init(args: Sequence[str] | None = None, *, signals: bool = True) -> list[str]:
    """Reads a command line of ROS 2 (`--ros-args -r from:=to -p name:=value`) or ROS 1 (`from:=to _name:=value`): `args`, else
    sys.argv. Names and parameters of all nodes made afterwards follow it. Returns the arguments that are not ROS's, the
    program's name first. A wrong option or value is an InvalidArgument; if the program does not catch it, the program ends with
    one line and status 2, as with argparse. From then on SIGTERM raises SystemExit in the main thread, and SIGINT raises
    KeyboardInterrupt also in a shell's background job; handlers of the program stay. `signals=False` leaves signals alone."""
    _usage.install()
    own = _core._init(list(sys.argv if args is None else args))
    if signals:
        _signals.handle()
    return own


def _remove(callbacks: list[tuple[Any, Any]], callback: Any) -> None:
    for entry in callbacks:
        if entry[0] == callback:  # bound methods are equal, and never the same
            callbacks.remove(entry)
            return
    raise ValueError(f"{callback!r} is no callback of this node")


def _qos(qos: QoS | int | None, call: str) -> QoS:
    if qos is None:
        return QoS()
    if isinstance(qos, QoS):
        return qos
    if not isinstance(qos, int):
        raise TypeError(f"{call}: qos is a queue length or a baton.QoS, as in qos=10, not {qos!r}")
    return QoS(qos)


def _checked_callback(callback: Any, call: str) -> None:
    """`call`: how the program made it, for the error."""
    if not callable(callback):
        wanted = f"write qos={callback!r}" if isinstance(callback, int | QoS) else "pass a function"
        raise TypeError(f"{call}: the callback {callback!r} cannot be called; {wanted}")
    if inspect.iscoroutinefunction(callback):
        raise TypeError(
            f"{call}: an executor cannot await the coroutine function '{callback.__name__}'; in an asyncio program use "
            "`async for message in baton.aio.messages(subscription)` and `await baton.aio.call(client, request)`"
        )


def _check_arguments(callback: Any, count: int, call: str, form: str) -> None:
    """Raises TypeError if `callback` cannot be called with `count` arguments."""
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):  # of a builtin that does not say
        return
    try:
        signature.bind(*[None] * count)
    except TypeError:
        name = getattr(callback, "__qualname__", None) or repr(callback)
        raise TypeError(f"{call}: '{name}{signature}' cannot be called with {form} (docs/guides/from-ros.md)") from None


def _link_peers(link: Any) -> list[str]:
    if isinstance(link, str):
        raise TypeError(f"Node(): link is True or a list of hosts; write link=[{link!r}]")
    return list(link)


def _checked_topic(topic: Any, call: str) -> None:
    if not isinstance(topic, str):
        what = "topic" if call in ("advertise", "subscribe") else "name"
        raise TypeError(f"{call}(): the {what} comes first, then the type: {call}('{what}', {_name_of(topic)})")


def _name_of(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


class Node(_core.Node):
    """A named participant of a domain. What it makes with a callback lives until close() or the node's end."""

    def __init__(
        self,
        name: str,
        *,
        domain: int | None = None,
        runtime_directory: str | os.PathLike[str] | None = None,
        on_diagnostic: Callable[[_news.Diagnostic], object] | None = None,
        namespace: str = "",
        cli_args: Sequence[str] = (),
        use_global_arguments: bool = True,
        parameter_overrides: Iterable[Parameter] = (),
        enable_rosout: bool = True,
        link: bool | Iterable[str] = False,
    ) -> None:
        """Joins the domain: `domain`, else BATON_DOMAIN, else ROS_DOMAIN_ID, else 0. `on_diagnostic` is called, in a thread of
        its own, with messages about what no call can return; without it each is a line of the logger "baton" on stderr.
        `cli_args` are rules for names and parameters of this node alone, as on a command line; they stand before those of
        init(), which `use_global_arguments` switches off. `enable_rosout=False`: lines of get_logger() do not go to /rosout.
        `link=True` connects the domain to other hosts while the node is there, and `link=["hostb"]` names other hosts for it: a Link
        (docs/guides/machines.md), which close() ends."""
        super().__init__(
            name,
            -1 if domain is None else domain,
            os.fspath(runtime_directory or ""),
            on_diagnostic,
            namespace or "",
            list(cli_args or ()),
            use_global_arguments,
            _parameters.pairs(parameter_overrides or ()),
            enable_rosout,
        )
        self._runtime_directory = runtime_directory
        self._link: _link.Link | None = None
        self._kept: list[Any] = []
        self._on_set: list[tuple[Any, Any]] = []
        self._post_set: list[tuple[Any, Any]] = []
        if link is not False:
            peers = () if link is True else _link_peers(link)
            self._link = _link.Link(
                peers, domain=self.domain, runtime_directory=runtime_directory, on_diagnostic=on_diagnostic
            )

    def __repr__(self) -> str:
        return f"Node({self.fully_qualified_name!r}, domain={self.domain})"

    def get_logger(self) -> _logging.Logger:
        """The logger of the node's name. Its lines go to stderr and, while the node lives, to the topic /rosout."""
        return _logging.Logger(self._get_logger())

    @overload
    def advertise(
        self,
        topic: str,
        message_type: type[_M],
        qos: QoS | int | None = ...,
        *,
        memory_limit: int = ...,
        max_message: int = ...,
        slots: int = ...,
        policy: str = ...,
        attempts: int = ...,
        prefault: bool = ...,
    ) -> _core.Publisher[_M]: ...
    @overload
    def advertise(
        self,
        topic: str,
        message_type: Any,
        qos: QoS | int | None = ...,
        *,
        memory_limit: int = ...,
        max_message: int = ...,
        slots: int = ...,
        policy: str = ...,
        attempts: int = ...,
        prefault: bool = ...,
    ) -> _core.Publisher[Any]: ...
    def advertise(
        self,
        topic: str,
        message_type: Any,
        qos: QoS | int | None = None,
        *,
        memory_limit: int = 0,
        max_message: int = 0,
        slots: int = 0,
        policy: str = "medium_effort",
        attempts: int = 8,
        prefault: bool = False,
    ) -> _core.Publisher[Any]:
        """A publisher. `qos`: a QoS or a queue length. `memory_limit`: bytes it may ever use (0: 1 GiB); `max_message`: bytes
        of the largest message (0: 256 MiB); `slots`: messages that may be alive at the same time; all subscriptions
        together may hold as many (0: the default); `policy`: which messages a loan may reclaim when memory is short (TZC's efforts), or "none":
        the loan fails."""
        _checked_topic(topic, "advertise")
        return self._advertise(
            topic,
            _messages.message(message_type),
            _qos(qos, f"advertise('{topic}')"),
            memory_limit,
            max_message,
            slots,
            policy,
            attempts,
            prefault,
        )

    @overload
    def subscribe(
        self,
        topic: str,
        message_type: type[_M],
        callback: Callable[[_M], object] | None = ...,
        qos: QoS | int | None = ...,
        *,
        group: _core.CallbackGroup | None = ...,
    ) -> _core.Subscription[_M]: ...
    @overload
    def subscribe(
        self,
        topic: str,
        message_type: Any,
        callback: Callable[[Any], object] | None = ...,
        qos: QoS | int | None = ...,
        *,
        group: _core.CallbackGroup | None = ...,
    ) -> _core.Subscription[Any]: ...
    def subscribe(
        self,
        topic: str,
        message_type: Any,
        callback: Callable[[Any], object] | None = None,
        qos: QoS | int | None = None,
        *,
        group: _core.CallbackGroup | None = None,
    ) -> _core.Subscription[Any]:
        """A subscription. An executor gives messages to `callback(message)`; without one, take(), iterate or await them."""
        _checked_topic(topic, "subscribe")
        if callback is not None:
            _checked_callback(callback, f"subscribe('{topic}')")
            _check_arguments(callback, 1, f"subscribe('{topic}')", "the message alone")
        made = self._subscribe(
            topic, _messages.message(message_type), _qos(qos, f"subscribe('{topic}')"), callback, group
        )
        if callback is not None:
            self._kept.append(made)
        return made

    def create_timer(
        self,
        period: float,
        callback: Callable[[], object],
        *,
        clock: _core.SimulatedClock | None = None,
        group: _core.CallbackGroup | None = None,
    ) -> _core.Timer:
        """Calls `callback()` every `period` seconds of `clock`, by an executor. Missed periods are skipped. Without a clock, time is
        CLOCK_MONOTONIC's."""
        if not isinstance(period, int | float):
            raise TypeError(
                f"create_timer(): the period {period!r} is no number of seconds; write create_timer(0.1, callback)"
            )
        _checked_callback(callback, "create_timer()")
        _check_arguments(callback, 0, "create_timer()", "no argument, as a timer's callback is")
        made = self._create_timer(period, callback, clock, group)
        self._kept.append(made)
        return made

    def serve(
        self,
        name: str,
        service_type: Any,
        handler: Callable[[Any, Any], object],
        *,
        group: _core.CallbackGroup | None = None,
        memory_limit: int = 0,
        max_message: int = 0,
    ) -> _core.Service:
        """A service: an executor calls `handler(request, response)`, which fills the response in shared memory. It returns this
        response or nothing; spin() raises TypeError otherwise. `memory_limit`: bytes that all responses may ever use (0: 1 GiB);
        `max_message`: bytes of the largest response (0: 256 MiB)."""
        _checked_topic(name, "serve")
        _checked_callback(handler, f"serve('{name}')")
        _check_arguments(
            handler, 2, f"serve('{name}')", "the request and the response that it fills, as handler(request, response)"
        )
        service: Any = _messages.service(service_type)
        made = self._serve(
            name,
            _messages.message(service.Request),
            _messages.message(service.Response),
            handler,
            group,
            memory_limit,
            max_message,
            _messages.event_hash(service),
        )
        self._kept.append(made)
        return made

    def client(
        self, name: str, service_type: Any, *, held: int = 64, memory_limit: int = 0, max_message: int = 0
    ) -> _core.Client:
        """A client of a service; its call() needs no executor. The program may keep `held` responses at the same time (1 to
        65536); another call then raises HeldLimit. `memory_limit`: bytes that all requests may ever use (0: 1 GiB); `max_message`:
        bytes of the largest request (0: 256 MiB)."""
        _checked_topic(name, "client")
        service: Any = _messages.service(service_type)
        request, response = _messages.message(service.Request), _messages.message(service.Response)
        return self._client(name, request, response, held, memory_limit, max_message, _messages.event_hash(service))

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: ParameterDescriptor | Any | None = None
    ) -> Parameter:
        """Declares a parameter; its value is the one of the command line if there is one, else `value`: a bool, int, float,
        str, bytes or a list. A Parameter.Type as `value` gives no default: the command line must have one."""
        is_type = isinstance(value, Parameter.Type)
        if value is None and not getattr(descriptor, "dynamic_typing", False):
            raise TypeError(
                f"parameter '{name}' has neither a default nor a type: declare_parameter('{name}', 10), or "
                f"declare_parameter('{name}', Parameter.Type.INTEGER)"
            )
        return _parameters.parameter(
            self._declare_parameter(
                name, None if is_type else value, int(value) if is_type else 0, _parameters.described(descriptor)
            )
        )

    def declare_parameters(self, namespace: str, parameters: Iterable[tuple[Any, ...]]) -> list[Parameter]:
        """declare_parameter() for each (name, value) or (name, value, descriptor); `namespace` and a dot precede the names."""
        prefix = namespace + "." if namespace else ""
        return [self.declare_parameter(prefix + name, *rest) for name, *rest in parameters]

    def get_parameter(self, name: str) -> Parameter:
        """Raises NotFound if it is not declared."""
        return _parameters.parameter(self._get_parameter(name))

    def get_parameters(self, names: Iterable[str]) -> list[Parameter]:
        """Raises NotFound if one is not declared."""
        return [self.get_parameter(name) for name in names]

    def get_parameter_or(self, name: str, alternative: Parameter | None = None) -> Parameter:
        """`alternative` if it is not declared."""
        if self.has_parameter(name):
            return self.get_parameter(name)
        return Parameter(name) if alternative is None else alternative

    def set_parameters(self, parameters: Iterable[Parameter]) -> list[SetParametersResult]:
        """Sets each by itself; a result says whether it was refused, and why."""
        return [SetParametersResult(*one) for one in self._set_parameters(_parameters.pairs(parameters), False)]

    def set_parameters_atomically(self, parameters: Iterable[Parameter]) -> SetParametersResult:
        """Sets all, or none."""
        return SetParametersResult(*self._set_parameters(_parameters.pairs(parameters), True)[0])

    def describe_parameter(self, name: str) -> ParameterDescriptor:
        """Raises NotFound if it is not declared."""
        return _parameters.descriptor(self._describe_parameter(name))

    def list_parameters(self, prefixes: Sequence[str] = (), depth: int = 0) -> ListParametersResult:
        """All names, or those below one of `prefixes`, at most `depth` parts deep (0: any depth)."""
        return ListParametersResult(*self._list_parameters(list(prefixes), depth))

    def add_on_set_parameters_callback(self, callback: _parameters.OnSetCallback) -> None:
        """Calls `callback(parameters)` before declarations and sets. It returns a SetParametersResult, which may refuse them
        with a reason. It may read parameters, and must not set them."""
        self._on_set.append((callback, self._add_on_set_parameters_callback(_parameters.asking(callback))))

    def remove_on_set_parameters_callback(self, callback: _parameters.OnSetCallback) -> None:
        """Raises ValueError if it was not added."""
        _remove(self._on_set, callback)

    def add_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], object]) -> None:
        """Calls `callback(parameters)` after declarations and sets, in the thread that made them. It may set parameters."""
        made = self._add_post_set_parameters_callback(lambda raw: callback([_parameters.parameter(one) for one in raw]))
        self._post_set.append((callback, made))

    def remove_post_set_parameters_callback(self, callback: Callable[[list[Parameter]], object]) -> None:
        """Raises ValueError if it was not added."""
        _remove(self._post_set, callback)

    def destroy(self, made: Any) -> None:
        """Ends a subscription with a callback, a timer or a service of this node."""
        self._kept = [kept for kept in self._kept if kept is not made]

    def close(self) -> None:
        """Ends everything that the node keeps, its link too."""
        if self._link is not None:
            self._link.close()
            self._link = None
        self._kept.clear()
        self._on_set.clear()
        self._post_set.clear()

    def __enter__(self) -> Node:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def holdings(self, timeout: float | None = 1.0) -> list[Holding]:
        """report().holdings."""
        return self.report(timeout).holdings

    def report(self, timeout: float | None = 1.0) -> Report:
        """The messages that each subscription of the domain holds and may hold now, its losses, and the state of the link
        (docs/format/report.md).

        Every process is asked; one that does not answer in time is missing.
        """
        rows, losses = self._report(timeout)
        holdings = [
            Holding(
                publisher,
                subscription,
                unread,
                held,
                held_bytes,
                [HeldChunk(*chunk) for chunk in chunks],
                standing,
                wished,
                granted,
                reason,
                *of_publisher,
            )
            for publisher, subscription, unread, held, held_bytes, chunks, standing, wished, granted, reason, *of_publisher in rows
        ]
        try:
            link = _link.saved(self.domain, self._runtime_directory)
        except _core.BatonError as error:
            link = SavedLink(False, None, "", str(error))
        return Report(holdings, losses, link)

    def endpoints(self) -> list[Endpoint]:
        """All publishers and subscriptions that are known now, own ones included."""
        return [Endpoint(*values) for values in self._endpoints()]

    def _endpoints_of(self, topic: str) -> list[Endpoint]:
        """Those of a topic. Looks at no others: other processes may have very many."""
        return [Endpoint(*values) for values in self._endpoints(topic)]


class Executor(_core.Executor):
    """Runs the callbacks of nodes on one or several threads."""

    def __init__(self, *nodes: Node, threads: int = 1) -> None:
        super().__init__(threads)
        self._nodes: list[Node] = []
        for node in nodes:
            self.add(node)

    def spin(self) -> None:
        """Runs callbacks until cancel(), Ctrl-C or SIGTERM. An exception of a callback ends it and is raised here. In the main
        thread SIGTERM raises SystemExit meanwhile, if the program has no handler of its own."""
        with _signals.handled():
            super().spin()

    def add(self, node: Node) -> None:
        """A node belongs to at most one executor."""
        self._add(node)
        self._nodes.append(node)

    def remove(self, node: Node) -> None:
        """Its callbacks run no more."""
        self._remove(node)
        self._nodes.remove(node)


def spin(*nodes: Node, threads: int = 1) -> None:
    """Runs the callbacks of these nodes, one at least, until Ctrl-C, which raises KeyboardInterrupt, or SIGTERM, which raises
    SystemExit."""
    if not nodes:
        raise TypeError("spin() needs the nodes whose callbacks it should run: baton.spin(node)")
    executor = Executor(*nodes, threads=threads)
    try:
        executor.spin()
    finally:
        for node in nodes:
            executor.remove(node)


# The tasks that wait for each descriptor in a loop: a loop has only one reader callback for a descriptor.
_waiting: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[int, list[asyncio.Future[None]]]]
_waiting = weakref.WeakKeyDictionary()


def _wake(waiters: list[asyncio.Future[None]]) -> None:
    for ready in waiters:
        if not ready.done():
            ready.set_result(None)


async def _readable(descriptor: int, has_data: Callable[[], bool]) -> None:
    """Waits until there may be data: several tasks may wait for one descriptor."""
    import asyncio

    loop = asyncio.get_running_loop()
    waiting = _waiting.setdefault(loop, {})
    ready: asyncio.Future[None] = loop.create_future()
    waiters = waiting.setdefault(descriptor, [])
    if not waiters:
        loop.add_reader(descriptor, _wake, waiters)
    waiters.append(ready)
    try:
        if not has_data():
            await ready
    finally:
        waiters.remove(ready)
        if not waiters:
            del waiting[descriptor]
            loop.remove_reader(descriptor)


async def messages(subscription: _core.Subscription[_M]) -> AsyncIterator[_M]:
    """Messages of a subscription in an asyncio event loop: `async for image in baton.aio.messages(subscription)`. Of several
    tasks that do so with one subscription, one gets each message."""
    descriptor = subscription.fileno()
    while True:
        taken = subscription.take()
        if taken is not None:
            yield taken
            del taken
            continue
        await _readable(descriptor, subscription.has_data)


# The tasks of a loop take turns with a client.
_turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.WeakKeyDictionary[_core.Client, asyncio.Lock]] = (
    weakref.WeakKeyDictionary()
)


async def call(client: _core.Client, request: object, timeout: float | None = None) -> Any:
    """Calls a service in an asyncio event loop: `response = await baton.aio.call(client, request, 1.0)`. None after `timeout`
    seconds (None: never), which begin when the request is sent: a client has one call at a time, and other tasks wait for
    their turn. A client that an event loop uses has no call() any more."""
    import asyncio

    if timeout is not None and math.isnan(timeout):
        raise _core.InvalidArgument("a time must be a number of seconds, not nan")
    descriptor = client._fileno()
    turns = _turns.setdefault(asyncio.get_running_loop(), weakref.WeakKeyDictionary())

    async def response(number: int) -> Any:
        while (found := client._response(number)) is None:
            await _readable(descriptor, client._has_data)
        return found

    async with turns.setdefault(client, asyncio.Lock()):
        number = client._begin(request)
        try:
            return await asyncio.wait_for(response(number), timeout)
        except asyncio.TimeoutError:  # noqa: UP041  another class than TimeoutError before Python 3.11
            return None
        finally:
            client._end()
