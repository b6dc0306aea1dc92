# SPDX-License-Identifier: Apache-2.0
"""The verbs that look into a running domain, against a process that publishes."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from baton_cli.verbs import top
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
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
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


def test_an_empty_domain_is_empty(baton):
    assert baton("topic", "list") == ""
    assert baton("node", "list") == ""
    assert "nobody publishes" in baton("topic", "info", "image", code=1)
    assert "there is no node 'x'" in baton("node", "info", "x", code=1)


def test_topics_and_nodes_are_listed(baton):
    camera = baton.camera()
    assert baton("topic", "list", "-t") == "/chatter [std_msgs/String]\n/image [sensor_msgs/Image]\n"
    assert "/switch/_request" in json.loads(baton("topic", "list", "--json", "--include-hidden-topics"))
    assert baton("topic", "list", "-c") == "2\n"
    assert baton("topic", "type", "image") == "sensor_msgs/Image\n"
    assert json.loads(baton("node", "list", "--json")) == [{"node": "camera", "pid": camera.pid}]
    info = baton("node", "info", "camera")
    assert "  Publishers:\n    /chatter: std_msgs/String\n    /image: sensor_msgs/Image\n" in info
    assert "  Service Servers:\n    /switch: std_srvs/SetBool\n" in info
    info = json.loads(baton("topic", "info", "image", "--json"))
    assert (info["type"], info["endpoints"][0]["qos"]["reliability"]) == ("sensor_msgs/Image", "reliable")
    assert "Publisher count: 1\n" in baton("topic", "info", "image", "-v")


def test_echo_shows_messages_and_cuts_what_is_long(baton):
    baton.camera()
    text = baton("topic", "echo", "image", "--once")
    assert "frame_id: front" in text
    assert len(text) < 1000
    assert len(json.loads(baton("topic", "echo", "image", "--once", "--json", "-f"))["data"]) == 1_000_000
    assert json.loads(baton("topic", "echo", "image", "--once", "--json", "-l", "2"))["data"][-1] == "... 999998 more"
    assert json.loads(baton("topic", "echo", "image", "--once", "--json", "--no-arr"))["data"] == "<1000000 elements>"
    assert baton("topic", "echo", "image", "--once", "--field", "header.frame_id").startswith('"front"')
    assert baton("topic", "echo", "chatter", "-n", "2", "--csv") == "hello\nhello\n"
    assert "no field 'colour'" in baton("topic", "echo", "image", "--once", "--field", "colour", code=1)
    assert "nobody" in baton("topic", "echo", "nothing", "--timeout", "0.1", code=1)


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


def test_pub_reaches_the_subscription_and_refuses_what_does_not_fit(baton):
    camera = baton.camera()
    assert "publishing #1" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{data: x}")
    assert camera.stdout.readline() == "x\n"
    assert "no std_msgs/String" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{text: x}", code=1)
    assert "unknown type" in baton("topic", "pub", "-1", "chatter", "std_msgs/Strin", "{}", code=1)


def test_top_counts_what_is_published(baton):
    baton.camera()
    lines = baton("top", "-n", "2", "-i", "0.5", "--json").splitlines()
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
        "subscriptions": ["detector(123)", "a_name_that_is_too_long(1)"],
        "note": "",
    }
    broken = {**row, "topic": "/other", "note": "unknown type 'a/B'"}
    holder = {"topic": "/camera/image", "publisher": "camera(12345)", "subscription": "recorder(1)"}
    holder |= {"unread": 2, "held": 1, "held_bytes": 18e6, "chunks": [{"sequence": 7}]}
    console = Console(width=80, record=True, file=io.StringIO())
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    console.print(top._table([row, broken], [holder], memory, [("camera", 12345)], 0, console.width))
    words = console.export_text().split()
    for whole in ("latency", "publishers", "subscriptions", "186.60", "camera(12345)", "detector(123)", "recorder(1)"):
        assert whole in words
    assert "/other is not watched: unknown type 'a/B'" in " ".join(words)
    assert {"long(1)", "type"}.isdisjoint(words[: words.index("/other")])


def test_top_says_who_holds_which_messages(baton, environment):
    baton.camera()
    code = """
import baton
node = baton.Node("hoarder")
subscription = node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(3, held=4))
held = [subscription.take(30) for _ in range(3)]
print(*(baton.info(m).sequence for m in held), flush=True)
input()
"""
    hoarder = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        sequences = [int(n) for n in hoarder.stdout.readline().split()]
        shown = json.loads(baton("top", "-n", "1", "-i", "0.5", "--json"))["holders"]
        mine = next(h for h in shown if h["subscription"] == f"hoarder({hoarder.pid})")
        assert (mine["topic"], mine["held"]) == ("/image", 3)
        assert mine["publisher"].startswith("camera(")
        assert [c["sequence"] for c in mine["chunks"]] == sequences
        assert mine["held_bytes"] > 3_000_000
        assert "hoarder" in baton("top", "-n", "1", "-i", "0.2")
    finally:
        hoarder.kill()
        hoarder.communicate()


def test_doctor_finds_pairs_that_share_memory_and_those_that_do_not(baton, environment):
    baton.camera()
    good = json.loads(baton("doctor", "--json"))
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


def test_interfaces_are_shown(baton):
    shown = baton("interface", "show", "geometry_msgs/msg/PoseStamped")
    assert "geometry_msgs/Pose pose\n\tgeometry_msgs/Point position\n\t\tfloat64 x\n" in shown
    assert "bool data\n---\nbool success\n" in baton("interface", "show", "std_srvs/SetBool")
    assert "std_msgs/msg/String" in baton("interface", "package", "std_msgs")
    assert "unknown type" in baton("interface", "show", "std_msgs/Strin", code=1)
