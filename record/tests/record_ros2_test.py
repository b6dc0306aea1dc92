# SPDX-License-Identifier: Apache-2.0
"""Messages of ROS 2 nodes over rmw_baton_cpp in a bag."""

from __future__ import annotations

import baton
import pytest
from baton.srv.std_srvs import SetBool
from mcap.reader import make_reader
from record_bags import Recording, read
from support import ros2
from support.build import RECORD, needs_package
from support.claims import claim_domain
from support.processes import Programs
from support.ros2 import TESTED, needs_ros2
from support.waiting import until

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
def domain():
    number, claim = claim_domain()
    yield number
    claim.close()


@pytest.fixture
def programs(domain):
    with Programs(ros2.environment("baton", domain)) as programs:
        yield programs


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


LAMP = """
import rclpy
from rclpy.qos import qos_profile_system_default
from rclpy.service_introspection import ServiceIntrospectionState
from std_srvs.srv import SetBool


def answer(request, response):
    response.success, response.message = request.data, "on"
    return response


rclpy.init()
node = rclpy.create_node("lamp")
service = node.create_service(SetBool, "/switch", answer)
service.configure_introspection(node.get_clock(), qos_profile_system_default, ServiceIntrospectionState.CONTENTS)
print("ready", flush=True)
rclpy.spin(node)
"""


def connections_of_recorder(node):
    its = {e.gid for e in node.endpoints() if e.node == "baton_record" and not e.is_publisher}
    return sum(row.subscription in its for row in node.holdings())


def test_calls_of_ros_2_and_of_baton_are_of_one_type(domain, programs, tmp_path):
    """rclpy publishes the server's events, and a node of Baton the client's: a topic has one type, or its ends do not match."""
    bag = Recording(programs, tmp_path / "bag", "--all-services", env={"LD_PRELOAD": ""})
    programs.start([TESTED.python, "-c", LAMP], ready="ready")
    node = baton.Node("caller", domain=domain)
    client = node.client("/switch", SetBool)
    client.configure_introspection("contents")
    events = node.subscribe("/switch/_service_event", SetBool.Event, qos=100)
    assert client.wait_for_service(120) and events.wait_for_publishers(2, 120)
    until(lambda: connections_of_recorder(node) == 2)
    assert client.call({"data": True}, 120).message == "on"
    bag.has(**{"switch/_service_event": 4})
    state = bag.stop()
    assert not [note for note in state["notes"] if "is not recorded" in note], state["notes"]
    got = [events.take(120) for _ in range(4)]
    assert sorted(e.info.event_type for e in got) == [0, 1, 2, 3]
    with open(bag.files[0], "rb") as file:
        rows = list(make_reader(file).iter_messages())
    assert {schema.name for schema, _, _ in rows} == {"std_srvs/srv/SetBool_Event"}
    assert sorted(message.data[4] for _, _, message in rows) == [0, 1, 2, 3]
