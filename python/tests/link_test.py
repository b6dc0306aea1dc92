# SPDX-License-Identifier: Apache-2.0
"""The link to other machines as an object. The other machine is a process with a runtime directory of its own: nothing but the link
joins the two."""

import os
import pathlib
import random
import re
import shutil
import socket
import subprocess

import baton
import pytest
from baton import _link
from baton.msg.std_msgs import String
from support.build import ROOT
from support.claims import Ports
from support.waiting import LIMIT_S, until

FAR = """
import sys, baton
from baton.msg.std_msgs import String
near, far, *enclave = sys.argv[1:]
node = baton.Node("talker")
security = enclave[0] if enclave else None
with baton.Link([f"127.0.0.1:{near}"], interface="lo", port=int(far), host_name="far", security=security):
    publisher = node.advertise("chatter", String)
    print("ready", flush=True)
    assert publisher.wait_for_subscriptions(1, 60)
    publisher.publish({"data": "hello"})
    input()
"""


@pytest.fixture
def ports():
    """Two free ports."""
    with Ports(2) as claimed:
        yield claimed


@pytest.fixture
def far(programs, ports, tmp_path):
    """Another host, whose node publishes once a subscription of this one comes."""
    (tmp_path / "far").mkdir(mode=0o700)
    return programs.python(FAR, *ports, env={"BATON_RUNTIME_DIR": str(tmp_path / "far")}, ready="ready")


def test_a_link_brings_a_topic_of_another_host_and_reports_its_state(ports, far):
    with baton.Link(interface="lo", port=ports[0], host_name="near") as link:
        node = baton.Node("listener")
        subscription = node.subscribe("chatter", String)
        message = subscription.take(LIMIT_S)
        assert message is not None and message.data == "hello"
        assert [e.node for e in node.endpoints() if e.is_publisher and e.topic == "/chatter"] == ["talker@far"]
        state = until(lambda: (now := link.state()).received == 1 and now)
        assert (state.phase, state.host_name, state.port, state.pid) == ("working", "near", ports[0], os.getpid())
        (host,) = [h for h in state.hosts if h.name == "far"]
        assert host.connected and 0 < host.connected_since_ns <= state.monotonic_ns
        (topic,) = state.topics
        assert (topic.topic, topic.type_name, topic.sending) == ("/chatter", "std_msgs/String", False)
        assert (topic.hosts, topic.messages, topic.dropped) == (("far",), 1, 0)
        assert topic.bytes == baton.size_bytes(message)


