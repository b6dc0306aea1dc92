#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a page says a measured figure that no command wrote, or names a commit that the history does not have.

A measured figure is a number with an interval, a time that is shorter than a millisecond or has a fraction, a rate in bytes, a ratio or a share; any time in a
sentence about a measurement; and in docs/results each cell of a table that is a number. Code, and blocks that a command writes, are not looked at:
`<!-- results: NAME -->` to `<!-- end of results -->` (make_results.py), `<!-- recorded: NAME -->` to `<!-- end of recorded -->` (fill_page.py), and the pages
of WRITTEN. ALLOWED has the kinds of numbers that are no measurement.
"""

import re
import subprocess
import sys

import checks
from check_docs import tracked

WAY_OUT = "write the command that shows it and the criterion that holds it, or let a command write it between marks (scripts/fill_page.py)"

# Pages that a command writes as a whole.
WRITTEN = ("docs/results/durations.md", "docs/results/nightly.md")
BLOCK = re.compile(r"<!-- (results|recorded): [^\n]*? -->\n.*?<!-- end of \1 -->", re.DOTALL)
CODE = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.DOTALL | re.MULTILINE)

NUMBER = r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?"
TIME = r"(?:ns|us|µs|ms|s|nanoseconds?|microseconds?|milliseconds?|seconds?|minutes?)\b"
FIGURE = re.compile(
    rf"\[{NUMBER}, ?{NUMBER}\]"
    rf"|{NUMBER} ?(?:ns|us|µs|nanoseconds?|microseconds?)\b"
    rf"|(?<![\w.])\d+\.\d+ ?{TIME}"
    rf"|{NUMBER} ?(?:[kKMGT]i?B/s|[kKMGT]i?B a second)"
    rf"|{NUMBER}(?:x\b| ?%)"
    r"|(?<![\w.])\d+\.\d+ (?:times|of the)\b"
)
MEASURED = re.compile(r"\bmedians?\b|\bp(?:50|90|99)\b|\bload average\b|\bmeasured\b|\btook\b|\bin one run\b")
TIMED = re.compile(rf"{NUMBER} ?{TIME}")
CELL = re.compile(rf"(?<=\|) *\**{NUMBER}(?: / \d+)?\** *(?=\|)")

# kind: how its sentence or row looks, with AT before the number
AT = "\N{LOZENGE}"
ALLOWED = {
    "a bound": rf"\b(?:at most|at least|up to|no more than|less than|within|below|above|bars? of)\b[^.,|{AT}]{{0,40}}{AT}",
    "a number of a paper": r"\A(?![\s\S]*\bBaton\b)[\s\S]*\b(?:TZC|LOT|TogetheROS|ROS-SF|ATSA|[Tt]he paper)\b",
    "what is simulated": rf"\bsimulated: [^|]*{AT}",
    "the confidence of an interval": rf"{AT}95 % interval",
}

# As the pages write it.
COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{12}\b")


def blank(found: re.Match) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def sentence(text: str, at: int) -> str:
    """The sentence, or the row of a table, that has this place, with AT there."""
    ends = r"(?<!Fig)(?<!Figs)[.:;!?]\s(?<!simulated:\s)|\n\s*\n|\n(?=\s*(?:[-|#]|\d+\. ))"
    begin = max((found.end() for found in re.finditer(ends, text[:at])), default=0)
    end = re.search(ends, text[at:])
    return text[begin:at] + AT + text[at : at + end.start() if end else len(text)]


def figures(path: str, text: str):
    """(line, figure) for each measured figure that stands in a page by hand."""
    text = CODE.sub(blank, BLOCK.sub(blank, text))
    places = {found.start(): found.group() for found in FIGURE.finditer(text)}
    places |= {f.start(): f.group() for f in TIMED.finditer(text) if MEASURED.search(sentence(text, f.start()))}
    if path.startswith("docs/results/"):
        places |= {found.start(): found.group() for found in CELL.finditer(text)}
    for at, figure in sorted(places.items()):
        if not any(re.search(kind, sentence(text, at)) for kind in ALLOWED.values()):
            yield text.count("\n", 0, at) + 1, " ".join(figure.split())


def absent_commits(root, commits: set[str]) -> set[str]:
    """Those that the history does not have; of a shallow clone nothing is known."""
    git = ["git", "-C", str(root)]
    shallow = subprocess.run([*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True, check=True)
    if shallow.stdout.strip() != "false":
        return set()
    history = subprocess.run([*git, "rev-list", "HEAD"], capture_output=True, text=True, check=True).stdout.split()
    return commits - {commit[:12] for commit in history}


def check(root):
    problems, named = [], []
    for path in tracked(root):
        if not path.endswith(".md"):
            continue
        text = (root / path).read_text()
        if path not in WRITTEN:
            problems += [
                f"{path}:{line}: '{figure}' is a measured figure that stands by hand: {WAY_OUT}"
                for line, figure in figures(path, text)
            ]
        named += [(path, text.count("\n", 0, found.start()) + 1, found.group()) for found in COMMIT.finditer(text)]
    absent = absent_commits(root, {commit for *_, commit in named})
    problems += [
        f"{path}:{line}: the history has no commit {commit}: record what stands there again (make results), or take it out"
        for path, line, commit in named
        if commit in absent
    ]
    return problems


if __name__ == "__main__":
    sys.exit(checks.run("figures", check))
