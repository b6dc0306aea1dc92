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


def test_the_comments_name_the_findings_of_each_function(reports: dict[str, FileReport]) -> None:
    for file, rules in RULES.items():
        words = [line.partition("  // ")[2].strip() for line in (CASES / file).read_text().splitlines()]
        expected = {(at, rules[word]) for at, word in enumerate(words, 1) if word in rules}
        found = {(finding.line, finding.rule) for finding in reports[file].findings}
        assert by_function(file, {each for each in found if each[1] in rules.values()}) == by_function(file, expected)
        assert "nothing" not in by_function(file, found)
        assert len(expected) > 5


def test_the_advice_is_code_for_the_source(reports: dict[str, FileReport]) -> None:
    def of(function: str) -> list[str]:
        within = functions("advice.cpp")[function]
        return [finding.snippet for finding in reports["advice.cpp"].findings if finding.line in within]

    def by(rule: str) -> list[str]:
        return [finding.snippet for finding in reports["advice.cpp"].findings if finding.rule == rule]

    assert [snippet.splitlines() for snippet in of("two_pointers_for_two")] == [
        ["auto info_ptr = boost::make_shared<std_msgs::Header>(info_);", "publisher.publish(img, info_ptr);"]
    ]
    arrays = of("elements_of_arrays")
    assert [snippet.splitlines()[-1] for snippet in arrays] == [
        "publisher.publish(images_ptr[0]);",
        "publisher.publish(made_ptr[1]);",
    ]
    assert all("std::vector<boost::shared_ptr<sensor_msgs::Image>>" in snippet for snippet in arrays)
    kept = by(findings.KEPT)
    assert kept[0].startswith(
        "baton::ros1::SubscribeOptions options;  // not in a recompiled program\noptions.held = 20 + 2;"
    )
    assert "options.held = n + 2;" in kept[1]
    between = (CASES / "advice.cpp").read_text().splitlines().index("  cloud.channels.resize(2);") + 1
    late, inserted = by(findings.LATE)
    assert late == f"cloud.points.reserve(2 * n);  // before line {between}", "before what grew in between"
    assert inserted.startswith("other.points.reserve(n);") and "n: at least its last size" in inserted


def test_messages_of_ros_2_are_known_and_not_counted_in_table_1(reports: dict[str, FileReport]) -> None:
    report = reports["ros2.cpp"]
    assert {message.type for message in report.messages} == {"sensor_msgs::msg::Image"}
    assert {"make_unique", "loan", "stack", "parameter"} <= {message.made for message in report.messages}
    assert report.uses == set()
    assert {finding.rule for finding in report.findings}.isdisjoint(findings.ASSUMPTIONS)
