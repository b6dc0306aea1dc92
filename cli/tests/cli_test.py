# SPDX-License-Identifier: Apache-2.0
"""Verbs that need no running domain, called as a user calls them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from baton_cli import live, main
from baton_cli.examples import examples_of
from baton_cli.groups import VerbGroup
from baton_cli.main import baton
from baton_cli.near import near
from baton_cli.option_numbers import Seconds
from baton_cli.verbs import completion
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


def _commands(command: click.Command, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += _commands(inner, (*path, name))
    return found


def check_examples(path: tuple[str, ...], command: click.Command) -> None:
    lines = examples_of(command)
    assert lines, "add @examples(...), or an epilog of the same form"
    for line in lines:
        assert len(line) <= 76, f"{line} is wrapped on a terminal of 80 columns"
        words = shlex.split(line, comments=True)
        if words[0] != "baton":
            assert "baton completion" in line
            continue
        if ">" in words:
            words = words[: words.index(">")]
        assert words[1 : len(path)] == list(path[1:]), line
        inner: click.Command = baton
        words = words[1:]
        context = click.Context(inner)
        while words and isinstance(inner, click.Group) and not words[0].startswith("-"):
            name = words.pop(0)
            found = inner.get_command(context, name)
            assert found is not None, line
            inner, context = found, click.Context(found, parent=context, info_name=name)
        inner.make_context(inner.name, words, parent=context.parent)  # a mistake is a UsageError


def test_every_verb_s_help_has_examples_and_each_of_them_parses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "out" / "perf").mkdir(parents=True)
    for recording in ("run", "robot", "slam"):
        (tmp_path / f"out/perf/{recording}.jsonl.gz").touch()
    (tmp_path / "out/perf/atsa-steps.json").touch()
    monkeypatch.chdir(tmp_path)
    commands, wrong = _commands(baton, ("baton",)), []
    for path, command in commands:
        try:
            check_examples(path, command)
        except (AssertionError, click.ClickException) as error:
            wrong.append(f"{' '.join(path)}: {error}")
    assert len(commands) > 50 and wrong == []


def test_completion_is_written_where_the_shell_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    run("completion", "--install")
    assert (tmp_path / "fish/vendor_completions.d/baton.fish").read_text() == run("completion", "fish")
    assert "_BATON_COMPLETE=zsh_complete" in run("completion", "zsh")
    for shell in completion.PLACES:
        run("completion", shell, "--install")
        text = (tmp_path / completion.PLACES[shell]).read_text()
        if program := shutil.which(shell):
            subprocess.run([program, "-n", "/dev/stdin"], input=text, text=True, check=True, timeout=60)
    monkeypatch.setenv("SHELL", "/bin/dash")
    assert "name one of: bash, zsh, fish" in run("completion", code=2)


def test_bash_completes_a_verb_with_the_script(tmp_path: Path) -> None:
    (tmp_path / "baton").write_text(
        f'#!/bin/sh\nexec env PYTHONPATH={os.pathsep.join(filter(None, sys.path))} {sys.executable} -m baton_cli "$@"\n'
    )
    (tmp_path / "baton").chmod(0o755)
    code = f'{completion.script("bash")}\nCOMP_WORDS=(baton comp); COMP_CWORD=1; _baton_completion baton; echo "${{COMPREPLY[@]}}"'
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", code], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=240
    )
    assert done.stdout.split() == ["completion"], done.stderr


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
    assert "No such command 'nothing'." in run("nothing", code=2)


def test_an_unknown_verb_is_answered_with_the_near_ones() -> None:
    assert "No such command 'topik'. Did you mean 'topic' or 'top'?" in run("topik", code=2)
    assert "No such command 'ecko'. Did you mean 'echo'?" in run("topic", "ecko", code=2)
    assert "No such command 'echo'. Did you mean 'topic echo'?" in run("echo", "/x", code=2)
    for path, command in _commands(baton, ("baton",)):
        if isinstance(command, click.Group) and path[1:] not in (
            ("perf",),
            ("migrate",),
        ):  # other rooms, which do not know this one
            assert isinstance(command, VerbGroup), (path, "needs cls=VerbGroup")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("/image", ["/camera/image"]),
        ("/camera/imag", ["/camera/image", "/Camera/image_raw"]),
        ("/camera/image_raw", ["/Camera/image_raw", "/camera/image"]),
        ("/imu", []),
        ("/imu/", ["/imu"]),
        ("/" + "x" * 100_000, []),
    ],
)
def test_names_are_near_if_their_case_their_end_or_their_letters_are(name: str, found: list[str]) -> None:
    assert near(name, {"/camera/image", "/Camera/image_raw", "/imu", "/odom"}) == found


def test_a_crowd_of_names_is_not_compared(monkeypatch):
    """Any process may announce 65,536 names of 1,024 bytes."""

    def compare(*_, **__):
        raise AssertionError("it compares")

    monkeypatch.setattr("baton_cli.near.difflib.get_close_matches", compare)
    assert near("/Image", {"/image", "/camera/image", *(f"/{'imag' * 200}{n}" for n in range(1000))}) == [
        "/image",
        "/camera/image",
    ]


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


SEARCHING = {
    ("bridge",): ["--zenoh"],
    ("doctor",): [],
    ("generate",): ["std_msgs/String"],
    ("interface", "list"): [],
    ("interface", "package"): ["std_msgs"],
    ("image",): ["/image", "-o", "a.png"],
    ("interface", "show"): ["std_msgs/String"],
    ("node", "info"): ["camera"],
    ("node", "list"): [],
    ("play",): ["drive.mcap"],
    ("plot",): ["/cmd_vel.linear.x"],
    ("service", "call"): ["switch", "std_srvs/SetBool"],
    ("service", "find"): ["std_srvs/SetBool"],
    ("service", "info"): ["switch"],
    ("service", "list"): [],
    ("service", "type"): ["switch"],
    ("split",): ["std_msgs/String"],
    ("stubs",): ["std_msgs"],
    ("top",): [],
    ("topic", "bw"): ["chatter"],
    ("topic", "delay"): ["chatter"],
    ("topic", "echo"): ["chatter"],
    ("topic", "find"): ["std_msgs/String"],
    ("topic", "hz"): ["chatter"],
    ("topic", "info"): ["chatter"],
    ("topic", "list"): [],
    ("topic", "pub"): ["chatter", "std_msgs/String"],
    ("topic", "type"): ["chatter"],
    ("view",): [],
}


def test_a_build_that_has_not_ended_is_named(tmp_path: Path, monkeypatch) -> None:
    broken = tmp_path / "build/release/python/baton"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("from . import _core\n")
    monkeypatch.setattr(live, "__file__", str(tmp_path / "cli/baton_cli/live.py"))
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not (Path(p) / "baton").exists()])
    for name in [m for m in sys.modules if m == "baton" or m.startswith("baton.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(click.ClickException, match="is not complete, or of another Python .*make build"):
        live.load()


def test_every_verb_that_takes_search_refuses_a_directory_without_packages(tmp_path: Path, monkeypatch) -> None:
    try:
        live.load()
    except click.ClickException:
        pytest.skip("the Python package is not built: make build")
    monkeypatch.setenv("BATON_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.chdir(tmp_path)
    takes = {path[1:] for path, c in _commands(baton, ("baton",)) if any("--search" in o.opts for o in c.params)}
    assert takes == set(SEARCHING)
    (tmp_path / "src").mkdir()
    for verb, arguments in SEARCHING.items():
        said = run(*verb, *arguments, "--search", "src", code=1)
        assert "no package in or below 'src': no directory has msg/*.msg or srv/*.srv" in said, (verb, said)
        assert "way out: give directories that contain packages" in said, (verb, said)


def test_all_errors_of_an_interface_are_shown_at_once_with_their_lines(tmp_path: Path) -> None:
    folder = tmp_path / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Outer.msg").write_text("Inner inner\nunit8 mode\nfloat64 9x\n")
    (folder / "Inner.msg").write_text("foo\nNoSuch other\n")
    places = {"Outer.msg:2:1", "Outer.msg:3:9", "Inner.msg:1:1", "Inner.msg:2:1"}
    for arguments in (("interface", "show", "my_msgs/Outer"), ("generate", "my_msgs", "-o", str(tmp_path / "out"))):
        said = run(*arguments, "--search", str(tmp_path), code=1)
        assert {
            line.split(": error:")[0].rpartition("/")[2] for line in said.splitlines() if "error:" in line
        } == places
        assert said.count("error:") == 4


def test_the_version_of_a_checkout_names_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(tmp_path), *settings, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert main.commit_of(tmp_path) == ""
    git("init", "-q")
    assert main.commit_of(tmp_path) == "", "no commit yet"
    (tmp_path / "file").write_text("1")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    first = git("rev-parse", "--short", "HEAD")
    assert main.commit_of(tmp_path) == first
    git("tag", "v0.1.0")
    git("commit", "-q", "--allow-empty", "-m", "second")
    second = git("rev-parse", "--short", "HEAD")
    (tmp_path / "file").write_text("2")
    assert main.commit_of(tmp_path) == f"v0.1.0-1-g{second}-dirty"
    assert re.fullmatch(r"baton, version \d+\.\d+\.\d+( \(a checkout\))?( \(git \S+\))?\n", run("--version"))
    monkeypatch.setattr("baton_cli.main.commit_of", lambda checkout: "abc1234-dirty")
    assert run("--version").endswith(" (git abc1234-dirty)\n")
    monkeypatch.setattr("baton_cli.version_of_installation", "1.2.3")
    assert run("--version") == "baton, version 1.2.3\n", "an installation says what it was made of"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["top", "--interval", "nan"], "nan is no number"),
        (["log", "--timeout", "nan"], "nan is no number"),
        (["doctor", "--look", "nan"], "nan is no number"),
        (["topic", "list", "--domain", "99999999999999999999999"], "0<=x<=9999"),
        (["topic", "hz", "--domain", "10000", "/image"], "0<=x<=9999"),
        (["heap", "list", "--domain", "99999999999999999999999"], "0<=x<=9999"),
        (["record", "--snapshot", "nan", "/image"], "nan is no number"),
    ],
)
def test_a_number_that_an_option_cannot_have_is_refused(arguments: list[str], said: str) -> None:
    assert said in run(*arguments, code=2)


def test_times_without_end_are_times() -> None:
    seconds = Seconds(min=0)
    assert seconds.convert("inf", None, None) == seconds.convert("1e300", None, None) == 1e9
    assert seconds.convert("0.5", None, None) == 0.5


def test_without_a_home_completion_names_the_variable_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert "set HOME or XDG_DATA_HOME" in run("completion", "--install", "bash", code=1)
