# SPDX-License-Identifier: Apache-2.0
"""The output of verbs about other hosts. The other host is a process with a runtime directory of its own, on the loopback device."""

import json
import os
import re
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from baton_cli import fitting, links, live, top_view
from baton_cli.verbs import doctor, link, top
from click.testing import CliRunner
from rich.console import Console
from support.claims import Ports
from support.processes import PIPE
from support.waiting import until

FAR = """
import sys, baton
from baton.msg.std_msgs import String
near, far = sys.argv[1:]
node = baton.Node("talker")
publisher = node.advertise("chatter", String)
node.create_timer(0.02, lambda: publisher.publish({"data": "hello"}))
with baton.Link([f"127.0.0.1:{near}"], interface="lo", port=int(far), host_name="far"):
    print("ready", flush=True)
    baton.spin(node)
"""


@pytest.fixture
def far(tmp_path):
    """The environment of a process of the host `far`."""
    (tmp_path / "far").mkdir(mode=0o700)
    return {"BATON_RUNTIME_DIR": str(tmp_path / "far")}


@pytest.fixture
def near_link(build, environment, programs, far):
    """The link of this host, which is connected to the host `far`, whose node publishes /chatter."""
    with Ports(2) as (near_port, far_port):
        words = [build / "bin/baton_link", "--interface", "lo", "--port", near_port, "--host-name", "near"]
        near = programs.start(words, stderr=PIPE)
        programs.python(FAR, near_port, far_port, env=far, ready="ready")
        while "host far is connected" not in (line := near.stderr.readline()):
            assert line, "the link has ended"
        # Other processes read the state from a file, which the link writes once a second.
        state = Path(environment["BATON_RUNTIME_DIR"], "0", "link.state")
        connected = re.compile(r"^host\tname=far\t.*\tconnected=1\t", re.MULTILINE)
        until(lambda: state.exists() and connected.search(state.read_text()))
        yield near
        programs.close()


LAMP = """
import baton
node = baton.Node("lamp")
node.declare_parameter("rate", 10)
node.serve("switch", "std_srvs/SetBool", lambda request, response: None)
print("ready", flush=True)
baton.spin(node)
"""


@pytest.fixture
def far_lamp(baton, near_link, programs, far):
    """A node of the host `far` with parameters and a service, once this host knows it."""
    process = programs.python(LAMP, env=far, ready="ready")
    until(lambda: "/lamp@far" in baton("node", "list"))
    return process


def status(baton, *words, code=0):
    return json.loads(baton("link", "status", "--json", *words, code=code).splitlines()[0])


def test_without_a_link_the_status_says_how_to_start_one(baton):
    assert "this host has no link in this domain: start one with `baton link`" in baton("link", "status", code=1)
    assert status(baton, code=1) == {"alive": False, "current": False, "age_s": None, "trouble": "", "state": None}
    assert json.loads(baton("doctor", "--json", "--look", "0"))["link"] == [], "no fault"
    assert "Other hosts\nno link runs in this domain: topics of other hosts need `baton link`" in baton(
        "doctor", "--look", "0"
    )


def test_the_status_shows_hosts_and_the_topics_that_travel(baton, near_link, program):
    idle = until(lambda: (now := status(baton, "-i", "0"))["state"]["hosts"] and now["state"])
    assert idle["topics"] == [], "no subscription wants a topic"
    program('baton.Node("listener").subscribe("/chatter", "std_msgs/String")')
    state = until(lambda: (now := status(baton)["state"])["topics"] and now["topics"][0]["rate_hz"] and now)
    assert (state["host_name"], state["phase"], state["pid"]) == ("near", "working", near_link.pid)
    (host,) = state["hosts"]
    assert (host["name"], host["connected"]) == ("far", True) and host["connected_s"] >= 0
    (topic,) = state["topics"]
    assert (topic["topic"], topic["direction"], topic["hosts"]) == ("/chatter", "receive", ["far"])
    assert topic["messages"] > 0 and topic["bytes_per_s"] > 0
    text = baton("link", "status", "-i", "0")
    assert f"host 'near', domain 0: working, port {state['port']} (process {near_link.pid})" in text
    assert "from far" in text and "/chatter" in text


