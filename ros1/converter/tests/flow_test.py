# SPDX-License-Identifier: Apache-2.0
"""The C++ files of cases/: each function gets the findings that the comments in its lines name, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from baton_converter import findings, tree
from baton_converter.compile_commands import Command
from baton_converter.findings import FileReport

pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")
CASES = Path(__file__).parent / "cases"
ADVICE = {
    "growth": findings.GROWTH,
    "zeros": findings.ZEROS,
    "publish": findings.PUBLISH,
    "late": findings.LATE,
    "string": findings.STRINGS,
    "pixels": findings.PIXELS,
    "points": findings.POINTS,
    "callback": findings.CALLBACK,
    "kept": findings.KEPT,
}
RULES = {
    "flow.cpp": {"string": findings.STRING, "resize": findings.RESIZE, "other": findings.OTHER},
    "advice.cpp": ADVICE,
    "ros2.cpp": ADVICE | {"rewritten": findings.PUBLISH, "stays": findings.PUBLISH},
}
FUNCTION = re.compile(r"^ *(?:void |(?=Node\(\)))(\w+)\(.*\{", re.MULTILINE)


def functions(file: str) -> dict[str, range]:
    """The lines of each function, to the beginning of the next one."""
    text = (CASES / file).read_text()
    starts = [(found[1], text.count("\n", 0, found.start()) + 1) for found in FUNCTION.finditer(text)]
    ends = [line for _, line in starts[1:]] + [text.count("\n") + 1]
    return {name: range(line, end) for (name, line), end in zip(starts, ends, strict=True)}


def analysed(file: str) -> FileReport:
    unit = tree.analyse(Command(CASES / file, CASES, ("-std=c++17",)), CASES, [])
    assert unit.failed == ""
    return next(report for report in unit.files if report.path == file)


@pytest.fixture(scope="module")
def reports() -> dict[str, FileReport]:
    return {file: analysed(file) for file in RULES}


def by_function(file: str, entries: set[tuple[int, str]]) -> dict[str, set[tuple[int, str]]]:
    """The entries, which are lines and rules, of each function of the file; those outside of all functions are of "nothing"."""
    found: dict[str, set[tuple[int, str]]] = {}
    for entry in entries:
        of = (name for name, lines in functions(file).items() if entry[0] in lines)
        found.setdefault(next(of, "nothing"), set()).add(entry)
    return found


@pytest.mark.parametrize("file", RULES)
def test_the_comments_name_the_findings_of_each_function(reports: dict[str, FileReport], file: str) -> None:
    rules = RULES[file]
    words = [line.partition("  // ")[2].strip() for line in (CASES / file).read_text().splitlines()]
    expected = {(at, rules[word]) for at, word in enumerate(words, 1) if word in rules}
    found = {(finding.line, finding.rule) for finding in reports[file].findings}
    assert by_function(file, {entry for entry in found if entry[1] in rules.values()}) == by_function(file, expected)
    assert "nothing" not in by_function(file, found)
    assert len(expected) > 5


def test_of_two_messages_both_are_advised_as_pointers(reports: dict[str, FileReport]) -> None:
    within = functions("advice.cpp")["two_pointers_for_two"]
    (found,) = (finding for finding in reports["advice.cpp"].findings if finding.line in within)
    assert found.snippet.splitlines() == [
        "auto info_ptr = boost::make_shared<std_msgs::Header>(info_);",
        "publisher.publish(img, info_ptr);",
    ]


def test_of_elements_of_arrays_an_array_of_pointers_is_advised(reports: dict[str, FileReport]) -> None:
    within = functions("advice.cpp")["elements_of_arrays"]
    found = [finding for finding in reports["advice.cpp"].findings if finding.line in within]
    assert [finding.snippet.splitlines()[-1] for finding in found] == [
        "publisher.publish(images_ptr[0]);",
        "publisher.publish(made_ptr[1]);",
    ]
    assert all("std::vector<boost::shared_ptr<sensor_msgs::Image>>" in finding.snippet for finding in found)


def test_the_snippet_for_kept_messages_has_the_bound_of_the_source(reports: dict[str, FileReport]) -> None:
    found = [finding.snippet for finding in reports["advice.cpp"].findings if finding.rule == findings.KEPT]
    assert found[0].startswith(
        "baton::ros1::SubscribeOptions options;  // not in a recompiled program\noptions.held = 20 + 2;"
    )
    assert "options.held = n + 2;" in found[1]


def test_a_late_size_is_advised_before_what_grew_in_between(reports: dict[str, FileReport]) -> None:
    lines = (CASES / "advice.cpp").read_text().splitlines()
    late, inserted = (finding for finding in reports["advice.cpp"].findings if finding.rule == findings.LATE)
    between = lines.index("  cloud.channels.resize(2);") + 1
    assert late.snippet == f"cloud.points.reserve(2 * n);  // before line {between}"
    assert inserted.snippet.startswith("other.points.reserve(n);") and "n: at least its last size" in inserted.snippet


def test_messages_of_ros_2_are_known_and_not_counted_in_table_1(reports: dict[str, FileReport]) -> None:
    report = reports["ros2.cpp"]
    assert {message.type for message in report.messages} == {"sensor_msgs::msg::Image"}
    assert {"make_unique", "loan", "stack", "parameter"} <= {message.made for message in report.messages}
    assert report.uses == set()
    assert {finding.rule for finding in report.findings}.isdisjoint(findings.ASSUMPTIONS)
