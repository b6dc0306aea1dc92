# SPDX-License-Identifier: Apache-2.0
"""`baton view`, seen by a client of the viewers' protocol, and by the domain."""

from __future__ import annotations

import json
import struct
import sys

import baton
import numpy as np
import pytest
from baton import _core
from baton_record import bag_errors
from baton_record.verbs.view import command
from baton_record.view_errors import ViewError
from baton_record.view_schemas import ros2_schema
from baton_record.view_server import View
from click.testing import CliRunner
from rosbags.typesys import get_types_from_msg
from support import processes
from support.build import needs_package
from support.processes import LOG, Programs
from support.waiting import until
from view_client import Viewer, shown

pytestmark = needs_package()
TWIST = "geometry_msgs/msg/Twist"


def subscriptions(node, topic):
    return [each for each in node.endpoints() if each.topic == topic and not each.is_publisher]


def test_a_client_gets_the_topics_that_it_watches_and_no_other_topic_is_subscribed():
    node = baton.Node("robot")
    images, texts = node.advertise("camera", "sensor_msgs/Image"), node.advertise("text", "std_msgs/String")
    data = np.arange(60_000, dtype=np.uint32).astype(np.uint8)
    with shown() as view, Viewer(view.port) as client:
        client.until(lambda me: {"/camera", "/text"} <= me.channels.keys())
        assert client.channels["/camera"]["schemaName"] == "sensor_msgs/msg/Image"
        assert (images.matched, texts.matched) == (0, 0)
        client.watch("/camera")
        assert images.wait_for_subscriptions(1, 60)
        assert texts.matched == 0
        with images.loan() as image:
            image.header.frame_id, image.width, image.height, image.data = "front", 300, 200, data
        topic, message = client.message()
        assert (topic, message.header.frame_id, message.width, message.height) == ("/camera", "front", 300, 200)
        assert bytes(message.data) == data.tobytes()
        client.watch("/text")
        assert texts.wait_for_subscriptions(1, 60)
        texts.publish({"data": "hello"})
        topic, message = client.message()
        assert (topic, message.data) == ("/text", "hello")
        client.unwatch("/camera")
        until(lambda: images.matched == 0)
    until(lambda: texts.matched == 0)


def test_a_client_that_goes_leaves_no_subscription():
    node = baton.Node("robot")
    texts = node.advertise("text", "std_msgs/String")
    with shown() as view:
        with Viewer(view.port) as client:
            client.watch("/text")
            assert texts.wait_for_subscriptions(1, 60)
        until(lambda: texts.matched == 0)


def test_topics_come_and_go():
    node = baton.Node("robot")
    with shown(topics=["/t*"]) as view, Viewer(view.port) as client:
        ends = [node.advertise(f"t{number}", "std_msgs/String") for number in range(50)]
        node.advertise("other", "std_msgs/String")
        names = {f"/t{number}" for number in range(50)}
        client.until(lambda me: me.channels.keys() >= names)
        assert client.channels.keys() == names
        client.watch("/t7")
        assert ends[7].wait_for_subscriptions(1, 60)
        ends.clear()
        client.until(lambda me: not me.channels)
        until(lambda: not subscriptions(node, "/t7"))


def test_each_client_gets_the_messages_of_a_latched_topic():
    node = baton.Node("robot")
    maps = node.advertise("map", "std_msgs/String", baton.QoS(2, durability="transient_local"))
    for text in ("one", "two"):
        maps.publish({"data": text})
    with shown() as view:
        for _ in range(2):
            with Viewer(view.port) as client, Viewer(view.port) as other:
                for each in (client, other):
                    each.watch("/map")
                    assert [each.message()[1].data for _ in range(2)] == ["one", "two"]


def test_of_messages_that_come_too_fast_the_newest_is_shown():
    node = baton.Node("robot")
    texts = node.advertise("text", "std_msgs/String", baton.QoS(1000))
    with shown(max_rate=5) as view, Viewer(view.port) as client:
        client.watch("/text")
        assert texts.wait_for_subscriptions(1, 60)
        for number in range(1000):
            texts.publish({"data": str(number)})
        seen = [client.message()[1].data]
        while seen[-1] != "999":
            seen.append(client.message()[1].data)
        assert len(seen) < 500


def test_a_message_waits_until_its_topics_rate_allows_it():
    node = baton.Node("robot")
    first, last = node.advertise("a", "std_msgs/String"), node.advertise("z", "std_msgs/String")
    with shown(max_rate=0.001) as view, Viewer(view.port) as client:
        client.watch("/a", "/z")
        assert first.wait_for_subscriptions(1, 60) and last.wait_for_subscriptions(1, 60)
        first.publish({"data": "one"})
        assert client.message()[1].data == "one"
        first.publish({"data": "two"})
        last.publish({"data": "three"})  # the view looks at /a before it looks at /z
        assert client.message()[1].data == "three"


def test_of_transforms_each_message_is_shown():
    node = baton.Node("robot")
    transforms = node.advertise("tf", "tf2_msgs/TFMessage", baton.QoS(100))
    with shown(max_rate=0.001) as view, Viewer(view.port) as client:
        client.watch("/tf")
        assert transforms.wait_for_subscriptions(1, 60)
        for number in range(20):
            transforms.publish({"transforms": [{"child_frame_id": str(number)}]})
        assert [client.message()[1].transforms[0].child_frame_id for _ in range(20)] == [str(n) for n in range(20)]


