# SPDX-License-Identifier: Apache-2.0
"""scripts/release.py, on a copy of this tree with steps that take no time."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Makes the results of the long steps from their inputs; a second run with BREAK fails.
STEP = """
import os, pathlib, sys
for name in ("packages/a.deb", "packages/a.changes", "packages/a.buildinfo", "wheels/a.whl", "wheels/a.tar.gz"):
    path = pathlib.Path("out", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(pathlib.Path("CMakeLists.txt").read_text())
sys.exit("BREAK" in os.environ)
"""
NEEDED = (
    "CMakeLists.txt",
    "CHANGELOG.md",
    "package.xml",
    "pyproject.toml",
    ".gitignore",
    "packaging/debian",
    "scripts",
    "tests/house",
    "docs/guides",
    "lab",
    "python",
    "ros2",
)


class Clone:
    def __init__(self, folder):
        self.folder = folder
        files = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *NEEDED], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()  # fmt: skip
        for name in files:
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        script = folder / "scripts/release.py"
        steps = f"STEPS = (({sys.executable!r}, '-c', {STEP!r}),)\n"
        script.write_text(re.sub(r"^STEPS = \(\n.*?^\)\n", lambda _: steps, script.read_text(), flags=re.M | re.S))
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "test")
        self.git("config", "user.email", "test@example.org")
        self.commit()

    def git(self, *words):
        return subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, check=True).stdout

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def text(self, path):
        return (self.folder / path).read_text()

    def announce(self, version):
        text = re.sub(
            r"^(## Unreleased\n\n)Will be [^\n]*", rf"\1Will be {version}.", self.text("CHANGELOG.md"), flags=re.M
        )
        (self.folder / "CHANGELOG.md").write_text(text)
        self.commit()

    def release(self, *words, **environment):
        return subprocess.run(
            [sys.executable, "-B", "scripts/release.py", *words],
            cwd=self.folder, capture_output=True, text=True, env={**os.environ, **environment},
        )  # fmt: skip


@pytest.fixture
def clone(tmp_path):
    made = Clone(tmp_path)
    if "## Unreleased" not in made.text("CHANGELOG.md"):  # this tree is a release
        changelog = made.text("CHANGELOG.md").replace(
            "\n## ", "\n## Unreleased\n\nWill be 0.1.0.\n\n- A line.\n\n## ", 1
        )
        (tmp_path / "CHANGELOG.md").write_text(changelog)
        made.commit()
    made.announce("7.8.9")
    return made


def refused(done, reason):
    return done.returncode == 1 and f"release: refused: {reason}" in done.stderr


def test_a_release_sets_every_version_and_moves_the_changelog(clone):
    lines = re.search(r"^## Unreleased\n.*?(?=^## |\Z)", clone.text("CHANGELOG.md"), re.M | re.S)[0].count("\n- ")
    done = clone.release("--yes")
    assert done.returncode == 0, done.stderr
    assert clone.git("status", "--porcelain") == ""
    assert clone.git("log", "-1", "--format=%s") == "Release 7.8.9\n"
    assert clone.git("rev-parse", "v7.8.9^{commit}") == clone.git("rev-parse", "HEAD")
    assert "Unreleased" not in re.findall(r"^## (.*)$", clone.text("CHANGELOG.md"), re.M)
    notes = clone.text("out/release/NOTES.md")
    assert re.match(r"## 7\.8\.9 \(\d{4}-\d\d-\d\d\)\n\n### ", notes) and notes.count("\n- ") == lines
    # The files of out/release were made with the new version.
    assert "project(baton VERSION 7.8.9 " in clone.text("out/release/a.deb")
    for line in clone.text("out/release/SHA256SUMS").splitlines():
        digest, name = line.split()
        assert hashlib.sha256((clone.folder / "out/release" / name).read_bytes()).hexdigest() == digest
    # The tree's own tests of the version and of the packages hold.
    tests = ["tests/house/project_files_test.py", "tests/house/packages_test.py", "-k", "version or changelog"]
    passed = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=clone.folder, capture_output=True, text=True,
    )  # fmt: skip
    assert passed.returncode == 0, passed.stdout
    assert (
        "libbaton7.8" in clone.text("packaging/debian/control")
        and (clone.folder / "packaging/debian/libbaton7.8.symbols").exists()
    )
    assert refused(clone.release("--yes"), "CHANGELOG.md has no line below 'Unreleased'")


def test_a_failed_step_leaves_the_tree_as_it_was(clone):
    head = clone.git("rev-parse", "HEAD")
    done = clone.release("--yes", BREAK="1")
    assert done.returncode == 1 and "failed (1), so nothing is released" in done.stderr
    assert (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"), clone.git("tag")) == (head, "", "")


def test_without_yes_there_is_no_commit_and_with_dry_run_nothing_at_all(clone):
    head = clone.git("rev-parse", "HEAD")
    done = clone.release("--dry-run")
    assert done.returncode == 0 and "Would release 7.8.9" in done.stdout and not (clone.folder / "out").exists()
    done = clone.release()
    assert (
        done.returncode == 0
        and "the tree is as before" in done.stdout
        and (clone.folder / "out/release/SHA256SUMS").exists()
    )
    assert (clone.git("rev-parse", "HEAD"), clone.git("status", "--porcelain"), clone.git("tag")) == (head, "", "")


def test_a_tree_that_cannot_be_released_is_refused_with_the_reason(clone):
    (clone.folder / "new_file").touch()
    assert refused(clone.release("--yes"), "the tree has changes that are not committed")
    (clone.folder / "new_file").unlink()
    clone.git("tag", "v7.8.9")
    assert refused(clone.release("--yes"), "the tag v7.8.9 exists")
    assert refused(clone.release("--yes", "--version", "7.8.8"), "7.8.8 is not newer than 7.8.9")
    assert refused(clone.release("--yes", "--version", "8"), "'8' is no version")
    text = re.sub(r"^(## Unreleased\n\n[^\n]*\n).*?(?=^## |\Z)", r"\1", clone.text("CHANGELOG.md"), flags=re.M | re.S)
    (clone.folder / "CHANGELOG.md").write_text(text)
    clone.commit()
    assert refused(clone.release("--yes"), "CHANGELOG.md has no line below 'Unreleased'")
