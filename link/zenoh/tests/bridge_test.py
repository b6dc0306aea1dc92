# SPDX-License-Identifier: Apache-2.0
"""The bridge to Zenoh beside a plain client of Zenoh, which speaks as rmw_zenoh does, and between hosts with Baton."""

from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import baton
import pytest
from baton.msg.std_msgs import String
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from support.build import ROOT
from support.claims import Ports
from support.waiting import LIMIT_S, until

zenoh = pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
pytest.importorskip("zenoh.ext")
import xxhash  # noqa: E402
from zenoh_hosts import publish_until, session, take  # noqa: E402

STORE = get_typestore(Stores.ROS2_KILTED)
STORE.register(get_types_from_msg("bool success\nstring message", "std_srvs/msg/SetBool_Response"))
STRING = "std_msgs::msg::dds_::String_"
STRING_HASH = (
    "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"  # as the design page of rmw_zenoh has it
)
SET_BOOL = "std_srvs::srv::dds_::SetBool_"
SET_BOOL_HASH = "RIHS01_abe9e4bb6b41b40e6789712c00ec8871923e089af3f667a79992a428cff2da0a"  # of ROS 2's std_srvs
LATCHED = baton.QoS(3, durability="transient_local")
KEY = f"0/chatter/{STRING}/{STRING_HASH}"


def cdr(text: str) -> bytes:
    return bytes(STORE.serialize_cdr(STORE.types["std_msgs/msg/String"](data=text), "std_msgs/msg/String"))


def words(number: int, time_ns: int, gid: bytes) -> Any:
    return zenoh.ext.z_serialize((zenoh.ext.Int64(number), zenoh.ext.Int64(time_ns), gid))


def as_words(sample: Any) -> tuple[int, int, bytes]:
    of = tuple[zenoh.ext.Int64, zenoh.ext.Int64, bytes]
    number, time_ns, gid = zenoh.ext.z_deserialize(of, sample.attachment)
    return int(number), int(time_ns), bytes(gid)


class Heard:
    """What a subscription of Zenoh has got."""

    def __init__(self, session: Any, key: str = KEY) -> None:
        self.samples: list[Any] = []
        self._subscriber = session.declare_subscriber(key, self.samples.append)

    def first(self) -> Any:
        return until(lambda: self.samples, "nothing comes to Zenoh")[0]


def tokens(session: Any, kind: str, prefix: str = "@ros2_lv") -> list[str]:
    replies = session.liveliness().get(f"{prefix}/**")
    keys = [str(reply.ok.key_expr) for reply in replies if reply.ok is not None]
    return sorted(key for key in keys if key.split("/")[5] == kind)


class Talker:
    """A publisher as a node of rmw_zenoh has it."""

    def __init__(self, session: Any, node: str = "talker", qos: str = "::,10:,:,:,,") -> None:
        self.token = f"@ros2_lv/0/{session.zid()}/0/10/MP/%/%/{node}/%chatter/{STRING}/{STRING_HASH}/{qos}"
        self._alive = session.liveliness().declare_token(self.token)
        self.gid = xxhash.xxh3_128(self.token.encode()).digest()[::-1]  # the canonical form is big-endian
        self._session, self._number = session, 0

    def say(self, text: str) -> None:
        self._number += 1
        self._session.put(KEY, cdr(text), attachment=words(self._number, 1_700_000_000_000_000_000, self.gid))

    def end(self) -> None:
        self._alive.undeclare()


def test_a_topic_of_baton_is_one_of_rmw_zenoh(fleet):
    host = fleet("robot")
    host.bridge()
    publisher = host.node("talker", "arm").advertise("/chatter", String, baton.QoS(7, reliability="best_effort"))
    heard = Heard(fleet.peer)
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    before = time.time_ns()
    publisher.publish({"data": "hello"})
    sample = heard.first()
    assert str(sample.key_expr) == KEY
    assert STORE.deserialize_cdr(bytes(sample.payload), "std_msgs/msg/String").data == "hello"
    number, time_ns, gid = as_words(sample)
    assert (number, gid) == (1, publisher.gid)
    assert before <= time_ns <= time.time_ns()
    (token,) = tokens(fleet.peer, "MP")
    _, domain, _, _, _, *rest = token.split("/")
    mark = f"%_baton%robot%{publisher.gid.hex()}"
    assert [domain, *rest] == [*("0", "MP", mark, "%arm", "talker", "%chatter", STRING, STRING_HASH, "2::,7:,:,:,,")]
    assert any(key.endswith("/NN/%/%arm/talker") for key in tokens(fleet.peer, "NN"))


