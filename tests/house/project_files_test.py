# SPDX-License-Identifier: Apache-2.0
"""The version has one source, and the files for editors and containers agree with the build."""

import configparser
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def read(path):
    return (ROOT / path).read_text()


def the_version():
    return re.search(r"^project\(baton VERSION (\d+\.\d+\.\d+)\b", read("CMakeLists.txt"), re.MULTILINE)[1]


FOLLOWERS = {
    "package.xml": r"^  <version>(.*)</version>$",
    "python/baton/__init__.py": r'^__version__ = "(.*)"$',
    "ros2/rmw_baton_cpp/package.xml": r"^  <version>(.*)</version>$",
    "lab/msg/perf_msgs/package.xml": r"^  <version>(.*)</version>$",
    "lab/performance_test/package.xml": r"^  <version>(.*)</version>$",
}


@pytest.mark.parametrize("path", FOLLOWERS)
def test_the_version_is_that_of_cmakelists(path):
    assert re.findall(FOLLOWERS[path], read(path), re.MULTILINE) == [the_version()]


def test_the_version_of_each_package_file_is_compared_by_a_test():
    out = subprocess.run(
        ["git", "ls-files", "*package.xml", "*pyproject.toml", ":!examples"],  # an example is its user's package
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    with_version = {path for path in out.split() if re.search(r"^(version = |\s*<version>)", read(path), re.MULTILINE)}
    assert with_version == set(FOLLOWERS) - {"python/baton/__init__.py"}


def test_the_changelog_knows_the_version():
    text = read("CHANGELOG.md")
    newest = re.search(r"^## (Unreleased|\d+\.\d+\.\d+)", text, re.MULTILINE)[1]
    if newest == "Unreleased":
        newest = re.search(r"^Will be (\d+\.\d+\.\d+)", text, re.MULTILINE)[1]
    assert newest == the_version()


def test_the_numbers_that_the_policy_names_are_there():
    rows = re.findall(r"`(k\w+)` in `([^`]+)`", read("CHANGELOG.md"))
    assert len(rows) == 5
    for constant, path in rows:
        assert re.search(rf"\bconstexpr [^;]*\b{constant} ?=", read(path)), f"{path} has no {constant}"


def test_editors_break_lines_where_the_formatters_do():
    columns = re.search(r"^ColumnLimit: (\d+)$", read(".clang-format"), re.MULTILINE)[1]
    ruff = re.search(r"^line-length = (\d+)$", read("pyproject.toml"), re.MULTILINE)[1]
    parser = configparser.ConfigParser()
    parser.read_string("[top]\n" + read(".editorconfig"))
    assert parser["*.{cpp,hpp,h,c,def}"]["max_line_length"] == columns
    assert parser["*.{py,pyi}"]["max_line_length"] == ruff


def test_clangd_reads_the_compile_commands_of_a_preset():
    folder = re.search(r"^  CompilationDatabase: build/(\w+)$", read(".clangd"), re.MULTILINE)[1]
    assert folder in {preset["name"] for preset in json.loads(read("CMakePresets.json"))["configurePresets"]}


def test_the_dev_container_is_made_by_a_verb_of_the_makefile():
    container = json.loads(read(".devcontainer/devcontainer.json"))
    verb = re.search(r"make (\w+)$", container["postCreateCommand"])[1]
    assert re.search(rf"^{verb}:", read("Makefile"), re.MULTILINE)


def test_make_help_prints_plain_text_in_two_columns():
    lines = subprocess.run(
        ["make", "--no-print-directory", "help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert len(lines) == len(re.findall(r"^\| `make", read("HACKING.md"), re.MULTILINE))
    assert not [line for line in lines if re.search(r"`|\]\(", line)], "Markdown"
    texts = [re.match(r" (?:make [\w-]+(?:, )?)+ +", line).end() for line in lines]
    assert len(set(texts)) == 1, "the texts begin in one column"


def test_the_checkouts_python_finds_the_package_of_the_release_build(tmp_path):
    script = re.search(r"<<'END'\n(.*?)^END$", read("scripts/setup.sh"), re.DOTALL | re.MULTILINE)[1]
    python = tmp_path / ".venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    subprocess.run([python, "-c", script], cwd=tmp_path, check=True)

    def found(**environment):
        command = [python, "-c", "import baton; print(baton.__path__[0])"]
        done = subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.splitlines()[-1]

    assert found() == "ModuleNotFoundError: No module named 'baton'"
    for build in ("release", "other"):
        (tmp_path / f"build/{build}/python/baton").mkdir(parents=True)
        (tmp_path / f"build/{build}/python/baton/__init__.py").touch()
    assert found() == f"{tmp_path}/build/release/python/baton"
    other = f"{tmp_path}/build/other/python"
    assert found(PYTHONPATH=other) == f"{other}/baton", "a test of another build gets that build"
