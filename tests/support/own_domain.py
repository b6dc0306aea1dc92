# SPDX-License-Identifier: Apache-2.0
"""The fixture of tests that join a domain in their own process; a conftest.py imports it."""

import pytest


@pytest.fixture(autouse=True)
def runtime_directory(tmp_path, monkeypatch):
    """Every test has its own domain directory."""
    directory = tmp_path / "run"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("BATON_RUNTIME_DIR", str(directory))
    return directory
