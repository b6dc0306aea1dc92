# SPDX-License-Identifier: Apache-2.0
"""A lost message is not an error of the program. Executors, loops and verbs go on after any message of a hostile publisher, and the loss is counted
by its reason. A stamp in the future hides no later message."""

import itertools
import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import scene
from raw_peer import Link, Published, image_message

sys.path.insert(0, str(scene.PACKAGE))

import baton

LIMIT_S = 120
UNMAPPABLE = 1 << 44  # a sparse segment that no window has room for, so its messages are copied
CLAIMED = 300 << 20
DAY_NS = 86_400_000_000_000
LAST = (1 << 63) - 1


def hostile(directory: Path, topic: str, **options) -> Published:
    """A publisher of the raw peer, in this process, to the only other process of the directory."""
    end = time.monotonic() + LIMIT_S
    while True:
        for each in sorted(directory.glob("*/p-*")):
            try:
                link = Link(str(each.parent), each.name)
                link.endpoint(topic, False, patience=1)
                return Published(link, topic, **options)
            except (TimeoutError, ConnectionError):
                pass
        assert time.monotonic() < end, f"nobody subscribes to {topic}"
        time.sleep(0.05)


def eventually(condition, what="what the test waits for"):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.01)


def once(said, words) -> None:
    """A line about it comes from a thread of Baton."""
    eventually(lambda: any(words in text for text in said), f"a report with '{words}'")
    assert len([text for text in said if words in text]) == 1, said


def claims_too_much(publisher) -> int:
    """A chunk of 4 KiB whose header says 300 MiB."""
    return publisher.chunk(image_message(b"x" * 100), size=CLAIMED)


@pytest.mark.parametrize("segment", [UNMAPPABLE, 1 << 30], ids=["copied", "mapped"])
def test_a_message_that_only_claims_its_size_costs_its_publisher_the_connection_and_no_program(
    node, tmp_path, said, segment
):
    received = []
    subscription = node.subscribe("image", "sensor_msgs/Image", lambda message: received.append(len(message.data)), 10)
    executor = baton.Executor(node)
    failed = []

    def spin():
        try:
            executor.spin()
        except BaseException as error:  # any exception is a failure that this test looks for
            failed.append(error)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        honest = node.advertise("image", "sensor_msgs/Image", 10)
        attacker = hostile(tmp_path, "/image", segment_bytes=segment)
        assert subscription.wait_for_publishers(2, LIMIT_S) and honest.wait_for_subscriptions(1, LIMIT_S)
        attacker.push(claims_too_much(attacker))
        eventually(lambda: subscription.losses.malformed == 1 or failed, "the count")
        honest.publish({"data": b"abc"})
        eventually(lambda: received or failed, "the honest message")
    finally:
        executor.cancel()
        thread.join()
    assert not failed and received == [3]
    assert subscription.losses.total == subscription.statuses.lost_total == 1
    eventually(lambda: any("has holes" in text for text in said), "the report")
    assert subscription.matched == 1, "the attacker's connection has ended"


@pytest.mark.parametrize("how", ["take", "for"])
def test_a_loop_over_messages_passes_over_the_lost_ones(node, tmp_path, how):
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=10)
    honest = node.advertise("image", "sensor_msgs/Image", 10)
    for lie in (claims_too_much, lambda p: p.chunk(image_message(b"x", words={44: (1 << 30, 4)}))):
        attacker = hostile(tmp_path, "/image", segment_bytes=UNMAPPABLE)
        eventually(lambda: subscription.matched == 2 and honest.wait_for_subscriptions(1, LIMIT_S))
        attacker.push(lie(attacker))
        honest.publish({"data": b"abcd"})
        message = subscription.take(LIMIT_S) if how == "take" else next(subscription)
        assert len(message.data) == 4
        eventually(lambda: subscription.matched == 1, "the end of the attacker's connection")
    assert subscription.losses.malformed == 2


