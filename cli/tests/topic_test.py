# SPDX-License-Identifier: Apache-2.0
"""`baton topic list`, `type`, `find`, `info`, `echo` and `pub`, against processes that publish."""

import contextlib
import json
import os
import pty
import sys

import pytest
from baton_cli.yaml_text import text_of


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


def test_the_whole_quality_of_service_of_an_end_is_shown(baton, program):
    program(
        'baton.Node("a").advertise("t", "std_msgs/String", baton.QoS(5, deadline=0.5, liveliness="manual_by_topic", lease=2))',
        'baton.Node("b").subscribe("t", "std_msgs/String", qos=baton.QoS(3, lifespan=0.25))',
    )
    publisher, subscription = baton("topic", "info", "t", "-v").split("Subscription count")
    assert "QoS: reliable, keep_last 5, volatile\n" in publisher
    assert "Deadline: 0.5 s, lifespan: infinite, liveliness: manual_by_topic, lease 2 s\n" in publisher
    assert "Deadline: infinite, lifespan: 0.25 s, liveliness: automatic, lease infinite\n" in subscription


# A message that a program's subscription does not take keeps `topic pub` for five seconds.
TAKES = '__import__("threading").Thread(target=kept[-1].take, args=(None,), daemon=True).start()'


def test_a_message_has_the_type_that_the_topic_has_unless_another_is_named(baton, program):
    program('baton.Node("a").subscribe("t", "std_msgs/String")', TAKES)
    assert baton("topic", "pub", "-t", "1", "t", "{data: hello}") == 'publishing #1: {"data": "hello"}\n'
    assert "nobody has /u, so its type is not known" in baton("topic", "pub", "-t", "1", "u", "{data: 1}", code=1)
    program('baton.Node("b").subscribe("t", "std_msgs/Int32")', TAKES)
    assert "/t has several types: std_msgs/Int32, std_msgs/String" in baton("topic", "pub", "-1", "t", "{}", code=1)
    assert baton("topic", "pub", "-t", "1", "t", "std_msgs/Int32", "{data: 4}") == 'publishing #1: {"data": 4}\n'


def test_topics_are_found_by_their_type(baton):
    baton.camera()
    assert baton("topic", "find", "sensor_msgs/msg/Image").split() == ["/image"]
    assert baton("topic", "find", "std_msgs/String").split() == ["/chatter"]
    assert baton("topic", "find", "std_msgs/Bool") == ""


def test_echo_does_not_wait_for_an_invalid_topic_name(baton):
    for arguments in (("echo", "x y"), ("hz", "a//b"), ("info", "\x1b[2J"), ("echo", "ü", "std_msgs/String")):
        assert "is no topic name" in baton("topic", *arguments, code=1)


def test_echo_shows_messages_and_cuts_long_arrays(baton):
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


def test_csv_that_would_steer_a_terminal_is_harmless_there_and_unchanged_elsewhere(baton, program, environment):
    program(
        '(node := baton.Node("steering"))',
        '(texts := node.advertise("texts", "std_msgs/String"))',
        'node.create_timer(0.02, lambda: texts.publish({"data": "a\\x1b]0;b\\x07"}))',
        '__import__("threading").Thread(target=baton.spin, args=[node], daemon=True).start()',
    )
    echo = ("topic", "echo", "texts", "--csv", "--once", "--timeout", "60")
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "baton_cli", *echo], environment)
    drawn = b""
    with contextlib.suppress(OSError):  # it has ended
        while part := os.read(terminal, 4096):
            drawn += part
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0
    assert drawn.decode().strip() == "a\\x1b]0;b\\x07"
    assert baton(*echo) == "a\x1b]0;b\x07\n"


def test_a_part_of_a_message_is_shown_in_the_form_of_the_whole(baton):
    baton.camera()
    stamp = "stamp:\n  sec: 1\n  nanosec: 0\nframe_id: front\n---\n"
    assert baton("topic", "echo", "image", "--once", "--field", "header") == stamp
    # The field seq, which ROS 2 does not have, is in no form.
    whole = "header:\n  stamp:\n    sec: 1\n    nanosec: 0\n  frame_id: front\nheight: 0\n"
    assert baton("topic", "echo", "image", "--once").startswith(whole)
    assert baton("topic", "echo", "image", "--once", "--field", "header", "--csv") == "1,0,front\n"


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


