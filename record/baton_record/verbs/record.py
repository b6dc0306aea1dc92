# SPDX-License-Identifier: Apache-2.0
"""`baton record`: records topics as a bag that ROS 2's tools read (docs/guides/record.md)."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Any

import click
from baton_cli import fitting, live
from baton_cli.examples import examples
from baton_cli.option_numbers import Seconds
from baton_cli.output import counted, json_text
from baton_cli.terminal_keys import Keys, keys
from rich.console import Console
from rich.live import Live
from rich.text import Text

from ..record_process import REASONS, Recorder, RecordError, RecordState


class _Size(click.ParamType):
    """Bytes, with an optional K, M or G (powers of 1000)."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kKmMgG]?)[bB]?", value)
        if not match:
            self.fail(f"'{value}' is no size: give bytes, or a number with K, M or G, for example 500M", param, ctx)
        return int(float(match[1]) * 1000 ** " kmg".index(match[2].lower() or " "))


_LOOK_S = 0.1  # the time between two looks at the keyboard and at signals


class _StopRequest(Exception):
    """SIGINT, SIGTERM or SIGHUP came: the recording ends."""


@examples(
    "baton record -a",
    "baton record -o drive /camera/image /scan",
    "baton record --regex '/camera/.*' --exclude '.*/depth' --max-size 4G",
)
@click.command()
@live.domain_option
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR", help="Default: baton_ and the time.")
@click.option(
    "-a", "--all", "all_", is_flag=True, help="All topics and services, also those that come later; no hidden ones."
)
@click.option("--all-topics", is_flag=True, help="The same without services.")
@click.option("--all-services", is_flag=True, help="The calls of services that publish them (configure_introspection).")
@click.option("--service", "services", multiple=True, metavar="NAME", help="The calls of this one; may be repeated.")
@click.option("-e", "--regex", multiple=True, metavar="RE", help="Topics whose whole names match.")
@click.option("-t", "--type", "types", multiple=True, metavar="TYPE", help="Topics of a type.")
@click.option("-x", "--exclude", multiple=True, metavar="RE", help="No topics whose whole names match.")
@click.option("-b", "--max-size", type=_Size(), help="Another file begins after so many bytes.")
@click.option("-d", "--max-duration", type=Seconds(min=0, min_open=True), metavar="S", help="The same, seconds.")
@click.option("--max-queue", type=_Size(), help="Bytes that may wait for the disk. Default: 512 MiB.")
@click.option(
    "--snapshot",
    type=Seconds(min=0, min_open=True),
    metavar="S",
    help="Keep the last S seconds in memory, --max-queue at most; write them at the key s or SIGUSR1.",
)
@click.option(
    "--compression",
    type=click.Choice(["none", "zstd", "lz4"]),
    default="none",
    show_default=True,
    help="Of each chunk, in threads.",
)
@click.option("--crc", is_flag=True, help="Write checksums, for which each byte is read once more.")
@click.option(
    "--direct",
    is_flag=True,
    help="Large arrays go from their memory to the disk, past the page cache: less CPU, for disks faster than the topics.",
)
@click.option(
    "--raw-sfm", is_flag=True, help="Messages as they lie in memory, for `baton play` and `baton bag convert`."
)
@click.option("--start-paused", is_flag=True)
@click.option(
    "--node-name", default="baton_record", show_default=True, help="Of the node with the services that control it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the last state as JSON, not a table.")
