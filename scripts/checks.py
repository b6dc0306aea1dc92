# SPDX-License-Identifier: Apache-2.0
"""The command line that the checks of the house share: check_*.py [root of the project]."""

import sys
from collections.abc import Callable
from pathlib import Path


def run(name: str, check: Callable[[Path], list[str]]) -> int:
    """Prints the problems that `check` finds on stderr, and their number on stdout. Returns the exit status."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent).resolve()
    problems = check(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{name}: {'ok' if not problems else f'{len(problems)} problems'}")
    return 1 if problems else 0