def test_a_topic_of_rmw_zenoh_is_one_of_baton(fleet):
    host = fleet("robot")
    host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String)
    talker = Talker(fleet.peer)
    until(lambda: any("listener" in key for key in tokens(fleet.peer, "MS")))
    assert subscription.wait_for_publishers(1, LIMIT_S)
    (shown,) = [each for each in host.node("looker").endpoints() if each.topic == "/chatter" and each.is_publisher]
    assert (shown.node, shown.gid) == ("/talker@zenoh", talker.gid)
    message = publish_until(lambda: talker.say("hello"), subscription.take)
    info = baton.info(message)
    assert (message.data, info.publisher, info.source_time_ns) == ("hello", talker.gid, 1_700_000_000_000_000_000)
    talker.say("again")
    after = take(subscription)
    while after.data != "again":
        after = take(subscription)
    assert baton.info(after).sequence == talker._number
    talker.end()
    until(lambda: subscription.matched == 0, "the publisher stays after its token")


def test_a_message_with_an_older_stamp_of_zenoh_is_none_that_has_come(fleet):
    host = fleet("robot")
    host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String)
    talker = Talker(fleet.peer)
    older = fleet.peer.new_timestamp()  # of another thread of this session, which is slower
    publish_until(lambda: talker.say("before"), subscription.take)
    fleet.peer.put(KEY, cdr("older"), attachment=words(100, 1, talker.gid), timestamp=older)
    fleet.peer.put(KEY, cdr("last"), attachment=words(101, 1, talker.gid))
    texts = iter(lambda: take(subscription).data, "last")
    assert "older" in list(texts)


@pytest.mark.parametrize("begins", [False, True], ids=["later", "first"])
def test_a_forged_number_silences_no_publisher_for_long(fleet, begins):
    """Anybody may send a message with another publisher's gid; after a great number Baton refuses all smaller ones."""
    host = fleet("robot")
    host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String, qos=100)
    talker = Talker(fleet.peer)
    assert subscription.wait_for_publishers(1, LIMIT_S)
    if not begins:
        publish_until(lambda: talker.say("before"), subscription.take)
    lie = words(1 << 62, 1, talker.gid)
    publish_until(
        lambda: fleet.peer.put(KEY, cdr("lie"), attachment=lie),
        lambda: next((m for m in iter(subscription.take, None) if m.data == "lie"), None),
    )
    last = talker._number
    got = publish_until(
        lambda: talker.say("after"), lambda: next((m for m in iter(subscription.take, None) if m.data == "after"), None)
    )
    assert baton.info(got).publisher == talker.gid and baton.info(got).sequence >= last + 3


def test_a_late_message_brings_no_publisher_back(fleet):
    host = fleet("robot")
    host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String)
    talker = Talker(fleet.peer)
    publish_until(lambda: talker.say("before"), subscription.take)
    talker.end()
    until(lambda: subscription.matched == 0, "the publisher stays after its token")
    talker.say("late")
    fleet.peer.put(KEY, cdr("plain"))  # behind it, of a client that never had a token
    while take(subscription).data != "plain":
        pass
    node = host.node("looker")
    assert [each.node for each in node.endpoints() if each.topic == "/chatter" and each.is_publisher] == [
        "/zenoh@zenoh"
    ]
    assert talker.gid not in {each.gid for each in node.endpoints()}
    again = Talker(fleet.peer)  # the same token: as when a bridge on standby takes over
    assert again.gid == talker.gid
    again._number = talker._number
    publish_until(lambda: again.say("again"), lambda: (m := subscription.take()) and m.data == "again" or None)


def test_a_client_without_a_token_and_an_attachment_is_heard(fleet):
    host = fleet("robot")
    host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String)
    publisher = fleet.peer.declare_publisher(KEY)
    until(lambda: publisher.matching_status.matching)
    publisher.put(cdr("plain"))
    assert take(subscription).data == "plain"


