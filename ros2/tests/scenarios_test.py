# SPDX-License-Identifier: Apache-2.0
"""What rclpy programs do gives the same with the stock RMW and with Baton (across the bridge: bridge_test.py): topics with every quality of service, services, actions, parameters, lifecycle, executors, the graph."""

import pytest
from ros2_processes import Processes

KINDS = ("plain", "baton")
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
    """What each RMW's programs reported, in a domain each, at the same time."""
    reports, running = {}, []
    for rmw in KINDS:
        processes = Processes()
        far, near = (processes.start(rmw, end, file="scenarios.py") for end in ("far", "near"))
        running.append((rmw, processes, near, far))
    for rmw, processes, near, far in running:
        try:
            reports[rmw] = processes.result(near)
            assert processes.result(far)["stopped"]
        finally:
            processes.close()
    return reports


def test_the_list_is_complete(found):
    for report in found.values():
        assert set(report) - {"log"} == set(EXPECTED)


@pytest.mark.parametrize("rmw", KINDS)
@pytest.mark.parametrize("scenario", EXPECTED)
def test_a_scenario_gives_the_same(found, scenario, rmw):
    assert found[rmw][scenario] == EXPECTED[scenario]
