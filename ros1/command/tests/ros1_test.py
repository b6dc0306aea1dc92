# SPDX-License-Identifier: Apache-2.0
"""What the verbs show of ROS 1: its domain, its links, the way of each and why. With a master and roscpp programs where they are."""

import contextlib
import json
import socket
import sys
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xmlrpc.server import SimpleXMLRPCServer

import pytest
from baton_cli import middleware
from baton_cli.verbs import doctor
from baton_ros1 import graph as ros1
from baton_ros1 import tcp_bytes
from support.processes import PIPE, Programs
from support.waiting import until

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from ros1_network import BUILD, MASTER, PRELOAD, Ros

LARGE = 1_000_000


@pytest.fixture
def network(tmp_path):
    if not MASTER.exists():
        pytest.skip("needs a ROS 1 master: apt-get install python3-rosmaster")
    if not PRELOAD.exists():
        pytest.skip("needs libbaton_roscpp.so: make build-ros1")
    ros = Ros(tmp_path)
    ros.environment |= {"PYTHONPATH": str(BUILD / "python"), "COLUMNS": "160"}
    yield ros
    ros.close()


@pytest.fixture
def programs(network):
    with Programs(lambda: network.environment) as programs:
        yield programs


@pytest.fixture
def baton(programs):
    """baton(*arguments) runs the command in the environment of the network's nodes: its output, and its errors."""

    def run(*arguments, code=0, **settings):
        done = programs.run([sys.executable, "-m", "baton_cli", *arguments], env=settings)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def links(baton, *listeners, topic="/images"):
    """The links of a topic by the process of their subscriber, once these listeners are among them: on a busy machine a node answers the
    command too late."""

    def found():
        every = json.loads(baton("doctor", "--ros1", "--look", "0", "--json"))["ros1"]
        rows = {int(f["what"].rpartition("(")[2][:-1]): f for f in every if f["what"].startswith(topic + ":")}
        return rows if {each.process.pid for each in listeners} <= set(rows) else None

    return until(found, "a listener has no link")


def row_that_begins(baton, listener, words):
    """The row of this listener's link, once it begins so: the ends of a link learn of each other, and count, one after the other."""

    def row():
        return links(baton, listener)[listener.process.pid]

    return until(lambda: (now := row())["why"].startswith(words) and now, row)


def test_each_link_of_ros_1_has_its_way_and_why(network, baton):
    preloaded, stock, own = network.listener(), network.listener(False), network.api_listener()
    copying = network.listener(BATON_HEAP="0")
    off, talker = network.listener(BATON_ROS1="0"), network.talker()
    talker.do("subscribers 5")
    for listener in (preloaded, copying):
        row_that_begins(baton, listener, "shared memory")  # messages before that go by TCP
    talker.do(f"publish {LARGE} 5 5")
    for listener in (preloaded, copying):
        for _ in range(5):
            listener.line()
    row_that_begins(baton, preloaded, "shared memory, 1 copy")
    rows = links(baton, preloaded, copying, stock, own, off)
    assert {pid: row["good"] for pid, row in rows.items()} == {
        preloaded.process.pid: True,
        copying.process.pid: True,
        stock.process.pid: None,
        own.process.pid: None,
        off.process.pid: None,
    }
    assert rows[preloaded.process.pid]["why"].startswith("shared memory, 1 copy: libbaton_roscpp.so at both ends")
    assert rows[copying.process.pid]["why"].startswith("shared memory, 2 copies: libbaton_roscpp.so at both ends")
    assert rows[stock.process.pid]["why"] == "TCP, 4 copies: the subscriber runs without libbaton_roscpp.so"
    assert rows[stock.process.pid]["way_out"] == "subscriber: start it with baton ros1 run"
    assert rows[own.process.pid]["why"] == "TCP, 4 copies: only the subscriber has types of Baton"
    assert rows[off.process.pid]["why"] == "TCP, 4 copies: the subscriber has BATON_ROS1=0"

    info = json.loads(baton("topic", "info", "images", "--ros1", "--json"))
    assert info["type"] == "sensor_msgs/Image"
    assert [len(info["ros1"][part]) for part in ("publishers", "subscribers", "links", "silent")] == [1, 5, 5, 0]
    text = baton("topic", "info", "images", "-v", "--ros1")
    assert "ROS 1 publisher count: 1\n  /talker" in text and "  Path: shared memory, 1 copy\n" in text
    assert baton("topic", "list", "-t", "--ros1") == "/images [sensor_msgs/Image]\n/rosout [rosgraph_msgs/Log]\n"
    assert baton("topic", "type", "images", "--ros1") == "sensor_msgs/Image\n"
    assert baton("topic", "find", "sensor_msgs/Image", "--ros1") == "/images\n"
    for columns in ("80", "160"):
        shown = baton("doctor", "--ros1", "--look", "0", COLUMNS=columns)
        assert "Links of ROS 1\n" in shown and "shared memory, 1 copy" in shown
        assert "rmw" not in shown and "ROS 2" not in shown
        assert max(map(len, shown.splitlines())) <= int(columns)


