# SPDX-License-Identifier: Apache-2.0
"""Errors of bags, and imports of the libraries that read them."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from types import ModuleType


class BagError(ValueError):
    """A bag that cannot be read, written or played, with the reason."""


def needed(module: str, user: str = "bags need", extra: str = "bag") -> ModuleType:
    """Imports a module of a library that pip installs with an extra. Raises BagError, which names the extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BagError(
            f"{user} the Python package {(error.name or module).partition('.')[0]}: pip install 'baton-ipc[{extra}]'"
        ) from None


def check_number(
    name: str, value: float | None, error: type[Exception] = BagError, least: float = 0, may_be_least: bool = False
) -> None:
    """Raises an error if a number is infinite, nan, less than `least`, or `least` itself. None is accepted."""
    if value is None or (math.isfinite(value) and (value > least or (may_be_least and value == least))):
        return
    right = f"from {least:g} on" if may_be_least else f"above {least:g}"
    raise error(
        f"{name} is a number {right}, not {value}"
        if math.isfinite(least)
        else f"{name} is a finite number, not {value}"
    )


def check_file(path: Path) -> None:
    """Raises BagError for what is there and is no ordinary file: a pipe would never end, and a device never be full."""
    if path.exists() and not path.is_file():
        raise BagError(f"{path} is no ordinary file")
