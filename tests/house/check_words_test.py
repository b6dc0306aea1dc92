# SPDX-License-Identifier: Apache-2.0
"""scripts/check_words.py finds retired words."""

import subprocess
from pathlib import Path

import check_words
import pytest

ROOT = Path(__file__).resolve().parents[2]

RETIRED = "# a comment\n\nkBell : *.cpp *.md !old/* : kWakeSocket\nwho waits : docs/* : the waiter\n"


@pytest.fixture
def problems(tmp_path):
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)

    def check(path, text, retired=RETIRED):
        for name, content in (("scripts/retired_words.txt", retired), (path, text)):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        return check_words.check(tmp_path)

    return check


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.cpp", "return kWakeSocket;"),
        ("a.cpp", "return kBells + okBell + kBell_;"),  # parts of other words
        ("a.cpp", "return kbell;"),
        ("a.py", "kBell = 1"),  # in no glob of this word
        ("old/deep/a.cpp", "return kBell;"),
        ("a.md", "who waits"),
        ("CHANGELOG.md", "kBell became kWakeSocket"),
    ],
)
def test_other_words_and_other_files_pass(problems, path, text):
    assert problems(path, text) == []


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("a.cpp", "int x;\nreturn kBell;", "a.cpp:2: 'kBell' is retired; write kWakeSocket"),
        ("b/deep/a.md", "`kBell`", "b/deep/a.md:1: 'kBell' is retired; write kWakeSocket"),
        ("docs/deep/a.txt", "for who waits.", "docs/deep/a.txt:1: 'who waits' is retired; write the waiter"),
        ("kBell.cpp", "", "kBell.cpp: 'kBell' is retired; name the file after kWakeSocket"),
    ],
)
def test_a_retired_word_is_found(problems, path, text, complaint):
    assert problems(path, text) == [complaint]


def test_a_line_that_cannot_be_read_is_named(problems):
    with pytest.raises(ValueError, match="retired_words.txt:1"):
        problems("a.cpp", "", "kBell kWakeSocket\n")


def test_the_repository_uses_no_retired_word():
    assert check_words.check(ROOT) == []


TWO = {
    "core/os/src/a.hpp": "namespace baton {\nclass Slot final : public Base {\n};\nstruct Inner;\n}",
    "link/src/b.cpp": "template <class T>\nstruct BATON_LOCK_WORD(x) Slot {\n  struct Deep {\n  };\n};",
    "ros1/api/c.hpp": "struct Deep {\n  int x;\n};",
    "core/node/src/d_test.cpp": "struct Deep {\n};",
    "python/baton/e.py": "class Deep:\n    pass\n",
    "lab/f.py": "class Deep:\n    pass\n",
}


@pytest.mark.parametrize(
    ("listed", "complaints"),
    [
        ("", ["core/os/src/a.hpp: link/src/b.cpp has a class 'Slot', too; find another name, or say in scripts/shared_names.txt why"]),
        ("# a comment\nSlot : a reason\n", []),
        ("Slot : a reason\nDeep : a reason\n", ["scripts/shared_names.txt: 'Deep' is the name of one class; take it out"]),
    ],
)  # fmt: skip
def test_two_classes_of_the_product_have_one_name_only_if_the_list_has_the_reason(tmp_path, listed, complaints):
    for path, text in {**TWO, "scripts/shared_names.txt": listed}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert check_words.shared_names(tmp_path, sorted(TWO)) == complaints
