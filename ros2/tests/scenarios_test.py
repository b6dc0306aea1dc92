# SPDX-License-Identifier: Apache-2.0
"""What rclpy programs do gives the same with the underlying RMW alone, with Baton above it, and with a plain process at the other
end: topics with every quality of service, services, actions, parameters, lifecycle, executors, the graph."""

import pytest
from ros2_processes import Processes
from support.ros2 import ALONE

KINDS = [(near, far) for near in ("plain", "baton") for far in ("plain", "baton")]
if ALONE:
    KINDS = [("baton", "baton")]
TOPICS = [
    *(
        f"{r}_{d}_{h}"
        for r in ("reliable", "best_effort")
        for d in ("volatile", "transient_local")
        for h in ("keep_last", "keep_all")
    ),
    *("deadline", "lifespan", "automatic_lease", "manual_lease", "depth_1"),
    *("sensor_data", "system_default", "parameters", "services_default"),
]
EXPECTED = {
    "topics": dict.fromkeys(TOPICS, True),
    "history": [7, 8, 9],
    "incompatible": [0, ["rmw_qos_policy_kind_t.RMW_QOS_POLICY_RELIABILITY"]],
    "large": [2048000, True],
    "serialized": [f"{i}" for i in range(5)],
    "message_info": {"numbers_follow": True, "times_rise": True, "received_later": True},
    "acknowledgements": True,
    "waiting_for_one": True,
    "sim_time": 4711 * 10**9,
    "services": [[2 * i, f"{i}ba"] for i in range(8)],
    "rosout": ["space.far", "asked for 12345"],
    "actions": {
        "result": [4, [0, 1, 1, 2, 3, 5]],
        "feedback_grows": True,
        "refused": False,
        "canceled": [1, 5, [-1]],
    },
    "parameters": {
        "before": "red",
        "changed": [[True, ""], [False, "too much"]],
        "after": ["blue", 3],
        "listed": ["color", "limit"],
        "described": ["limit", 2],
    },
    "lifecycle": {
        "seen": [
            ["configure", True, "inactive"],
            ["activate", True, "active"],
            ["deactivate", True, "inactive"],
            ["cleanup", False, "inactive"],
            ["shutdown", True, "finalized"],
        ],
        "silent": 0,
        "offered": ["deactivate", "shutdown"],
        "told": ["inactive", "active", "inactive", "inactive", "finalized"],
    },
    "executors": {"SingleThreadedExecutor": True, "MultiThreadedExecutor": True, "EventsExecutor": True},
    "woken": ["woken"],
    "graph": {
        "history": [["/space", "far", "std_msgs/msg/UInt64", "TRANSIENT_LOCAL"]],
        "hash": "RIHS01_",
        "enclave": ["/"],
        "large": [["far", "std_msgs/msg/UInt8MultiArray", "RELIABLE"]],
        "type": ["std_msgs/msg/UInt64"],
        "service": ["test_msgs/srv/BasicTypes"],
        "publishes": True,
        "waits": True,
    },
}


@pytest.fixture(scope="module")
def found():
    """What every pair of kinds reported. Two pairs at a time, in a domain each."""
    reports = {}
    for pairs in (KINDS[:2], KINDS[2:]):
        running = []
        for near, far in pairs:
            processes = Processes()
            other = processes.start(far, "far", file="scenarios.py")
            running.append((near, far, processes, processes.start(near, "near", file="scenarios.py"), other))
        for near, far, processes, process, other in running:
            try:
                reports[near, far] = processes.result(process)
                assert processes.result(other)["stopped"]
            finally:
                processes.close()
    return reports


def test_the_list_is_complete(found):
    for report in found.values():
        assert set(report) - {"log"} == set(EXPECTED)


@pytest.mark.parametrize(("near", "far"), KINDS)
@pytest.mark.parametrize("scenario", EXPECTED)
def test_a_scenario_gives_the_same(found, scenario, near, far):
    assert found[near, far][scenario] == EXPECTED[scenario]
