# SPDX-License-Identifier: Apache-2.0
"""The sentence and the table on top of a report."""

from __future__ import annotations

import json
import re

import click
import pytest
from baton_perf import headline
from baton_perf.peers import CHECKOUT
from baton_perf.runs import Cell
from recorded import run_of

FIELD = {
    "baton": {"64 B, 1": 12.0, "16 MB, 1": 30.0, "16 MB, 8": 200.0},
    "baton:serialized": {"16 MB, 1": 1.0},
    "bare:copies": {"64 B, 1": 1.0, "16 MB, 1": 1.0},
    "ring": {"64 B, 1": 8.0, "16 MB, 1": 4500.0},
    "iceoryx": {"64 B, 1": 15.0, "16 MB, 1": 45.0, "16 MB, 8": 180.0},
    "dds:default": {"64 B, 1": 100.0, "16 MB, 1": 90_000.0},
}


def test_the_sentence_compares_the_largest_message_with_the_fastest_and_the_middle_other_transport() -> None:
    assert headline.sentence(FIELD) == (
        "A message of 16 MB to one subscriber takes 30 µs with Baton and 45 µs with iceoryx, the fastest of 3 other transports "
        "(1.5 times Baton's); half of them take 4.5 ms (150 times Baton's) or longer. Baton's median is the lowest in 1 of 3 "
        "combinations of size and subscribers."
    )


def test_where_baton_is_slower_the_sentence_says_so() -> None:
    medians = {"baton": {"64 B, 1": 20.0}, "ring": {"64 B, 1": 8.0}}
    assert headline.sentence(medians) == (
        "A message of 64 B to one subscriber takes 20 µs with Baton and 8.0 µs with ring, the other transport (0.4 times Baton's)."
    )


def test_without_others_or_without_baton_nothing_is_compared() -> None:
    assert headline.sentence({"baton": {"4 MB, 8": 120.0}}) == (
        "A message of 4 MB to 8 subscribers takes 120 µs with Baton; nothing else was measured beside it."
    )
    alone = headline.sentence({"ring": {"64 B, 1": 8.0}, "dds": {"64 B, 1": 9.0}})
    assert (
        alone == "A message of 64 B to one subscriber takes 8.0 µs with ring, the fastest of 2; Baton was not measured."
    )
    assert headline.sentence({}) == "No run gave a result."


def test_the_sentence_is_about_a_cell_that_baton_has_with_others() -> None:
    medians = {"baton": {"64 B, 1": 12.0}, "ring": {"64 B, 1": 8.0, "16 MB, 1": 4500.0}}
    assert headline.sentence(medians).startswith("A message of 64 B")


def test_the_limit_of_the_machine_and_variants_of_baton_are_no_other_transports() -> None:
    assert headline.fastest_in(FIELD) == (3, 1)
    assert headline.fastest_in({"baton": {"64 B, 1": 12.0}, "bare": {"64 B, 1": 1.0}}) == (0, 0)


def test_the_table_has_a_row_for_each_peer_with_baton_first_and_the_fastest_next() -> None:
    rows = re.findall(r"<tr(?: class=\"own\")?><th>([\w]+)(?:<small>(\w+)</small>)?</th>", headline.table(FIELD))
    assert rows[0] == ("Baton", "") and rows[3:] == [("iceoryx", ""), ("ring", ""), ("dds", "default")]


def test_the_table_shows_four_columns_at_most_and_a_dash_for_missing_figures() -> None:
    cells = [f"{size}, {count}" for size in ("64 B", "4 KB", "64 KB", "1 MB", "16 MB") for count in (1, 8)]
    medians = {"baton": dict.fromkeys(cells, 10.0), "ring": dict.fromkeys(cells[:-1], 20.0)}
    assert headline.columns_of(medians) == ["64 B, 1", "64 KB, 1", "16 MB, 1", "16 MB, 8"]
    table = headline.table(medians)
    assert table.count("<td") == 8 and table.count("&ndash;") == 1
    assert "<th>16 MB<small>to 8</small></th>" in table


def test_a_bar_is_longer_where_the_time_is() -> None:
    shares = [
        int(share)
        for share in re.findall(r"--share:(\d+)%", headline.table({"a": {"64 B, 1": 1.0}, "b": {"64 B, 1": 100.0}}))
    ]
    assert shares == [4, 100]


@pytest.mark.parametrize(
    ("microseconds", "words"),
    [(0.84, "0.8 µs"), (31.4, "31 µs"), (999.4, "999 µs"), (999.6, "1.0 ms"), (4530, "4.5 ms"), (2.5e6, "2.5 s")],
)
def test_durations_have_two_or_three_digits_and_a_unit(microseconds, words) -> None:
    assert headline.duration(microseconds) == words


def test_medians_are_of_rounds_and_cells_that_differ_in_more_than_size_and_subscribers_are_not_mixed() -> None:
    runs = [run_of([n, n, 900], round=n) for n in (10, 20, 60)]
    runs += [run_of([5000], cell=Cell(pinned=True))]
    assert headline.medians_of(runs, "hand_over_ns") == {"baton": {"64 B, 1": 20.0}}


def test_the_medians_of_a_recording_are_those_that_its_summary_has() -> None:
    """scripts/make_results.py fills the documents' tables, and a report of the same recording must not differ."""
    import sys

    sys.path.insert(0, str(CHECKOUT / "scripts"))
    import make_results
    from baton_perf import figures, recording, tables
    from baton_perf.runs import size_text

    runs = [run_of([n, 2 * n], peer=peer, round=n) for peer in ("baton", "ring") for n in (10, 20, 60)]
    summary = make_results.summarise(recording.Recording({}, runs), figures, tables, size_text)
    assert headline.medians_of(runs, "hand_over_ns") == summary["medians"]["field"]


def test_a_file_that_is_neither_recording_nor_summary_is_refused_by_name(tmp_path) -> None:
    for name, text in (("a.json", json.dumps({"header": {}})), ("b.json", "{"), ("c.txt", "hello")):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(click.ClickException, match=name):
            headline.load(path)
