# SPDX-License-Identifier: Apache-2.0
"""`baton perf touch`: the cache lines and pages that one message touches, counted by single-stepping (stepping.py). No time
enters into a count, but the state does in which a message finds its two ends (docs/guides/perf.md): Baton's publisher takes back what readers
have returned when it has no free chunk, so one message in so many touches about 20 lines more.

The subscriber's window begins when the system call in which it slept returns, or of one that polls with the call of receive() that finds
the message, and ends with the first read of the payload. The
publisher's are begin() and publish() of its end (lab/runner/peer.hpp), without the writing of the payload between them. What the kernel
touches does not count."""

from __future__ import annotations

import bisect
import re
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from .peers import Peer
from .runs import Cell, RunFailed, perform
from .stepping import LINE, PAGE, Ended, Thread, Touched

MARK = "baton_perf_mark"
BEGIN, BEGUN, PUBLISH, PUBLISHED, RECEIVED = range(5)  # lab/runner/marks.hpp
ROLES = ("publisher", "subscriber")
_MOST_STEPS = 2_000_000
_READY_S = 90


@dataclass(frozen=True)
class Mapping:
    """A line of /proc/<pid>/maps."""

    begin: int
    end: int
    executable: bool
    name: str


def mappings(pid: int) -> list[Mapping]:
    out = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        extent, access, _, _, _, *name = line.split(maxsplit=5)
        begin, end = (int(word, 16) for word in extent.split("-"))
        before = out[-1] if out else None
        if not name and before and before.end == begin and before.name.startswith("/") and "/memfd:" not in before.name:
            name = [before.name]  # the zeros behind a program's or library's data
        out.append(Mapping(begin, end, "x" in access, name[0] if name else ""))
    return out


class Places:
    """The mappings of a process, and the functions and variables in them."""

    def __init__(self, pid: int) -> None:
        self.all = mappings(pid)
        self.begins = [each.begin for each in self.all]

    def _at(self, address: int) -> Mapping | None:
        at = bisect.bisect_right(self.begins, address) - 1
        return self.all[at] if at >= 0 and address < self.all[at].end else None

    def base(self, file: str) -> int:
        return min(each.begin for each in self.all if each.name == file)

    def region(self, address: int) -> str:
        found = self._at(address)
        if found is None or not found.name:
            return "anonymous memory"
        name = found.name.removesuffix(" (deleted)")
        if name.startswith("["):
            return {"[vdso]": "vdso", "[vvar]": "vdso"}.get(name, name.strip("[]"))
        if name.startswith(("/memfd:", "/dev/shm/", "/dev/zero")):
            return "shared: " + re.sub(r"[0-9a-f]{6,}|\d+", "#", name.rsplit("/", 1)[1].removeprefix("memfd:"))
        library = re.sub(r"\.so.*", "", Path(name).name)
        return ("code: " if found.executable else "data: ") + library

    def function(self, address: int) -> str:
        found = self._at(address)
        if found is None or not found.name.startswith("/") or found.name.startswith("/memfd:"):
            return ""
        return symbol(found.name, address - self.base(found.name))


@lru_cache(maxsize=64)
def _symbols(file: str) -> tuple[list[int], list[str]]:
    """Of an ELF file, by address. A library without a symbol table has those that it exports."""
    found: dict[int, str] = {}
    for words in (["-D"], []):
        listed = subprocess.run(
            ["nm", "-C", "--defined-only", *words, file], capture_output=True, text=True, check=False
        )
        for line in listed.stdout.splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind.lower() in ("t", "w", "i", "d", "b", "r", "v", "u"):
                found[int(address, 16)] = name
    ordered = sorted(found.items())
    return [address for address, _ in ordered], [name for _, name in ordered]


def symbol(file: str, offset: int) -> str:
    addresses, names = _symbols(file)
    at = bisect.bisect_right(addresses, offset) - 1
    return names[at] if at >= 0 else ""


@dataclass
class Counts:
    """One window, in words."""

    pages: dict[str, int]  # region -> how many
    lines: dict[str, int]
    functions: dict[str, int]  # lines by function or variable; of other memory by the function that touched them first
    instructions: int
    system_calls: int

    @property
    def total_pages(self) -> int:
        return sum(self.pages.values())

    @property
    def total_lines(self) -> int:
        return sum(self.lines.values())

    @property
    def collects(self) -> bool:
        """Baton's publisher took back the messages that readers have returned."""
        return any("Writer::Impl::collect" in name for name in self.functions)


