# SPDX-License-Identifier: Apache-2.0
"""How each source is compiled: compile_commands.json, as CMake writes it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NAME = "compile_commands.json"
WAY_OUT = (
    "Configure the build with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON (catkin build --cmake-args "
    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON; other build systems: bear), and name its folder with -p."
)
# Options that a compiler writes files by, and options of gcc that clang does not know.
_WITH_VALUE = {"-o", "-MF", "-MT", "-MQ"}
_DROPPED = {"-c", "-S", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-pipe", "-save-temps", "-fconserve-stack"}
_DROPPED_STARTS = (
    "-flto",
    "-fno-lto",
    "-ffat-lto",
    "-fconcepts",
    "-fmodules-ts",
    "-fanalyzer",
    "-fdump",
    "-fno-var-tracking",
)


class NoCompileCommands(Exception):
    """No compile command was found for the sources. The text names the file or folder that was read, and the way out."""


class NoDatabase(NoCompileCommands):
    """There is no file with compile commands."""


@dataclass(frozen=True)
class Command:
    """One source, and the options with which clang reads it. `options` holds no compiler, source or output."""

    source: Path
    folder: Path
    options: tuple[str, ...]


def _options(arguments: list[str], folder: Path, source: Path) -> tuple[str, ...]:
    kept: list[str] = []
    values = iter(arguments[1:])
    if arguments and Path(arguments[0]).name in ("ccache", "distcc"):
        next(values, None)
    for option in values:
        if option in _WITH_VALUE:
            next(values, None)
        elif option == "--" or option in _DROPPED or option.startswith(_DROPPED_STARTS):
            continue
        elif not option.startswith("-") and (folder / option).resolve() == source:
            continue
        else:
            kept.append(option)
    if not any(option.startswith(("-std", "--std")) for option in kept):
        compiler = next((word for word in arguments if Path(word).name not in ("ccache", "distcc")), "")
        kept += _language(compiler)
    return tuple(kept)


@cache
def _language(compiler: str) -> tuple[str, ...]:
    """The option for the C++ that the compiler reads without one: libclang's own default may be older."""
    command = [compiler, "-x", "c++", "-E", "-dM", "/dev/null"]
    try:
        macros = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):  # not on this machine: clang's default then
        return ()
    year = re.search(r"#define __cplusplus 20(\d\d)", macros)
    return (f"-std=gnu++{year[1]}",) if year and year[1] in ("11", "14", "17", "20") else ()


def find(tree: Path, build: Path | None) -> list[Path]:
    """The databases: of `build` (a folder, a file, or a folder of one build per package), else of `tree` or `tree`/build, else of the
    nearest folder above the tree that has one, or a folder build with one, which names a source of the tree."""
    places = [build] if build is not None else [tree, tree / "build"]
    for place in places:
        if place.is_file():
            return [place]
        if (place / NAME).is_file():
            return [place / NAME]
        if (build is not None or place != tree) and (several := sorted(place.glob(f"*/{NAME}"))):
            return several
    for above in tree.resolve().parents if build is None else ():
        for file in (above / NAME, above / "build" / NAME):
            if file.is_file() and _names_source_of(file, tree.resolve()):
                return [file]
    looked = " or ".join(str(place / NAME) for place in places)
    above = f"{NAME} above {tree} that names its sources, and no " if build is None else ""
    raise NoDatabase(f"There is no {above}{looked}. {WAY_OUT}")


def _names_source_of(database: Path, tree: Path) -> bool:
    try:
        return any(command.source.is_relative_to(tree) for command in read([database]))
    except (NoCompileCommands, OSError):
        return False  # of another project, or not for us to read


def read(files: list[Path], wanted: Callable[[list[str]], bool] = lambda arguments: True) -> list[Command]:
    """One command for each source: the first `wanted` one, where a source is compiled several times."""
    commands: dict[Path, Command] = {}
    for file in files:
        try:
            for entry in json.loads(file.read_text()):
                folder = Path(entry["directory"])
                source = (folder / entry["file"]).resolve()
                arguments = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
                if wanted(arguments):
                    commands.setdefault(source, Command(source, folder, _options(arguments, folder, source)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise NoCompileCommands(
                f"{file} is no compilation database ({type(error).__name__}: {error}). {WAY_OUT}"
            ) from None
    return [commands[source] for source in sorted(commands, key=os.fspath)]
