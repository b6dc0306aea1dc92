# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of image_transport, beside the same programs of ROS."""

import pytest
from ros1_network import BUILD, LARGE, PAIRS, image, tcp_bytes

pytestmark = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_image_forms").exists(),
    reason="needs libimage-transport-dev: make build-ros1; builds with a sanitizer have no programs of it",
)


def start(ros, kind, program, *words):
    prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
    command = [BUILD / "bin" / f"{prefix}{program}", *words]
    # Of all plugins, those of this build and of image_transport itself.
    return ros.run(command, preload=False, ROS_PACKAGE_PATH=f"{BUILD}/share:/usr/share")


def talker(ros, kind, latch="volatile"):
    return start(ros, kind, "image_ends", "talker", "camera", 100, latch)


def listener(ros, kind, transport="raw", keep=0):
    return start(ros, kind, "image_ends", "listener", "camera", transport, 100, keep, 0)


def counts(program):
    """(copies, allocations) of large arrays in the whole process so far."""
    program.tell("counts")
    word, copies, allocations = program.line().split()
    assert word == "counts"
    return int(copies), int(allocations)


def test_images_come_raw_and_by_a_plugin_that_knows_the_messages_of_ros_alone_and_the_latched_one_late(ros):
    for publisher, subscriber in ros.each(PAIRS):
        sends = talker(ros, publisher, latch="latch")
        raw, plugin = listener(ros, subscriber), listener(ros, subscriber, "baton", keep=3)
        sends.do("subscribers 2")
        sizes = [LARGE, 10, 0, 6_220_800] * 2 + [LARGE]
        for size in sizes:
            sends.do(f"publish {size} 1 0")
        assert [raw.line() for _ in sizes] == [image(i + 1, size) for i, size in enumerate(sizes)]
        lines = [plugin.line().split() for _ in sizes]
        assert [(line[0], *line[2:]) for line in lines] == [
            (str(i + 1), str(size), "good") for i, size in enumerate(sizes)
        ]
        late = listener(ros, subscriber)
        assert late.line() == image(len(sizes))
        plugin.tell("publishers")
        assert plugin.line() == "publishers 1"
        plugin.tell("drop")
        sends.do("subscribers 2")
        sends.do("publish 7 1 0")  # what came too often would come before
        assert [raw.line(), late.line()] == [image(len(sizes) + 1, 7)] * 2
        assert raw.end() == late.end() == plugin.end() == 0
        assert plugin.more(0) == []


def test_a_publisher_is_told_of_subscribers_of_all_transports(ros):
    sends = talker(ros, "recompiled")
    listeners = []
    for count, (kind, transport) in enumerate((("recompiled", "raw"), ("stock", "raw"), ("stock", "baton")), 1):
        listeners.append(listener(ros, kind, transport))
        sends.do(f"subscribers {count}")
        while True:  # its callback comes when it comes
            sends.tell("status")
            came, _, now, seen = (int(word) for word in sends.line().split()[1:])
            assert now == count
            if came >= count and seen == count:
                break
    sends.do("drop")
    assert [program.end() for program in listeners] == [0, 0, 0]
    assert [program.more(0) for program in listeners] == [[], [], []]


def meet_as_cameras(sends, receives):
    """Publishes until images and calibrations both have their subscriber, and the last one came; how many it took."""
    first, lines = 0, []
    while not lines:
        first += 1
        sends.do("publish 10 1")
        lines = receives.more(0.05)
    while lines[-1] != f"{first} 10 good":
        lines.append(receives.line())
    return first


def test_cameras_of_every_pair_hand_over_images_with_their_calibrations(ros):
    for publisher, subscriber in ros.each(PAIRS):
        receives, sends = (
            start(ros, subscriber, "image_ends", "camera_listener", "camera"),
            start(ros, publisher, "image_ends", "camera_talker", "camera"),
        )
        sends.do("subscribers 1")
        first = meet_as_cameras(sends, receives)
        sizes = (LARGE, 10, 0, 6_220_800, 7)  # before the last one would come what came too often
        for size in sizes:
            sends.do(f"publish {size} 1")
        expected = [f"{first + i} {size} good" for i, size in enumerate(sizes, 1)]
        assert [receives.line() for _ in expected] == expected
        if publisher == subscriber == "recompiled":  # published by pointer, and neither serialized nor copied
            before, tcp_before = [counts(program) for program in (sends, receives)], tcp_bytes(receives)
            for number, size in enumerate([LARGE, 200_000, 6_220_800] * 5, first + len(sizes) + 1):
                sends.do(f"publish {size} 1")
                assert receives.line() == f"{number} {size} good"
            assert [counts(program) for program in (sends, receives)] == before
            assert tcp_bytes(receives) - tcp_before < LARGE, "what is left is between node and master"
        assert receives.end() == 0