@pytest.fixture
def enclaves(tmp_path):
    """A folder with the enclaves robot and viewer, made by the commands of the guide."""
    try:
        baton.Link(security=tmp_path)
    except baton.Unsupported:
        pytest.skip("this build found no headers of OpenSSL 3 (make setup)")
    except baton.InvalidArgument:
        pass
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl (make setup)")
    commands = re.search(r"```sh\n(openssl .*?)```", (ROOT / "docs/guides/machines.md").read_text(), re.DOTALL)
    (folder := tmp_path / "keys").mkdir()
    subprocess.run(["sh", "-ec", commands[1]], cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    return folder


def test_a_link_of_a_program_encrypts_as_the_command_does(programs, ports, tmp_path, enclaves):
    (tmp_path / "far").mkdir(mode=0o700)
    env = {"BATON_RUNTIME_DIR": str(tmp_path / "far")}
    programs.python(FAR, *ports, str(enclaves / "viewer"), env=env, ready="ready")
    with baton.Link(interface="lo", port=ports[0], host_name="near", security=enclaves / "robot") as link:
        message = baton.Node("listener").subscribe("chatter", String).take(LIMIT_S)
        assert message is not None and message.data == "hello"
        state = until(lambda: (now := link.state()).secured and now)
        (host,) = state.hosts
        assert host.encrypted is True and host.certificate == "CN=viewer"
    with pytest.raises(baton.InvalidArgument, match="there is no file '.*/nowhere/cert.pem'"):
        baton.Link(interface="lo", port=ports[0], security=enclaves / "nowhere")


def test_other_processes_see_the_state_while_the_link_is_there(ports):
    assert _link.saved() == _link.SavedLink(False, None, _link.saved().path)
    with baton.Link(interface="lo", port=ports[0], host_name="near"):
        saved = until(lambda: (now := _link.saved()).current and now)
        assert saved.alive and saved.state.host_name == "near" and saved.state.pid == os.getpid()
        link = baton.Node("looks").report(LIMIT_S).link
        assert link.alive and link.state.host_name == "near"
    gone = _link.saved()
    assert (gone.alive, gone.state) == (False, None)
    assert baton.Node("looks").report(LIMIT_S).link == gone


def test_a_state_that_cannot_be_read_is_a_problem_that_the_report_names():
    node = baton.Node("looks")
    pathlib.Path(_link.saved().path).write_bytes(b"x" * ((16 << 20) + 1))
    link = node.report(LIMIT_S).link
    assert link.state is None and link.problem, link


def domain_with_a_free_port():
    """A domain whose usual port is free."""
    while True:
        domain = random.randrange(1000, 9999)
        with socket.socket() as tried:
            try:
                tried.bind(("", 22700 + domain))
            except OSError:
                continue
        return domain


def test_a_node_has_a_link_of_its_own(programs, ports, tmp_path, monkeypatch):
    monkeypatch.setenv("BATON_DOMAIN", str(domain_with_a_free_port()))
    (tmp_path / "far").mkdir(mode=0o700)
    lonely = FAR.replace('[f"127.0.0.1:{near}"], interface="lo", ', "")
    other = {"BATON_RUNTIME_DIR": str(tmp_path / "far"), "BATON_DOMAIN": os.environ["BATON_DOMAIN"]}
    programs.python(lonely, *ports, env=other, ready="ready")
    with baton.Node("listener", link=[f"127.0.0.1:{ports[1]}"]) as node:
        message = node.subscribe("chatter", String).take(LIMIT_S)
        assert message is not None and message.data == "hello"
        assert _link.saved().alive
    assert not _link.saved().alive


def test_a_port_in_use_is_an_error_that_names_the_port_and_the_way_out(ports):
    with socket.socket() as other:
        other.bind(("", ports[0]))
        other.listen()
        with pytest.raises(baton.AlreadyExists, match=f"TCP port {ports[0]} is in use .*port=.* HOST:PORT"):
            baton.Link(interface="lo", port=ports[0])
    assert not _link.saved().alive


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"peers": "hostb"}, TypeError, r"write peers=\['hostb'\]"),
        ({"port": 65536}, baton.InvalidArgument, "from 1 to 65535, not 65536"),
        ({"domain": 10000}, baton.InvalidArgument, "10000"),
        ({"priorities": {"/plan": "middle"}}, baton.InvalidArgument, "'/plan' is 'high' or 'low', not 'middle'"),
        ({"absence_s": 0.5}, baton.InvalidArgument, "absence_s is 1 to 86400"),
        ({"absence_mib": 0}, baton.InvalidArgument, "absence_mib 1 to 1048576"),
        ({"security": ""}, baton.InvalidArgument, "security is a folder"),
        ({"peers": ["host b!"]}, baton.InvalidArgument, "host b!"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(arguments, error, said):
    with pytest.raises(error, match=said):
        baton.Link(**arguments)


def test_a_node_wants_a_list_of_hosts():
    with pytest.raises(TypeError, match=r"write link=\['hostb'\]"):
        baton.Node("n", link="hostb")


def test_a_second_link_waits_and_takes_over(programs, ports):
    first = programs.python(
        f"""
        import baton
        link = baton.Link(interface="lo", port={ports[0]}, host_name="first")
        print("ready", flush=True)
        input()
        """,
        ready="ready",
    )
    with baton.Link(interface="lo", port=ports[1], host_name="second") as link:
        assert link.state().phase == "waiting"
        until(lambda: (now := _link.saved().state) and now.host_name == "first")  # written after "ready"
        first.end()
        until(lambda: link.state().phase == "working")
        until(lambda: (now := _link.saved().current) and now.host_name == "second")


def test_a_link_is_closed_once_and_says_nothing_afterwards(ports):
    link = baton.Link(interface="lo", port=ports[0])
    assert "working" in repr(link)
    link.close()
    link.close()
    assert repr(link) == "<baton.Link, closed>"
    with pytest.raises(RuntimeError, match="closed"):
        link.state()


def test_a_program_that_ends_with_a_link_open_ends_in_order(programs, ports):
    program = programs.python(
        f"""
        import baton
        link = baton.Link(interface="lo", port={ports[0]})
        """
    )
    program.ends()
    saved = _link.saved()
    assert (saved.alive, saved.state) == (False, None)


def test_a_forked_child_does_not_hold_the_role(programs, ports):
    program = programs.python(
        f"""
        import os, time, baton
        link = baton.Link(interface="lo", port={ports[0]})
        while baton._link.saved().state is None:
            time.sleep(0.01)
        if os.fork() == 0:
            print("child", flush=True)
            input()
            os._exit(0)
        os.kill(os.getpid(), 9)
        """
    )
    program.says("child")
    program.wait(LIMIT_S)
    until(lambda: not _link.saved().alive)
    assert _link.saved().state is not None, "what a killed link has written stays"


def test_unknown_lines_and_fields_of_a_state_are_left_out():
    state = _link.parse(
        "baton-link-state 1\nlink\tphase=working\tcolour=red\nplanet\tname=mars\nhost\tname=a=b\tconnected=2\n"
    )
    assert (state.phase, state.port, state.hosts[0].name, state.hosts[0].connected) == ("working", None, "a=b", False)
    assert (state.secured, state.hosts[0].encrypted) == (None, None)
    for text in ("", "baton-link-state 2\n", "{}"):
        with pytest.raises(ValueError, match="baton-link-state 1"):
            _link.parse(text)


def test_a_number_that_is_none_is_not_known():
    host = "host\tname=b\tround_trip_ns=-5\tsent_messages=x\tdropped=" + "9" * 40
    (host,) = _link.parse(f"baton-link-state 1\n{host}\n").hosts
    assert (host.round_trip_ns, host.sent_messages, host.dropped) == (None, None, None)


def test_the_example_of_the_format_is_read_as_the_page_says():
    golden = (ROOT / "link/tests/link.state").read_text()
    page = (ROOT / "docs/format/link-state.md").read_text()
    assert "```\n" + golden.replace("\t", " | ") + "```\n" in page
    state = _link.parse(golden)
    assert (state.host_name, state.id, state.domain, state.pid, state.port) == ("robot", "1a" * 16, 3, 4711, 22703)
    assert (state.sent, state.received, state.refused, state.monotonic_ns) == (120, 7, 1, 65_000_000_000)
    near, far = state.hosts
    assert near == baton.LinkHost(
        "base station", "192.168.1.10:22703", "2b" * 16, True, 5_000_000_000, 420_000, 120, 737_280_000, 8, 4096, 2, 3, "it is slow", 1, 6_144_000, True, "CN=/base",
        bulk_missing_since_ns=60_000_000_000, bulk_missing_why="it does not answer",
    )  # fmt: skip
    assert state.secured is True and far.encrypted is None
    assert (state.absence_ms, state.absence_bytes) == (60_000, 256 << 20)
    assert (far.absent_since_ns, far.absence_percent) == (64_000_000_000, 2)
    assert state.refused_hosts == (
        baton.LinkRefused("192.168.1.12", "toaster", "it is the link of domain 4", 9, 64_000_000_000),
    )
    assert (far.connected_since_ns, far.round_trip_ns, far.sent_messages) == (None, None, 0)
    assert (far.name, far.address, far.id, far.connected) == ("laptop", "10.0.0.3:22703", "", False)
    assert state.peers == (baton.LinkPeer("192.168.1.11:22750", 6_000_000_000, "192.168.1.11: it does not answer"),)
    image, command = state.topics
    assert image == baton.LinkTopic(
        "/image", "sensor_msgs/Image", True, ("base station",), 120, 737_280_000, 3, "it is slow"
    )
    assert (command.sending, command.hosts, command.dropped_why) == (False, ("base station", "laptop"), "")
    assert state.notes == ("a?b?c",)
