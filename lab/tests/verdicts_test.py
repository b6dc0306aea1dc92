# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: criteria and their verdicts."""

from __future__ import annotations

from dataclasses import asdict

import click
import pytest
from baton_perf import (
    accept,
    figures,
    recording,
    verdicts,
)
from recorded import field_runs, invoke, peer, verdicts_of


def test_a_comparison_passes_on_its_interval_and_fails_beyond(two_peers):
    assert all(row.passed for row in verdicts_of(field_runs(10, 100)))
    assert not any(row.passed for row in verdicts_of(field_runs(100, 10)))
    nearly = field_runs(
        100, 100
    )  # the median ratio is about 1, the interval reaches beyond 1.05 only if rounds differ so much
    assert all(row.passed for row in verdicts_of(nearly, bar=1.05)) and not any(
        row.passed for row in verdicts_of(nearly, bar=0.99)
    )


def test_a_comparison_may_judge_another_side_than_baton(two_peers):
    own = {"own": "slow", "peers": ["baton"]}
    assert all(row.passed for row in verdicts_of(field_runs(100, 10), **own))
    assert not any(row.passed for row in verdicts_of(field_runs(10, 100), **own))
    rows = verdicts_of(field_runs(10, 100), own="absent", peers=["baton"])
    assert [row.passed for row in rows] == [None] and "absent is not built" in rows[0].detail


def test_a_peer_that_is_not_built_is_named_and_the_others_are_compared(two_peers):
    rows = verdicts_of(field_runs(10, 100), peers=["slow", "absent:poll"])
    missing = [row for row in rows if row.passed is None]
    assert [row.detail for row in missing] == ["peer absent:poll is not built here: make peers"]
    assert len(rows) > 1 and all(row.passed for row in rows if row not in missing)


def test_named_peers_are_measured_beside_baton(two_peers):
    criterion = {
        "id": "some",
        "kind": "peers",
        "experiment": "spin",
        "peers": ["slow"],
        "metric": "hand_over",
        "bar": 1,
    }
    assert {job.name() for job in accept.plan([criterion], 1, "quick")} == {"baton", "slow"}


def test_every_criterion_of_the_file_can_be_planned(two_peers):
    jobs = accept.plan(accept.load(), 1, "quick")
    assert {"baton", "slow"} <= {job.name() for job in jobs}


def test_a_criterion_without_figures_does_not_pass(two_peers):
    runs = [run for run in field_runs(10, 100) if run["peer"] == "baton"]
    rows = verdicts_of(runs)
    assert rows and all(row.passed is None for row in rows)


@pytest.mark.parametrize("gap", ["  ", " "], ids=["a short name", "a name that fills its column"])
def test_a_printed_verdict_becomes_a_row_even_if_its_name_is_long(gap):
    row = accept.printed_row(
        "scale", f"PASS  scale: 200 processes, 16 MB - 64 B{gap}-2.5 s [-2.6, 2.4]  bar <= 10 s  (why (not))"
    )
    assert (row.what, row.unit, row.bar, row.passed) == ("scale: 200 processes, 16 MB - 64 B", " s", "10 s", True)
    assert (row.value.middle, row.value.low, row.value.high, row.detail) == (-2.5, -2.6, 2.4, "why (not)")
    assert accept.printed_row("scale", "FAIL  it did not start").passed is False
    assert accept.printed_row("scale", "a line of another kind") is None


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
    text = verdicts.markdown(rows, header, [])
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
