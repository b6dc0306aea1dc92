# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: tables, and the clocks that they show."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from baton_perf import (
    peers,
    recording,
    session,
    tables,
)
from baton_perf.experiments import CLOCKS
from baton_perf.runs import Cell
from recorded import invoke, needs_programs, peer, run_of
from rich.console import Console


def printed(runs, width: int, wide: bool = False) -> str:
    output = io.StringIO()
    tables.print_summary(Console(file=output, width=width), runs, "hand_over_ns", wide)
    return output.getvalue()


@pytest.mark.parametrize("width", [40, 60, 100, 140])
def test_no_number_of_a_table_is_cut_however_narrow_the_terminal(width):
    runs = [
        run_of([272.1, 27210.0], peer="a_peer_with_a_long_name", sent=1500, cpu_us=2720123),
        run_of([2720, 123456], sent=1500),
    ]
    text = printed(runs, width, wide=True)
    assert "…" not in text
    for number in ("272.1", "2720", "27210", "123456", "1498/1500", "3627"):
        assert number in text.replace("│", " ").split(), number


def test_the_wide_table_has_every_statistic_and_the_notes_stand_below():
    text = printed([run_of([1, 2, 3])], 160, wide=True)
    assert all(title in text.split() for title in ("min", "p50", "p90", "p99", "p99.9", "max", "mean", "variance"))
    assert "0.6667" in text  # of 1, 2, 3 us
    assert text.index("every end is a process of its own") > text.index("baton")


SHOWN = {"hand_over_ns": "hand-over", "fill_ns": "with fill", "construct_ns": "with construction"}


def run_by_three_clocks(**changes) -> dict:
    """11 us by hand-over, 222 with fill, 3333 with construction, 44444 until every byte was read."""
    run = run_of([11] * 3, **changes) | {"experiment": "run"}
    run["processes"][1]["samples"] |= {"fill_ns": [222_000] * 3, "construct_ns": [3_333_000] * 3}
    run["processes"][1]["samples"]["read_ns"] = [44_433_000] * 3
    return run


def numbers_of(text: str) -> set[str]:
    return {"11.0", "222.0", "3333", "44444"} & set(re.findall(r"[\d.]+", text))


def recorded(path: Path, runs: list[dict]) -> Path:
    recording.Writer(path, [peer()])
    for run in runs:
        recording.append(path, run)
    return path


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], ["hand-over"]),
        (["--clock", "hand-over"], ["hand-over"]),
        (["--clock", "fill"], ["with fill"]),
        (["--clock", "construction", "--clock", "fill", "--clock", "fill"], ["with construction", "with fill"]),
        (["--read"], ["with reading"]),
        (["--read", "--clock", "fill"], ["with fill"]),
    ],
)
def test_a_comparison_shows_the_clocks_that_were_asked_for_and_says_which(tmp_path, monkeypatch, options, shown):
    monkeypatch.setattr(peers, "built", lambda: {"baton": peer()})
    monkeypatch.setattr(session, "perform", lambda *_: {"processes": run_by_three_clocks()["processes"]})
    result = invoke("run", "-b", "4K", "--rounds", "1", "-o", str(tmp_path / "run.gz"), *options)
    assert result.exit_code == 0, result.output
    titles = [line.strip() for line in result.output.splitlines() if line.strip().startswith("4 KB 1p1s,")]
    assert titles == [f"4 KB 1p1s, {word}" for word in shown]
    times = {"hand-over": "11.0", "with fill": "222.0", "with construction": "3333", "with reading": "44444"}
    assert numbers_of(result.output) == {times[word] for word in shown}
    assert all(f"latency in us ({word}: " in result.output for word in shown)


def test_a_clock_that_does_not_exist_is_an_error_that_lists_those_that_do():
    result = invoke("run", "--clock", "cuckoo")
    assert result.exit_code != 0 and all(name in result.output for name in CLOCKS)


