# SPDX-License-Identifier: Apache-2.0
"""`baton doctor` says of every pair of ROS 2's which way messages take, how often they are copied, and why."""

import fcntl
import json
import os
import socket
import subprocess
import sys

import pytest
from ros2_processes import filters
from support.build import PACKAGE, ROOT, needs_package
from support.ros2 import ALONE
from support.waiting import until

sys.path.insert(0, str(ROOT / "cli"))
from baton_cli import ros2

pytestmark = needs_package()


def doctor(domain, **more):
    env = os.environ | {"PYTHONPATH": f"{PACKAGE}:{ROOT / 'cli'}", **more}
    command = [sys.executable, "-m", "baton_cli", "doctor", "--json", "--look", "0", "--domain", str(domain)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, check=False)
    return {each["what"]: each["why"] for each in json.loads(done.stdout)["topics"]}


def eventually(domain, pair, why):
    """Whether doctor comes to say that: ends that met in the underlying RMW may be about to meet in Baton."""
    return until(lambda: doctor(domain).get(pair, "").startswith(why), lambda: doctor(domain), every_s=0.1)


def test_doctor_says_which_way_messages_take_and_why(processes):
    served = processes.start("baton", "hear", "999999").says("going")
    plain = processes.start("plain", "hear", "999999").says("going")
    talker = processes.start("baton", "count", "999999", "20", "2").says("going")
    pair = f"/count: /count ({talker.pid}) -> /hear ({served.pid})"
    assert eventually(processes.domain, pair, "Baton's memory: 1 copy in, 1 out (none of loans)")
    other = f"/count: /count ({talker.pid}) -> /hear"
    assert eventually(processes.domain, other, "serialized, by rmw_fastrtps_cpp: its process is not in Baton")
    processes.kill(plain)
    processes.kill(served)


def test_a_program_that_ends_its_last_node_and_makes_another_goes_on_with_baton(processes):
    program = processes.start("baton", "again", "3", file="again.py").says("going")
    pair = f"/again: /again ({program.pid}) -> /again ({program.pid})"
    assert eventually(processes.domain, pair, "shared memory" if ALONE else "Baton's memory")
    program.tell()
    report = processes.result(program)
    assert report["got"] == [["2"], ["1"], ["0"]]
    assert "its gid is not in the graph" not in report["log"]


@pytest.mark.skipif(not ALONE, reason="above another RMW, a program meets the programs of that RMW")
def test_doctor_says_when_programs_over_a_dds_live_beside_those_on_baton_alone(processes, tmp_path):
    here = {"BATON_RUNTIME_DIR": str(tmp_path)}
    hearer = processes.start("baton", "hear", "999999", **here).says("going")
    assert "other RMWs" not in doctor(processes.domain, **here)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as dds:  # as one that listens for others of its domain
        dds.bind(("127.0.0.1", 7400 + 250 * processes.domain))
        said = doctor(processes.domain, **here)["other RMWs"]
        assert f"seem to use ROS domain {processes.domain} on this host" in said
        with (tmp_path / str(processes.domain) / "bridge.lock").open(
            "w"
        ) as bridge:  # as the one that serves the domain
            fcntl.lockf(bridge, fcntl.LOCK_EX, 1)
            assert "other RMWs" not in doctor(processes.domain, **here)
    processes.kill(hearer)


def test_doctor_counts_the_copies_of_each_pair():
    def copies(fixed_size, aliases):
        reader = {"gid": "02", "node": "/hear", "underlying": False, "why": ""}
        publisher = {
            "gid": "01",
            "topic": "/t",
            "node": "/say",
            "both": "",
            "fixed_size": fixed_size,
            "readers": [reader],
        }
        answers = [
            {"pid": 1, "rmw": "r", "aliases": False, "reason": "", "publishers": [publisher]},
            {"pid": 2, "rmw": "r", "aliases": aliases, "reason": "libbaton_heap.so is not loaded", "publishers": []},
        ]
        ((_, _, what, why),) = ros2.pairs(answers, {"02": 2})
        assert what == "/t: /say (1) -> /hear (2)"
        return why

    assert copies(True, False) == copies(True, True) == "Baton's memory: 1 copy in, 1 out (none of loans)"
    begin = "Baton's memory: 1 copy in (none of loans), "
    assert copies(False, False) == begin + "1 out (libbaton_heap.so is not loaded)"
    assert copies(False, True) == begin + "none out"


@filters
def test_doctor_names_a_subscription_that_baton_does_not_serve(processes):
    filtered = processes.start("baton", "hear_filtered", "at_once").says("going")
    talker = processes.start("baton", "count", "999999", "1000", "1").says("going")
    pair = f"/count: /count ({talker.pid}) -> /hear_filtered"
    why = "serialized, by rmw_fastrtps_cpp: Baton does not serve it (yet): a content filter"
    assert eventually(processes.domain, pair, why)
    processes.kill(filtered)
