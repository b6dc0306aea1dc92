# SPDX-License-Identifier: Apache-2.0
"""The last verdict on each criterion, whether its code has changed since, the page of the papers' numbers, and a recording in pieces."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest
from baton_perf import accept, accept_command, figures, papers_page, quiet, results, session
from baton_perf.papers import Number
from baton_perf.recording import Recording
from baton_perf.results import History, Latest
from baton_perf.verdicts import Row
from recorded import invoke, run_of


class Repository:
    """A small git repository."""

    def __init__(self, root: Path):
        self.root = root
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", "-C", self.root, *who, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, **files: str) -> str:
        for name, text in files.items():
            path = self.root / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.git("add", str(path))
        self.git("commit", "-q", "-m", "a change")
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    return Repository(root)


def test_a_row_is_stale_when_its_code_has_changed_since_its_commit(repository):
    first = repository.commit(core__a="1", lab__b="1")
    second = repository.commit(lab__b="2")
    history = History(repository.root)
    assert history.state(first, ["core"]) == "fresh", "another folder has changed"
    assert history.state(first, ["lab"]) == history.state(first, ["core", "lab/b"]) == "stale"
    assert history.state(second, ["lab"]) == "fresh"


def test_a_name_that_begins_alike_is_another_folder(repository):
    first = repository.commit(core__a="1", core_other__a="1")
    repository.commit(core_other__a="2")
    assert History(repository.root).state(first, ["core"]) == "fresh"


def test_a_change_that_is_not_committed_counts_and_one_that_was_taken_back_does_not(repository):
    first = repository.commit(core__a="1")
    (repository.root / "core/a").write_text("2")
    assert History(repository.root).state(first, ["core"]) == "stale"
    repository.commit(core__a="2")
    repository.commit(core__a="1")
    assert History(repository.root).state(first, ["core"]) == "fresh"


def test_tests_and_pages_change_no_figure(repository):
    first = repository.commit(core__a="1")
    repository.commit(**{"core__tests__x.py": "1", "core__a_test.cpp": "1", "core__README.md": "1"})
    assert History(repository.root).state(first, ["core"]) == "fresh"


def test_a_clone_without_the_history_says_unknown(repository, tmp_path):
    first = repository.commit(core__a="1")
    repository.commit(core__a="2")
    shallow = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{repository.root}", shallow], check=True)
    assert History(shallow).state(first, ["core"]) == "unknown"
    assert History(repository.root).state("0" * 40, ["core"]) == "unknown"


def test_a_folder_that_is_no_checkout_says_unknown(repository, tmp_path):
    first = repository.commit(core__a="1", inner__a="1")
    assert History(tmp_path).state(first, ["core"]) == "unknown"
    assert History(repository.root / "inner").state(first, ["a"]) == "unknown", "a folder of another repository"


# --- the last verdicts ---

HEADER = {"build": {"commit": "0" * 40, "modified": False}, "machine": {}, "started": 1}


def summary(started: int, *rows: Row) -> dict:
    return {"header": HEADER | {"started": started}, "medians": {}, "verdicts": [asdict(row) for row in rows]}


def row(criterion="tzc-100x", middle=0.02, high=0.03, passed: bool | None = False, what="100 times") -> Row:
    return Row(criterion, what, figures.Interval(middle, 0.01, high, 6), "x", "0.01x", passed)


def test_the_last_recording_of_a_criterion_counts():
    found = results.latest([summary(1, row(), row("lot-gap")), summary(2, row(passed=True))])
    assert {name: its.verdict() for name, its in found.items()} == {"tzc-100x": "PASS", "lot-gap": "FAIL"}
    assert found["tzc-100x"].header["started"] == 2


def test_of_many_rows_a_verdict_says_how_many_have_which():
    its = Latest([row(passed=True), row(), row(passed=True)], HEADER)
    assert its.verdict() == "2 PASS, 1 FAIL"


def test_summaries_are_read_in_the_order_of_their_recordings(tmp_path):
    folder = tmp_path / results.FOLDER
    (folder / "recorded").mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(summary(3, row(passed=True))))
    (folder / "recorded" / "papers.json").write_text(json.dumps(summary(2, row())))
    assert [each["header"]["started"] for each in results.load(tmp_path)] == [2, 3]
    (folder / "field.json").write_text("{}")
    with pytest.raises(Exception, match="a summary cannot be read"):
        results.load(tmp_path)


def test_the_list_has_each_criterion_with_its_last_verdict_and_commit(repository):
    folder = repository.root / results.FOLDER
    folder.mkdir(parents=True)
    commit = repository.commit(core__a="1")
    header = HEADER | {"build": {"commit": commit, "modified": False}, "pieces": [PIECE]}
    (folder / "results.json").write_text(json.dumps(summary(1, row()) | {"header": header}))
    repository.commit(core__a="2")
    done = invoke("accept", "--list", "tzc", "--results", str(repository.root))
    assert done.exit_code == 0, done.output
    (line,) = [line.split() for line in done.output.splitlines() if " tzc-100x " in f" {line} "]
    assert line[:4] == ["tzc-100x", "FAIL", commit[:12], "stale"] and "quiet:" in line
    count = len([c for c in accept.load() if c["id"].startswith("tzc")])
    assert f"{count} criteria, {count - 1} without a verdict" in " ".join(done.output.split())


def test_a_folder_without_recordings_is_an_error_that_names_it(tmp_path):
    done = invoke("accept", "--list", "--results", str(tmp_path))
    assert done.exit_code == 1 and f"there is no recording in {tmp_path}" in " ".join(done.output.split())


# --- the page ---


def test_a_number_of_a_paper_is_judged_by_the_papers_bar_where_the_criterion_has_another():
    number = Number("twice", "c", bar=0.025)
    assert papers_page.passes(number, row(high=0.03, passed=True)) is False
    assert papers_page.passes(number, row(high=0.02, passed=False)) is True
    assert papers_page.passes(Number("twice", "c"), row(passed=None)) is None


def test_the_reason_of_a_verdict_names_the_figure_that_missed_the_bar():
    number = Number("100 times", "c", reason="The wake-up takes it all.")
    assert papers_page.reason(number, row(middle=0.02)) == "The wake-up takes it all."
    assert papers_page.reason(number, row(middle=0.009)) == papers_page.NEARLY
    assert papers_page.reason(Number("100 times", "c"), row()) == "No reason is known yet."


def test_the_row_of_a_number_is_the_one_whose_text_begins_so():
    latest = {"c": Latest([row("c", what="Image, accelerated"), row("c", what="Lidar, accelerated")], HEADER)}
    assert papers_page.row_of(Number("", "c", row="Lidar"), latest).what == "Lidar, accelerated"
    assert papers_page.row_of(Number("", "c", row="Pose"), latest) is None
    assert papers_page.row_of(Number("", "other"), latest) is None


def test_marks_are_counted_and_taken_off():
    text = "| `0123456789ab`, stale | x |\n| `0123456789ab`, unknown |\n| `0123456789ab` | an old, stale word |\n"
    assert papers_page.marks(text) == {"stale": 1, "unknown": 1}
    assert (
        papers_page.unmarked(text)
        == "| `0123456789ab` | x |\n| `0123456789ab` |\n| `0123456789ab` | an old, stale word |\n"
    )


def test_every_number_that_fails_in_the_last_recording_has_a_reason():
    latest = results.latest(results.load(Path(__file__).resolve().parents[2]))
    for figure in papers_page.papers.load().values():
        for number in figure.numbers:
            its = papers_page.row_of(number, latest)
            if its is not None and papers_page.passes(number, its) is False:
                assert papers_page.reason(number, its) != "No reason is known yet.", number.says


# --- pieces ---

PIECE = {"minutes": 1.0, "runs": 3, "others_cpus": 0.02, "stolen_cpus": 0.01, "quiet": True}


def test_the_use_of_others_is_the_machines_use_without_this_process_and_its_children(tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  100 50 150 9999 5 70 80 20 0 0\n")
    now = quiet.times(stat)
    assert (now.busy, now.stolen) == (300 / quiet.TICK, 20 / quiet.TICK)
    begin, end = quiet.Times(100, 10, 4, 1), quiet.Times(110, 25, 16, 2)
    assert quiet.piece(begin, end, 7) == {
        "minutes": 0.17, "runs": 7, "others_cpus": 0.3, "stolen_cpus": 0.1, "quiet": False
    }  # fmt: skip
    assert quiet.piece(begin, quiet.Times(110, 16, 10, 1), 7)["quiet"] is True


def test_a_page_says_how_quiet_the_pieces_were():
    assert quiet.sentence([]) == ""
    assert quiet.sentence([PIECE]) == "quiet: others used 0.03 CPUs"
    loud = PIECE | {"others_cpus": 0.7, "quiet": False}
    assert quiet.sentence([PIECE, loud]) == "1 of 2 pieces quiet: others used up to 0.71 CPUs"


@pytest.fixture
def instant_runs(monkeypatch, two_peers):
    """Each run ends at once; time passes only when a test says so."""
    clock = [0.0]

    def perform(peer, variant, cell):
        clock[0] += 30
        return {"processes": run_of([5, 6, 7], cell=cell)["processes"]}

    monkeypatch.setattr(session, "perform", perform)
    for module in (session, accept_command):
        monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    build = {"commit": "c" * 40, "modified": False}
    monkeypatch.setattr("baton_perf.recording.build", lambda: build)


def test_a_recording_is_made_in_pieces_each_of_which_says_whether_the_machine_was_quiet(tmp_path, instant_runs):
    path = tmp_path / "accept.jsonl.gz"
    words = ["accept", "tzc-no-loss", "--rounds", "6", "--minutes", "1", "-o", str(path)]
    first = invoke(*words)
    assert first.exit_code == 3, first.output
    assert "4 runs are left; the same command with --resume goes on" in " ".join(first.output.split())
    assert Recording.load(path).verdicts == []
    assert invoke(*words, "--resume").exit_code == 3
    last = invoke(*words, "--resume")
    assert last.exit_code == 0, last.output
    made = Recording.load(path)
    assert [piece["runs"] for piece in made.pieces] == [2, 2, 2] and all("quiet" in piece for piece in made.pieces)
    assert len(made.runs) == 6 and [saved["passed"] for saved in made.verdicts] == [True]


def test_a_program_that_has_printed_its_verdicts_is_not_run_again_by_the_next_piece(
    tmp_path, monkeypatch, instant_runs
):
    started = []

    def run_verb(c, console):
        started.append(c["id"])
        return [row(c["id"], passed=True)]

    monkeypatch.setitem(accept_command.PRINTERS, "verb", run_verb)
    path = tmp_path / "accept.jsonl.gz"
    words = ["accept", "robot", "slam", "tzc-no-loss", "--rounds", "6", "--minutes", "1", "-o", str(path)]
    assert invoke(*words).exit_code == 3
    while invoke(*words, "--resume").exit_code == 3:
        pass
    assert started == ["robot", "slam"]
    assert [saved["criterion"] for saved in Recording.load(path).verdicts] == ["robot", "slam", "tzc-no-loss"]
