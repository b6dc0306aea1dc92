# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: the jobs of a session and their order."""

from __future__ import annotations

import pytest
from baton_perf import (
    report,
    session,
)
from baton_perf.experiments import EXPERIMENTS
from baton_perf.runs import Cell
from recorded import peer


def test_every_round_runs_everybody_once_per_cell_in_a_rotating_order():
    chosen = [(peer(x), "v") for x in "abc"]
    cells = [Cell(bytes=64), Cell(bytes=128)]
    jobs = session.schedule("e", cells, chosen, 3)
    assert len(jobs) == 18
    for round in range(3):
        for cell in cells:
            its = [job.peer.id for job in jobs if job.round == round and job.cell == cell]
            assert sorted(its) == ["a", "b", "c"]
    first = [next(j.peer.id for j in jobs if j.round == r and j.cell == cells[0]) for r in range(3)]
    assert sorted(first) == ["a", "b", "c"]


def test_cells_that_a_peer_cannot_run_are_not_scheduled():
    cells = [Cell(spin=True), Cell(subscribers=8), Cell(bytes=1 << 20)]
    limited = peer(can_spin=False, most_subscribers=4, largest=1000)
    assert session.schedule("e", cells, [(limited, "v")], 1) == []


@pytest.mark.parametrize("profile", ["quick", "full"])
def test_every_experiment_has_cells_and_figures_that_exist(profile):
    for e in EXPERIMENTS.values():
        assert e.cells(profile), e.id
        assert all(callable(report.drawing(name)) for name in e.figures), e.id


def test_the_quick_profile_of_every_experiment_is_planned_for_two_minutes_with_all_24_transports():
    """The schedule's own time. A machine that is busy or whose transports are slow to find each other needs longer."""
    warm_up, start = 15, 0.5  # messages of lab/runner/runner.cpp; seconds in which processes start and end
    for e in EXPERIMENTS.values():
        transports = 24 if "all" in e.peers else len(e.peers) + 5  # some have several variants
        planned = sum((cell.messages + warm_up) / cell.rate + start for cell in e.cells("quick"))
        assert planned * transports * e.rounds[0] <= 120, f"{e.id}: {planned * transports:.0f} s"
