# SPDX-License-Identifier: Apache-2.0
"""Baton's own nodes and ROS 2 nodes share the topics of a machine, without a bridge."""

EXPECTED = [[i, "rgb8", list(range(9))] for i in range(5)]


def test_a_ros_node_hears_batons_own_publisher(processes):
    talker = processes.start_standalone("say", "5")
    assert processes.result(processes.start("baton", "hear_images", "5"))["got"] == EXPECTED
    processes.result(talker)


def test_a_ros_publisher_counts_the_subscriptions_of_batons_own_nodes(processes):
    talker = processes.start("baton", "say_images", "5")  # which waits until it is matched
    hearer = processes.start_standalone("hear", "5").says("going")
    talker.tell()
    assert processes.result(hearer)["got"] == EXPECTED
    talker.tell()
    processes.result(talker)


def test_batons_own_node_and_a_ros_node_hear_a_ros_publisher(processes):
    hearers = [processes.start_standalone("hear", "5"), processes.start("baton", "hear_images", "5")]
    talker = processes.start("baton", "say_images", "5", "2")
    hearers[0].says("going")
    talker.tell()
    heard = [processes.result(hearer) for hearer in hearers]
    assert [h["got"] for h in heard] == [EXPECTED] * 2
    assert heard[0]["made"] == ["low"]  # the RMW made the messages from native structs
    processes.result(talker)
