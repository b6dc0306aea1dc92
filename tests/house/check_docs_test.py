# SPDX-License-Identifier: Apache-2.0
"""scripts/check_docs.py finds documents that do not agree with the code."""

import subprocess
from pathlib import Path

import check_docs
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def problems(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "Makefile").write_text("test: ; true\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.cpp").write_text("// SPDX-License-Identifier: Apache-2.0\nint main() {}\n")

    def check(text):
        (tmp_path / "README.md").write_text(text)
        return check_docs.check(tmp_path)

    return check


@pytest.mark.parametrize(
    "text",
    [
        "[code](src/a.cpp) and [web](https://example.org/x)",
        "`make test` reads `src/a.cpp`, that is `a.cpp`, and writes `build/release`; `python your_program.py`",
        "<!-- file: src/a.cpp -->\n```cpp\nint main() {}\n```\n",
        "```\n[not](a-link)\n`make nothing`\n```\n",
        "# `Two` words, and a sign\n[here](#two-words-and-a-sign) and [there](README.md#two-words-and-a-sign)",
    ],
)
def test_true_statements_pass(problems, text):
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[code](src/b.cpp)", "leads nowhere"),
        ("`make coffee`", "no verb 'coffee'"),
        ("# One\n[here](#two)", "no heading 'two'"),
        ("see `src/b.cpp`", "there is no 'src/b.cpp'"),
        ("see `b.cpp`", "no file is called 'b.cpp'"),
        ("<!-- file: src/a.cpp -->\n```cpp\nint main() { return 1; }\n```\n", "not the text of src/a.cpp"),
        ("<!-- file: src/b.cpp -->\n```cpp\n```\n", "to show"),
    ],
)
def test_false_statements_are_found(problems, text, complaint):
    (problem,) = problems(text)
    assert complaint in problem


GONE = "docs" + "/gone.md"  # in two pieces: this file, too, is checked for pages that do not exist


def test_a_page_that_a_source_names_must_exist(problems, tmp_path):
    (tmp_path / "src/b.py").write_text(f"# as in docs/architecture.md and {GONE}\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text("# Architecture\n")
    (problem,) = problems("")
    assert problem == f"src/b.py:1: there is no page '{GONE}'"


@pytest.mark.parametrize(
    ("page", "index", "complaint"),
    [
        ("guides/a.md", "## Guides\n[a](guides/a.md)\n", None),
        ("guides/a.md", "## Concepts\n[a](guides/a.md)\n", "no link to it in the section 'Guides'"),
        ("format/a.md", "## Guides\n", "no link to it in the section 'Formats'"),
        ("a.md", "[a](a.md)\n", "a page lies in one of"),
        ("guides/deep/a.md", "## Guides\n[a](guides/deep/a.md)\n", "a page lies in one of"),
    ],
)
def test_each_page_has_one_kind_and_a_line_in_the_index(problems, tmp_path, page, index, complaint):
    (tmp_path / "docs" / page).parent.mkdir(parents=True)
    (tmp_path / "docs" / page).write_text("# A\n")
    (tmp_path / "docs/README.md").write_text(index)
    found = problems("")
    assert found == [] if complaint is None else complaint in found[0] and len(found) == 1


def test_the_repositorys_documents_are_true():
    assert check_docs.check(ROOT) == []
