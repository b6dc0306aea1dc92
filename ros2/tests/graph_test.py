# SPDX-License-Identifier: Apache-2.0
"""A node of Baton is in the graph of ROS 2's programs over rmw_baton_cpp, and leaves it."""

import json

SWITCH, STRING, IMAGE = "std_srvs/srv/SetBool", "std_msgs/msg/String", "sensor_msgs/msg/Image"


def test_a_node_of_baton_is_in_the_graph_of_ros_nodes(processes):
    ends = processes.start_standalone("ends", "0").says("going")
    # Known over both, and counted once.
    other = processes.start("baton", "say_lines", "0").says("going")
    looker = processes.start("baton", "see_baton", "ends")
    seen = json.loads(looker.stdout.readline())
    assert sorted(seen["nodes"]) == [["ends", "/"], ["say_lines", "/"], ["see_baton", "/"]]
    assert seen["info"] == ["ends", "/", IMAGE, "RELIABLE"]
    assert {"/image": [IMAGE], "/stop": [STRING]}.items() <= seen["topics"].items()
    assert {"/switch": [SWITCH], "/other": [SWITCH]}.items() <= seen["services"].items()
    assert not [name for name in seen["topics"] if "_request" in name or "_response" in name or "_baton" in name]
    assert (seen["publishes"], seen["subscribes"]) == ({"/image": [IMAGE]}, {"/stop": [STRING]})
    assert (seen["serves"], seen["calls"]) == ({"/switch": [SWITCH]}, {"/other": [SWITCH]})
    assert seen["counts"] == [1, 1, 1, 1] and seen["stops"] == ["ends"]
    assert seen["own"] == 2  # of the two ROS nodes
    assert seen["matched"] == [1, 0, 2], "those that give messages, and the two of ROS once each"
    ends.tell()
    processes.result(ends)
    looker.tell()
    assert processes.result(looker)["left"] == [0, 0, 0]
    for _ in range(3):
        other.tell()
    processes.result(other)
