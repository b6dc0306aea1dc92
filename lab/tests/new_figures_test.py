# SPDX-License-Identifier: Apache-2.0
"""The papers' figures that need a place or a setting of their own, each in its shortest form: containers with a network, small messages without
TCP_NODELAY, processors, a real-time priority, the costs of a message."""

from __future__ import annotations

from dataclasses import replace

import pytest
from baton_perf import experiments, figures, peers, plots, report, report_tables, runs, tables
from baton_perf.experiments import EXPERIMENTS
from baton_perf.recording import Recording
from baton_perf.runs import Cell, RunFailed, perform
from recorded import invoke, peer, run_of, why_no_network

BUILT = peers.built() if peers.program_folder() is not None else {}
needs_tcp = pytest.mark.skipif("tcp" not in BUILT, reason="the peer tcp is not built (make build-lab)")
WHY_NO_NETWORK = why_no_network()


def shortest(id: str, monkeypatch, **changes) -> None:
    """The experiment with its smallest cells and few messages."""
    whole = EXPERIMENTS[id]
    cells = [replace(cell, messages=5, **changes) for cell in whole.cells("quick")]
    monkeypatch.setitem(experiments.EXPERIMENTS, id, replace(whole, cells=lambda profile: cells))


@needs_tcp
@pytest.mark.skipif(bool(WHY_NO_NETWORK), reason=WHY_NO_NETWORK)
def test_tcp_reaches_a_separate_container_by_the_network_between_them(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    shortest("lot-fig3a", monkeypatch, bytes=4096)
    done = invoke("experiment", "lot-fig3a", "-p", "tcp", "-o", str(tmp_path))
    assert done.exit_code == 0, done.output
    made = Recording.load(tmp_path / "lot-fig3a.jsonl.gz").runs
    places = [(run["cell"]["isolation"], run["cell"]["network"]) for run in made]
    assert sorted(places) == [("container", ""), ("host", ""), ("host", "veth")]
    assert all("error" not in run and figures.lost(run) == 0 for run in made), made
    page = tmp_path / "report.html"
    assert invoke("report", str(tmp_path / "lot-fig3a.jsonl.gz"), "-o", str(page)).exit_code == 0
    assert "separate containers, a network between them" in page.read_text()


@needs_tcp
def test_a_container_with_a_loopback_device_only_is_never_reached_by_tcp():
    """lot-fig3 shows this of TCP, and therefore lot-fig3a has a network."""
    with pytest.raises(RunFailed):
        perform(BUILT["tcp"], "stream", Cell(bytes=4096, messages=5, rate=60, isolation="containers"), timeout=5)


@needs_tcp
def test_small_messages_arrive_without_tcp_nodelay():
    cell = replace(EXPERIMENTS["lot-fig6d"].cells("quick")[0], messages=50)
    run = perform(BUILT["tcp"], "nagle", cell, timeout=240)
    assert figures.lost(run) == 0
    assert "tcp:nagle" in EXPERIMENTS["lot-fig6d"].peers and ("tcp", "nagle") in peers.BY_NAME


def test_the_sizes_of_lot_are_the_papers():
    kb = [cell.bytes / 1024 for cell in EXPERIMENTS["lot-fig6"].cells("full") if not cell.pinned]
    assert kb == [1 / 8, 1 / 2, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]


@pytest.mark.parametrize("id", ["lot-fig6", "ros1-lot-fig6"])
def test_lot_is_pinned_to_two_processors_and_to_one_and_not_at_all(id):
    for profile in ("quick", "full"):
        cells = EXPERIMENTS[id].cells(profile)
        places = [(cell.pinned, cell.one_cpu) for cell in cells if cell.bytes == 16 << 20]
        assert places == [(False, False), (True, False), (True, True)]
        assert len({tables.describe(cell) for cell in cells}) == len(cells)
        drawn = plots.lines_over_size(report.View(EXPERIMENTS[id], [run_of([5, 6], cell=cell) for cell in cells]))
        assert ["not pinned" in text for text in drawn] == [True, False, False]
        assert ["pinned, all on one CPU" in text for text in drawn] == [False, False, True]


@pytest.mark.parametrize(
    ("place", "cpus"),
    [({}, ["", ""]), ({"pinned": True}, ["3", "4,5"]), ({"pinned": True, "one_cpu": True}, ["3", "3"])],
)
def test_pinned_ends_start_on_the_processors_of_the_cell(tmp_path, monkeypatch, place, cpus):
    monkeypatch.setattr(runs, "cpus", lambda: [3, 4, 5])
    program = tmp_path / "end"
    program.write_text('#!/bin/sh\necho "{\\"cpus\\": \\"$8\\"}" > "${2%/*}/$4_$6.json"\n')
    program.chmod(0o755)
    run = perform(replace(peer(), program=program), "loan", Cell(**place), timeout=60)
    assert [process["cpus"] for process in run["processes"]] == cpus


def test_the_long_run_of_lot_has_the_graphs_of_its_table():
    cells = EXPERIMENTS["lot-table1"].cells("full")
    assert [(cell.publishers, cell.subscribers) for cell in cells] == [(1, 1), (1, 5), (5, 1)]
    sampled = {"timeline": [{"t": t / 10, "cpu_ns": [t * 1000]} for t in range(5)]}
    view = report.View(EXPERIMENTS["lot-table1"], [run_of([5, 6], cell=cell) | sampled for cell in cells])
    (table,), pictures, bars = report_tables.lot_table1(view), plots.timeline(view), plots.cpu_bars(view)
    for cell, picture in zip(cells, pictures, strict=True):
        assert f">{cell.label()}<" in table and f"processes, {cell.label()}<" in picture
    assert len(bars) == 3 and sum("5 publishers" in text for text in bars) == 1


def test_each_cost_of_a_message_is_drawn_with_all_peers():
    made = [run_of([5, 6], peer=peer, cpu_us=cpu) for peer, cpu in (("baton", 100), ("slow", 4000))]
    drawn = plots.cost_bars(report.View(EXPERIMENTS["trosb"], made))
    assert len(drawn) == 4
    for title, text in zip(plots.COSTS, drawn, strict=True):
        assert title in text and ">baton<" in text and ">slow:v<" in text
    assert "4,000<" in drawn[0], "4000 us of each of two processes, for two messages"
    assert "maxrss" in drawn[3] and figures.metric(made[0], "maxrss_kb") == 2 * 1200


def test_copies_of_a_message_are_those_of_the_publisher_and_of_all_subscribers():
    run = run_of([1] * 10, cell=Cell(bytes=1000))
    publisher, subscriber = run["processes"]
    publisher["usage"] = publisher["usage"] | {"copied_bytes": 20_000}
    second = subscriber | {"index": 1, "usage": subscriber["usage"] | {"copied_bytes": 10_000}}
    run["processes"].append(second)
    assert figures.metric(run, "copies") == pytest.approx(2 + 1)


@pytest.mark.parametrize("id", ["tzc-fig7-rt", "tzc-fig8-fifo"])
def test_the_real_time_group_has_a_real_time_priority(id):
    for profile in ("quick", "full"):
        assert {cell.priority for cell in EXPERIMENTS[id].cells(profile)} == {80}
    assert "Ach" in " ".join(EXPERIMENTS[id].unavailable)


@needs_tcp
def test_the_largest_memory_is_that_of_the_ends_and_not_of_the_command_that_starts_them():
    own = bytearray(300 << 20)
    own[::4096] = b"x" * len(own[::4096])  # resident
    run = perform(BUILT["tcp"], "stream", Cell(messages=5), timeout=240)
    for process in run["processes"]:
        assert 0 < process["usage"]["rss_kb"] <= process["usage"]["peak_rss_kb"] < 100 << 10
    assert len(own) == 300 << 20
