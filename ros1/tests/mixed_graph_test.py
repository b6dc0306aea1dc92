# SPDX-License-Identifier: Apache-2.0
"""One topic with programs of ROS 1, Baton's own nodes and ROS 2 on it, and the bag of such a topic. conformance_test.py has the kinds of ROS 1's
programs."""

import os
import sys
from pathlib import Path

import pytest
from ros1_network import BUILD, ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from support.claims import claim_domain
from support.ros2 import TESTED

pytestmark = pytest.mark.own_master  # its topics have absolute names

PROGRAMS = Path(__file__).parent / "programs"
ROS2, RMW = TESTED.python, TESTED.library
SIZES = [10, 100_000, 6_220_800, 0, 1000]

# What the programs below share: as programs/pattern.hpp.
PATTERN = """
import sys
def pattern(number, size):
    return bytes((number * 31 + i * 7 + (i >> 12)) % 256 for i in range(size))
def say(line):
    sys.stdout.write(line + "\\n")
    sys.stdout.flush()
def check(number, data):
    good = bytes(data) == pattern(number, len(data))
    say(f"{number} {len(data)} {'good' if good else 'bad'}")
"""
BATON_LISTENER = """
import baton
node = baton.Node("baton_listener")
subscription = node.subscribe("images", "sensor_msgs/Image", qos=100)
say("ready")
while True:
    image = subscription.take(timeout=600)
    check(image.width, image.data)
"""
BATON_TALKER = """
import baton
node = baton.Node("baton_talker")
publisher = node.advertise("images", "sensor_msgs/Image", 100)
publisher.wait_for_subscriptions(int(sys.argv[1]))
for number, size in enumerate(map(int, sys.argv[2:]), 1):
    image = publisher.loan()
    image.width, image.height, image.encoding, image.header.frame_id = number, 1, "mono8", "camera"
    image.data = pattern(number, size)
    publisher.publish(image)
say("done")
sys.stdin.read()
"""
ROS2_LISTENER = """
import rclpy
from sensor_msgs.msg import Image
rclpy.init()
node = rclpy.create_node("ros2_listener")
node.create_subscription(Image, "images", lambda image: check(image.width, image.data), 100)
say("ready")
rclpy.spin(node)
"""
ROS2_TALKER = """
import rclpy, time
from sensor_msgs.msg import Image
rclpy.init()
node = rclpy.create_node("ros2_talker")
publisher = node.create_publisher(Image, "images", 100)
while publisher.get_subscription_count() < int(sys.argv[1]):
    rclpy.spin_once(node, timeout_sec=0.01)
for number, size in enumerate(map(int, sys.argv[2:]), 1):
    image = Image(width=number, height=1, encoding="mono8")
    image.header.frame_id = "camera"
    image.data.frombytes(pattern(number, size))
    publisher.publish(image)
say("done")
sys.stdin.read()
"""


PLAYER = """
import baton, time
from baton_record.verbs.bag import command
first, second = sys.argv[1:]
command(["convert", first, second], standalone_mode=False)
for bag in (first, second):
    with baton.Player(bag, baton.Node("player"), remap={"/images": "/again"}) as player:
        while not all(each.matched == 2 for each in player._publishers.values()):
            player.wait_for_subscriptions()
            time.sleep(0.01)
        say(str(player.play()))
        player.wait_until_taken(60)
"""


@pytest.fixture
def graph(ros):
    domain, claim = claim_domain()
    ros.environment |= {"BATON_DOMAIN": str(domain), "ROS_DOMAIN_ID": str(domain)}
    yield ros
    claim.close()


def baton_node(ros, source, *words):
    settings = {"PYTHONPATH": str(BUILD / "python")}
    return ros.run([sys.executable, "-c", PATTERN + source, *map(str, words)], preload=False, **settings)


def ros2_node(ros, source, *words):
    settings = {"LD_PRELOAD": str(RMW), "RMW_IMPLEMENTATION": "rmw_baton_cpp"}
    return ros.run([ROS2, "-c", PATTERN + source, *map(str, words)], preload=False, **settings)


def other_lines():
    return [f"{i + 1} {size} good" for i, size in enumerate(SIZES)]


needs_ros2 = pytest.mark.skipif(
    bool(os.environ.get("BATON_SANITIZER_RUNTIMES")) or not (ROS2.exists() and RMW.exists()),
    reason="needs ROS 2's Python packages (make setup), and a build without a sanitizer",
)


@needs_ros2
def test_recompiled_programs_and_nodes_of_baton_and_of_ros_2_hear_each_other_once(graph):
    recompiled = [BUILD / "bin/ros1_recompiled_ends"]
    receives = graph.run([*recompiled, "listener", "images", "100", "0", "0"], preload=False)
    others = {"Baton": baton_node(graph, BATON_LISTENER), "ROS 2": ros2_node(graph, ROS2_LISTENER)}
    for program in others.values():
        assert program.line() == "ready"
    sends = graph.run([*recompiled, "talker", "images", "100", "volatile"], preload=False)
    sends.do(f"subscribers {1 + len(others)}")
    for size in SIZES:
        sends.do(f"publish {size} 1 0")
    assert [receives.line() for _ in SIZES] == [f"{i + 1} {i} {size} good" for i, size in enumerate(SIZES)]
    for node, source in ((baton_node, BATON_TALKER), (ros2_node, ROS2_TALKER)):
        talks = node(graph, source, 1 + len(others), *SIZES)
        assert [receives.line().split()[::2] for _ in SIZES] == [
            [str(i + 1), str(size)] for i, size in enumerate(SIZES)
        ]
        assert talks.line() == "done"
    for kind, program in others.items():
        assert [program.line() for _ in range(3 * len(SIZES))] == 3 * other_lines(), kind
    sends.do("publish 5 1 0")  # what came too often would come before
    number = len(SIZES) + 1
    assert receives.line() == f"{number} {number - 1} 5 good"
    assert {kind: program.line() for kind, program in others.items()} == dict.fromkeys(others, f"{number} 5 good")


def test_what_programs_of_ros_1_publish_is_recorded_and_played_to_them_again(graph, tmp_path):
    recorder = graph.run([BUILD / "bin/baton_record", "--output", tmp_path / "drive", "/images"], preload=False)
    recompiled = [BUILD / "bin/ros1_recompiled_ends"]
    for sends in (
        graph.run([*recompiled, "talker", "images", "100", "volatile"], preload=False),
        graph.api_talker(),
    ):
        sends.do("subscribers 1")
        for size in SIZES:
            sends.do(f"publish {size} 1 0")
    recorder.tell("stop")
    assert recorder.status() == 0, recorder.errors
    listeners = [
        graph.run([*recompiled, "listener", "again", "100", "0", "0"], preload=False),
        graph.api_listener(topic="again"),
    ]
    player = baton_node(graph, PLAYER, tmp_path / "drive", tmp_path / "drive.bag")
    assert player.line().endswith("10 messages"), player.errors  # of the conversion
    for _ in ("rosbag2", "ROS 1"):
        for receives in listeners:
            lines = [receives.line().split() for _ in range(2 * len(SIZES))]
            assert [" ".join([number, *good]) for number, _, *good in lines] == 2 * other_lines()  # without "seq"
        assert player.line() == str(2 * len(SIZES)), player.errors
