# SPDX-License-Identifier: Apache-2.0
"""Debian's own ROS 1 programs give byte for byte the same results with and without the preload, at either end of their links."""

import itertools
import re
import subprocess
import time
from pathlib import Path

import pytest
from nodelet_packages import nodelet_packages
from recompiled_tf_test import move_until_it_is_there
from ros1_network import BUILD, PATIENCE_S
from support.waiting import until

pytestmark = pytest.mark.own_master  # its topics have absolute names

PYTHON = "/usr/bin/python3"
HERE = Path(__file__).parent
RAW = BUILD / "bin" / "ros1_raw"
COUNT = 3
NEEDED = [
    Path("/usr/lib/topic_tools/relay"),
    Path("/usr/lib/rosbag/record"),
    Path("/usr/lib/image_view/image_saver"),
    Path("/usr/lib/image_transport/republish"),
    Path("/usr/lib/image_proc/image_proc"),
    Path("/usr/lib/stereo_image_proc/stereo_image_proc"),
    Path("/usr/lib/dynamic_reconfigure/dynparam"),
    Path("/usr/lib/tf/tf_echo"),
    Path("/usr/bin/rostopic"),
    BUILD / "bin" / "ros1_action_node",
    BUILD / "bin" / "ros1_tf_node",
]
PAIRS = list(itertools.product((False, True), repeat=2))


@pytest.fixture(scope="session")
def frames(tmp_path_factory):
    """The messages of a stereo camera, for ros1_raw."""
    directory = tmp_path_factory.mktemp("frames")
    subprocess.run([PYTHON, HERE / "frames.py", directory, str(COUNT)], check=True)
    return directory


class Stage:
    """One run: a source, Debian's program, and a sink, of which the first and the others may be preloaded."""

    def __init__(self, ros, directory, frames, source, program):
        self.ros = ros
        self.directory = directory
        self.frames = frames
        self.source_preloads = source
        self.program_preloads = program
        self.programs = []

    def run(self, command, preload=None, **settings):
        program = self.ros.run(command, self.program_preloads if preload is None else preload, **settings)
        self.programs.append(program)
        return program

    def source(self, **topics):
        words = [word for topic, name in topics.items() for word in (f"/{topic}", self.frames / name)]
        return self.run([RAW, "source", *words], self.source_preloads)

    def sink(self, topic, name="out"):
        sink = self.run([RAW, "sink", topic, self.directory / name])
        sink.file = self.directory / name
        sink.contents = lambda: contents(sink.file)
        return sink

    def warm(self, source, subscribers=1):
        """Waits for subscribers on each topic and, where both ends are preloaded, for their connection in shared memory."""
        source.do(f"subscribers {subscribers}")
        if self.source_preloads and self.program_preloads:
            until(lambda: source.maps("baton-ring") > 0)
            time.sleep(0.1)  # the subscriber's part; without it, the first message would only take the other way

    def pump(self, source, sink):
        """For programs that advertise, or are connected to, late: publishes the first message until it comes out, and the last one until
        that does, so that no other one is on its way any more; then each one once. What came out of these."""
        source.do("subscribers 1")
        while not sink.contents():
            source.do("try")
            sink.more(0.2)
        first = sink.contents()[0][1]
        while sink.contents()[-1][1] == first:
            source.do("try_last")
            sink.more(0.2)
        self.warm(source)
        source.do("publish 1")
        until(lambda: sink.contents()[-1][1] == first)
        before, begin = len(sink.contents()) - 1, sink.contents()[-1][0]
        for count in range(2, COUNT + 1):
            source.do("publish 1")
            until(lambda so_far=count: len(sink.contents()) == before + so_far)
        return sink.file.read_bytes()[begin:]

    def end(self, program):
        program.close()
        self.programs.remove(program)
        self.ros.programs.remove(program)

    def close(self):
        for program in self.programs:
            program.close()
        self.ros.programs = []


def contents(file):
    """Of a file of a sink: where each message begins, and what it has after the header's number, which counts the attempts, too."""
    data, place, found = file.read_bytes() if file.exists() else b"", 0, []
    while place + 4 + (size := int.from_bytes(data[place : place + 4], "little")) <= len(data):
        found.append((place, data[place + 8 : place + 4 + size]))
        place += 4 + size
    return found


