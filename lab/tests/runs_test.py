# SPDX-License-Identifier: Apache-2.0
"""`baton perf`: the command line and real runs, where the programs are built."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict, replace

import pytest
from baton_perf import (
    figures,
    peers,
    performance_test,
    recording,
    tables,
)
from baton_perf.runs import Cell, RunFailed, perform
from recorded import invoke, needs_programs, peer


@pytest.mark.parametrize(
    ("name", "size", "expected"),
    [
        ("Array4m", None, ("Array4m", 4 << 20)),
        ("PointCloud512k", None, ("PointCloud2", 512 << 10)),
        ("UnboundedSequence", 5000, ("Image", 5000)),
        ("Struct256", None, ("Struct256", 320)),
    ],
)
def test_performance_tests_message_names_have_their_sizes(name, size, expected):
    assert performance_test.message_and_bytes(name, size) == expected


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
        (["run", "--one-cpu", "--one-process"], "--pin and --one-cpu place processes"),
        (["experiment", "tzc-fig99"], "no experiment 'tzc-fig99'"),
        (["accept", "nothing"], "no criterion 'nothing'"),
    ],
)
@needs_programs
def test_a_wrong_option_is_named_with_the_way_out(arguments, complaint):
    result = invoke(*arguments)
    assert result.exit_code != 0 and complaint in result.output


def test_a_peer_that_is_named_gets_its_variants_also_if_all_of_them_are_measured_by_name_only(monkeypatch):
    ends = {each.id: each for each in (peer("baton_link", ("link",)), peer("baton", ("loan", "copy")))}
    monkeypatch.setattr(peers, "built", lambda: ends)
    assert [variant for _, variant in peers.choose(["baton_link"])] == ["link"]
    assert [variant for _, variant in peers.choose(["baton"])] == ["loan"]
    assert [(each.id, variant) for each, variant in peers.choose(["all"])] == [("baton", "loan")]


@needs_programs
def test_an_unknown_peer_is_an_error_that_lists_the_known():
    result = invoke("run", "-p", "telepathy")
    assert result.exit_code != 0 and "telepathy" in result.output and "baton" in result.output


@needs_programs
@pytest.mark.parametrize("changes", [{}, {"subscribers": 3}, {"publishers": 3}, {"round_trip": True}, {"read_all": True}, {"one_process": True}, {"varying": True}, {"rate": 0}])  # fmt: skip
def test_a_run_over_baton_loses_and_tears_nothing(changes):
    # Deep enough for all messages of all publishers: a busy machine may let the subscriber sleep for longer than any number takes.
    cell = replace(Cell(bytes=65536, message="Image", messages=30, rate=200, depth=160), **changes)
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
    # The others end long after the publisher, however late its turn came; the run ends them before.
    others = f"until [ -e {tmp_path}/went ]; do sleep 0.05; done; sleep 5; echo 'it: another process of this run failed'; exit 1"
    program.write_text(f'#!/bin/bash\nif [ "$4" = publisher ]; then touch {tmp_path}/went; {ends}; fi\n{others}\n')
    program.chmod(0o755)
    with pytest.raises(RunFailed, match=reason):
        perform(replace(peer(), program=program), "loan", Cell(subscribers=4))


def test_a_run_has_ended_when_its_keeper_has(tmp_path):
    program = tmp_path / "baton_perf_baton"
    keeper = f'exec 3<>keeper_members; touch "{tmp_path}/here"; sleep 0.5; touch "{tmp_path}/swept"'
    program.write_text(
        f'#!/bin/bash\ncd "$(dirname "$2")"\nif [ "$4" = publisher ]; then\n  mkfifo keeper_members\n  ({keeper}) &\n'
        f'  until [ -e "{tmp_path}/here" ]; do sleep 0.01; done\nfi\n'
    )
    program.chmod(0o755)
    with pytest.raises(RunFailed, match="no process wrote a result"):
        perform(replace(peer(), program=program), "loan", Cell())
    assert (tmp_path / "swept").exists()


def may_make_namespaces() -> bool:
    return subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, check=False).returncode == 0


@needs_programs
@pytest.mark.skipif(not may_make_namespaces(), reason="this user may not make namespaces")
@pytest.mark.parametrize("isolation", ["container", "containers"])
def test_baton_works_between_containers_that_share_only_the_runs_directory(isolation):
    run = perform(
        peers.built()["baton"], "loan", Cell(bytes=65536, messages=20, rate=200, depth=64, isolation=isolation)
    )
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
    line = "--zero-copy --reliable --keep-last --history-depth 200 -s 1 -m Array64k -r 100 --max-runtime 2".split()
    result = invoke(*line, "-t", "perf_test_of_the_tests", "-l", str(log), "--json-logfile", str(data))
    assert result.exit_code == 0, result.output
    assert "Maximum runtime reached. Exiting." in result.output
    head, rows = log.read_text().split("---EXPERIMENT-START---\n")
    assert "zero_copy: True" in head and rows.startswith("T_experiment,T_loop,received,sent,lost")
    seconds = json.loads(data.read_text())["seconds"]
    # Two, unless the machine stood still for one of them.
    assert 1 <= len(seconds) == result.output.count("T_experiment") == len(rows.splitlines()) - 1 <= 2
    assert seconds[-1]["T_experiment"] >= 2
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
