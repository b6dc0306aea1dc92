# SPDX-License-Identifier: Apache-2.0
"""`baton bag`: looks at bags, checks, repairs, converts, cuts and joins them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from baton_cli import live
from baton_cli.examples import examples
from baton_cli.groups import VerbGroup
from baton_cli.output import counted, json_text
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..bag_control import control
from ..bag_errors import BagError
from ..bag_mcap import Damaged
from ..bag_source import Bag, BagTopic, open_bag

_BAG = click.Path(path_type=Path)


@contextlib.contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (BagError, OSError) as error:
        raise click.ClickException(live.harmless(str(error))) from None


@contextlib.contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A context with a progress bar on stderr, if that is a terminal. Yields the function that moves the bar."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not Console(stderr=True).is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.advance(task, done)


@examples("baton bag info drive.mcap", "baton bag convert old.bag new.mcap")
@click.group(cls=VerbGroup)
def command() -> None:
    """Look at bags, repair, convert, cut and join them.

    docs/guides/record.md explains them. A bag is an MCAP file, a folder of rosbag2, a .db3, or a .bag of ROS 1. What exists is never overwritten.
    """


command.add_command(control)


@examples("baton bag info drive.mcap", "baton bag info drive --json")
@command.command()
@click.argument("bag", type=_BAG)
@click.option("--json", "as_json", is_flag=True)
def info(bag: Path, as_json: bool) -> None:
    """Print the topics of BAG with types, counts and rates."""
    with _errors(), open_bag(bag) as opened:
        if as_json:
            click.echo(json_text(_as_json(opened)))
            return
        seconds = (opened.end_ns - opened.start_ns) / 1e9
        begin = datetime.fromtimestamp(opened.start_ns / 1e9, UTC)
        head = f"{bag}: {opened.kind}, {_size(opened.size_bytes)}"
        click.echo(live.harmless(head + (f", {opened.compression}" if opened.compression else "")))
        if opened.count:
            click.echo(f"{counted(opened.count, 'message')} in {seconds:.3f} s, from {begin:%Y-%m-%d %H:%M:%S.%f} UTC")
        else:
            click.echo("no messages")
        if opened.damage:
            click.echo(live.harmless(f"damaged: {opened.damage}; baton bag check {bag}"))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for title in ("topic", "type", "messages", "Hz", ""):
            table.add_column(title, justify="right" if title in ("messages", "Hz") else "left")
        for topic in opened.topics:
            rate = f"{(topic.count - 1) / seconds:.2f}" if topic.count > 1 and seconds else ""
            notes = ", ".join(
                ["latched"] * topic.latched + ([topic.encoding] if topic.encoding not in ("cdr", "ros1") else [])
            )
            cells = (topic.name, topic.type_name, str(topic.count), rate, notes)
            table.add_row(*(Text(live.harmless(cell)) for cell in cells))
        Console(soft_wrap=True).print(table)


def _as_json(bag: Bag) -> dict[str, Any]:
    return {
        "path": str(bag.path),
        "kind": bag.kind,
        "files": [str(file) for file in bag.files],
        "size_bytes": bag.size_bytes,
        "compression": bag.compression or None,
        "messages": bag.count,
        "start_ns": bag.start_ns,
        "end_ns": bag.end_ns,
        "duration_s": (bag.end_ns - bag.start_ns) / 1e9,
        "damage": bag.damage or None,
        "topics": [
            {
                "topic": topic.name,
                "type": topic.type_name,
                "encoding": topic.encoding,
                "messages": topic.count,
                "latched": topic.latched,
                "has_definition": topic.definition is not None,
            }
            for topic in bag.topics
        ],
    }


def _size(count: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


@examples("baton bag check drive.mcap", "baton bag check drive --json")
@command.command()
@click.argument("bag", type=_BAG)
@click.option("--json", "as_json", is_flag=True)
def check(bag: Path, as_json: bool) -> None:
    """Read BAG to its end, and report what is damaged, and where.

    Compares checksums, indexes and counts. The status is 0 if the bag is whole, 1 if messages cannot be read, and 2 if all can, but not found by
    every reader.
    """
    from ..bag_check import check as checked

    with _errors():
        files = [file for file in bag.rglob("*") if file.is_file()] if bag.is_dir() else [bag] if bag.exists() else []
        with _progress("checking", sum(file.stat().st_size for file in files)) as advance:
            readable, findings = checked(bag, advance)
    lost = any(finding.lost for finding in findings)
    if as_json:
        rows = [{"file": str(f.file), "byte": f.at, "what": f.what, "lost": f.lost} for f in findings]
        click.echo(json_text({"whole": not findings, "lost": lost, "messages": readable, "findings": rows}))
    else:
        for finding in findings:
            place = f"{finding.file}" + ("" if finding.at is None else f", byte {finding.at}")
            click.echo(live.harmless(f"{place}: {finding.what}"))
        if not findings:
            click.echo(f"{bag} is whole: {counted(readable, 'message')}")
        else:
            click.echo(
                f"{counted(readable, 'message')} can be read; baton bag recover {bag} NEW writes them into a whole bag"
            )
    raise SystemExit(0 if not findings else 1 if lost else 2)


def _writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of the verbs that write a bag."""
    for option in (
        click.option(
            "--storage", type=click.Choice(["mcap", "sqlite3"]), default="mcap", show_default=True, help="Of a folder."
        ),
        click.option(
            "--compression",
            type=click.Choice(["none", "zstd", "lz4", "bz2"]),
            help="Default: that of the first bag, if the new one can have it.",
        ),
    ):
        function = option(function)
    return function


