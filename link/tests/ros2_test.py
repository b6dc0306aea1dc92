# SPDX-License-Identifier: Apache-2.0
"""Stock ROS 2 nodes, over Fast DDS and without Baton, beside programs of Baton that `baton link --ros2` joins with them."""

from __future__ import annotations

import json
import signal
import sys
import time

import pytest
from link_programs import FLOW, HEAR, IMAGE_HEAR, IMAGE_TALK, TALK, lines_of, ready
from ros2_hosts import every_type, ros2_link, stock
from support.build import BIN
from support.ros2 import TESTED, needs_ros2
from support.waiting import LIMIT_S

pytestmark = needs_ros2()


def result(process):
    return json.loads(lines_of(process))


def texts(count, begin=0):
    return [f"message {i}" for i in range(begin, count)]


def words(**wanted):
    return json.dumps({"topic": "/chatter", **wanted})


def heard(process):
    """The texts that HEAR of link_programs.py has received."""
    return [text for text, _ in result(process)]


# Publishes numbered messages: some until the line of its input, and 100 more. A publisher cannot see that all of several ROS 2 nodes
# are connected to the DDS writer that stands for it.
TALK_ON = """
import baton, sys, threading, time
from baton.msg.std_msgs import String
node = baton.Node("talker")
publisher = node.advertise("chatter", String, baton.QoS(1000))
def publish(text):
    with publisher.loan() as message:
        message.data = text
told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
number = 0
while not told.wait(0.02):
    publish(f"message {number}")
    number += 1
for _ in range(100):
    publish(f"message {number}")
    number += 1
    time.sleep(0.005)
publish("the end")
sys.stdin.read()
"""

HEAR_ON = HEAR.replace("    if message.data", "    if len(got) == 1: print('heard', flush=True)\n    if message.data")


def talk_to_all(host, listeners):
    """Checks that each listener gets all messages from its first one on, once and in order."""
    for listener in listeners:
        ready(listener)
    talker = host.python(TALK_ON)
    for listener in listeners:
        ready(listener)  # has heard
    talker.tell("on")
    for listener in listeners:
        got = [each if isinstance(each, str) else each[0] for each in result(listener)]
        numbers = [int(text.split()[1]) for text in got[:-1]]
        assert got[-1] == "the end" and len(numbers) >= 100
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    lines_of(talker)


