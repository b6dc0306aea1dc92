# SPDX-License-Identifier: Apache-2.0
"""The output of `baton perf record`. These tests do not judge its figures: nightly does."""

from __future__ import annotations

import pytest
from baton_perf import accept, record, record_ends
from baton_perf.verbs.perf import command
from click.testing import CliRunner

needs_program = pytest.mark.skipif(
    record_ends.find(record_ends.PROGRAM, "bin") is None, reason="no baton_record: make build-lab"
)


def rows(done):
    return [row for line in done.output.splitlines() if (row := accept.printed_row("record", line))]


@needs_program
def test_each_bar_of_recording_has_a_verdict(tmp_path):
    words = ["--topics", "1", "--rounds", "1", "--megabytes", "20", "--seconds", "0.2"]
    done = CliRunner().invoke(command, ["record", "--folder", str(tmp_path), *words])
    assert done.exit_code in (0, 1), done.output
    found = rows(done)
    direct = [row for row in found if "--direct" in row.what]  # none in memory
    replayed = [row for row in found if row.what.startswith("replay")]
    rest = [row for row in found if "copies" not in row.what and row not in direct + replayed]
    assert [row.unit for row in replayed] == ["x", " us"] and all(row.value.middle > 0 for row in replayed), done.output
    assert [row.unit for row in rest] == ["x", "", "x"] and all(row.value.middle > 0 for row in direct), done.output
    assert "1 camera, 6.2 MB at 30 Hz" in rest[0].what and rest[0].value.middle > 0
    assert "MB/s; CPU" in rest[0].detail and "published at" in rest[1].detail and "MiB" in rest[1].detail
    assert not list(tmp_path.iterdir())  # bags and files are removed


@needs_program
def test_a_recording_at_its_rate_counts_its_messages(tmp_path):
    """Few and small messages, none of which waits for a disk."""
    said = record.at_rate(tmp_path, record_ends.Load(3, 1000, 100), 0.05)
    assert said["missing"] == 0 and said["hz"] > 0 and said["cpu"] > 0 and said["memory_mib"] > 1


@pytest.mark.parametrize(
    "words, code, said",
    [(["--topics", "7"], 2, "no load has 7 topics: 1, 2, 4, 100"), (["--megabytes", "1000000000"], 2, "MB free")],
)
def test_a_figure_that_cannot_be_measured_is_an_error_with_the_way_out(tmp_path, words, code, said):
    done = CliRunner().invoke(command, ["record", "--folder", str(tmp_path), *words])
    assert done.exit_code == code and said in done.output, done.output