def _selecting(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("-x", "--exclude", multiple=True, metavar="PATTERN", help="Not these topics; may be repeated."),
        click.option("-t", "--topic", "topics", multiple=True, metavar="PATTERN", help="Only these, e.g. '/camera/*'."),
    ):
        function = option(function)
    return function


def _copy(bags: tuple[Path, ...], new: Path, title: str, walk: bool = False, **options: Any) -> None:
    live.load()
    from ..bag_copy import copy

    with _errors(), contextlib.ExitStack() as stack:
        opened = [stack.enter_context(open_bag(bag, walk)) for bag in bags]
        left_out: list[Damaged] = []
        unconvertible: dict[str, list[Any]] = {}  # by topic: the first sentence, and how many messages are left out

        def leave_out(topic: BagTopic, error: BagError) -> None:
            unconvertible.setdefault(topic.name, [str(error), 0])[1] += 1

        for bag in opened:
            if bag.damage and not walk:
                raise BagError(
                    f"{bag.path} is damaged ({bag.damage}): write its readable messages by `baton bag recover` first"
                )
        with _progress(title, sum(bag.count for bag in opened)) as advance:
            options |= {"on_damage": left_out.append} if walk else {}
            try:
                written = copy(
                    opened, new, on_message=lambda message: advance(1), on_unconvertible=leave_out, **options
                )
            except Damaged as error:
                raise BagError(f"{error}; write its readable messages by `baton bag recover` first") from None
    click.echo(f"{new}: {counted(written, 'message')}")
    for bag in opened if walk else ():
        if bag.damage:
            click.echo(live.harmless(f"left out: {bag.damage}"))
    for damage in left_out:
        click.echo(live.harmless(f"left out: {damage}"))
    for sentence, count in unconvertible.values():
        click.echo(live.harmless(f"left out: {counted(count, 'message')}; the first: {sentence}"))


@examples("baton bag recover broken.mcap whole.mcap")
@command.command()
@click.argument("bag", type=_BAG)
@click.argument("new", type=_BAG)
@_writing
def recover(bag: Path, new: Path, compression: str | None, storage: str) -> None:
    """Write the readable messages of the MCAP files of BAG into NEW.

    Reads to the last whole message of a file that was cut, and leaves out chunks that are damaged.
    """
    with _errors():
        if bag.exists() and (bag.suffix in (".bag", ".db3") or (bag.is_dir() and not list(bag.glob("*.mcap")))):
            raise BagError(
                f"{bag} has no MCAP file. For .bag: rosbag reindex; for .db3: sqlite3 OLD .recover | sqlite3 NEW"
            )
    _copy((bag,), new, "recovering", walk=True, compression=compression, storage=storage)


@examples(
    "baton bag convert old.bag new.mcap",
    "baton bag convert drive.mcap for_ros1.bag",
    "baton bag convert drive drive_db --storage sqlite3",
)
@command.command()
@click.argument("bag", type=_BAG)
@click.argument("new", type=_BAG)
@_selecting
@_writing
def convert(
    bag: Path, new: Path, topics: tuple[str, ...], exclude: tuple[str, ...], compression: str | None, storage: str
) -> None:
    """Write BAG in the form that the name of NEW says: *.mcap, *.bag of ROS 1, or a folder of rosbag2.

    Messages of ROS 1 become CDR, and the reverse, with the definition that the other ROS has for the type.
    """
    _copy((bag,), new, "converting", topics=topics, exclude=exclude, compression=compression, storage=storage)


@examples(
    "baton bag cut drive.mcap turn.mcap --start 12.5 --end 20", "baton bag cut drive.mcap small.mcap -x '/camera/*'"
)
@command.command()
@click.argument("bag", type=_BAG)
@click.argument("new", type=_BAG)
@click.option("-s", "--start", type=click.FloatRange(min=0), help="Seconds from the bag's beginning.")
@click.option("-e", "--end", type=click.FloatRange(min=0), help="Seconds from the bag's beginning.")
@_selecting
@_writing
def cut(
    bag: Path,
    new: Path,
    start: float | None,
    end: float | None,
    topics: tuple[str, ...],
    exclude: tuple[str, ...],
    compression: str | None,
    storage: str,
) -> None:
    """Write a part of BAG, by time and topics, into NEW.

    NEW begins with the messages that latched topics (transient local) held at the start.
    """
    selection: dict[str, Any] = {"topics": topics, "exclude": exclude, "start": start, "end": end}
    _copy((bag,), new, "cutting", **selection, compression=compression, storage=storage)


@examples("baton bag merge camera.mcap lidar.mcap -o drive.mcap")
@command.command()
@click.argument("bags", type=_BAG, nargs=-1, required=True)
@click.option("-o", "--output", "new", type=_BAG, required=True, help="The new bag.")
@_selecting
@_writing
def merge(
    bags: tuple[Path, ...],
    new: Path,
    topics: tuple[str, ...],
    exclude: tuple[str, ...],
    compression: str | None,
    storage: str,
) -> None:
    """Write the messages of all BAGS, in the order of their times, into one."""
    _copy(bags, new, "merging", topics=topics, exclude=exclude, compression=compression, storage=storage)