def test_the_publisher_of_pub_is_there_for_everybody(baton):
    process = baton.start("topic", "pub", "-r", "50", "chatter", "std_msgs/String", "{data: hello}")
    assert process.stdout.readline().startswith("publishing #1")
    assert baton("topic", "echo", "chatter", "-n", "2", "--csv") == "hello\nhello\n"
    assert "average rate" in baton("topic", "hz", "chatter", "-n", "5")
    assert baton("topic", "type", "chatter") == "std_msgs/String\n"
    assert "Publisher count: 1\n" in baton("topic", "info", "chatter")
    assert f"/topic_pub_{process.pid}" in baton("node", "list")
    process.interrupted(130)


def test_pub_reaches_the_subscription_and_refuses_wrong_values(baton):
    camera = baton.camera()
    assert "publishing #1" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{data: x}")
    camera.says("x")
    assert "no std_msgs/String" in baton("topic", "pub", "-1", "chatter", "std_msgs/String", "{text: x}", code=1)
    said = baton("topic", "pub", "-1", "chatter", "std_msgs/Strin", "{}", code=1)
    assert said.startswith("Error: unknown type 'std_msgs/Strin'\n  way out: did you mean 'String'?")
    assert "(--search DIR, or directories in BATON_MSG_PATH)" in said


def test_pub_reports_that_it_waits_and_that_the_topic_has_another_type(baton, program):
    program('baton.Node("listener").subscribe("chatter", "std_msgs/Int32")')
    words = ["topic", "pub", "-1", "chatter", "std_msgs/msg/String", "{data: x}"]
    process = baton.start(*words, env={"BATON_LOG_LEVEL": "off"})
    assert process.stderr.readline() == "waiting for 1 subscription to /chatter ...\n"
    assert process.stderr.readline() == "there is /chatter with another type: std_msgs/Int32\n"


@pytest.mark.parametrize("verb", [["echo"], ["hz"], ["echo", "--type"]], ids=" ".join)
def test_the_wait_for_an_unknown_topic_shows_similar_names(baton, program, verb):
    program('baton.Node("front").advertise("camera/image", "sensor_msgs/Image")')
    process = baton.start("topic", verb[0], "image", *(["sensor_msgs/Image"] if "--type" in verb else []))
    assert process.stderr.readline() == "waiting for /image ...\n"
    assert process.stderr.readline() == "nobody has /image; did you mean /camera/image?\n"
    program(
        '(node := baton.Node("late"))',
        '(images := node.advertise("image", "sensor_msgs/Image"))',
        'node.create_timer(0.05, lambda: images.publish({"height": 7}))',
        '__import__("threading").Thread(target=baton.spin, args=[node], daemon=True).start()',
    )
    assert process.stdout.readline() != "", "it went on waiting"
    assert process.interrupted(None)[1] == ""


def test_each_topic_without_a_publisher_is_named_once(baton, program):
    program(
        'baton.Node("front").advertise("camera/image", "sensor_msgs/Image")',
        'baton.Node("front").advertise("scan", "std_msgs/String")',
    )
    process = baton.start("topic", "hz", "scan", "imag", "--json")
    assert process.stderr.readline() == "nobody publishes /imag; did you mean /camera/image?\n"
    for _ in range(2):
        assert json.loads(process.stdout.readline())["topics"][0]["topic"] == "/scan"
    assert process.interrupted(None)[1] == "", "it was said once"


def test_a_type_that_no_topic_has_is_named_with_the_near_ones(baton):
    baton.camera()
    done = baton.done("topic", "find", "sensor_msgs/CompressedImage")
    text = "no topic in domain 0 has the type sensor_msgs/CompressedImage; did you mean sensor_msgs/Image?\n"
    assert (done.stdout, done.stderr) == ("", text)
    said = baton("topic", "find", "sensor_msgs/Imag", code=1)
    assert "unknown type 'sensor_msgs/Imag'\n" in said and "in domain 0: did you mean sensor_msgs/Image?" in said
    assert "did you mean 'sensor_msgs'" in baton("topic", "find", "sensor_msg/Image", code=1)
    assert "did you mean /image?" in baton("topic", "info", "imag", code=1)