@pytest.mark.parametrize("verb", ["echo", "hz"])
def test_a_verb_of_the_command_outlives_the_message(tmp_path, verb):
    environment = {
        **os.environ,
        "BATON_RUNTIME_DIR": str(tmp_path),
        "PYTHONPATH": str(scene.PACKAGE),
        "PYTHONUNBUFFERED": "1",
    }
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "baton_cli",
            "topic",
            verb,
            "/image",
            *(["sensor_msgs/Image"] if verb == "echo" else []),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(LIMIT_S, process.kill)
    watchdog.start()
    try:
        with baton.Node("honest", runtime_directory=tmp_path) as node:
            honest = node.advertise("image", "sensor_msgs/Image", 10)
            assert honest.wait_for_subscriptions(1, LIMIT_S)
            attacker = hostile(tmp_path, "/image", segment_bytes=UNMAPPABLE)
            attacker.push(claims_too_much(attacker))
            said = []
            reader = threading.Thread(target=lambda: said.extend(process.stdout), daemon=True)
            reader.start()
            while process.poll() is None and not any("frame_after" in line or "average rate" in line for line in said):
                honest.publish({"header": {"frame_id": "frame_after"}, "data": b"abc"})
                time.sleep(0.05)
            assert process.poll() is None, "".join(said)
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()


def test_a_verb_leaves_out_a_message_that_changes_while_it_is_read(node, tmp_path, capsys):
    from baton_cli import live

    subscription = node.subscribe("image", "sensor_msgs/Image", qos=10)
    attacker = hostile(tmp_path, "/image")
    assert subscription.wait_for_publishers(1, LIMIT_S)
    unchanged, read = live.Unchanged(), []
    for _ in range(2):
        handle = attacker.chunk(image_message(b"x" * 100))
        attacker.push(handle)
        message = subscription.take(LIMIT_S)
        attacker.segment[handle + 128 + 44 : handle + 128 + 48] = struct.pack("<I", 1 << 30)  # the length of data
        with unchanged:
            read.append(live.plain(message, 32))
    with unchanged:
        read.append("an honest one")
    assert read == ["an honest one"]
    assert capsys.readouterr().err.count("a message is left out") == 1, "once, whatever comes"
    with pytest.raises(ValueError, match="of the verb's own"), unchanged:
        raise ValueError("of the verb's own")


def test_losses_are_reported_at_a_bounded_rate(node, tmp_path, said):
    """Messages that may not be copied, for lack of room in the window, are lost one by one; their connection stays."""
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=10)
    attacker = hostile(tmp_path, "/image", segment_bytes=UNMAPPABLE)
    assert subscription.wait_for_publishers(1, LIMIT_S)
    size = 300 << 20
    os.posix_fallocate(attacker.segment_fd, 0, size + 4096)  # really backed
    for at in range(0, size + 4096, 4096):
        attacker.segment[at] = 1
    handle = attacker.chunk(image_message(b"x" * 100), at=0, size=size)
    for count in range(1, 41):
        attacker.push(handle)
        assert subscription.take(0) is None
        assert subscription.losses.limit == count
    assert subscription.matched == 1
    once(said, "lost a message")


def test_stamps_of_the_future_silence_no_other_publisher(node, tmp_path, said):
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=4)
    honest = node.advertise("image", "sensor_msgs/Image", 4)
    attacker = hostile(tmp_path, "/image")
    assert subscription.wait_for_publishers(2, LIMIT_S) and honest.wait_for_subscriptions(1, LIMIT_S)
    handle = attacker.chunk(image_message(b"x" * 7))
    for ahead in (DAY_NS, DAY_NS, 2 * DAY_NS, 3 * DAY_NS, LAST, LAST):
        stamp = min(time.monotonic_ns() + ahead, LAST)
        for _ in range(4):  # a slow reader finds both queues full
            attacker.push(handle, stamp=stamp)
            honest.publish({"data": b"abc"})
        got = []
        while (message := subscription.take(0)) is not None:
            got.append(len(message.data))
        assert len(got) == 4, "KEEP_LAST is over both"
        assert 3 in got, f"{ahead}: only the attacker's messages arrived"
    attacker.push(handle, stamp=LAST)
    assert len(subscription.take(LIMIT_S).data) == 7
    assert subscription.losses.stamp > 0
    once(said, "in the future")


