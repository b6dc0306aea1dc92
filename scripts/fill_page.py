#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fill_page.py PAGE NAME TEXT: puts the file TEXT into PAGE between `<!-- recorded: NAME -->` and `<!-- end of recorded -->`.

For tables that a command writes (`baton perf accept --markdown`, `baton perf robot --markdown`), so that no number of them is typed in.
"""

import re
import sys
from pathlib import Path


def fill(page: str, name: str, text: str) -> str:
    block = re.compile(rf"(<!-- recorded: {re.escape(name)} -->\n).*?(<!-- end of recorded -->)", re.DOTALL)
    filled, count = block.subn(lambda marks: f"{marks[1]}{text.strip()}\n{marks[2]}", page)
    if count != 1:
        raise ValueError(
            f"the page has {count} places '<!-- recorded: {name} --> ... <!-- end of recorded -->', and needs one"
        )
    return filled


def main(arguments: list[str]) -> None:
    if len(arguments) != 3:
        raise SystemExit("usage: fill_page.py PAGE NAME TEXT")
    page, name, text = Path(arguments[0]), arguments[1], Path(arguments[2])
    try:
        page.write_text(fill(page.read_text(), name, text.read_text()))
    except (OSError, ValueError) as problem:
        raise SystemExit(f"fill_page: {page}: {problem}") from problem


if __name__ == "__main__":
    main(sys.argv[1:])
