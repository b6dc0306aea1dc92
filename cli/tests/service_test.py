# SPDX-License-Identifier: Apache-2.0
"""`baton service`, against a process that serves."""

import json
import signal

import pytest

SERVER = """
import baton
node = baton.Node("lamp")
def switch(request, response):
    response.success = request.data
    response.message = "on" if request.data else "off"
node.serve("switch", "std_srvs/SetBool", switch)
print("ready", flush=True)
baton.spin(node)
"""


@pytest.fixture
def lamp(programs):
    return programs.python(SERVER, ready="ready")


def test_a_service_is_listed_found_described_and_called(baton, lamp):
    assert baton("service", "list").splitlines() == ["/switch"]
    assert baton("service", "list", "-t").splitlines() == ["/switch [std_srvs/SetBool]"]
    assert baton("service", "list", "-c").strip() == "1"
    assert json.loads(baton("service", "list", "--json")) == {"/switch": ["std_srvs/SetBool"]}
    assert baton("service", "type", "switch").strip() == "std_srvs/SetBool"
    assert baton("service", "find", "std_srvs/srv/SetBool").split() == ["/switch"]
    assert baton("service", "find", "std_srvs/Trigger") == ""
    text = baton("service", "info", "/switch")
    assert f"Servers: 1\n  /lamp  (process {lamp.pid})\nClients: 0" in text
    assert json.loads(baton("service", "info", "switch", "--json"))["servers"] == [{"node": "/lamp", "pid": lamp.pid}]
    assert baton("service", "call", "switch", "std_srvs/SetBool", "{data: true}") == "success: true\nmessage: 'on'\n"
    answer = baton("service", "call", "switch", "std_srvs/SetBool", "--json")
    assert json.loads(answer) == {"success": False, "message": "off"}


def test_a_call_that_cannot_be_answered_says_why(baton, lamp):
    assert "nobody serves or calls /other; there is 1 other service" in baton("service", "type", "other", code=1)
    assert "did you mean /switch?" in baton("service", "info", "robot/switch", code=1)
    said = baton("service", "call", "switch", "std_srvs/Trigger", "--timeout", "0.3", code=1)
    assert "nobody serves /switch as std_srvs/Trigger within 0.3 s; it is served as std_srvs/SetBool" in said
    assert said.rstrip().endswith("SetBool"), "the caller's own type is not what is served"
    said = baton("service", "call", "swich", "std_srvs/SetBool", "--timeout", "0.3", code=1)
    assert said == "Error: nobody serves /swich as std_srvs/SetBool within 0.3 s; did you mean /switch?\n"
    assert "VALUES are no std_srvs/SetBool" in baton("service", "call", "switch", "std_srvs/SetBool", "{x: 1}", code=1)
    lamp.send_signal(signal.SIGSTOP)
    said = baton("service", "call", "switch", "std_srvs/SetBool", "--timeout", "0.5", code=1)
    assert "/switch sent no response within 0.5 s" in said or "nobody serves /switch" in said


def test_a_call_learns_the_type_from_the_servers(baton, lamp, program):
    assert baton("service", "call", "switch", "{data: true}") == "success: true\nmessage: 'on'\n"
    assert baton("service", "call", "switch") == "success: false\nmessage: 'off'\n"
    assert "nobody serves /swich within 0.3 s; did you mean /switch?" in baton(
        "service", "call", "swich", "{data: true}", "--timeout", "0.3", code=1
    )
    assert "put VALUES into quotation marks" in baton("service", "call", "switch", "{data:", "true}", "x", code=2)
    program('baton.Node("other").serve("switch", "std_srvs/Trigger", lambda request, response: None)')
    said = baton("service", "call", "switch", "{data: true}", code=1)
    assert "/switch is served as std_srvs/SetBool and std_srvs/Trigger; name one behind the service" in said
