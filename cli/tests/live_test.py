# SPDX-License-Identifier: Apache-2.0
"""The verbs that look into a running domain, against a process that publishes."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from baton_cli import rates, top_view
from baton_cli.yaml_text import text_of
from rich.console import Console

PACKAGE = Path(os.environ.get("BATON_BUILD", Path(__file__).resolve().parents[2] / "build/release")) / "python"
pytestmark = pytest.mark.skipif(
    not any((PACKAGE / "baton").glob("_core*.so")), reason="the Python package is not built"
)

CAMERA = """
import baton, sys
node = baton.Node("camera")
images = node.advertise("image", "sensor_msgs/Image")
texts = node.advertise("chatter", "std_msgs/String")
node.serve("switch", "std_srvs/SetBool", lambda request, response: None)
node.subscribe("chatter", "std_msgs/String", lambda message: print(message.data, flush=True) if message.data == "x" else None)
def tick():
    with images.loan() as image:
        image.header.frame_id = "front"
        image.header.stamp.sec = 1
        image.data.resize(1_000_000)
    texts.publish({"data": "hello"})
node.create_timer(0.01, tick)
print("ready", flush=True)
baton.spin(node)
"""


@pytest.fixture
def environment(tmp_path):
    tmp_path.chmod(0o700)
    return {**os.environ, "BATON_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": str(PACKAGE), "COLUMNS": "160"}


@pytest.fixture
def baton(environment):
    """baton(*arguments) runs the command; .camera starts the process that publishes."""
    running = []

    def run(*arguments, code=0):
        command = [sys.executable, "-m", "baton_cli", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    def camera():
        process = subprocess.Popen([sys.executable, "-c", CAMERA], env=environment, stdout=subprocess.PIPE, text=True)
        running.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    run.camera = camera
    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def program(environment):
    """program(*statements) starts a process that keeps what each makes in the list `kept`."""
    running = []

    def start(*statements):
        lines = [f"kept.append({s})" for s in statements]
        code = "\n".join(["import baton", "kept = []", *lines, "print('ready', flush=True)", "input()"])
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    yield start
    for process in running:
        process.kill()
        process.communicate()


def test_an_empty_domain_is_empty(baton):
    assert baton("topic", "list") == ""
    assert baton("node", "list") == ""
    assert "nobody publishes" in baton("topic", "info", "image", code=1)
    assert "there is no node '/x'" in baton("node", "info", "x", code=1)


def test_topics_and_nodes_are_listed(baton):
    camera = baton.camera()
    assert baton("topic", "list", "-t") == "/chatter [std_msgs/String]\n/image [sensor_msgs/Image]\n"
    assert "/switch/_request" in json.loads(baton("topic", "list", "--json", "--include-hidden-topics"))
    assert baton("topic", "list", "-c") == "2\n"
    assert baton("topic", "type", "image") == "sensor_msgs/Image\n"
    assert json.loads(baton("node", "list", "--json")) == [{"node": "/camera", "pid": camera.pid}]
    assert baton("node", "list") == f"/camera  (process {camera.pid})\n"
    info = baton("node", "info", "camera")
    assert "  Publishers:\n    /chatter: std_msgs/String\n    /image: sensor_msgs/Image\n" in info
    assert "  Service Servers:\n    /switch: std_srvs/SetBool\n" in info
    info = json.loads(baton("topic", "info", "image", "--json"))
    assert (info["type"], info["endpoints"][0]["qos"]["reliability"]) == ("sensor_msgs/Image", "reliable")
    verbose = baton("topic", "info", "image", "-v")
    assert "Publisher count: 1\n  Node name: /camera\n" in verbose
    assert "\n\n\n" not in verbose


def test_echo_shows_messages_and_cuts_what_is_long(baton):
    baton.camera()
    text = baton("topic", "echo", "image", "--once")
    assert "frame_id: front" in text
    assert len(text) < 1000
    assert len(json.loads(baton("topic", "echo", "image", "--once", "--json", "-f"))["data"]) == 1_000_000
    assert json.loads(baton("topic", "echo", "image", "--once", "--json", "-l", "2"))["data"][-1] == "... 999998 more"
    assert json.loads(baton("topic", "echo", "image", "--once", "--json", "--no-arr"))["data"] == "<1000000 elements>"
    assert "\ndata: '<1000000 elements>'\n---\n" in baton("topic", "echo", "image", "--once", "--no-arr")
    assert baton("topic", "echo", "image", "--once", "--field", "header.frame_id") == "front\n---\n"
    assert baton("topic", "echo", "chatter", "-n", "2", "--csv") == "hello\nhello\n"
    assert "no field 'colour'" in baton("topic", "echo", "image", "--once", "--field", "colour", code=1)
    assert "nobody" in baton("topic", "echo", "nothing", "--timeout", "0.1", code=1)


def test_what_is_no_topic_name_is_not_waited_for(baton):
    for arguments in (("echo", "x y"), ("hz", "a//b"), ("info", "\x1b[2J"), ("echo", "ü", "std_msgs/String")):
        assert "is no topic name" in baton("topic", *arguments, code=1)


def test_rate_bandwidth_and_delay_are_measured(baton):
    baton.camera()
    rate = json.loads(baton("topic", "hz", "image", "-n", "20", "--json").splitlines()[-1])
    assert rate["window"] == 20
    assert rate["min_s"] <= 1 / rate["rate_hz"] <= rate["max_s"]
    width = json.loads(baton("topic", "bw", "image", "-n", "10", "--json").splitlines()[-1])
    assert 1_000_000 < width["min"] < 1_001_000
    assert width["bytes_per_s"] > 0
    by_stamp = json.loads(baton("topic", "delay", "image", "-n", "3", "--json").splitlines()[-1])
    assert by_stamp["min_s"] > 1e9  # stamped in 1970
    assert json.loads(baton("topic", "delay", "chatter", "-n", "3", "--json").splitlines()[-1])["min_s"] < 1e6
    assert "average rate" in baton("topic", "hz", "chatter", "-n", "5")


def test_bandwidth_is_printed_in_the_units_of_the_message(baton):
    baton.camera()
    text = baton("topic", "bw", "image", "-n", "10")
    assert re.search(r"message size mean: 1\.00 MB min: 1\.00 MB max: 1\.00 MB", text), text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 KB"),
        (921_660, "921.66 KB"),
        (45_158_400, "45.16 MB"),
        (1_500_000_000, "1.50 GB"),
        (2e12, "2000.00 GB"),
    ],
)
def test_bytes_are_printed_with_decimal_units(value, text):
    assert rates.bytes_text(value) == text


def test_rates_of_many_topics_make_one_table(baton):
    baton.camera()
    lines = baton("topic", "hz", "image", "chatter", "-n", "20").splitlines()
    assert lines[1].split() == ["topic", "Hz", "min", "ms", "max", "ms", "std", "dev", "ms", "window"]
    rows = {line.split()[0]: line.split() for line in lines if line.strip().startswith("/")}
    assert set(rows) == {"/image", "/chatter"}
    last = json.loads(baton("topic", "hz", "*ma*", "chatter", "std_msgs/String", "-n", "5", "--json").splitlines()[-1])
    assert sorted(row["topic"] for row in last["topics"]) == ["/chatter", "/image"]
    for row in last["topics"]:
        assert row["min_s"] <= 1 / row["rate_hz"] <= row["max_s"]
        assert row["window"] >= 5
    width = json.loads(baton("topic", "bw", "--all", "-n", "5", "--json").splitlines()[-1])
    (image,) = (row for row in width["topics"] if row["topic"] == "/image")
    assert 1_000_000 < image["mean"] < 1_001_000
    ages = json.loads(baton("topic", "delay", "/ch*", "-n", "2", "--json").splitlines()[-1])
    assert [row["topic"] for row in ages["topics"]] == ["/chatter"]
    assert "name topics or patterns" in baton("topic", "hz", code=2)


def test_rates_are_printed_as_they_were_published():
    class Made(rates.Rate):
        def value_of(self, message):
            return message

    steady = Made("/steady", 10)
    for tick in range(0, 500_000_001, 100_000_000):
        steady.on_message(tick)
    text = "average rate: 10.000\n\tmin: 0.100000s max: 0.100000s std dev: 0.000000s window: 6"
    assert steady.text(steady.figures()) == text
    silent = Made("/silent", 10)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(rates.table([silent, steady], Made.columns))
    assert [line.split() for line in console.export_text().splitlines()[3:5]] == [
        ["/silent", "no", "messages", "yet"],
        ["/steady", "10.000", "100.000", "100.000", "0.000", "6"],
    ]

    class Sized(rates.Width):
        def value_of(self, message):
            return message

    camera = Sized("/camera", 10)
    for tick in range(4):
        camera.on_message((tick * 33_333_333, 921_660))
    assert camera.text(camera.figures()) == (
        "27.65 MB/s from 4 messages\n\tmessage size mean: 921.66 KB min: 921.66 KB max: 921.66 KB"
    )

    class Old(rates.Age):
        def value_of(self, message):
            return message

    late = Old("/late", 10)
    late.on_message(0.25)
    late.on_message(0.75)
    text = "average delay: 0.500000\n\tmin: 0.250000s max: 0.750000s std dev: 0.250000s window: 2"
    assert late.text(late.figures()) == text


def test_a_type_may_stand_behind_each_topic():
    assert rates.wanted(("image", "sensor_msgs/msg/Image", "/b/*", "b/C", "odom/x")) == [
        ("/image", "sensor_msgs/msg/Image"),
        ("/b/*", "b/C"),
        ("/odom/x", None),
    ]


def test_the_publisher_of_pub_is_there_for_everybody(baton, environment):
    command = [
        sys.executable,
        "-m",
        "baton_cli",
        "topic",
        "pub",
        "-r",
        "50",
        "chatter",
        "std_msgs/String",
        "{data: hello}",
    ]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("publishing #1")
        assert baton("topic", "echo", "chatter", "-n", "2", "--csv") == "hello\nhello\n"
        assert "average rate" in baton("topic", "hz", "chatter", "-n", "5")
        assert baton("topic", "type", "chatter") == "std_msgs/String\n"
        assert "Publisher count: 1\n" in baton("topic", "info", "chatter")
        assert f"/topic_pub_{process.pid}" in baton("node", "list")
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 130
    finally:
        process.kill()
        process.wait()


def test_pub_reaches_the_subscription_and_refuses_what_does_not_fit(baton):
    camera = baton.camera()
    assert "publishing #1" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{data: x}")
    assert camera.stdout.readline() == "x\n"
    assert "no std_msgs/String" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{text: x}", code=1)
    said = baton("topic", "pub", "-1", "chatter", "std_msgs/Strin", "{}", code=1)
    assert said.startswith("Error: unknown type 'std_msgs/Strin'\n  way out: did you mean 'String'?")
    assert "(--search DIR, or directories in BATON_MSG_PATH)" in said


def test_a_part_of_a_message_is_shown_in_the_form_of_the_whole(baton):
    baton.camera()
    stamp = "stamp:\n  sec: 1\n  nanosec: 0\nframe_id: front\n---\n"
    assert baton("topic", "echo", "image", "--once", "--field", "header") == stamp
    # The field seq, which ROS 2 does not have, is in no form.
    whole = "header:\n  stamp:\n    sec: 1\n    nanosec: 0\n  frame_id: front\nheight: 0\n"
    assert baton("topic", "echo", "image", "--once").startswith(whole)
    assert baton("topic", "echo", "image", "--once", "--field", "header", "--csv") == "1,0,front\n"


def test_values_become_yaml_that_reads_back_as_the_same():
    from ruamel.yaml import YAML

    value = {
        "empty": {},
        "words": ["plain", "two words", "it's", "yes", "", "1.5", "/a/b", "a\tb", "é", "- x", "a: b", "#"],
        "numbers": [1, -2.5, True],
        "none": [],
        "messages": [{"a": 1, "b": {"c": [1, 2]}}, {"a": 2, "b": {"c": []}}, "... 3 more"],
        "nested": {"deep": {"x": float("inf"), "y": False}},
    }
    assert YAML(typ="safe").load(text_of(value)) == value
    assert YAML(typ="safe").load(text_of(value["messages"])) == value["messages"]
    assert YAML(typ="safe").load(text_of("on")) == "on"


def test_a_node_is_found_by_its_name_with_and_without_a_slash(baton, program):
    program('baton.Node("/robot/talker")', 'baton.Node("camera")')
    assert [line.split()[0] for line in baton("node", "list").splitlines()] == ["/camera", "/robot/talker"]
    for name in ("robot/talker", "/robot/talker", "camera", "/camera"):
        assert baton("node", "info", name).startswith("/" + name.lstrip("/") + "\n")
    assert "there are: /camera, /robot/talker\n" in baton("node", "info", "talker", code=1)


def test_a_topic_with_two_types_is_described_with_both_and_read_as_the_one_that_is_named(baton, program):
    program(
        'baton.Node("a").advertise("battery", "std_msgs/String", baton.QoS(durability="transient_local"))',
        'baton.Node("b").subscribe("battery", "std_msgs/Int32")',
        'kept[0].publish({"data": "full"})',
    )
    assert baton("topic", "type", "battery") == "std_msgs/Int32\nstd_msgs/String\n"
    assert "Type: std_msgs/Int32\nType: std_msgs/String\nPublisher count: 1\n" in baton("topic", "info", "battery")
    assert json.loads(baton("topic", "info", "battery", "--json"))["types"] == ["std_msgs/Int32", "std_msgs/String"]
    for verb in ("echo", "hz", "bw", "delay"):
        said = baton("topic", verb, "battery", code=1)
        assert "has several types: std_msgs/Int32, std_msgs/String; name one behind the topic: /battery std" in said
    assert baton("topic", "echo", "battery", "std_msgs/String", "--once") == "data: full\n---\n"
    (row,) = json.loads(baton("top", "-n", "1", "-i", "0.2", "--json"))["topics"]
    assert (row["type"], row["subscriptions"]) == ("std_msgs/String", [])


@pytest.mark.parametrize("verb", [["topic", "echo", "chatter"], ["topic", "pub", "-1", "chatter", "std_msgs/String"]])
def test_an_interrupt_ends_a_verb_without_a_word(environment, verb):
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_cli", *verb],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr.readline().startswith("waiting for ")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=240) == ("", "")
        assert process.returncode == 130
    finally:
        process.kill()
        process.wait()


def test_pub_says_what_it_waits_for_and_that_the_topic_has_another_type(baton, program, environment):
    program('baton.Node("listener").subscribe("chatter", "std_msgs/Int32")')
    process = subprocess.Popen(
        [sys.executable, "-m", "baton_cli", "topic", "pub", "-1", "chatter", "std_msgs/msg/String", "{data: x}"],
        env={**environment, "BATON_LOG_LEVEL": "off"},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr.readline() == "waiting for 1 subscription to /chatter ...\n"
        assert process.stderr.readline() == "there is /chatter with another type: std_msgs/Int32\n"
    finally:
        process.kill()
        process.communicate()


def test_top_counts_what_is_published(baton):
    baton.camera()
    lines = baton("top", "-n", "2", "-i", "3", "--json").splitlines()
    topics = {t["topic"]: t for t in json.loads(lines[-1])["topics"]}
    assert set(topics) == {"/image", "/chatter"}
    assert topics["/image"]["rate_hz"] > 0
    assert topics["/image"]["latency_s"] > 0
    assert topics["/image"]["converted"] == 0
    assert topics["/chatter"]["converted"] == 1
    assert topics["/chatter"]["subscriptions"][0].startswith("camera(")
    assert "/image" in baton("top", "-n", "1", "-i", "0.2")


def test_top_breaks_no_words_on_a_terminal_of_80_columns():
    row = {
        "topic": "/camera/image",
        "type": "sensor_msgs/Image",
        "rate_hz": 30.0,
        "bytes_per_s": 186.6e6,
        "latency_s": 80e-6,
        "converted": 0,
        "publishers": ["camera(12345)"],
        "subscriptions": ["detector(123)", "a_name_that_is_too_long(12345)"],
        "note": "",
    }
    broken = {**row, "topic": "/other", "note": "unknown type 'a/B'"}
    holder = {"topic": "/camera/image", "publisher": "camera(12345)", "subscription": "recorder(1)"}
    holder |= {"unread": 2, "held": 1, "held_bytes": 18e6, "chunks": [{"sequence": 7}]}
    console = Console(width=80, record=True, file=io.StringIO())
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    console.print(top_view.picture([row, broken], [holder], memory, [("camera", 12345)], 0, console.width))
    words = console.export_text().split()
    for whole in ("latency", "publishers", "subscriptions", "186.60", "camera(12345)", "detector(123)", "recorder(1)"):
        assert whole in words
    assert "/other is not watched: unknown type 'a/B'" in " ".join(words)
    assert {"long(12345)", "type"}.isdisjoint(words[: words.index("/other")])
    assert any(w.startswith("a_") and w.endswith("…(12345)") for w in words)  # the process is never cut
    assert "1 node, 1 process;" in " ".join(words)


def test_top_says_who_holds_which_messages(baton, environment):
    baton.camera()
    code = """