@pytest.mark.parametrize("encoding", ["json", "cdr"])
def test_messages_of_a_client_arrive(encoding):
    node = baton.Node("robot")
    speeds = node.subscribe("cmd_vel", "geometry_msgs/Twist")
    parts = {"linear": {"x": 1.5, "y": 0.0, "z": 0.0}, "angular": {"x": 0.0, "y": 0.0, "z": -2.0}}
    cdr = b"\0\1\0\0" + struct.pack("<6d", *(value for part in parts.values() for value in part.values()))
    data = cdr if encoding == "cdr" else json.dumps(parts).encode()
    with shown(publish=["/cmd_*"]) as view, Viewer(view.port) as client:
        client.advertise(7, "/cmd_vel", TWIST, encoding)
        assert speeds.wait_for_publishers(1, 60)
        client.send(7, b"\x01")
        until(lambda: any("a message of a client is not published" in each for each in view.said))
        client.send(7, data)
        taken = speeds.take(60)
        assert bytes(_core._serialized(taken, True)) == cdr
        del taken
    until(lambda: speeds.matched == 0)


def test_clients_publish_only_where_the_view_allows_it():
    node = baton.Node("robot")
    with shown(publish=["/*cmd_vel"]) as view, Viewer(view.port) as client:
        client.advertise(1, "/other", "geometry_msgs/msg/Twist", "json")
        client.advertise(2, "/cmd_vel", "geometry_msgs/msg/Nothing", "json")
        client.advertise(3, "/cmd_vel", "geometry_msgs/msg/Twist", "protobuf")
        client.advertise(5, "/cmd_vel", "../../etc/Passwd", "json")
        client.advertise(4, "/_cmd_vel", "geometry_msgs/msg/Twist", "json")
        until(lambda: len(view.said) == 5)
        assert "--publish /other" in view.said[0]
        assert "geometry_msgs/Nothing" in view.said[1]
        assert "not cdr or json" in view.said[2]
        assert "../../etc/Passwd" in view.said[3]
        assert "hidden" in view.said[4]
        assert not [each for each in node.endpoints() if each.topic in ("/other", "/cmd_vel")]
    with shown() as view, Viewer(view.port) as client:
        client.until(lambda me: me.info)
        assert client.info["capabilities"] == ["parameters", "parametersSubscribe"]


def test_clients_have_a_bounded_number_of_channels(monkeypatch):
    monkeypatch.setattr("baton_record.view_publishing.MOST_PUBLISHING", 2)
    with shown(publish=["*"]) as view, Viewer(view.port) as client:
        for number in range(3):
            client.advertise(number, f"/t{number}", "std_msgs/msg/String", "json")
        until(lambda: view.said)
        assert view.said == ["/t2 is not published: clients have 2 channels already"]


def test_a_bounded_number_of_topics_is_offered(monkeypatch):
    monkeypatch.setattr("baton_record.view_server.MOST_CHANNELS", 2)
    node = baton.Node("robot")
    ends = [node.advertise(f"t{number}", "std_msgs/String") for number in range(3)]
    with shown(topics=["/t*"]) as view, Viewer(view.port) as client:
        client.until(lambda me: len(me.channels) == 2)
        until(lambda: view.said)
        assert view.said == ["there are more than 2 topics: name those that matter"]
    assert len(ends) == 3


def test_the_number_of_error_sentences_is_bounded(monkeypatch):
    monkeypatch.setattr("baton_record.view_errors.MOST_SAID", 2)
    allowed = baton.Node("robot").subscribe("allowed", "std_msgs/String")
    with shown(publish=["/allowed"]) as view, Viewer(view.port) as client:
        for number in range(4):
            client.advertise(number, f"/t{number}" + "x" * 1000, "std_msgs/msg/String", "json")
        client.advertise(4, "/allowed", "std_msgs/msg/String", "json")
        assert allowed.wait_for_publishers(1, 60)  # so those before were refused
        assert [len(each) for each in view.said] == [500, 500]


def test_a_schema_has_the_fields_that_ros_2_has():
    for name in ("sensor_msgs/PointCloud2", "diagnostic_msgs/DiagnosticArray", "std_msgs/Empty", "shape_msgs/Mesh"):
        struct = baton.message(name)._struct
        full = name.replace("/", "/msg/")
        types = get_types_from_msg(ros2_schema(struct), full)
        assert [field for field, _ in types[full][1]] == [each.name for each in struct.members]
        assert set(types) == {full} | {each.replace("/", "/msg/") for each in struct.nested} | {
            inner.replace("/", "/msg/") for each in struct.nested.values() for inner in each.nested
        }
        assert not any(field == "seq" for field, _ in types.get("std_msgs/msg/Header", ((), ()))[1])


def test_a_port_in_use_and_a_missing_library_are_errors_with_a_reason(monkeypatch):
    with shown() as view, pytest.raises(ViewError, match=f"127.0.0.1:{view.port}: Failed to bind port"):
        View(baton.Node("second"), port=view.port)
    monkeypatch.setitem(sys.modules, "foxglove", None)
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 1
    assert "pip install 'baton-ipc[view]'" in result.output
    assert bag_errors.needed("json")


def test_the_verb_says_its_address_and_ends_cleanly_at_ctrl_c(runtime_directory):
    node = baton.Node("robot")
    texts = node.advertise("text", "std_msgs/String")
    with Programs(processes.environment(runtime_directory)) as programs:
        view = programs.start([sys.executable, "-m", "baton_cli", "view", "--port", "0"], stderr=LOG)
        port = int(view.stdout.readline().rpartition(":")[2])
        with Viewer(port) as client:
            client.watch("/text")
            assert texts.wait_for_subscriptions(1, 60)
            texts.publish({"data": "hello"})
            assert client.message()[1].data == "hello"
            assert view.interrupted() == ("", "")
        until(lambda: texts.matched == 0)