def test_the_status_reports_a_killed_link(baton, near_link):
    until(lambda: status(baton, "-i", "0")["state"]["hosts"])
    near_link.kill()
    near_link.wait()
    dead = status(baton, code=1)
    assert not dead["alive"] and dead["state"]["host_name"] == "near"
    said = baton("link", "status", code=1)
    assert f"the link (process {near_link.pid}) has been dead for at most " in said
    assert "it was host 'near' of domain 0, connected to far" in said
    assert "working" not in said and "latency us" not in said, "nothing is said as if it were so now"
    findings = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])["link"]
    assert findings[0]["good"] is False and "dead for at most" in findings[0]["why"]


def test_verbs_that_list_or_wait_say_that_the_link_is_dead(baton, near_link):
    until(lambda: status(baton, "-i", "0")["state"]["hosts"])
    verbs = [
        ("node", "list"),
        ("topic", "list"),
        ("service", "list"),
        ("param", "list"),
        ("node", "info", "talker"),
        ("topic", "info", "/chatter"),
        ("topic", "echo", "/chatter", "--timeout", "0.2"),
        ("service", "info", "/switch"),
        ("service", "call", "/switch", "std_srvs/SetBool", "--timeout", "0.2"),
        ("param", "get", "talker", "rate", "--timeout", "0.2"),
        ("param", "get", "talker@far", "rate", "--timeout", "0.2"),
    ]

    def stderr(*words):
        return baton.start(*words).ends(None)[1]

    assert "is dead" not in stderr(*verbs[0])
    near_link.kill()
    near_link.wait()
    line = f"the link (process {near_link.pid}) is dead; start it again: baton link\n"
    for words in verbs:
        assert stderr(*words).count(line) == 1, words


def test_echo_reports_a_killed_link_while_it_waits_for_a_message(baton, near_link):
    until(lambda: "/chatter" in baton("topic", "list"))
    echo = baton.start("topic", "echo", "/chatter").says("data: hello")
    near_link.kill()
    near_link.wait()
    assert echo.stderr.readline() == f"the link (process {near_link.pid}) is dead; start it again: baton link\n"


def test_a_link_that_is_stopped_is_not_taken_for_working(baton, near_link):
    until(lambda: status(baton, "-i", "0")["state"]["hosts"])
    near_link.send_signal(signal.SIGSTOP)
    try:
        until(lambda: subprocess_status(baton))
    finally:
        near_link.send_signal(signal.SIGCONT)


def subprocess_status(baton):
    """True once the status is old although the link is still alive."""
    try:
        now = status(baton, "-i", "0", code=1)
    except AssertionError:
        return False
    assert now["alive"] and "has written nothing for" in now["trouble"]
    assert "its last state:\nhost 'near'" in baton("link", "status", "-i", "0", code=1)
    return True


def test_topics_and_nodes_of_another_host_are_listed_with_it(baton, near_link):
    assert until(lambda: "/chatter  (of far)" in baton("topic", "list", "--hosts"))
    assert baton("topic", "list") == "/chatter\n"
    nodes = {row["node"]: row for row in json.loads(baton("node", "list", "--json"))}
    assert nodes["/talker@far"]["host"] == "far" and nodes["/talker@far"]["pid"] == near_link.pid
    assert "host" not in nodes["/link"]
    assert f"/talker@far  (of host far, brought by process {near_link.pid})" in baton("node", "list")
    assert "/chatter: std_msgs/String" in baton("node", "info", "/talker@far")
    assert "Host: far" in baton("topic", "info", "-v", "/chatter")


def test_a_node_of_another_host_is_found_by_its_name_with_and_without_the_host(baton, near_link, program):
    until(lambda: "/talker@far" in baton("node", "list"))
    assert baton("node", "info", "talker").startswith("/talker@far\n  Host: far")
    assert baton("node", "info", "link@near").startswith("/link\n")
    assert "there is no node '/talker@base'; nodes of that name: /talker@far" in baton(
        "node", "info", "talker@base", code=1
    )
    program('baton.Node("talker")')
    assert baton("node", "info", "talker").startswith("/talker\n"), "the node of this host comes first"