def counted(touched: Touched, places: Places) -> Counts:
    lines = {**touched.data, **touched.code}  # a line that has both counts as code
    regions = {line: places.region(address) for line, address in lines.items()}
    pages: dict[int, str] = {}
    for line in sorted(lines, key=lambda line: line not in touched.code):
        pages.setdefault(line * LINE // PAGE, regions[line])
    functions = Counter()
    for line, address in lines.items():
        if regions[line].startswith(("code: ", "data: ")):
            functions[f"{regions[line]}: {places.function(address) or '?'}"] += 1
        else:
            functions[f"{regions[line]}: first by {places.function(touched.first_by.get(line, address)) or '?'}"] += 1
    return Counts(
        dict(Counter(pages.values())),
        dict(Counter(regions.values())),
        dict(functions),
        touched.instructions,
        len(touched.system_calls),
    )


@dataclass
class Result:
    """Of one transport: all messages by role."""

    messages: dict[str, list[Counts]] = field(default_factory=dict)

    @property
    def pages(self) -> dict[str, list[int]]:
        return {role: sorted(each.total_pages for each in messages) for role, messages in self.messages.items()}

    @property
    def lines(self) -> dict[str, list[int]]:
        return {role: sorted(each.total_lines for each in messages) for role, messages in self.messages.items()}

    @property
    def counts(self) -> dict[str, Counts]:
        """The message with the median number of lines."""
        return {
            role: sorted(messages, key=lambda each: each.total_lines)[(len(messages) - 1) // 2]
            for role, messages in self.messages.items()
        }

    def fewest(self, role: str) -> Counts:
        """The message with the fewest lines, which the budget is for. With one message under way the publisher collects for each."""
        return min(self.messages[role], key=lambda each: each.total_lines)

    def as_json(self) -> dict:
        counts = {role: asdict(each) for role, each in self.counts.items()}
        return {"counts": counts, "pages": self.pages, "lines": self.lines}


class _Watch:
    """Traces a run's two processes while it goes on."""

    def __init__(self, messages: int, spin: bool) -> None:
        self.messages = messages
        self.spin = spin
        self.result = Result()

    def __call__(self, processes: list[subprocess.Popen], directory: str) -> None:
        sync = Path(directory, "sync")
        end = time.monotonic() + _READY_S
        while not (sync.exists() and int.from_bytes(sync.read_bytes()[4:8], "little") >= 1):  # publishers_ready
            if time.monotonic() > end or any(process.poll() is not None for process in processes):
                return  # the run says why
            time.sleep(0.01)
        time.sleep(0.5)
        subscriber, publisher = processes
        for role, process, trace in (
            ("subscriber", subscriber, self._subscriber),
            ("publisher", publisher, self._publisher),
        ):
            if process.poll() is not None:
                return  # the run says why
            places = Places(process.pid)
            program = str(Path(f"/proc/{process.pid}/exe").resolve())
            base = places.base(program)
            polls = [base + each for each in receives_of(program)] if self.spin and role == "subscriber" else []
            try:
                with Thread(process.pid) as thread:
                    touched = list(trace(thread, base + mark_of(program), polls))
            except Ended:
                return  # the run says why
            places = Places(process.pid)
            self.result.messages[role] = [counted(each, places) for each in touched[1:]]  # the first one was disturbed

    def _subscriber(self, thread: Thread, mark: int, polls: list[int]) -> Iterator[Touched]:
        for _ in range(self.messages + 1):
            if polls:
                thread.run_to(mark)
                thread.step(None)
            else:
                thread.run_to_end_of_a_wait()
            touched, steps = Touched(), 0
            while not _is_at(thread, mark, RECEIVED):
                if thread.registers.rip in polls:
                    touched = Touched()  # the poll before found nothing
                if thread.step(touched) and not polls:
                    touched = Touched()  # it has slept again
                steps += 1
                if steps > _MOST_STEPS:
                    raise RunFailed(
                        "no message arrives on the main thread: one that is delivered on another is not seen"
                    )
            touched.note(thread.registers.rsi, 1)
            yield touched

    def _publisher(self, thread: Thread, mark: int, _: list[int]) -> Iterator[Touched]:
        for _ in range(self.messages + 1):
            touched = Touched()
            for begin, end in ((BEGIN, BEGUN), (PUBLISH, PUBLISHED)):
                thread.run_to(mark)
                while not _is_at(thread, mark, begin):
                    thread.step(None)
                    thread.run_to(mark)
                self._leave(thread)
                while not _is_at(thread, mark, end):
                    thread.step(touched)
                    if touched.instructions > _MOST_STEPS:
                        raise RunFailed("the publisher needs more than two million instructions for a message")
                if end == BEGUN:
                    thread.step(None)
            thread.step(None)
            yield touched

    @staticmethod
    def _leave(thread: Thread) -> None:
        """Out of the mark's function, which has no calls."""
        stack = thread.registers.rsp
        while thread.registers.rsp <= stack:
            thread.step(None)


def _is_at(thread: Thread, mark: int, which: int) -> bool:
    return thread.registers.rip == mark and thread.registers.rdi & 0xFFFFFFFF == which


@lru_cache(maxsize=64)
def mark_of(program: str) -> int:
    listed = subprocess.run(["nm", program], capture_output=True, text=True, check=False).stdout
    found = re.search(rf"^([0-9a-f]+) T {MARK}$", listed, re.MULTILINE)
    if not found:
        raise RunFailed(f"{program} has no symbol {MARK}: it is stripped, or no program of `baton perf`")
    return int(found[1], 16)


@lru_cache(maxsize=64)
def receives_of(program: str) -> list[int]:
    """Where SubscriberEnd::receive() of each kind of subscriber begins (lab/runner/peer.hpp)."""
    listed = subprocess.run(["nm", "-C", program], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^([0-9a-f]+) [TtWw] .*::receive\(std::chrono::duration<[^()]*>\)$", listed, re.MULTILINE)
    if not found:
        raise RunFailed(f"{program} has no symbol of receive(): it is stripped, or no program of `baton perf`")
    return [int(each, 16) for each in found]


def touch(peer: Peer, variant: str, bytes: int, messages: int = 5, spin: bool = False, **fields) -> Result:
    """`spin`: the subscriber polls. `fields`: others of the run's cell. Raises RunFailed and CannotStep."""
    spin = spin or variant in peer.polling_variants
    if spin and not peer.can_spin:
        raise RunFailed(f"{peer.id} cannot poll")
    # A subscriber that polls is stepped all the time, and has to keep up: a backlog takes the publisher new chunks.
    count, rate = (40 + 4 * messages, 5) if spin else (40 + 20 * messages, 20)
    for longer in (1, 4, 16):  # on a busy machine the run is over before its messages are stepped through
        watch = _Watch(messages, spin)
        cell = Cell(bytes=bytes, messages=count * longer, rate=rate, spin=spin, **fields)
        perform(peer, variant, cell, timeout=max(300, 150 + 2 * count * longer / rate), watch=watch)
        if set(watch.result.counts) == set(ROLES):
            return watch.result
    raise RunFailed("the run ended before its messages were counted")


def table(results: dict[str, Result], role: str, what: str) -> Table:
    """One column per transport, one row per region; `what`: pages or lines."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{role}: {what} of one message", title_justify="left")
    shown.add_column("region")
    for name in results:
        shown.add_column(name, justify="right")
    of = {name: getattr(result.counts[role], what) for name, result in results.items()}
    regions = Counter()
    for counts in of.values():
        regions.update(counts)
    for region, _ in regions.most_common():
        shown.add_row(region, *(str(counts.get(region, "")) for counts in of.values()))
    shown.add_section()
    totals = {name: getattr(result, what)[role] for name, result in results.items()}
    shown.add_row(
        "all",
        *(
            f"{statistics.median_low(each)}" + (f" ({each[0]}–{each[-1]})" if each[0] != each[-1] else "")
            for each in totals.values()
        ),
    )
    return shown


def functions_table(name: str, counts: Counts, most: int) -> Table:
    """The owners of the lines."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=name, title_justify="left")
    shown.add_column("lines", justify="right")
    shown.add_column("whose", overflow="ellipsis", no_wrap=True)
    for function, lines in sorted(counts.functions.items(), key=lambda each: (-each[1], each[0]))[:most]:
        shown.add_row(str(lines), Text(function))
    return shown


def draw(results: dict[str, Result], path: Path) -> None:
    """Writes the picture (as its ending says): a bar for each transport and role, split by what lies in the pages."""
    from matplotlib import pyplot

    from . import plots, view

    kinds = {  # of regions
        "code": lambda region: region.startswith("code: ") or region == "vdso",
        "data of libraries": lambda region: region.startswith("data: "),
        "stack": lambda region: region == "stack",
        "heap": lambda region: region in ("heap", "anonymous memory"),
        "shared memory": lambda region: region.startswith("shared: "),
    }
    colors = (view.FIRST_COLOR, *view.COLORS)
    figure, axes = pyplot.subplots(
        len(ROLES), 1, figsize=(plots.WIDTH * 1.4, 0.6 + 0.42 * len(results) * len(ROLES) + 0.8), sharex=True
    )
    for axis, role in zip(axes, ROLES, strict=True):
        left = [0] * len(results)
        for (kind, belongs), color in zip(kinds.items(), colors, strict=False):
            widths = [
                sum(count for region, count in result.counts[role].pages.items() if belongs(region))
                for result in results.values()
            ]
            axis.barh(list(results), widths, left=left, color=color, label=kind, height=0.7)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for row, total in enumerate(left):
            axis.text(total + 0.5, row, str(total), va="center", fontsize=9)
        axis.invert_yaxis()
        axis.grid(False, axis="y")
        plots.heading(axis, f"{role}: pages that one message touches")
    axes[-1].legend(loc="upper left", bbox_to_anchor=(0, -0.35 if len(results) > 2 else -0.6), ncols=5, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, transparent=False, facecolor="white", bbox_inches="tight")
    pyplot.close(figure)
