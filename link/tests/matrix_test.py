# SPDX-License-Identifier: Apache-2.0
"""Which kinds of programs of one host reach which kinds of another host, by `baton link`, and with `baton bridge` also nodes over Fast DDS: a table, and one
run of all its pairs."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest
from link_hosts import Host
from support.build import BIN, LIB
from support.ros2 import TESTED, needs_ros2
from support.waiting import until

PRELOAD = LIB / "libbaton_roscpp.so"
MASTER = Path("/usr/bin/rosmaster")
IMAGE_BYTES = 1000
ENOUGH = 3  # messages of each pair

# What the Python programs share: as ros1/tests/programs/pattern.hpp.
PATTERN = f"""
import sys, time
import numpy as np
places = np.arange({IMAGE_BYTES}, dtype=np.uint64)
def pattern(number):
    return (number * 31 + places * 7 + (places >> 12)).astype(np.uint8)
def say(kind, number, good):
    print(kind, number, "good" if good else "bad", flush=True)
def on_text(kind, text):
    word, number = text.split()
    say("text_" + kind, number, word == "text")
def on_image(kind, number, data):
    data = np.frombuffer(data, np.uint8)
    say("image_" + kind, number, len(data) == {IMAGE_BYTES} and bool((data == pattern(number)).all()))
"""
PYTHON_TALK = """
import baton
kind = sys.argv[1]
node = baton.Node("python_talker")
texts = node.advertise(f"/matrix/text_{kind}", "std_msgs/String", 100)
images = node.advertise(f"/matrix/image_{kind}", "sensor_msgs/Image", 10)
for number in range(1, 10000):
    texts.publish({"data": f"text {number}"})
    with images.loan() as image:
        image.header.frame_id, image.width, image.height, image.encoding = "camera", number, 1, "mono8"
        image.data = pattern(number)
    time.sleep(0.1)
"""
PYTHON_HEAR = """
import baton
node = baton.Node("python_listener")
ends = [(kind, node.subscribe(f"/matrix/text_{kind}", "std_msgs/String", qos=100),
         node.subscribe(f"/matrix/image_{kind}", "sensor_msgs/Image", qos=10)) for kind in sys.argv[1:]]
print("ready", flush=True)
while True:
    for kind, texts, images in ends:
        while (text := texts.take(0)) is not None:
            on_text(kind, str(text.data))
        while (image := images.take(0)) is not None:
            on_image(kind, image.width, image.data)
    time.sleep(0.02)
"""
ROS2_TALK = """
import array, rclpy
from sensor_msgs.msg import Image
from std_msgs.msg import String
kind = sys.argv[1]
rclpy.init()
node = rclpy.create_node(f"{kind}_talker")
texts = node.create_publisher(String, f"/matrix/text_{kind}", 100)
images = node.create_publisher(Image, f"/matrix/image_{kind}", 10)
for number in range(1, 10000):
    texts.publish(String(data=f"text {number}"))
    image = Image(width=number, height=1, encoding="mono8")
    image.header.frame_id = "camera"
    image.data = array.array("B", pattern(number).tobytes())
    images.publish(image)
    rclpy.spin_once(node, timeout_sec=0)
    time.sleep(0.1)
"""
ROS2_HEAR = """
import rclpy
from functools import partial
from sensor_msgs.msg import Image
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node(f"{sys.argv[1]}_listener")
for kind in sys.argv[2:]:
    node.create_subscription(String, f"/matrix/text_{kind}", partial(lambda k, m: on_text(k, m.data), kind), 100)
    node.create_subscription(Image, f"/matrix/image_{kind}", partial(lambda k, m: on_image(k, m.width, m.data), kind), 10)
