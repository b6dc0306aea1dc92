# SPDX-License-Identifier: Apache-2.0
"""Messages of ROS 2 nodes over rmw_baton_cpp in a bag."""

from __future__ import annotations

import pytest
from mcap.reader import make_reader
from record_bags import Recording, read
from support import ros2
from support.build import RECORD, needs_package
from support.claims import claim_domain
from support.processes import Programs
from support.ros2 import TESTED, needs_ros2

pytestmark = [needs_package(RECORD), needs_ros2(TESTED.library)]

TALKER = """
import rclpy
from rclpy.qos import QoSDurabilityPolicy, QoSProfile
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node("lidar")
latched = node.create_publisher(String, "/about", QoSProfile(depth=1, durability=QoSDurabilityPolicy.TRANSIENT_LOCAL))
latched.publish(String(data="first of all"))
clouds = node.create_publisher(PointCloud2, "/points", 10)
while not clouds.get_subscription_count():
    rclpy.spin_once(node, timeout_sec=0.01)
for i in range(5):
    cloud = PointCloud2(width=i, data=bytes([i]) * 100000)
    cloud.header.frame_id = f"lidar{i}"
    cloud.fields = [PointField(name="x", count=1)]
    clouds.publish(cloud)
print("published", flush=True)
input()
"""


@pytest.fixture
def programs():
    domain, claim = claim_domain()
    with Programs(ros2.environment("baton", domain)) as programs:
        yield programs
    claim.close()


def test_nodes_of_ros_2_are_recorded_with_their_type_hashes(programs, tmp_path):
    bag = Recording(programs, tmp_path / "bag", "/points", "/about", env={"LD_PRELOAD": ""})
    programs.start([TESTED.python, "-c", TALKER], ready="published")
    bag.has(points=5, about=1)
    bag.stop()
    messages = read(bag.files[0])
    assert [m.data for topic, m in messages if topic == "/about"] == ["first of all"]
    clouds = [m for topic, m in messages if topic == "/points"]
    assert [(c.header.frame_id, c.width, set(c.data), len(c.data), c.fields[0].name) for c in clouds] == [
        (f"lidar{i}", i, {i}, 100_000, "x") for i in range(5)
    ]
    with open(bag.files[0], "rb") as file:
        metadata = {c.topic: c.metadata for c in make_reader(file).get_summary().channels.values()}
    assert metadata["/points"]["topic_type_hash"].startswith("RIHS01_")
    assert "durability: 1" in metadata["/about"]["offered_qos_profiles"]