def topic_tools(stage):
    stage.run(["/usr/lib/topic_tools/relay", "/in", "/relayed"])
    stage.run(["/usr/lib/topic_tools/throttle", "messages", "/relayed", "1000000", "/throttled"])
    stage.run(["/usr/lib/topic_tools/mux", "/out", "/throttled", "/other"])
    sink = stage.sink("/out")
    return stage.pump(stage.source(**{"in": "left_color"}), sink)


def record_and_image_saver(stage):
    bag, pattern = stage.directory / "recorded.bag", str(stage.directory / "%04i.png")
    recorder = stage.run(["/usr/lib/rosbag/record", f"--limit={COUNT}", "-O", bag, "/in"])
    stage.run(
        ["/usr/lib/image_view/image_saver", "image:=/in", f"_filename_format:={pattern}", "_save_all_image:=true"]
    )
    source = stage.source(**{"in": "left_color"})
    stage.warm(source, subscribers=2)
    images = [stage.directory / f"{number:04d}.png" for number in range(COUNT)]
    for image in images:
        source.do("publish 1")
        until(lambda image=image: image.exists() and image.read_bytes().endswith(b"IEND\xaeB`\x82"))
    recorder.process.wait(PATIENCE_S)
    subprocess.run([PYTHON, HERE / "bags.py", "read", bag, stage.directory / "read"], check=True)
    info = subprocess.run([PYTHON, "/usr/bin/rosbag", "info", bag], capture_output=True, text=True, check=True).stdout
    lines = [line for line in info.splitlines() if not re.match("path|duration|start|end|size", line)]
    return (stage.directory / "read").read_bytes(), lines, [path.read_bytes() for path in images]


def play(stage):
    bag = stage.directory / "played.bag"
    subprocess.run([PYTHON, HERE / "bags.py", "write", stage.frames / "left_color", bag, "/in"], check=True)
    sink = stage.sink("/in")
    command = ["/usr/lib/rosbag/play", "--quiet", "--wait-for-subscribers", "--delay=0.5", bag]
    stage.run(command, stage.source_preloads)
    for _ in range(COUNT):
        sink.line()
    return sink.file.read_bytes()


def republish(stage):
    stage.run(["/usr/lib/image_transport/republish", "raw", "in:=/in", "raw", "out:=/out"])
    sink = stage.sink("/out")
    return without_numbers(stage.pump(stage.source(**{"in": "left_color"}), sink))


def without_numbers(messages):
    """Serialized messages of one size, each without the header's number, which counts the attempts, too."""
    size = len(messages) // COUNT
    return [messages[i * size : i * size + 4] + messages[i * size + 8 : (i + 1) * size] for i in range(COUNT)]


def stereo_image_proc(stage):
    packages = nodelet_packages(stage.directory / "packages")
    sides = [(side, kind) for side in ("left", "right") for kind in ("image_raw", "camera_info")]
    files = {"image_raw": "color", "camera_info": "info"}
    source = stage.source(**{f"stereo/{side}/{kind}": f"{side}_{files[kind]}" for side, kind in sides})
    stage.run(["/usr/lib/stereo_image_proc/stereo_image_proc"], ROS_NAMESPACE="stereo", **packages)
    results = {}
    for topic in ("disparity", "points2"):  # of rectified images, which nodelets of image_proc make
        sink = stage.sink(f"/stereo/{topic}", topic)
        results[topic] = without_numbers(stage.pump(source, sink))
        stage.end(sink)
        source.do("rewind")
    return results


