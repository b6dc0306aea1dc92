# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: statistics, recordings, schedules, criteria and reports; with real runs where the programs are built."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import click
import numpy
import pytest
from baton_cli.main import baton
from baton_cli.perf import (
    accept,
    figures,
    peers,
    performance_test,
    plots,
    recording,
    report,
    report_tables,
    session,
    tables,
    verdicts,
)
from baton_cli.perf.experiments import CLOCKS, EXPERIMENTS
from baton_cli.perf.peers import Peer
from baton_cli.perf.runs import Cell, RunFailed, perform
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

BUILT = peers.program_folder() is not None
needs_programs = pytest.mark.skipif(not BUILT, reason="the release build is not there: make build")


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
    usage |= dict(rss_kb=1000, pss_kb=900, shared_kb=800, copies=0, copied_bytes=0)
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


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a machine may be busy
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_the_interval_of_a_median_contains_it_and_shrinks_only_as_far_as_95_percent_allow(values):
    interval = figures.median_interval(values)
    assert min(values) <= interval.low <= interval.middle <= interval.high <= max(values)
    n, ordered = len(values), sorted(values)
    cut = max(k for k in range(n) if ordered[k] == interval.low)
    if len(set(values)) == n and n >= 6:
        outside = sum(math.comb(n, k) for k in range(cut + 1)) / 2**n
        assert outside <= 0.025
        assert sum(math.comb(n, k) for k in range(cut + 2)) / 2**n > 0.025, "one narrower would still have 95 %"


def test_the_interval_covers_the_true_median_as_often_as_it_says():
    random = numpy.random.default_rng(7)
    hits = 0
    for _ in range(2000):
        interval = figures.median_interval(random.lognormal(0, 1, 10))
        hits += interval.low <= 1.0 <= interval.high  # the median of this distribution
    assert hits >= 0.95 * 2000


def test_losses_are_counted_per_subscriber_and_repeated_messages_count_once():
    run = run_of([1, 1, 1, 1], sequences=[0, 1, 1, 3], sent=5)
    assert figures.lost(run) == 2  # 2 and 4


def test_a_run_in_which_nothing_arrived_has_no_figure_instead_of_a_wrong_one():
    assert figures.metric(run_of([], sent=5), "hand_over") is None
    assert figures.metric({"error": "it died"}, "hand_over") is None


def test_the_gap_is_between_the_first_and_the_last_subscriber_of_each_message():
    run = run_of([10, 10, 10])
    late = json.loads(json.dumps(run["processes"][1]))
    late["index"] = 1
    late["samples"]["hand_over_ns"] = [15_000, 25_000, 17_000]
    run["processes"].append(late)
    assert figures.subscriber_gap(run) == 7_000


def test_a_recording_is_read_back_and_an_interrupted_one_is_whole_up_to_its_last_run(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    writer = recording.Writer(path, [peer()])
    for round in range(3):
        writer.add("field", peer(), "loan", round, Cell(), {"processes": run_of([5])["processes"]})
    read = recording.Recording.load(path)
    assert [run["round"] for run in read.runs] == [0, 1, 2]
    assert Cell(**read.runs[0]["cell"]) == Cell()
    assert {"cpu", "kernel", "governor", "cpus"} <= read.header["machine"].keys()
    assert {"commit", "modified"} <= read.header["build"].keys()


def test_a_new_recording_destroys_none_of_the_older_ones_and_says_where_they_are(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    contents = []
    for n in range(3):
        output = io.StringIO()
        session.run([], path, Console(file=output, width=20))
        contents.append(path.read_bytes())
        assert (f"r.jsonl.gz.{n}" in output.getvalue()) == (n > 0)
    assert [(tmp_path / f"r.jsonl.gz.{n}").read_bytes() for n in (1, 2)] == contents[:2]


def test_a_resumed_recording_keeps_its_runs_and_only_what_it_lacks_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "build", lambda: {"commit": "1234", "modified": False})
    path = tmp_path / "r.jsonl.gz"
    jobs = session.schedule("field", [Cell(bytes=64), Cell(bytes=128)], [(peer(), "loan")], 2)
    writer = recording.Writer(path, [peer()])
    for job in jobs[:3]:
        writer.add(job.experiment, job.peer, job.variant, job.round, job.cell, {"processes": []})
    recording.Writer(path, [peer()], resume=True)
    kept = recording.Recording.load(path)
    assert len(kept.runs) == 3
    assert session.missing(jobs, kept) == jobs[3:]


@pytest.mark.parametrize("now", [{"commit": "5678", "modified": False}, {"commit": "1234", "modified": True}])
def test_a_recording_of_another_build_is_not_resumed(tmp_path, monkeypatch, now):
    path = tmp_path / "r.jsonl.gz"
    monkeypatch.setattr(recording, "build", lambda: {"commit": "1234", "modified": False})
    recording.Writer(path, [])
    monkeypatch.setattr(recording, "build", lambda: now)
    with pytest.raises(click.ClickException, match="measure anew"):
        recording.Writer(path, [], resume=True)


@pytest.mark.parametrize(
    "content", [b"", b"not gzip", gzip.compress(b"not json\n"), gzip.compress(b'{"format": 99}\n')]
)
def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path, content):
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    with pytest.raises(click.ClickException, match=r"x\.gz is no recording"):
        recording.Recording.load(path)


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
def test_a_transport_without_a_clock_is_said_to_have_none_and_gets_no_other(clock):
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
        assert text.count(f">µs, {word}<") == (2 if word in shown else 0)  # lines and boxes
        assert (f"in µs ({word})" in text) == (word in shown)  # the spread
    assert text.count("What one process used") == text.count("µs CPU per message") == 1  # no clock's


