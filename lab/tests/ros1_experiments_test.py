# SPDX-License-Identifier: Apache-2.0
"""The papers' experiments with ROS 1: a short run of each, measured, recorded and drawn."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from baton_cli.main import baton
from baton_perf import experiments, figures, peers
from baton_perf.experiments import EXPERIMENTS
from baton_perf.recording import Recording
from click.testing import CliRunner

ROS1 = [*(id for id in EXPERIMENTS if id.startswith("ros1-")), "rossf-fig3"]
BUILT = peers.built() if peers.program_folder() else {}
WANTED = [
    ("roscpp", variant)
    for variant in (
        "tcpros",
        "tcpros_nagle",
        "printed",
        "nodelet",
        "preload",
        "preload_copying",
        "tzc",
        "lotros",
        "lotros_own_thread",
    )
] + [("serialized_shm", "ring"), ("roscpp_recompiled", "pointer"), ("roscpp_recompiled", "printed")]
needs_ros1 = pytest.mark.skipif(
    not all(peer in BUILT and variant in BUILT[peer].variants for peer, variant in WANTED),
    reason="the peers roscpp and roscpp_recompiled are not built with all of their variants",
)


def few(cells):
    """The smallest and the largest cell, with few messages."""
    return [replace(cell, messages=10) for cell in (cells[0], cells[-1])]


@needs_ros1
@pytest.mark.parametrize("id", ROS1)
def test_an_experiment_has_every_way_measured_and_draws_all_of_them(tmp_path, monkeypatch, id):
    pytest.importorskip("matplotlib")
    whole = EXPERIMENTS[id]
    monkeypatch.setitem(experiments.EXPERIMENTS, id, replace(whole, cells=lambda profile: few(whole.cells(profile))))
    done = CliRunner().invoke(baton, ["perf", "experiment", id, "--rounds", "1", "-o", str(tmp_path)])
    assert done.exit_code == 0, done.output
    runs = Recording.load(tmp_path / f"{id}.jsonl.gz").runs
    ways = {peer if ":" in peer else f"{peer}:ring" for peer in whole.peers}
    # On a busy machine a run may fail; a way that does not work has no run at all.
    good = [run for run in runs if figures.metric(run, "hand_over") is not None]
    assert {f"{run['peer']}:{run['variant']}" for run in good} == ways
    page = tmp_path / "report.html"
    done = CliRunner().invoke(baton, ["perf", "report", str(tmp_path / f"{id}.jsonl.gz"), "-o", str(page)])
    assert done.exit_code == 0, done.output
    drawn = page.read_text()
    assert whole.title in drawn and all(peer in drawn for peer in whole.peers)
    assert bool(re.search("<svg", drawn)) == (whole.figures != ("copies_table",))
