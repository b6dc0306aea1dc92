# SPDX-License-Identifier: Apache-2.0
"""A C++ program over rcl whose allocations fail one after the other: no exception crosses C, nothing is left half made."""


def test_what_finds_no_memory_says_so_and_leaves_nothing_behind(processes):
    program = processes.start_cpp("baton", program="ros2_no_memory")
    assert processes.result(program)["failures"] > 20
