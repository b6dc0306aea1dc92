# SPDX-License-Identifier: Apache-2.0
"""The file in which the threshold of ATSA is kept, and malformed files in its place."""

import json
import pwd
from pathlib import Path

import pytest
from baton import atsa


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BATON_ATSA_THRESHOLD", raising=False)
    return tmp_path / "baton" / "atsa.json"


def test_a_threshold_is_measured_once_and_kept(cache):
    assert atsa.cached_threshold("world", lambda: 7) == 7
    assert atsa.cached_threshold("world", lambda: 8) == 7
    assert list(json.loads(cache.read_text()).values()) == [7]


@pytest.mark.parametrize("there", ["[]", "7", "null", '"text"', "{", "", "[" * 100_000, '{"a": 1', "\0", "\u00ff"])
def test_a_malformed_cache_is_measured_anew_and_replaced(cache, there):
    cache.parent.mkdir()
    cache.write_text(there, "latin-1")
    assert atsa.cached_threshold("world", lambda: 7) == 7
    assert atsa.cached_threshold("world", lambda: 8) == 7


@pytest.mark.parametrize("value", ['"7"', "[7]", "null", "7.5", "{}"])
def test_a_value_that_is_no_number_is_measured_anew(cache, value):
    cache.parent.mkdir()
    cache.write_text(json.dumps({f"world, {atsa.machine()}": json.loads(value)}))
    assert atsa.cached_threshold("world", lambda: 7) == 7


def test_a_cache_that_cannot_be_is_no_error(cache):
    cache.parent.write_text("a file where the directory would be")
    assert atsa.cached_threshold("world", lambda: 7) == 7


def test_without_a_home_the_threshold_is_measured_and_not_kept(monkeypatch):
    # As in a container whose user id has no name.
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {}[uid])  # KeyError
    with pytest.raises(RuntimeError):
        Path.home()
    assert atsa.cached_threshold("world", lambda: 7) == 7
    assert atsa.cached_threshold("world", lambda: 8) == 8
