#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone and twice in one file, with warnings as errors.

Usage: headers_alone.py --compiler <c++> --folder <where to write> [--system <include dir of others>]... <include dir>...
The sources keep their places, so that the compiler cache, where there is one, knows them again.
"""

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--system", action="append", default=[])
    parser.add_argument("dirs", nargs="+", type=Path)
    args = parser.parse_args()
    compiler = [*filter(None, [shutil.which("ccache")]), args.compiler]
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    includes = [f"-I{directory}" for directory in args.dirs] + [f"-isystem{directory}" for directory in args.system]
    headers = [
        path.relative_to(directory)
        for directory in args.dirs
        for path in sorted(directory.rglob("*.h*"))
        if path.suffix in (".hpp", ".h")
    ]

    args.folder.mkdir(parents=True, exist_ok=True)

    def compile_alone(header):
        source = args.folder / (str(header).replace("/", "-") + ".cpp")
        text = f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n'
        if not source.exists() or source.read_text() != text:
            source.write_text(text)
        command = [*compiler, *includes, *flags, "-c", source, "-o", source.with_suffix(".o")]
        return header, subprocess.run(command, capture_output=True, text=True)

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