def dynamic_reconfigure(stage):
    packages = nodelet_packages(stage.directory / "packages")
    # Of another name each time: the server's first values are those that an earlier one left at the master.
    namespace = "/camera_" + stage.directory.name.replace("-", "_")
    stage.run(["/usr/lib/image_proc/image_proc"], stage.source_preloads, ROS_NAMESPACE=namespace, **packages)
    node = f"{namespace}/image_proc_debayer"
    descriptions = stage.sink(f"{node}/parameter_descriptions", "descriptions")
    updates = stage.sink(f"{node}/parameter_updates", "updates")
    descriptions.line()
    updates.line()

    def last_update():  # roscpp publishes the first one twice, and latches it: a sink gets it once or twice
        data, place = updates.file.read_bytes(), 0
        while place + 4 + (size := int.from_bytes(data[place : place + 4], "little")) < len(data):
            place += 4 + size
        return data[place:]

    def dynparam(*words):
        client = stage.run([PYTHON, "/usr/lib/dynamic_reconfigure/dynparam", *words])
        assert client.status() == 0, client.errors
        return client.more(0)

    first = last_update()
    dynparam("set", node, "debayer", "3")
    until(lambda: last_update() != first)
    got = dynparam("get", node)
    assert "'debayer': 3" in got[0]
    return got, first, last_update(), descriptions.file.read_bytes()


def tf(stage):
    stage.run(
        ["/usr/lib/tf/static_transform_publisher", *"1 2 3 0.1 0.2 0.3 world robot 20".split()], stage.source_preloads
    )
    moves = stage.run([BUILD / "bin" / "ros1_tf_node", "__name:=moves"], stage.source_preloads)
    finds = stage.run([BUILD / "bin" / "ros1_tf_node", "__name:=finds"])
    assert (moves.ask("fix", "robot", "camera", 1), finds.ask("listen", "thread")) == ("fixed", "listening in a thread")
    move_until_it_is_there(moves, finds, "camera", "lens", 100)
    found = [finds.ask("find", *words) for words in (("robot", "camera", 0), ("camera", "lens", 100))]
    echo = stage.run(["/usr/lib/tf/tf_echo", "world", "robot", "20"])
    seen = {}
    while len(seen) < 2:
        line = echo.line()
        if match := re.match("- (Translation|Rotation): (.*)", line):
            seen[match[1]] = match[2]
    monitor = stage.run(["/usr/lib/tf/tf_monitor", "world", "camera"])
    while "Chain is:" not in (line := monitor.line()):
        pass
    return found, seen, line


def actionlib(stage):
    server = stage.run([BUILD / "bin" / "ros1_action_node"], stage.source_preloads)
    client = stage.run([BUILD / "bin" / "ros1_action_node", "__name:=asks"])
    assert (server.ask("serve"), client.ask("client")) == ("serving", "there")
    client.tell("send 5")
    return sorted(client.line() for _ in range(7))  # feedback and result are two topics


def rostopic(stage):
    echo = stage.run([PYTHON, "-u", "/usr/bin/rostopic", "echo", "-n", "2", "/in"])
    hz = stage.run([PYTHON, "-u", "/usr/bin/rostopic", "hz", "-w", "2", "/in"])
    source = stage.source(**{"in": "left_info"})
    source.do("subscribers 2")
    for _ in range(COUNT):
        source.do("publish 1")
        time.sleep(0.4)
    while not re.search(r"average rate: \d", hz.line()):
        pass
    echo.status()
    return echo.more(0)


@pytest.mark.skipif(
    not all(path.exists() for path in NEEDED),
    reason="needs Debian's ROS 1 programs: make setup installs them (scripts/packages.txt)",
)
@pytest.mark.parametrize(
    "scenario",
    [
        topic_tools,
        record_and_image_saver,
        play,
        republish,
        stereo_image_proc,
        dynamic_reconfigure,
        tf,
        actionlib,
        rostopic,
    ],
    ids=lambda scenario: scenario.__name__,
)
def test_a_program_gives_the_same_with_and_without_the_preload(ros, tmp_path, frames, scenario):
    results = {}
    for source, program in PAIRS:
        directory = tmp_path / f"{source}-{program}"
        directory.mkdir()
        stage = Stage(ros, directory, frames, source, program)
        try:
            results[source, program] = scenario(stage)
        finally:
            stage.close()
    stock = results[False, False]
    assert stock, "the stock programs gave nothing to compare with"
    for pair, result in results.items():
        assert result == stock, f"(source preloaded, program preloaded) = {pair}"
