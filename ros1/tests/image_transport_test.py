# SPDX-License-Identifier: Apache-2.0
"""The image_transport plugin `baton` in Debian's unmodified programs and in programs of users, beside the transport raw."""

import os
import signal
import subprocess
import sys
import time
import xmlrpc.client
from pathlib import Path

import pytest
from nodelet_packages import nodelet_packages
from ros1_network import BUILD, LARGE, image
from support.waiting import until

PYTHON = "/usr/bin/python3"
HERE = Path(__file__).parent
PLUGIN = BUILD / "share" / "baton_image_transport" / "package.xml"
REPUBLISH = Path("/usr/lib/image_transport/republish")
LIST = Path("/usr/lib/image_transport/list_transports")
SAVER = Path("/usr/lib/image_view/image_saver")
COUNT = 3

pytestmark = [
    pytest.mark.own_master,  # its topics have absolute names
    pytest.mark.skipif(
        not all(path.exists() for path in (PLUGIN, REPUBLISH, LIST, SAVER)),
        reason="needs libimage-transport-dev (make build-ros1), image-transport-tools and ros-image-view: make setup installs them",
    ),
]


def packages(prefix=BUILD):
    return {"ROS_PACKAGE_PATH": f"{prefix}/share:/usr/share"}


class Images:
    """Programs of image_transport that find the plugin."""

    def __init__(self, ros):
        self.ros = ros

    def run(self, command, **settings):
        return self.ros.run(command, preload=False, **packages(), **settings)

    def talker(self, queue_size=100, latch=False, topic="camera", **settings):
        command = [BUILD / "bin" / "ros1_image_ends", "talker", topic, queue_size, "latch" if latch else "volatile"]
        return self.run(command, **settings)

    def listener(self, transport="baton", queue_size=100, keep=0, pause_ms=0, topic="camera", **settings):
        command = [BUILD / "bin" / "ros1_image_ends", "listener", topic, transport, queue_size, keep, pause_ms]
        return self.run(command, **settings)


@pytest.fixture
def images(ros):
    return Images(ros)


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    directory = tmp_path_factory.mktemp("frames")
    subprocess.run([PYTHON, HERE / "frames.py", directory, str(COUNT)], check=True)
    return directory


def maps_images(program):
    """Whether it has mapped memory of images."""
    return program.maps("baton-data") > 0


def status(talker):
    """How often subscribers came, and went, how many there are, and how many the last callback saw."""
    talker.tell("status")
    return [int(word) for word in talker.line().split()[1:]]


def meet(talker, *listeners):
    """Waits until the talker has so many subscribers, and the listeners of Baton get their images from its memory."""
    talker.do(f"subscribers {len(listeners)}")


# --- pluginlib