def test_a_report_names_who_has_no_such_clock_and_draws_the_others(tmp_path):
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


def test_what_bare_loses_and_its_negative_times_are_explained():
    assert "bare is no transport" in printed([run_of([-0.3, 5], peer="bare", sent=3)], 140)
    assert "bare is no transport" not in printed([run_of([1, 5], sent=3)], 140)


@needs_programs
def test_the_list_of_peers_has_one_line_for_each_and_their_use_on_request():
    short, long = invoke("peers").output, invoke("peers", "-v").output
    for known in peers.built().values():
        assert sum(line.split()[:1] == [known.id] for line in short.splitlines()) == 1
        assert known.how.split()[0] in long
    assert len(short.splitlines()) <= len(peers.built()) + len(peers.absent()) + 6


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


def test_what_a_peer_cannot_do_is_not_scheduled():
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
    warm_up, start = 15, 0.5  # messages of perf/runner/runner.cpp; seconds in which processes start and end
    for e in EXPERIMENTS.values():
        transports = 24 if "all" in e.peers else len(e.peers) + 5  # some have several variants
        planned = sum((cell.messages + warm_up) / cell.rate + start for cell in e.cells("quick"))
        assert planned * transports * e.rounds[0] <= 120, f"{e.id}: {planned * transports:.0f} s"


def field_runs(own: float, other: float, rounds: int = 10) -> list[dict]:
    runs = []
    for cell in EXPERIMENTS["field"].cells("quick"):
        for round in range(rounds):
            runs.append(run_of([own + round % 3] * 5, round=round, cell=cell))
            runs.append(run_of([other + round % 2] * 5, peer="slow", round=round, cell=cell))
    return runs


@pytest.fixture
def two_peers(monkeypatch):
    known = {"baton": peer(), "slow": peer("slow", ("v",))}
    monkeypatch.setattr(peers, "built", lambda: known)


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


def test_a_comparison_passes_on_its_interval_and_fails_beyond(two_peers):
    assert all(row.passed for row in verdicts_of(field_runs(10, 100)))
    assert not any(row.passed for row in verdicts_of(field_runs(100, 10)))
    nearly = field_runs(
        100, 100
    )  # the median ratio is about 1, the interval reaches beyond 1.05 only if rounds differ so much
    assert all(row.passed for row in verdicts_of(nearly, bar=1.05)) and not any(
        row.passed for row in verdicts_of(nearly, bar=0.99)
    )


def test_another_side_than_baton_may_be_the_one_that_has_to_pass(two_peers):
    own = {"own": "slow", "peers": ["baton"]}
    assert all(row.passed for row in verdicts_of(field_runs(100, 10), **own))
    assert not any(row.passed for row in verdicts_of(field_runs(10, 100), **own))
    rows = verdicts_of(field_runs(10, 100), own="absent", peers=["baton"])
    assert [row.passed for row in rows] == [None] and "absent is not built" in rows[0].detail


def test_what_was_not_measured_does_not_pass(two_peers):
    runs = [run for run in field_runs(10, 100) if run["peer"] == "baton"]
    rows = verdicts_of(runs)
    assert rows and all(row.passed is None for row in rows)


