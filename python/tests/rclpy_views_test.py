# SPDX-License-Identifier: Apache-2.0
"""baton.rclpy's own endpoints in nodes of rclpy: views over rmw_baton_cpp. With ROS 2's wheels (make setup, x86-64)."""

import pytest
from build_tree import HERE, PACKAGE
from ros2_distribution import TESTED
from ros_domain import claim_domain

PYTHON, RMW = TESTED.python, TESTED.library
pytestmark = pytest.mark.skipif(
    not (PYTHON.exists() and RMW.exists()), reason="needs ROS 2's wheels and rmw_baton_cpp: make setup, make build"
)


@pytest.fixture
def ros(start, tmp_path):
    """ros(program) starts one of rclpy_views_process.py's programs over Baton's RMW, which the wheels need preloaded."""
    domain, claim = claim_domain()

    def begin(program, over_baton=True):
        env = {"PYTHONPATH": str(PACKAGE), "ROS_DOMAIN_ID": str(domain), "ROS_LOG_DIR": str(tmp_path)}
        if over_baton:
            env |= {"LD_PRELOAD": str(RMW), "RMW_IMPLEMENTATION": "rmw_baton_cpp"}
        return start.command([str(PYTHON), str(HERE / "rclpy_views_process.py"), program], env=env)

    with claim:
        yield begin


def line(process, expected):
    for text in process.stdout:
        if text == expected + "\n":
            return
    raise AssertionError(process.stderr.read())


def test_callbacks_of_rclpy_get_views_of_what_a_stock_publisher_sent(ros):
    talker, listener = ros("talk"), ros("listen")
    line(listener, "ready")
    talker.stdin.write("go\n")
    talker.stdin.flush()
    line(listener, "listened")


def test_loans_executors_durability_errors_and_the_end_within_one_process(ros):
    line(ros("mixed"), "mixed")


def test_over_another_rmw_a_view_subscription_says_what_it_will_not_hear(ros):
    line(ros("other_rmw", over_baton=False), "said so")
