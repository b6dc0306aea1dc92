# SPDX-License-Identifier: Apache-2.0
"""`make results`: every criterion is recorded by one group, and what is recorded at this commit is not recorded again."""

import gzip
import json
import subprocess
from types import SimpleNamespace

import make_results
import pytest
import record_results
from baton_perf import accept, recording

HERE = "a" * 40


def test_every_criterion_is_recorded_by_one_group():
    for c in accept.load():
        groups = [name for name, group in record_results.GROUPS.items() if c["id"].startswith(group.criteria)]
        assert len(groups) == 1, (c["id"], groups)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(record_results, "PLACE", tmp_path)
    monkeypatch.setattr(record_results, "ROOT", tmp_path)
    monkeypatch.setattr(record_results, "build", lambda: {"commit": HERE, "modified": False})
    return tmp_path


def write(path, commit=HERE, modified=False, judged=True):
    lines = [{"build": {"commit": commit, "modified": modified}}] + [{"verdicts": []}] * judged
    with gzip.open(path, "wt") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def recorder(monkeypatch, place, statuses):
    """Stands for the commands: each ends with the next status, and the last one leaves a recording with verdicts."""
    started = []

    def run(command, **_):
        started.append([str(word) for word in command])
        if "make_results.py" in started[-1][1]:
            return SimpleNamespace(returncode=0)
        status = statuses.pop(0)
        write(place / "papers.jsonl.gz", judged=status != record_results.UNFINISHED)
        return SimpleNamespace(returncode=status)

    monkeypatch.setattr(record_results.subprocess, "run", run)
    return started


def test_a_group_is_recorded_in_pieces_and_then_summarised(place, monkeypatch):
    started = recorder(monkeypatch, place, [3, 3, 1])
    record_results.record("papers", 10, 20)
    *pieces, last = started
    assert ["--resume" in piece for piece in pieces] == [False, True, True]
    assert all(piece[piece.index("--minutes") + 1] == "20" for piece in pieces)
    assert last[1].endswith("make_results.py") and last[2].endswith("papers.jsonl.gz")


def test_groups_that_were_recorded_at_this_commit_are_not_recorded_again(place, monkeypatch, capsys):
    write(place / "papers.jsonl.gz")
    started = recorder(monkeypatch, place, [])
    record_results.record("papers", 10, 20)
    assert started == [] and "papers: recorded at this commit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("found", "resumed"),
    [
        ({"judged": False}, True),
        ({"commit": "b" * 40}, False),
        ({"commit": "b" * 40, "judged": False}, False),
        ({"modified": True, "judged": False}, False),
    ],
)
def test_only_a_recording_of_this_commit_goes_on(place, monkeypatch, found, resumed):
    write(place / "papers.jsonl.gz", **found)
    started = recorder(monkeypatch, place, [0])
    record_results.record("papers", 10, 20)
    assert ("--resume" in started[0]) == resumed


def written_by_the_command():
    pages = [group.page for group in record_results.GROUPS.values() if group.page is not None]
    drawn = [word for page in pages for word in page.drawn if "/" in word]
    summary = f"{make_results.RECORDED}/papers.json"
    return [summary, make_results.PICTURE, *make_results.PAGES, *(page.path for page in pages), *drawn]


def test_the_pages_that_the_command_writes_are_no_change_of_what_is_measured(tmp_path, monkeypatch):
    def git(*words):
        of_nobody = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", tmp_path, *of_nobody, *words], check=True, capture_output=True, text=True)

    def write_all(paths, text):
        for path in paths:
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)

    summary, *pages = written_by_the_command()
    git("init", "-q")
    write_all(["core/a", *pages], "before")
    git("add", ".")
    git("commit", "-q", "-m", "a change")
    monkeypatch.setattr(recording, "CHECKOUT", tmp_path)
    head = git("rev-parse", "HEAD").stdout.strip()
    write_all([summary, *pages], "recorded")
    assert record_results.commit(recording.build()) == head
    recording.Writer(tmp_path / "docs/results/r.gz", [])
    recording.Writer(tmp_path / "docs/results/r.gz", [], resume=True)
    write_all(["core/a"], "after")
    assert record_results.commit(recording.build()) == f"{head}+"
    git("checkout", "-q", "core")
    write_all(["core/new"], "")
    assert recording.build()["modified"], "a file that git does not know yet"


def test_a_recorder_that_fails_is_an_error_that_names_the_group(place, monkeypatch):
    recorder(monkeypatch, place, [2])
    with pytest.raises(SystemExit, match="papers ended with 2"):
        record_results.record("papers", 10, 20)


def test_an_unreadable_file_is_no_recording(tmp_path):
    (tmp_path / "a.jsonl.gz").write_text("no")
    assert record_results.state(tmp_path / "a.jsonl.gz") == record_results.state(tmp_path / "none") == ("", False)


def test_a_page_of_a_group_is_written_by_its_command():
    words = record_results.command("robot", 10, 20, False)
    assert words[2:4] == ["robot", "--load"] and "--markdown" in words and "docs/results/robot.svg" in words
    assert "--minutes" not in words
