# SPDX-License-Identifier: Apache-2.0
"""The programs of ROS-SF's figures, three of which break its assumptions, compiled with Baton's messages without a change."""

import itertools

import pytest
from ros1_network import BUILD

pytestmark = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_figure_19").exists(),
    reason="needs libcv-bridge-dev and libstereo-msgs-dev: make build-ros1",
)
# Each topic, the kind of its messages, and the programs that make them.
TOPICS = {
    "image": ("image", ["figure_11"]),
    "rotated/image": ("image", ["figure_11", "figure_19"]),
    "disparity": ("disparity", ["figure_20"]),
    "cloud": ("cloud", ["figure_21"]),
    "counted_cloud": ("cloud", ["figure_21"]),
}


def first_message(ros, programs_are, listener_is, topic):
    """The lines of a message of `topic`; all messages of a topic are alike but for their numbers."""
    kind, programs = TOPICS[topic]
    listener = ros.start(listener_is, "figure_listener", topic, kind)
    running = [ros.start(programs_are, program) for program in programs]
    lines = list(iter(listener.line, "---"))
    assert list(iter(listener.line, "---")) == lines
    for program in (listener, *running):
        program.process.terminate()
        program.process.wait()
    return lines


def test_a_figure_publishes_the_same_messages_recompiled(ros):
    stock = {}
    for topic in TOPICS:
        heard = {
            pair: first_message(ros, *pair, topic) for pair in itertools.product(("stock", "recompiled"), repeat=2)
        }
        stock[topic] = heard.pop(("stock", "stock"))
        assert len(stock[topic]) > 20, "the header, the fields and the content"
        for pair, lines in heard.items():
            assert lines == stock[topic], (topic, pair)
    assert "  frame_id: turned" in stock["rotated/image"], "Fig. 19: the second assignment"
    disparity, cloud = stock["disparity"], stock["cloud"]
    assert {"  height: 8", "  width: 16", "  step: 64"} < set(disparity), "Fig. 20: the second size"
    assert len([line for line in disparity if line.startswith("    data[")]) == 8 * 64
    assert sum(line.strip() == "z: 1" for line in cloud) == 80, "Fig. 21: 12 rows of 10, without each third point"
    assert cloud == stock["counted_cloud"]
