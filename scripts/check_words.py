#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a tracked text file uses a word that scripts/retired_words.txt has retired there. That file explains its own form."""

import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import checks

LIST = "scripts/retired_words.txt"
NEVER_SEARCHED = {LIST, "CHANGELOG.md"}


def retired(text):
    """[(pattern of the word, globs, globs that take files out again, what to write instead)]"""
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


def check(root):
    words = retired((root / LIST).read_text())
    out = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    problems = []
    for path in out.splitlines():
        here = [
            (pattern, instead)
            for pattern, inside, outside, instead in words
            if any(fnmatchcase(path, glob) for glob in inside) and not any(fnmatchcase(path, glob) for glob in outside)
        ]
        if not here or path in NEVER_SEARCHED or not (root / path).is_file():
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
