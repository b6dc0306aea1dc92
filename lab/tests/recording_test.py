# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: statistics and recordings."""

from __future__ import annotations

import gzip
import io
import json
import math
import subprocess

import click
import numpy
import pytest
from baton_perf import (
    figures,
    recording,
    session,
)
from baton_perf.runs import Cell
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorded import peer, run_of
from rich.console import Console


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


def test_an_installed_package_names_no_commit_and_needs_no_git(tmp_path, monkeypatch):
    commit = ["commit", "-q", "--allow-empty", "-m", "of another project"]
    author = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], [*author, *commit]):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    package = tmp_path / "lib"
    package.mkdir()
    monkeypatch.setattr(recording, "CHECKOUT", package)
    found = recording.build()
    assert (found["commit"], found["modified"]) == ("unknown", False)
    monkeypatch.setenv("PATH", str(package))
    assert recording.build() == found


def test_a_new_recording_destroys_none_of_the_older_ones_and_says_where_they_are(tmp_path):
    path = tmp_path / "r.jsonl.gz"
    contents = []
    for n in range(3):
        output = io.StringIO()
        session.run([], path, Console(file=output, width=20))
        contents.append(path.read_bytes())
        assert (f"r.jsonl.gz.{n}" in output.getvalue()) == (n > 0)
    assert [(tmp_path / f"r.jsonl.gz.{n}").read_bytes() for n in (1, 2)] == contents[:2]


def test_a_resumed_recording_keeps_its_runs_and_only_the_missing_ones_are_measured(tmp_path, monkeypatch):
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


def test_a_recording_of_another_machine_is_not_resumed(tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl.gz"
    monkeypatch.setattr(recording, "build", lambda: {"commit": "1234", "modified": False})
    recording.Writer(path, [])
    here = recording.machine()
    monkeypatch.setattr(recording, "machine", lambda: here | {"load_before": here["load_before"] + 1})
    recording.Writer(path, [], resume=True)
    monkeypatch.setattr(recording, "machine", lambda: here | {"cpu": "another one"})
    with pytest.raises(click.ClickException, match="on another machine .*another one"):
        recording.Writer(path, [], resume=True)


@pytest.mark.parametrize(
    "content",
    [b"", b"not gzip", gzip.compress(b"not json\n", mtime=0), gzip.compress(b'{"format": 99}\n', mtime=0)],
)
def test_a_file_that_is_no_recording_is_refused_by_name(tmp_path, content):
    path = tmp_path / "x.gz"
    path.write_bytes(content)
    with pytest.raises(click.ClickException, match=r"x\.gz is no recording"):
        recording.Recording.load(path)
