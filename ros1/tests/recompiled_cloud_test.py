# SPDX-License-Identifier: Apache-2.0
"""Recompiled programs of PCL, beside the same programs of ROS."""

import collections
import itertools
import subprocess

import pytest
from ros1_network import BUILD, PAIRS

LARGE = 100_000  # points of 32 bytes
TOPICS = ("message", "points", "blob", "wrapped")

pytestmark = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_recompiled_clouds").exists(),
    reason="needs PCL's headers and libraries: make build-ros1",
)


def conversions(program, folder):
    folder.mkdir()
    done = subprocess.run(
        [BUILD / "bin" / program, "convert", folder], capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout.splitlines()


def test_every_function_of_pcl_conversions_does_what_it_does_with_the_stock_header(tmp_path):
    stock = conversions("ros1_clouds", tmp_path / "stock")
    own = conversions("ros1_recompiled_clouds", tmp_path / "own")
    assert len(own) > 100_000
    for word in ("image: exception", "1 concatenated", "0 concatenated", "0 loaded", "-1 loaded", "left"):
        assert any(line.startswith(word) for line in own), word
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_clouds_of_every_class_reach_subscriptions_to_every_class(ros, publisher, subscriber):
    talker = ros.start(publisher, "clouds", "talk")
    listeners = [ros.start(subscriber, "clouds", "listen", kind) for kind in ("message", "points", "blob")]
    talker.do(f"subscribers {len(listeners)}")
    sizes = (10, LARGE, 0, 1)
    for size in sizes:
        talker.do(f"publish {size}")
    for listener in listeners:
        came = collections.defaultdict(list)
        for _ in range(len(TOPICS) * len(sizes)):
            topic, words = listener.line().split(maxsplit=1)
            came[topic].append(words)
        assert came == {topic: [f"{i} {size} good" for i, size in enumerate(sizes, 1)] for topic in TOPICS}
        assert listener.end() == 0
        assert listener.more(0) == []
    assert talker.end() == 0


def test_clouds_of_pcl_go_through_shared_memory_between_recompiled_programs(ros):
    talker, listener = ros.start("recompiled", "clouds", "talk"), ros.start("recompiled", "clouds", "listen", "message")
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE}")
    assert sorted(listener.line() for _ in TOPICS) == sorted(f"{topic} 1 {LARGE} good" for topic in TOPICS)
    assert int(listener.ask("tcp").removeprefix("tcp ")) < LARGE


@pytest.mark.parametrize("subscription", ("message", "points", "blob"))
def test_clouds_of_every_class_reach_subscriptions_in_their_own_process(ros, subscription):
    node = ros.start("recompiled", "clouds", "talk", subscription)
    node.do("subscribers 1")
    for number, size in enumerate((10, LARGE, 0), 1):
        node.tell(f"publish {size}")
        lines = [node.line() for _ in range(len(TOPICS) + 1)]
        assert sorted(lines) == sorted([f"done publish {size}", *(f"{topic} {number} {size} good" for topic in TOPICS)])
    assert node.end() == 0
    assert node.more(0) == []