@pytest.mark.parametrize("clock", ["fill_ns", "construct_ns", "round_trip_ns"])
def test_a_transport_without_a_clock_is_named_and_gets_no_other_clock(clock):
    lacking = run_by_three_clocks(peer="sundial")
    lacking["processes"][1]["samples"].pop(clock, None)
    having = run_by_three_clocks()
    having["processes"][0]["samples"]["round_trip_ns"] = [3_333_000]
    output = io.StringIO()
    tables.print_summary(Console(file=output, width=160), [having, lacking], clock)
    (line,) = [line for line in output.getvalue().splitlines() if "sundial" in line]
    assert f"no times of the clock '{tables.clock_word(clock)}'" in line and not numbers_of(line)
    assert len(numbers_of(output.getvalue())) == 1


@pytest.mark.parametrize("clocks", [["fill"], ["construction", "hand-over"], ["hand-over", "fill", "construction"]])
def test_a_report_draws_a_recording_by_each_clock_that_was_asked_for(tmp_path, clocks):
    cells = [Cell(bytes=b) for b in (64, 4096)]
    runs = [run_by_three_clocks(peer=p, cell=c, round=r) for p in ("baton", "tcp") for c in cells for r in range(2)]
    page = tmp_path / "report.html"
    options = [word for clock in clocks for word in ("--clock", clock)]
    result = invoke("report", str(recorded(tmp_path / "r.gz", runs)), "-o", str(page), *options)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    shown = [SHOWN[CLOCKS[clock]] for clock in clocks]
    for word in SHOWN.values():
        assert (f"Latency in µs, {word}: " in text) == (word in shown)  # the table
        assert text.count(f">µs, {word}<") == (3 if word in shown else 0)  # lines, and boxes of each size
        assert (f"in µs ({word})" in text) == (word in shown)  # the spread
    assert text.count("What one process used") == 1 and text.count(">µs CPU per message") == len(cells)  # no clock's


def test_a_report_names_the_peers_without_the_clock_and_draws_the_others(tmp_path):
    lacking = run_by_three_clocks(peer="sun<dial")
    del lacking["processes"][1]["samples"]["fill_ns"]
    for name, runs, tables_of_latency in (("all", [lacking], 0), ("one", [run_by_three_clocks(), lacking], 1)):
        page = tmp_path / "report.html"
        result = invoke("report", str(recorded(tmp_path / name, runs)), "-o", str(page), "--clock", "fill")
        assert result.exit_code == 0, result.output
        text = page.read_text()
        assert "sun&lt;dial:v: it has no times of the clock 'with fill'" in text
        assert text.count("Latency in µs, with fill") == tables_of_latency


def test_the_report_of_a_comparison_shows_the_clock_that_its_table_showed(tmp_path):
    page = tmp_path / "report.html"
    path = recorded(tmp_path / "r.gz", [run_by_three_clocks(cell=Cell(read_all=True))])
    assert invoke("report", str(path), "-o", str(page)).exit_code == 0
    assert "Latency in µs, with reading" in page.read_text() and "<td>44444</td>" in page.read_text()


def test_losses_and_negative_times_of_bare_are_explained():
    assert "bare is no transport" in printed([run_of([-0.3, 5], peer="bare", sent=3)], 140)
    assert "bare is no transport" not in printed([run_of([1, 5], sent=3)], 140)


@needs_programs
def test_the_list_of_peers_has_one_line_for_each_and_their_use_on_request():
    short, long = invoke("peers").output, invoke("peers", "-v").output
    for known in peers.built().values():
        assert sum(line.split()[:1] == [known.id] for line in short.splitlines()) == 1
        assert known.how.split()[0] in long
    assert len(short.splitlines()) <= len(peers.built()) + len(peers.absent()) + 6


def test_cells_that_differ_in_the_rate_only_have_tables_of_their_own():
    runs = [run_of([value] * 3) for value in (11, 222)]
    runs[1] = runs[1] | {"cell": runs[1]["cell"] | {"rate": 777}}
    titles = list(tables.grouped(runs))
    assert len(titles) == 2 and titles[1].endswith("777 Hz")
    assert list(tables.grouped(runs[:1])) == [tables.describe(tables.cell_of(runs[0]))]