print("ready", flush=True)
rclpy.spin(node)
"""

ROS1 = {"ROS_MASTER_URI": "http://127.0.0.1:11311", "ROS_IP": "127.0.0.1"}

# The kinds of programs. roscpp's are there in a build with ROS 1 (make test-ros1), and have images only: their programs are those of ros1/tests.
WITH_ROS1 = (BIN / "ros1_ends").exists()
BRIDGED = (TESTED.programs / "baton_bridge").exists()
KINDS = (
    "cpp",
    "python",
    "rmw_baton",
    *(("fastdds",) if BRIDGED else ()),
    *(("ros1_baton", "ros1_preload") if WITH_ROS1 else ()),
)
ROS2 = [("rmw_baton", "baton"), *([("fastdds", "plain")] if BRIDGED else [])]
TYPES = {kind: ("image",) if kind.startswith("ros1") else ("text", "image") for kind in KINDS}

# What is not carried, by the kinds of the talker and of the listener, and why (docs/guides/machines.md, "Which programs meet").
APART = {
    **{(kind, "ros1_preload"): "its topics are those of its ROS master" for kind in KINDS},
    **{("ros1_preload", kind): "its topics are those of its ROS master" for kind in KINDS},
}


def start(host: Host, words: list[str], more: dict[str, str], out: Path) -> None:
    with out.open("w") as file, out.with_suffix(".errors").open("w") as errors:
        host.programs.append(host._start(words, more, stdout=file, stderr=errors))


def rosmaster(host: Host, folder: Path) -> dict[str, str]:
    """Starts a ROS 1 master; returns the environment of its programs."""
    folder.mkdir()
    more = ROS1 | {"ROS_HOME": str(folder), "ROS_LOG_DIR": str(folder), "PYTHONPATH": ""}
    start(host, ["/usr/bin/python3", str(MASTER), "--core", "-p", "11311"], more, folder / "master")
    return more


def ros1_preload(more: dict[str, str]) -> dict[str, str]:
    return more | {"LD_PRELOAD": str(PRELOAD)}


def listen(host: Host, folder: Path, ros1: dict[str, str]) -> dict[str, list[Path]]:
    """Starts the listeners of all kinds; returns the files of their output, by kind."""
    files: dict[str, list[Path]] = defaultdict(list)
    both = [kind for kind in KINDS if "text" in TYPES[kind]]

    def begin(kind: str, words: list[str], more: dict[str, str]) -> None:
        files[kind].append(folder / f"{kind}{len(files[kind])}.heard")
        start(host, words, more, files[kind][-1])

    begin("cpp", [str(BIN / "link_matrix_end"), "hear", *KINDS], {})
    begin("python", [sys.executable, "-c", PATTERN + PYTHON_HEAR, *KINDS], {})
    for kind, rmw in ROS2:
        begin(kind, [str(TESTED.python), "-c", PATTERN + ROS2_HEAR, kind, *KINDS], host.ros2(rmw))
    for kind in KINDS if WITH_ROS1 else ():
        words = [f"/matrix/image_{kind}", "10", "0", "0"]
        begin("ros1_baton", [str(BIN / "ros1_api_ends"), "listener", *words], ros1)
        if kind in both[:1] + ["ros1_baton"]:  # of programs that are joined, and of Baton's own in roscpp
            begin("ros1_preload", [str(BIN / "ros1_ends"), "listener", *words], ros1_preload(ros1))
    return files


def talk(host: Host, folder: Path, ros1: dict[str, str]) -> None:
    start(host, [str(BIN / "link_matrix_end"), "talk", "cpp"], {}, folder / "cpp.talker")
    start(host, [sys.executable, "-c", PATTERN + PYTHON_TALK, "python"], {}, folder / "python.talker")
    for kind, rmw in ROS2:
        start(host, [str(TESTED.python), "-c", PATTERN + ROS2_TALK, kind], host.ros2(rmw), folder / f"{kind}.talker")
    for kind, program, more in (
        (("ros1_baton", "ros1_api_ends", ros1), ("ros1_preload", "ros1_ends", ros1_preload(ros1))) if WITH_ROS1 else ()
    ):
        start(
            host,
            [str(BIN / program), "talker", f"/matrix/image_{kind}", "10", "volatile"],
            more,
            folder / f"{kind}.talker",
        )
        stdin = host.programs[-1].stdin
        stdin.write(f"publish {IMAGE_BYTES} 10000 100\n")
        stdin.flush()


def heard(files: dict[str, list[Path]]) -> dict[tuple[str, str, str], list[tuple[int, bool]]]:
    """The numbers that came, and whether each message was right, by type, kind of talker and kind of listener."""
    out: dict[tuple[str, str, str], list[tuple[int, bool]]] = defaultdict(list)
    for kind, paths in files.items():
        for i, path in enumerate(paths):
            for line in path.read_text().split("\n")[:-1]:
                words = line.split()
                if kind.startswith("ros1"):  # NUMBER SEQ BYTES good|bad; other lines are roscpp's
                    if len(words) != 4 or not words[0].isdigit():
                        continue
                    talkers = KINDS if kind == "ros1_baton" else ("cpp", "ros1_baton")
                    out["image", talkers[i], kind].append((int(words[0]), words[3] == "good"))
                elif words != ["ready"]:
                    type_name, _, talker = words[0].partition("_")
                    out[type_name, talker, kind].append((int(words[1]), words[2] == "good"))
    return out


def fault_of(messages: list[tuple[int, bool]]) -> str:
    """What is wrong; empty: each message came once, in order and unchanged."""
    numbers = [number for number, _ in messages]
    if numbers != sorted(set(numbers)):
        return f"a message came twice, or out of order: {numbers[:20]}"
    return "" if all(good for _, good in messages) else "a message is not as it was published"


def pairs() -> list[tuple[str, str, str]]:
    return [
        (type_name, talker, listener)
        for talker in KINDS
        for listener in KINDS
        for type_name in TYPES[talker]
        if type_name in TYPES[listener] and (talker, listener) not in APART
    ]


@needs_ros2(TESTED.library)
@pytest.mark.skipif(WITH_ROS1 and not MASTER.exists(), reason="needs a ROS 1 master: scripts/setup.sh ros1")
def test_each_kind_of_program_reaches_the_kinds_of_the_other_host_that_the_guide_names(hosts, tmp_path):
    a, b = hosts(2)
    ros1 = [rosmaster(host, tmp_path / f"ros1_{host.name}") if WITH_ROS1 else {} for host in (a, b)]
    a.link()
    b.link(a)
    assert a.says("is connected")
    if BRIDGED:
        for host in (a, b):
            host.start_bridge()
    files = listen(b, tmp_path, ros1[1])
    talk(a, tmp_path, ros1[0])

    def missing():
        got = heard(files)
        return [pair for pair in pairs() if len(got[pair]) < ENOUGH]

    until(lambda: not missing(), lambda: "\n".join([*map(str, missing()), a.log_text(), b.log_text()]), every_s=0.5)
    got = heard(files)
    for host in (a, b):
        for process in host.programs:
            process.kill()  # a ROS 1 master takes long to end
    wrong = [f"{pair}: {fault}" for pair, messages in got.items() if (fault := fault_of(messages))]
    assert not wrong, "\n".join(wrong)
    surprising = [pair for pair, messages in got.items() if messages and pair[1:] in APART]
    assert not surprising, "these kinds meet, which the guide does not say"