def test_the_parameters_of_a_node_of_another_host_are_those_of_the_name_that_node_list_prints(baton, far_lamp, program):
    assert baton("param", "get", "lamp@far", "rate") == "10\n"
    assert json.loads(baton("param", "list", "/lamp@far", "--json")) == {"/lamp@far": ["rate"]}
    baton("param", "set", "lamp@far", "rate", "20")
    assert baton("param", "dump", "lamp@far") == "/lamp:\n  ros__parameters:\n    rate: 20\n"
    for wrong in ("lamp@base", "lamp@"):
        assert "nodes of that name: /lamp@far" in baton("param", "get", wrong, "rate", "--timeout", "0.3", code=1)
    assert "'la mp' is no name of a node; `baton node list`" in baton("param", "get", "la mp", "rate", code=1)
    program('baton.Node("lamp")')
    said = baton("param", "set", "lamp@far", "rate", "30", code=1)
    assert "a request to /lamp@far reaches /lamp, too" in said, "no host can be chosen for a request"


def test_services_of_other_hosts_are_listed_before_a_client_of_this_host_names_them(baton, far_lamp):
    assert until(lambda: "/switch" in baton("service", "list"))
    assert "/switch" in baton("service", "find", "std_srvs/SetBool")
    assert "/lamp@far" in baton("service", "info", "/switch")
    assert "    /switch: std_srvs/SetBool" in baton("node", "info", "/lamp@far").partition("Service Servers:")[2]
    assert "/lamp:\n  rate" in baton("param", "list")
    unknown = baton("param", "get", "lam", "rate", "--timeout", "0.3", code=1)
    assert "there is no node /lam; nodes with parameters: /lamp" in unknown
    assert "success" in baton("service", "call", "/switch")
    called = json.loads(baton("service", "info", "/switch", "--json"))
    assert [each["node"] for each in called["servers"]] == ["/lamp@far"], "and not the link in its place"


def test_the_info_of_a_topic_names_its_hosts(baton, near_link, program):
    program('baton.Node("listener").subscribe("/chatter", "std_msgs/String")')
    shown = until(lambda: (now := json.loads(baton("topic", "info", "/chatter", "--json")))["link"] and now)
    (row,) = shown["link"]
    assert (row["direction"], row["hosts"]) == ("receive", ["far"])
    assert {e["host"] for e in shown["endpoints"] if e["kind"] == "publisher"} == {"far"}
    assert "Received from far: " in baton("topic", "info", "/chatter")


def test_top_and_doctor_look_without_making_a_topic_travel(baton, near_link):
    until(lambda: "/chatter" in baton("topic", "list"))
    shown = json.loads(baton("top", "-n", "2", "-i", "1.5", "--json").splitlines()[-1])
    (row,) = shown["topics"]
    assert (row["topic"], row["rate_hz"], row["subscriptions"]) == ("/chatter", 0.0, [])
    assert [h["name"] for h in shown["link"]["hosts"]] == ["far"] and shown["link"]["topics"] == []
    found = json.loads(baton("doctor", "--json", "--look", "1"))
    assert [f["what"] for f in found["link"] if f["good"]][:2] == ["link to other hosts", "host far"]
    assert status(baton)["state"]["topics"] == []


def test_top_shows_the_rate_of_a_topic_that_the_link_brings(baton, near_link, program):
    program('baton.Node("listener").subscribe("/chatter", "std_msgs/String")')
    until(lambda: status(baton)["state"]["topics"])
    rows = []
    for line in baton("top", "-n", "3", "-i", "1.5", "--json").splitlines():
        rows += json.loads(line)["topics"]
    assert len(rows) == 3
    # In one interval at least: a link that waits for a CPU may write nothing in another.
    assert any(row["rate_hz"] > 0 and row["bytes_per_s"] > 0 for row in rows), rows
    assert "other host" in baton("top", "-n", "1", "-i", "0.2")


def test_doctor_says_which_messages_come_over_the_network(baton, near_link, program):
    listener = program('baton.Node("listener").subscribe("/chatter", "std_msgs/String")')

    def pairs():
        found = json.loads(baton("doctor", "--json", "--look", "0"))["topics"]
        return [f for f in found if f["what"].endswith(f"-> listener ({listener.pid})")]

    (pair,) = until(pairs)
    assert pair["good"] is True
    assert (
        pair["why"] == "comes from host far over the network, then zero-copy: the subscription reads the link's memory"
    )


def test_options_in_front_of_a_verb_are_refused(baton):
    assert "stands behind the verb: baton link status" in baton("link", "--domain", "3", "status", code=2)


