#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a release: version, changelog, packages, checks, in one command (`make release`).

    scripts/release.py --dry-run      says what it would do
    scripts/release.py                does it, up to the commit: checks, packages in out/release, SHA256SUMS; then the tree is as before
    scripts/release.py --yes          also makes the commit and the tag v<version>; pushing them is up to you

The version is the one that CHANGELOG.md announces ("Will be 0.2.0"), or --version. If a step fails, the tree is as before.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/house"))

from project_files_test import FOLLOWERS  # noqa: E402  the files that name the version; a test compares them

UNRELEASED = re.compile(r"^## Unreleased\n(?P<text>.*?)(?=^## |\Z)", re.M | re.S)
COMING = re.compile(r"^Will be (\d+\.\d+\.\d+)[^\n]*\n\n?", re.M)
# The steps that must pass, in this order. The last three also make the files of out/release.
STEPS = (
    ("scripts/build.sh", "release"),
    ("scripts/check.sh",),
    ("scripts/run_tests.py", "core"),
    ("scripts/run_tests.py", "other-ros2"),
    ("scripts/build.sh", "ros1"),
    ("scripts/run_tests.py", "ros1"),
    (".venv/bin/python", "scripts/public_symbols.py", "--check"),
    (".venv/bin/python", "scripts/check_abi.py"),
    ("scripts/packages.sh",),
    ("scripts/packages_test.sh",),
    (".venv/bin/python", "scripts/make_wheels.py"),
)
MADE = ("packages/*.deb", "packages/*.changes", "packages/*.buildinfo", "wheels/*.whl", "wheels/*.tar.gz")


class Refused(Exception):
    pass


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def version_of(changelog: str, wanted: str | None) -> str:
    """The version to release; Refused if there is nothing to release."""
    section = UNRELEASED.search(changelog)
    if not section or not re.search(r"^- \S", section["text"], re.M):
        raise Refused("CHANGELOG.md has no line below 'Unreleased', so there is nothing to release")
    announced = COMING.search(section["text"])
    version = wanted or (announced and announced[1])
    if not version or not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise Refused(
            f"'{version or ''}' is no version: give --version major.minor.patch, or announce it below 'Unreleased' ('Will be 0.2.0')"
        )
    return version


def check_state(version: str) -> None:
    if changed := git("status", "--porcelain"):
        raise Refused(
            f"the tree has changes that are not committed:\n{changed}Commit them or put them away (git stash -u)"
        )
    if git("tag", "--list", f"v{version}"):
        raise Refused(f"the tag v{version} exists; announce another version in CHANGELOG.md")
    released = [tuple(map(int, found)) for found in re.findall(r"^v(\d+)\.(\d+)\.(\d+)$", git("tag"), re.M)]
    if newer := [each for each in released if each >= tuple(map(int, version.split(".")))]:
        raise Refused(f"{version} is not newer than {'.'.join(map(str, max(newer)))}, which is released")


def released_changelog(changelog: str, version: str, day: datetime.date) -> str:
    """With the section Unreleased under the version and the day."""

    def moved(section: re.Match[str]) -> str:
        return f"## {version} ({day.isoformat()})\n{COMING.sub('', section['text'], count=1)}"

    return UNRELEASED.sub(moved, changelog, count=1)


def set_version(version: str) -> None:
    """In CMakeLists.txt, in the files that follow, and, with another minor version, in the names that have the ABI's version."""
    settings = ROOT / "CMakeLists.txt"
    text = settings.read_text()
    found = re.search(r"^project\(baton VERSION (\d+\.\d+\.\d+)\b", text, re.M)
    assert found
    settings.write_text(text[: found.start(1)] + version + text[found.end(1) :])
    for path, pattern in FOLLOWERS.items():
        text = (ROOT / path).read_text()
        (place,) = re.finditer(pattern, text, re.M)
        (ROOT / path).write_text(text[: place.start(1)] + version + text[place.end(1) :])

    old, new = (".".join(each.split(".")[:2]) for each in (found[1], version))
    if old == new:
        return
    for file in (ROOT / "packaging/debian").glob(f"libbaton{old}.*"):
        git("mv", str(file), str(file.with_name(file.name.replace(f"libbaton{old}", f"libbaton{new}", 1))))
    named = re.compile(rf"(libbaton|libbaton(?:_\w+)?\.so\.|find_package\(baton ){re.escape(old)}(?![\d])(?!\.\d)")
    for path in git("ls-files", ":!docs/results", ":!CHANGELOG.md").splitlines():
        file = ROOT / path
        if file.is_file() and not file.is_symlink():
            try:
                text = file.read_text()
            except UnicodeDecodeError:
                continue
            if (renamed := named.sub(rf"\g<1>{new}", text)) != text:
                file.write_text(renamed)


