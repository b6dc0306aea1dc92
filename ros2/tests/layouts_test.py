# SPDX-License-Identifier: Apache-2.0
"""A type whose native messages are laid out differently from what Baton knows: its ends are refused in words."""

import pytest
from ros2_processes import LIMIT_S


@pytest.mark.parametrize("role", ["talk", "listen"])
def test_a_type_that_is_laid_out_differently_is_refused_by_name(processes, role):
    program = processes.start_cpp("baton", role, program="ros2_layouts")
    out, _ = program.communicate(timeout=LIMIT_S)
    assert program.returncode == 1, out
    for part in ("std_msgs/String.data lies at byte 8", "expected at byte 0"):
        assert part in program.log()
