# SPDX-License-Identifier: Apache-2.0
"""Services and parameters between nodes of ROS 2 over rmw_baton_cpp and nodes of Baton: unmodified programs of rclpy on one side, nodes and
the command of Baton on the other."""

import json
import os
import subprocess
import sys

import pytest
from ros2_processes import Processes
from support.build import BUILD, ROOT

REQUESTS = 20
ANSWERS = [[i % 2 == 1, f"request {i + 1}"] for i in range(REQUESTS)]
EXECUTORS = ["waits", "events"]


def baton(processes, *arguments, code=0):
    env = os.environ | {"PYTHONPATH": f"{BUILD / 'python'}:{ROOT / 'cli'}", "ROS_DOMAIN_ID": str(processes.domain)}
    command = [sys.executable, "-m", "baton_cli", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_ros_node_reads_and_sets_the_parameters_of_batons_own_node(processes):
    keeper = processes.start_standalone("parameters", "0").says("going")
    asked = processes.result(processes.start("baton", "ask_parameters", "parameters"))
    assert asked["values"] == {"bytes": None, "names": ["left", ""], "rate": 10, "serial": "a b"}
    assert asked["types"] == [5, 9, 2, 4]
    assert asked["described"] == ["frames a second", 100]
    assert (
        asked["set"][0] == [True, ""] and asked["set"][1][0] is False and "must be from 1 to 100" in asked["set"][1][1]
    )
    assert (asked["together"], asked["rate"]) == (False, 50)
    keeper.tell()
    assert processes.result(keeper)["rate"] == 50


@pytest.mark.parametrize("executor", EXECUTORS)
def test_baton_param_reads_and_sets_the_parameters_of_a_ros_node(processes, executor):
    keeper = processes.start("baton", "keep_parameters", executor).says("going")
    assert {"/keep_parameters:", "  rate", "  names"} <= set(baton(processes, "param", "list").splitlines())
    assert json.loads(baton(processes, "param", "get", "keep_parameters", "names", "--json")) == ["left", "right"]
    baton(processes, "param", "set", "keep_parameters", "rate", "30")
    assert "refused it" in baton(processes, "param", "set", "keep_parameters", "rate", "thirty", code=1)
    assert (
        json.loads(baton(processes, "param", "describe", "keep_parameters", "rate", "--json"))[0]["type"] == "integer"
    )
    assert "\n    rate: 30\n" in baton(processes, "param", "dump", "keep_parameters")
    assert "Type: std_srvs/SetBool" in baton(processes, "service", "info", "switch")
    keeper.tell()
    assert processes.result(keeper)["rate"] == 30


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_ros_client_calls_batons_own_service(processes, executor):
    server = processes.start_standalone("switch", str(REQUESTS)).says("going")
    assert processes.result(processes.start("baton", "press", str(REQUESTS), executor))["got"] == ANSWERS
    assert processes.result(server)["count"] == REQUESTS


@pytest.mark.parametrize("executor", EXECUTORS)
def test_batons_own_client_calls_a_ros_service(processes, executor):
    server = processes.start("baton", "switch", str(REQUESTS), executor).says("going")
    assert processes.result(processes.start_standalone("press", str(REQUESTS)))["got"] == ANSWERS
    server.tell()
    assert processes.result(server)["count"] == REQUESTS


@pytest.mark.parametrize("executor", EXECUTORS)
def test_ros_nodes_of_two_ros_domains_in_one_domain_of_baton_call_each_other(processes, executor):
    other = Processes()
    try:
        server = processes.start("baton", "switch", str(REQUESTS), executor).says("going")
        client = other.start("baton", "press", str(REQUESTS), executor, BATON_DOMAIN=str(processes.domain))
        assert other.result(client)["got"] == ANSWERS
        server.tell()
        assert processes.result(server)["count"] == REQUESTS
    finally:
        other.close()