def test_overlapping_intervals_are_not_worse(two_peers):
    assert all(row.passed for row in verdicts_of(field_runs(10, 10.5), not_worse=True))
    assert not any(row.passed for row in verdicts_of(field_runs(50, 10), not_worse=True))


def test_the_help_of_accept_names_every_criterion():
    text = invoke("accept", "--help").output
    assert all(c["id"] in text for c in accept.load())


def test_the_verdicts_in_a_recording_are_the_last_that_were_given_and_no_runs(tmp_path, two_peers):
    path = tmp_path / "r.gz"
    recording.Writer(path, [peer()])
    rows = verdicts_of(field_runs(10, 100))
    recording.append(path, {"verdicts": []})
    recording.append(path, {"verdicts": [asdict(row) for row in rows]})
    read = recording.Recording.load(path)
    assert read.runs == [] and [verdicts.Row.load(row) for row in read.verdicts] == rows


def test_markdown_groups_the_field_by_criterion_and_peer_and_names_the_worst_cell(two_peers):
    runs = field_runs(10, 100)
    for run in runs:  # one cell of three is slower than the other's
        if run["cell"]["bytes"] == 4 << 20 and run["peer"] == "baton":
            run["processes"][1]["samples"]["hand_over_ns"] = [400_000] * 5
    rows = verdicts_of(runs) + [
        verdicts.Row("trosb", "faults | switches", figures.Interval(0.0003, 0, 1, 6), "x", "1x", False)
    ]
    header = {"command": "c", "machine": recording.machine(), "build": recording.build()}
    text = verdicts.markdown(rows, header)
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()]
    worst = next(row for row in rows if row.passed is False)
    assert ["c", "slow", "2", "1", "0", worst.measured(), "4 MB 1p1s"] in lines and worst.value.middle > 3
    assert ["FAIL", "trosb", "faults \\| switches", "0.0003 [0, 1]x  (1/3333)", "1x"] in lines


def test_small_and_large_ratios_are_printed_without_exponents():
    assert str(figures.Interval(2.97e-5, 0.0, 123456.0, 6)) == "0.0000297 [0, 123000]"


def test_the_projects_criteria_are_sound():
    criteria = accept.load()
    assert len({c["id"] for c in criteria}) == len(criteria)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[[criterion]]\nid="x"\nkind="ratio"\nmetric="hand_over"\nbar=1\ncell={}\na={peer="baton"}', "lacks b"),
        ('[[criterion]]\nid="x"\nkind="guess"', "kind 'guess'"),
        ('[[criterion]]\nid="x"\nkind="value"\nmetric="speed"\nbar=1\ncell={}\na={peer="baton"}', "no metric 'speed'"),
        (
            '[[criterion]]\nid="x"\nkind="value"\nmetric="cpu"\nbar=1\ncell={size=4}\na={peer="baton"}',
            "unknown fields size",
        ),
        ('[[criterion]]\nid="x"\nkind="program"\nprogram="p"\nbars=3', "unknown keys bars"),
        ("criterion = 3 4", "criteria.toml"),
    ],
)
def test_a_mistake_in_the_criteria_is_named(tmp_path, text, complaint):
    path = tmp_path / "criteria.toml"
    path.write_text(text)
    with pytest.raises(click.ClickException, match=complaint):
        accept.load(path)


def test_the_report_is_one_file_that_shows_every_peer_and_asks_for_nothing_from_elsewhere(tmp_path, two_peers):
    header = {
        "command": "baton perf <x>",
        "started": 0,
        "machine": recording.machine(),
        "build": recording.build(),
        "peers": {
            "baton": {"name": "Baton", "version": "1", "how": "loans"},
            "slow": {"name": "s", "version": "", "how": ""},
        },
    }
    runs = field_runs(10, 100, rounds=2) + [run_of([], sent=3, peer="dead") | {"error": "it <died>"}]
    out = tmp_path / "report.html"
    report.write_report([(tmp_path / "r", recording.Recording(header, runs))], out)
    page = out.read_text()
    assert page.count("<svg") >= 2 and "slow" in page and "1 without result" in page
    assert "baton perf &lt;x&gt;" in page and "it <died>" not in page
    assert 'src="http' not in page and 'href="http' not in page