def collect(notes: str) -> list[Path]:
    """Puts packages and wheels into out/release, with the sums of all files."""
    folder = ROOT / "out/release"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for pattern in MADE:
        found = sorted((ROOT / "out").glob(pattern))
        if not found:
            raise Refused(f"no step has made out/{pattern}")
        for file in found:
            shutil.copy2(file, folder)
    (folder / "NOTES.md").write_text(notes)
    files = sorted(folder.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / "SHA256SUMS").write_text("".join(sums))
    return files


def notes_of(changelog: str, version: str) -> str:
    found = re.search(rf"^## {re.escape(version)} .*?(?=^## |\Z)", changelog, re.M | re.S)
    assert found
    return found[0]


def run_steps() -> None:
    for words in STEPS:
        print(f"release: {' '.join(words)}", flush=True)
        done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Refused(f"{' '.join(words)} failed ({done.returncode}), so nothing is released")


def restore(head: str) -> None:
    """The tree was clean before, so nothing of the user's is lost."""
    git("reset", "--hard", head)


def release(version: str, day: datetime.date, keep: bool) -> None:
    head = git("rev-parse", "HEAD").strip()
    done = False
    try:
        set_version(version)
        changelog = ROOT / "CHANGELOG.md"
        changelog.write_text(released_changelog(changelog.read_text(), version, day))
        run_steps()
        files = collect(notes_of(changelog.read_text(), version))
        # A step that leaves files behind would put them into the commit.
        if strangers := [line for line in git("status", "--porcelain").splitlines() if line.startswith("??")]:
            raise Refused(f"a step has left files: {', '.join(strangers)}")
        print(f"release: {len(files)} files and SHA256SUMS in out/release", flush=True)
        if keep:
            git(
                "commit",
                "-q",
                "-a",
                "-m",
                f"Release {version}",
                "-m",
                notes_of(changelog.read_text(), version).split("\n", 2)[2].strip(),
            )
            git("tag", "-a", f"v{version}", "-m", f"Baton {version}")
            print(
                f"release: committed, and tagged as v{version}. Publish: git push --follow-tags, and the files of out/release"
            )
        done = keep
    finally:
        if not done:
            restore(head)
    if not keep:
        print(
            "release: all is well; the tree is as before. With --yes (make release ARGS=--yes) the commit and the tag are made"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--version", help="default: the one that CHANGELOG.md announces")
    parser.add_argument("--dry-run", action="store_true", help="run the checks that need no build, and print the steps")
    parser.add_argument("--yes", action="store_true", help="make the commit and the tag when all is well")
    arguments = parser.parse_args()
    try:
        changelog = (ROOT / "CHANGELOG.md").read_text()
        version = version_of(changelog, arguments.version)
        check_state(version)
        day = datetime.datetime.now(tz=datetime.UTC).date()
        if arguments.dry_run:
            print(f"Would release {version}:")
            print(f"- set the version in CMakeLists.txt, {', '.join(FOLLOWERS)}")
            print(f"- CHANGELOG.md: 'Unreleased' becomes '{version} ({day.isoformat()})'")
            for words in STEPS:
                print(f"- run {' '.join(words)}")
            print(
                f"- copy {', '.join(f'out/{pattern}' for pattern in MADE)} to out/release, with NOTES.md and SHA256SUMS"
            )
            print(
                f"- {'commit, and tag v' + version if arguments.yes else 'restore the tree (--yes: commit, and tag v' + version + ')'}"
            )
            return 0
        release(version, day, arguments.yes)
    except Refused as refused:
        print(f"release: refused: {refused}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
