# SPDX-License-Identifier: Apache-2.0
"""The verbs that need no running system, as a user calls them."""

import json
from pathlib import Path

import pytest
from baton_cli.main import baton
from click.testing import CliRunner


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(baton, arguments)
    assert result.exit_code == code, result.output
    return result.output


@pytest.fixture(autouse=True)
def no_ros(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.setenv("COLUMNS", "140")


def test_help_lists_the_verbs() -> None:
    output = run("--help")
    assert "generate" in output
    assert "split" in output
    assert "--store" in run("split", "-h")


def test_a_room_that_is_not_installed_brings_no_verbs_and_hides_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Measure Baton" in run("--help")
    monkeypatch.setattr("baton_cli.main.VERB_PACKAGES", ("baton_cli.verbs", "baton_not_installed.verbs"))
    output = run("--help")
    assert "Measure Baton" not in output
    assert "doctor" in output


@pytest.mark.parametrize("group", [[], ["topic"], ["node"], ["interface"], ["service"]])
def test_help_cuts_no_sentence_on_a_terminal_of_80_columns(group: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "..." not in run(*group, "--help").partition("Commands:")[2]


def test_split_shows_control_and_data() -> None:
    output = run("split", "sensor_msgs/Image")
    assert "uint8[]" in output
    assert "variable-length array of a fixed-length type" in output
    (image,) = json.loads(run("split", "sensor_msgs/msg/Image", "--json"))
    assert image["data"] == [{"path": "data", "type": "uint8[]"}]
    assert [member["path"] for member in image["control"]][-3:] == ["encoding", "is_bigendian", "step"]


def test_split_shows_both_halves_of_a_service() -> None:
    assert [t["type"] for t in json.loads(run("split", "std_srvs/SetBool", "--json"))] == [
        "std_srvs/SetBool_Request",
        "std_srvs/SetBool_Response",
    ]


def test_split_counts_a_standard_set() -> None:
    counted = json.loads(run("split", "--store", "ros1_noetic", "--json"))
    assert (counted["total"], counted["need_support"], counted["supported"], counted["unsupported"]) == (164, 56, 47, 9)
    assert counted["baton_without_serialization"] == counted["total"]
    assert "actionlib_msgs/GoalStatusArray" in counted["unsupported_types"]
    kilted = json.loads(run("split", "--store", "ros2_kilted", "--json"))
    assert (kilted["total"], kilted["need_support"], kilted["supported"], kilted["unsupported"]) == (163, 66, 56, 10)
    one = json.loads(run("split", "--store", "ros1_noetic", "--package", "sensor_msgs", "--json"))
    assert one["total"] < 40
    assert "the paper" in run("split", "--store", "ros2_kilted")


def test_split_counts_a_tree(tmp_path: Path) -> None:
    (tmp_path / "a" / "msg").mkdir(parents=True)
    (tmp_path / "a" / "msg" / "One.msg").write_text("uint8[] data\nstd_msgs/Header header\n")
    (tmp_path / "a" / "msg" / "Two.msg").write_text("string[] words\n")
    counted = json.loads(run("split", "--tree", str(tmp_path), "--json"))
    assert (counted["total"], counted["supported"], counted["unsupported_types"]) == (2, 1, ["a/Two"])


def test_mistakes_are_explained() -> None:
    assert "did you mean 'Image'" in run("split", "sensor_msgs/Imag", code=1)
    assert "there are ros1_noetic" in run("split", "--store", "ros3", code=2)
    assert "is not the name of a type" in run("split", "Image", code=1)
    assert "Give either TYPEs" in run("split", code=2)
    assert "Nothing to generate" in run("generate", code=2)
    assert "No such command" in run("nothing", code=2)


def test_generate_writes_headers(tmp_path: Path) -> None:
    (tmp_path / "Mine.msg").write_text("sensor_msgs/Image image\n")
    out = tmp_path / "include"
    output = run(
        "generate",
        "std_srvs",
        "geometry_msgs/Pose",
        "--file",
        str(tmp_path / "Mine.msg"),
        "--package-name",
        "my_msgs",
        "-o",
        str(out),
    )
    written = {str(p.relative_to(out)) for p in out.rglob("*.hpp")}
    assert {
        "baton/msg/my_msgs/mine.hpp",
        "baton/msg/sensor_msgs/image.hpp",
        "baton/msg/std_msgs/header.hpp",
        "baton/srv/std_srvs/set_bool.hpp",
        "baton/msg/geometry_msgs/point.hpp",
    } <= written
    assert f"{len(written)} headers" in output


def test_interfaces_of_all_packages_are_listed():
    lines = run("interface", "list").splitlines()
    assert {"sensor_msgs/msg/Image", "std_srvs/srv/SetBool"} <= set(lines)
    assert lines == sorted(lines, key=lambda line: line.split("/")[0])
    assert all("/srv/" in line for line in run("interface", "list", "-s").splitlines())
    assert all("/msg/" in line for line in run("interface", "list", "-m").splitlines())
