#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when an access to a guarded field does not hold its lock: clang compares the words of core/os/include/baton/os/lock_words.hpp with the code.

Read are the files of the rooms below that see such words of their own room, as the release build compiles them, and those of ros1 as the build
`ros1` does. A file is read again only if it or a header of the rooms that it includes has changed. Without clang, or before these builds, nothing
is checked, and a line says so.
Usage: check_locks.py [root]
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOMS = (
    "core/os", "core/memory", "core/transport", "core/node", "core/containers", "link", "record", "python", "ros2/rmw_baton_cpp", "ros1/preload",
    "ros1/api", "ros1/recompiled", "ros1/image_transport",
)  # fmt: skip
BUILDS = ("build/release", "build/ros1")
WORD = re.compile(r"\bBATON_(GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRES|RELEASES)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
FLAGS = ["-std=c++17", "-fPIC", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]
# Precompiled, which saves a third of the time.
STANDARD = [
    "algorithm", "array", "atomic", "chrono", "condition_variable", "deque", "functional", "list", "map", "memory", "mutex", "optional", "set",
    "string", "string_view", "thread", "unordered_map", "utility", "vector",
]  # fmt: skip


def room_of(path):
    return next((room for room in ROOMS if path.startswith(room + "/")), None)


class Sources:
    """The C++ files of the rooms."""

    def __init__(self, root):
        self.text = {}  # by path from the root
        self.named = {}  # a name by which an include may call a file -> paths
        for room in ROOMS:
            for file in [*(root / room).rglob("*.hpp"), *(root / room).rglob("*.cpp")]:
                path = str(file.relative_to(root))
                self.text[path] = file.read_text(encoding="utf-8")
                self.named.setdefault(path.split("/include/")[-1] if "/include/" in path else file.name, []).append(
                    path
                )

    def seen_by(self, path):
        """The file, and the headers of the rooms that it includes."""
        seen, found = set(), [path]
        while found:
            at = found.pop()
            if at in seen:
                continue
            seen.add(at)
            for name in INCLUDE.findall(self.text[at]):
                found += self.named.get(name) or self.named.get(name.rpartition("/")[2], [])
        return sorted(seen)


def command_of(entry, *more):
    """The part of the compiler's command that clang needs."""
    given = shlex.split(entry["command"])
    kept = [word for word in given if word.startswith(("-I", "-D"))]
    kept += [word for at, word in enumerate(given) if "-isystem" in given[max(0, at - 1) : at + 1]]
    return ["clang++", *FLAGS, *kept, *more, "-fsyntax-only", entry["file"]]


def check(root):
    """clang's errors; a text for each file."""
    out = root / "out/locks"
    out.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang++", "--version"], capture_output=True, text=True, check=True).stdout
    header, precompiled = out / "standard.hpp", out / "standard.pch"
    standard = "".join(f"#include <{name}>\n" for name in STANDARD) + "".join(
        f"// {line}\n" for line in [*version.splitlines(), *FLAGS]
    )
    if not precompiled.exists() or header.read_text(encoding="utf-8") != standard:
        header.write_text(standard, encoding="utf-8")
        subprocess.run(["clang++", *FLAGS, "-x", "c++-header", header, "-o", precompiled], check=True)
    sources = Sources(root)

    def problem_of(entry):
        path = os.path.relpath(entry["file"], root)
        room = room_of(path)
        if room is None or path not in sources.text or path.endswith(("_test.cpp", "_fuzz.cpp")):
            return ""
        seen = sources.seen_by(path)
        if not any(room_of(at) == room and WORD.search(sources.text[at]) for at in seen):
            return ""
        inputs = [version, *command_of(entry), *(sources.text[at] for at in seen)]
        key = hashlib.sha256("\0".join(inputs).encode()).hexdigest()
        passed = out / (path.replace("/", "+") + ".passed")
        if passed.exists() and passed.read_text(encoding="utf-8") == key:
            return ""
        done = subprocess.run(
            command_of(entry, "-include-pch", precompiled),
            capture_output=True,
            text=True,
            check=False,
            cwd=entry["directory"],
        )
        if done.returncode == 0:
            passed.write_text(key, encoding="utf-8")
        return done.stderr

    commands = {}  # one for each file: a file of ros2 is compiled for each distribution
    for build in BUILDS:
        if (listed := root / build / "compile_commands.json").exists():
            for entry in json.loads(listed.read_text(encoding="utf-8")):
                commands.setdefault(entry["file"], entry)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [problem for problem in pool.map(problem_of, commands.values()) if problem]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    missing = "clang++" if shutil.which("clang++") is None else ""
    if not (root / "build/release/compile_commands.json").exists():
        missing = missing or "the release build (scripts/build.sh release)"
    if missing:
        print(f"locks: NOT CHECKED: it needs {missing}")
        return 0
    if not (root / BUILDS[1] / "compile_commands.json").exists():
        print("locks: ros1/ is NOT CHECKED: it needs the build ros1 (make build-ros1)")
    problems = check(root)
    print("".join(problems), end="", file=sys.stderr)
    print(f"locks: {len(problems)} files with problems" if problems else "locks: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
