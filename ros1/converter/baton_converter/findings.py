# SPDX-License-Identifier: Apache-2.0
"""What is found in the files: plain data, which goes from the processes that parse to the one that reports."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from baton_cli.ros_names import RULE as NAME
from baton_cli.ros_names import Found

STRING = "string-reassignment"
RESIZE = "vector-multi-resize"
OTHER = "other-method"
# ROS-SF's assumptions (paper, 4.3.3) in the order of Table 1; its columns.
ASSUMPTIONS = {STRING: "string reassignment", RESIZE: "vector multi-resize", OTHER: "other methods"}

PUBLISH = "publish-copies"
GROWTH = "growth-without-reserve"
ZEROS = "zeros-before-overwrite"
LATE = "late-growth"
STRINGS = "string-after-array"
PIXELS = "copy-of-pixels"
POINTS = "copy-of-points"
CALLBACK = "callback-copies"
KEPT = "kept-message"

# The rules, with what SARIF shows of each.
RULES = {
    STRING: "A string of a message is assigned again, which ROS-SF reports as an error. Baton does not mind.",
    RESIZE: "A vector of a message is resized again, which ROS-SF reports as an error. Baton does not mind.",
    OTHER: "A modifying method that ROS-SF's strings and vectors lack, so the source would not compile. Baton has it.",
    PUBLISH: "A message is published as an object and so copied; by pointer it is handed over.",
    GROWTH: "A vector grows element by element in a loop, without reserve.",
    ZEROS: "resize() writes zeros that are overwritten at once.",
    LATE: "A vector grows after another part of its message did; a message of Baton then moves it.",
    STRINGS: "A string is set after a large vector; in a message of Baton it then lies behind the vector.",
    PIXELS: "Pixels of a cv::Mat are copied into a message; OpenCV can write them there itself.",
    POINTS: "Points of PCL are copied into a message; they can be moved, or written there at once.",
    CALLBACK: "A callback's parameter makes ROS copy each message for it.",
    NAME: "A name of ROS that Baton does not have.",
    KEPT: "Received messages are kept in a container; baton::ros1::subscribe() has to be told how many, a recompiled program not.",
}
# What says how Baton would behave, and needs no change in a program that stays as it is.
NOTES = {*ASSUMPTIONS, STRINGS, KEPT, NAME}


LEVELS = ("note", "warning")


def level_of(rule: str) -> str:
    return "note" if rule in NOTES else "warning"


@dataclass
class Edit:
    """Replace the bytes [start, end) of the file."""

    start: int
    end: int
    text: str


@dataclass
class Finding:
    rule: str
    line: int
    column: int
    message: str
    types: tuple[str, ...] = ()
    snippet: str = ""
    edits: list[Edit] = field(default_factory=list)


@dataclass
class Message:
    """One message of a file, and the lines where things happen to it."""

    type: str
    name: str
    made: str  # stack, static, member, make_shared, make_unique, new, loan, parameter, result
    line: int
    filled: set[int] = field(default_factory=set)
    passed: dict[int, str] = field(default_factory=dict)  # line: the function
    published: dict[int, str] = field(default_factory=dict)  # line: as object, as pointer


@dataclass
class FileReport:
    path: str
    uses: set[str] = field(default_factory=set)  # message types of ROS 1, for Table 1
    messages: list[Message] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def violated(self, type: str) -> set[str]:
        """The assumptions that this file does not keep for a type."""
        return {finding.rule for finding in self.findings if finding.rule in ASSUMPTIONS and type in finding.types}


@dataclass
class Row:
    """A line of the paper's Table 1: numbers of files."""

    type: str
    total: int = 0
    applicable: int = 0
    violated: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ASSUMPTIONS, 0))


ANY = "any message"


@dataclass
class TreeReport:
    """`not_analysed`: file and clang's first error. `not_compiled`: sources that no compile command names. `read`: which
    files of the tree each source includes. `names`: of ROS, in all sources of the tree, also in those that no compiler reads.
    `obstacle`: why messages were not analysed at all; `failed`: the caller asked for them, so this is an error."""

    tree: str
    files: list[FileReport] = field(default_factory=list)
    not_analysed: dict[str, str] = field(default_factory=dict)
    not_compiled: list[str] = field(default_factory=list)
    read: dict[str, list[str]] = field(default_factory=dict)
    names: list[Found] = field(default_factory=list)
    obstacle: str = ""
    failed: bool = False

    def at_least(self, level: str) -> list[FileReport]:
        """The files with the findings of this level and above; of a level above the lowest one, only files that have such findings."""
        shown = []
        for file in self.files:
            kept = [each for each in file.findings if LEVELS.index(level_of(each.rule)) >= LEVELS.index(level)]
            if level == LEVELS[0] or kept:
                shown.append(replace(file, findings=kept))
        return shown

    def table(self) -> list[Row]:
        rows: dict[str, Row] = {}
        total = Row(ANY)
        for file in self.files:
            for type in file.uses:
                _count(rows.setdefault(type, Row(type)), file.violated(type))
            if file.uses:
                _count(total, set().union(*(file.violated(type) for type in file.uses)))
        return [*sorted(rows.values(), key=lambda row: (-row.total, row.type)), total]


def _count(row: Row, violated: set[str]) -> None:
    row.total += 1
    row.applicable += not violated
    for rule in violated:
        row.violated[rule] += 1
