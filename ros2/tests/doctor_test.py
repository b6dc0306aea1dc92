# SPDX-License-Identifier: Apache-2.0
"""`baton doctor` says of every pair of ROS 2's which way messages take, how often they are copied, and why."""

import json
import os
import socket
import subprocess
import sys

from support.build import PACKAGE, ROOT, needs_package
from support.waiting import until

pytestmark = needs_package()


def doctor(domain, **more):
    env = os.environ | {"PYTHONPATH": f"{PACKAGE}:{ROOT / 'cli'}", **more}
    command = [sys.executable, "-m", "baton_cli", "doctor", "--json", "--look", "0", "--domain", str(domain)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    return {each["what"]: each["why"] for each in json.loads(done.stdout)["topics"]}


def eventually(domain, pair, why):
    """Whether doctor comes to say that."""
    return until(lambda: doctor(domain).get(pair, "").startswith(why), lambda: doctor(domain), every_s=0.1)


def test_doctor_says_which_way_messages_take(processes):
    hearer = processes.start("baton", "hear", "999999").says("going")
    talker = processes.start("baton", "count", "999999", "20", "1").says("going")
    assert eventually(processes.domain, f"/count: /count ({talker.pid}) -> /hear ({hearer.pid})", "shared memory")
    processes.kill(hearer)


def test_a_program_that_ends_its_last_node_and_makes_another_goes_on_with_baton(processes):
    program = processes.start("baton", "again", "3", file="again.py").says("going")
    pair = f"/again: /again ({program.pid}) -> /again ({program.pid})"
    assert eventually(processes.domain, pair, "shared memory")
    program.tell()
    report = processes.result(program)
    assert report["got"] == [["2"], ["1"], ["0"]]
    assert "its gid is not in the graph" not in report["log"]


def test_doctor_says_when_programs_over_a_dds_live_beside_those_over_baton(processes, tmp_path):
    here = {"BATON_RUNTIME_DIR": str(tmp_path)}
    hearer = processes.start("baton", "hear", "999999", **here).says("going")
    assert "other RMWs" not in doctor(processes.domain, **here)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dds:  # as one that listens for others of its domain
        dds.bind(("127.0.0.1", 7400 + 250 * processes.domain))
        said = doctor(processes.domain, **here)["other RMWs"]
        assert f"seem to use ROS domain {processes.domain} on this host, and the 1 over rmw_baton_cpp do not" in said
        bridge = processes.start_bridge(**here)
        found = doctor(processes.domain, **here)
        assert found["bridge"].startswith(f"process {bridge.pid} is a bridge to nodes of rmw_fastrtps_cpp; ")
        assert "other RMWs" not in found
        for each in (bridge, hearer):
            processes.kill(each)
        until(lambda: "none uses Baton" in doctor(processes.domain, **here).get("other RMWs", ""), every_s=0.1)
