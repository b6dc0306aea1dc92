# SPDX-License-Identifier: Apache-2.0
"""The screen of `baton top`, and the keys that change it. Pure functions from figures and a size to a rich renderable."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from . import fitting
from .links import host_columns

NARROW = 110  # on narrower screens the tables leave columns out; names are cut, never broken
ENDS = 4  # most lines of one topic for its publishers, or for its subscriptions
SMALL = 18  # with fewer lines the second table is left out
HOLDERS = 6  # rows of the second table on a small screen
WIDE = 150  # on screens of this width links of another middleware show the reason of their path
SORTS = ("MB/s", "Hz", "latency", "topic")


@dataclass
class TopView:
    """The user's choices, and the position to which the user has scrolled."""

    sort: str = SORTS[0]
    reverse: bool = False
    pattern: str = ""
    offset: int = 0  # of the first row that is drawn
    typing: bool = False  # the next keys belong to the pattern
    page: int = 10  # rows for which the last screen had room
    done: bool = False

    def on_key(self, key: str) -> None:
        """Handles one key: a character, or a name from terminal_keys.keys()."""
        if self.typing:
            self._on_typed(key)
        elif key in ("q", "Q", "\x1b"):
            self.done = True
        elif key == "/":
            self.typing, self.pattern, self.offset = True, "", 0
        elif key == "s":
            self.sort, self.offset = SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)], 0
        elif key == "r":
            self.reverse, self.offset = not self.reverse, 0
        else:
            steps = {
                "up": -1,
                "k": -1,
                "down": 1,
                "j": 1,
                "page up": -self.page,
                "page down": self.page,
                " ": self.page,
            }
            ends = {"home": 0, "g": 0, "end": 1 << 30, "G": 1 << 30}
            self.offset = ends.get(key, self.offset + steps.get(key, 0))

    def _on_typed(self, key: str) -> None:
        if key in ("\r", "\n"):
            self.typing = False
        elif key == "\x1b":
            self.typing, self.pattern = False, ""
        elif key in ("\x7f", "\b"):
            self.pattern = self.pattern[:-1]
        elif len(key) == 1 and key.isprintable():
            self.pattern += key
        self.offset = 0

    def shows(self, *names: str) -> bool:
        """A pattern with * or ? is matched with the whole name, any other text with a part of the name."""
        if not self.pattern:
            return True
        if any(c in self.pattern for c in "*?["):
            return any(fnmatch.fnmatchcase(name, self.pattern) for name in names)
        return any(self.pattern.lower() in name.lower() for name in names)

    def sorted(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        keys = {
            "MB/s": lambda r: (-r["bytes_per_s"], r["topic"]),
            "Hz": lambda r: (-r["rate_hz"], r["topic"]),
            "latency": lambda r: (-(r["latency_s"] or 0), r["topic"]),
            "topic": lambda r: (r["topic"],),
        }
        found = [r for r in rows if self.shows(r["topic"], r["type"], *r["publishers"], *r["subscriptions"])]
        return sorted(found, key=keys[self.sort], reverse=self.reverse)


class _Topic:
    """A name cut at its beginning: the beginnings of names are often the same."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        name, room = self._name, options.max_width
        yield Text(name if len(name) <= room else "…" + name[len(name) - room + 1 :], no_wrap=True, overflow="crop")

    def __rich_measure__(self, *_: object) -> Measurement:
        return Measurement(1, len(self._name))


def cut_end(end: str, width: int) -> str:
    """A node with its process, "camera@host(12)", in so many columns. If it is too long, the node's own name is cut, so that its host
    and its process stay; if there is no room for the host, its end stays."""
    if len(end) <= width:
        return end
    name, _, process = end.rpartition("(")
    process = f"({process}"
    own, at, host = name.partition("@")
    room = width - len(process) - len(at + host) - 1
    if room > 0 or not at:
        return f"{own[: max(0, room)]}…{at}{host}{process}"
    room = max(0, width - len(process) - 1)
    return f"…{name[len(name) - room :]}{process}"


class _Ends:
    """Names with their process, one on each line. If a line is too long, the name is cut, so that host and process stay."""

    def __init__(self, ends: list[str], lines: int = 1 << 30) -> None:
        self._ends = ends if len(ends) <= lines else ends[: lines - 1]
        self._more = len(ends) - len(self._ends)

    @property
    def lines(self) -> int:
        return len(self._ends) + (self._more > 0)

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        for end in self._ends:
            yield Text(cut_end(end, options.max_width), no_wrap=True, overflow="crop")
        if self._more:
            yield Text(f"{self._more} more", style="dim", no_wrap=True)

    def __rich_measure__(self, *_: object) -> Measurement:
        return Measurement(1, max(map(len, self._ends), default=1))


def _columns(*columns: tuple[str, str]) -> Table:
    """A table whose rows are one line for each name in them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    for name, justify in columns:
        table.add_column(
            name,
            justify=justify,  # type: ignore[arg-type]
            no_wrap=True,
            overflow="ellipsis",
            min_width=len(name),
            ratio=None if justify == "right" or name in ("made", "way") else 3 if name == "why" else 1,
        )
    return table


def _holders(rows: list[dict[str, Any]], width: int) -> Table:
    numbered = width >= NARROW
    table = _columns(
        ("held by", "left"),
        ("topic", "left"),
        ("of", "left"),
        ("messages", "right"),
        ("MB", "right"),
        *([("numbers", "left")] if numbered else []),
        ("unread", "right"),
    )
    for r in rows:
        numbers = " ".join(str(c["sequence"]) for c in r["chunks"])
        table.add_row(
            _Ends([r["subscription"]]),
            _Topic(r["topic"]),
            _Ends([r["publisher"]]),
            str(r["held"]),
            f"{r['held_bytes'] / 1e6:.2f}",
            *([numbers + (" ..." if r["held"] > len(r["chunks"]) else "")] if numbered else []),
            str(r["unread"]),
        )
    return table


def _losers(rows: list[dict[str, Any]], width: int) -> Table:
    """Subscriptions that lost messages. On narrow screens reasons have the names of --json."""
    table = _columns(("lost by", "left"), ("topic", "left"), ("lost", "right"), ("Hz", "right"), ("why", "left"))
    for r in rows:
        hertz = f"{r['lost_hz']:.1f}" if r["lost_hz"] else ""
        table.add_row(
            _Ends([r["subscription"]]),
            _Topic(r["topic"]),
            str(r["total"]),
            hertz,
            Text(r["why" if width >= NARROW else "short"]),
        )
    return table


def _links(rows: list[dict[str, Any]], other: Any, width: int) -> Table:
    """Links of another middleware. On narrow screens the reason of a link's path is left out: `baton doctor` shows it."""
    wide = width >= WIDE
    table = _columns(
        (f"link of {other.NAME}", "left"),
        ("publisher", "left"),
        ("subscriber", "left"),
        ("Hz", "right"),
        ("MB/s", "right"),
        ("way", "left"),
        ("copies", "right"),
        *([("why", "left")] if wide else []),
    )
    for r in rows:
        table.add_row(
            _Topic(r["topic"]),
            _Ends([r["publisher"]]),
            _Ends([r["subscriber"]]),
            "" if r["rate_hz"] is None else f"{r['rate_hz']:.1f}",
            "" if r["bytes_per_s"] is None else f"{r['bytes_per_s'] / 1e6:.2f}",
            Text(other.SHORT_WAYS.get(r["way"], r["way"])),
            "" if r["copies"] is None else str(r["copies"]),
            *([Text(r["why"])] if wide else []),
        )
    return table


def _head(memory: dict[str, int], nodes: list[tuple[str, int]], domain: int) -> str:
    processes = len({pid for _, pid in nodes})
    limit = memory["domain_limit_bytes"]
    text = f"domain {domain}: {len(nodes)} node{'s' * (len(nodes) != 1)}, "
    text += f"{processes} process{'es' * (processes != 1)}; "
    text += f"message memory {memory['domain_backed_bytes'] / 1e6:.1f} MB"
    return text + (f" of {limit / 1e6:.1f} MB" if limit < 1 << 62 else "")


def picture(
    rows: list[dict[str, Any]],
    holders: list[dict[str, Any]],
    memory: dict[str, int],
    nodes: list[tuple[str, int]],
    domain: int,
    width: int,
    view: TopView | None = None,
    height: int | None = None,
    other: Any = None,
    links: list[dict[str, Any]] | None = None,
    link: dict[str, Any] | None = None,
    losers: list[dict[str, Any]] | None = None,
) -> Group:
    """The whole screen. With a height only the rows that fit, and a line with the number of rows left out. `links`: those of `other`, the module of
    another middleware (middleware.py)."""
    view = view or TopView()
    links = [r for r in links or [] if view.shows(r["topic"], r["publisher"], r["subscriber"], r["way"])]
    links.sort(key=lambda r: (-(r["bytes_per_s"] or 0), r["topic"], r["subscriber"]))
    links_shown = links
    hosts = link["hosts"] if link else []
    hosts_shown = hosts
    wide = width >= NARROW
    mark = "↑" if view.reverse else "↓"
    title = {name: name + (f" {mark}" if name == view.sort else "") for name in SORTS}
    table = _columns(
        (title["topic"], "left"),
        *([("type", "left")] if wide else []),
        (title["Hz"], "right"),
        (title["MB/s"], "right"),
        (title["latency"].replace("latency", "latency us"), "right"),
        *([("made", "left")] if wide else []),
        ("publishers", "left"),
        ("subscriptions", "left"),
    )
    found = view.sorted(rows)
    held = [r for r in holders if view.shows(r["topic"], r["publisher"], r["subscription"])]
    held_shown = held
    lost = [r for r in losers or [] if view.shows(r["topic"], r["subscription"])]
    lost_shown = lost
    notes = [Text(f"{r['topic']} is not watched: {r['note']}", overflow="ellipsis") for r in found if r["note"]]
    if link and link["trouble"]:
        notes.insert(0, Text(f"other hosts: {link['trouble']}", overflow="ellipsis"))
    room = 1 << 30
    if height is not None:
        notes = notes[: 2 if height >= SMALL else 0]
        # Lines of the screen: the head, the table's frame, the count of rows left out, the keys; then the other tables, each with four lines of
        # its own and perhaps a count of rows left out. The first table keeps room for a topic with all its lines.
        room = height - 1 - 4 - 1 - 1 - len(notes)

        def first(of: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
            nonlocal room
            count = min(len(of), most, room - ENDS - 5) if height is not None and height >= SMALL else 0
            room -= count + 4 + (count < len(of)) if count > 0 else 0
            return of[: max(0, count)]

        hosts_shown = first(hosts, height // 4)
        lost_shown = first(lost, min(HOLDERS, height // 4))
        links_shown = first(links, height // 3)
        held_shown = first(held, min(HOLDERS, height // 4))
    lines = ENDS if height is not None else 1 << 30
    view.offset = max(0, min(view.offset, len(found) - 1))
    shown = 0
    for r in found[view.offset :]:
        publishers, subscriptions = _Ends(r["publishers"], lines), _Ends(r["subscriptions"], lines)
        room -= max(1, publishers.lines, subscriptions.lines)
        if room < 0 and shown:
            break
        shown += 1
        latency = "" if r["latency_s"] is None else f"{r['latency_s'] * 1e6:.0f}"
        made = {None: "", 0: "in place", 1: "converted"}.get(r["converted"], "both")
        table.add_row(
            _Topic(r["topic"]),
            *([Text(r["type"])] if wide else []),
            "" if r["note"] else f"{r['rate_hz']:.1f}",
            "" if r["note"] else f"{r['bytes_per_s'] / 1e6:.2f}",
            latency,
            *([made] if wide else []),
            publishers,
            subscriptions,
        )
    parts: list[Any] = [Text(_head(memory, nodes, domain), no_wrap=True, overflow="ellipsis"), table]
    below = len(found) - view.offset - shown
    if height is not None:
        view.page = max(1, shown)
        left_out = [f"{below} more"] if below else []
        left_out += [f"{view.offset} above"] if view.offset else []
        left_out += [f"{len(rows) - len(found)} of other names"] if len(found) < len(rows) else []
        left_out += [f"{len(hosts)} other hosts (no room)"] if hosts and not hosts_shown else []
        left_out += [f"{len(links)} links of {other.NAME} (no room)"] if links and not links_shown else []
        left_out += [f"{len(lost)} subscriptions with losses (no room)"] if lost and not lost_shown else []
        parts.append(Text(", ".join(left_out), style="bold"))
    parts += notes
    if hosts_shown:
        parts.append(fitting.table(host_columns(hosts_shown, "other host"), width)[0])
        if len(hosts_shown) < len(hosts):
            parts.append(Text(f"{len(hosts) - len(hosts_shown)} more", style="bold"))
    if lost_shown:
        parts.append(_losers(lost_shown, width))
        if len(lost_shown) < len(lost):
            parts.append(Text(f"{len(lost) - len(lost_shown)} more", style="bold"))
    if held_shown:
        parts.append(_holders(held_shown, width))
        if len(held_shown) < len(held):
            parts.append(Text(f"{len(held) - len(held_shown)} more", style="bold"))
    if links_shown:
        parts.append(_links(links_shown, other, width))
        if len(links_shown) < len(links):
            parts.append(Text(f"{len(links) - len(links_shown)} more", style="bold"))
    if height is not None:
        parts.append(_foot(view))
    return Group(*parts)


def _foot(view: TopView) -> Text:
    if view.typing:
        return Text(f"/{view.pattern}▏  Enter: keep, Esc: all topics", no_wrap=True, style="reverse")
    text = f"q quit  ↑↓ scroll  s sort: {view.sort}  r reverse  / filter"
    return Text(text + (f": {view.pattern}" if view.pattern else ""), no_wrap=True, style="dim")
