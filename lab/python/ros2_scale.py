# SPDX-License-Identifier: Apache-2.0
"""`baton_ros2_scale`: many processes of rclpy over rmw_baton_cpp, beside as many over the stock RMW. Measures the time until each sees the whole
graph, and the cost of a process. Prints verdicts in the form that `baton perf accept` reads.

All processes of a round begin at once, after their imports. The graph is complete when a process sees all nodes and all topics; the printed time is
that of the last process.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from pathlib import Path

import click
from baton_perf.verdicts import print_verdict
from ros2_processes import Processes, report_of
from support.ros2 import TESTED

MEMBER = Path(__file__).with_name("ros2_scale_member.py")
GRAPH_BAR, MANY_BAR_S, THREADS_BAR, MEMORY_BAR_MIB = 1 / 50, 5, 2, 2.1
IDLE_S = 3


def _idle(pid: int) -> tuple[int, int]:
    """CPU ticks of a process, and how often its main thread and those of the RMW went to sleep. rclpy's other threads, which have the program's
    name, are left out: one of them, of rcl's log, wakes up every five seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    name = Path(f"/proc/{pid}/comm").read_text()
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    counted = [task for task in tasks if task.name == str(pid) or (task / "comm").read_text() != name]
    sleeps = [
        re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.MULTILINE)[1]
        for task in counted
    ]
    return int(fields[11]) + int(fields[12]), sum(map(int, sleeps))


def _measure(rmw: str, count: int, events: bool, settles: int) -> dict:
    processes = Processes()
    try:
        members = [
            processes.start(rmw, str(index), str(count), str(int(events)), file=str(MEMBER)) for index in range(count)
        ]
        for each in members:
            each.says("ready")
        for each in members:
            each.tell()
        reports = [report_of(each) for each in members]
        for each in members:
            each.tell()
        for each in members:
            each.says("rests")
        time.sleep(settles)
        before = [_idle(each.pid) for each in members]
        time.sleep(IDLE_S)
        after = [_idle(each.pid) for each in members]
    finally:
        processes.close()

    def added(what: str) -> float:
        return statistics.median(report["made"][what] - report["before"][what] for report in reports)

    return {
        "graph": max(report["graph"] for report in reports),
        "message": statistics.median(report["message"] for report in reports),
        "cpu": statistics.median(report["cpu"] for report in reports),
        "threads": added("threads"),
        "mb": added("mb"),
        "fds": statistics.median(report["all"]["fds"] for report in reports),
        "ticks": statistics.median(b[0] - a[0] for a, b in zip(before, after, strict=True)),
        "sleeps": statistics.median(b[1] - a[1] for a, b in zip(before, after, strict=True)) / IDLE_S,
    }


@click.command(help=(__doc__ or "").partition("\n\n")[0])
@click.option(
    "--processes", default=50, show_default=True, type=click.IntRange(1, 1000), help="Of each RMW, one after the other."
)
@click.option("--many", default=200, show_default=True, type=click.IntRange(1, 1000), help="Over rmw_baton_cpp alone.")
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1, 100))
@click.option(
    "--events", is_flag=True, help="Each process also subscribes to /parameter_events, as nodes of rclcpp do."
)
@click.option(
    "--settles",
    default=8,
    show_default=True,
    help="Seconds from the last message until a process is idle: connections that are seldom used end.",
)
def main(processes: int, many: int, rounds: int, events: bool, settles: int) -> None:
    if not TESTED.python.exists() or not TESTED.library.exists():
        print(
            f"baton_ros2_scale: ROS 2 {TESTED.name} or {TESTED.library} is missing: make setup, make build",
            file=sys.stderr,
        )
        sys.exit(2)
    rounds_of = {"plain": [], "baton": [], "many": []}
    for _ in range(rounds):
        for key, rmw, count in (("plain", "plain", processes), ("baton", "baton", processes), ("many", "baton", many)):
            rounds_of[key].append(_measure(rmw, count, events, settles))
    stock, baton, large = rounds_of.values()

    def values(runs: list[dict], key: str) -> list[float]:
        return [run[key] for run in runs]

    def middle(runs: list[dict], key: str) -> str:
        return f"{statistics.median(values(runs, key)):.2g}"

    whole = [run["graph"] / of["graph"] for run, of in zip(baton, stock, strict=True)]
    passed = [
        print_verdict(
            f"graph of {processes} processes, of the stock RMW's time", whole, "x", GRAPH_BAR,
            f"{middle(baton, 'graph')} s, stock {middle(stock, 'graph')} s; first message {middle(baton, 'message')} s, "
            f"stock {middle(stock, 'message')} s; CPU of a process {middle(baton, 'cpu')} s, stock {middle(stock, 'cpu')} s",
        ),
        print_verdict(
            f"graph of {many} processes", values(large, "graph"), " s", MANY_BAR_S,
            f"first message {middle(large, 'message')} s; a process has {middle(large, 'fds')} descriptors",
        ),
        print_verdict(
            "threads that the RMW of a node adds", values(baton, "threads"), "", THREADS_BAR,
            f"stock {middle(stock, 'threads')}",
        ),
        print_verdict(
            "private memory that rclpy.init() and a node add", values(baton, "mb"), " MiB", MEMORY_BAR_MIB, f"stock {middle(stock, 'mb')} MiB"
        ),
        print_verdict(
            "sleeps a second of an idle process", values(baton, "sleeps"), "", 0,
            f"{middle(baton, 'ticks')} ticks of CPU in {IDLE_S} s; stock {middle(stock, 'sleeps')} sleeps a second",
        ),
    ]  # fmt: skip
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
