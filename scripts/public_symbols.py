#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds the public symbols of libbaton.so, and writes or checks packaging/debian/libbaton<version>.symbols, which lists them.

A symbol is public if an installed header declares it: clang prints the mangled name of each declaration. Functions that are inline
there are no part of the interface, because each program compiles them itself; classes' vtables and type information are.
The packaged library exports what the file lists and nothing else (BATON_EXPORTS).

    scripts/public_symbols.py --update     writes the file from the objects of build/release
    scripts/public_symbols.py --check      fails if the file is not true
    scripts/public_symbols.py --map DIR    writes the linker's version scripts

The version behind a symbol is the first release that has it, as Debian wants it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOUND = re.search(r"^project\(baton VERSION ((\d+\.\d+)\.\d+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
assert FOUND
VERSION, ABI = FOUND[1], FOUND[2]  # the soname has major and minor version
SYMBOLS = ROOT / f"packaging/debian/libbaton{ABI}.symbols"
ROOMS = ("core/os", "core/memory", "core/message", "core/transport", "core/objects", "core/node", "link")
# The objects of each library. The second one replaces malloc, so it also exports functions that are not in its header.
LIBRARIES = {"libbaton": "baton_*_objects.dir", "libbaton_real_time_check": "baton_real_time_check.dir"}
OF_CLASS = re.compile(r"(?:vtable|VTT|typeinfo|typeinfo name) for (.*)")
OF_FUNCTION = re.compile(r"(?:guard variable for|(?:non-)?virtual thunk to) (.*)")


def run(*command: object, text: str | None = None) -> str:
    return subprocess.run(
        [str(part) for part in command], input=text, capture_output=True, text=True, check=True
    ).stdout


def demangled(names: list[str]) -> dict[str, str]:
    return dict(zip(names, run("c++filt", text="\n".join(names)).splitlines(), strict=True))


def declared() -> set[str]:
    """The functions that the installed headers declare, demangled: so the two symbols of a constructor are one."""
    headers = [
        path.relative_to(ROOT / room / "include")
        for room in ROOMS
        for path in sorted((ROOT / room / "include").rglob("*.h*"))
    ]
    with tempfile.NamedTemporaryFile("w", suffix=".cpp") as source:
        source.write("".join(f"#include <{header}>\n" for header in headers))
        source.flush()
        tree = run(
            "clang++", "-std=c++17", "-fsyntax-only", *(f"-I{ROOT / room / 'include'}" for room in ROOMS),
            "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=baton::", source.name,
        )  # fmt: skip
    return set(demangled(sorted(set(re.findall(r'"mangledName": "(_Z[^"]*)"', tree)))).values())


def class_of(function: str) -> str:
    return function.partition("(")[0].rpartition("::")[0]


def defined(build: Path, folder: str) -> dict[str, str]:
    """Binding (GLOBAL, WEAK, UNIQUE) of each symbol that the objects define for other libraries."""
    objects = sorted(build.glob(f"**/CMakeFiles/{folder}/**/*.o"))
    if not objects:
        sys.exit(f"public_symbols: {build} has no objects of the library; build first (scripts/build.sh release)")
    rows = (line.split() for line in run("readelf", "--syms", "--wide", *objects).splitlines())
    symbols = (
        row[4:8] for row in rows if len(row) == 8
    )  # number, value, size, type, binding, visibility, section, name
    return {
        name: binding
        for binding, visibility, section, name in symbols
        if binding in ("GLOBAL", "WEAK", "UNIQUE") and visibility in ("DEFAULT", "PROTECTED") and section != "UND"
    }


def public(build: Path) -> dict[str, list[str]]:
    names = declared()
    classes = {class_of(name) for name in names}

    def is_public(binding: str, name: str) -> bool:
        if found := OF_CLASS.fullmatch(name):
            return found[1] in classes
        if found := OF_FUNCTION.fullmatch(name):
            name = found[1]
            if "guard" in found[0]:
                name = name.rpartition("::")[0]
        elif binding == "UNIQUE" and name not in names:  # a static of an inline function: one for all libraries
            name = name.rpartition("::")[0]
        elif binding == "WEAK":
            return False
        return name in names

    result = {}
    for library, folder in LIBRARIES.items():
        bindings = defined(build, folder)
        readable = demangled(list(bindings))
        every = library != "libbaton"
        result[library] = sorted(
            symbol
            for symbol, binding in bindings.items()
            if (every and binding == "GLOBAL") or is_public(binding, readable[symbol])
        )
    return result


def read() -> dict[str, dict[str, str]]:
    """The file: for each library the version of each symbol."""
    listed: dict[str, dict[str, str]] = {library: {} for library in LIBRARIES}
    library = ""
    for line in SYMBOLS.read_text().splitlines() if SYMBOLS.exists() else []:
        if symbol := re.fullmatch(r" (\S+)@Base (\S+)", line):
            listed[library][symbol[1]] = symbol[2]
        elif not line.startswith(("*", "#", "|")):
            library = line.partition(".so.")[0]
    return listed


def write(symbols: dict[str, list[str]]) -> None:
    known, lines = read(), []
    for library, names in symbols.items():
        lines += [f"{library}.so.{ABI} libbaton{ABI} #MINVER#", "* Build-Depends-Package: libbaton-dev"]
        # The tilde: a package of a version that is not released yet has the symbol, too.
        lines += [f" {name}@Base {known[library].get(name, VERSION + '~')}" for name in names]
    SYMBOLS.write_text("\n".join(lines) + "\n")


def check(symbols: dict[str, list[str]]) -> int:
    listed = read()
    new = [name for library, names in symbols.items() for name in names if name not in listed[library]]
    gone = [name for library, names in listed.items() for name in names if name not in symbols[library]]
    for word, names in (("new", new), ("gone", gone)):
        for name in demangled(names).values():
            print(f"public_symbols: {word}: {name}", file=sys.stderr)
    if new or gone:
        print(
            f"public_symbols: {len(new)} public symbols of libbaton are new and {len(gone)} are gone. Run scripts/public_symbols.py --update "
            f"(it reads build/release) and commit {SYMBOLS.relative_to(ROOT)}. A symbol that is gone breaks programs that were compiled with it: "
            "after a release that needs a new minor version.",
            file=sys.stderr,
        )
    return 1 if new or gone else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    for name in ("update", "check"):
        action.add_argument(f"--{name}", action="store_true")
    action.add_argument("--map", type=Path, metavar="DIR")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="where the objects are")
    arguments = parser.parse_args()
    if arguments.map:
        arguments.map.mkdir(parents=True, exist_ok=True)
        for library, names in read().items():
            lines = ["{", "  global:", *(f"    {name};" for name in names), "  local: *;", "};", ""]
            (arguments.map / f"{library}.map").write_text("\n".join(lines))
        return 0
    symbols = public(arguments.build)
    if arguments.check:
        return check(symbols)
    write(symbols)
    return 0


if __name__ == "__main__":
    sys.exit(main())
