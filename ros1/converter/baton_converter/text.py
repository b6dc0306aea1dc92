# SPDX-License-Identifier: Apache-2.0
"""The report for people, and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from baton_cli import ros_names
from baton_cli.output import counted

from .findings import ANY, ASSUMPTIONS, LEVELS, FileReport, Row, TreeReport


def table(rows: list[Row]) -> list[str]:
    """The paper's Table 1."""
    head = ["message class", "total", "applicable", *ASSUMPTIONS.values()]
    lines = [
        [row.type, str(row.total), str(row.applicable), *(str(row.violated[rule]) for rule in ASSUMPTIONS)]
        for row in rows
    ]
    widths = [max(len(line[at]) for line in [head, *lines]) for at in range(len(head))]
    shown = []
    for line in [head, *lines]:
        shown.append(
            "  ".join(cell.ljust(widths[0]) if at == 0 else cell.rjust(widths[at]) for at, cell in enumerate(line))
        )
    return shown


def _file(file: FileReport) -> list[str]:
    lines = [file.path]
    for message in file.messages:
        events = []
        if message.filled:
            events.append(f"filled in {_lines(message.filled)}")
        if message.passed:
            events.append(
                "passed " + ", ".join(f"to {name}() in line {line}" for line, name in sorted(message.passed.items()))
            )
        if message.published:
            events.append(
                "published "
                + ", ".join(f"as {kind} in line {line}" for line, kind in sorted(message.published.items()))
            )
        lines.append(
            f"  {message.line}: {message.name or '(no name)'}: {message.type}, {message.made}{'; ' if events else ''}{'; '.join(events)}"
        )
    for finding in file.findings:
        lines.append(f"  {file.path}:{finding.line}:{finding.column}: {finding.message} [{finding.rule}]")
        lines += [f"      {line}" for line in finding.snippet.splitlines()]
    return lines


def _lines(numbers: set[int]) -> str:
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, sorted(numbers)))}"


def obstacle(report: TreeReport) -> str:
    return f"messages not analysed: {report.obstacle}"


def text(report: TreeReport, level: str = LEVELS[0]) -> str:
    """With the findings of `level` and above. The table is of all."""
    lines: list[str] = []
    for file in report.at_least(level):
        if file.messages or file.findings:
            lines += [*_file(file), ""]
    rows = report.table()
    if len(rows) > 1:
        lines += [
            "Files of this tree for which ROS-SF's assumptions hold (its Table 1). Baton needs none of them.",
            "",
            *table(rows),
            "",
        ]
    if report.obstacle:
        lines.append(obstacle(report))
    else:
        analysed, not_analysed = counted(len(report.files), "file"), counted(len(report.not_analysed), "source")
        lines.append(f"{analysed} analysed, {not_analysed} not analysed")
    lines += [f"  not analysed: {path}: {error}" for path, error in sorted(report.not_analysed.items())]
    if report.not_compiled:
        lines.append(f"{counted(len(report.not_compiled), 'source')} without a compile command, not looked at:")
        lines += [f"  {path}" for path in report.not_compiled]
    if report.names and level == LEVELS[0]:
        lines += ["", ros_names.text(report.names)]
    return "\n".join(lines)


def as_json(report: TreeReport, level: str = LEVELS[0]) -> dict[str, Any]:
    """With the findings of `level` and above. Keys of this object are API (CHANGELOG.md)."""
    rows = [
        {
            "type": row.type,
            "total": row.total,
            "applicable": row.applicable,
            **{rule.replace("-", "_"): row.violated[rule] for rule in ASSUMPTIONS},
        }
        for row in report.table()
    ]
    files = []
    for file in report.at_least(level):
        entry: dict[str, Any] = {"path": file.path, "types": sorted(file.uses), "messages": [], "findings": []}
        for message in file.messages:
            shown = asdict(message) | {"filled": sorted(message.filled)}
            shown["passed"] = [{"line": line, "to": name} for line, name in sorted(message.passed.items())]
            shown["published"] = [{"line": line, "as": kind} for line, kind in sorted(message.published.items())]
            entry["messages"].append(shown)
        for finding in file.findings:
            shown = asdict(finding)
            del shown["edits"]
            entry["findings"].append(shown | {"types": list(finding.types)})
        files.append(entry)
    return {
        "tree": report.tree,
        "table": [row for row in rows if row["type"] != ANY],
        "any": next(row for row in rows if row["type"] == ANY),
        "files": files,
        "not_analysed": report.not_analysed,
        "not_compiled": report.not_compiled,
        "messages_not_analysed": report.obstacle,
        "names": ros_names.as_json(report.names) if level == LEVELS[0] else [],
    }
