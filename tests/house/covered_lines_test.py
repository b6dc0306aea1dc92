# SPDX-License-Identifier: Apache-2.0
"""The comparison of two lists of covered lines. A line is followed through the changes since the older list."""

import subprocess

import covered_lines
import pytest


@pytest.fixture
def repository(tmp_path):
    """git(*words) in a repository whose one commit has two files of ten lines; `after` commits what a function changes: the diff to the first."""

    def git(*words):
        settings = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        return subprocess.run(
            ["git", *settings, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    def after(change):
        git("init", "-q")
        for name in ("a.cpp", "b.cpp"):
            (tmp_path / name).write_text("".join(f"{name} line {number}\n" for number in range(1, 11)))
        git("add", ".")
        git("commit", "-qm", "first")
        change(tmp_path)
        git("add", ".")
        return git("diff", "-U0", "-M", "--no-color", "--no-ext-diff", "HEAD")

    return after


def edit(name, change):
    def apply(folder):
        lines = (folder / name).read_text().splitlines(keepends=True)
        change(lines)
        (folder / name).write_text("".join(lines))

    return apply


OLD = {("a.cpp", number) for number in (1, 5, 10)} | {("b.cpp", 2)}


@pytest.mark.parametrize(
    ("change", "now"),
    [
        (lambda folder: None, OLD),
        (edit("a.cpp", lambda lines: lines.insert(0, "new\n")), {("a.cpp", n) for n in (2, 6, 11)} | {("b.cpp", 2)}),
        (edit("a.cpp", lambda lines: lines.insert(5, "new\n")), {("a.cpp", n) for n in (1, 5, 11)} | {("b.cpp", 2)}),
        (edit("a.cpp", lambda lines: lines.__delitem__(slice(4, 6))), {("a.cpp", 1), ("a.cpp", 8), ("b.cpp", 2)}),
        (edit("a.cpp", lambda lines: lines.__setitem__(4, "x\n")), {("a.cpp", 1), ("a.cpp", 10), ("b.cpp", 2)}),
        (
            lambda folder: (folder / "b.cpp").rename(folder / "c.cpp"),
            {("a.cpp", n) for n in (1, 5, 10)} | {("c.cpp", 2)},
        ),
        (lambda folder: (folder / "b.cpp").unlink(), {("a.cpp", n) for n in (1, 5, 10)}),
    ],
    ids=["nothing", "a line before", "a line behind", "lines taken away", "a line rewritten", "renamed", "removed"],
)
def test_a_covered_line_is_followed_through_a_change(repository, change, now):
    assert covered_lines.moved(OLD, repository(change)) == now


def test_a_line_is_lost_if_it_is_still_there_and_not_covered(repository):
    diff = repository(edit("a.cpp", lambda lines: lines.__setitem__(slice(0, 2), ["one line for two\n"])))
    assert covered_lines.lost_lines(OLD, diff, {("a.cpp", 4), ("a.cpp", 1)}) == [("a.cpp", 9), ("b.cpp", 2)]


def test_a_list_reads_as_it_was_written(tmp_path):
    covered_lines.write_lines(tmp_path / "lines.txt", "abc", OLD)
    assert (tmp_path / "lines.txt").read_text() == "commit abc\na.cpp:1\na.cpp:5\na.cpp:10\nb.cpp:2\n"
    assert covered_lines.read_lines(tmp_path / "lines.txt") == ("abc", OLD)


@pytest.mark.parametrize(
    ("path", "product"),
    [
        ("core/memory/src/window.cpp", True),
        ("python/baton/_link.py", True),
        ("core/node/include/baton/node/node.hpp", True),
        ("core/memory/src/window_test.cpp", False),
        ("core/transport/src/testing/pair.cpp", False),
        ("tests/hostile/scene.py", False),
        ("cli/tests/conftest.py", False),
        ("core/message/CMakeLists.txt", False),
        ("examples/python/talker.py", False),
        ("core/transport/src/hub_peer_main.cpp", False),
        ("link/src/link_main.cpp", True),
        ("core/os/src/process.cpp", True),
        ("cli/tests/some_process.py", False),
    ],
)
def test_tests_and_their_programs_are_no_product(path, product):
    assert covered_lines.is_product(path) is product
