# SPDX-License-Identifier: Apache-2.0
"""baton.Recorder beside a process that does not behave: a program in place of baton_record says what a test wants."""

from __future__ import annotations

import json

import pytest
from baton_record import record_process
from baton_record.record_process import Recorder, RecordError

STATE = json.dumps(
    {
        "topics": [],
        "notes": [],
        "files": 1,
        "commands": 0,
        "paused": False,
        "failure": None,
        "last": False,
        **dict.fromkeys(
            (
                "written_messages",
                "written_bytes",
                "records_bytes",
                "direct_bytes",
                "queued_bytes",
                "kept_bytes",
                "snapshots",
                "free_bytes",
            ),
            0,
        ),
    }
)


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """Starts a Recorder whose process is this shell script."""
    started = []

    def start(script, **options):
        program = tmp_path / "baton_record"
        program.write_text(f"#!/bin/sh\necho '{STATE}'\n{script}")
        program.chmod(0o755)
        monkeypatch.setattr(record_process, "find_program", lambda: program)
        started.append(Recorder(tmp_path / "bag", ["/a"], **options))
        return started[-1]

    yield start
    for each in started:
        each.kill()


def test_a_recorder_that_is_killed_within_a_line_has_ended(recorder):
    recording = recorder("read command\nprintf '{\"last\": fal'\nkill -9 $$\n")
    recording._tell("go")
    recording._threads[0].join(120)
    assert recording.wait(0)
    with pytest.raises(RecordError, match="ended with status -9: the bag is not finished"):
        recording.stop()


def test_a_callback_that_raises_does_not_stop_the_recorder(recorder, caplog):
    """More lines than a pipe holds, of which the first are no UTF-8."""
    script = "read command\nprintf '\\377\\n' >&2\nyes 'warning: a line for people' | head -n 20000 >&2\n"
    said = []

    def raises(line):
        said.append(line)
        raise ZeroDivisionError(line)

    recording = recorder(script, on_diagnostic=raises)
    recording._tell("go")
    recording._threads[1].join(120)
    assert not recording._threads[1].is_alive() and len(said) == 20_001 and said[0] == "\N{REPLACEMENT CHARACTER}"
    recording._threads[0].join(120)
    assert recording.wait(0) and "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.0])
@pytest.mark.parametrize("name", ["max_duration_s", "snapshot_s", "interval_s"])
def test_numbers_without_meaning_are_refused(recorder, name, number):
    with pytest.raises(RecordError, match=f"{name} is a number above 0, not {number}"):
        recorder("", **{name: number})


def test_short_durations_are_not_rounded_to_none(recorder, tmp_path):
    recorder(f'echo "$@" > {tmp_path}/words', snapshot_s=1e-10, interval_s=1e-10).stop()
    words = (tmp_path / "words").read_text().split()
    assert (words[words.index("--snapshot") + 1], words[words.index("--interval") + 1]) == ("1", "1")
