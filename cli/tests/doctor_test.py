# SPDX-License-Identifier: Apache-2.0
"""`baton doctor`: its findings in a domain and on this machine."""

import json
import subprocess
from pathlib import Path

import pytest
from baton_cli.verbs.doctor import _in_agreement, judge_bridges, summary_line
from support.waiting import until


@pytest.mark.parametrize(
    ("wrong", "notes", "ok", "lost", "said"),
    [
        (0, 0, 5, 0, "nothing is wrong; 5 fine"),
        (0, 1, 5, 182, "nothing is wrong; 182 messages lost; 1 to know; 5 fine"),
        (1, 0, 0, 1, "1 thing is wrong; 1 message lost"),
        (2, 3, 0, 0, "2 things are wrong; 3 to know"),
    ],
)
def test_the_first_line_is_in_words_and_has_no_zeros(wrong, notes, ok, lost, said):
    assert summary_line({False: wrong, None: notes, True: ok}, lost).plain == said


def test_the_way_out_of_a_mismatch_names_the_settings_of_both_ends():
    differing = "reliability: offered best_effort, requested reliable; deadline: offered infinite, requested 100 ns"
    assert _in_agreement(differing) == (
        "publish with reliability reliable, deadline 100 ns, or subscribe with reliability best_effort, deadline infinite"
    )


def test_doctor_finds_pairs_that_share_memory_and_those_that_do_not(baton, programs):
    baton.camera()
    good = json.loads(baton("doctor", "--json", "--look", "4"))
    # /chatter has a subscription in its own process, the images have no subscription, and the messages of /chatter are made of dicts.
    assert [f["good"] for f in good["topics"]] == [True, None, None]
    assert good["topics"][-1]["what"].startswith("/chatter: publisher of camera")
    assert "write into a loan" in good["topics"][-1]["way_out"]
    assert len(json.loads(baton("doctor", "--json", "--look", "0"))["topics"]) == 2
    code = """
import baton
node = baton.Node("old")
image = baton.message_from_text("sensor_msgs/Image", "uint8[] data")
a = node.subscribe("image", image)
b = node.subscribe("Chatter", "std_msgs/String")
c = node.advertise("chatter", "std_msgs/String", baton.QoS(reliability="best_effort"))
print("ready", flush=True)
input()
"""
    programs.python(code, ready="ready")
    text = baton("doctor", "--json", code=1)
    findings = {(f["what"].split(" ")[0], f["good"]): f for f in json.loads(text.splitlines()[0])["topics"]}
    assert "define it differently" in findings["/image:", False]["why"]
    assert "reliability" in findings["/chatter:", False]["why"]
    assert findings["/chatter:", False]["way_out"] == (
        "publish with reliability reliable, or subscribe with reliability best_effort"
    )
    assert "did you mean /chatter?" in findings["/Chatter:", None]["way_out"]
    assert "way out" in baton("doctor", code=1)


def test_doctor_shows_how_slots_are_granted_and_which_subscription_was_refused_or_got_less(baton, program):
    program('baton.Node("camera").advertise("image", "sensor_msgs/Image", slots=64, max_message=1 << 16)')
    program(
        'baton.Node("plain").subscribe("image", "sensor_msgs/Image")',
        'baton.Node("greedy").subscribe("image", "sensor_msgs/Image", qos=baton.QoS(10, held=300))',
        "kept[0].wait_for_publishers(1, 120)",
        '(node := baton.Node("waits")).wait_for(lambda: kept[1].statuses.refused_now == 1, 120)',
    )
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])
    topics = {f["what"].split("-> ")[1].split(" ")[0]: f for f in found["topics"]}
    assert topics["plain"]["good"] is True
    refused = topics["greedy"]
    assert refused["good"] is False
    assert "asks to hold 300" in refused["why"]
    assert "at most 26 of the publisher's 64 slots" in refused["why"]
    assert refused["way_out"].startswith("raise advertise()'s slots to at least 642")
    (slots,) = found["slots"]
    assert slots["what"].startswith("/image: publisher of camera")
    assert slots["why"] == "64 slots, of which 52 can be held: granted: 1 x 8 of 8; 44 left; 1 refused"
    shown = baton("doctor", "--look", "0", code=1)
    assert "44 left; 1 refused" in " ".join(shown.split())
    program(
        *[f'baton.Node("n{i}").subscribe("image", "sensor_msgs/Image")' for i in range(5)],
        *[f"kept[{i}].wait_for_publishers(1, 120)" for i in range(5)],
    )
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])
    (less,) = (f for f in found["topics"] if f["good"] is None)
    assert "asks to hold 8 samples and got 7" in less["why"]
    assert "5 x 8 of 8" in found["slots"][0]["why"]
    assert "1 x 7 of 8" in found["slots"][0]["why"]


def test_doctor_shows_a_subscription_at_its_held_limit(baton, program):
    program(
        '(node := baton.Node("keeper"))',
        'node.subscribe("numbers", "std_msgs/Int32", kept.append, baton.QoS(10, held=2))',
        '(numbers := node.advertise("numbers", "std_msgs/Int32"))',
        'node.create_timer(0.05, lambda: numbers.publish({"data": 1}))',
        '__import__("threading").Thread(target=baton.spin, args=[node], daemon=True).start()',
    )

    def waiting():
        found = json.loads(baton("doctor", "--json", "--look", "0"))
        return [each for each in found["topics"] if "2 samples that it may" in each["why"]]

    rows = until(waiting, "doctor does not show the subscription")
    assert rows[0]["what"].startswith("/numbers") and "raise QoS 'held'" in rows[0]["way_out"]


