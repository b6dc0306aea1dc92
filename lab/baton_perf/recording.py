# SPDX-License-Identifier: Apache-2.0
"""The file of raw samples: JSON lines in gzip. The first line is the header (machine, build, command), every further line one run,
the verdicts on those before it or of one program (`baton perf accept`), or a piece: how quiet the machine was while the lines before it were made.

Runs are appended as they end, each as a gzip member of its own, so that an interrupted recording is whole up to its last run.
Tables and plots are made from such files only.
"""

from __future__ import annotations

import gzip
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from dataclasses import asdict
from itertools import count
from pathlib import Path

import click

from . import machines
from .peers import BUILD, CHECKOUT, Peer
from .results import History
from .runs import Cell

FORMAT = 1
# What `make results` writes itself: a recording after the first one is of the same code.
PAGES = ("docs/results", "README.md")


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def machine() -> dict:
    """The facts about the machine that a reader of figures needs."""
    cpu = next(
        (line.split(":", 1)[1].strip() for line in _read("/proc/cpuinfo").splitlines() if "model name" in line), ""
    )
    memory = next((line.split()[1] for line in _read("/proc/meminfo").splitlines() if line.startswith("MemTotal")), "0")
    try:
        virtual = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        virtual = ""
    flags = _read("/proc/cpuinfo")
    return {
        "cpu": cpu or platform.processor() or platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(memory) / 1024 / 1024, 1),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "virtual": virtual or ("yes" if " hypervisor" in flags else ""),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not visible",
        "idle_driver": _read("/sys/devices/system/cpu/cpuidle/current_driver") or "not visible",
        "load_before": os.getloadavg()[0],
    }


def build() -> dict:
    """The build and commit of the measured Baton, and whether files other than PAGES differ from that commit. The commit of an installed package is
    not known: a repository around it is another project's."""
    history = History(CHECKOUT)
    others = [":/", *(f":(top,exclude){path}" for path in PAGES)]
    commit = history.git("rev-parse", "HEAD") if history.known else None
    changed = history.git("status", "--porcelain", "--", *others) if history.known else None
    cache = _read(str(BUILD / "CMakeCache.txt"))
    wanted = ("CMAKE_BUILD_TYPE", "CMAKE_CXX_COMPILER", "CMAKE_CXX_FLAGS")
    settings = {
        line.split(":", 1)[0]: line.split("=", 1)[1]
        for line in cache.splitlines()
        if line.split(":", 1)[0] in wanted and "=" in line
    }
    return {"commit": (commit or "unknown").strip(), "modified": bool(changed), **settings}


def _describe(built: dict) -> str:
    return built["commit"][:12] + (" with local changes" if built["modified"] else "")


class Recording:
    """What a file holds: ``header``, ``runs`` (dicts with experiment, peer, variant, round, cell, and processes or error),
    ``verdicts`` (rows of accept.Row as dicts, the last that were given; empty where nothing was judged), ``judged`` (such rows of each program,
    by criterion) and ``pieces`` (quiet.piece())."""

    def __init__(
        self,
        header: dict,
        runs: list[dict],
        verdicts: list[dict] | None = None,
        judged: dict[str, list[dict]] | None = None,
        pieces: list[dict] | None = None,
    ):
        self.header = header
        self.runs = runs
        self.verdicts = verdicts or []
        self.judged = judged or {}
        self.pieces = pieces or []

    @staticmethod
    def load(path: Path) -> Recording:
        try:
            with gzip.open(path, "rt") as file:
                lines = [json.loads(line) for line in file]
        except (OSError, EOFError, ValueError) as problem:
            raise click.ClickException(f"{path} is no recording of `baton perf`: {problem}") from problem
        if not lines or lines[0].get("format") != FORMAT:
            raise click.ClickException(f"{path} is no recording of `baton perf` of format {FORMAT}")
        verdicts = [line["verdicts"] for line in lines[1:] if "verdicts" in line]
        judged = {line["judged"]: line["rows"] for line in lines[1:] if "judged" in line}
        pieces = [line["piece"] for line in lines[1:] if "piece" in line]
        runs = [line for line in lines[1:] if not line.keys() & {"verdicts", "judged", "piece"}]
        return Recording(lines[0], runs, verdicts[-1] if verdicts else [], judged, pieces)


def _free_name(path: Path) -> Path:
    """run.jsonl.gz -> run.jsonl.gz.1, or the first higher number that is free."""
    return next(name for n in count(1) if not (name := path.with_name(f"{path.name}.{n}")).exists())


def append(path: Path, line: dict) -> None:
    with gzip.open(path, "at", compresslevel=6) as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


class Writer:
    """Appends to a new file; one that exists gets a number (``moved_to``), or with `resume` goes on. `absent`: peers that belong into
    the comparison and are not measured, with the reason."""

    def __init__(self, path: Path, peers: list[Peer], resume: bool = False, absent: dict[str, str] | None = None):
        self.path = path
        self.moved_to: Path | None = None
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            if resume:
                found = Recording.load(path)
                self._check_same_machine(found)
                self._check_same_build(found)
                return
            self.moved_to = _free_name(path)
            path.replace(self.moved_to)
        append(
            path,
            {
                "format": FORMAT,
                "command": shlex.join(["baton", *sys.argv[1:]]),
                "started": time.time(),
                "machine": machine(),
                "build": build(),
                "peers": {p.id: {"name": p.name, "version": p.version, "how": p.how} for p in peers},
                "absent": absent or {},
            },
        )

    def _check_same_machine(self, recording: Recording) -> None:
        now = {"machine": machine()}
        if machines.key(recording.header) != machines.key(now):
            raise click.ClickException(
                f"{self.path} was recorded on another machine ({machines.text(recording.header)}), and this is {machines.text(now)}: "
                "leave out --resume to measure anew"
            )

    def _check_same_build(self, recording: Recording) -> None:
        """Rounds of two builds make no interval."""
        before, now = recording.header["build"], build()
        if before != now or before["modified"]:
            raise click.ClickException(
                f"{self.path} was recorded with {_describe(before)}, and this is {_describe(now)}: only the same commit "
                "without local changes can be resumed; leave out --resume to measure anew"
            )

    def add(self, experiment: str, peer: Peer, variant: str, round: int, cell: Cell, result: dict) -> None:
        append(
            self.path,
            {
                "experiment": experiment,
                "peer": peer.id,
                "variant": variant,
                "round": round,
                "cell": asdict(cell),
                **result,
            },
        )
