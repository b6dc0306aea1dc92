# SPDX-License-Identifier: Apache-2.0
"""The events of calls that servers and clients publish, as in ROS 2's service introspection."""

import asyncio

import baton
import baton.aio
import numpy as np
import pytest
from baton._messages import service_from_text
from baton.srv.std_srvs import SetBool
from spinning import spinning


def kinds(events):
    return [(e.info.event_type, e.info.sequence_number, len(e.request), len(e.response)) for e in events]


@pytest.fixture
def server():
    node = baton.Node("server")

    def answer(request, response):
        response.success, response.message = request.data, "on" if request.data else "off"

    service = node.serve("switch", SetBool, answer)
    with spinning(node):
        yield service


@pytest.fixture
def client(server):
    client = baton.Node("caller").client("switch", SetBool)
    assert client.wait_for_service(60)
    return client


def listening(count=1):
    node = baton.Node("listener")
    subscription = node.subscribe("switch/_service_event", SetBool.Event, qos=100)
    assert subscription.wait_for_publishers(count, 60)
    return subscription


def test_nothing_is_published_before_somebody_asks(server, client):
    assert client.call({"data": True}, 60)
    assert not [e for e in baton.Node("other").endpoints() if "_service_event" in e.topic]


def test_both_ends_publish_events_of_requests_and_responses(server, client):
    server.configure_introspection("contents")
    client.configure_introspection("contents")
    events = listening(2)
    assert client.call({"data": True}, 60).message == "on"
    got = [events.take(60) for _ in range(4)]
    assert sorted(kinds(got)) == [(0, 1, 1, 0), (1, 1, 1, 0), (2, 1, 0, 1), (3, 1, 0, 1)]
    assert {bool(on) for m in got for on in m.request["data"]} == {True}
    assert {(m.response[0].success, m.response[0].message) for m in got if len(m.response)} == {(True, "on")}
    (caller,) = {bytes(m.info.client_gid) for m in got}
    assert any(caller)


def test_an_event_loops_calls_are_published_too(client):
    client.configure_introspection("contents")
    events = listening()
    assert asyncio.run(baton.aio.call(client, {"data": False}, 60)).message == "off"
    assert kinds([events.take(60) for _ in range(2)]) == [(0, 1, 1, 0), (3, 1, 0, 1)]


def test_metadata_has_no_contents_and_off_is_the_end(server, client):
    server.configure_introspection("metadata")
    events = listening()
    assert client.call({"data": True}, 60)
    assert kinds([events.take(60) for _ in range(2)]) == [(1, 1, 0, 0), (2, 1, 0, 0)]
    server.configure_introspection("off")
    assert client.call({"data": True}, 60)
    server.configure_introspection("contents")
    assert client.call({"data": True}, 60)
    assert kinds([events.take(60) for _ in range(2)]) == [(1, 3, 1, 0), (2, 3, 0, 1)]  # of the second call nothing


def test_contents_inside_contents_are_the_same(runtime_directory):
    """Nested messages, strings, arrays, and a loan whose contents have gaps."""
    SetCameraInfo = service_from_text("robot/SetCameraInfo", "sensor_msgs/CameraInfo camera_info\n---\n")
    node = baton.Node("server")
    service = node.serve("set_camera_info", SetCameraInfo, lambda request, response: None)
    service.configure_introspection("contents")
    client = baton.Node("caller").client("set_camera_info", SetCameraInfo)
    subscription = baton.Node("listener").subscribe("set_camera_info/_service_event", SetCameraInfo.Event)
    assert client.wait_for_service(60) and subscription.wait_for_publishers(1, 60)
    with spinning(node):
        request = client.loan()
        info = request.camera_info
        info.d = [1.0]
        info.distortion_model = "plumb_bob"
        info.d = np.arange(1000.0)  # leaves a gap where the first one was
        info.header.frame_id = "camera"
        info.k = np.arange(9.0)
        del info
        assert client.call(request, 60) is not None
    (seen,) = subscription.take(60).request
    seen = seen.camera_info
    assert (seen.header.frame_id, seen.distortion_model) == ("camera", "plumb_bob")
    assert np.array_equal(seen.d, np.arange(1000.0)) and np.array_equal(seen.k, np.arange(9.0))


def test_a_wrong_argument_of_introspection_is_named(server):
    with pytest.raises(ValueError, match="takes 'off', 'metadata' or 'contents', not 'all'"):
        server.configure_introspection("all")

    class Halves:
        Request, Response = SetBool.Request, SetBool.Response

    service = baton.Node("other").serve("other", Halves, lambda request, response: None)
    with pytest.raises(TypeError, match="this service's class has no Event"):
        service.configure_introspection("contents")