@click.argument("topics", nargs=-1, shell_complete=live.complete_topics)
def command(
    domain: int | None,
    output: Path | None,
    all_: bool,
    all_topics: bool,
    all_services: bool,
    services: tuple[str, ...],
    regex: tuple[str, ...],
    types: tuple[str, ...],
    exclude: tuple[str, ...],
    max_size: int | None,
    max_duration: float | None,
    max_queue: int | None,
    snapshot: float | None,
    compression: str,
    crc: bool,
    direct: bool,
    raw_sfm: bool,
    start_paused: bool,
    node_name: str,
    as_json: bool,
    topics: tuple[str, ...],
) -> None:
    """Record topics until Ctrl-C.

    The bag is a new folder with MCAP files and metadata.yaml. The space key pauses, n begins another file; so do `baton bag control` and services.

    `ros2 bag`, Foxglove, PlotJuggler and the libraries mcap and rosbags read them. Publishers never wait: what the disk does not take in time is
    counted. Exit status 1 if the recording ended early."""
    if not (all_ or all_topics or all_services or services or regex or types or topics):
        raise click.UsageError("name topics, or use --all, --regex, --type or --service")
    baton = live.load()
    from ..bag_services import Services, of_recorder

    output = output or Path(time.strftime("baton_%Y_%m_%d-%H_%M_%S"))
    with _Signals() as signals:
        try:
            node = baton.Node(node_name, domain=live.chosen_domain(domain))
            recorder = Recorder(
                output,
                topics,
                all=all_ or all_topics,
                all_services=all_ or all_services,
                services=services,
                regex=regex,
                types=types,
                exclude=exclude,
                domain=live.chosen_domain(domain),
                max_size_bytes=max_size,
                max_duration_s=max_duration,
                max_queue_bytes=max_queue,
                snapshot_s=snapshot,
                compression=compression,
                crc=crc,
                direct=direct,
                raw_sfm=raw_sfm,
                paused=start_paused,
                node_name=node_name,
                on_diagnostic=lambda line: click.echo(live.harmless(line), err=True),
            )
        except (RecordError, baton.BatonError) as error:
            raise click.ClickException(str(error)) from None
        begin = time.monotonic()
        # The services end after the recorder: a handler that still waits for the recorder returns when the recorder ends.
        with Services(node, of_recorder(recorder)):
            try:
                signals.obey()
                _watch(recorder, begin, signals)
            except (_StopRequest, KeyboardInterrupt):
                pass
            try:
                state = recorder.stop()
                signals.obey(False)
            except RecordError as error:
                raise click.ClickException(str(error)) from None
            except (_StopRequest, KeyboardInterrupt):
                recorder.kill()
                raise click.ClickException("ended at once: the bag is not finished (baton bag recover)") from None
    seconds = time.monotonic() - begin
    if as_json:
        rows = [{**vars(topic), "missing": topic.missing} for topic in state.topics]
        click.echo(json_text({**vars(state), "topics": rows, "seconds": seconds, "directory": str(output)}))
    else:
        _show(state, output, seconds, snapshot is not None)
    if state.failure:
        click.echo(live.harmless(f"Error: the recording ended early: {state.failure}"), err=True)
    raise SystemExit(1 if state.failure else 0)


class _Signals:
    """SIGTERM and SIGHUP end the recording as Ctrl-C does: they raise _StopRequest, but not before obey(). SIGUSR1 requests a snapshot. Its handler
    only sets a flag, for asks_snapshot(), because a handler must not write to a stream to which the program may be writing."""

    def __enter__(self) -> _Signals:
        self._obeys = self._came = self._asked = False
        self._before = {each: signal.signal(each, self._end) for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        self._before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def asks_snapshot(self) -> bool:
        """Whether SIGUSR1 came since the last call."""
        asked, self._asked = self._asked, False
        return asked

    def obey(self, obeys: bool = True) -> None:
        self._obeys = obeys
        if obeys and self._came:
            raise _StopRequest

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self._obeys:
            raise _StopRequest

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def press(recorder: Any, key: str) -> None:
    """Obeys a key."""
    if key == " ":
        recorder.resume() if recorder.state().paused else recorder.pause()
    elif key == "n":
        recorder.split()
    elif key == "s":
        recorder.snapshot(0)
    elif key == "q":
        raise _StopRequest


def _watch(recorder: Recorder, begin: float, signals: _Signals) -> None:
    """Shows the states, and obeys keys and SIGUSR1, until the recording ends by itself."""
    said: set[str] = set()
    console = Console(stderr=True)
    before, before_s = recorder.state(), begin
    shown = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else _NoLive()
    with Keys(console.is_terminal) as terminal, shown:
        while not recorder.wait(_LOOK_S):
            if signals.asks_snapshot():
                recorder.snapshot(0)
            for key in keys(terminal.typed()):
                press(recorder, key)
            state, now = recorder.state(), time.monotonic()
            if state is before:
                continue
            for note in state.notes:
                if note not in said:
                    said.add(note)
                    console.print(Text(live.harmless(note)))
            shown.update(Text(progress_line(state, before, now - before_s, now - begin), no_wrap=True), refresh=True)
            before, before_s = state, now


class _NoLive:
    """Without a terminal draws no line."""

    def __enter__(self) -> _NoLive:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, *_: object, **__: object) -> None:
        pass


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} B"