def test_the_page_of_an_acceptance_shows_its_verdicts_as_the_terminal_does(tmp_path, two_peers):
    header = {
        "command": "baton perf accept",
        "started": 0,
        "machine": recording.machine(),
        "build": recording.build(),
        "peers": {},
    }
    rows = verdicts_of(field_runs(100, 10)) + [
        verdicts.Row("lot-flat", "flat", figures.Interval(1, 1, 1, 6), "x", "1.1x", True)
    ]
    made = recording.Recording(header, field_runs(100, 10), [asdict(row) for row in rows])
    report.write_report([(tmp_path / "r", made)], tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    output = io.StringIO()
    verdicts.show(rows, Console(file=output, width=200), brief=False)
    assert verdicts.count(rows) in page and verdicts.count(rows) in output.getvalue()
    failed = [line for line in output.getvalue().splitlines() if line.split()[:1] == ["FAIL"]]
    assert page.count(">FAIL<") == len(failed) == len(rows) - 1
    for row in rows:
        assert row.measured() in page and row.measured() in output.getvalue()


def view_of(runs, id="field") -> report.View:
    return report.View(EXPERIMENTS[id], runs)


def test_cpu_bars_draw_pinned_and_unpinned_runs_apart_with_baton_on_top():
    cells = [Cell(bytes=b << 20, pinned=p) for b in (1, 4) for p in (False, True)]
    drawn = plots.cpu_bars(view_of([run_of([5], peer=name, cell=c) for c in cells for name in ("baton", "tcp")]))
    assert len(drawn) == 2
    assert sorted("not pinned" in text for text in drawn) == [False, True]
    for text in drawn:  # SVG's y grows downward
        height = {name: float(re.search(rf'y="([\d.]+)"[^>]*>{name}[:<]', text)[1]) for name in ("baton", "tcp")}
        assert height["baton"] < height["tcp"]


def test_many_peers_stand_by_name_in_a_box_plot_of_their_own_rows_the_fastest_on_top():
    (drawn,) = plots.boxes_over_size(view_of([run_of([2 + n, 3 + n], peer=f"peer{20 - n}") for n in range(20)]))
    heights = [float(re.search(rf'y="([\d.]+)"[^>]*>peer{20 - n}[:<]', drawn)[1]) for n in range(20)]
    assert heights == sorted(heights)


def test_what_shares_a_color_differs_in_its_stroke():
    view = view_of([run_of([5], peer=f"peer{n:02}") for n in range(40)])
    assert len({(view.color(name), view.stroke(name)) for name in view.names}) == 40


def test_one_size_gets_no_line_over_sizes_and_no_title_names_what_does_not_differ():
    one = view_of([run_of([5, 6])])
    assert plots.lines_over_size(one) == []
    assert "plain" not in plots.boxes_over_size(one)[0] and "pinned" not in plots.boxes_over_size(one)[0]
    two = view_of([run_of([5, 6], cell=Cell(load=x)) for x in (0.0, 0.9)])
    assert ["load 0%" in t for t in plots.boxes_over_size(two)] == [True, False]


def test_the_trosb_page_begins_with_costs_beside_batons_and_its_usage_has_words_and_units():
    runs = [
        run_of([10], cell=Cell(message="Array4m")),
        run_of([250], peer="ros", cell=Cell(message="Array4m"), cpu_us=900),
    ]
    first = report.drawing(EXPERIMENTS["trosb"].figures[0])(view_of(runs, "trosb"))[0]
    assert "250.0 (25x)" in first and "1800 (9x)" in first
    usage = report_tables.usage_table(view_of(runs, "trosb"))[0]
    assert "user CPU, ms" in usage and "_us" not in usage and "_kb" not in usage


def test_usage_has_a_row_for_each_role_of_each_peer_with_medians_over_rounds():
    runs = [run_of([10], peer=name, round=r, cpu_us=1000 * (r + 1)) for name in ("baton", "slow") for r in range(3)]
    for run in runs:
        run["processes"][0]["usage"] = run["processes"][0]["usage"] | {"utime_us": 7000}
    (usage,) = report_tables.usage_table(view_of(runs))
    for role, ms in (("publisher", "7.0"), ("subscriber", "2.0")):
        for peer in ("baton", "slow:v"):
            assert f'<td class="text">{peer}</td><td class="text">each {role}</td><td>{ms}</td>' in usage
    assert usage.count("<tr>") == 1 + 4


def test_lots_table_1_names_what_is_not_measured_and_why():
    (table,) = report_tables.lot_table1(view_of([run_of([10], cpu_us=1_500_000)], "lot-table1"))
    assert "spin time" in table and table.count("not measured") == 2 and "<td>3.00</td>" in table
    assert "VTune" in EXPERIMENTS["lot-table1"].note and "spin time" in EXPERIMENTS["lot-table1"].note


def test_every_page_says_how_far_the_rounds_lie_apart(tmp_path):
    for id in EXPERIMENTS:
        cell = EXPERIMENTS[id].cells("quick")[0]
        runs = [run_of([10 + 5 * r] * 3, round=r, cell=cell) | {"experiment": id} for r in range(2)]
        for run in runs:
            run["timeline"] = [{"t": t / 10, "cpu_ns": [t * 1000, t * 500]} for t in range(5)]
            run["processes"][0]["samples"]["round_trip_ns"] = run["processes"][1]["samples"]["hand_over_ns"]
        header = {"command": "", "started": 0, "machine": recording.machine(), "build": recording.build(), "peers": {}}
        out = tmp_path / "report.html"
        report.write_report([(tmp_path / "r", recording.Recording(header, runs))], out)
        assert "<td>10.0</td><td>12.5</td><td>15.0</td><td>1.50</td>" in out.read_text(), id


@pytest.mark.parametrize("id", [e for e in EXPERIMENTS])
def test_every_experiments_figures_can_be_drawn(tmp_path, id):
    runs = []
    for cell in EXPERIMENTS[id].cells("quick"):
        for name in ("baton", "other"):
            run = run_of([10, 12, 11], peer=name, cell=cell) | {"experiment": id}
            run["timeline"] = [{"t": t / 10, "cpu_ns": [t * 1000, t * 500]} for t in range(5)]
            run["processes"][0]["samples"]["round_trip_ns"] = [20_000, 21_000]
            runs.append(run)
    view = report.View(EXPERIMENTS[id], runs)
    for figure in EXPERIMENTS[id].figures:
        assert all(text.startswith(("<svg", "<p>", "<div", "<details")) for text in report.drawing(figure)(view))


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        ("Array4m", None, ("Array4m", 4 << 20)),
        ("PointCloud512k", None, ("PointCloud2", 512 << 10)),
        ("UnboundedSequence", 5000, ("Image", 5000)),
        ("Struct256", None, ("Struct256", 320)),
    ],
)
def test_performance_tests_message_names_mean_what_they_say(name, size, expected):
    assert performance_test.message_and_bytes(name, size) == expected


