# SPDX-License-Identifier: Apache-2.0
"""The report as SARIF 2.1.0 (OASIS), which editors and CI systems show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .findings import LEVELS, NAME, RULES, FileReport, Finding, TreeReport, level_of
from .text import obstacle

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(report: TreeReport, version: str, level: str = LEVELS[0]) -> dict[str, Any]:
    """With the findings of `level` and above."""
    ids = list(RULES)
    rules = [
        {"id": rule, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level_of(rule)}}
        for rule, text in RULES.items()
    ]
    failed = [
        {
            "level": "error",
            "message": {"text": text},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(path)}}],
        }
        for path, text in sorted(report.not_analysed.items())
    ]
    notes = [*failed]
    if report.obstacle:
        notes.append({"level": "error" if report.failed else "note", "message": {"text": obstacle(report)}})
    shown = report.at_least(level)
    if level == LEVELS[0]:
        shown += [FileReport(n.path, findings=[Finding(NAME, n.line, n.column, n.message)]) for n in report.names]
    run = {
        "tool": {"driver": {"name": "baton migrate", "version": version, "rules": rules}},
        "originalUriBaseIds": {"TREE": {"uri": Path(report.tree).as_uri() + "/"}},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not (failed or report.failed), "toolExecutionNotifications": notes}],
        "results": [_result(file, finding, ids) for file in shown for finding in file.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": Path(path).as_posix().replace("%", "%25").replace(" ", "%20"), "uriBaseId": "TREE"}


def _result(file: FileReport, finding: Finding, ids: list[str]) -> dict[str, Any]:
    text = finding.message + (f"\n\n{finding.snippet}" if finding.snippet else "")
    where = {
        "artifactLocation": _artifact(file.path),
        "region": {"startLine": finding.line, "startColumn": finding.column},
    }
    return {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": level_of(finding.rule),
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
    }