def _duration(seconds: float) -> str:
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:.0f} days"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def why_missing(missing: dict[str, int]) -> str:
    """The reasons that apply, with their counts."""
    return ", ".join(f"{count} {REASONS.get(reason, reason)}" for reason, count in missing.items() if count)


def _written(state: RecordState) -> str:
    """The bytes on the disk, and their number before compression."""
    written = _bytes(state.written_bytes)
    if state.records_bytes <= state.written_bytes:
        return written
    return f"{written} of {_bytes(state.records_bytes)}, {state.written_bytes / state.records_bytes:.0%}"


def progress_line(state: RecordState, before: RecordState, interval_s: float, seconds: float) -> str:
    rate = max(0, state.written_bytes - before.written_bytes) / max(interval_s, 1e-3)
    parts = [
        _duration(seconds) + (" paused" if state.paused else ""),
        f"{len(state.topics)} topics",
        f"{state.messages} messages",
        _written(state),
        f"{_bytes(rate)}/s",
        f"queue {_bytes(state.queued_bytes)}" if not state.kept_bytes else f"in memory {_bytes(state.kept_bytes)}",
        f"missing {state.missing}",
        f"free {_bytes(state.free_bytes)}" + (f", for {_duration(state.free_bytes / rate)}" if rate > 0 else ""),
    ]
    if state.missing:
        worst = max(state.topics, key=lambda topic: sum(topic.missing.values()))
        parts.append(live.harmless(f"most of {worst.topic}: {why_missing(worst.missing)}"))
    return " | ".join(parts)


def what_was_written(state: RecordState, output: Path, seconds: float, in_snapshots: bool) -> str:
    """The last line of the output. With snapshots it has the messages that were written, since the bag has no others."""
    if in_snapshots and not state.snapshots:
        return f"nothing was written: no snapshot was taken in {seconds:.1f} s (the key s, or kill -USR1)"
    where = f"{output}{os.sep}" if str(output) != os.curdir else str(output)
    messages = state.written_messages if in_snapshots else state.messages
    return (
        f"{counted(messages, 'message')}, {_written(state)} in {counted(state.files, 'file')} "
        f"of {where} ({seconds:.1f} s)"
    )


def _show(state: RecordState, output: Path, seconds: float, in_snapshots: bool) -> None:
    columns = [
        fitting.Column("topic", least=24),
        fitting.Column("type", 2, least=24),
        fitting.Column("messages", right=True),
        fitting.Column("MB", 1, right=True),
        fitting.Column("missing", least=16),
    ]
    for topic in state.topics:
        lost = sum(topic.missing.values())
        cells = (
            live.harmless(topic.topic),
            live.harmless(topic.type_name),
            str(topic.messages),
            f"{topic.bytes / 1e6:.2f}",
            f"{lost}: {why_missing(topic.missing)}" if lost else "0",
        )
        for column, cell in zip(columns, cells, strict=True):
            column.cells.append(cell)
    if state.topics:
        fitting.show(columns, Console())
    for note in state.notes:
        click.echo(live.harmless(note))
    click.echo(live.harmless(what_was_written(state, output, seconds, in_snapshots)))
