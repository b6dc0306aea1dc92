# SPDX-License-Identifier: Apache-2.0
"""Compiles sources that the compiler must refuse, and looks for words in its errors. All cases share a prologue of headers, which is compiled
once."""

import argparse
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def check(prologue: str, cases: Sequence[tuple[str, str]]) -> int:
    """Compiles each case (a source, a regular expression of the diagnostics, or "" for one that must compile) with the compiler and the include
    directories of the command line. Prints the wrong cases, and returns the exit status."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("dirs", nargs="+")
    args = parser.parse_args()
    flags = [*(f"-I{d}" for d in args.dirs), "-std=c++17"]

    def problem(case: tuple[str, str]) -> str:
        source, reason = case
        done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
        if not reason:
            return "" if done.returncode == 0 else f"must compile:\n{source}\n{done.stderr[:2000]}"
        if done.returncode == 0:
            return f"must be refused:\n{source}"
        found = re.search(reason, done.stderr, re.DOTALL)
        return "" if found else f"must be refused with '{reason}':\n{source}\n{done.stderr[:2000]}"

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        header = Path(folder) / "prologue.hpp"
        header.write_text(prologue)
        subprocess.run([args.compiler, *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
        command = [args.compiler, *flags, "-include", header, "-fsyntax-only", "-x", "c++", "-"]
        problems = list(filter(None, pool.map(problem, cases)))
    print(f"{len(cases)} cases, {len(problems)} wrong", *problems, sep="\n")
    return 1 if problems else 0
