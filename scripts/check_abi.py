#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is libbaton still compatible with programs that were compiled with the last release of the same minor version?

Builds the library of the newest tag v<major>.<minor>.* that is an ancestor of HEAD, and that of the working tree, with debug information,
and compares them with abidiff, as far as the installed headers show their types. Additions are allowed; everything else fails. The
ABI may change with the minor version (CHANGELOG.md, Policy): then, and before the first release, there is nothing to compare with.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from public_symbols import ABI, LIBRARIES, ROOMS, ROOT

OUT = ROOT / "out/abi"


def newest(tags: list[str], abi: str) -> str | None:
    """The newest of the release tags with this major and minor version."""
    patches = [int(found[1]) for tag in tags if (found := re.fullmatch(rf"v{re.escape(abi)}\.(\d+)", tag))]
    return f"v{abi}.{max(patches)}" if patches else None


def compare(old: Path, new: Path, old_headers: list[Path], new_headers: list[Path]) -> str:
    """abidiff's report of changes that are no additions; empty if the libraries are compatible."""
    words = ["abidiff", "--no-added-syms", "--no-show-locs"]
    words += [word for folder in old_headers for word in ("--headers-dir1", str(folder))]
    words += [word for folder in new_headers for word in ("--headers-dir2", str(folder))]
    done = subprocess.run([*words, str(old), str(new)], capture_output=True, text=True, check=False)
    if done.returncode & 3:  # abidiff failed
        raise RuntimeError(f"abidiff failed: {done.stdout}{done.stderr}")
    return done.stdout if done.returncode else ""


def build(source: Path, build: Path) -> Path:
    """The folder of the libraries, built without optimization: the ABI is the same, and it takes less time."""
    exports = build / "exports"
    environment = {**os.environ, "CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1"}
    options = [
        "-DCMAKE_BUILD_TYPE=Debug",
        "-DCMAKE_CXX_FLAGS=-O0",
        "-DBATON_GENERATOR=OFF",
        "-DBATON_ROS1=OFF",
        "-DBATON_ROS2=OFF",
        f"-DBATON_EXPORTS={exports}",
    ]
    for words in (
        [sys.executable, source / "scripts/public_symbols.py", "--map", exports],
        ["cmake", "-G", "Ninja", "-S", source, "-B", build, *options],
        ["cmake", "--build", build, "--target", "baton_library", "baton_real_time_check"],
    ):
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return build / "lib"


def headers(source: Path) -> list[Path]:
    return [source / room / "include" for room in ROOMS]


def main() -> int:
    tags = subprocess.run(
        ["git", "tag", "--merged", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    tag = newest(tags, ABI)
    if tag is None:
        print(
            f"check_abi: there is no release {ABI}.* (no tag v{ABI}.* in the history), so there is no ABI to compare with; "
            "scripts/public_symbols.py --check compares the symbols with their list"
        )
        return 0
    if not shutil.which("abidiff"):
        print("check_abi: there is no abidiff (Debian: abigail-tools; scripts/setup.sh packages)", file=sys.stderr)
        return 1
    released = OUT / tag
    if not (released / "complete").exists():
        shutil.rmtree(released, ignore_errors=True)
        (released / "source").mkdir(parents=True)
        archive = subprocess.run(["git", "archive", tag], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", released / "source"], input=archive, check=True)
        build(released / "source", released / "build")
        (released / "complete").touch()
    current = build(ROOT, OUT / "current")
    failed = 0
    for library in LIBRARIES:
        name = f"{library}.so.{ABI}"
        old, new = released / "build/lib" / name, current / name
        if report := compare(old, new, headers(released / "source"), headers(ROOT)):
            print(f"check_abi: {name} is not compatible with {tag}:\n{report}", file=sys.stderr)
            failed = 1
        else:
            print(f"check_abi: {name} is compatible with {tag}")
    if failed:
        print(
            "check_abi: undo the change, or make it part of a new minor version (CHANGELOG.md, Policy)", file=sys.stderr
        )
    return failed


if __name__ == "__main__":
    sys.exit(main())
