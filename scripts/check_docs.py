#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a document says something that the repository does not bear out.

Checked in every tracked Markdown file: relative links lead somewhere, also to their heading; a path in backticks that starts
with a top-level folder exists, and so does a source file that is named without its folder; `make <verb>` is a verb of the Makefile; a code block below `<!-- file: <path> -->` is that
file's text (without its licence line).

Checked in every tracked text file: a page of docs/ that is named there exists.

Checked in docs/: each page lies in the folder of its kind (KINDS), or is one of ALONE; docs/README.md links to it in the
section of that kind.
"""

import re
import subprocess
import sys
from pathlib import Path

import checks

# Folder: its section in the index.
KINDS = {"guides": "Guides", "concepts": "Concepts", "format": "Formats", "results": "Results"}
INDEX = "docs/README.md"
ALONE = {INDEX, "docs/architecture.md"}

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]*)(?:#([^)]*))?\)")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w/.-]+\.md\b")
SOURCE = re.compile(r"[\w-]+\.(?:cpp|hpp|def|py|sh)")
CODE = re.compile(r"`([^`\n]+)`")
FILE_BLOCK = re.compile(r"<!-- file: (\S+) -->\s*\n```[a-z]*\n(.*?)^```", re.DOTALL | re.MULTILINE)


def tracked(root):
    out = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [path for path in out.splitlines() if (root / path).is_file()]


def without_licence(text):
    return "".join(line for line in text.splitlines(keepends=True) if "SPDX-License-Identifier" not in line)


def anchors(path):
    """The names under which GitHub and GitLab reach a page's headings."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    names = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose, re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        names.add(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"))
    return names


def misplaced_pages(root, files):
    """Pages outside the four kinds, and pages that the index leaves out or lists under another kind."""
    pages = [path for path in files if path.startswith("docs/") and path.endswith(".md") and path not in ALONE]
    sections = {}
    if INDEX in files:
        for section in re.split(r"^## +", (root / INDEX).read_text(), flags=re.MULTILINE)[1:]:
            title, _, body = section.partition("\n")
            sections[title.strip()] = {f"docs/{target}" for target, _ in LINK.findall(body)}
    problems = []
    for path in pages:
        kind = KINDS.get(path.split("/")[1])
        if kind is None or path.count("/") != 2:
            problems.append(f"{path}: a page lies in one of docs/{{{','.join(KINDS)}}}/")
        elif path not in sections.get(kind, ()):
            problems.append(f"{path}: {INDEX} has no link to it in the section '{kind}'")
    return problems


def pages_named_in(root, path):
    """(line, page) for each page of docs/ that a text file names."""
    try:
        text = (root / path).read_text()
    except UnicodeDecodeError:
        return
    for match in PAGE.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match.group()


def check(root):
    files = tracked(root)
    tops = {path.split("/", 1)[0] for path in files if "/" in path} | {"build", "out"}
    verbs = set(re.findall(r"^([a-z0-9-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    known = set(files) | {str(parent) for path in files for parent in Path(path).parents}
    names = {Path(path).name for path in files}
    problems = misplaced_pages(root, files)
    for path in files:
        if not path.endswith(".md"):
            problems += [
                f"{path}:{number}: there is no page '{page}'"
                for number, page in pages_named_in(root, path)
                if page not in known
            ]
            continue
        text = (root / path).read_text()
        prose = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL | re.MULTILINE)
        for number, line in enumerate(prose.splitlines(), 1):
            for target, heading in LINK.findall(CODE.sub("code", line)):
                if "://" in target or target.startswith("mailto:"):
                    continue
                page = (root / path).parent / target if target else root / path
                if not page.exists():
                    problems.append(f"{path}:{number}: the link to '{target}' leads nowhere")
                elif heading and page.suffix == ".md" and heading not in anchors(page):
                    problems.append(f"{path}:{number}: '{target or path}' has no heading '{heading}'")
            for code in CODE.findall(line):
                if SOURCE.fullmatch(code) and code not in names:
                    problems.append(f"{path}:{number}: no file is called '{code}'")
                words = code.split()
                if words[:1] == ["make"] and len(words) > 1 and words[1] not in verbs:
                    problems.append(f"{path}:{number}: the Makefile has no verb '{words[1]}'")
                for word in words:
                    first = word.split("/", 1)[0]
                    if "/" not in word or first not in tops or first in ("build", "out"):
                        continue
                    if re.fullmatch(r"[\w./-]+", word) and word.strip("/") not in known:
                        # In a room's own page, paths may be relative to it.
                        problems.append(f"{path}:{number}: there is no '{word}'")
        for source, block in FILE_BLOCK.findall(text):
            if not (root / source).is_file():
                problems.append(f"{path}: there is no '{source}' to show")
            elif without_licence((root / source).read_text()).strip() != block.strip():
                problems.append(f"{path}: the code shown is not the text of {source}")
    return problems


if __name__ == "__main__":
    sys.exit(checks.run("documents", check))
