# SPDX-License-Identifier: Apache-2.0
"""Applies the edits of findings to the files. A rewritten file that clang no longer reads is left as it was."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path

from .compile_commands import Command
from .findings import Edit, FileReport, TreeReport
from .tree import analyse


@dataclass
class Rewritten:
    """`texts`: the new contents of files. `refused`: files left as they were, and why."""

    texts: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)


def applied(contents: bytes, edits: list[Edit]) -> bytes:
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        contents = contents[: edit.start] + edit.text.encode() + contents[edit.end :]
    return contents


def rewrite(report: TreeReport, commands: list[Command]) -> Rewritten:
    """All fix-its of a report, checked by reading every source again that includes a changed file."""
    tree = Path(report.tree)
    result = Rewritten()
    for file in report.files:
        edits = _edits(file)
        if edits:
            result.texts[file.path] = applied((tree / file.path).read_bytes(), edits)
            result.places[file.path] = sum(bool(finding.edits) for finding in file.findings)
    by_source = {str(command.source): command for command in commands}
    for source, seen in report.read.items():
        changed = [path for path in seen if path in result.texts]
        if changed:
            unsaved = [(str(tree / path), result.texts[path].decode(errors="surrogateescape")) for path in changed]
            failed = analyse(by_source[source], tree, [], unsaved).failed
            for path in changed if failed else []:
                del result.texts[path]
                result.refused[path] = failed
    return result


def _edits(file: FileReport) -> list[Edit]:
    """Without two edits of one place, as of two declarations that a macro repeats."""
    edits: list[Edit] = []
    for finding in file.findings:
        if not any(edit.start < other.end and other.start < edit.end for edit in finding.edits for other in edits):
            edits += finding.edits
        else:
            finding.edits = []
    return edits


def diff(tree: Path, path: str, new: bytes) -> str:
    old = (tree / path).read_text(errors="replace").splitlines(keepends=True)
    lines = new.decode(errors="replace").splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, lines, f"a/{path}", f"b/{path}"))