def test_types_of_baton_have_their_own_queue_or_handles_and_stock_subscribers_do_not(network, baton):
    own, handles = network.api_listener(), network.api_listener(BATON_ROS1_MODE="tzc")
    stock, talker = network.listener(), network.api_talker(BATON_ROS1_MODE="tzc")
    talker.do("subscribers 3")
    rows = links(baton, own, handles, stock)
    assert set(rows) == {own.process.pid, handles.process.pid, stock.process.pid}
    assert rows[own.process.pid]["why"] == "Baton's queue, no copy: types of Baton at both ends"
    assert rows[handles.process.pid]["why"].startswith("shared memory, handles by TCP, no copy: ")
    assert rows[stock.process.pid]["why"] == "TCP, 4 copies: only the publisher has types of Baton"
    assert rows[stock.process.pid]["way_out"] == (
        "recompile the subscriber too, or baton::ros1::subscribe() or baton.rospy.create_subscription() in it"
    )
    found = json.loads(baton("doctor", "--ros1", "--look", "0", "--json"))
    assert found["topics"] == [], "a link of ROS 1 has one row"


def test_types_that_ros_2_has_with_other_fields_are_looked_at_with_those_of_ros_1(network, baton, tmp_path):
    (tmp_path / "none").write_text("sensor_msgs/Range\nof a file of no messages\n0 0\n")
    talker = network.run(
        [BUILD / "bin/ros1_api_types", "source", "sensor_msgs/Range", tmp_path / "none"], preload=False
    )
    talker.tell("publish 0")
    assert talker.line() == "done publish 0"
    shown = baton("doctor", "--ros1", "--look", "0.2")
    assert "mismatch" not in shown and "differently" not in shown
    shown = baton("top", "--ros1", "-n", "1", "-i", "0.2")
    assert "/sensor_msgs/Range" in shown and "mismatch" not in shown and "differently" not in shown


def test_top_measures_what_ros_1_s_nodes_count(network, baton):
    listener, talker = network.listener(), network.talker()
    talker.do("subscribers 1")
    row_that_begins(baton, listener, "shared memory")
    stop = threading.Event()

    def publish():
        while not stop.wait(0.01):
            talker.do(f"publish {LARGE} 1 0")
            listener.line()  # one at a time: there is always room in the queue between the two

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        figures = json.loads(baton("top", "-n", "1", "-i", "2", "--json", "--ros1"))
        (row,) = figures["ros1"]
        shown = baton("top", "-n", "1", "--ros1", COLUMNS="80")
    finally:
        stop.set()
        thread.join()
    assert {pid for _, pid in figures["nodes"]} == {listener.process.pid, talker.process.pid}
    assert "2 nodes, 2 processes" in shown
    assert row["topic"] == "/images" and row["subscriber"].endswith(f"({listener.process.pid})")
    assert row["rate_hz"] > 0
    assert LARGE <= row["bytes_per_s"] / row["rate_hz"] < 1.01 * LARGE
    assert (row["way"], row["copies"]) == ("shared memory", 1)
    assert "link of" in shown and "memory" in shown and max(map(len, shown.splitlines())) <= 80


