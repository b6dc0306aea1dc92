# SPDX-License-Identifier: Apache-2.0
"""What the environment asks for, what is refused, and how it is said; what a subscription asks not to hear."""

import subprocess
import time

import pytest
from ros2_processes import HEAP, PYTHON, environment
from support.waiting import until

STARTS = "import rclpy, sys; rclpy.init(args=sys.argv); n = rclpy.create_node('n'); n.destroy_node(); rclpy.shutdown()"
DEBUG = ("--ros-args", "--log-level", "rmw_baton_cpp:=debug")


def started(processes, *arguments, code=STARTS, **more):
    """The exit status, and the lines of rmw_baton_cpp; all lines if it failed."""
    env = environment("baton", processes.domain, **more)
    done = subprocess.run(
        [PYTHON, "-c", code, *arguments], env=env, capture_output=True, text=True, timeout=200, check=False
    )
    lines = done.stderr.splitlines()
    return done.returncode, [line for line in lines if "[rmw_baton_cpp]" in line] if done.returncode == 0 else lines


def test_one_line_says_what_is_active_to_those_that_ask(processes):
    assert started(processes) == (0, []), "the output of tools such as ros2cli"
    preloaded = f"{environment('baton', 0)['LD_PRELOAD']}:{HEAP}"
    for arguments, more, said in (
        (DEBUG, {}, "received arrays are copied (libbaton_heap.so is not loaded"),
        ((), {"LD_PRELOAD": preloaded}, "received arrays are not copied ("),
        ((), {"LD_PRELOAD": preloaded, "BATON_HEAP": "0"}, "received arrays are copied (switched off by BATON_HEAP=0)"),
    ):
        status, lines = started(processes, *arguments, **more)
        found = [line for line in lines if "take Baton's memory (domain " in line]
        assert status == 0 and len(found) == 1 and said in found[0], lines


TWICE = "import rclpy; a, b = rclpy.Context(), rclpy.Context(); a.init(); b.init(); a.try_shutdown(); b.try_shutdown()"


def secured(tmp_path):
    # An enclave is looked for at the start; its certificates are an RMW's.
    (tmp_path / "enclaves").mkdir()
    return {"ROS_SECURITY_KEYSTORE": str(tmp_path), "ROS_SECURITY_ENABLE": "true"}


def test_an_unknown_way_to_allocate_is_named(processes):
    status, lines = started(processes, BATON_RMW_MALLOC="sideways")
    assert status == 0 and len(lines) == 1
    assert "BATON_RMW_MALLOC=sideways is none of huge, system" in lines[0]


@pytest.mark.parametrize("variable", ["BATON_RMW", "BATON_RMW_PATHS"])
def test_a_switch_of_two_paths_is_replaced_and_said_once(processes, variable):
    status, lines = started(processes, code=TWICE, **{variable: "underlying"})
    assert status == 0 and [variable in line for line in lines].count(True) == 1
    assert f"{variable} has no effect: no other RMW runs below" in lines[0]


def test_enforced_security_is_refused_and_permissive_security_is_warned_of_once(processes, tmp_path):
    more = secured(tmp_path)
    status, lines = started(processes, ROS_SECURITY_STRATEGY="Enforce", **more)
    assert status == 1 and "security is enforced, and Baton does not encrypt: use another RMW" in "".join(lines)
    status, lines = started(processes, code=TWICE, ROS_SECURITY_STRATEGY="Permissive", **more)
    assert status == 0 and ["SROS 2 does not apply" in line for line in lines].count(True) == 1


def test_a_runtime_directory_that_cannot_be_is_named(processes):
    status, lines = started(processes, BATON_RUNTIME_DIR="/proc/nowhere")
    assert status == 1 and "/proc/nowhere" in "".join(lines)


# The process's own nodes meet; then it says whom it knows.
MEETS_ITSELF = """
import rclpy, sys, time
from std_msgs.msg import UInt64
rclpy.init(args=sys.argv)
one, other = rclpy.create_node("one"), rclpy.create_node("other")
publisher, _ = one.create_publisher(UInt64, "count", 10), other.create_subscription(UInt64, "count", print, 10)
while publisher.get_subscription_count() == 0:
    time.sleep(0.01)
if len(one.get_node_names()) != 2 or publisher.get_subscription_count() != 1:
    raise SystemExit(str(one.get_node_names()))
one.destroy_node(), other.destroy_node(), rclpy.shutdown()
"""


def test_with_a_discovery_range_of_off_a_context_meets_itself_alone(processes, tmp_path):
    directory = {"BATON_RUNTIME_DIR": str(tmp_path)}
    heard = processes.start("baton", "hear", "999999", **directory).says("going")
    status, lines = started(processes, *DEBUG, code=MEETS_ITSELF, ROS_AUTOMATIC_DISCOVERY_RANGE="OFF", **directory)
    assert status == 0 and "without other processes: the discovery range is OFF" in "".join(lines)
    assert [each.name for each in tmp_path.iterdir()] == [str(processes.domain)], "what it made there is gone"
    processes.kill(heard)


def test_the_directory_of_a_killed_context_is_removed_by_the_next_one(processes, tmp_path):
    off = {"BATON_RUNTIME_DIR": str(tmp_path), "ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}
    killed = processes.start("baton", "hear", "999999", **off).says("going")
    (left,) = tmp_path.glob("off-*")
    processes.kill(killed)
    until(lambda: time.time() > left.stat().st_ctime + 3, "a directory that is two seconds old")
    status, lines = started(processes, *DEBUG, code=MEETS_ITSELF, **off)
    assert status == 0, lines
    assert not list(tmp_path.glob("off-*"))


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