@pytest.mark.parametrize("host", ["10.77.0.1", "10.77.0.1:22750", "pc-b", "robot.local", "fe80::1", "[fe80::1]:22700"])
def test_a_host_name_without_peer_is_answered_with_the_option(host):
    done = CliRunner().invoke(link.command, [host])
    assert done.exit_code == 2 and f"write `baton link --peer {host}` for another host" in done.output


def test_a_word_that_is_no_host_gets_no_hint_about_peer():
    for word, said in (("statu", "Did you mean 'status'?"), ("a b", "No such command 'a b'")):
        done = CliRunner().invoke(link.command, [word])
        assert done.exit_code == 2 and said in done.output and "--peer" not in done.output


# --- the parts that need no process


pytestmark = pytest.mark.usefixtures("build")


def a_link(**more):
    live_baton = live.load()
    from baton import _link

    of_host = {"connected": True} | more.pop("host", {})
    host = live_baton.LinkHost("base", "10.0.0.2:22700", "2b" * 16, **of_host)
    topics = more.pop("topics", ())
    now = time.monotonic_ns()
    fields = {
        "phase": "working",
        "why": "",
        "host_name": "robot",
        "id": "1a" * 16,
        "domain": 0,
        "pid": os.getpid(),
        "port": 22700,
    }
    fields |= {
        "sent": 0,
        "received": 0,
        "refused": 0,
        "monotonic_ns": now,
        "realtime_ns": 0,
        "hosts": (host,),
        "topics": topics,
    }
    return _link.SavedLink(True, live_baton.LinkState(**{**fields, **more}), "/run/link.state")


def test_the_latency_is_half_of_a_round_trip_and_unknown_values_are_empty():
    known = a_link(host={"round_trip_ns": 400_000, "sent_again": 3})
    (row,) = links.host_rows(known.state, links.Rates(None, None))
    assert row["latency_s"] == 200e-6 and row["sent_hz"] is None and row["dropped"] is None
    found = doctor.judge_link(known)
    assert found[1].good is True and "latency 200 us (half of a round trip), 3 segments sent again" in found[1].why
    assert "latency" not in doctor.judge_link(a_link())[1].why


def test_a_peer_that_is_not_reached_is_shown_with_the_reason_and_since_when(capsys):
    since = time.monotonic_ns() - 12_000_000_000
    lonely = a_link(hosts=(), peers=(live.load().LinkPeer("base:22750", since, "base: it does not answer"),))
    (row,) = links.peer_rows(lonely.state)
    assert 12 <= row["not_reached_s"] < 60
    link._show(lonely, links.Rates(None, None))
    said = capsys.readouterr().out
    assert "peer base:22750: not reached for " in said and " s: base: it does not answer; trying again" in said
    assert "no other host is known yet" not in said
    found = doctor.judge_link(lonely)[1]
    assert found.what == "peer base:22750" and found.good is None and "it does not answer" in found.why
    assert "--peer" in found.way_out


@pytest.mark.parametrize("words", [["--ros2"], ["--ros2-domain", "3"], ["--ros2", "--peer", "base"]])
def test_a_wrong_option_for_ros_2_nodes_is_answered_with_the_bridge(words):
    done = CliRunner().invoke(link.command, words)
    assert done.exit_code == 2 and "`baton bridge`" in done.output


def test_the_status_says_which_line_is_encrypted_and_which_hosts_are_refused_and_why(capsys):
    baton_package = live.load()
    ago = time.monotonic_ns() - 12_000_000_000
    refused = (
        baton_package.LinkRefused("10.0.0.3", "toaster", "it is the link of domain 4", 9, ago),
        baton_package.LinkRefused("10.0.0.4", "", "it speaks \x1b[31mno TLS", 1, ago),
    )
    secured = a_link(host={"encrypted": True}, secured=True, refused_hosts=refused)
    link._show(secured, links.Rates(None, None))
    head, _, heads, _, row, *rest = capsys.readouterr().out.splitlines()
    assert head.endswith(f"port 22700, encrypted (process {os.getpid()})")
    assert row[heads.index("encrypted") :].startswith("yes ")
    said = [line for line in rest if line.startswith("refused: ")]
    assert said[0].startswith("refused: toaster (10.0.0.3): it is the link of domain 4 (9 times, the last time ")
    assert said[1].startswith(r"refused: 10.0.0.4: it speaks \x1b[31mno TLS (") and said[1].endswith(" s ago)")
    found = {f.what: f for f in doctor.judge_link(secured)}
    assert "connected, encrypted" in found["host base"].why
    toaster = found["refused toaster (10.0.0.3)"]
    assert toaster.good is None and "domain 4" in toaster.why and "--security" in toaster.way_out
    link._show(a_link(host={"encrypted": False}, secured=False), links.Rates(None, None))
    head, _, heads, _, row, *_ = capsys.readouterr().out.splitlines()
    assert "encrypted" not in head and row[heads.index("encrypted") :].startswith("no ")


