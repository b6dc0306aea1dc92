# SPDX-License-Identifier: Apache-2.0
"""`baton perf` as commands: two of them that meet, a series that is interrupted, an installed one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from baton_cli.main import baton
from baton_perf import peers, performance_test, runs, session
from baton_perf.experiments import EXPERIMENTS
from baton_perf.peers import BUILD, Peer
from baton_perf.recording import Recording
from click.testing import CliRunner
from support.processes import PIPE, Process

needs_programs = pytest.mark.skipif(peers.program_folder() is None, reason="build/lab is not there: make build-lab")
PATIENCE = 300  # seconds; a machine may be busy


class Command:
    """`baton perf` with a line of JSON per second."""

    def __init__(self, *arguments: str):
        options = ["-o", "json", "--keep-last", "--reliable", "-r", "100", *arguments]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.process = Process([sys.executable, "-m", "baton_cli", "perf", *options], env=environment, stderr=PIPE)

    def lines(self) -> list[dict]:
        """The output at its end."""
        try:
            return [json.loads(line) for line in self.process.ends(limit_s=PATIENCE)[0].splitlines()]
        finally:
            self.process.end()


@needs_programs
@pytest.mark.parametrize("communication", ["baton", "unix_socket"])
@pytest.mark.parametrize("first", ["-p", "-s"])
def test_the_time_of_two_commands_counts_from_when_they_meet(communication, first):
    second = {"-p": "-s", "-s": "-p"}[first]
    common = ["-c", communication, "-t", f"m{uuid.uuid4().hex[:8]}", "--max-runtime", "1"]
    early = Command(*common, first, "0")
    try:
        said = early.process.stderr.readline()
        assert "counting from the first message" in said
        time.sleep(2)  # it would be over by now if its time counted from its start
        assert early.process.poll() is None, early.process.stderr.read()
        late = Command(*common, second, "0").lines()
    except BaseException:
        early.process.end()
        raise
    heard, sent = (early.lines(), late) if first == "-p" else (late, early.lines())
    assert heard[0]["recv"] > 0
    assert sum(line["sent"] for line in sent) > 0
    assert all(line["lost"] == 0 for line in heard)


def test_the_last_command_of_a_topic_removes_the_place_where_they_met(tmp_path):
    place = tmp_path / "place"
    with performance_test.meeting_place(place):
        (place / "left behind").touch()
        with performance_test.meeting_place(place):
            pass
        assert place.is_dir()
    assert not place.exists()


@pytest.fixture
def one_peer(monkeypatch):
    known = Peer("baton", Path("baton"), "baton", "1", "", ("loan",), True, False, 64, 1 << 40)
    monkeypatch.setattr(peers, "built", lambda: {"baton": known})


def test_ctrl_c_ends_a_whole_series_and_keeps_its_runs(tmp_path, monkeypatch, one_peer):
    results = iter([{"error": "no such program"}, KeyboardInterrupt])

    def perform(*_):
        result = next(results)
        if result is KeyboardInterrupt:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(session, "perform", perform)
    done = CliRunner().invoke(baton, ["perf", "experiment", "all", "-o", str(tmp_path)])
    assert done.exit_code == 130, done.output
    assert "interrupted; the finished runs are kept" in done.output
    (recorded,) = tmp_path.iterdir()
    assert recorded.name == f"{next(iter(EXPERIMENTS))}.jsonl.gz"
    assert len(Recording.load(recorded).runs) == 1


@pytest.mark.parametrize(
    "command", [["run", "-p", "baton", "--network", "10gbit"], ["experiment", "rossf-fig15", "-p", "baton"]]
)
def test_without_a_fitting_peer_there_is_an_error_and_the_recording_stays(tmp_path, one_peer, command):
    place = tmp_path / "run.jsonl.gz" if command[0] == "run" else tmp_path
    (tmp_path / "run.jsonl.gz").write_text("an old recording")
    done = CliRunner().invoke(baton, ["perf", *command, "-o", str(place)])
    assert done.exit_code == 1, done.output
    assert "nothing to measure: none of baton:loan can do this" in done.output
    assert "between hosts Baton's peer is baton_link" in done.output
    assert [file.read_text() for file in tmp_path.iterdir()] == ["an old recording"]


def test_the_help_explains_a_round_trip():
    shown = CliRunner().invoke(baton, ["perf", "run", "--help"]).output
    assert "the way there and back" in " ".join(shown.split())


@needs_programs
@pytest.mark.skipif(not (BUILD / "CMakeCache.txt").is_file(), reason="build/lab is not there: make build-lab")
def test_an_installed_perf_test_measures_with_the_programs_installed_beside_it(tmp_path):
    prefix = tmp_path / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    program = prefix / "libexec/baton/baton_perf_installed"
    program.with_name("baton_perf_baton").rename(program)  # a name that only this folder has
    # A command `baton` with the modules of these tests.
    command = tmp_path / "bin" / "baton"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m baton_cli "$@"\n')
    command.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if key != "BATON_PERF_PROGRAMS"}
    environment["PATH"] = f"{command.parent}:{environment['PATH']}"
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))

    options = ["-c", "installed:loan", "--reliable", "--keep-last", "-m", "Array4k", "-r", "100", "--max-runtime", "1"]
    done = subprocess.run(
        [prefix / "lib/performance_test/perf_test", *options],
        capture_output=True, text=True, timeout=PATIENCE, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "system usage" in done.stdout and "Maximum runtime reached" in done.stdout
    # Not with the build tree's libraries, which may be gone.
    traced = subprocess.run(
        [program], env=environment | {"LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=True
    )
    assert str(prefix) in traced.stdout and str(BUILD) not in traced.stdout
    installed = Peer("installed", program, "", "", "", ("loan",), True, False, 64, 1 << 40)
    assert runs.copies_library(installed).is_relative_to(prefix)
