# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with bags, and the libraries that read them."""

from __future__ import annotations

import importlib
from types import ModuleType


class BagError(ValueError):
    """A bag that cannot be read, written or played, with the reason."""


def needed(module: str, user: str = "bags need", extra: str = "bag") -> ModuleType:
    """A module of a library that pip installs with an extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BagError(
            f"{user} the Python package {(error.name or module).partition('.')[0]}: pip install 'baton-ipc[{extra}]'"
        ) from None
