#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ROS 2 distributions for which rmw_baton_cpp is built and tested. Each has a file ros2/distributions/<name>.toml, which says what differs,
and, if there are wheels of it, ros2/distributions/<name>.txt, which pins them: the gate tests those with wheels. All names follow from <name>: .venv-ros2-<name>, lib/<name> in a build, the CMake options
BATON_ROS2_<NAME>_PREFIX and BATON_ROS2_<NAME>_INSTALL_DIR, the part <name> of scripts/parts.toml, the package ros-<name>-rmw-baton-cpp.

    scripts/ros2_distributions.py                  prints the names, the default first
    scripts/ros2_distributions.py --wheels         prints the names of those with wheels
    scripts/ros2_distributions.py --default        prints the name of the default
    scripts/ros2_distributions.py --update         writes the table of docs/guides/ros2.md
    scripts/ros2_distributions.py --debian FOLDER  writes each distribution's part of FOLDER, a copy of packaging/debian
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

from fill_page import fill

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "ros2/distributions"
PAGE, BLOCK = ROOT / "docs/guides/ros2.md", "distributions"
# In a text that is written once for each distribution.
NAME, TITLE = "@name@", "@title@"


class Distribution(NamedTuple):
    name: str
    init_options_bytes: int
    wheels: bool
    content_filters: bool
    converted_types: int = 0
    default: bool = False
    measured: bool = False

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def venv(self) -> Path:
        return ROOT / f".venv-ros2-{self.name}"

    def fills(self, text: str) -> str:
        return text.replace(NAME, self.name).replace(TITLE, self.title)


def read(folder: Path = FOLDER) -> list[Distribution]:
    """The distributions by name, but the default first."""
    found = [
        Distribution(file.stem, wheels=file.with_suffix(".txt").exists(), **tomllib.loads(file.read_text()))
        for file in sorted(folder.glob("*.toml"))
    ]
    for role in ("default", "measured"):
        if len(chosen := [each.name for each in found if getattr(each, role)]) != 1:
            raise SystemExit(f"ros2/distributions: one distribution is {role}, and these are: {chosen}")
    return sorted(found, key=lambda each: not each.default)


def table(distributions: list[Distribution]) -> str:
    """The table of docs/guides/ros2.md."""
    lines = [
        "| ROS 2 | wheels in | the RMW in a build | in `/opt/ros` by the package | tested |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in distributions:
        tested = (
            "by hand, with one that was built from its sources"
            if not each.wheels
            else "at each change"
            if each.default
            else "every night, and one scenario of each kind at each change"
        )
        place = f"`.venv-ros2-{NAME}`" if each.wheels else "none"
        row = f"| {TITLE} | {place} | `build/release/lib/{NAME}/librmw_baton_cpp.so` | `ros-{NAME}-rmw-baton-cpp` | {tested} |"
        lines.append(each.fills(row))
    return "\n".join(lines)


def write_debian(folder: Path, distributions: list[Distribution]) -> None:
    """Files with @name@ in their name become one for each, and so does the paragraph of `control`."""
    for template in folder.glob(f"*{NAME}*"):
        for each in distributions:
            template.with_name(each.fills(template.name)).write_text(each.fills(template.read_text()))
        template.unlink()
    control = folder / "control"
    paragraphs = [
        filled
        for paragraph in control.read_text().rstrip("\n").split("\n\n")
        for filled in (
            map(Distribution.fills, distributions, [paragraph] * len(distributions))
            if NAME in paragraph
            else [paragraph]
        )
    ]
    control.write_text("\n\n".join(paragraphs) + "\n")


def main(arguments: list[str]) -> None:
    match arguments:
        case []:
            print("\n".join(each.name for each in read()))
        case ["--wheels"]:
            print("\n".join(each.name for each in read() if each.wheels))
        case ["--default"]:
            print(read()[0].name)
        case ["--update"]:
            PAGE.write_text(fill(PAGE.read_text(), BLOCK, table(read())))
        case ["--debian", folder]:
            write_debian(Path(folder), read())
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
