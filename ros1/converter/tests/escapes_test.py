# SPDX-License-Identifier: Apache-2.0
"""No message is rewritten that changes after it was published, and rewritten programs print the same (escapes.py).

Always the same programs; for others and more: `.venv/bin/python ros1/converter/tests/escapes_run.py --seeds 1-100`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from escapes import ROS1, ROS2, Flavour, all_rewritten, cases, program

pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")
from escapes_run import check, run


@pytest.mark.parametrize("flavour", [ROS1, ROS2], ids=["ros1", "ros2"])
def test_no_message_is_rewritten_that_changes_after_it_was_published(tmp_path: Path, flavour: Flavour) -> None:
    found = cases(1, flavour, harmless=25)
    changed, right = check(tmp_path, found, flavour)
    assert len(changed) >= 25
    # The comparison of what is printed would notice a wrong rewrite: with every message rewritten, each escape shows.
    (tmp_path / "wrong.cpp").write_text(all_rewritten(program(found, flavour), flavour))
    expected, wrong = printed(right), printed(run(tmp_path / "wrong.cpp"))
    same = {name for name in expected if expected[name] == wrong.get(name)}
    assert {each.name for each in found if each.rewritten is False} & same == set()
    assert {each.name for each in found if each.rewritten} <= same


def printed(lines: list[str]) -> dict[str, list[str]]:
    """What each function printed."""
    found: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("f") and "_" in line:
            found[line] = []
        elif found:
            found[next(reversed(found))].append(line)
    return found
