#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints packaging/debian/changelog, made from CHANGELOG.md: an entry for each release, and one for Unreleased.

A version that is not released yet is <version>~dev<date of the commit>, which Debian sorts before <version>.
"""

from __future__ import annotations

import datetime
import email.utils
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(
    r"^## (?:Unreleased|(?P<version>\d+\.\d+\.\d+) \((?P<date>\d{4}-\d\d-\d\d)\))\n(?P<text>.*?)(?=^## |\Z)",
    re.M | re.S,
)
COMING = re.compile(r"^Will be (\d+\.\d+\.\d+)", re.M)
MAINTAINER = "The Baton developers <baton@example.org>"


def plain(item: str) -> str:
    """A line of the list without Markdown's links and marks."""
    return re.sub(r"\s+", " ", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", item)).replace("`", "").replace("**", "").strip()


def filled(item: str) -> list[str]:
    lines, line = [], "  *"
    for word in plain(item).split():
        if len(line) + 1 + len(word) > 78:
            lines.append(line)
            line = "   "
        line += f" {word}"
    return [*lines, line]


def entry(version: str, day: datetime.datetime, text: str) -> str:
    items = re.findall(r"^- (.*?)(?=^- |^#|^$|\Z)", text, re.M | re.S)
    lines = [f"baton ({version}) unstable; urgency=medium", ""]
    for item in items:
        lines += filled(item)
    return "\n".join([*lines, "", f" -- {MAINTAINER}  {email.utils.format_datetime(day)}", ""])


def entries(changelog: str, day_of_commit: datetime.datetime) -> list[str]:
    made = []
    for found in HEADING.finditer(changelog):
        if found["version"]:
            day = datetime.datetime.fromisoformat(found["date"]).replace(tzinfo=datetime.UTC)
            made.append(entry(found["version"], day, found["text"]))
        elif coming := COMING.search(found["text"]):
            made.append(entry(f"{coming[1]}~dev{day_of_commit:%Y%m%d}", day_of_commit, found["text"]))
    return made


def main() -> None:
    stamp = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    day = datetime.datetime.fromtimestamp(int(stamp), tz=datetime.UTC)
    print("\n".join(entries((ROOT / "CHANGELOG.md").read_text(), day)), end="")


if __name__ == "__main__":
    main()