def test_without_a_master_the_links_with_shared_memory_are_left(network, baton):
    listener, stock, talker = network.listener(), network.listener(False), network.talker()
    talker.do("subscribers 2")
    row_that_begins(baton, listener, "shared memory")
    assert set(links(baton, listener, stock)) == {listener.process.pid, stock.process.pid}
    network.master.kill()
    said = baton("doctor", "--ros1", "--look", "0", "--json")
    assert f"ROS 1's master at {network.environment['ROS_MASTER_URI']} does not answer" in said
    (row,) = json.loads(said.splitlines()[-2 if said.splitlines()[-1].startswith("ROS") else -1])["ros1"]
    assert row["what"].endswith(f"({listener.process.pid})") and row["why"].startswith("shared memory")


def test_an_empty_domain_names_that_of_ros_1_and_its_topics_are_not_looked_for_elsewhere(network, baton, programs):
    listener, talker = network.listener(), network.talker()
    talker.do("subscribers 1")
    row_that_begins(baton, listener, "shared memory")  # both processes are in the domain
    domain = int(programs.python("from baton_ros1 import graph; print(graph.domain())").ends()[0])
    assert domain >= 100
    said = baton("topic", "list")
    assert said == (
        f"no topics in domain 0 (BATON_DOMAIN, --domain) in {programs.environment()['BATON_RUNTIME_DIR']} "
        "(BATON_RUNTIME_DIR): nobody is there; "
        f"ROS 1's domain is {domain} (ROS_MASTER_URI), with 2 processes: --ros1\n"
    )
    assert "/images" in baton("topic", "list", BATON_DOMAIN=str(domain))
    assert "give one" in baton("topic", "list", "--ros1", "--domain", "0", code=2)
    process = programs.start([sys.executable, "-m", "baton_cli", "topic", "echo", "images", "--ros1"], stderr=PIPE)
    assert process.stderr.readline() == "waiting for /images ...\n"
    assert "ROS 1's nodes have it, but no publisher with types of Baton: rostopic" in process.stderr.readline()


def test_messages_that_find_no_memory_are_seen_to_go_by_tcp(network, baton):
    listener, talker = network.listener(), network.talker(BATON_PROCESS_MEMORY_LIMIT="2M")
    talker.do("subscribers 1")
    row_that_begins(baton, listener, "shared memory")
    stop = threading.Event()

    def publish():
        while not stop.wait(0.01):
            talker.do("publish 6220800 1 0")

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        (row,) = json.loads(baton("doctor", "--ros1", "--look", "2", "--json"))["ros1"]
        (shown,) = json.loads(baton("top", "-n", "1", "-i", "2", "--json", "--ros1"))["ros1"]
    finally:
        stop.set()
        thread.join()
    assert row["good"] is None, row
    assert "TCP, 4 copies: " in row["why"] and "of the bytes go by TCP" in row["why"]
    assert "no memory left (BATON_PROCESS_MEMORY_LIMIT=2M)" in row["why"]
    assert shown["way"].endswith("TCP") and shown["copies"] == 4


def test_the_kernel_counts_what_a_connection_carried():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            ports = client.getsockname()[1], server.getsockname()[1]
            before = tcp_bytes.sent()[ports]
            client.sendall(b"x" * 12_345)
            assert len(accepted.recv(12_345, socket.MSG_WAITALL)) == 12_345
            # It counts what was acknowledged.
            carried = until(lambda: (now := tcp_bytes.sent()[ports] - before) >= 12_345 and now)
            assert carried <= 12_346, "the connection's beginning counts as a byte"


