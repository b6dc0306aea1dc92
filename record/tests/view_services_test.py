# SPDX-License-Identifier: Apache-2.0
"""`baton view`: parameters and services, as clients of the viewers' protocol see them."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import baton
import pytest
from baton_record.view_errors import ViewError
from support.build import needs_package
from support.waiting import until
from view_client import Viewer, shown

pytestmark = needs_package()
TRUE, FALSE = b"\0\1\0\0\1", b"\0\1\0\0\0"


@contextmanager
def spinning(*nodes):
    executor = baton.Executor(*nodes)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        yield
    finally:
        executor.cancel()
        thread.join()


def camera():
    node = baton.Node("camera")
    node.declare_parameter("rate", 30, baton.ParameterDescriptor(integer_range=baton.IntegerRange(1, 100, 1)))
    node.declare_parameter("gain", 2.0)
    node.declare_parameter("name", "front")
    node.declare_parameter("on", True)
    node.declare_parameter("roi.size", [640, 480])
    node.declare_parameter("weights", [1.0, 2.5])
    node.declare_parameter("names", ["left", ""])
    node.declare_parameter("key", b"abc")
    return node


def test_a_client_gets_the_parameters_of_nodes_that_come_and_go():
    node = camera()
    with spinning(node), shown() as view, Viewer(view.port) as client:
        until(client.get_parameters)
        assert client.parameters == {
            "/camera.rate": 30,
            "/camera.gain": 2.0,
            "/camera.name": "front",
            "/camera.on": True,
            "/camera.roi.size": [640, 480],
            "/camera.weights": [1.0, 2.5],
            "/camera.names": ["left", ""],
            "/camera.key": "YWJj",
        }
        assert client.get_parameters("/camera.rate", "/camera.nothing") == {"/camera.rate": 30}
        late = baton.Node("late", namespace="/left")
        late.declare_parameter("speed", 1.5)
        with spinning(late):
            until(lambda: client.get_parameters("/left/late.speed") == {"/left/late.speed": 1.5})
        del late
        until(lambda: "/left/late.speed" not in client.get_parameters())
        assert view.said == []


def test_a_client_that_subscribes_to_a_parameter_gets_each_new_value():
    node = camera()
    with spinning(node), shown() as view, Viewer(view.port) as client, Viewer(view.port) as other:
        until(client.get_parameters)
        client.subscribe_parameters("/camera.rate")
        client.get_parameters()  # so the view knows what the client subscribes to
        until(lambda: [e for e in node.endpoints() if e.topic == "/parameter_events" and not e.is_publisher])
        client.parameters.clear()
        node.set_parameters([baton.Parameter("gain", value=4.0), baton.Parameter("rate", value=50)])
        client.until(lambda me: me.parameters.get("/camera.rate") == 50)
        assert client.parameters == {"/camera.rate": 50}
        assert other.parameters == {}


def test_a_client_sets_only_the_allowed_parameters():
    node = camera()
    settable = ["/camera.rate", "camera.gain", "/camera.weights", "/camera.names", "/nobody.*"]
    with spinning(node), shown(settable=settable) as view, Viewer(view.port) as client:
        until(client.get_parameters)
        client.subscribe_parameters("/camera.rate", "/camera.gain", "/camera.weights", "/camera.name")
        client.set_parameters(**{"/camera.rate": 60, "/camera.gain": 3, "/camera.weights": [1, 2], "/camera.names": []})
        client.until(lambda me: me.parameters.get("/camera.weights") == [1, 2])
        values = {each.name: each.value for each in node.get_parameters(["rate", "gain", "weights", "names"])}
        assert (values["rate"], values["gain"], list(values["names"])) == (60, 3.0, [])
        assert type(values["gain"]) is float and list(values["weights"]) == [1.0, 2.0]

        client.parameters.clear()
        client.set_parameters(**{"/camera.rate": 1000})
        client.until(lambda me: me.parameters.get("/camera.rate") == 60)  # what still holds
        client.until(lambda me: any("/camera refused it" in each for each in me.statuses))
        client.parameters.clear()
        client.set_parameters(**{"/camera.name": "back"})
        client.until(lambda me: me.parameters.get("/camera.name") == "front")
        client.until(lambda me: any("without --set /camera.name" in each for each in me.statuses))
        client.set_parameters(**{"/camera.rate": "fast"})
        client.until(lambda me: any("is of type integer" in each for each in me.statuses))
        client.set_parameters(**{"rate": 5})
        client.until(lambda me: any("is /camera.rate" in each for each in me.statuses))
        client.set_parameters(**{"/nobody.rate": 5})
        client.until(lambda me: any("there is no node /nobody" in each for each in me.statuses))
        assert node.get_parameter("rate").value == 60


def test_a_node_that_does_not_answer_delays_no_other(monkeypatch):
    monkeypatch.setattr("baton_record.view_parameters._FIRST_S", 0.0)
    monkeypatch.setattr("baton_record.view_parameters._ANSWER_S", 0.2)
    node = camera()
    dead = baton.Node("dead")
    dead.declare_parameter("a", 1)
    texts = node.advertise("text", "std_msgs/String")
    with spinning(node), shown() as view, Viewer(view.port) as client:
        until(lambda: "/camera.rate" in client.get_parameters())
        client.watch("/text")
        assert texts.wait_for_subscriptions(1, 60)
        texts.publish({"data": "hello"})
        assert client.message()[1].data == "hello"
        said = "parameters of /dead are not shown: /dead sent no response within 0.2 s"
        until(lambda: any(each.startswith(said) for each in view.said))
        with spinning(dead):
            until(lambda: client.get_parameters("/dead.a") == {"/dead.a": 1})


def test_a_text_that_is_no_utf_8_hides_no_other_parameter():
    node = baton.Node("camera")
    node.declare_parameter("bad", "\udcff")
    node.declare_parameter("list", ["a", "\udcff"])
    node.declare_parameter("good", "x")
    with spinning(node), shown(settable=["*"]) as view, Viewer(view.port) as client:
        until(client.get_parameters)
        assert client.parameters == {"/camera.good": "x"}
        assert sorted(each.split(":")[0] for each in view.said) == [
            "/camera.bad is not shown",
            "/camera.list is not shown",
        ]
        client.set_parameters(**{"/camera.good": "y"})
        until(lambda: client.get_parameters() == {"/camera.good": "y"})


def test_values_and_requests_of_parameters_are_bounded(monkeypatch):
    monkeypatch.setattr("baton_record.view_parameters.MOST_VALUE_BYTES", 100)
    monkeypatch.setattr("baton_record.view_parameters.MOST_SETTING", 0)
    monkeypatch.setattr("baton_record.view_parameters.MOST_NODES", 1)
    node, other = baton.Node("camera"), baton.Node("lidar")
    node.declare_parameter("text", "x" * 101)
    node.declare_parameter("short", "x")
    other.declare_parameter("a", 1)
    with spinning(node, other), shown(settable=["*"]) as view, Viewer(view.port) as client:
        until(client.get_parameters)
        assert client.parameters == {"/camera.short": "x"}
        client.set_parameters(**{"/camera.short": "y"})
        until(lambda: len(view.said) == 3)
        assert sorted(view.said) == [
            "/camera.text is not shown: it has more than 100 bytes",
            "/camera: parameters are not set: 0 requests wait for nodes already",
            "parameters of 1 nodes are shown, of 2",
        ]
    monkeypatch.setattr("baton_record.view_parameters.MOST_PARAMETERS", 1)
    with spinning(node, other), shown() as view, Viewer(view.port) as client:
        until(client.get_parameters)
        assert len(client.parameters) == 1
        assert "/camera has 2 parameters, of which 1 are shown" in view.said


def serve(node, answer):
    def handler(request, response):
        answer(request, response)

    return node.serve("switch", "std_srvs/SetBool", handler)


def test_a_client_calls_only_the_allowed_services():
    node = baton.Node("robot")
    requests = []

    def answer(request, response):
        requests.append(request.data)
        response.success, response.message = True, "on" if request.data else "off"

    kept = serve(node, answer), node.serve("other", "std_srvs/Trigger", lambda request, response: None)
    with spinning(node), shown(call=["/switch"]) as view, Viewer(view.port) as client:
        client.until(lambda me: "/switch" in me.services)
        offered = client.services["/switch"]
        assert offered["type"] == "std_srvs/srv/SetBool"
        assert (offered["request"]["schemaName"], offered["request"]["encoding"]) == (
            "std_srvs/srv/SetBool_Request",
            "cdr",
        )
        assert offered["request"]["schema"].split() == ["bool", "data"]
        assert offered["response"]["schema"].split() == ["bool", "success", "string", "message"]
        assert "services" in client.info["capabilities"]
        client.call(1, "/switch", TRUE)
        assert client.response(1) == b"\0\1\0\0" + b"\1\0\0\0\3\0\0\0on\0"
        client.call(2, "/switch", FALSE)
        assert client.response(2) == b"\0\1\0\0" + b"\1\0\0\0\4\0\0\0off\0"
        assert requests == [True, False]
        assert client.services.keys() == {"/switch"}
        client.call(3, "/switch", b"\0\1\0\0")
        assert "/switch: " in client.response(3)
        assert requests == [True, False]
    assert kept
    with shown() as view, Viewer(view.port) as client:
        client.until(lambda me: me.info)
        assert "services" not in client.info["capabilities"]


def test_a_request_without_fields_is_understood_with_and_without_its_filler():
    node = baton.Node("robot")

    def answer(request, response):
        response.success = True

    kept = node.serve("go", "std_srvs/Trigger", answer)
    with spinning(node), shown(call=["*"]) as view, Viewer(view.port) as client:
        client.until(lambda me: "/go" in me.services)
        for number, request in enumerate((b"\0\1\0\0\0", b"\0\1\0\0")):
            client.call(number, "/go", request)
            assert client.response(number) == b"\0\1\0\0" + b"\1\0\0\0\1\0\0\0\0"
    assert kept


def test_services_come_and_go():
    with shown(call=["/go*"]) as view, Viewer(view.port) as client:
        node = baton.Node("robot")
        servers = [node.serve(f"go{number}", "std_srvs/Trigger", lambda request, response: None) for number in range(9)]
        client.until(lambda me: len(me.services) == 9)
        node.destroy(servers.pop(3))
        client.until(lambda me: len(me.services) == 8)
        assert "/go3" not in client.services
        servers.append(node.serve("go3", "std_srvs/SetBool", lambda request, response: None))
        client.until(lambda me: len(me.services) == 9)
        assert client.services["/go3"]["type"] == "std_srvs/srv/SetBool"
        while servers:
            node.destroy(servers.pop())
        client.until(lambda me: not me.services)
        assert view.said == []


def test_a_server_that_does_not_answer_delays_no_other_call(monkeypatch):
    monkeypatch.setattr("baton_record.view_services._ANSWER_S", 1.0)
    silent, node = baton.Node("silent"), baton.Node("robot")
    kept = silent.serve("stuck", "std_srvs/SetBool", lambda request, response: None), serve(node, lambda *_: None)
    with spinning(node), shown(call=["*"]) as view, Viewer(view.port) as client:
        client.until(lambda me: {"/stuck", "/switch"} <= me.services.keys())
        client.call(1, "/stuck", TRUE)
        client.call(2, "/switch", TRUE)
        assert isinstance(client.response(2), bytes)
        assert 1 not in client.responses
        assert client.response(1) == "ServiceError: /stuck sent no response within 1 s: does its node spin?"
    assert kept


def test_calls_and_services_are_bounded(monkeypatch):
    node = baton.Node("robot")
    kept = serve(node, lambda *_: None), node.serve("sweep", "std_srvs/SetBool", lambda request, response: None)
    monkeypatch.setattr("baton_record.view_services.MOST_SERVICES", 1)
    monkeypatch.setattr("baton_record.view_services.MOST_CALLS", 0)
    monkeypatch.setattr("baton_record.view_services.MOST_REQUEST_BYTES", 5)
    with shown(call=["/sw*"]) as view, Viewer(view.port) as client:
        client.until(lambda me: me.services)
        assert client.services.keys() == {"/sweep"}
        assert view.said == ["there are more than 1 services: name those that matter"]
        client.call(1, "/sweep", TRUE)
        assert client.response(1) == "ServiceError: 0 calls wait for their responses already"
        client.call(2, "/sweep", TRUE + b"\0")
        assert client.response(2) == "ServiceError: the request has 6 bytes, more than 5"
    assert kept


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), 0, -1])
def test_a_rate_that_is_no_rate_is_refused(rate):
    with pytest.raises(ViewError, match=f"max_rate is a number above 0, not {rate}"):
        with shown(max_rate=rate):
            pass
