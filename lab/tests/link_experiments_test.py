# SPDX-License-Identifier: Apache-2.0
"""The link between two hosts: fan-out, rate and scale, in their short forms. Counts, not times."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from baton_perf import accept, experiments, figures, peers, recording
from baton_perf.experiments import EXPERIMENTS
from baton_perf.runs import Cell, perform
from recorded import invoke, run_of, why_no_network


def why_not() -> str:
    if peers.program_folder() is None or "baton_link" not in peers.built():
        return "the peer baton_link is not built (make build-lab)"
    return why_no_network()


WHY_NOT = why_not()
needs_link = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
LINK_CRITERIA = ("link-fanout", "link-fanout-wire", "link-rate", "link-scale", "link-small-beside-big")


def test_bytes_on_the_line_are_those_of_the_host_whatever_the_number_of_its_publishers():
    run = run_of([1] * 10, cell=Cell(bytes=1000, publishers=2))
    assert figures.metric(run, "wire") is None, "a run on one host has no line"
    first, second = figures.publishers(run)[0], dict(figures.publishers(run)[0])
    run["processes"].append(second)
    first["wire_bytes"], second["wire_bytes"] = 20_400, 19_000
    assert figures.metric(run, "wire") == pytest.approx(1.02)


@needs_link
def test_several_subscriptions_of_the_other_host_cost_one_transmission():
    cell = Cell(bytes=1 << 20, message="Image", messages=10, rate=20, network="veth")
    for subscribers in (1, 3):
        few = replace(cell, subscribers=subscribers)
        run = perform(peers.built()["baton_link"], "link", few, timeout=240) | {"cell": asdict(few)}
        assert figures.lost(run) == 0
        assert 1.0 < figures.metric(run, "wire") < 1.1


@needs_link
@pytest.mark.parametrize("id", ["link-fanout", "link-rate"])
def test_an_experiment_of_the_link_is_measured_and_its_bytes_on_the_line_are_shown(tmp_path, monkeypatch, id):
    pytest.importorskip("matplotlib")
    whole = EXPERIMENTS[id]
    few = [replace(cell, bytes=1 << 20, messages=5, network="veth") for cell in whole.cells("quick")]
    monkeypatch.setitem(
        experiments.EXPERIMENTS, id, replace(whole, cells=lambda profile: few, peers=("baton_link", "tcp"))
    )
    done = invoke("experiment", id, "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    path = tmp_path / f"{id}.jsonl.gz"
    runs = recording.Recording.load(path).runs
    assert {run["peer"] for run in runs} >= {"baton_link"} and all("error" not in run for run in runs), runs
    assert all(figures.lost(run) == 0 for run in runs if run["peer"] == "baton_link")
    page = tmp_path / "report.html"
    assert invoke("report", str(path), "-o", str(page)).exit_code == 0
    assert "in units of the payload" in page.read_text()


def test_the_criteria_of_the_link_are_measured_between_two_hosts():
    for criterion in accept.load():
        if criterion["id"] in LINK_CRITERIA and criterion["kind"] != "program":
            assert criterion["cell"]["network"] == "10gbit", criterion["id"]
    assert {criterion["id"] for criterion in accept.load()} >= set(LINK_CRITERIA)


def scale(*words: str, program: str = "baton_link_scale", **environment: str) -> subprocess.CompletedProcess:
    program = Path(__file__).resolve().parents[1] / "python" / program
    return subprocess.run(
        [program, *words], env=os.environ | environment, capture_output=True, text=True, timeout=500, check=False
    )


@needs_link
def test_many_processes_of_two_hosts_are_connected_and_their_figures_are_verdicts():
    done = scale("--processes", "3", "--rounds", "1", "--network", "veth")
    assert done.returncode in (0, 1), done.stderr  # 1: slower than the bar, on this machine
    rows = [row for line in done.stdout.splitlines() if (row := accept.printed_row("link-scale", line))]
    assert [row.unit for row in rows] == [" s", " us", " MiB"], done.stdout
    assert all(row.value is not None and row.value.middle > 0 for row in rows), done.stdout
    assert "6 topics, 3 processes a host" in rows[0].what and " 0 lost" in rows[1].detail


@needs_link
def test_a_small_topic_beside_a_big_one_and_beside_a_connection_of_its_own_has_verdicts():
    words = ("--rounds", "1", "--seconds", "1", "--mb", "0.5", "--network", "100mbit")
    done = scale(*words, program="baton_link_beside")
    assert done.returncode in (0, 1), done.stderr  # 1: later than the bar, on this machine
    rows = [row for line in done.stdout.splitlines() if (row := accept.printed_row("link-small-beside-big", line))]
    assert [row.unit for row in rows] == ["x", "x", "x", ""], done.stdout
    assert all(row.value.middle > 0 for row in rows[:3]), done.stdout


def test_a_scale_without_its_programs_is_an_error_with_the_way_out(tmp_path):
    done = scale("--processes", "1", BATON_PERF_PROGRAMS=str(tmp_path))
    assert done.returncode == 2 and "make build-lab" in done.stderr and done.stdout == ""