def test_a_message_with_the_id_of_another_topics_publisher_is_lost(fleet):
    host = fleet("robot")
    host.bridge()
    node = host.node("listener")
    chatter, other = (node.subscribe(name, String) for name in ("/chatter", "/other"))
    talker = Talker(fleet.peer)
    publish_until(lambda: talker.say("before"), chatter.take)
    key = KEY.replace("chatter", "other")
    publish_until(lambda: fleet.peer.put(key, cdr("plain")), other.take)
    fleet.peer.put(key, cdr("liar"), attachment=words(1000, 1, talker.gid))
    host.says("/other: a message of Zenoh is lost: its publisher's id is that of one of /chatter")
    talker.say("after")
    while (message := take(chatter)).data != "after":
        assert message.data == "before"


def test_hosts_have_each_others_topics_with_their_ids_numbers_and_stamps(fleet):
    one, two = fleet("one"), fleet("two")
    one.bridge()
    two.bridge()
    publisher = one.node("talker").advertise("/chatter", String, 100)
    subscription = two.node("listener").subscribe("/chatter", String, qos=baton.QoS(100, held=64))
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    for i in range(50):
        publisher.publish({"data": str(i)})
    got = [take(subscription) for _ in range(50)]
    assert [each.data for each in got] == [str(i) for i in range(50)]
    assert [baton.info(each).sequence for each in got] == list(range(1, 51))
    assert {baton.info(each).publisher for each in got} == {publisher.gid}
    (shown,) = [each for each in two.node("looker").endpoints() if each.topic == "/chatter" and each.is_publisher]
    assert shown.node == "/talker@one"


def test_a_message_crosses_only_while_somebody_subscribes(fleet):
    host = fleet("robot")
    host.bridge()
    publisher = host.node("talker").advertise("/chatter", String)
    until(lambda: tokens(fleet.peer, "MP"))
    assert publisher.matched == 0
    heard = Heard(fleet.peer)
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    heard._subscriber.undeclare()
    until(lambda: publisher.matched == 0, "the bridge goes on subscribing")


def test_a_latched_message_reaches_a_late_subscription(fleet):
    one, two = fleet("one"), fleet("two")
    publisher = one.node("map").advertise("/chatter", String, LATCHED)
    for text in ("first", "second"):
        publisher.publish({"data": text})
    one.bridge()
    two.bridge()
    subscription = two.node("late").subscribe("/chatter", String, qos=LATCHED)
    assert [take(subscription).data for _ in range(2)] == ["first", "second"]
    publisher.publish({"data": "third"})
    assert take(subscription).data == "third"


def serve(node: baton.Node, name: str = "/switch") -> Any:
    """SetBool; its response says what was asked."""

    def handler(request: Any, response: Any) -> None:
        response.success = request.data
        response.message = f"it is {request.data}"

    node.serve(name, "std_srvs/SetBool", handler)
    executor = baton.Executor(node)
    threading.Thread(target=executor.spin, daemon=True).start()
    return executor


def set_bool(value: bool) -> bytes:
    return b"\0\1\0\0" + bytes([value])


def test_a_client_of_zenoh_calls_a_server_of_baton(fleet):
    host = fleet("robot")
    host.bridge()
    executor = serve(host.node("server"))
    try:
        until(lambda: any("%switch" in key for key in tokens(fleet.peer, "SS")))
        gid = bytes(range(16))
        key = f"0/switch/{SET_BOOL}/{SET_BOOL_HASH}"
        replies = list(fleet.peer.get(key, payload=set_bool(True), attachment=words(7, 1, gid), timeout=LIMIT_S))
        (reply,) = [each.ok for each in replies]
        number, _, client = as_words(reply)
        assert (number, client) == (7, gid)
        response = STORE.deserialize_cdr(bytes(reply.payload), "std_srvs/msg/SetBool_Response")
        assert (response.success, response.message) == (True, "it is True")
    finally:
        executor.cancel()