@contextlib.contextmanager
def made_up_master(state, nodes, types=()):
    """A master with this state, whose nodes are at these URIs."""
    with SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False) as server:
        server.register_function(lambda caller: [1, "", state], "getSystemState")
        server.register_function(lambda caller: [1, "", types], "getTopicTypes")
        server.register_function(
            lambda caller, name: [1, "", nodes[name]] if name in nodes else [-1, "unknown", ""], "lookupNode"
        )
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_nodes_that_do_not_answer_are_named_and_not_waited_for():
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        state = [[["/t", ["/mute", "/gone"]], ["/a b", ["/mute"]]], [["/t", ["/unknown", "/a b"]]], []]
        nodes = {"/mute": f"http://127.0.0.1:{mute.getsockname()[1]}/", "/gone": "http://127.0.0.1:1/"}
        with made_up_master(state, nodes) as uri:
            graph = ros1.graph_at(uri)
    assert graph.answers
    assert graph.topics == {"/t"}, "what is no name is not printed"
    assert sorted(graph.silent) == ["/gone", "/mute", "/unknown"]
    assert graph.links == []


def test_a_node_that_answers_nonsense_hides_no_link_and_steers_no_terminal():
    rows = [
        7,
        [1],
        ["x", "/s", "o", "TCPROS", "/t"],
        [1, "/s", "o", "\x9b31mX", "/t", True],
        [2, "/s", "o", "TCPROS", "/a b"],
    ]
    with SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False) as node:
        node.register_function(lambda caller: [1, "", 1], "getPid")
        node.register_function(lambda caller: [1, "", rows], "getBusInfo")
        node.register_function(lambda caller: [1, "", [[], [], []]], "getBusStats")
        thread = threading.Thread(target=node.serve_forever, args=(0.01,))
        thread.start()
        try:
            at = f"http://127.0.0.1:{node.server_address[1]}"
            state = [[["/t", ["/p"]]], [["/t", ["/s"]]], []]
            with made_up_master(state, {"/p": at}, [["/t", "a/\x9b31mB"]]) as uri:
                graph = ros1.graph_at(uri)
        finally:
            node.shutdown()
            thread.join()
    assert [(link.topic, link.transport) for link in graph.links] == [("/t", r"\x9b31mX")]
    assert graph.type_of("/t") == r"a/\x9b31mB"


def test_an_answer_has_a_bound(monkeypatch):
    monkeypatch.setattr(ros1, "MOST_ANSWER_BYTES", 10_000)
    with made_up_master("x" * 100_000, {}) as uri:
        with pytest.raises(ValueError, match="an answer of more than 10000 bytes"):
            ros1._call(uri, "getSystemState")
        assert not ros1.graph_at(uri).answers


def test_an_answer_has_a_time_limit_from_its_first_header_on(monkeypatch):
    """Each header alone comes in time."""
    ends = threading.Event()

    def drip(server):
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"HTTP/1.0 200 OK\r\nX: ")
            while not ends.wait(0.01):
                connection.sendall(b"x")

    monkeypatch.setattr(ros1, "MOST_ANSWER_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        try:
            with pytest.raises(ValueError, match="takes longer than 0.3 s"):
                ros1._call(f"http://127.0.0.1:{server.getsockname()[1]}", "getSystemState")
        finally:
            ends.set()
            thread.join()


def test_a_master_that_answers_nonsense_is_one_that_does_not_answer():
    said, nonsense = [None], [[], 7, [1, "", 3], [[1]], [1, "", [[["/t"]], [], []]]]
    with SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False) as server:
        server.register_function(lambda *_: said[0], "getSystemState")
        server.register_function(lambda *_: said[0], "getTopicTypes")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            for answer in nonsense:
                said[0] = answer
                assert not ros1.graph_at(f"http://127.0.0.1:{server.server_address[1]}").answers, answer
        finally:
            server.shutdown()
            thread.join()