def test_a_host_that_is_not_reached_shows_since_when_and_how_much_of_its_budget_is_used(capsys):
    ago = time.monotonic_ns() - 15_000_000_000
    away = a_link(host={"connected": False, "absent_since_ns": ago, "absence_percent": 25})
    link._show(away, links.Rates(None, None))
    _, _, heads, _, row, *_ = capsys.readouterr().out.splitlines()
    assert re.match(r"no, 1\d s ", row[heads.index("connected") :])
    found = {f.what: f for f in doctor.judge_link(away)}["host base"]
    assert found.good is None
    assert re.fullmatch(r"not connected for 1\d s; 25 % of its absence budget is used, .* forgotten", found.why)


def test_a_host_with_one_of_two_connections_is_shown_with_the_reason_and_since_when(capsys):
    ago = time.monotonic_ns() - 15_000_000_000
    one = a_link(host={"bulk_missing_since_ns": ago, "bulk_missing_why": "it does \x1b[31mnot answer"})
    link._show(one, links.Rates(None, None))
    said = capsys.readouterr().out
    assert re.search(
        r"host base: only one of two connections for 1\d s, so small .*: it does \\x1b\[31mnot answer; trying", said
    )
    found = {f.what: f for f in doctor.judge_link(one)}["host base"]
    assert found.good is None and "only one of two connections" in found.why and "two TCP connections" in found.way_out
    link._show(a_link(), links.Rates(None, None))
    assert "only one" not in capsys.readouterr().out


def test_options_reach_the_program_that_is_started(monkeypatch):
    started = []
    monkeypatch.setattr(link, "find_program", lambda *_: "/bin/baton_link")
    monkeypatch.setattr(link.os, "execv", lambda program, words: started.append(words))
    words = ["--priority", "/plan=high", "--priority", "/map=low", "--absence-time", "90", "--absence-mib", "512"]
    assert CliRunner().invoke(link.command, words).exit_code == 0
    assert started[0] == ["/bin/baton_link", *words]


def test_the_tables_of_the_status_leave_out_the_least_important_columns():
    topic = live.load().LinkTopic("/camera/image", "sensor_msgs/Image", True, ("base",), 90, 9000, 10, "a slow line")
    state = a_link(host={"round_trip_ns": 90_000, "dropped": 7, "dropped_why": "timed out"}, topics=(topic,)).state
    none = links.Rates(None, None)
    hosts = [column.title for column, _ in fitting.fitted(links.host_columns(links.host_rows(state, none)), 80)]
    assert hosts == ["host", "address", "connected", "latency us", "MB/s out", "MB/s in", "dropped"]
    topics = [column.title for column, _ in fitting.fitted(links.topic_columns(links.topic_rows(state, none)), 70)]
    assert topics == ["topic", "way", "messages", "Hz", "MB/s", "dropped"]


def test_rates_are_of_two_readings_of_one_link():
    old = a_link(host={"sent_messages": 100}, monotonic_ns=1_000_000_000).state
    new = a_link(host={"sent_messages": 160}, monotonic_ns=3_000_000_000).state
    assert links.host_rows(new, links.Rates(old, new))[0]["sent_hz"] == 30
    again = a_link(host={"sent_messages": 5}, monotonic_ns=3_000_000_000).state
    assert links.host_rows(again, links.Rates(old, again))[0]["sent_hz"] is None, "the count has begun anew"
    other = a_link(host={"sent_messages": 160}, monotonic_ns=3_000_000_000, id="3c" * 16).state
    assert links.host_rows(other, links.Rates(old, other))[0]["sent_hz"] is None, "it is another link's"


