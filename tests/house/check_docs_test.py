# SPDX-License-Identifier: Apache-2.0
"""scripts/check_docs.py catches documents that left the code behind."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("check_docs", ROOT / "scripts/check_docs.py")
check_docs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check_docs)


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
        "`make test` reads `src/a.cpp` and writes `build/release`",
        "<!-- file: src/a.cpp -->\n```cpp\nint main() {}\n```\n",
        "```\n[not](a-link)\n`make nothing`\n```\n",
    ],
)
def test_true_statements_pass(problems, text):
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[code](src/b.cpp)", "leads nowhere"),
        ("`make coffee`", "no verb 'coffee'"),
        ("see `src/b.cpp`", "there is no 'src/b.cpp'"),
        ("<!-- file: src/a.cpp -->\n```cpp\nint main() { return 1; }\n```\n", "not the text of src/a.cpp"),
        ("<!-- file: src/b.cpp -->\n```cpp\n```\n", "to show"),
    ],
)
def test_false_statements_are_found(problems, text, complaint):
    (problem,) = problems(text)
    assert complaint in problem


def test_the_repositorys_documents_are_true():
    assert check_docs.check(ROOT) == []
