# SPDX-License-Identifier: Apache-2.0
"""baton_bridge between programs over Baton and programs over a stock RMW: everything crosses once, both ways, and only if somebody wants it."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from every_type_test import across
from ros2_processes import Processes
from scenarios_test import EXPECTED
from support.ros2 import DISTRIBUTIONS, TESTED, needs_ros2

pytestmark = needs_ros2(TESTED.programs / "baton_bridge")
OTHERS = [each for each in DISTRIBUTIONS.values() if each != TESTED and each.library.exists()]
FILE = "bridge_programs.py"
SIDES = [("plain", "baton"), ("baton", "plain")]


@pytest.fixture
def bridged(processes):
    processes.bridge = processes.start_bridge()
    return processes


def run_scenarios(distribution):
    """What the scenarios gave with a bridge between near and far, which is of `distribution`: in both directions at the same time."""
    running, reports = [], {}
    for near, far in SIDES:
        processes = Processes()
        processes.start_bridge()
        other = processes.start(far, "far", file="scenarios.py", distribution=distribution)
        running.append((near, processes, processes.start(near, "near", file="scenarios.py"), other))
    try:
        for near, processes, process, other in running:
            reports[near] = processes.result(process)
            assert processes.result(other)["stopped"]
    finally:
        for _, processes, *_ in running:
            processes.close()
    return reports


@pytest.fixture(scope="module")
def found():
    return run_scenarios(TESTED)


@pytest.mark.parametrize("near", ["plain", "baton"])
@pytest.mark.parametrize("scenario", EXPECTED)
def test_a_scenario_gives_the_same_across_the_bridge(found, scenario, near):
    assert found[near][scenario] == EXPECTED[scenario]


@pytest.mark.skipif(not OTHERS, reason="one distribution of ROS 2 is built")
def test_the_scenarios_give_the_same_across_a_bridge_to_another_distribution():
    for distribution in OTHERS:
        for near, report in run_scenarios(distribution).items():
            assert {scenario: report[scenario] for scenario in EXPECTED} == EXPECTED, (near, distribution.name)


def test_everybody_hears_everybody_once(bridged):
    names = {"one": "plain", "two": "plain", "three": "baton", "four": "baton"}
    # The readers of a publisher: two of its own side, and the bridge's.
    chatters = {name: bridged.start(rmw, "chat", name, "3", "3", "50", file=FILE) for name, rmw in names.items()}
    for each in chatters.values():
        each.says("here")
    for each in chatters.values():
        each.tell()
    lines = sorted(f"{name} {line}" for name in names for line in [*range(50), "end"])
    for each in chatters.values():
        each.says("heard")
    for each in chatters.values():
        each.tell()
    for each in chatters.values():
        heard = bridged.result(each)["heard"]
        assert sorted(heard) == lines
        for name in names:
            assert [line for line in heard if line.startswith(name)] == [f"{name} {i}" for i in [*range(50), "end"]]


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_a_late_subscription_gets_what_was_latched_on_the_other_side(bridged, near, far):
    latched = [bridged.start(far, "latch", name, file=FILE) for name in ("red", "blue")]
    for each in latched:
        each.says("here")
    for _ in range(2):  # the second one comes when the first one's messages have crossed
        hearer = bridged.start(near, "hear_latched", "10", file=FILE)
        heard = bridged.result(hearer)["heard"]
        assert sorted(heard) == sorted(f"{name} {i}" for name in ("red", "blue") for i in range(5))


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_nothing_crosses_that_nobody_wants_and_everybody_is_shown(bridged, near, far):
    talker = bridged.start(far, "talk_alone", "unheard", file=FILE)
    talker.says("here")
    seer = bridged.start(near, "see", "talk_alone", "/unheard", file=FILE)
    seer.says("seen")
    talker.tell()
    assert bridged.result(talker)["counts"] == [0]
    seer.tell()
    seen = bridged.result(seer)
    assert seen["publishers"] == [["talk_alone", "std_msgs/msg/String"]]
    assert seen["nodes"].count("talk_alone") == 1
    assert "/unheard" not in bridged.bridge.log()


def test_a_service_of_both_sides_is_not_doubled(bridged):
    for rmw in ("plain", "baton"):
        bridged.start(rmw, f"serve_{rmw}", rmw, file=FILE).says("here")
    callers = {near: bridged.start(near, "call_own", near, far, file=FILE) for near, far in SIDES}
    for rmw, caller in callers.items():
        assert bridged.result(caller)["answers"] == [[i % 2 == 1, rmw] for i in range(4)]


def test_nodes_of_one_name_on_both_sides_serve_each_other(bridged):
    for rmw in ("plain", "baton"):
        bridged.start(rmw, "serve", rmw, f"of_{rmw}", file=FILE).says("here")
    callers = {far: bridged.start(near, "call", "2", f"of_{far}", file=FILE) for near, far in SIDES}
    for far, caller in callers.items():
        assert bridged.result(caller)["answers"] == [[False, far], [True, far]]


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_a_service_has_the_qos_of_its_server_on_the_other_side(bridged, near, far):
    bridged.start(far, "serve", far, "switch", "BEST_EFFORT", file=FILE).says("here")
    caller = bridged.start(near, "call", "4", "switch", "BEST_EFFORT", file=FILE)
    assert bridged.result(caller)["answers"] == [[i % 2 == 1, far] for i in range(4)]


def test_the_fields_of_a_few_types_arrive_unchanged(processes, tmp_path):
    """All types: every_type_test.py."""
    types = "test_msgs/msg/UnboundedSequences test_msgs/msg/WStrings test_msgs/msg/Nested sensor_msgs/msg/PointCloud2"
    file = tmp_path / "types"
    file.write_text("\n".join(types.split()))
    for heard, sent in across(processes, file).values():
        assert heard["types"] == sent["sent"] == 4 and heard["wrong"] == []


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_images_of_6_mb_arrive_unchanged(bridged, near, far):
    viewer = bridged.start(near, "view", "5", file=FILE)
    camera = bridged.start(far, "film", "5", file=FILE)
    assert bridged.result(viewer)["same"] == [True] * 5
    camera.tell()
    bridged.result(camera)


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_the_last_messages_of_a_publisher_that_ends_arrive(bridged, near, far):
    hearer = bridged.start(near, "hear", "last", "20", file=FILE)
    hearer.says("here")
    talker = bridged.start(far, "talk_and_end", "last", "20", file=FILE)
    talker.says("here")
    hearer.send_signal(signal.SIGSTOP)
    talker.tell()
    bridged.result(talker)
    hearer.send_signal(signal.SIGCONT)
    assert bridged.result(hearer)["heard"] == [str(i) for i in range(20)]


def test_requests_without_a_response_are_given_up_from_the_oldest(bridged):
    server = bridged.start("plain", "serve_nobody", file=FILE)
    server.says("here")
    caller = bridged.start("baton", "call_without_waiting", "1200", file=FILE)
    while "the oldest request of /switch is lost: 1000 have no response" not in bridged.bridge.log():
        assert bridged.bridge.poll() is None
        assert caller.poll() is None
        time.sleep(0.05)
    caller.tell()
    assert bridged.result(caller)["answered"] == 0
    server.tell()
    bridged.result(server)


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_when_a_bridge_is_killed_the_next_one_takes_over(bridged, near, far):
    standby = bridged.start_bridge(joins=False)
    hearer = bridged.start(near, "hear_anew", "ticks", file=FILE)
    hearer.says("here")
    bridged.start(far, "talk_for_ever", "ticks", file=FILE).says("here")
    hearer.says("tick")
    assert "standby" in standby.log()
    bridged.kill(bridged.bridge)
    while "/ticks" not in standby.log():
        assert standby.poll() is None
        hearer.stdout.readline()
    for _ in range(20):
        hearer.says("tick")


def test_a_killed_program_leaves_the_other_sides_graph(bridged):
    talker = bridged.start("baton", "talk_for_ever", "ticks", file=FILE)
    talker.says("here")
    seer = bridged.start("plain", "see", "talk_for_ever", "/ticks", file=FILE)
    seer.says("seen")
    bridged.kill(talker)
    seer.tell()
    bridged.result(seer)


@pytest.mark.parametrize(("near", "far"), SIDES)
def test_a_node_that_takes_a_bridges_name_changes_nothing_for_the_others(bridged, near, far):
    imitator = bridged.start(near, "imitate", file=FILE)
    imitator.says("here")
    bridged.start(far, "serve", far, file=FILE).says("here")
    caller = bridged.start(near, "call", "4", file=FILE)
    assert bridged.result(caller)["answers"] == [[i % 2 == 1, far] for i in range(4)]
    imitator.tell()
    assert bridged.result(imitator)["publishers"] == 4
    assert "standby" not in bridged.bridge.log()


def test_a_node_of_baton_with_a_bridges_name_holds_it_up_once_in_5_s(bridged):
    name = bridged.result(bridged.start("plain", "name_bridge", file=FILE))["name"]
    bridged.result(bridged.start("baton", "come_and_go", name, "/elsewhere", "2", file=FILE))
    assert "standby" not in bridged.bridge.log(), "bridges have no namespace"
    server = bridged.start("plain", "serve_nobody", file=FILE)
    server.says("here")
    caller = bridged.start("baton", "call_without_waiting", "5", file=FILE)
    caller.says("called")
    begun = time.monotonic()
    bridged.result(bridged.start("baton", "come_and_go", name, "/", "20", file=FILE))
    most = 2 + (time.monotonic() - begun) // 5
    log = bridged.bridge.log()
    assert 1 <= log.count("this one is on standby") <= most
    assert "0 messages that waited and 5 requests without a response are lost" in log
    while bridged.bridge.log().count("this one works now") < log.count("this one is on standby"):
        assert bridged.bridge.poll() is None
        time.sleep(0.05)
    for each in (server, caller):
        each.tell()
        bridged.result(each)


@pytest.mark.parametrize(
    ("rmw", "variables", "said"),
    [
        ("rmw_of_nobody", {}, "cannot load the RMW rmw_of_nobody"),
        ("rmw_baton_cpp", {}, "is Baton itself"),
        ("rmw_fastrtps_cpp", {"BATON_DOMAIN": "many"}, "BATON_DOMAIN is 'many'; it must be a number"),
        ("rmw_fastrtps_cpp", {"BATON_DOMAIN": "1", "ROS_DOMAIN_ID": "233"}, "a number from 0 to 232, not '233'"),
        ("rmw_fastrtps_cpp", {"ROS_AUTOMATIC_DISCOVERY_RANGE": "WORLD"}, "ROS_AUTOMATIC_DISCOVERY_RANGE is 'WORLD'"),
    ],
)
def test_what_cannot_be_is_named(processes, rmw, variables, said):
    _, log = processes.start_bridge(rmw=rmw, joins=False, **variables).ends(2)
    assert said in log


def test_the_command_for_other_rmws_says_what_is_missing(tmp_path):
    library = tmp_path / "lib/librmw_cyclonedds_cpp.so"
    library.parent.mkdir()
    command = [sys.executable, Path(__file__).with_name("bridge_run.py"), "--rmw", "rmw_cyclonedds_cpp", "--prefix"]
    for said in (f"there is no {library}: build rmw_cyclonedds_cpp into that prefix", f"{library} cannot be used: "):
        done = subprocess.run([*command, tmp_path], capture_output=True, text=True, timeout=200)
        assert done.returncode == 2 and said in done.stderr
        library.write_text("no library")


def test_a_bridge_takes_one_rmw(processes):
    _, log = processes.start_bridge("rmw_cyclonedds_cpp", joins=False).ends(2)
    assert "expected the name of one RMW" in log


def test_sros_2_is_never_left_out_in_silence(processes, tmp_path):
    secure = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_KEYSTORE": str(tmp_path)}
    _, log = processes.start_bridge(joins=False, ROS_SECURITY_STRATEGY="Enforce", **secure).ends(2)
    assert f"there is no enclave {tmp_path}/enclaves/" in log
    # What is wrong with an enclave's files, the RMW says: that of the wheels is built without SROS 2.
    (tmp_path / "enclaves/robot").mkdir(parents=True)
    _, log = processes.start_bridge(
        joins=False, ROS_SECURITY_STRATEGY="Enforce", ROS_SECURITY_ENCLAVE_OVERRIDE="/robot", **secure
    ).ends(2)
    assert "cannot make the node _baton_bridge_" in log
    assert "is without security" in processes.start_bridge(ROS_SECURITY_ENCLAVE_OVERRIDE="/nobody", **secure).log()


def test_a_bridge_has_the_discovery_range_and_the_peers_of_its_environment(processes):
    near = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "127.0.0.1"}
    processes.start_bridge(**near)
    processes.start("plain", "serve", "plain", file=FILE, **near).says("here")
    caller = processes.start("baton", "call", "2", file=FILE)
    assert processes.result(caller)["answers"] == [[False, "plain"], [True, "plain"]]