@pytest.mark.parametrize("node, pid, by_link", [("link", 7, True), ("link", 8, False), ("viewer", 7, False)])
def test_the_way_out_of_a_link_that_holds_all_samples_is_on_the_far_side(node, pid, by_link):
    publisher = SimpleNamespace(gid=b"p", topic="/image", node="camera", pid=1, is_publisher=True)
    end = SimpleNamespace(gid=b"s", topic="/image", node=node, pid=pid, is_publisher=False)
    holding = SimpleNamespace(publisher=b"p", subscription=b"s", standing="connected", held=8, unread=5, granted=8)
    holding.wished, holding.reason, holding.slots, holding.shared, holding.promised = 8, "", 64, 52, 8
    (found,) = doctor.judge_slots([publisher, end], [holding], link_pid=7)[1]
    assert "holds all 8 samples that it may, and 5 messages wait" in found.why
    assert ("does not take the messages" in found.why) == ("baton link status" in found.way_out) == by_link
    assert ("raise QoS 'held'" in found.way_out) == (not by_link)


def test_doctor_shows_losses_of_the_link_and_their_reasons():
    baton_package = live.load()
    lossy = baton_package.LinkTopic("/image", "sensor_msgs/Image", True, ("base",), 90, 9000, 10, "the line is slow")
    found = doctor.judge_link(
        a_link(host={"dropped": 7, "dropped_why": "timed out"}, topics=(lossy,), notes=("a type differs",))
    )
    by_name = {f.what: f for f in found}
    assert by_name["host base"].good is None and "7 messages dropped: timed out" in by_name["host base"].why
    assert by_name["/image: sent to base"].why == "10 of 100 messages dropped: the line is slow"
    assert by_name["not connected across hosts"].why == "a type differs"
    failed = doctor.judge_link(a_link(phase="failed", why="port 22700 is in use"))[0]
    assert failed.good is False and "port 22700 is in use" in failed.why


@pytest.fixture
def system(tmp_path):
    """/proc/sys/net with the defaults of a kernel."""
    for name, text in {
        "core/rmem_max": "212992\n",
        "core/wmem_max": "8388608\n",
        "ipv4/tcp_rmem": "4096\t131072\t6291456\n",
        "ipv4/tcp_wmem": "4096\t16384\t1048576\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_doctor_names_the_command_that_raises_a_limit_of_buffers(system):
    found = {f.what: f for f in doctor.judge_buffers(system)}
    assert found["net.core.wmem_max"].good is True and found["net.ipv4.tcp_rmem"].good is True
    assert found["net.core.rmem_max"].way_out == "sudo sysctl -w net.core.rmem_max=4194304"
    assert found["net.ipv4.tcp_wmem"].way_out == "sudo sysctl -w net.ipv4.tcp_wmem='4096 16384 4194304'"
    (system / "core/rmem_max").unlink()  # as in a container's network
    assert "net.core.rmem_max" not in {f.what for f in doctor.judge_buffers(system)}


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_picture_has_a_line_for_each_other_host(width):
    rows = links.host_rows(a_link(host={"round_trip_ns": 90_000}).state, links.Rates(None, None))
    link = {"trouble": "", "hosts": rows}
    memory = {"domain_backed_bytes": 0, "domain_limit_bytes": 1 << 63}
    console = Console(width=width, record=True, file=open(os.devnull, "w"))
    console.print(top_view.picture([], [], memory, [], 0, width, link=link))
    text = console.export_text()
    assert "base" in text and "45" in text and "other host" in text
    console.print(top_view.picture([], [], memory, [], 0, width, link={"trouble": "it is dead", "hosts": []}))
    assert "other hosts: it is dead" in console.export_text()


def test_a_topic_of_another_host_has_the_rate_that_the_link_says():
    rows = [
        {"topic": "/a", "type": "t/T", "rate_hz": 0.0, "bytes_per_s": 0.0},
        {"topic": "/b", "type": "t/T", "rate_hz": 7.0, "bytes_per_s": 1.0},
    ]
    brought = [{"topic": "/a", "type": "t/T", "direction": "receive", "rate_hz": 5.0, "bytes_per_s": 50.0}]
    top.from_afar(rows, brought, {("/a", "t/T")})
    assert [(r["rate_hz"], r["bytes_per_s"]) for r in rows] == [(5.0, 50.0), (7.0, 1.0)]
