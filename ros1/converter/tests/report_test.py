# SPDX-License-Identifier: Apache-2.0
"""`baton migrate report` as a user calls it.

The figures of the ROS-SF paper are the small nodes of ros1/tests/programs/figures, which ros1/tests/figures_test.py compiles and runs.
Here they are read against the distribution's ROS headers.
`UPDATE=1 pytest ros1/converter/tests/report_test.py` rewrites expected_figures.txt; read the difference before committing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from baton_converter import compile_commands, findings, sarif, text, tree
from baton_converter.findings import FileReport, Finding, TreeReport
from baton_converter.verbs.migrate import command
from click.testing import CliRunner, Result
from support.ros2 import TESTED

pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")
HERE = Path(__file__).parent
FIGURES = HERE.parents[2] / "ros1/tests/programs/figures"
EXPECTED = HERE / "expected_figures.txt"
ROS_HEADERS = Path("/usr/include/ros/ros.h")


def database(folder: Path, sources: list[Path], *options: str) -> Path:
    folder.mkdir(exist_ok=True)
    entries = [
        {
            "directory": str(source.parent),
            "file": source.name,
            "arguments": ["c++", *options, "-o", "x.o", "-c", source.name],
        }
        for source in sources
    ]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return folder


def report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, ["report", *map(str, arguments)])


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> TreeReport:
    if not ROS_HEADERS.is_file():
        pytest.skip("no headers of roscpp; `make test` installs them")
    sources = sorted(FIGURES.glob("*.cpp"))
    build = database(tmp_path_factory.mktemp("build"), sources, "-std=c++17", "-I/usr/include/opencv4")
    databases = compile_commands.find(FIGURES, build)
    return tree.report(FIGURES, compile_commands.read(databases), databases, jobs=2)


def test_the_figures_of_the_paper_are_reported_as_expected(figures: TreeReport) -> None:
    said = text.text(figures) + "\n"
    if os.environ.get("UPDATE"):
        EXPECTED.write_text(said)
    assert said == EXPECTED.read_text()


def test_the_figures_violate_what_the_paper_says(figures: TreeReport) -> None:
    files = text.as_json(figures)["files"]
    rules = {file["path"]: {entry["rule"] for entry in file["findings"]} for file in files}
    assert rules["figure_11.cpp"].isdisjoint(findings.ASSUMPTIONS)
    assert rules["figure_19.cpp"] & findings.ASSUMPTIONS.keys() == {findings.STRING}
    assert rules["figure_20.cpp"] & findings.ASSUMPTIONS.keys() == {findings.RESIZE}
    assert rules["figure_21.cpp"] & findings.ASSUMPTIONS.keys() == {findings.RESIZE, findings.OTHER}


def test_json_says_where_messages_are_made_filled_and_published(figures: TreeReport) -> None:
    shown = json.loads(json.dumps(text.as_json(figures)))
    messages = {(file["path"], message["name"]): message for file in shown["files"] for message in file["messages"]}
    image = messages["figure_11.cpp", "img"]
    assert (image["type"], image["made"]) == ("sensor_msgs::Image", "stack")
    lines = (FIGURES / "figure_11.cpp").read_text().splitlines()
    assert lines[image["line"] - 1].strip() == "sensor_msgs::Image img;"
    assert all("img." in lines[line - 1] for line in image["filled"])
    assert [entry["as"] for entry in image["published"]] == ["object"]
    assert messages["figure_19.cpp", "input"]["passed"][0]["to"] == "toCvShare"
    rows = {row["type"]: row for row in shown["table"]}
    assert rows["sensor_msgs::PointCloud"] == {
        "type": "sensor_msgs::PointCloud",
        "total": 1,
        "applicable": 0,
        "string_reassignment": 0,
        "vector_multi_resize": 1,
        "other_method": 1,
    }


ROS2_HEADERS = TESTED.prefix / "include"


def test_messages_of_generated_headers_of_ros_2_are_known(tmp_path: Path) -> None:
    """rosidl's own headers; rclcpp's publisher is in no package that setup installs, so the source has one of its own."""
    if not (ROS2_HEADERS / "sensor_msgs").is_dir():
        pytest.skip("no headers of ROS 2; `make test` installs them")
    (tmp_path / "camera.cpp").write_text(
        "#include <sensor_msgs/msg/image.hpp>\n#include <test_msgs/action/fibonacci.hpp>\n#include <test_msgs/srv/arrays.hpp>\n"
        "namespace rclcpp { template <class M> struct Publisher {\n"
        "  void publish(std::unique_ptr<M>); void publish(const M&); }; }\n"
        "rclcpp::Publisher<sensor_msgs::msg::Image> publisher;\n"
        'void publish() {\n  sensor_msgs::msg::Image image;\n  image.header.frame_id = "camera";\n  publisher.publish(image);\n}\n'
        'void call(test_msgs::srv::Arrays::Request& request) { request.string_values[0] = "a"; }\n'
        "void act(test_msgs::action::Fibonacci::Result& result) { result.sequence.push_back(1); }\n"
    )
    options = [f"-I{folder}" for folder in sorted(ROS2_HEADERS.iterdir())]
    build = database(tmp_path / "build", [tmp_path / "camera.cpp"], "-std=c++17", *options)
    said = report(tmp_path, "-p", build, "--format", "json")
    assert said.exit_code == 0, said.output
    (file,) = json.loads(said.output)["files"]
    assert {message["type"] for message in file["messages"]} == {
        "sensor_msgs::msg::Image",
        "test_msgs::srv::Arrays_Request",
        "test_msgs::action::Fibonacci_Result",
    }
    (found,) = file["findings"]
    assert found["snippet"].startswith("auto image_ptr = std::make_unique<sensor_msgs::msg::Image>();")
    applied = CliRunner().invoke(command, ["apply", str(tmp_path), "-p", str(build)])
    assert applied.output == "camera.cpp: 1 rewritten\n"
    assert "publisher.publish(std::move(image_ptr));" in (tmp_path / "camera.cpp").read_text()


def test_a_source_that_does_not_parse_is_counted_and_changes_the_exit_status(tmp_path: Path) -> None:
    (tmp_path / "good.cpp").write_text("int good;\n")
    (tmp_path / "bad.cpp").write_text("int good;\nint bad = missing;\nint worse = missing;\n")
    (tmp_path / "other.cpp").write_text("int other;\n")
    build = database(tmp_path / "build", [tmp_path / "bad.cpp", tmp_path / "good.cpp"])
    said = report(tmp_path)
    assert said.exit_code == 1
    assert "1 file analysed, 1 source not analysed" in said.output
    assert f"not analysed: bad.cpp: {tmp_path}/bad.cpp:2:11: use of undeclared identifier 'missing'" in said.output
    assert "1 source without a compile command, not looked at:" in said.output and "  other.cpp" in said.output
    shown = json.loads(report(tmp_path, "-p", build, "--format", "sarif").output)["runs"][0]["invocations"][0]
    assert shown["executionSuccessful"] is False
    assert "use of undeclared identifier" in shown["toolExecutionNotifications"][0]["message"]["text"]


def test_what_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    def says(*sentences: str) -> str:
        said = report(tmp_path)
        assert said.exit_code == 1
        assert all(sentence in said.output for sentence in sentences), said.output
        return said.output

    here = tmp_path / "here.cpp"
    here.write_text("int main() {}\n")
    database(tmp_path, [here, tmp_path / "gone.cpp"])
    says(f"not analysed: gone.cpp: {tmp_path}/gone.cpp: there is no such file; compile_commands.json is")
    database(tmp_path, [here], "-include", "baton/ros1/recompiled/first.hpp")
    said = says("here.cpp: compiled with Baton's messages; name the build with ROS's own ones by -p")
    assert "no compile command" not in said
    database(tmp_path, [Path("/elsewhere/a.cpp")])
    says(f"No source below {tmp_path} is named in")
    (tmp_path / "compile_commands.json").write_text("[{]")
    says("is no compilation database")


def test_without_libclang_the_verb_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("int a;\n")
    database(tmp_path, [tmp_path / "a.cpp"])
    program = "import sys; sys.modules['clang'] = None; from baton_converter.verbs.migrate import command; command()"
    ran = subprocess.run(
        [sys.executable, "-c", program, "report", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert f"`make setup` in {HERE.parents[2]}" in ran.stdout and "Traceback" not in ran.stderr
    installed = (
        "import pathlib, sys; sys.modules['clang'] = None; pathlib.Path.is_file = lambda path: False\n"
        "from baton_converter.parser import INSTALL; print(INSTALL)"
    )
    ran = subprocess.run([sys.executable, "-c", installed], capture_output=True, text=True, timeout=60, check=True)
    assert "pip install 'baton-ipc[migrate]'" in ran.stdout and "python3-clang-14" in ran.stdout


def test_level_warning_leaves_notes_out_and_the_table_as_it_is(tmp_path: Path) -> None:
    for header in (HERE / "cases").glob("*.hpp"):
        (tmp_path / header.name).write_text(header.read_text())
    (tmp_path / "a.cpp").write_text(
        '#include "tiny_ros.hpp"\nvoid set(sensor_msgs::Image& img) { img.encoding = "a"; }\n'
        "void copy(ros::Publisher& to, sensor_msgs::ImagePtr img) { to.publish(*img); }\n"
    )
    (tmp_path / "b.cpp").write_text(
        '#include "tiny_ros.hpp"\nvoid set(sensor_msgs::Image& img) { img.encoding = "b"; }\n'
    )
    database(tmp_path, [tmp_path / "a.cpp", tmp_path / "b.cpp"], "-std=c++17")
    all_of_it, warnings = report(tmp_path).output, report(tmp_path, "--level", "warning").output
    assert "[string-reassignment]" in all_of_it and "b.cpp:2" in all_of_it
    assert "[publish-copies]" in warnings and "[string-reassignment]" not in warnings and "b.cpp" not in warnings
    rows = [line for line in all_of_it.splitlines() if line.startswith(("sensor_msgs::", "any message"))]
    assert rows == [line for line in warnings.splitlines() if line.startswith(("sensor_msgs::", "any message"))]
    shown = json.loads(report(tmp_path, "--level", "warning", "--format", "json").output)
    assert {entry["rule"] for file in shown["files"] for entry in file["findings"]} == {findings.PUBLISH}
    assert shown["any"]["string_reassignment"] == 2
    run = json.loads(report(tmp_path, "--level", "warning", "--format", "sarif").output)["runs"][0]
    assert {result["level"] for result in run["results"]} == {"warning"}


def test_names_of_ros_are_notes_in_each_format_beside_what_happens_to_messages(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text("namespace ros { class WallRate; }\nvoid f(ros::WallRate&);\n")
    (tmp_path / "b.py").write_text("import rospy\nrospy.sleep(1)\n")
    database(tmp_path, [tmp_path / "a.cpp"])
    said = report(tmp_path).output.splitlines()
    assert "1 file analysed, 0 sources not analysed" in said
    assert said[-3:] == [
        "a.cpp:2:8: ros::WallRate: in Baton `baton::Rate rate(10.0)` [name-of-ros]",
        "b.py:2:1: rospy.sleep: in Baton `time.sleep(seconds)` [name-of-ros]",
        "2 names of ROS that Baton does not have, in 2 files",
    ]
    assert "name-of-ros" not in report(tmp_path, "--level", "warning").output
    shown = json.loads(report(tmp_path, "--format", "json").output)
    assert [file["path"] for file in shown["names"]] == ["a.cpp", "b.py"]
    assert json.loads(report(tmp_path, "--format", "json", "--level", "warning").output)["names"] == []
    run = json.loads(report(tmp_path, "--format", "sarif").output)["runs"][0]
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [(findings.NAME, "note")] * 2


TWICE = """#include "tiny_ros.hpp"
void on_one_line() { sensor_msgs::Image img; img.encoding = "a"; img.encoding = "b"; }
void in_turns() {
  sensor_msgs::Image img;
  for (int i = 0; i < 2; ++i) img.encoding = "a";
}
"""


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """A project with its database at the top, and its sources in src/package."""
    package = tmp_path / "src" / "package"
    package.mkdir(parents=True)
    (package / "tiny_ros.hpp").write_text((HERE / "cases" / "tiny_ros.hpp").read_text())
    (package / "a.cpp").write_text(TWICE)
    entry = {"directory": str(tmp_path), "file": "src/package/a.cpp", "command": "c++ -std=c++17 -c src/package/a.cpp"}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    return tmp_path


def test_a_database_above_the_tree_is_found(nested: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(nested)
    written = nested / "compile_commands.json"
    elsewhere = {"directory": "/elsewhere", "file": "a.cpp", "command": "c++ -c a.cpp"}  # of another tree
    written.write_text(json.dumps([*json.loads(written.read_text()), elsewhere]))
    (nested / "build").mkdir()
    for place, named in (
        (".", ()),
        (".", ("-p", ".")),
        (".", ("-p", "src/..")),
        ("build", ()),
        ("build", ("-p", "build")),
    ):
        if place == "build" and written.exists():
            written.rename(nested / place / written.name)
        said = report("src/package", *named)
        assert said.exit_code == 0 and "\n2 files analysed, 0 sources not analysed" in said.output, (place, named)
        assert "no compile command" not in said.output


def test_a_database_above_the_tree_of_another_project_is_passed_over_and_those_of_packages_are_read_together(
    nested: Path,
) -> None:
    other = nested / "src" / "other"
    other.mkdir()
    (other / "b.cpp").write_text("void f();\n")
    said = report(other)
    assert said.exit_code == 0 and "messages not analysed: There is no compile_commands.json above" in said.output
    (nested / "build").mkdir()
    for package in ("other", "package"):
        database(nested / "build" / package, list((nested / "src" / package).glob("*.cpp")), "-std=c++17")
    said = report(nested / "src", "-p", nested / "build")
    assert "\n3 files analysed, 0 sources not analysed" in said.output, "both sources, and a header"


def test_what_is_assigned_twice_on_a_line_is_told_from_turns_of_a_loop(nested: Path) -> None:
    said = report(nested / "src")
    found = [line.partition("assigned, but ")[2].partition(":")[0] for line in said.output.splitlines()]
    assert [line for line in found if line] == ["the same line assigned it", "an earlier turn of the loop assigned it"]


def test_names_of_ros_are_reported_without_a_build(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_text("import rospy\nrospy.sleep(1)\n")
    said = report(tmp_path)  # no C++, so nothing that needs a compiler
    assert said.exit_code == 0 and "b.py:2:1: rospy.sleep" in said.output
    (tmp_path / "a.cpp").write_text("void f(ros::WallRate&);\n")
    # A build that was asked for and is not there is an error; without -p there is a note alone.
    for options, status, level in (((), 0, "note"), (("-p", str(tmp_path / "gone")), 1, "error")):
        said = report(tmp_path, *options)
        assert (said.exit_code, said.stderr if said.stderr_bytes else "") == (status, ""), said.output
        assert "a.cpp:1:8: ros::WallRate" in said.output and "2 names of ROS" in said.output
        assert "\nmessages not analysed: There is no" in f"\n{said.output}" and "files analysed" not in said.output
        assert "compile_commands.json. Configure the build with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON" in said.output
        said = report(tmp_path, "--format", "json", *options)
        shown = json.loads(said.output)
        assert said.exit_code == status and [file["path"] for file in shown["names"]] == ["a.cpp", "b.py"]
        assert shown["messages_not_analysed"].startswith("There is no ")
        said = report(tmp_path, "--format", "sarif", *options)
        (run,) = json.loads(said.output)["runs"]
        assert said.exit_code == status and len(run["results"]) == 2
        assert run["invocations"][0]["executionSuccessful"] is (status == 0)
        (notification,) = run["invocations"][0]["toolExecutionNotifications"]
        assert (
            notification["level"] == level and "messages not analysed: There is no" in notification["message"]["text"]
        )


def keys(of: dict[str, Any], needed: set[str], allowed: set[str]) -> None:
    assert needed <= of.keys() <= needed | allowed


def test_sarif_has_the_structure_of_version_2_1_0() -> None:
    """What the schema of SARIF 2.1.0 requires of the objects that are written."""
    found = [
        Finding(findings.PUBLISH, 3, 5, "copied", ("a::B",), "x\ny"),
        Finding(findings.STRING, 1, 1, "again", ("a::B",)),
    ]
    whole = TreeReport("/a tree", [FileReport("src/a file.cpp", findings=found)], {"bad.cpp": "bad.cpp:1:1: error"})
    log = json.loads(json.dumps(sarif.sarif(whole, "1.2.3")))
    keys(log, {"version", "runs"}, {"$schema"})
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    keys(run, {"tool"}, {"results", "invocations", "originalUriBaseIds", "columnKind"})
    driver = run["tool"]["driver"]
    keys(driver, {"name"}, {"version", "rules"})
    assert all(rule["shortDescription"]["text"] and rule["id"] for rule in driver["rules"])
    assert len({rule["id"] for rule in driver["rules"]}) == len(findings.RULES)
    assert run["originalUriBaseIds"]["TREE"]["uri"] == "file:///a%20tree/"
    keys(run["invocations"][0], {"executionSuccessful"}, {"toolExecutionNotifications"})
    assert [result["level"] for result in run["results"]] == ["warning", "note"]
    for result in run["results"]:
        keys(result, {"message"}, {"ruleId", "ruleIndex", "level", "locations"})
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": "src/a%20file.cpp", "uriBaseId": "TREE"}
        assert place["region"]["startLine"] >= 1 and place["region"]["startColumn"] >= 1
    assert run["results"][0]["message"]["text"] == "copied\n\nx\ny"
