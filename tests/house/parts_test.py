# SPDX-License-Identifier: Apache-2.0
"""The parts of the proof: the table names existing files and targets, and a change runs the parts whose inputs it touches."""

import importlib.util
import re
import subprocess
from pathlib import Path

import parts
import pytest
import run_tests
import slowest

ROOT = Path(__file__).resolve().parents[2]
TABLE = parts.read_parts()
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def named(*keys):
    """(part, path or test) of these lists of all parts."""
    return [(name, path) for name, part in TABLE.items() for key in keys for path in part.get(key, [])]


def test_each_path_and_each_test_of_a_part_is_in_the_tree():
    tests = named("tests", "also", "never_short", "in_smoke")
    assert [each for each in tests if not (ROOT / each[1].split("::")[0]).exists()] == []
    patterns = [(name, pattern.removeprefix("!")) for name, pattern in named("inputs")]
    assert [each for each in patterns if not any(parts.covers(each[1], path) for path in TRACKED)] == []
    functions = [(name, *test.partition("[")[0].split("::")) for name, test in tests if "::" in test]
    assert [each for each in functions if f"def {each[2]}(" not in (ROOT / each[1]).read_text()] == []


def test_the_short_form_of_a_part_has_the_tests_of_its_smoke_form():
    left_out = {name: {*part.get("never_short", [])} for name, part in TABLE.items()}
    assert [each for each in named("in_smoke") if {each[1], each[1].split("::")[0]} & left_out[each[0]]] == []


def test_no_test_belongs_to_two_parts_except_by_also():
    owners = {}
    for name, part in TABLE.items():
        for path in part.get("tests", []):
            assert owners.setdefault(path, name) == name or {owners[path], name} <= {"builds", "ros1"}, path


@pytest.mark.parametrize("name", [each.name for each in parts.other_ros2s()])
def test_each_file_that_starts_programs_of_ros_2_has_one_scenario_over_each_other_ros_2_in_the_gate(name):
    """The rest of them runs over it every night."""
    part = TABLE[name]
    assert part["set"] == {"BATON_ROS2_DISTRIBUTION": name} and f"ros2_programs_{name}" in part["run"][1]
    starts = re.compile(
        r"^(import|from) (support\.ros2|ros2_processes|ros2_hosts)\b|^def test_\w+\(.*\bprocesses\b", re.M
    )
    files = [path for path in TRACKED if path.endswith("_test.py") and starts.search((ROOT / path).read_text())]
    files += [path for path in TRACKED if re.fullmatch(r"ros2/tests/\w+_test\.py", path) and path not in files]
    others = [*TABLE["ros1"]["tests"], *TABLE["lab"]["tests"]]
    elsewhere = {path for path in files if any(parts.covers(each, path) for each in others)}
    assert [
        path for path in files if path not in elsewhere and not any(parts.covers(each, path) for each in part["also"])
    ] == []
    # Over the default distribution these are in other parts. The last two start no programs, or programs of all distributions.
    without = {
        *TABLE["stories"]["tests"],
        *TABLE["oracles"]["tests"],
        "ros2/tests/oracle_test.py",
        "ros2/tests/distributions_test.py",
    }
    assert sorted(test.split("::")[0] for test in part["in_smoke"]) == sorted({*files} - elsewhere - without)


