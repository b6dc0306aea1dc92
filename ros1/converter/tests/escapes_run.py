#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes programs of escapes.py, rewrites them, and compares what they print: escapes_run.py --seeds 1-100 [--harmless 25]."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from baton_converter.verbs.migrate import command
from click.testing import CliRunner
from escapes import CASES, ROS1, ROS2, Case, Flavour, cases, program, rewritten


def run(source: Path) -> list[str]:
    """What the program prints. Most of the compiler's time is for the headers, so all functions are one program."""
    binary = source.with_suffix("")
    compiler = ["c++", "-std=c++17", "-w", "-pthread", f"-I{CASES}", "-o", str(binary), str(source)]
    subprocess.run(compiler, check=True, timeout=600)
    return subprocess.run([str(binary)], capture_output=True, text=True, check=True, timeout=60).stdout.splitlines()


def check(folder: Path, found: list[Case], flavour: Flavour) -> tuple[set[str], list[str]]:
    """Rewrites a program of these functions. The names of the rewritten ones, and what the program prints, before and after; an
    AssertionError names the wrong ones."""
    source, text = folder / "program.cpp", program(found, flavour)
    source.write_text(text)
    entry = {"directory": str(folder), "file": source.name, "command": f"c++ -std=c++17 -I{CASES} -c {source.name}"}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    before = run(source)
    said = CliRunner().invoke(command, ["apply", str(folder)])
    assert said.exit_code == 0, said.output
    changed = rewritten(text, source.read_text())
    wrong = {each.name for each in found if each.rewritten is False} & changed
    assert not wrong, f"rewritten, though the message changes after it was published: {sorted(wrong)}"
    left = {each.name for each in found if each.rewritten} - changed
    assert not left, f"not rewritten, though nothing forbids it: {sorted(left)}"
    assert run(source) == before
    return changed, before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-100", help="first-last")
    parser.add_argument("--harmless", type=int, default=25, help="functions without a construct, for each seed")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    failed = 0
    for seed in range(int(first), int(last or first) + 1):
        for name, flavour in (("ROS 1", ROS1), ("ROS 2", ROS2)):
            with tempfile.TemporaryDirectory() as folder:
                found = cases(seed, flavour, options.harmless)
                try:
                    changed, _ = check(Path(folder), found, flavour)
                    print(f"seed {seed}, {name}: {len(found)} functions, {len(changed)} rewritten", flush=True)
                except (AssertionError, subprocess.SubprocessError) as error:
                    failed += 1
                    print(f"seed {seed}, {name}: FAILED: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
