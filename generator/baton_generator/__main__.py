# SPDX-License-Identifier: Apache-2.0
"""`python -m baton_generator`: the program that CMake runs. Users call `baton generate`, which offers the same with help texts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .diagnostics import InterfaceError, Location, fail
from .generate import Wanted, outputs, write
from .model import Dialect
from .packages import DEFAULT_STANDARD, Universe


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(prog="baton_generator", description="Writes Baton's C++ message headers.")
    result.add_argument("--output", type=Path, required=True, help="include directory to write into")
    result.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="PACKAGE:PATH",
        help="an interface file and the package it belongs to",
    )
    result.add_argument(
        "--search", action="append", default=[], type=Path, metavar="DIR", help="a directory that contains packages"
    )
    result.add_argument("--package", action="append", default=[], help="generate everything in this package")
    result.add_argument("--type", action="append", default=[], help="generate this type, e.g. sensor_msgs/Image")
    result.add_argument(
        "--standard",
        default=DEFAULT_STANDARD,
        help="standard set of the rosbags package for packages found nowhere else",
    )
    result.add_argument("--dialect", choices=[d.value for d in Dialect], help="read every file as this dialect")
    result.add_argument(
        "--ros1", action="store_true", help="also write baton/ros1/PACKAGE/NAME.hpp, which name roscpp's types"
    )
    result.add_argument(
        "--recompiled",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="also write headers with ROS 1's names, for recompiled programs; DIR has ROS 1's own",
    )
    result.add_argument(
        "--list",
        type=Path,
        metavar="FILE",
        help="write nothing but a CMake file that names outputs, inputs and watched directories",
    )
    return result


def split_file(argument: str) -> tuple[Path, str]:
    package, colon, path = argument.partition(":")
    if not colon or not package:
        raise fail(Location(argument), "no package given", "write PACKAGE:PATH, e.g. my_msgs:msg/Pose.msg")
    return Path(path), package


def cmake_list(universe: Universe, root: Path, headers: list[Path]) -> str:
    def assign(name: str, paths: list[str]) -> str:
        return f"set({name}\n" + "".join(f"  [==[{p}]==]\n" for p in paths) + ")\n"

    inputs = sorted(str(p.resolve()) for p in universe.inputs)
    watched = sorted(str(p.resolve()) for p in universe.watched)
    return (
        assign("baton_outputs", [str(root / h) for h in headers])
        + assign("baton_inputs", inputs)
        + assign("baton_watched", watched)
    )


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        files = [split_file(f) for f in options.file]
        universe = Universe(
            files=files,
            search=options.search,
            standard=options.standard,
            dialect=Dialect(options.dialect) if options.dialect else None,
        )
        types = [f"{package}/{'srv/' if path.suffix == '.srv' else ''}{path.stem}" for path, package in files]
        headers = outputs(
            universe, Wanted(packages=options.package, types=[*types, *options.type]), options.ros1, options.recompiled
        )
        if options.list:
            options.list.write_text(cmake_list(universe, options.output, list(headers)), "utf-8")
        else:
            write(options.output, headers)
    except InterfaceError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(
            f"{error.filename}: error: {error.strerror}\n  way out: check that the directory exists and can be written",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