def test_doctor_begins_with_a_summary_and_merges_lines_that_all_nodes_have(baton, program):
    program(*[f'(lambda node: (node, node.get_logger().info("hello")))(baton.Node("n{i}"))' for i in range(5)])
    first, *lines = baton("doctor", "--look", "0").splitlines()
    assert first.startswith("nothing is wrong; ")
    assert [line.split() for line in lines if "/rosout" in line] == ["- /rosout: 5 publishers no subscription".split()]
    found = json.loads(baton("doctor", "--look", "0", "--json"))
    assert len([f for f in found["topics"] if f["what"].startswith("/rosout")]) == 5, "a program gets each"
    assert found["summary"]["wrong"] == 0 and found["summary"]["notes"] >= 5
    program(
        'baton.Node("a").advertise("t", "std_msgs/String")',
        'baton.Node("b").subscribe("t", "std_msgs/Int32")',
    )
    lines = baton("doctor", "--look", "0", code=1).splitlines()
    assert lines[0].startswith("1 thing is wrong; ")
    assert lines[lines.index("Topics") + 1].startswith("no"), "what is wrong comes first"


@pytest.mark.parametrize(("size", "advised"), [(70_000, True), (60_000, False)])
def test_doctor_finds_ros_2_programs_and_the_messages_that_they_copy(baton, program, tmp_path, size, advised):
    library = tmp_path / "librmw_baton_cpp.so"
    library.write_bytes(b"a program that has this in its memory")
    program(
        'baton.Node("talker", namespace="robot")',
        'kept[0].advertise("/chatter", "std_msgs/String")',
        f'kept[0].create_timer(0.01, lambda: kept[1].publish({{"data": "x" * {size}}}))',
        '__import__("threading").Thread(target=baton.spin, args=(kept[0],), daemon=True).start()',
    )
    listener = program(
        'baton.Node("listener").subscribe("/chatter", "std_msgs/String")',
        f'__import__("mmap").mmap(__import__("os").open("{library}", 0), 0, access=1)',
    )
    program('baton.Node("own", namespace="robot").subscribe("/chatter", "std_msgs/String")')

    def pairs():
        found = json.loads(baton("doctor", "--json", "--look", "1"))["topics"]
        return found if any("makes each message" in each["why"] for each in found) else None  # a message was seen

    _, *found = sorted(until(pairs), key=lambda each: ("->" in each["what"], f"({listener.pid})" in each["what"]))
    own, pair = found
    assert own["why"] == "zero-copy: the subscription reads the publisher's memory", "a slash makes no ROS 2 program"
    assert "arrays are copied out once" in pair["why"]
    assert (pair["good"] is None) == ("libbaton_heap.so" in pair["way_out"]) == advised


def test_doctor_first_reports_an_empty_domain(baton, program):
    lines = baton("doctor", "--look", "0").splitlines()
    assert lines[0].startswith("domain 0 (BATON_DOMAIN, --domain) in ")
    assert "nobody is there" in " ".join(lines[: lines.index("")])
    program('baton.Node("alone")')
    assert baton("doctor", "--look", "0").startswith("nothing is wrong")


def test_doctor_shows_a_runtime_directory_that_cannot_be_used_as_a_finding(baton, environment, tmp_path):
    (tmp_path / "file").write_text("")
    environment["BATON_RUNTIME_DIR"] = str(tmp_path / "file")
    found = json.loads(baton("doctor", "--json", code=1).splitlines()[0])
    row = {f["what"]: f for f in found["machine"]}["runtime directory"]
    assert row["good"] is False
    assert "Not a directory" in row["why"]
    assert "BATON_RUNTIME_DIR" in row["way_out"]
    assert found["topics"] == []
    assert "runtime directory" in baton("doctor", code=1)


def test_doctor_finds_subscriptions_that_miss_a_publishers_kept_messages(baton, program):
    kept = 'QoS(5, durability="transient_local")'
    program(
        f'baton.Node("server").advertise("map", "std_msgs/String", baton.{kept})',
        'baton.Node("late").subscribe("map", "std_msgs/String")',
        'baton.Node("short").subscribe("map", "std_msgs/String", qos=baton.QoS(2, durability="transient_local"))',
        f'baton.Node("whole").subscribe("map", "std_msgs/String", qos=baton.{kept})',
        'baton.Node("other").subscribe("map", "std_msgs/Int32")',
    )
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])["topics"]
    rows = {f["what"].split("-> ")[1].split(" ")[0]: f for f in found if "late" in f["why"]}
    assert set(rows) == {"late", "short"}
    assert rows["late"]["why"] == (
        "late data is not replayed: the publisher keeps its last 5 messages, which the subscription does not request"
    )
    assert rows["late"]["way_out"] == "subscribe with QoS durability transient_local"
    assert "at most 2" in rows["short"]["why"] and rows["short"]["way_out"] == "subscribe with depth 5"
    assert rows["late"]["good"] is rows["short"]["good"] is None


@pytest.mark.parametrize(
    ("argument", "named"),
    [
        ("rmw_zenoh_cpp", "rmw_zenoh_cpp"),
        ("/opt/lib/librmw_zenoh_cpp.so", "rmw_zenoh_cpp"),
        ("\x1b[31mevil\x1b]0;OWNED", "another RMW"),
        ("rmw_" + "x" * 5000, "another RMW"),
    ],
    ids=["name", "path", "escapes", "long"],
)
def test_a_process_that_calls_itself_a_bridge_steers_no_terminal(argument, named):
    with subprocess.Popen(["cat", argument, "-"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes())  # the program has begun
        try:
            (found,) = judge_bridges([("/camera", 1), ("/_baton_bridge", process.pid)])
        finally:
            process.stdin.close()
    assert found.why.startswith(f"process {process.pid} is a bridge to nodes of {named}; ")