def end(topic, node, publisher, type_name="sensor_msgs/Image", **settings):
    values = {"gid": f"{topic}{node}{publisher}".encode(), "pid": 1, "type_hash": b"h", **settings}
    return SimpleNamespace(topic=topic, node=node, is_publisher=publisher, type_name=type_name, **values)


def way(link, endpoints=(), holdings=()):
    return ros1.Judge(list(endpoints), list(holdings), 0).judge(link)


def test_a_private_mapping_of_the_publishers_messages_shows_that_arrays_are_not_copied():
    line = "163e70000000-163f80100000 {} 00000000 00:01 {}     /memfd:baton-data (deleted)\n"
    publisher = (
        line.format("rw-s", 7)
        + "7f00-7f01 r-xp 00000000 08:01 9 /usr/lib/a library.so\n7f01-7f02 rw-p 00000000 00:00 0\n"
    )
    assert ros1.aliases_arrays(publisher, line.format("r--s", 7) + line.format("rw-p", 7))
    assert not ros1.aliases_arrays(publisher, line.format("r--s", 7) + line.format("rw-p", 8)), "another publisher's"
    assert not ros1.aliases_arrays(publisher, line.format("r--s", 7))
    assert not ros1.aliases_arrays(publisher, None)


P, S = ros1.ForeignNode("/p", "robot", 0), ros1.ForeignNode("/s", "robot", 0)


def test_why_a_link_takes_its_way_is_said_in_words():
    assert way(ros1.ForeignLink("/t", P, P)).way == ros1.BY_POINTER
    assert way(ros1.ForeignLink("/t", P, S, "UDPROS")).copies is None
    far = way(ros1.ForeignLink("/t", P, ros1.ForeignNode("/s", "base", here=False)))
    assert (far.way, far.good, far.why) == (ros1.BY_TCP, True, "another machine: subscriber on base")
    assert way(ros1.ForeignLink("/t", P, S)).why == (
        "each end cannot be looked at (another user's, in a container, or gone)"
    )
    own = [end("/t", "p", True), end("/t", "s", False)]
    assert way(ros1.ForeignLink("/t", P, S), own).way == ros1.BY_QUEUE
    assert way(ros1.ForeignLink("/t", P, S), [*own, end("/t/_stock", "s", False)]).copies == 4
    other = [own[0], end("/t", "s", False, type_hash=b"other")]
    assert way(ros1.ForeignLink("/t", P, S), other).good is False
    refused = SimpleNamespace(publisher=own[0].gid, subscription=own[1].gid, standing="refused", reason="no slots")
    assert "no slots" in way(ros1.ForeignLink("/t", P, S), own, [refused]).why
    alone = way(ros1.ForeignLink("/t", P, S), own[:1])
    assert alone.why == "only the publisher has types of Baton"
    assert alone.way_out.startswith("recompile the subscriber too, or baton::ros1::subscribe()")


def test_what_a_latched_topic_of_ros_1_keeps_is_not_missed_by_its_subscribers():
    publisher, subscription = end("/t", "p", True), end("/t", "s", False)
    publisher.qos = SimpleNamespace(durability="transient_local", depth=1)
    subscription.qos = SimpleNamespace(durability="volatile", depth=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor.live, "load", lambda: SimpleNamespace(incompatibility=lambda offered, wanted: ""))
        assert len(doctor.judge_past([publisher, subscription])) == 1
        graph = SimpleNamespace(has_link=lambda *names: names == ("/t", publisher.node, subscription.node))
        assert doctor.judge_past([publisher, subscription], graph) == []


