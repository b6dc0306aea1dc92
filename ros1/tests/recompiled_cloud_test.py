# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of PCL, beside the same programs of ROS."""

import collections

import pytest
from ros1_network import BUILD, SUBSCRIBERS

LARGE = 100_000  # points of 32 bytes
TOPICS = ("message", "points", "blob", "wrapped")
CLASSES = ("message", "points", "blob")  # of subscriptions

pytestmark = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_clouds").exists(),
    reason="needs PCL's headers and libraries: make build-ros1",
)


def test_clouds_of_every_class_reach_subscriptions_to_every_class(ros):
    for publisher, subscribers in ros.each(SUBSCRIBERS.items()):
        talker = ros.start(publisher, "clouds", "talk")
        ends = [(each, kind, ros.start(each, "clouds", "listen", kind)) for each in subscribers for kind in CLASSES]
        talker.do(f"subscribers {len(ends)}")
        sizes = (10, LARGE, 0, 1)
        for size in sizes:
            talker.do(f"publish {size}")
        for each, kind, listener in ends:
            came = collections.defaultdict(list)
            for _ in range(len(TOPICS) * len(sizes)):
                topic, words = listener.line().split(maxsplit=1)
                came[topic].append(words)
            assert came == {topic: [f"{i} {size} good" for i, size in enumerate(sizes, 1)] for topic in TOPICS}
            if publisher == each == "recompiled" and kind == "message":
                assert int(listener.ask("tcp").removeprefix("tcp ")) < LARGE, "they go through shared memory"
            assert listener.end() == 0
            assert listener.more(0) == []
        assert talker.end() == 0


def test_clouds_of_every_class_reach_subscriptions_in_their_own_process(ros):
    for subscription in ros.each(CLASSES):
        node = ros.start("recompiled", "clouds", "talk", subscription)
        node.do("subscribers 1")
        for number, size in enumerate((10, LARGE, 0), 1):
            node.tell(f"publish {size}")
            lines = [node.line() for _ in range(len(TOPICS) + 1)]
            came = [f"{topic} {number} {size} good" for topic in TOPICS]
            assert sorted(lines) == sorted([f"done publish {size}", *came])
        assert node.end() == 0
        assert node.more(0) == []
