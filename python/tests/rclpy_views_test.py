# SPDX-License-Identifier: Apache-2.0
"""baton.rclpy's own endpoints in nodes of rclpy: views over rmw_baton_cpp. With ROS 2's wheels (make setup, x86-64)."""

from pathlib import Path

import pytest
from support.build import PACKAGE
from support.claims import claim_domain
from support.ros2 import TESTED, needs_ros2, over

pytestmark = needs_ros2(TESTED.library)


@pytest.fixture
def ros(programs, tmp_path):
    """ros(program) starts one of rclpy_views_process.py's programs over Baton's RMW, which the wheels need preloaded."""
    domain, claim = claim_domain()

    def begin(program, over_baton=True):
        env = {"PYTHONPATH": str(PACKAGE), "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
        env |= over("baton" if over_baton else "plain")
        return programs.start([TESTED.python, Path(__file__).with_name("rclpy_views_process.py"), program], env=env)

    with claim:
        yield begin


def line(process, expected):
    for text in process.stdout:
        if text == expected + "\n":
            return
    raise AssertionError(process.stderr.read())


def test_callbacks_of_rclpy_get_views_of_messages_of_a_stock_publisher(ros):
    talker, listener = ros("talk"), ros("listen")
    line(listener, "ready")
    talker.tell("go")
    line(listener, "listened")


def test_loans_executors_durability_errors_and_the_end_within_one_process(ros):
    line(ros("mixed"), "mixed")


def test_over_another_rmw_a_view_subscription_warns_of_publishers_out_of_reach(ros):
    line(ros("other_rmw", over_baton=False), "said so")


def test_a_publisher_that_changes_messages_under_callbacks_of_rclpy_ends_its_connections_alone(ros):
    line(ros("changed", over_baton=False), "changed")
