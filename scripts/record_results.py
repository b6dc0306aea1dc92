#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records every result of the documents, in pieces of at most 20 minutes (`make results`): record_results.py [GROUP...].

A group is a recording of its own, out/results/GROUP.jsonl.gz. A group that is recorded at this commit is left out; one that was interrupted goes on.
Each piece says in the recording whether the machine was quiet meanwhile: close other programs first. When a group is complete, its summary goes to
docs/results/recorded and the pages are filled. These are no change of what is measured, and the next group is of the same commit. Any other change that is
not committed cannot be resumed: commit it first.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from fill_page import fill

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "lab"))
from baton_perf.recording import build  # noqa: E402  (a checkout's, installed or not)

BATON = ROOT / ".venv/bin/baton"
PLACE = ROOT / "out/results"
UNFINISHED = 3  # as `baton perf accept --minutes` says it


@dataclass(frozen=True)
class Page:
    """A page with a table that the verb writes by --markdown, and what else the verb draws."""

    path: str
    name: str
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class Group:
    """Criteria that are recorded together, by the beginnings of their names; or a verb of `baton perf` whose recording has their verdicts."""

    what: str
    criteria: tuple[str, ...]
    verb: tuple[str, ...] = ()
    page: Page | None = None


GROUPS = {
    "kernel": Group("beside the kernel's primitives, shared objects, what a message touches", ("foundation", "touch", "shared")),
    "papers": Group("TZC, LOT, TogetheROS.Bot, ROS-SF, real time", ("tzc", "lot", "trosb", "rossf", "real-time")),
    "atsa": Group("ATSA", ("atsa",)),
    "link": Group("between hosts", ("link",)),
    "ros1": Group("ROS 1", ("ros1",)),
    "ros2": Group("ROS 2", ("ros2",)),
    "robot": Group(
        "TZC's applications", ("robot",), ("robot", "--load", "0", "--load", "1"),
        Page("docs/results/robot.md", "robot", ("--plot", "docs/results/robot.svg", "--video", "docs/results/robot.webp")),
    ),
    "slam": Group(
        "ROS-SF's case study", ("slam",), ("slam",), Page("docs/results/slam.md", "slam", ("--plot", "docs/results/slam.svg")),
    ),
    "record": Group("recording", ("record",)),
    "field": Group("every transport", ("field",)),
}  # fmt: skip


def commit(built: dict) -> str:
    """Of a recording's build: its commit, with `+` if files were changed."""
    return built["commit"] + ("+" if built["modified"] else "")


def state(recording: Path) -> tuple[str, bool]:
    """The commit of a recording, and whether it has its verdicts; ("", False) where there is none that can be read."""
    try:
        with gzip.open(recording, "rt") as file:
            lines = [json.loads(line) for line in file]
        return commit(lines[0]["build"]), any("verdicts" in line for line in lines)
    except (OSError, EOFError, ValueError, LookupError):
        return "", False


def command(name: str, rounds: int, minutes: float, resume: bool) -> list[str]:
    """The command that records a group, or its next piece."""
    group, recording = GROUPS[name], PLACE / f"{name}.jsonl.gz"
    words = [str(BATON), "perf"]
    if group.verb:
        words += [*group.verb, "--rounds", str(rounds)]
    else:
        words += ["accept", *group.criteria, "--rounds", str(rounds), "--minutes", f"{minutes:g}"]
        words += ["--resume"] if resume else []
    words += ["--out", str(recording.relative_to(ROOT))]  # the command stands in the pages
    if group.page is not None:
        words += ["--markdown", str(PLACE / f"{name}.md"), *group.page.drawn]
    return words


def record(name: str, rounds: int, minutes: float) -> None:
    """Records a group to its end, if it is not at this commit."""
    recording, now = PLACE / f"{name}.jsonl.gz", commit(build())
    of, complete = state(recording)
    if complete and of == now and not now.endswith("+"):
        print(f"{name}: recorded at this commit", flush=True)
        return
    resume = of == now and not now.endswith("+")
    while True:
        print(f"{name} ({GROUPS[name].what}): {'the next piece' if resume else 'anew'}", flush=True)
        status = subprocess.run(command(name, rounds, minutes, resume), cwd=ROOT, check=False).returncode
        if status != UNFINISHED:
            break
        resume = True
    # Rows that fail are results, too: status 1.
    if status not in (0, 1) or not state(recording)[1]:
        raise SystemExit(f"record_results: {name} ended with {status}; the same command goes on with it")
    subprocess.run([sys.executable, ROOT / "scripts/make_results.py", recording], check=True)
    page = GROUPS[name].page
    if page is not None:
        path = ROOT / page.path
        path.write_text(fill(path.read_text(), page.name, (PLACE / f"{name}.md").read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"default: all of {', '.join(GROUPS)}")
    parser.add_argument("--rounds", type=int, default=10, help="at least 6, which give an interval (default 10)")
    parser.add_argument("--minutes", type=float, default=20.0, help="of a piece (default 20)")
    options = parser.parse_args()
    for name in options.groups:
        if name not in GROUPS:
            parser.error(f"there is no group '{name}'; there are: {', '.join(GROUPS)}")
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in options.groups or GROUPS:
        record(name, options.rounds, options.minutes)


if __name__ == "__main__":
    main()
