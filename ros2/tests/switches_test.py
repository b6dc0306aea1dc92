# SPDX-License-Identifier: Apache-2.0
"""When Baton stays out, and how it says so; what a subscription asks not to hear."""

import subprocess

import pytest
from ros2_processes import PYTHON, environment

STARTS = "import rclpy; rclpy.init(); n = rclpy.create_node('n'); n.destroy_node(); rclpy.shutdown()"


def started(processes, code=STARTS, **more):
    env = environment("baton", processes.domain, **more)
    done = subprocess.run([PYTHON, "-c", code], env=env, capture_output=True, text=True, timeout=200, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if "[rmw_baton_cpp]" in line]


def test_one_line_says_what_is_active(processes):
    status, lines = started(processes)
    assert status == 0 and len(lines) == 1
    for part in (
        "take Baton's memory (domain ",
        "received arrays are copied (libbaton_heap.so",
        "all else rmw_fastrtps_cpp",
    ):
        assert part in lines[0]


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("BATON_RMW_PATHS", "underlying", "BATON_RMW_PATHS=underlying"),
        ("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF", "ROS_AUTOMATIC_DISCOVERY_RANGE=OFF"),
        ("BATON_RUNTIME_DIR", "/proc/nowhere", "/proc/nowhere"),
    ],
)
def test_baton_stays_out_and_names_the_reason(processes, variable, value, reason):
    status, lines = started(processes, **{variable: value})
    assert status == 0 and len(lines) == 1
    assert "Baton's memory is not used (" in lines[0] and reason in lines[0]


def test_baton_stays_out_when_security_is_enforced(processes, tmp_path):
    # An enclave is looked for at the start; its certificates are the underlying RMW's, when it makes the first node.
    (tmp_path / "enclaves").mkdir()
    secured = {"ROS_SECURITY_KEYSTORE": str(tmp_path), "ROS_SECURITY_ENABLE": "true"}
    init = "import rclpy; rclpy.init(); rclpy.shutdown()"
    status, lines = started(processes, init, ROS_SECURITY_STRATEGY="Enforce", **secured)
    assert status == 0 and len(lines) == 1
    assert "not used (security is enforced, and Baton does not encrypt)" in lines[0]
    status, lines = started(processes, init, ROS_SECURITY_STRATEGY="Permissive", **secured)
    assert status == 0 and "take Baton's memory" in lines[0]


@pytest.mark.parametrize(
    ("variable", "values"), [("BATON_RMW_PATHS", "auto, both, underlying"), ("BATON_RMW_MALLOC", "huge, system")]
)
def test_an_unknown_switch_is_named(processes, variable, values):
    status, lines = started(processes, **{variable: "sideways"})
    assert status == 0 and f"{variable}=sideways is none of {values}" in lines[0]
    assert "take Baton's memory" in lines[1]


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_a_subscription_may_ignore_publications_of_its_own_context(processes, tmp_path, rmw):
    types = tmp_path / "types"
    types.write_text("test_msgs/msg/Strings\n")
    sender = processes.start_cpp(rmw, "send", str(types), "2", program="ros2_rcl_types")
    heard = processes.result(processes.start_cpp(rmw, "local", str(types), program="ros2_rcl_types"))
    processes.result(sender)
    assert (heard["all"], heard["others"]) == (7, 2)
    if rmw == "baton":  # rcl keeps loans of rmw_fastrtps_cpp's subscriptions back
        assert heard["lends_as_said"]