import baton
node = baton.Node("hoarder")
subscription = node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(3, held=4))
held = [subscription.take(120) for _ in range(3)]
print(*(baton.info(m).sequence for m in held), flush=True)
input()
"""
    hoarder = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        sequences = [int(n) for n in hoarder.stdout.readline().split()]
        shown = json.loads(baton("top", "-n", "1", "-i", "3", "--json"))["holders"]
        mine = next(h for h in shown if h["subscription"] == f"hoarder({hoarder.pid})")
        assert (mine["topic"], mine["held"]) == ("/image", 3)
        assert mine["publisher"].startswith("camera(")
        assert [c["sequence"] for c in mine["chunks"]] == sequences
        assert mine["held_bytes"] > 3_000_000
        assert "hoarder" in baton("top", "-n", "1", "-i", "3")
    finally:
        hoarder.kill()
        hoarder.communicate()


def test_doctor_finds_pairs_that_share_memory_and_those_that_do_not(baton, environment):
    baton.camera()
    good = json.loads(baton("doctor", "--json", "--look", "4"))
    # /chatter goes to its own process, nobody takes the images, and what is said on /chatter is made of dicts.
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
    old = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert old.stdout.readline() == "ready\n"
        text = baton("doctor", "--json", code=1)
        findings = {(f["what"].split(" ")[0], f["good"]): f for f in json.loads(text.splitlines()[0])["topics"]}
        assert "define it differently" in findings["/image:", False]["why"]
        assert "reliability" in findings["/chatter:", False]["why"]
        assert "did you mean /chatter?" in findings["/Chatter:", None]["way_out"]
        assert "way out" in baton("doctor", code=1)
    finally:
        old.kill()
        old.communicate()


def test_doctor_shows_how_slots_are_granted_and_which_subscription_was_refused_or_got_less(baton, program):
    program('baton.Node("camera").advertise("image", "sensor_msgs/Image", slots=64, max_message=1 << 16)')
    program(
        'baton.Node("plain").subscribe("image", "sensor_msgs/Image")',
        'baton.Node("greedy").subscribe("image", "sensor_msgs/Image", qos=baton.QoS(10, held=300))',
    )
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])
    topics = {f["what"].split("-> ")[1].split(" ")[0]: f for f in found["topics"]}
    assert topics["plain"]["good"] is True
    refused = topics["greedy"]
    assert refused["good"] is False
    assert "asks to hold 300" in refused["why"]
    assert "at most 26 of the publisher's 64 slots" in refused["why"]
    assert refused["way_out"].startswith("raise PublisherOptions::slots to at least 642")
    (slots,) = found["slots"]
    assert slots["what"].startswith("/image: publisher of camera")
    assert slots["why"] == "64 slots, of which 52 can be held: granted: 1 x 8 of 8; 44 left; 1 refused"
    shown = baton("doctor", "--look", "0", code=1)
    assert "44 left; 1 refused" in " ".join(shown.split())
    program(*[f'baton.Node("n{i}").subscribe("image", "sensor_msgs/Image")' for i in range(5)])
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])
    (less,) = (f for f in found["topics"] if f["good"] is None)
    assert "asks to hold 8 samples and got 7" in less["why"]
    assert "5 x 8 of 8" in found["slots"][0]["why"]
    assert "1 x 7 of 8" in found["slots"][0]["why"]


SERVER = """
import baton
node = baton.Node("lamp")
def switch(request, response):
    response.success = request.data
    response.message = "on" if request.data else "off"
