# SPDX-License-Identifier: Apache-2.0
"""Playing: which messages come, with which bytes, in which order, and when by the computed schedule."""

from __future__ import annotations

import random

import baton
import pytest
from bag_files import START_NS, STORE, STORE1, values, write_mcap, write_ros1, write_rosbag2
from baton import _core
from baton_record.play_player import Player, SteadyTime

STRING = "std_msgs/msg/String"
MS = 10**6


class ComputedTime(SteadyTime):
    """A clock that jumps to the end of each wait. `script`: what happens when the player waits without an end, one call after the other."""

    def __init__(self, *script) -> None:
        self.now, self.script = 0, list(script)

    def now_ns(self) -> int:
        return self.now

    def wait(self, condition, seconds) -> None:
        if seconds is None:
            self.script.pop(0)()
        else:
            self.now += round(seconds * 1e9)


def every_type(store, version):
    """A message of each type, one topic each, as CDR or as ROS 1's wire."""
    chance = random.Random(7)
    serialize = store.serialize_cdr if version == 2 else store.serialize_ros1
    return [
        (
            f"/{name.replace('/', '_')}",
            name,
            START_NS + number * MS,
            bytes(serialize(values(store, name, chance), name)),
        )
        for number, name in enumerate(sorted(store.fielddefs))
    ]


@pytest.mark.parametrize("kind", ["mcap", "rosbag2 mcap", "sqlite3", "ros1", "ros1 bz2"])
def test_a_message_of_every_standard_type_arrives_with_the_bytes_of_the_bag(tmp_path, kind):
    messages = every_type(STORE1, 1) if "ros1" in kind else every_type(STORE, 2)
    bag = {
        "mcap": lambda: write_mcap(tmp_path / "bag.mcap", messages, chunk_size=5000),
        "rosbag2 mcap": lambda: write_rosbag2(tmp_path / "bag", messages, "MCAP"),
        "sqlite3": lambda: write_rosbag2(tmp_path / "bag", messages, "SQLITE3"),
        "ros1": lambda: write_ros1(tmp_path / "a.bag", messages),
        "ros1 bz2": lambda: write_ros1(tmp_path / "a.bag", messages, compression="BZ2"),
    }[kind]()
    node = baton.Node("reader")
    with Player(bag, node, clock_of_waits=ComputedTime()) as player:
        taken = {
            topic.name: node.subscribe(topic.name, player._publishers[topic].message_type) for topic in player.topics
        }
        assert player.wait_for_subscriptions(timeout=120)
        assert player.play() == len(messages) > 100
        for name, type_name, _, data in messages:
            message = taken[name].take(120)
            assert bytes(_core._serialized(message, "ros1" not in kind)) == data, type_name
            assert baton.info(message).selection == "high"
            del message
