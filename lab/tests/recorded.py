# SPDX-License-Identifier: Apache-2.0
"""Peers and runs for the tests of `baton perf`, in the form of a recording."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from baton_cli.main import baton
from baton_perf import accept, network, peers, recording
from baton_perf.experiments import EXPERIMENTS
from baton_perf.network import NetworkFailed
from baton_perf.peers import Peer
from baton_perf.runs import Cell
from click.testing import CliRunner

BUILT = peers.program_folder() is not None
needs_programs = pytest.mark.skipif(not BUILT, reason="build/lab is not there: make build-lab")


def why_no_network() -> str:
    """Why two hosts in namespaces cannot be made; empty where they can."""
    try:
        network.check("10gbit")
    except NetworkFailed as problem:
        return str(problem)
    return ""


def peer(id="baton", variants=("loan",), **changes) -> Peer:
    values = dict(can_spin=True, has_qos=False, most_subscribers=64, largest=1 << 40)
    return Peer(id=id, program=Path(id), name=id, version="1", how="", variants=tuple(variants), **(values | changes))


def run_of(latencies_us, *, peer="baton", round=0, cell=None, sequences=None, sent=None, cpu_us=100) -> dict:
    """A run with one subscriber, as a recording holds it."""
    n = len(latencies_us)
    ns = [int(1000 * x) for x in latencies_us]
    sequences = list(range(n)) if sequences is None else sequences
    usage = dict(
        utime_us=cpu_us, stime_us=0, minor_faults=0, major_faults=0, voluntary_switches=0, involuntary_switches=0
    )
    usage |= dict(rss_kb=1000, peak_rss_kb=1200, pss_kb=900, shared_kb=800, copies=0, copied_bytes=0)
    subscriber = {
        "role": "subscriber",
        "index": 0,
        "torn": 0,
        "usage": usage,
        "samples": {
            "publisher": [0] * n,
            "sequence": sequences,
            "publish_ns": [1_000_000 * s for s in sequences],
            "hand_over_ns": ns,
            "fill_ns": ns,
            "construct_ns": ns,
            "read_ns": [0] * n,
        },
    }
    publisher = {"role": "publisher", "index": 0, "sent": n if sent is None else sent, "usage": usage, "samples": {}}
    return {
        "experiment": "field",
        "peer": peer,
        "variant": "loan" if peer == "baton" else "v",
        "round": round,
        "cell": asdict(cell or Cell()),
        "processes": [publisher, subscriber],
    }


def field_runs(own: float, other: float, rounds: int = 10) -> list[dict]:
    runs = []
    for cell in EXPERIMENTS["field"].cells("quick"):
        for round in range(rounds):
            runs.append(run_of([own + round % 3] * 5, round=round, cell=cell))
            runs.append(run_of([other + round % 2] * 5, peer="slow", round=round, cell=cell))
    return runs


def verdicts_of(runs, **changes):
    criterion = {
        "id": "c",
        "source": "",
        "kind": "peers",
        "experiment": "field",
        "metric": "hand_over",
        "bar": 1.05,
    } | changes
    return accept.judge([criterion], accept.Measured(recording.Recording({}, runs)), "quick")


def invoke(*arguments: str):
    return CliRunner().invoke(baton, ["perf", *arguments])