node.serve("switch", "std_srvs/SetBool", switch)
print("ready", flush=True)
baton.spin(node)
"""


@pytest.fixture
def lamp(environment):
    process = subprocess.Popen([sys.executable, "-c", SERVER], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()


def test_a_service_is_listed_found_described_and_called(baton, lamp):
    assert baton("service", "list").splitlines() == ["/switch"]
    assert baton("service", "list", "-t").splitlines() == ["/switch [std_srvs/SetBool]"]
    assert baton("service", "list", "-c").strip() == "1"
    assert json.loads(baton("service", "list", "--json")) == {"/switch": ["std_srvs/SetBool"]}
    assert baton("service", "type", "switch").strip() == "std_srvs/SetBool"
    assert baton("service", "find", "std_srvs/srv/SetBool").split() == ["/switch"]
    assert baton("service", "find", "std_srvs/Trigger") == ""
    text = baton("service", "info", "/switch")
    assert f"Servers: 1\n  /lamp  (process {lamp.pid})\nClients: 0" in text
    assert json.loads(baton("service", "info", "switch", "--json"))["servers"] == [{"node": "/lamp", "pid": lamp.pid}]
    assert baton("service", "call", "switch", "std_srvs/SetBool", "{data: true}") == "success: true\nmessage: 'on'\n"
    answer = baton("service", "call", "switch", "std_srvs/SetBool", "--json")
    assert json.loads(answer) == {"success": False, "message": "off"}


def test_a_call_that_cannot_be_answered_says_why(baton, lamp):
    assert "nobody serves or calls /other" in baton("service", "type", "other", code=1)
    said = baton("service", "call", "switch", "std_srvs/Trigger", "--timeout", "0.3", code=1)
    assert "nobody serves /switch as std_srvs/Trigger within 0.3 s; it is served as std_srvs/SetBool" in said
    assert "VALUES are no std_srvs/SetBool" in baton("service", "call", "switch", "std_srvs/SetBool", "{x: 1}", code=1)
    lamp.send_signal(signal.SIGSTOP)
    said = baton("service", "call", "switch", "std_srvs/SetBool", "--timeout", "0.5", code=1)
    assert "/switch sent no response within 0.5 s" in said or "nobody serves /switch" in said


def test_echo_shows_the_messages_for_which_a_condition_is_true(baton, program):
    program(
        '(node := baton.Node("counter"))',
        '(numbers := node.advertise("numbers", "std_msgs/Int32"))',
        "(count := iter(range(10**9)))",
        'node.create_timer(0.005, lambda: numbers.publish({"data": next(count)}))',
        '__import__("threading").Thread(target=baton.spin, args=[node], daemon=True).start()',
    )
    lines = baton("topic", "echo", "numbers", "--filter", "m.data % 10 == 3", "--json", "-n", "3").splitlines()
    assert [json.loads(line)["data"] % 10 for line in lines] == [3, 3, 3]
    assert "no Python expression" in baton("topic", "echo", "numbers", "--filter", "m.data >", code=1)
    assert "AttributeError" in baton("topic", "echo", "numbers", "--filter", "m.other > 1", code=1)


def test_topics_are_found_by_their_type(baton):
    baton.camera()
    assert baton("topic", "find", "sensor_msgs/msg/Image").split() == ["/image"]
    assert baton("topic", "find", "std_msgs/String").split() == ["/chatter"]
    assert baton("topic", "find", "std_msgs/Bool") == ""


def test_an_empty_domain_is_named(environment):
    command = [sys.executable, "-m", "baton_cli"]
    for verb in ("topic", "node", "service"):
        done = subprocess.run(
            [*command, verb, "list", "--domain", "7"], env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0 and done.stdout == ""
        assert f"no {verb}s in domain 7 (BATON_DOMAIN, --domain): nobody there" in done.stderr


@pytest.fixture
def screen(environment):
    """screen(*arguments) runs the command on a terminal of 100 columns and 24 lines: a pty, and what was drawn."""
    running = []

    def start(*arguments):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(sys.executable, [sys.executable, "-m", "baton_cli", *arguments], {**shown, "TERM": "xterm"})
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        running.append((pid, terminal))
        return Screen(pid, terminal)

    shown = {name: value for name, value in environment.items() if name != "COLUMNS"}
    yield start
    for pid, terminal in running:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


class Screen:
    def __init__(self, pid, terminal):
        self.pid, self.terminal, self.drawn = pid, terminal, ""

    def until(self, text, after=0):
        """Reads until `text` was drawn; returns the place behind it."""
        end = time.monotonic() + 60
        while text not in self.drawn[after:]:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.terminal], [], [], left)[0], self.drawn[-3000:]
            self.drawn += os.read(self.terminal, 65536).decode(errors="replace")
        return self.drawn.index(text, after) + len(text)

    def type(self, text):
        os.write(self.terminal, text.encode())


def test_top_obeys_its_keys_and_leaves_with_q(baton, screen, program):
    program(
        '(node := baton.Node("many"))',
        '[node.advertise(f"/robot/sensor_{i:03}", "std_msgs/String") for i in range(40)]',
    )
    top = screen("top", "-i", "0.2", "--sort", "topic")
    seen = top.until("/robot/sensor_000")
    seen = top.until(" more", seen)
    top.type("G")
    seen = top.until("/robot/sensor_039", seen)
    seen = top.until(" above", seen)
    top.type("/sensor_02\r")
    seen = top.until("/robot/sensor_020", seen)
    seen = top.until("30 of other names", seen)
    seen = top.until("filter: sensor_02", seen)
    top.type("s")
    top.until("sort: MB/s", seen)
    top.type("q")
    assert os.waitstatus_to_exitcode(os.waitpid(top.pid, 0)[1]) == 0


def _topic_row(number):
    return {
        "topic": f"/t{number:03}",
        "type": "std_msgs/String",
        "rate_hz": 1.0 * number,
        "bytes_per_s": 0.0,
        "latency_s": None,
        "converted": None,
        "publishers": ["a(1)"],
        "subscriptions": [f"b{i}(2)" for i in range(number % 7)],
        "note": "",
    }


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 60), (60, 12)])
def test_top_fits_the_screen_and_says_how_much_is_left_out(width, height):
    rows = [_topic_row(number) for number in range(300)]
    holder = {"topic": "/t001", "publisher": "a(1)", "subscription": "c(1)", "unread": 0, "held": 1, "held_bytes": 1}
    holders = [{**holder, "chunks": [{"sequence": 7}]} for _ in range(20)]
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    view = top_view.View(sort="topic")
    seen = 0
    while seen < 300:
        console = Console(width=width, record=True, file=io.StringIO())
        console.print(top_view.picture(rows, holders, memory, [("a", 1)], 0, width, view, height))
        lines = console.export_text().splitlines()
        assert len(lines) <= height
        below = 300 - view.offset - view.page
        assert view.offset == seen
        assert (f"{below} more" in "\n".join(lines)) if below else ("more" not in lines[-10:]), lines
        seen += view.page
        view.on_key("page down")


def test_top_sorts_filters_and_scrolls_by_keys():
    rows = [_topic_row(number) for number in range(20)]
    view = top_view.View()
    for key in top_view.keys("s"):
        view.on_key(key)
    assert view.sort == "Hz"
    assert [r["topic"] for r in view.sorted(rows)][:2] == ["/t019", "/t018"]
    for key in top_view.keys("r\x1b[B\x1b[B\x1b[A"):
        view.on_key(key)
    assert view.reverse and view.offset == 1
    for key in top_view.keys("/t01x\x7f\r"):
        view.on_key(key)
    assert {r["topic"] for r in view.sorted(rows)} == {f"/t{number:03}" for number in range(10, 20)}
    view.pattern = "/t00?"
    assert len(view.sorted(rows)) == 10
    assert not view.done
    for key in top_view.keys("/q\x1bq"):
        view.on_key(key)
    assert view.done and view.pattern == ""


def test_the_shell_completes_topics_nodes_services_and_types(baton, environment):
    baton.camera()

    def completed(*words):
        variables = {
            "_BATON_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        done = subprocess.run(
            [sys.executable, "-c", "from baton_cli.main import baton; baton(prog_name='baton')"],
            env={**environment, **variables},
            capture_output=True,
            text=True,
            timeout=240,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("baton", "topic", "echo", "/im") == ["/image"]
    assert completed("baton", "topic", "hz", "/image", "ch") == ["chatter"]
    assert completed("baton", "node", "info", "/c") == ["/camera"]
    assert completed("baton", "service", "call", "/sw") == ["/switch"]
    assert completed("baton", "topic", "pub", "chatter", "std_msgs/Stri") == ["std_msgs/String"]
    assert completed("baton", "topic", "pub", "chatter", "std_ms") == ["std_msgs/"]
    assert completed("baton", "service", "call", "/switch", "std_srvs/S") == ["std_srvs/SetBool"]
    assert completed("baton", "topic", "echo", "--fil") == ["--filter"]


def test_stubs_are_written_for_a_package_and_what_it_refers_to(baton, tmp_path):
    lines = baton("stubs", "geometry_msgs", "-o", str(tmp_path / "out")).splitlines()
    assert {Path(line).relative_to(tmp_path / "out").as_posix() for line in lines} >= {
        "msg/geometry_msgs.pyi",
        "msg/std_msgs.pyi",
    }
    assert "def position(self) -> " in (tmp_path / "out/msg/geometry_msgs.pyi").read_text()
    assert "no package 'no_msgs'" in baton("stubs", "no_msgs", "-o", str(tmp_path), code=1)


def test_doctor_shows_a_subscription_that_keeps_all_samples_that_it_may(baton, program):
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

    end = time.monotonic() + 60
    while not (rows := waiting()):
        assert time.monotonic() < end, "doctor does not show the subscription"
    assert rows[0]["what"].startswith("/numbers") and "raise QoS 'held'" in rows[0]["way_out"]


def test_doctor_knows_which_ends_are_ros_2_programs_and_what_these_copy(baton, program):
    program(
        'baton.Node("/talker").advertise("chatter", "std_msgs/String")',
        'baton.Node("/listener").subscribe("chatter", "std_msgs/String")',
    )
    (pair,) = json.loads(baton("doctor", "--json", "--look", "0"))["topics"]
    assert "arrays are copied out once" in pair["why"]
    assert "libbaton_heap.so" in pair["way_out"]


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


def test_shared_heaps_are_listed_with_who_has_them_open_and_what_they_hold(baton, environment):
    assert baton("heap", "list") == "nobody has a shared heap open\n"
    waits_for_a_pusher = [PACKAGE.parent / "bin" / "lot_roles", "pull", "1"]
    puller = subprocess.Popen(waits_for_a_pusher, env=environment)
    try:
        heaps = []
        while not heaps or heaps[0]["objects"] == 0:
            assert puller.poll() is None
            heaps = json.loads(baton("heap", "list", "--json"))
        (heap,) = heaps
        assert (heap["name"], heap["processes"], heap["orphans"]) == ("lot-example", 1, 0)
        assert 0 < heap["used_bytes"] <= heap["backed_bytes"] < heap["limit_bytes"]
        assert baton("heap", "list").splitlines()[1].split()[:2] == ["lot-example", "1"]
    finally:
        puller.kill()
        puller.wait()
    assert baton("heap", "list") == "nobody has a shared heap open\n"


def test_interfaces_are_shown(baton, environment, tmp_path):
    shown = baton("interface", "show", "geometry_msgs/msg/PoseStamped")
    assert "geometry_msgs/Pose pose\n\tgeometry_msgs/Point position\n\t\tfloat64 x\n" in shown
    assert "bool data\n---\nbool success\n" in baton("interface", "show", "std_srvs/SetBool")
    assert "std_msgs/msg/String" in baton("interface", "package", "std_msgs")
    assert "unknown type" in baton("interface", "show", "std_msgs/Strin", code=1)
    (tmp_path / "my_robot" / "msg").mkdir(parents=True)
    (tmp_path / "my_robot" / "msg" / "Battery.msg").write_text("float32 volts\n")
    assert "BATON_MSG_PATH" in baton("interface", "show", "my_robot/Battery", code=1)
    environment["BATON_MSG_PATH"] = str(tmp_path)
    assert baton("interface", "show", "my_robot/Battery") == "float32 volts\n"
    assert baton("interface", "package", "my_robot") == "my_robot/msg/Battery\n"
    environment["BATON_MSG_PATH"] = str(tmp_path / "nowhere")
    assert "named in BATON_MSG_PATH" in baton("interface", "show", "my_robot/Battery", code=1)
