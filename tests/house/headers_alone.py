#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone and twice in one file, with warnings as errors.

Usage: headers_alone.py --compiler <c++> [--system <include dir of others>]... <include dir>...
"""

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("dirs", nargs="+", type=Path)
    args = parser.parse_args()
    flags = ["-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-x", "c++", "-"]
    includes = [f"-I{directory}" for directory in args.dirs] + [f"-isystem{directory}" for directory in args.system]
    headers = [
        path.relative_to(directory)
        for directory in args.dirs
        for path in sorted(directory.rglob("*.h*"))
        if path.suffix in (".hpp", ".h")
    ]

    def compile_alone(header):
        source = f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n'
        done = subprocess.run([args.compiler, *includes, *flags], input=source, capture_output=True, text=True)
        return header, done

    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, done in pool.map(compile_alone, headers):
            if done.returncode != 0:
                failures += 1
                print(f"--- {header} does not compile alone:\n{done.stderr}", file=sys.stderr)
    print(f"{len(headers)} public headers, {failures} do not compile alone")
    return 1 if failures or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
