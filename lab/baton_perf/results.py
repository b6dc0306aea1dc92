# SPDX-License-Identifier: Apache-2.0
"""Summaries of recordings in docs/results: the last verdict on each criterion, and whether the measured code has changed since."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import click

from .verdicts import Row

FOLDER = Path("docs/results")
# A change of these changes no figure.
WITHOUT_EFFECT = re.compile(
    r"(^|/)(tests|fuzz|testing|docs)/|_test\.(cpp|py)$|_test_support\.hpp$|_fuzz\.(cpp|py)$|\.(md|1)$|(^|/)CMakeLists\.txt$"
)


def files_of(root: Path) -> list[Path]:
    """The summaries of a checkout."""
    folder = root / FOLDER
    return [
        file
        for file in (folder / "results.json", folder / "field.json", *sorted(folder.glob("recorded/*.json")))
        if file.exists()
    ]


def load(root: Path) -> list[dict]:
    """The summaries, the oldest first."""
    try:
        found = [json.loads(file.read_text()) for file in files_of(root)]
        return sorted(found, key=lambda summary: summary["header"]["started"])
    except (OSError, ValueError, KeyError) as problem:
        raise click.ClickException(
            f"{root / FOLDER}: a summary cannot be read ({problem!r}); record it anew: make results"
        ) from problem


@dataclass(frozen=True)
class Latest:
    """The last verdict on a criterion."""

    rows: list[Row]
    header: dict

    @property
    def commit(self) -> str:
        return self.header["build"]["commit"]

    def verdict(self) -> str:
        """For people: PASS, FAIL, or how many rows have which."""
        counts = {word: sum(row.verdict == word for row in self.rows) for word in ("PASS", "FAIL", "NONE")}
        words = [word for word, count in counts.items() if count]
        if len(words) == 1:
            return words[0]
        return ", ".join(f"{counts[word]} {word}" for word in words)


def latest(summaries: list[dict]) -> dict[str, Latest]:
    """By criterion; of summaries with the oldest first."""
    found: dict[str, Latest] = {}
    for summary in summaries:
        rows: dict[str, list[Row]] = {}
        for saved in summary["verdicts"]:
            rows.setdefault(saved["criterion"], []).append(Row.load(saved))
        found |= {criterion: Latest(its, summary["header"]) for criterion, its in rows.items()}
    return found


class History:
    """A checkout's, by git. Without git, without the commit (a shallow clone), or outside of a checkout nothing is known."""

    def __init__(self, root: Path):
        self.root = root
        top = self.git("rev-parse", "--show-toplevel")
        self.known = top is not None and Path(top.strip()).resolve() == root.resolve()
        self._changed = lru_cache(maxsize=None)(self._changed_since)

    def git(self, *arguments: str) -> str | None:
        """What git prints; None if there is no git, or it fails."""
        try:
            done = subprocess.run(
                ["git", "-C", str(self.root), *arguments], capture_output=True, text=True, check=False
            )
        except OSError:
            return None
        return done.stdout if done.returncode == 0 else None

    def _changed_since(self, commit: str) -> frozenset[str] | None:
        """The files that differ from that commit, also those that are not committed yet; None: not known."""
        if not self.known or self.git("cat-file", "-e", f"{commit}^{{commit}}") is None:
            return None
        names = self.git("diff", "--name-only", "--no-renames", commit, "--")
        return (
            None if names is None else frozenset(name for name in names.splitlines() if not WITHOUT_EFFECT.search(name))
        )

    def state(self, commit: str, paths: list[str]) -> str:
        """`fresh`, `stale`: a file below one of the paths differs from that commit, or `unknown`."""
        changed = self._changed(commit)
        if changed is None:
            return "unknown"
        below = tuple(f"{path}/" for path in paths)
        return "stale" if any(name in paths or name.startswith(below) for name in changed) else "fresh"