def test_a_client_of_baton_calls_a_server_of_zenoh(fleet):
    host = fleet("robot")
    host.bridge()
    asked: list[Any] = []

    def answer(query: Any) -> None:
        asked.append((as_words(query), bytes(query.payload)))
        response = STORE.types["std_srvs/msg/SetBool_Response"](success=True, message=f"asked {len(asked)}")
        data = bytes(STORE.serialize_cdr(response, "std_srvs/msg/SetBool_Response"))
        number, _, gid = asked[-1][0]
        query.reply(query.key_expr, data, attachment=words(number, 1, gid))
        query.drop()

    key = f"0/switch/{SET_BOOL}/{SET_BOOL_HASH}"
    queryable = fleet.peer.declare_queryable(key, answer, complete=True)
    token = f"@ros2_lv/0/{fleet.peer.zid()}/0/11/SS/%/%/server/%switch/{SET_BOOL}/{SET_BOOL_HASH}/::,10:,:,:,,"
    alive = fleet.peer.liveliness().declare_token(token)
    client = host.node("caller").client("/switch", "std_srvs/SetBool")
    assert client.wait_for_service(LIMIT_S)
    assert [client.call({"data": True}, LIMIT_S).message for _ in range(2)] == ["asked 1", "asked 2"]
    (first, request), (second, _) = asked
    assert first[2] == second[2] and first[0] != second[0]
    assert request == set_bool(True)
    alive.undeclare()
    until(lambda: not client.available(), "the server stays after its token")
    queryable.undeclare()


def test_requests_without_a_response_are_given_up_from_the_oldest(fleet):
    host = fleet("robot")
    host.bridge()
    server = host.node("server")
    server.serve("/switch", "std_srvs/SetBool", lambda request, response: None)  # nobody runs it
    until(lambda: any("%switch" in key for key in tokens(fleet.peer, "SS")))
    key = f"0/switch/{SET_BOOL}/{SET_BOOL_HASH}"
    refused: list[str] = []

    def answer(reply: Any) -> None:
        refused.append(reply.err.payload.to_string())

    for _ in range(65):
        fleet.peer.get(key, answer, payload=set_bool(True), timeout=LIMIT_S)
    until(lambda: refused, host.bridges[0].log)
    assert refused == ["too many requests have no response yet"]
    host.says("/switch: its oldest request is lost")


@pytest.mark.parametrize("way", [(), ("--raw",)], ids=["cdr", "raw"])
def test_hosts_have_each_others_services(fleet, way):
    one, two = fleet("one"), fleet("two")
    one.bridge(*way)
    two.bridge(*way)
    executor = serve(one.node("server"))
    try:
        callers = [two.node(f"caller{i}").client("/switch", "std_srvs/SetBool") for i in range(2)]
        for i, caller in enumerate(callers):
            assert caller.wait_for_service(LIMIT_S)
            assert caller.call({"data": i == 0}, LIMIT_S).message == f"it is {i == 0}"
    finally:
        executor.cancel()


def test_raw_chunks_cross_between_hosts_and_are_checked(fleet):
    one, two = fleet("one"), fleet("two")
    one.bridge("--raw")
    two.bridge("--raw")
    image = baton.message("sensor_msgs/Image")
    publisher = one.node("camera").advertise("/image", image)
    subscription = two.node("viewer").subscribe("/image", image)
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    publisher.publish({"width": 640, "encoding": "mono8", "data": list(range(256)) * 4})
    got = take(subscription)
    assert (got.width, got.encoding, bytes(got.data[-2:])) == (640, "mono8", b"\xfe\xff")
    assert baton.info(got).publisher == publisher.gid
    assert tokens(fleet.peer, "MP") == []  # no node of ROS 2 could read it
    (token,) = tokens(fleet.peer, "MP", "@baton_lv")
    key = f"@baton_{sys.byteorder}/0/image/sensor_msgs::msg::dds_::Image_/BATON_{image._struct.hash.hex()}"
    broken = b"\xff" * 400
    fleet.peer.put(key, broken, attachment=words(2, 1, publisher.gid))
    two.says("/image: a message of Zenoh is lost")
    publisher.publish({"width": 641})
    assert take(subscription).width == 641


