# SPDX-License-Identifier: Apache-2.0
"""The small programs that verbs start."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

_PACKAGE = Path(__file__).resolve().parent


def find_program(name: str, way_out: str) -> Path:
    """A program of this wheel, of this checkout's release build, or on the PATH."""
    on_path = shutil.which(name)
    for folder in (_PACKAGE / "programs", _PACKAGE.parents[1] / "build/release/bin"):
        if (folder / name).is_file():
            return folder / name
    if on_path:
        return Path(on_path)
    raise click.ClickException(f"there is no {name}: run `make build` in a checkout, or {way_out}")