def test_an_installation_in_another_folder_is_found_by_ros_package_path_alone_and_shown_as_available(ros, tmp_path):
    install = ["cmake", "--install", BUILD, "--prefix", tmp_path]
    done = subprocess.run([str(word) for word in install], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    environment = {**ros.environment, **packages(tmp_path), "LD_DEBUG": "files"}
    done = subprocess.run([LIST], env=environment, capture_output=True, text=True, timeout=60)
    loaded = [line for line in done.stderr.splitlines() if "calling init" in line and "/libbaton" in line]
    assert any("libbaton_image_transport.so" in line for line in loaded), done.stderr[-2000:]
    folders = {Path(os.path.normpath(line.split()[-1])) for line in loaded}
    assert all(tmp_path in folder.parents for folder in folders), f"of the build tree: {loaded}"
    assert "image_transport/baton\n" in done.stdout, done
    assert "baton (*)" not in done.stdout, "a plugin that does not load is marked so"
    own = done.stdout.split('"image_transport/baton"')[1].split("----")[0]
    assert "Provided by package: baton_image_transport" in own
    assert "Publisher: Hands images over" in own
    assert "Subscriber: Receives images" in own
    assert "not built" not in own


# --- Debian's programs


class Source:
    """Messages of a camera on /in, republished on /camera by Debian's republish with all transports."""

    def __init__(self, images, frames):
        self.raw = images.run([BUILD / "bin" / "ros1_raw", "source", "/in", frames / "left_color"])
        self.republish = images.run([REPUBLISH, "raw", "in:=/in", "out:=/camera"])


def pump(source, *outputs):
    """Publishes the first message until it comes out, the last one until that does, so that no other one is on its way any more, and
    then each one once; what came out of these. `outputs`: functions that give the images that came out so far."""

    def repeated(order, done):
        source.do(order)
        soon = time.monotonic() + 0.3
        while not done() and time.monotonic() < soon:
            time.sleep(0.02)
        return done()

    source.do("subscribers 1")
    until(lambda: repeated("try", lambda: all(output() for output in outputs)))
    firsts = [output()[0] for output in outputs]
    pairs = list(zip(outputs, firsts, strict=True))
    until(lambda: repeated("try_last", lambda: all(output()[-1] != first for output, first in pairs)))
    source.do("publish 1")
    until(lambda: all(output()[-1] == first for output, first in pairs))
    before = [len(output()) - 1 for output in outputs]
    for count in range(2, COUNT + 1):
        source.do("publish 1")
        until(lambda so_far=count: all(len(o()) == b + so_far for o, b in zip(outputs, before, strict=True)))
    return [output()[begin:] for output, begin in zip(outputs, before, strict=True)]


def without_numbers(data):
    """The serialized images, each without the header's number, which counts the attempts, too."""
    images, place = [], 0
    while place + 4 + (size := int.from_bytes(data[place : place + 4], "little")) <= len(data):
        images.append(data[place + 8 : place + 4 + size])
        place += 4 + size
    return images


def test_republish_hands_on_every_image_byte_for_byte(images, frames, tmp_path):
    source = Source(images, frames)
    images.run([REPUBLISH, "baton", "in:=/camera", "raw", "out:=/back"])
    file = tmp_path / "out"
    images.run([BUILD / "bin" / "ros1_raw", "sink", "/back", file])
    (came,) = pump(source.raw, lambda: without_numbers(file.read_bytes()) if file.exists() else [])
    original = (frames / "left_color").read_bytes()
    original = original[original.index(b"\n", original.index(b"\n") + 1) :]
    for serialized in came:
        assert serialized in original
    assert len(set(came)) == COUNT
    assert maps_images(source.republish)


def test_image_saver_writes_the_same_files_with_raw_and_with_baton(images, frames, tmp_path):
    source = Source(images, frames)
    for transport in ("raw", "baton"):
        (tmp_path / transport).mkdir()
        pattern = f"_filename_format:={tmp_path}/{transport}/%04i.png"
        images.run(
            [SAVER, f"__name:=saver_{transport}", "image:=/camera", f"_image_transport:={transport}", pattern]
            + ["_save_all_image:=true"]
        )

    def saved(transport):
        files = sorted((tmp_path / transport).iterdir())
        return [file.read_bytes() for file in files if file.read_bytes().endswith(b"IEND\xaeB`\x82")]

    raw, baton = pump(source.raw, lambda: saved("raw"), lambda: saved("baton"))
    assert raw == baton
    assert len(set(baton)) == COUNT


PROC = Path("/usr/lib/image_proc/image_proc")


@pytest.mark.skipif(not PROC.exists(), reason="needs Debian's image_proc: make setup installs ros-image-proc")
def test_image_proc_gives_the_same_images_with_raw_and_with_baton(images, ros, frames, tmp_path):
    own = nodelet_packages(tmp_path / "packages", f"{BUILD}/share:/usr/share")

    def rectified(transport):
        with xmlrpc.client.ServerProxy(ros.environment["ROS_MASTER_URI"]) as master:
            master.setParam("/test", "/camera/image_proc_debayer/image_transport", transport)
        topics = ["/in", frames / "left_color", "/camera/camera_info", frames / "left_info"]
        source = ros.run([BUILD / "bin" / "ros1_raw", "source", *topics], preload=False)
        images.run([REPUBLISH, "raw", "in:=/in", "out:=/camera/image_raw"])
        ros.run([PROC], preload=False, ROS_NAMESPACE="camera", **own)
        file = tmp_path / transport
        # image_proc subscribes when its callbacks see this subscriber.
        images.run([BUILD / "bin" / "ros1_raw", "sink", "/camera/image_rect", file])
        (came,) = pump(source, lambda: without_numbers(file.read_bytes()) if file.exists() else [])
        users = f"/camera/image_raw{'/baton' if transport == 'baton' else ''}"
        with xmlrpc.client.ServerProxy(ros.environment["ROS_MASTER_URI"]) as master:
            subscribed = dict(master.getSystemState("/test")[2][1])
        assert subscribed[users] == ["/camera/image_proc"]
        ros.end_programs()
        return came

    raw = rectified("raw")
    assert len(set(raw)) == COUNT
    assert rectified("baton") == raw


# --- programs of users


def test_images_are_copied_for_subscribers_alone_reach_their_own_node_too_and_ends_that_end_are_seen(images):
    talker = images.talker()
    talker.do(f"publish {LARGE} 3 0")
    assert not maps_images(talker)
    listener = images.listener()
    meet(talker, listener)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(4).replace(" 3 ", " 0 ", 1), "numbers count what is published by this transport"
    assert maps_images(talker)
    listener.tell("drop")
    talker.do("subscribers 0")
    other = images.listener()
    meet(talker, other)

    def publishers():
        other.tell("publishers")
        return int(other.line().split()[1])

    until(lambda: publishers() == 1)  # the talker may see the subscription first
    talker.do("look")
    talker.do("subscribers 2")
    talker.tell(f"publish {LARGE} 3 10")
    lines = [talker.line() for _ in range(4)]
    assert [line for line in lines if line.startswith("own")] == ["own 5", "own 6", "own 7"]
    assert [other.line().split()[0] for _ in range(3)] == ["5", "6", "7"]
    talker.do("drop")
    until(lambda: publishers() == 0)


def test_callbacks_see_nodes_of_baton_and_that_the_last_subscriber_has_gone(images, ros):
    # image_proc stops its own subscription then, and starts it when a callback sees a subscriber.
    domain = {"BATON_DOMAIN": "7"}  # the runtime directory is the test's own
    talker = images.talker(**domain)
    assert status(talker) == [0, 0, 0, 0]
    command = [sys.executable, "-m", "baton_cli", "topic", "hz", "/camera/baton"]
    reader = ros.run(command, preload=False, PYTHONPATH=str(BUILD / "python"), **domain)
    until(lambda: status(talker) == [1, 0, 1, 1])
    reader.process.send_signal(signal.SIGKILL)
    until(lambda: status(talker) == [1, 1, 0, 0])
    for _ in range(10):  # which of the ends is seen first differs from time to time
        listener = images.listener(**domain)
        until(lambda: status(talker)[2:] == [1, 1])
        listener.end()
        until(lambda: status(talker)[2:] == [0, 0])
    until(lambda: min(status(talker)[:2]) >= 11)  # a callback counts after it has seen


def test_a_stock_subscriber_comes_and_goes_once(images, ros):
    talker = images.talker()
    for count in range(1, 4):  # what a callback said too often is seen with the next subscriber at the latest
        listener = ros.listener(preload=False, topic="/camera/baton")
        until(lambda n=count: status(talker) == [n, n - 1, 1, 1])
        listener.end()
        until(lambda n=count: status(talker) == [n, n, 0, 0])


def test_images_go_by_tcp_where_a_process_cannot_use_baton_and_an_error_says_so(images, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    broken = {"BATON_RUNTIME_DIR": str(tmp_path / "file")}
    listener, talker = images.listener(**broken), images.talker()
    meet(talker, listener)
    talker.do(f"publish {LARGE} 3 5")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    until(lambda: any("images on /camera/baton come by TCP" in line for line in listener.errors))
    talker = images.talker(topic="other", **broken)
    listener = images.listener(topic="other")
    meet(talker, listener)
    talker.do(f"publish {LARGE} 3 5")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    until(lambda: any("images on /other/baton go by TCP" in line for line in talker.errors))