def conftest():
    spec = importlib.util.spec_from_file_location("conftest_of_all", ROOT / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_files_that_conftest_names_are_there_and_those_that_are_spread_make_nothing_once():
    named = re.findall(r'"(\S+_test\.py)"', (ROOT / "conftest.py").read_text())
    assert len(named) > 1 and [name for name in named if not (ROOT / name).is_file()] == []
    shared = re.compile(r"scope=.(module|session|package)")
    assert [name for name in conftest().SPREAD if shared.search((ROOT / name).read_text())] == []


def test_a_unit_is_a_file_a_spread_test_or_a_family_of_attacks_with_all_its_victims():
    unit_of = conftest().unit_of
    assert unit_of("a_test.py::test_b[x]") == unit_of("a_test.py::test_c") == "a_test.py"
    spread = conftest().SPREAD[0] + "::test_b[x]"
    assert unit_of(spread) == spread
    case = "tests/hostile/hostile_test.py::test_harms[{}: a {} victim of a peer that {}]".format
    assert unit_of(case("words", "cpp", "lies")) == unit_of(case("words", "python", "is silent: long"))
    assert unit_of(case("words", "cpp", "lies")) != unit_of(case("wake", "cpp", "lies"))


@pytest.mark.parametrize(
    ("changed", "touched"),
    [
        (["ros1/api/src/subscription.cpp"], ["ros1"]),
        (["docs/guides/python.md"], []),
        (["lab/network/line.cpp"], []),
        (["lab/runner/main.cpp", "CMakeLists.txt"], ["lab", "builds"]),
        (["ros1x/a.cpp"], []),
        (None, [name for name in TABLE if name != "core"]),
    ],
    ids=["a file of ros1", "a page", "taken away", "two parts", "a name that only begins alike", "nothing is known"],
)
def test_a_change_touches_the_parts_whose_inputs_are_in_it(changed, touched):
    assert parts.touched_parts(TABLE, changed) == touched


def test_a_file_that_only_moved_is_untouched_and_one_that_changed_counts(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *words], cwd=tmp_path, check=True)

    git("init", "-q")
    for name in ("moved", "changed", "same"):
        (tmp_path / name).write_text(f"{name}\n" * 20)
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "moved").rename(tmp_path / "elsewhere")
    (tmp_path / "changed").write_text("other\n")
    git("add", ".")
    git("commit", "-qm", "second")
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    monkeypatch.setenv("CI_BASE", "HEAD~1")
    assert parts.changed_since(parts.base_commit()) == ["changed"]
    monkeypatch.setenv("CI_BASE", "no such commit")
    assert parts.base_commit() == "" and parts.changed_since("") is None


@pytest.fixture
def runner(tmp_path, monkeypatch):
    monkeypatch.setattr(run_tests, "OUT", tmp_path / "out")
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "AGAIN", 1)
    for name, file in (("TESTS", "tests.tsv"), ("FLAKY", "flaky.tsv")):
        monkeypatch.setattr(run_tests, name, tmp_path / "out" / file)
    (tmp_path / "out").mkdir()
    run_tests.TESTS.write_text(run_tests.HEAD)
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\npython_files = *_test.py\n")

    def run(source):
        (tmp_path / "some_test.py").write_text(source)
        return run_tests.run_pytest(["-p", "no:cacheprovider", "some_test.py"])

    return run


ONCE = "from pathlib import Path\ndef test_{0}():\n    mark = Path(__file__).with_name('{0}')\n    first = not mark.exists()\n    mark.touch()\n    assert not first\n"


def test_two_flaky_tests_are_listed_and_pass_and_three_fail(runner, tmp_path):
    good, failed = runner("".join(ONCE.format(name) for name in "abc"))
    assert not good and len(failed) == 3
    for tests, passes in ((failed[:2], True), (failed[2:], False)):
        assert run_tests.judge([("pytest", test) for test in tests], tmp_path) is passes
    assert len(run_tests.FLAKY.read_text().splitlines()) == 3


def test_a_test_that_fails_again_fails_the_run(runner, tmp_path):
    good, failed = runner("def test_a(): assert False\ndef test_b(): pass\n")
    assert not good and failed == ["some_test.py::test_a"]
    assert not run_tests.judge([("pytest", test) for test in failed], tmp_path)
    assert not run_tests.FLAKY.exists()


def test_the_seconds_of_tests_and_of_their_fixtures_are_told_apart(runner, monkeypatch):
    runner("import pytest, time\n@pytest.fixture\ndef slow(): time.sleep(0.2)\ndef test_a(slow): pass\n")
    monkeypatch.setattr(slowest, "OUT", run_tests.OUT)
    rows = {row[0]: row[3] for row in slowest.tests() if row[2].endswith("test_a") and row[3] > 0.1}
    assert list(rows) == ["fixtures"]