def invoke(*arguments: str):
    return CliRunner().invoke(baton, ["perf", *arguments])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["-m", "Array3k"], "no message 'Array3k'"),
        (["--with-security", "-m", "Array1k"], "no encryption"),
        (["--check-memory", "-m", "Array1k"], "not available"),
        (["-m", "Array1k", "-p", "0", "-s", "0"], "no publisher and no subscriber"),
        (["-m", "Array1k", "--unbounded-msg-size", "5000"], "has its size in its name"),
        (["-r", "5", "peers"], "does not belong before 'peers'"),
        (["run", "-b", "12"], "at least 64 bytes"),
        (["run", "-b", "big"], "is no size"),
        (["experiment", "tzc-fig99"], "no experiment 'tzc-fig99'"),
        (["accept", "nothing"], "no criterion 'nothing'"),
    ],
)
@needs_programs
def test_a_wrong_option_is_named_with_the_way_out(arguments, complaint):
    result = invoke(*arguments)
    assert result.exit_code != 0 and complaint in result.output


@needs_programs
def test_an_unknown_peer_is_an_error_that_lists_the_known():
    result = invoke("run", "-p", "telepathy")
    assert result.exit_code != 0 and "telepathy" in result.output and "baton" in result.output


@needs_programs
@pytest.mark.parametrize("changes", [{}, {"subscribers": 3}, {"publishers": 3}, {"round_trip": True}, {"read_all": True}, {"one_process": True}, {"varying": True}, {"rate": 0}])  # fmt: skip
def test_a_run_over_baton_loses_and_tears_nothing(changes):
    cell = replace(Cell(bytes=65536, message="Image", messages=30, rate=200), **changes)
    own = peers.built()["baton"]
    run = perform(own, "loan", cell) | {"cell": asdict(cell)}
    assert figures.sent(run) == 30 * cell.publishers
    assert figures.lost(run) == 0
    assert all(s["torn"] == s["refused"] == 0 for s in figures.subscribers(run))
    columns = figures.subscribers(run)[0]["samples"]
    order = ("hand_over_ns", "fill_ns", "construct_ns")
    assert all(a <= b <= c for a, b, c in zip(*(columns[k] for k in order), strict=True)), (
        "the clocks start one after the other"
    )
    if cell.round_trip:
        assert len(figures.publishers(run)[0]["samples"]["round_trip_ns"]) == 30