@pytest.mark.parametrize("when", ["past", "future"])
@pytest.mark.parametrize("history", ["keep_last", "keep_all"])
def test_stamps_of_other_times_do_not_keep_other_publishers_waiting(node, tmp_path, history, when):
    """The attacker refills its queue before each take: with the oldest stamp of all, or with ever later ones of the future, which say nothing."""
    depth, filled = 16, 8  # so that nothing is given up
    qos = baton.QoS(depth, history=history)
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=qos)
    honest = node.advertise("image", "sensor_msgs/Image", qos)
    attacker = hostile(tmp_path, "/image", depth=depth, keep_all=history == "keep_all")
    assert subscription.wait_for_publishers(2, LIMIT_S) and honest.wait_for_subscriptions(1, LIMIT_S)
    handle = attacker.chunk(image_message(b"x" * 7))
    stamps = itertools.repeat(1) if when == "past" else itertools.count(time.monotonic_ns() + DAY_NS, DAY_NS // 24)

    def take() -> int:
        while attacker.unread() < filled:
            attacker.push(handle, stamp=next(stamps))
        return len(subscription.take(LIMIT_S).data)

    assert take() == 7
    for _ in range(3):
        honest.publish({"data": b"abc"})
        assert 3 in [take() for _ in range(3 * depth)], "only the attacker's messages arrive"


def test_a_message_of_the_future_does_not_outlive_its_lifespan(node, tmp_path):
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(10, lifespan=1.0))
    attacker = hostile(tmp_path, "/image", lifespan=1_000_000_000)
    assert subscription.wait_for_publishers(1, LIMIT_S)
    handle = attacker.chunk(image_message(b"x" * 7))
    for stamp in (time.monotonic_ns() + DAY_NS, LAST, -(1 << 63), 0):
        attacker.push(handle, stamp=stamp)
    assert len(subscription.take(0).data) == 7, "of the future counts as of now"
    while subscription.take(0) is not None:
        pass
    assert subscription.losses.lifespan >= 2, "expired ones are counted"
    assert subscription.losses.total == 0, "and are not lost, as in DDS"


PUBLISHER = """
import sys, time, baton
with baton.Node("elsewhen") as node:
    publisher = node.advertise("image", "sensor_msgs/Image", baton.QoS(10, lifespan=5.0))
    publisher.wait_for_subscriptions(1, 120)
    while publisher.matched:
        publisher.publish({"data": b"abc"})
        time.sleep(0.02)
"""


@pytest.mark.parametrize("offset_s", [86_400, -60])
def test_a_publisher_in_another_time_namespace_is_heard_and_its_times_are_right(node, tmp_path, said, offset_s):
    unshare = ["unshare", "--user", "--map-root-user", "--time", "--fork", f"--monotonic={offset_s}", "--"]
    if shutil.which("unshare") is None or subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine makes no time namespaces")
    subscription = node.subscribe("image", "sensor_msgs/Image", qos=baton.QoS(10, lifespan=5.0))
    environment = {**os.environ, "BATON_RUNTIME_DIR": str(tmp_path), "PYTHONPATH": str(scene.PACKAGE)}
    process = subprocess.Popen([*unshare, sys.executable, "-c", PUBLISHER], env=environment)
    watchdog = threading.Timer(LIMIT_S, process.kill)
    watchdog.start()
    try:
        messages = [subscription.take(LIMIT_S) for _ in range(5)]
        ages = [time.monotonic_ns() - baton.info(each).source_monotonic_ns for each in messages]
        assert all(0 <= age < 60_000_000_000 for age in ages), ages
        del messages
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
    assert subscription.losses.stamp == 0 and subscription.losses.lifespan == 0, (subscription.losses, said)