def test_what_the_ends_lack_is_said_and_nothing_of_the_library_where_it_would_leave_the_link_to_tcp():
    judge = ros1.Judge([], [], 0)
    judge._lacks = {P: ros1._NO_TRACE, S: ("runs without libbaton_roscpp.so", "start it")}
    why = "the subscriber runs without libbaton_roscpp.so"
    assert judge.judge(ros1.ForeignLink("/t", P, S)).why == why, "the other one leaves no trace because of that"
    judge._lacks[S] = ros1._NO_TRACE
    assert judge.judge(ros1.ForeignLink("/t", P, S)).why.startswith("each end has another build of libroscpp.so")
    judge._lacks = {P: ros1._NOT_PRELOADED, S: ros1._NOT_PRELOADED}
    small = judge.judge(ros1.ForeignLink("/t", P, S, messages=10, bytes=1000))
    assert (small.good, small.why, small.way_out) == (
        True,
        "messages have 100 B on average; those below 64 KiB go by TCP, where a descriptor saves nothing",
        "",
    )
    assert (
        judge.judge(ros1.ForeignLink("/t", P, S, messages=10, bytes=10_000_000)).way_out
        == "start it with baton ros1 run"
    )
    assert judge.judge(ros1.ForeignLink("/t", P, S)).way_out == "start it with baton ros1 run", "no message yet"
    judge._lacks[P] = ("is a rospy program without baton.rospy", "baton.rospy (docs/guides/ros1.md)")
    assert not judge.judge(ros1.ForeignLink("/t", P, S, messages=10, bytes=1000)).good, (
        "accelerate() serves small messages, too"
    )
    log = judge.judge(ros1.ForeignLink("/rosout", P, S))
    assert (log.good, log.why, log.way_out) == (True, "log lines go by TCP", "")


def test_a_preloaded_pair_whose_queue_is_full_is_said_to_go_by_tcp_for_now():
    ends = [end("/t/_tcpros/12", node, node == "/p", "baton_ros1/Serialized") for node in ("/p", "/s")]
    link = ros1.ForeignLink("/t", P, S, messages=10, bytes=10_000_000)

    def with_(unread, held, link=link):
        numbers = {"unread": unread, "held": held, "granted": 32, "standing": "connected", "reason": ""}
        return way(link, ends, [SimpleNamespace(publisher=ends[0].gid, subscription=ends[1].gid, **numbers)])

    assert with_(0, 0).why.startswith("libbaton_roscpp.so at both ends")
    small = with_(0, 0, replace(link, bytes=10_240))
    assert (small.why.partition(",")[0], small.good) == (
        "messages have 1 KiB on average; those below 64 KiB go by TCP",
        True,
    )
    assert "4 messages wait" in with_(4, 0).why
    assert "keeps 32 messages" in with_(1, 32).why
    ways = {}
    for by_tcp in (280, 3_000_000, 10_000_000):
        ways[by_tcp] = with_(0, 0, replace(link, tcp_bytes=by_tcp, recent=True))
    assert [w.way for w in ways.values()] == [ros1.BY_MEMORY, "shared memory and TCP", ros1.BY_TCP]
    assert ways[3_000_000].why.startswith("30% of the bytes go by TCP: the publisher has no memory left")
    full = with_(4, 0, replace(link, tcp_bytes=10_000_000, recent=True))
    assert full.why.startswith("100% of the bytes go by TCP: 4 messages wait")


def test_rates_are_right_when_a_counter_begins_again():
    def graph(messages, size):
        return ros1.ForeignGraph(
            "", True, links=[ros1.ForeignLink("/t", P, S, number=3, messages=messages, bytes=size)]
        )

    begin = (1 << 32) - 500
    (link,) = middleware.since(graph(10, begin), graph(20, 500)).links
    assert (link.messages, link.bytes, link.recent) == (10, 1000, True)
    (link,) = middleware.since(graph(10, 100), graph(10, 100)).links
    assert (link.messages, link.recent) == (10, False), "nothing was sent meanwhile"


def test_both_forms_of_a_node_s_counters_are_read():
    roscpp = [[["/rosout", []], ["/t", [[0, 900, 800, 7, 0]]]], []]
    rospy = [[["/t", 800, [[0, 900, 7, True]]]], [], []]
    for stats in (roscpp, rospy):
        assert list(ros1._statistics(stats)) == [("/t", 0, 7, 900)]
