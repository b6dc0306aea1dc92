# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of diagnostic_updater, beside the same programs of ROS."""

import pytest
from recompiled_tf_test import assert_no_shared_name_has_a_message
from ros1_network import BUILD

pytestmark = [
    pytest.mark.own_master,  # its topics have absolute names
    pytest.mark.skipif(
        not (BUILD / "bin" / "ros1_recompiled_diagnostics").exists(),
        reason="needs libdiagnostic-updater-dev and libdiagnostic-msgs-dev: make build-ros1",
    ),
]


def lines(ros, program):
    running = ros.run([BUILD / "bin" / program], preload=False)
    said = []
    while (line := running.line(120)) != "end":
        said.append(line)
    return said


def test_every_task_says_what_it_says_with_the_stock_headers(ros):
    stock, own = lines(ros, "ros1_diagnostics"), lines(ros, "ros1_recompiled_diagnostics")
    assert len(own) > 1500
    assert own.count("came: all") == 7
    assert "message: Timestamps too far in future seen." in own
    assert own == stock


def test_a_program_shares_with_the_library_only_names_without_messages():
    assert_no_shared_name_has_a_message(
        "diagnostics",
        "diagnostic_updater",
        "diagnostic_updater",
        "diagnostic_updater::DiagnosticStatusWrapper::add",
        "^$",
    )
