# SPDX-License-Identifier: Apache-2.0
"""Unmodified rclpy programs over rmw_baton_cpp, in processes of their own, against each other and against programs that run on
the underlying RMW alone."""

import subprocess

import pytest
from ros2_processes import LIBRARY, PYTHON, environment
from support.ros2 import TESTED

PAIRS = [("plain", "plain"), ("baton", "baton"), ("baton", "plain"), ("plain", "baton")]
IDENTIFIER = {"plain": "rmw_fastrtps_cpp", "baton": "rmw_baton_cpp"}


def exported(library):
    lines = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return {
        line.split()[2] for line in lines.splitlines() if line.split()[1] == "T" and line.split()[2].startswith("rmw_")
    }


def test_it_exports_exactly_the_functions_of_the_underlying_rmw():
    underlying = exported(TESTED.prefix / "lib/librmw_fastrtps_cpp.so")
    assert len(underlying) > 80
    assert exported(LIBRARY) == underlying


@pytest.mark.parametrize("kind", ["default", "best_effort", "durable"])
@pytest.mark.parametrize(("writer", "reader"), PAIRS)
def test_a_listener_hears_a_talker_in_order(processes, writer, reader, kind):
    count = 1 if kind == "best_effort" else 20
    talker = processes.start(writer, "talk", kind, "300" if kind == "best_effort" else "20", "1")
    heard = processes.result(processes.start(reader, "listen", kind, str(count)))
    said = processes.result(talker)
    every = [f"hello {i}" for i in range(300 if kind == "best_effort" else 20)]
    if kind == "best_effort":
        assert heard["got"] and set(heard["got"]) <= set(every)
    else:
        assert heard["got"] == every
    assert (said["rmw"], heard["rmw"]) == (IDENTIFIER[writer], IDENTIFIER[reader])


@pytest.mark.parametrize(("writer", "reader"), PAIRS[1:])
def test_message_info_and_serialized_takes_work(processes, writer, reader):
    listeners = [processes.start(reader, "listen_with_info", "5"), processes.start(reader, "listen_raw", "5")]
    talker = processes.start(writer, "talk", "default", "5", "2")
    informed, raw = (processes.result(each) for each in listeners)
    processes.result(talker)
    assert informed["got"] == [[f"hello {i}", True] for i in range(5)]
    assert len(raw["sizes"]) == 5 and len(set(raw["sizes"])) == 1 and raw["sizes"][0] >= 4 + 4 + len("hello 0") + 1


@pytest.mark.parametrize(("server", "client"), PAIRS)
def test_services_and_parameters_answer(processes, server, client):
    serving = processes.start(server, "serve")
    answer = processes.result(processes.start(client, "call"))
    assert (answer["value"], answer["text"], answer["color"]) == (42, "notab", "red")
    assert processes.result(serving)["stopped"]


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_actions_run(processes, rmw):
    assert processes.result(processes.start(rmw, "action"))["sequence"] == [0, 1, 1, 2]


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_events_arrive_at_both_ends(processes, rmw):
    seen = processes.result(processes.start(rmw, "events"))
    assert (seen["offered"], seen["requested"], seen["matched"]) == (1, 1, 1)


@pytest.mark.parametrize("rmw", ["plain", "baton"])
def test_the_graph_is_seen(processes, rmw):
    seen = processes.result(processes.start(rmw, "graph"))
    assert "graph" in seen["nodes"] and seen["types"] == ["std_msgs/msg/String"]
    assert seen["publisher_of"] == ["graph"] and seen["services"]


@pytest.mark.parametrize(
    ("underlying", "says"),
    [("rmw_of_nobody", "cannot load its underlying RMW"), ("rmw_baton_cpp", "is rmw_baton_cpp itself")],
)
def test_an_unusable_underlying_rmw_is_named(processes, underlying, says):
    more = {"BATON_RMW": underlying, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
    failed = subprocess.run(
        [PYTHON, "-c", "import rclpy; rclpy.init()"],
        env=environment("baton", processes.domain, **more),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert failed.returncode != 0
    assert says in failed.stderr and underlying in failed.stderr
