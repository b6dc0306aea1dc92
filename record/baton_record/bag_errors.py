# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with bags, and the libraries that read them."""

from __future__ import annotations

import importlib
from types import ModuleType


class BagError(ValueError):
    """A bag that cannot be read, written or played, with the reason."""


def needed(module: str) -> ModuleType:
    """A module of a library for bags, which pip installs with an extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise BagError(
            f"bags need the Python package {(error.name or module).partition('.')[0]}: pip install 'baton-ipc[bag]'"
        ) from None