def test_rules_say_what_crosses_and_how(fleet):
    host = fleet("robot")
    host.bridge(
        "--give",
        "chatter",
        "--give",
        "arm/**",
        "--deny",
        "arm/raw",
        "--priority",
        "chatter=real_time",
        "--congestion",
        "arm/**=block",
        "--rate",
        "arm/**=0.001",
    )
    node = host.node("talker")
    topics = {name: node.advertise(name, String, 100) for name in ("/chatter", "/arm/pose", "/arm/raw", "/other")}
    heard = Heard(fleet.peer, "0/**")
    for name in ("/chatter", "/arm/pose"):
        assert topics[name].wait_for_subscriptions(1, LIMIT_S)
    until(lambda: {key.split("/")[9] for key in tokens(fleet.peer, "MP")} == {"%chatter", "%arm%pose"})
    for _ in range(5):
        topics["/arm/pose"].publish({"data": "pose"})
    other = node.advertise("/arm/pose", String)  # the rate is that of each publisher
    assert other.wait_for_subscriptions(1, LIMIT_S)
    other.publish({"data": "behind"})
    topics["/chatter"].publish({"data": "last"})
    of = lambda name: [each for each in heard.samples if f"0/{name}/" in str(each.key_expr)]  # noqa: E731
    until(lambda: of("chatter"))
    until(lambda: any(as_words(each)[2] == other.gid for each in of("arm/pose")))
    assert of("chatter")[0].priority == zenoh.Priority.REAL_TIME
    assert [as_words(each)[2] for each in of("arm/pose")] == [topics["/arm/pose"].gid, other.gid]
    assert of("arm/pose")[0].congestion_control == zenoh.CongestionControl.BLOCK
    assert topics["/arm/raw"].matched == topics["/other"].matched == 0


def test_hostile_input_is_counted_and_harms_nothing(fleet):
    host = fleet("robot")
    bridge = host.bridge()
    subscription = host.node("listener").subscribe("/chatter", String, qos=1000)
    talker = Talker(fleet.peer)
    publish_until(lambda: talker.say("before"), subscription.take)
    liars = [
        fleet.peer.liveliness().declare_token(text)
        for text in (
            f"@ros2_lv/0/x/0/1/MP/%/%/liar/%chatter/{STRING}/RIHS01_{'0' * 64}/::,10:,:,:,,",
            f"@ros2_lv/0/x/0/2/MP/%/%/liar/%chatter/no_type/{STRING_HASH}/::,10:,:,:,,",
            f"@ros2_lv/0/x/0/3/MP/%/%/liar/%a b/{STRING}/{STRING_HASH}/::,10:,:,:,,",
            f"@ros2_lv/0/x/0/4/MP/%/%/liar/%chatter/{STRING}/{STRING_HASH}/qos",
            f"@ros2_lv/0/x/0/5/MP/%/%/liar/%deep/{STRING}/{STRING_HASH}/::,99999999999999999999:,:,:,,",
            "@ros2_lv/0/short",
            "@ros2_lv/0/x/0/not a number/MP/%/%/liar/a/b/c/d",
            f"@ros2_lv/0/x/0/6/SS/%/%/liar/%switch/{SET_BOOL}/RIHS01_{'0' * 64}/::,10:,:,:,,",
        )
    ]
    gid = hashlib.sha256(b"liar").digest()[:16]
    good = words(1, 1, gid)
    attacks = [
        (b"", good),
        (b"\0\1\0\0\xff\xff\xff\xff", good),
        (b"\xff" * 1000, good),
        (bytes(1 << 20), good),
        (cdr("x"), b""),
        (cdr("x"), b"\0" * 33),
        (cdr("x"), b"x" * 100_000),
        (cdr("x"), words(-1, 1, gid)),
        (cdr("x"), words(0, 1, gid)),
        (cdr("x"), words(1, 1, b"short")),
    ]
    for _ in range(30):
        for payload, attachment in attacks:
            fleet.peer.put(KEY, payload, attachment=attachment, congestion_control=zenoh.CongestionControl.BLOCK)
    for i in range(200):  # each another publisher without a token
        fleet.peer.put(KEY, cdr("crowd"), attachment=words(1, 1, i.to_bytes(16, "big")))
    publish_until(
        lambda: talker.say("after"), lambda: next((m for m in iter(subscription.take, None) if m.data == "after"), None)
    )
    publishers = [each for each in host.node("looker").endpoints() if each.topic == "/chatter" and each.is_publisher]
    assert len(publishers) <= 2 + 64
    assert bridge.poll() is None
    host.says("is left out")
    host.says("is lost")
    assert len(bridge.log().splitlines()) < 40, bridge.log()
    assert liars


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_a_bridge_that_ends_leaves_no_ghost_and_the_next_takes_over(fleet, sent):
    one, two = fleet("one"), fleet("two")
    first = one.bridge()
    two.bridge()
    second = one.bridge(ready=False)
    until(lambda: "on standby" in second.log(), second.log)
    publisher = one.node("talker").advertise("/chatter", String)
    subscription = two.node("listener").subscribe("/chatter", String)
    assert publisher.wait_for_subscriptions(1, LIMIT_S)
    first.send_signal(sent)
    assert first.wait(LIMIT_S) in (0, -signal.SIGKILL), first.log()
    one.says(": joins ", second)
    got = publish_until(lambda: publisher.publish({"data": "again"}), subscription.take)
    assert baton.info(got).publisher == publisher.gid
    second.send_signal(signal.SIGTERM)
    assert second.wait(LIMIT_S) == 0, second.log()
    until(lambda: subscription.matched == 0, "the publisher stays")
    until(lambda: not any("%one%" in key for key in tokens(fleet.peer, "MP")), "a token stays")


