# SPDX-License-Identifier: Apache-2.0
"""scripts/check_figures.py finds measured figures that stand in a page by hand, and commits that the history does not have."""

import subprocess
from pathlib import Path

import check_figures
import pytest

ROOT = Path(__file__).resolve().parents[2]


def found(kind: str, text: str) -> list[tuple[int, str]]:
    """In a page of this kind."""
    return list(check_figures.figures(f"docs/{kind}/page.md", text))


def test_no_page_has_a_measured_figure_by_hand_or_names_an_absent_commit():
    assert check_figures.check(ROOT) == []


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("The wake is at **1.60 [1.43, 1.75]** of the futex.", "[1.43, 1.75]"),
        ("A push that evicts: 9 ns.", "9 ns"),
        ("It takes some 20 to 100 µs at each size.", "100 µs"),
        ("| stock | 4.0 ms |", "4.0 ms"),
        ("all connected after 1.05 s, bar 10 s", "1.05 s"),
        ("With TLS it carried 1.15 GB/s.", "1.15 GB/s"),
        ("Over TCP a line carries 6 MB a second.", "6 MB a second"),
        ("the ratio is 1.36x beside it", "1.36x"),
        ("transport has 12 % of the latency", "12 %"),
        ("1.02 times the time of one", "1.02 times"),
        ("The median is then 12 ms.", "12 ms"),
        ("p50 is\nthen 12 ms. A wait of 10 s ends it.", "12 ms"),
        ("at most two are lost, and the time is 4.0 ms, which is short", "4.0 ms"),
        ("The paper has 3.0 ms. Here it is 4.0 ms.", "4.0 ms"),
        ("ROS 2 is 40 % slower", "40 %"),
    ],
)
def test_a_measured_figure_is_found(text, figure):
    assert found("guides", f"# A\n\n{text}\n") == [(3 + text.count("\n", 0, text.index(figure)), figure)]


@pytest.mark.parametrize(
    "text",
    [
        "It waits 100 ms, then 5 s.",
        "A round trip takes at most 2.5 ms.",
        "| `link-rate` | at least 0.9 times as fast |",
        "The library is within 1.1 times the floor.",
        "ROS-SF (section 5.2, Fig. 16) has 69.9 % less.",
        "Its interval is the 95 % interval of the median.",
        "| T1 | the light | simulated: 0.4 m/s², so 1.5 s and 45 cm |",
        "An image of 1920 x 1080 has 6.2 MB at 30 Hz over 10 Gbit/s.",
        "`executor.set_spin(50us)` and `0x41`; version 1.15.15",
        "```sh\nsleep 0.5 s\n```",
        "<!-- results: a b -->\n| 1.2 [1.1, 1.3] | 4.0 ms |\n<!-- end of results -->",
        "<!-- recorded: a -->\n4.0 ms\n<!-- end of recorded -->",
    ],
)
def test_other_numbers_and_figures_written_by_a_command_pass(text):
    assert found("guides", f"{text}\n") == []


def test_a_number_alone_in_a_table_counts_in_the_results_only():
    text = "| | 64 B |\n| --- | --- |\n| **Baton** | 353 |\n"
    assert found("results", text) == [(3, "353")]
    assert found("format", text) == []


def test_a_figure_between_two_blocks_counts():
    block = "<!-- recorded: a -->\n4.0 ms\n<!-- end of recorded -->\n"
    assert found("results", f"{block}then 5.0 ms\n{block}") == [(4, "5.0 ms")]


@pytest.fixture
def checkout(tmp_path):
    """A repository with one commit, and git(*words), which runs git in it and returns its output."""

    def git(*words, folder=tmp_path):
        identity = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    return tmp_path, git


def test_a_commit_that_the_history_does_not_have_is_named_and_the_way_out(checkout):
    folder, git = checkout
    (folder / "a.md").write_text(f"Recorded at `{git('rev-parse', 'HEAD')[:12]}`.\n\nOf 4d33d5220d1f, and 12 ns.\n")
    figure, commit = check_figures.check(folder)
    assert figure.startswith("a.md:3: '12 ns' is a measured figure") and "fill_page.py" in figure
    assert commit.startswith("a.md:3: the history has no commit 4d33d5220d1f: ") and "make results" in commit


def test_a_shallow_clone_checks_no_commits(checkout):
    folder, git = checkout
    (folder / "a.md").write_text("Of 4d33d5220d1f.\n")
    git("add", "a.md")
    git("commit", "-q", "-m", "second")
    git("clone", "-q", "--depth", "1", f"file://{folder}", str(folder / "clone"))
    assert len(check_figures.check(folder)) == 1  # the clone is not tracked
    assert check_figures.check(folder / "clone") == []
