# SPDX-License-Identifier: Apache-2.0
"""`baton plot`: numbers of messages as lines in the terminal."""

from __future__ import annotations

import math
import select
import time
from collections import deque
from pathlib import Path
from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples
from rich.console import Console
from rich.live import Live

from ..bag_errors import BagError, check_number
from ..plot_fields import Field, FieldError, field, split
from ..plot_figure import COLOURS, Line, Look, draw

MOST_POINTS = 20_000  # values of a line
_DEPTH = 1000  # messages of a topic that are kept between two pictures


class _Plot:
    """The values of the last seconds of each field."""

    def __init__(self, node: Any, fields: list[Field], subscriptions: dict[str, Any], window: float) -> None:
        self._window = window
        self._subscriptions = subscriptions
        self._points: dict[Field, deque[tuple[float, float]]] = {each: deque(maxlen=MOST_POINTS) for each in fields}
        self._unchanged = live.Unchanged()
        self._node = node

    def wait(self, seconds: float) -> None:
        """Takes the messages that have come since the last call."""
        end = time.monotonic() + seconds
        poll = select.poll()
        for subscription in self._subscriptions.values():
            poll.register(subscription.fileno(), select.POLLIN)
        while (left := end - time.monotonic()) > 0:
            poll.poll(left * 1000)
            for topic, subscription in self._subscriptions.items():
                self._take(topic, subscription)

    def _take(self, topic: str, subscription: Any) -> None:
        from baton import info

        for _ in range(_DEPTH):
            with self._unchanged:
                message = subscription.take()
                if message is None:
                    return
                at = info(message).source_time_ns * 1e-9
                for each, points in self._points.items():
                    if each.topic == topic:
                        points.append((at, each.of(message)))

    def picture(self, look: Look) -> Any:
        now = time.time()
        lines = []
        for each, points in self._points.items():
            while points and points[0][0] < now - 2 * self._window:
                points.popleft()
            table = _table(points)
            lines.append(Line(each.label, table[:, 0], table[:, 1]))
        return draw(lines, (now - self._window, now), look)


def _table(points: deque[tuple[float, float]]) -> Any:
    import numpy as np

    return np.array(points, float).reshape(-1, 2)


@examples(
    "baton plot /cmd_vel.linear.x /cmd_vel.angular.z",
    "baton plot '/scan.ranges[0]' --window 30 --range 0 10",
    "baton plot /battery.voltage --duration 5 > voltage.txt",
)
@click.command()
@live.domain_options
@click.option("--rate", type=float, default=10, show_default=True, metavar="HZ", help="Pictures in a second.")
@click.option("--window", type=float, default=10, show_default=True, metavar="S", help="The seconds that are seen.")
@click.option("--duration", type=float, metavar="S", help="End after so many seconds; default: at Ctrl-C.")
@click.option(
    "--range", "limits", type=float, nargs=2, metavar="LOW HIGH", help="Of the values; default: of those that are seen."
)
@click.option("--timeout", type=float, metavar="S", help="Seconds to wait for the topics; default: for ever.")
@click.argument("names", metavar="TOPIC.FIELD...", nargs=-1, required=True)
def command(
    domain: int | None,
    search: tuple[Path, ...],
    rate: float,
    window: float,
    duration: float | None,
    limits: tuple[float, float] | None,
    timeout: float | None,
    names: tuple[str, ...],
) -> None:
    """Plot numbers of messages as lines in the terminal.

    TOPIC.FIELD: a topic, a dot, and the path of a number, such as /odom.pose.pose.position.x or '/scan.ranges[0]'. Times are seconds, true is 1.
    Where the output is no terminal, one picture is printed at the end.
    """
    live.load()
    from baton import _signals

    try:
        for option, value in (("--rate", rate), ("--window", window), ("--duration", duration), ("--timeout", timeout)):
            check_number(option, value)
    except BagError as error:
        raise click.UsageError(str(error)) from None
    if limits is not None and not (all(map(math.isfinite, limits)) and limits[0] < limits[1]):
        raise click.UsageError(f"--range is two numbers, the lower one first, not {limits[0]:g} {limits[1]:g}")
    if len(names) > len(COLOURS):
        raise click.UsageError(f"{len(names)} lines are too many for one picture: at most {len(COLOURS)}")
    console = Console(highlight=False)
    try:
        with _signals.handled():
            plot = _plot(domain, search, names, window, timeout)
            _show(plot, console, rate, duration, limits)
    except FieldError as error:
        raise click.ClickException(live.harmless(str(error))) from None


def _plot(
    domain: int | None, search: tuple[Path, ...], names: tuple[str, ...], window: float, timeout: float | None
) -> _Plot:
    wanted = [split(name) for name in dict.fromkeys(names)]
    node = live.join(domain, search)
    subscriptions, fields = {}, []
    for topic, path in wanted:
        kind = live.type_of(node, topic, timeout)
        if topic not in subscriptions:
            # An error of the field comes now, not at the first message.
            fields.append(field(topic, path, live.message_class(kind)._struct))
            subscriptions[topic] = live.subscribe(node, topic, kind, _DEPTH, timeout)
        else:
            fields.append(field(topic, path, subscriptions[topic].message_type._struct))
    return _Plot(node, fields, subscriptions, window)


def _show(
    plot: _Plot, console: Console, rate: float, duration: float | None, limits: tuple[float, float] | None
) -> None:
    def look() -> Look:
        braille = console.encoding.lower().startswith("utf")
        height = console.height - 1 if console.is_terminal else min(console.height, 24)
        return Look(console.width, height, limits, console.color_system is not None, braille)

    end = math.inf if duration is None else time.monotonic() + duration
    shown = Live(console=console, auto_refresh=False) if console.is_terminal else None
    try:
        if shown is not None:
            shown.start()
        while (left := end - time.monotonic()) > 0:
            plot.wait(min(1 / rate, left) if shown is not None else min(left, 1.0))
            if shown is not None:
                shown.update(plot.picture(look()), refresh=True)
    except KeyboardInterrupt:
        pass
    finally:
        if shown is not None:
            shown.stop()
    if shown is None:
        console.print(plot.picture(look()), soft_wrap=True)
