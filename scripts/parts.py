# SPDX-License-Identifier: Apache-2.0
"""The parts of the proof (scripts/parts.toml): which ones a change touches, and all of them one after another.

scripts/parts.py touched [--base REV]       a line for each part: its name, `tests` or `computes`, and its form in `.ci/run`: `run`, `short`, `smoke` or `left-out`
scripts/parts.py commands PART [--form short|smoke]
scripts/parts.py nightly [PART ...]         runs the parts (all but core); a part that has passed at this commit is not run again.
                                            Verdict, commit and seconds go to docs/results/nightly.md
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import ros2_distributions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/results/nightly.md"
CORE = "core"
OTHER_ROS2 = "other-ros2"  # of parts.toml: one part for each distribution of ROS 2 but the default
OLD_ENOUGH = "6 hours ago"  # a base is older than a session of work
HEAD_OF_PAGE = """# Nightly

What `make nightly` ran: the newest run of each part of `scripts/parts.toml`, written by the command. An issue or a release is done when every
part is green at one of its last commits.

| part | proves | commit | verdict | seconds | day |
| --- | --- | --- | --- | --- | --- |
"""


def read_parts(root: Path = ROOT) -> dict[str, dict[str, Any]]:
    parts = {}
    for name, part in tomllib.loads((root / "scripts/parts.toml").read_text()).items():
        if name == OTHER_ROS2:
            parts.update({each.name: json.loads(each.fills(json.dumps(part))) for each in other_ros2s()})
        else:
            parts[name] = part
    for part in parts.values():
        part["never_short"] = [each for path in part.get("never_short", []) for each in files_of(root, path)]
    return parts


def other_ros2s() -> list[ros2_distributions.Distribution]:
    return [each for each in ros2_distributions.read()[1:] if each.wheels]


def files_of(root: Path, path: str) -> list[str]:
    """The files that a name with `*` stands for; another one stands for itself."""
    if "*" not in path:
        return [path]
    return sorted(str(each.relative_to(root)) for each in root.glob(path)) or [
        path
    ]  # a pattern without files is a path without a file


def covers(pattern: str, path: str) -> bool:
    """A pattern is a file, a folder, or has the wildcards of fnmatch."""
    return path == pattern or path.startswith(pattern.rstrip("/") + "/") or fnmatch.fnmatchcase(path, pattern)


def is_input(part: dict[str, Any], path: str) -> bool:
    patterns = part.get("inputs", [])
    taken_away = any(covers(pattern[1:], path) for pattern in patterns if pattern.startswith("!"))
    return not taken_away and any(covers(pattern, path) for pattern in patterns if not pattern.startswith("!"))


def touched_parts(parts: dict[str, dict[str, Any]], changed: list[str] | None) -> list[str]:
    """The parts, but for core, one of whose inputs is among the changed files; all of them if the changed files are not known."""
    names = [name for name in parts if name != CORE]
    if changed is None:
        return names
    return [name for name in names if any(is_input(parts[name], path) for path in changed)]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def base_commit() -> str:
    """CI_BASE, else the newest commit that is older than six hours; empty: none is known."""
    named = os.environ.get("CI_BASE", "")
    if named:
        return git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}").strip()
    return git("rev-list", "-1", f"--before={OLD_ENOUGH}", "HEAD").strip()


def changed_since(base: str) -> list[str] | None:
    """The files that differ from `base`; None if that is not known. A file that only moved counts as untouched."""
    if not base:
        return None
    changed = []
    for line in git("diff", "--name-status", "-M", base).splitlines():
        status, *paths = line.split("\t")
        if status != "R100":
            changed.extend(paths)
    return changed


def form_in_ci(part: dict[str, Any], touched: bool) -> str:
    if touched:
        return "short" if "short" in part else "run"
    return "smoke" if "smoke" in part else "left-out"


def commands(part: dict[str, Any], form: str) -> list[str]:
    if form == "left-out":
        return []
    return list(part.get(form) or part["run"])


def rows_of(page: str) -> dict[str, str]:
    return {
        match[1]: match[0] for match in re.finditer(r"^\| (\w+) \| .* \|$", page, re.MULTILINE) if match[1] != "part"
    }


def run_nightly(parts: dict[str, dict[str, Any]], wanted: list[str]) -> int:
    commit = git("rev-parse", "--short=12", "HEAD").strip()
    if git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{PAGE.relative_to(ROOT)}"):
        commit += " (changed)"
    failed = 0
    for name in wanted:
        rows = rows_of(PAGE.read_text()) if PAGE.exists() else {}
        if f"| `{commit}` | ok |" in rows.get(name, ""):
            print(f"=== {name}: has passed at {commit}")
            continue
        begin = time.monotonic()
        verdict = "ok"
        log = ROOT / "out/nightly" / f"{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            for command in commands(parts[name], "run"):
                print(f"=== {name}: {command}", flush=True)
                done = subprocess.run(
                    ["bash", "-c", command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out
                )
                if done.returncode != 0:
                    verdict = f"FAILED: `{command}`"
                    failed = 1
                    break
        seconds = round(time.monotonic() - begin)
        day = time.strftime("%Y-%m-%d", time.gmtime())
        rows[name] = f"| {name} | {parts[name]['what']} | `{commit}` | {verdict} | {seconds} | {day} |"
        PAGE.write_text(HEAD_OF_PAGE + "".join(f"{rows[each]}\n" for each in parts if each in rows))
        print(f"=== {name}: {verdict}, {seconds} s ({log.relative_to(ROOT)})", flush=True)
    print(PAGE.read_text() if PAGE.exists() else "")
    return failed


def main() -> int:
    parts = read_parts()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("touched").add_argument("--base", default=None)
    of_part = verbs.add_parser("commands")
    of_part.add_argument("part", choices=parts)
    of_part.add_argument("--form", default="run", choices=("run", "short", "smoke"))
    verbs.add_parser("nightly").add_argument(
        "parts", nargs="*", choices=[[], *(name for name in parts if name != CORE)]
    )
    arguments = parser.parse_args()
    if arguments.verb == "commands":
        print("\n".join(commands(parts[arguments.part], arguments.form)))
        return 0
    if arguments.verb == "nightly":
        return run_nightly(parts, arguments.parts or [name for name in parts if name != CORE])
    base = arguments.base or base_commit()
    touched = touched_parts(parts, changed_since(base))
    print(f"# base: {base or 'not known, so every part is touched'}", file=sys.stderr)
    for name, part in parts.items():
        if name != CORE:
            print(name, "computes" if part.get("computes") else "tests", form_in_ci(part, name in touched))
    return 0


if __name__ == "__main__":
    sys.exit(main())
