# SPDX-License-Identifier: Apache-2.0
"""scripts/fill_page.py replaces a text between the marks of a page."""

import subprocess
import sys
from pathlib import Path

import record_results

ROOT = Path(__file__).resolve().parents[2]


def fill(page: Path, name: str, text: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, ROOT / "scripts/fill_page.py", page, name, text]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_only_the_text_between_the_marks_of_this_name_changes(tmp_path):
    page, text = tmp_path / "page.md", tmp_path / "text.md"
    text.write_text("| new \\1 |\n")
    marks = "before\n<!-- recorded: {} -->\n{}<!-- end of recorded -->\n"
    page.write_text(marks.format("a", "| old |\n") + marks.format("b", "| old |\n"))
    for _ in range(2):  # the second time nothing changes
        assert fill(page, "b", text).returncode == 0
        assert page.read_text() == marks.format("a", "| old |\n") + marks.format("b", "| new \\1 |\n")


def test_a_page_without_the_marks_stays_as_it_is_and_is_named(tmp_path):
    page, text = tmp_path / "page.md", tmp_path / "text.md"
    text.write_text("new")
    page.write_text("old")
    done = fill(page, "a", text)
    assert done.returncode == 1
    assert "page.md" in done.stderr and "<!-- recorded: a -->" in done.stderr
    assert page.read_text() == "old"


def test_the_pages_of_recorded_groups_have_the_marks_that_make_results_fills():
    pages = [group.page for group in record_results.GROUPS.values() if group.page is not None]
    assert len(pages) == 2
    for page in pages:
        assert (ROOT / page.path).read_text().count(f"<!-- recorded: {page.name} -->\n") == 1