def test_a_router_that_is_started_again_has_all_again(fleet):
    one, two = fleet("one"), fleet("two")
    one.bridge()
    two.bridge()
    publisher = one.node("talker").advertise("/chatter", String)
    subscription = two.node("listener").subscribe("/chatter", String)
    publish_until(lambda: publisher.publish({"data": "before"}), subscription.take)
    fleet.router.close()
    until(lambda: subscription.matched == 0, "the publisher stays without a router")
    while subscription.take() is not None:
        pass
    fleet.router = session("router", listen=fleet.endpoint)
    publish_until(
        lambda: publisher.publish({"data": "after"}), lambda: (m := subscription.take()) and m.data == "after" or None
    )


def test_the_guides_configurations_encrypt_refuse_strangers_and_control_access(fleet, tmp_path):
    text = (ROOT / "docs/guides/zenoh.md").read_text().partition("## How do I secure it?")[2]
    commands, cloud_file, robot_file = re.findall(r"^```(?:sh|json5)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[:3]
    commands = commands.replace("fleet.example.com", "localhost")
    subprocess.run(["bash", "-ec", commands], cwd=tmp_path, check=True, capture_output=True)

    def write(name: str, text: str) -> list[str]:
        text = re.sub(r'"([\w.]+\.(?:pem|key))"', rf'"{tmp_path}/\1"', text.replace("fleet.example.com", "localhost"))
        (tmp_path / name).write_text(text)
        return ["--config", str(tmp_path / name)]

    with Ports(1) as (port,):
        endpoint = f"tls/localhost:{port}"
        cloud, robot, stranger = (fleet(name, "") for name in ("cloud", "robot7", "stranger"))
        cloud.bridge("--listen", endpoint, *write("cloud.json5", cloud_file))
        talker = robot.node("talker")
        allowed, denied = (talker.advertise(name, String, LATCHED) for name in ("/robot7/state", "/robot8/state"))
        denied.publish({"data": "secret"})
        allowed.publish({"data": "allowed"})
        robot.bridge("--router", endpoint, *write("robot7.json5", robot_file))
        listener = cloud.node("listener")
        lost, got = (listener.subscribe(name, String, qos=LATCHED) for name in ("/robot8/state", "/robot7/state"))
        assert take(got).data == "allowed"
        assert lost.wait_for_publishers(1, LIMIT_S)
        for text in ("one", "two"):
            denied.publish({"data": text})
            allowed.publish({"data": text})
            assert take(got).data == text
        assert lost.take() is None
        words = write("stranger.json5", robot_file.replace("connect_certificate", "no_certificate"))
        refused = stranger.bridge("--router", endpoint, *words, ready=False)
        until(lambda: "waits for a router" in refused.log() or refused.poll() is not None, refused.log)
        assert ": joins " not in refused.log()
