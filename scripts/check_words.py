#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a tracked text file uses a word that scripts/retired_words.txt has retired there, and when two classes of the products core and ros1
have one name that scripts/shared_names.txt does not list. These files explain their own form."""

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import checks

LIST = "scripts/retired_words.txt"
NEVER_SEARCHED = {LIST, "CHANGELOG.md"}
SHARED = "scripts/shared_names.txt"
PRODUCTS = "cli core generator link python ros1 ros2".split()
# Tests, and folders whose classes are those of other files: Python's of C++, the other classes of a header.
NO_CLASSES_OF_THEIR_OWN = re.compile(
    r"(^|/)(tests?|testing|fuzz|bench|golden|shadows)/|_test(_support)?\.|_fuzz\."
    r"|^python/baton/|^ros1/rospy/baton/|/baton/shared/"
)
# With its body: no declaration, and no class inside another.
CLASS = {
    ".py": re.compile(r"^class (\w+)", re.M),
    ".hpp": re.compile(
        r"^(?:template <.*>\s)?(?:class|struct|enum class|union) (?:\w+(?:\(.*?\))? )*?([A-Z]\w*)(?: final)?(?: :[^;{]*)? ?\{",
        re.M,
    ),
}
CLASS[".cpp"] = CLASS[".hpp"]


def retired(text):
    """[(pattern of the word, globs, globs that take files out again, the word to write instead)]"""
    words = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" : ")]
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"{LIST}:{number}: '{line}' is not '<word> : <globs> : <what to write instead>'")
        word, globs, instead = parts
        inside = [glob for glob in globs.split() if not glob.startswith("!")]
        outside = [glob[1:] for glob in globs.split() if glob.startswith("!")]
        words.append((re.compile(rf"(?<!\w){re.escape(word)}(?!\w)"), inside, outside, instead))
    return words


def shared_names(root, paths):
    """Classes with one name in several files, and lines of the list that have no such classes."""
    places = {}
    for path in paths:
        if path.split("/")[0] in PRODUCTS and Path(path).suffix in CLASS and not NO_CLASSES_OF_THEIR_OWN.search(path):
            for name in set(CLASS[Path(path).suffix].findall((root / path).read_text())):
                places.setdefault(name, []).append(path)
    shared = {name: files for name, files in places.items() if len(files) > 1}
    lines = (root / SHARED).read_text().splitlines() if (root / SHARED).exists() else []
    listed = {line.split(" : ")[0] for line in lines if line and not line.startswith("#")}
    problems = [
        f"{shared[name][0]}: {', '.join(shared[name][1:])} has a class '{name}', too; find another name, or say in {SHARED} why"
        for name in sorted(shared.keys() - listed)
    ]
    return problems + [
        f"{SHARED}: '{name}' is the name of one class; take it out" for name in sorted(listed - shared.keys())
    ]


def check(root):
    words = retired((root / LIST).read_text())
    out = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    paths = [path for path in out.splitlines() if (root / path).is_file()]
    problems = shared_names(root, paths)
    for path in paths:
        here = [
            (pattern, instead)
            for pattern, inside, outside, instead in words
            if any(fnmatchcase(path, glob) for glob in inside) and not any(fnmatchcase(path, glob) for glob in outside)
        ]
        if not here or path in NEVER_SEARCHED:
            continue
        try:
            lines = (root / path).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for pattern, instead in here:
            problems += [
                f"{path}:{number}: '{found.group()}' is retired; write {instead}"
                for number, line in enumerate(lines, 1)
                if (found := pattern.search(line))
            ]
            if found := pattern.search(Path(path).name):
                problems.append(f"{path}: '{found.group()}' is retired; name the file after {instead}")
    return problems


if __name__ == "__main__":
    sys.exit(checks.run("words", check))