def test_copies_are_not_counted_as_none_where_the_library_that_counts_them_is_missing(tmp_path):
    (tmp_path / "bin").mkdir()
    elsewhere = replace(peer(), program=tmp_path / "bin" / "baton_perf_baton")
    with pytest.raises(RunFailed, match="copies cannot be counted"):
        perform(elsewhere, "loan", Cell(count_copies=True))


@pytest.mark.parametrize(
    ("ends", "reason"),
    [
        ("echo 'no sample to loan'; exit 1", "^no sample to loan$"),
        ("kill -SEGV $$", "^a process was ended by SIGSEGV$"),
        ("exit 3", "^a process ended with 3$"),
    ],
)
def test_a_run_that_failed_says_why_and_not_how_the_others_ended(tmp_path, ends, reason):
    program = tmp_path / "baton_perf_baton"
    others = "sleep 0.5; echo 'it: another process of this run failed'; exit 1"
    program.write_text(f'#!/bin/bash\nif [ "$4" = publisher ]; then {ends}; fi\n{others}\n')
    program.chmod(0o755)
    with pytest.raises(RunFailed, match=reason):
        perform(replace(peer(), program=program), "loan", Cell(subscribers=4))


def may_make_namespaces() -> bool:
    return subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, check=False).returncode == 0


@needs_programs
@pytest.mark.skipif(not may_make_namespaces(), reason="this user may not make namespaces")
@pytest.mark.parametrize("isolation", ["container", "containers"])
def test_baton_works_between_containers_that_share_only_the_runs_directory(isolation):
    run = perform(peers.built()["baton"], "loan", Cell(bytes=65536, messages=20, rate=200, isolation=isolation))
    assert figures.lost(run) == 0


@needs_programs
@pytest.mark.parametrize("message", ["Image", "PointCloud2", "LaserScan", "Array64k", "Struct4k", "WayPoints", "Lidar"])
def test_every_message_type_travels_over_baton(message):
    bytes = {"Array64k": 65536, "Struct4k": 4160, "WayPoints": 144000, "Lidar": 1250000}.get(message, 100_000)
    cell = Cell(bytes=bytes, message=message, messages=5, rate=100)
    run = perform(peers.built()["baton"], "loan", cell) | {"cell": asdict(cell)}
    assert figures.lost(run) == 0


@needs_programs
def test_a_message_of_a_type_that_is_unknown_or_of_another_size_ends_the_run_with_a_reason():
    with pytest.raises(RunFailed, match="'Sonnet' is unknown"):
        perform(peers.built()["baton"], "loan", Cell(message="Sonnet", messages=1))
    with pytest.raises(RunFailed, match="payload of 65536 bytes"):
        perform(peers.built()["baton"], "loan", Cell(bytes=1000, message="Array64k", messages=1))


@needs_programs
def test_perf_test_prints_a_block_per_second_and_writes_the_originals_log(tmp_path):
    log, data = tmp_path / "l.csv", tmp_path / "l.json"
    line = "--zero-copy --reliable --keep-last --history-depth 10 -s 1 -m Array64k -r 100 --max-runtime 2".split()
    result = invoke(*line, "-t", "perf_test_of_the_tests", "-l", str(log), "--json-logfile", str(data))
    assert result.exit_code == 0, result.output
    assert result.output.count("T_experiment") == 2 and "Maximum runtime reached. Exiting." in result.output
    head, rows = log.read_text().split("---EXPERIMENT-START---\n")
    assert "zero_copy: True" in head and rows.startswith("T_experiment,T_loop,received,sent,lost")
    assert len(rows.splitlines()) == 3
    seconds = json.loads(data.read_text())["seconds"]
    assert sum(s["recv"] for s in seconds) > 100 and sum(s["lost"] for s in seconds) == 0


@needs_programs
def test_a_comparison_from_the_command_line_ends_in_a_table_and_a_report(tmp_path):
    out = tmp_path / "run.gz"
    result = invoke(
        "run", "-p", "baton", "-p", "unix_socket", "-b", "4K", "-n", "10", "-r", "200", "--rounds", "1", "-o", str(out)
    )
    assert result.exit_code == 0, result.output
    assert "unix_socket" in result.output
    rows = tables.summary_rows(recording.Recording.load(out).runs, "hand_over_ns")
    assert [row["lost"] for row in rows] == [0, 0]
    page = tmp_path / "r.html"
    assert invoke("report", str(out), "-o", str(page)).exit_code == 0 and page.stat().st_size > 10_000
