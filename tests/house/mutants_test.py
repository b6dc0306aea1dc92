# SPDX-License-Identifier: Apache-2.0
"""The faults of scripts/mutants.toml fit the product, and scripts/mutants.py judges by its rules."""

import re
import subprocess

import mutants
import parts
import pytest

ROOMS, MUTANTS = mutants.read_table()


def fits(mutant):
    own = mutant.file.removeprefix("core/").startswith(mutant.room + "/")
    return (
        (mutants.ROOT / mutant.file).read_text().count(mutant.old) == 1
        and mutant.new != mutant.old
        and own
        and mutant.wrong
    )


def test_the_text_of_a_mutant_stands_once_in_its_file():
    assert MUTANTS and [mutant.name for mutant in MUTANTS if not fits(mutant)] == []


def test_each_room_with_mutants_has_tests_that_exist():
    assert {mutant.room for mutant in MUTANTS} <= set(ROOMS)
    for room in ROOMS.values():
        assert room.keys() & {"ctest", "tests"} and room.get("part", parts.CORE) in parts.read_parts()
        assert all((mutants.ROOT / path).exists() for path in [*room.get("tests", []), *room.get("not", [])])


def test_each_room_with_mutants_builds_targets_that_exist():
    files = subprocess.run(["git", "ls-files", "*CMakeLists.txt"], cwd=mutants.ROOT, capture_output=True, text=True)
    words = {word for path in files.stdout.split() for word in re.findall(r"\w+", (mutants.ROOT / path).read_text())}
    targets = [target for room in ROOMS.values() for target in room.get("build", [])]
    folders = [target.removesuffix("/all") for target in targets if target.endswith("/all")]
    assert [folder for folder in folders if not (mutants.ROOT / folder / "CMakeLists.txt").exists()] == []
    assert [target for target in targets if not target.endswith("/all") and target not in words] == []


def test_the_rooms_that_use_one_come_in_the_order_of_the_layers():
    assert mutants.users_of("link", ROOMS) == ["generator", "python", "ros2", "cli", "tests"]
    assert mutants.users_of("os", ROOMS)[:2] == ["memory", "message"]


def test_failed_tests_are_read_from_reports_of_pytest_and_of_ctest(tmp_path):
    (tmp_path / "some_test.py").write_text(
        "import pytest\ndef test_good(): pass\n@pytest.mark.parametrize('x', [1, 2])\ndef test_bad(x): assert x == 1\n"
        "@pytest.fixture\ndef broken(): raise OSError\ndef test_error(broken): pass\n"
    )
    words = [str(mutants.ROOT / ".venv/bin/python"), "-m", "pytest", "-q", "-o", "junit_family=xunit1"]
    subprocess.run(
        [*words, "-p", "no:cacheprovider", f"--junitxml={tmp_path}/report.xml", "some_test.py"], cwd=tmp_path
    )
    failed = ["some_test.py::test_bad[2]", "some_test.py::test_error"]
    assert mutants.failed_in((tmp_path / "report.xml").read_text()) == failed
    ctest = '<testsuite><testcase name="a.b" status="run"/><testcase name="c.d" status="fail"><failure/></testcase></testsuite>'
    assert mutants.failed_in(ctest) == ["c.d"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run(*words) is mutants.main() over two mutants of one file, with the verdicts of `verdicts`; run.judged: which were judged."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a.cpp").write_text("one two\n")
    table = [mutants.Mutant(f"os/{n}", "os", "a.cpp", old, "x", "wrong") for n, old in ((1, "one"), (2, "two"))]
    monkeypatch.setattr(mutants, "OUT", tmp_path)
    monkeypatch.setattr(mutants, "RESULTS", tmp_path / "results.tsv")
    monkeypatch.setattr(mutants, "read_table", lambda: (ROOMS, table))
    monkeypatch.setattr(mutants, "tree_of", lambda commit: tmp_path / "tree")
    monkeypatch.setattr(mutants, "set_up", lambda tree, group: None)

    def start(*words):
        start.judged = []
        monkeypatch.setattr("sys.argv", ["mutants.py", *words])
        return mutants.main()

    def failed_by(judge, room):
        text = (judge.tree / "a.cpp").read_text()
        start.judged.append((text.strip(), room))
        return start.verdicts.get((text.strip(), room), ("passed", ""))

    monkeypatch.setattr(mutants.Judge, "failed_by", failed_by)
    start.verdicts = {}
    start.file = tmp_path / "tree/a.cpp"
    return start


def test_a_mutant_that_passes_its_room_is_judged_by_the_rooms_above_until_one_fails(run):
    run.verdicts = {("x two", "message"): ("caught", "m.t"), ("one x", "os"): ("caught", "o.t")}
    assert run() == 0
    assert run.judged == [("x two", "os"), ("x two", "memory"), ("x two", "message"), ("one x", "os")]
    assert run.file.read_text() == "one two\n"
    rows = [row[:1] + row[2:4] for row in mutants.results()]
    assert rows == [["os/1", "caught", "m.t"], ["os/2", "caught", "o.t"]]


def test_a_run_resumes_and_judges_mutants_without_a_verdict_again(run):
    run.verdicts = {("x two", "os"): ("broken", "the build")}
    assert run("--own") == 1  # the second one survives
    assert run("--own") == 1 and run.judged == [("x two", "os")]
    assert run("--own", "--again", "os/2") == 1 and run.judged == [("one x", "os")]