def test_a_stock_node_hears_a_publisher_of_baton(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    listener = ready(stock(a, "hear", words(until="message 99")))
    talker = a.python(TALK, "100", "volatile", "1000")
    assert result(listener) == texts(100)
    lines_of(talker)


def test_a_subscription_of_baton_hears_a_stock_node_with_the_numbers_of_its_messages(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    listener = ready(a.python(HEAR, "message 99", "volatile"))
    stock(a, "talk", words(count=100))
    assert result(listener) == [[f"message {i}", i + 1] for i in range(100)]


def test_each_side_sees_the_others_nodes_topics_and_types(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    ready(a.python(TALK, "1", "transient_local", "1"))
    seen = result(stock(a, "look", words(node="talker")))
    assert {"talker", "baton_link"} <= set(seen["nodes"])
    assert seen["types"] == ["std_msgs/msg/String"]
    package = TESTED.prefix / "share/std_msgs/msg/String.json"
    right = json.loads(package.read_text())["type_hashes"][0]["hash_string"]
    assert seen["publishers"] == [["std_msgs/msg/String", right]]
    assert seen["of_node"] == [["/chatter", ["std_msgs/msg/String"]]]

    listener = ready(a.python(HEAR.replace("chatter", "answer"), "message 0", "volatile"))
    stock(a, "talk", words(topic="/answer", count=1))
    assert heard(listener) == texts(1)
    listener = a.python(COUNT_PUBLISHERS)
    assert lines_of(listener) == "['stock_talker']"


COUNT_PUBLISHERS = """
import baton
from baton.msg.std_msgs import String
node = baton.Node("looker")
subscription = node.subscribe("answer", String)
assert subscription.wait_for_publishers(1, 90)
print(sorted(each.node for each in node.endpoints() if each.is_publisher and each.topic == "/answer"))
"""


# Sends every message of /stock back on /echo. Subscribes when all of /echo is wanted, so that nothing is lost.
ECHO = """
import baton, sys, time
node = baton.Node("echo")
names = open(sys.argv[1]).read().split()
types = [name.replace("/msg/", "/") for name in names]
publishers = [node.advertise(f"/echo/{name}", kind, baton.QoS(10)) for name, kind in zip(names, types)]
wanted = node.wait_for(lambda: all(each.matched for each in publishers), 60)
assert wanted, [name for name, each in zip(names, publishers) if not each.matched]
subscriptions = [node.subscribe(f"/stock/{name}", kind, qos=baton.QoS(10)) for name, kind in zip(names, types)]
print("ready", flush=True)
ends = time.monotonic() + 100
while time.monotonic() < ends:
    for publisher, subscription in zip(publishers, subscriptions):
        while (message := subscription.take(0)) is not None:
            publisher.publish(message)
    time.sleep(0.01)
"""


def test_every_standard_type_goes_in_and_out_with_each_field_and_the_hash_of_ros2(hosts, tmp_path):
    (a,) = hosts(1)
    ros2_link(a)
    file = tmp_path / "types"
    lines_of(every_type(a, "", "list", str(file)))
    share = TESTED.prefix / "share"
    # Those that are defined in the language of messages, which Baton reads.
    names = [name for name in file.read_text().split() if (share / f"{name}.msg").exists()]
    assert len(names) > 120
    file.write_text("".join(f"{name}\n" for name in names))
    hearer = every_type(a, "/echo", "hear", str(file), "python")
    ament = {"AMENT_PREFIX_PATH": str(TESTED.prefix)}
    echo = a.program(sys.executable, "-c", ECHO, file, more=ament)
    hashes = stock(a, "hashes", json.dumps({"file": str(file), "prefix": "/echo/"}))
    ready(echo)
    sender = every_type(a, "/stock", "send", str(file), "1")
    got = result(hearer)
    assert got["wrong"] == [] and got["types"] == len(names)

    found = result(hashes)
    right = {name: json.loads((share / f"{name}.json").read_text())["type_hashes"][0]["hash_string"] for name in names}
    wrong = [name for name in names if found[f"/echo/{name}"] != [right[name]]]
    # Types of one's own with `byte`, which Baton's definitions write as uint8: that the echo is complete shows that they are accepted.
    assert all(name.startswith("test_msgs/") for name in wrong), wrong
    lines_of(sender)


def test_images_of_6_mb_arrive_whole(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    wanted = words(topic="/image", count=5, depth=10)
    viewer = a.python(IMAGE_HEAR)
    stock(a, "show", wanted)
    assert lines_of(viewer) == "5 images"
    stock_viewer = ready(stock(a, "view", wanted))
    camera = a.python(IMAGE_TALK)
    whole, sizes = result(stock_viewer)
    assert whole == 5, sizes
    lines_of(camera)


def test_programs_in_cpp_are_joined_like_those_in_python(hosts):
    (a,) = hosts(1)
    if not (BIN / "baton_readme_camera").exists():
        pytest.skip("the example baton_readme_camera is not built")
    ros2_link(a)
    viewer = ready(stock(a, "view", words(topic="/image", count=3, depth=10)))
    camera = a.program(BIN / "baton_readme_camera")
    _, sizes = result(viewer)
    assert sizes[:3] == [[480, 640, 640 * 480 * 3]] * 3
    camera.send_signal(signal.SIGTERM)
    camera.wait(timeout=LIMIT_S)
    viewer = a.program(BIN / "baton_readme_viewer")
    stock(a, "show", words(topic="/image", depth=10))
    viewer.says(f"1920x1080 {1920 * 1080 * 3} bytes")


def test_latched_messages_reach_those_that_come_late(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    talker = ready(a.python(TALK, "20", "transient_local", "5"))
    assert talker.stdout.readline()  # all are published
    for _ in range(2):  # the second one gets what the first one's DDS writer keeps
        listener = ready(stock(a, "hear", words(until="message 19", latched=True)))
        assert result(listener) == texts(20, 15)

    stock_talker = ready(stock(a, "talk", words(topic="/map", count=20, latched=True, depth=5)))
    assert stock_talker.stdout.readline()
    for _ in range(2):
        listener = ready(a.python(HEAR.replace("chatter", "map"), "message 19", "transient_local"))
        assert heard(listener) == texts(20, 15)


def test_best_effort_ends_meet(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    listener = ready(stock(a, "hear", words(until="message 99", best_effort=True)))
    talker = a.python(TALK, "100", "volatile", "1000")
    got = result(listener)
    assert got and got == sorted(set(got), key=texts(100).index)
    lines_of(talker)

    best_effort = HEAR.replace("durability=durability)", "durability=durability, reliability='best_effort')").replace(
        "chatter", "other"
    )
    listener = ready(a.python(best_effort, "message 99", "volatile"))
    stock(a, "talk", words(topic="/other", count=100, best_effort=True))
    got = heard(listener)
    assert got and got == sorted(set(got), key=texts(100).index)


def test_ends_that_differ_in_type_or_quality_are_refused_in_words(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    other = "import Int32 as String"
    ready(a.python(HEAR.replace("import String", other), "", "volatile"))
    stock(a, "talk", words(count=1, subscriptions=0))
    assert a.says(
        "subscription of '/chatter' (node 'listener') is not connected to the publisher of ROS 2 node 'stock_talker': "
        "the subscription has type std_msgs/Int32, the other std_msgs/String"
    )
    talker = a.python(TALK.replace("import String", other).replace("chatter", "news"), "0", "transient_local", "1")
    stock(a, "hear", words(topic="/news", until="x"))
    assert a.says(
        "publisher of '/news' (node 'talker') is not connected to the subscription of ROS 2 node 'stock_listener': "
        "the publisher has type std_msgs/Int32, the other std_msgs/String"
    )
    talker = a.python(TALK.replace("chatter", "map"), "1", "volatile", "1")
    stock(a, "hear", words(topic="/map", until="x", latched=True))
    assert a.says("publisher of '/map' (node 'talker') is not connected to a ROS 2 subscription: durability")
    assert talker.poll() is None


def test_another_definition_of_the_same_name_is_refused_in_words(hosts, tmp_path):
    (a,) = hosts(1)
    ros2_link(a)
    package = tmp_path / "search/std_msgs"
    (package / "msg").mkdir(parents=True)
    (package / "package.xml").write_text("<package><name>std_msgs</name></package>")
    (package / "msg/String.msg").write_text("string text\n")
    search = {"BATON_MSG_PATH": str(tmp_path / "search")}
    ready(a.program(sys.executable, "-c", HEAR, "", "volatile", more=search))
    stock(a, "talk", words(count=1, subscriptions=0))
    assert a.says("the subscription has type std_msgs/String in another definition (RIHS01_")


@pytest.mark.parametrize("linked", [True, False])
def test_two_hosts_in_one_ros_domain_bring_each_message_once(hosts, linked):
    a, b = hosts(2)
    ros2_link(a)
    ros2_link(b, *([a] if linked else []))
    if linked:
        assert a.says("is connected")
    listeners = [stock(host, "hear", words(until="the end", tells=True)) for host in (a, b)]
    talk_to_all(a, listeners + [host.python(HEAR_ON, "the end", "volatile") for host in (a, b)])

    # Latched, because nobody knows when both are ready: each host subscribes itself, or gets them from the other host's link.
    listeners = [host.python(HEAR.replace("chatter", "news"), "message 99", "transient_local") for host in (a, b)]
    for listener in listeners:
        ready(listener)
    stock(b, "talk", words(topic="/news", count=100, latched=True, depth=100))
    assert [heard(listener) for listener in listeners] == [texts(100)] * 2


def test_a_host_without_a_side_of_its_own_is_joined_by_the_one_that_has_it(hosts):
    a, b = hosts(2)
    ros2_link(a)
    b.link(a)
    assert a.says("is connected")
    listener = ready(stock(a, "hear", words(until="message 99")))
    talker = b.python(TALK, "100", "volatile", "1000")
    assert result(listener) == texts(100)
    lines_of(talker)


def test_a_link_that_is_killed_and_started_again_joins_the_ends_again(hosts):
    (a,) = hosts(1)
    link = ros2_link(a)
    listener = ready(stock(a, "hear", words(until="message 9")))
    a.python(FLOW)
    assert texts(10)[-1] in result(listener)
    link.kill()
    link.wait(timeout=LIMIT_S)
    ros2_link(a)
    assert a.says("joins ROS 2 nodes", 2)
    listener = ready(stock(a, "hear", words(count=50)))
    got = result(listener)
    numbers = [int(text.split()[1]) for text in got]
    assert len(numbers) >= 50 and numbers == sorted(set(numbers))


@needs_ros2(TESTED.library)
def test_nodes_with_rmw_baton_get_each_message_once(hosts):
    (a,) = hosts(1)
    ros2_link(a)
    # Both ROS 2 nodes hear the DDS writer of the talker; the first has its messages from Baton.
    listeners = [
        stock(a, "hear", words(until="the end", node="with_baton", tells=True), rmw_baton=True),
        stock(a, "hear", words(until="the end", node="without_baton", tells=True)),
        a.python(HEAR_ON, "the end", "volatile"),
    ]
    talk_to_all(a, listeners)

    listeners = [
        stock(a, "hear", words(topic="/news", until="message 99", node="with_baton"), rmw_baton=True),
        stock(a, "hear", words(topic="/news", until="message 99", node="without_baton")),
        a.python(HEAR.replace("chatter", "news"), "message 99", "volatile"),
    ]
    for listener in listeners:
        ready(listener)
    stock(
        a, "talk", words(topic="/news", count=100, subscriptions=3, settle=2)
    )  # the link subscribes for Baton's program
    assert [result(listener) for listener in listeners[:2]] == [texts(100)] * 2
    assert heard(listeners[2]) == texts(100)


# Publishes "<name> <number>" 500 times a second until its input ends; its queue is good for ten seconds.
STEADY = """
import baton, sys, threading, time
node = baton.Node("steady" + sys.argv[1])
publisher = node.advertise("many", "std_msgs/String", baton.QoS(5000))
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
assert publisher.wait_for_subscriptions(1, 90)
print("ready", flush=True)
number = 0
while not ended.wait(0.02):  # queues are good for 100 s
    number += 1
    with publisher.loan() as message:
        message.data = f"{sys.argv[1]} {number}"
"""

# Says which numbers of which publisher were missing, for the line of its input; then how many publishers it heard.
GAPS = """
import baton, sys, threading
node = baton.Node("listener")
subscription = node.subscribe("many", "std_msgs/String", qos=baton.QoS(20000))
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
print("ready", flush=True)
last, gaps = {}, []
while not ended.is_set():
    if (message := subscription.take(0.2)) is None:
        continue
    name, number = str(message.data).split()
    if name in last and int(number) != last[name] + 1:
        gaps.append([name, last[name], int(number)])
    last[name] = int(number)
print(gaps, len(last), flush=True)
"""


def test_no_message_of_a_publisher_is_lost_when_others_of_its_topic_start(hosts):
    a, b = hosts(2)
    ros2_link(a)
    ros2_link(b)  # not connected to the other link: all goes by DDS
    listener = ready(b.python(GAPS))
    for name in "0123":
        ready(a.python(STEADY, name))
        time.sleep(1)
    listener.stdin.write("enough\n")
    listener.stdin.flush()
    assert lines_of(listener) == "[] 4"


# Ends at once behind its last message.
BURST = """
import baton, os, time
node = baton.Node("burst")
publisher = node.advertise("burst", "std_msgs/String", baton.QoS(1000))
assert publisher.wait_for_subscriptions(1, 90)
time.sleep(1)
for number in range(500):
    with publisher.loan() as message:
        message.data = f"message {number}" + " " * 20000
os._exit(0)
"""


# Says how many different messages of BURST came, once the last has.
COUNT_BURST = """
import baton
node = baton.Node("listener")
subscription = node.subscribe("burst", "std_msgs/String", qos=baton.QoS(1000))
print("ready", flush=True)
got = []
while (message := subscription.take(10 if got else 90)) is not None:
    got.append(str(message.data).split()[1])
    if got[-1] == "499":
        break
print(len(set(got)), got[-1], flush=True)
"""


def test_the_last_messages_of_a_publisher_that_ends_reach_ros2(hosts):
    a, b = hosts(2)
    ros2_link(a)
    ros2_link(b)
    listener = ready(b.python(COUNT_BURST))
    assert a.python(BURST).wait(timeout=LIMIT_S) == 0
    assert lines_of(listener) == "500 499"


# 1080p images, more than a Python node takes; then a text, until the end of its input.
FLOOD = """
import baton, sys, threading, time
from baton.msg.sensor_msgs import Image
from baton.msg.std_msgs import String
node = baton.Node("flood")
images, texts = node.advertise("image", Image, baton.QoS(10)), node.advertise("chatter", String, baton.QoS(10))
assert images.wait_for_subscriptions(1, 90) and texts.wait_for_subscriptions(1, 90)
for _ in range(200):
    with images.loan() as image:
        image.height, image.width, image.encoding = 1080, 1920, "rgb8"
        image.data.resize(1920 * 1080 * 3)
    time.sleep(0.05)
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.wait(0.1):
    with texts.loan() as message:
        message.data = "after the flood"
"""


def test_a_stock_node_that_does_not_keep_up_with_images_reads_on(hosts):
    a, b = hosts(2)
    ros2_link(a)
    viewer = ready(stock(b, "drown", words(topic="/image", texts="/chatter", until="after the flood")))
    a.python(FLOOD)
    assert result(viewer) > 0
