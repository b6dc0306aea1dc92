#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a document says something that the repository does not bear out.

Checked in every tracked Markdown file: relative links lead somewhere; a path in backticks that starts with a top-level
folder exists; `make <verb>` is a verb of the Makefile; a code block below `<!-- file: <path> -->` is that file's text
(without its licence line).
"""

import re
import subprocess
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
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


def check(root):
    files = tracked(root)
    tops = {path.split("/", 1)[0] for path in files if "/" in path} | {"build", "out"}
    verbs = set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.MULTILINE))
    known = set(files) | {str(parent) for path in files for parent in Path(path).parents}
    problems = []
    for path in files:
        if not path.endswith(".md"):
            continue
        text = (root / path).read_text()
        prose = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text, flags=re.DOTALL | re.MULTILINE)
        for number, line in enumerate(prose.splitlines(), 1):
            for target in LINK.findall(CODE.sub("", line)):
                if "://" not in target and not target.startswith("mailto:"):
                    if not (root / path).parent.joinpath(target).exists():
                        problems.append(f"{path}:{number}: the link to '{target}' leads nowhere")
            for code in CODE.findall(line):
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


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent).resolve()
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"documents: {'ok' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
