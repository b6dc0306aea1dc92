# SPDX-License-Identifier: Apache-2.0
"""A type whose native messages are laid out differently from what Baton knows: Baton stays out of its topics, and of no others."""

import pytest
from ros2_processes import LIMIT_S, paths
from support.ros2 import ALONE

MESSAGES = 20


@pytest.mark.parametrize(("writer", "reader"), [("baton", "baton"), ("baton", "plain"), ("plain", "baton")])
def test_a_type_that_is_laid_out_differently_takes_the_underlying_rmw_and_is_named_once(processes, writer, reader):
    listener = processes.start_cpp(reader, "listen", MESSAGES, program="ros2_layouts")
    talker = processes.start_cpp(writer, "talk", MESSAGES, program="ros2_layouts")
    heard, said = processes.result(listener), processes.result(talker)
    assert (heard["first"], heard["second"], heard["third"]) == (MESSAGES,) * 3
    for rmw, log in ((writer, said["log"]), (reader, heard["log"])):
        lines = [line for line in log.splitlines() if "take the underlying RMW only" in line]
        assert len(lines) == (rmw == "baton"), log
        for line in lines:
            for part in (
                "std_msgs/String.data lies at byte 8",
                "expected at byte 0",
                "/first",
                "all others of its type",
            ):
                assert part in line.replace("/second", "/first"), line
    if (writer, reader) == ("baton", "baton"):
        assert paths(heard["log"], "/third")["baton"] > 0
        assert "of /first:" not in heard["log"] + said["log"]


@pytest.mark.skipif(not ALONE, reason="above another RMW, that RMW carries the type")
@pytest.mark.parametrize("role", ["talk", "listen"])
def test_a_type_that_is_laid_out_differently_is_refused_by_name(processes, role):
    program = processes.start_cpp("baton", role, MESSAGES, program="ros2_layouts")
    out, _ = program.communicate(timeout=LIMIT_S)
    assert program.returncode == 1, out
    for part in ("std_msgs/String.data lies at byte 8", "expected at byte 0"):
        assert part in program.log()
