# SPDX-License-Identifier: Apache-2.0
"""The functions of rmw.h that no program of rclpy calls (whole_interface.cpp), and those that rmw_baton_cpp declines."""

import json
import re
import subprocess

import pytest
from ros2_processes import LIBRARY, LIMIT_S, PYTHON, environment
from support.build import ROOT
from support.ros2 import DISTRIBUTIONS, TESTED

UNSUPPORTED = 3  # RMW_RET_UNSUPPORTED
# docs/guides/ros2.md says why, and what programs see.
DECLINED = [
    "rmw_fini_publisher_allocation",
    "rmw_fini_subscription_allocation",
    "rmw_get_serialized_message_size",
    "rmw_init_publisher_allocation",
    "rmw_init_subscription_allocation",
    "rmw_publisher_get_network_flow_endpoints",
    "rmw_serialization_support_init",
    "rmw_subscription_get_content_filter",
    "rmw_subscription_get_network_flow_endpoints",
    "rmw_subscription_set_content_filter",
    "rmw_take_dynamic_message",
    "rmw_take_dynamic_message_with_info",
]
CALL = """
import ctypes, json, sys, rclpy
class Text(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 4096)]
rcutils = ctypes.CDLL("librcutils.so")
rcutils.rcutils_get_error_string.restype = Text
library = ctypes.CDLL(sys.argv[1])
found = {}
for name in sys.argv[2:]:
    rcutils.rcutils_reset_error()
    result = getattr(library, name)(*[None] * 6)
    found[name] = [result, rcutils.rcutils_get_error_string().text.decode()]
print(json.dumps(found))
"""


def functions(library):
    done = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if " rmw_" in line}


def listed(distribution):
    """The functions of functions.def that this distribution's rmw.h has."""
    text = (ROOT / "ros2/rmw_baton_cpp/src/functions.def").read_text()
    rows = re.findall(r"^BATON_RMW_FUNCTION(_SINCE_JAZZY)?\((\w+)\)$", text, re.MULTILINE)
    later = (distribution.prefix / "include/rosidl_runtime_c/rosidl_runtime_c/type_hash.h").exists()
    return {name for since, name in rows if later or not since}


@pytest.mark.parametrize(
    "distribution", [each for each in DISTRIBUTIONS.values() if each is TESTED or each.library.exists()]
)
def test_the_library_has_each_function_of_the_interface_and_exports_nothing_else(distribution):
    assert functions(distribution.library) == listed(distribution)
    stock = distribution.prefix / "lib/librmw_fastrtps_cpp.so"
    if stock.exists():
        assert listed(distribution) == functions(stock)


def test_a_function_that_is_declined_says_so(processes):
    done = subprocess.run(
        [PYTHON, "-c", CALL, LIBRARY, *DECLINED],
        env=environment("baton", processes.domain), capture_output=True, text=True, timeout=200, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert sorted(found) == DECLINED
    for name, (result, text) in found.items():
        assert result == UNSUPPORTED and "rmw_baton_cpp" in text, (name, result, text)


COMPATIBLE = """
import itertools, json
from rclpy.duration import Duration, Infinite
from rclpy.qos import DurabilityPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy, qos_check_compatible
times = [Duration(), Duration(seconds=1), Duration(seconds=2), Infinite]
wishes = [{name: kind} for name, kinds in (
    ("reliability", ReliabilityPolicy), ("durability", DurabilityPolicy), ("liveliness", LivelinessPolicy),
    ("deadline", times), ("liveliness_lease_duration", times),
) for kind in kinds]
strict = dict(reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL, deadline=Duration(seconds=1))
found = {}
for offered, requested in itertools.product([*wishes, {}], [*wishes, strict]):
    if Infinite not in requested.values() or offered == requested:
        kind, reason = qos_check_compatible(QoSProfile(depth=1, **offered), QoSProfile(depth=1, **requested))
        found[f"{offered} {requested}"] = kind.name, reason
print(json.dumps(found))
"""


def test_two_profiles_are_compared_in_the_words_of_other_rmws(processes):
    def said(rmw):
        done = subprocess.run(
            [PYTHON, "-c", COMPATIBLE],
            env=environment(rmw, processes.domain), capture_output=True, text=True, timeout=200, check=True,
        )  # fmt: skip
        return json.loads(done.stdout)

    stock = {pair: (kind, reason.replace("durabilty", "durability")) for pair, (kind, reason) in said("plain").items()}
    found = {pair: tuple(each) for pair, each in said("baton").items()}
    assert found == stock and {kind for kind, _ in found.values()} == {"OK", "WARNING", "ERROR"}


def test_services_and_events_through_rcl(processes):
    process = processes.start_cpp("baton", program="ros2_whole_interface")
    out, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, f"{out[-8000:]}\n{process.log()[-4000:]}"
