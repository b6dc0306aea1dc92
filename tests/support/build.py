# SPDX-License-Identifier: Apache-2.0
"""The places of the tree under test: the checkout, and its build BATON_BUILD, by default build/release."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build/release"))
BIN, LIB = BUILD / "bin", BUILD / "lib"
PACKAGE = BUILD / "python"  # PYTHONPATH of programs that import baton
LINK = BIN / "baton_link"
RECORD = BIN / "baton_record"


def has_package() -> bool:
    """Whether the Python package is built."""
    return any((PACKAGE / "baton").glob("_core*.so"))


def needs_package(*programs: Path) -> pytest.MarkDecorator:
    """Skips a test, or a file as its pytestmark, where the Python package or one of these files is not built."""
    built = has_package() and all(program.exists() for program in programs)
    return pytest.mark.skipif(not built, reason="the Python package is not built: make build")
