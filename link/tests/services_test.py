# SPDX-License-Identifier: Apache-2.0
"""Services whose client and server are on different hosts."""

from __future__ import annotations

import json

from link_hosts import Host
from support.processes import Process

# Answers with the name of its host, and says which requests came.
SERVE = """
import baton, sys
node = baton.Node("server")
node.declare_parameter("color", "red")


def answer(request, response):
    response.success = request.data
    response.message = sys.argv[1]
    print("request", flush=True)


node.serve("switch", "std_srvs/SetBool", answer)
print("ready", flush=True)
baton.spin(node)
"""

# Calls so often, and prints the answers.
CALL = """
import baton, json, sys
node = baton.Node("client" + sys.argv[2])
client = node.client("switch", "std_srvs/SetBool")
assert client.wait_for_service(40)
got = []
for i in range(int(sys.argv[1])):
    response = client.call({"data": i % 2 == 0}, timeout=20)
    got.append(None if response is None else [bool(response.success), str(response.message)])
print(json.dumps(got), flush=True)
"""


def serve(host: Host) -> Process:
    return host.python(SERVE, host.name).says("ready")


def answers(client: Process) -> list[list[object]]:
    return json.loads(client.ends()[0])


def expected(count: int, host: Host) -> list[list[object]]:
    return [[i % 2 == 0, host.name] for i in range(count)]


def test_a_client_is_answered_by_a_server_of_another_host_from_its_first_request_on(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    serve(a)
    for number in ("1", "2", "3"):
        assert answers(b.python(CALL, "20", number)) == expected(20, a)


def test_each_of_several_clients_on_several_hosts_gets_its_own_answers(hosts):
    a, b, c = hosts(3)
    a.link()
    b.link(a)
    c.link(a, b)
    serve(a)
    clients = [host.python(CALL, "50", str(i)) for i, host in enumerate((a, b, b, c))]
    for client in clients:
        assert answers(client) == expected(50, a)


def test_a_server_that_is_started_again_answers_again(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    server = serve(a)
    assert answers(b.python(CALL, "1", "1")) == expected(1, a)
    server.end()
    serve(a)
    assert answers(b.python(CALL, "5", "2")) == expected(5, a)


def test_the_commands_call_services_and_read_parameters_of_another_host(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    serve(a)
    called = b.command("service", "call", "switch", "std_srvs/SetBool", "{data: true}", "--timeout", "20")
    assert a.name in called.ends()[0]
    assert "red" in b.command("param", "get", "server", "color", "--timeout", "20").ends()[0]
