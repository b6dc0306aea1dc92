# SPDX-License-Identifier: Apache-2.0
"""The parts of the bridge between a Zenoh and, mostly, a Baton that the test plays."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import baton
import pytest
from baton.msg.std_msgs import String
from support.processes import environment
from support.waiting import LIMIT_S

pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
pytest.importorskip("zenoh.ext")
import zenoh
from baton_zenoh import inbound as inbound_module
from baton_zenoh import names, services, sides
from baton_zenoh.bridge import ZenohBridge
from baton_zenoh.inbound import Inbound, token_gid
from baton_zenoh.lines import Lines
from baton_zenoh.names import KeyScheme, Token
from baton_zenoh.outbound import Outbound
from baton_zenoh.rules import Rules
from baton_zenoh.services import Called, Offered
from baton_zenoh.sides import DomainGraph, Sides

STRING = "std_msgs::msg::dds_::String_"
LATCHED = baton.QoS(3, durability="transient_local")


class Played(Sides):
    """`says`: the lines; `published`: topics and payloads; `matched`: the subscriptions of each publisher."""

    def __init__(self, node: Any = None, sender: Any = None) -> None:
        session = MagicMock()
        session.zid.return_value = "ab"
        self.says: list[str] = []
        self.published: list[tuple[str, Any]] = []
        self.matched = 0
        super().__init__(
            node or Mock(), sender or Mock(), session, KeyScheme(), 0, "robot", Rules(), Lines(self.says.append), Mock()
        )


class Alone(Played):
    """Without Baton."""

    def advertise(self, *words: Any, **_: Any) -> Any:
        one = Mock(topic=words[0])
        type(one).matched = property(lambda _: self.matched)
        return one

    def subscribe(self, *words: Any, **_: Any) -> Any:
        return Mock()

    def publish(self, publisher: Any, payload: Any, words: Any) -> None:
        self.published.append((publisher.topic, payload))


def endpoint(topic: str, number: int, qos: baton.QoS | None = None, type_name: str = "std_msgs/String") -> Any:
    hash_ = String._struct.hash
    return SimpleNamespace(
        topic=topic, gid=bytes([number] * 16), type_name=type_name, type_hash=hash_, node="/n", qos=qos or baton.QoS()
    )


def named(of: Sides, topic: str = "/chatter") -> sides.Named:
    return of.named(endpoint(topic, 1))


def sample(of: Sides, number: int, gid: bytes | None, text: bytes = b"x") -> Any:
    attachment = gid and names.attachment(number, 1, gid)
    return SimpleNamespace(attachment=attachment, payload=text, key_expr=named(of).key)


def talker(of: Sides, name: str = "/chatter", enclave: str = "/") -> tuple[str, Token]:
    token = Token("cd", 1, "MP", "/talker", name, STRING, named(of).hash, "::,:,:,:,,", enclave)
    return token.key(KeyScheme(), 0), token


def test_what_waits_at_a_publisher_that_is_replaced_is_forgotten():
    played = Alone()
    inbound, gid = Inbound(played), bytes(range(16))
    inbound._arrive(named(played), sample(played, 1, gid))
    assert inbound._pending_bytes > 0
    inbound.update(DomainGraph(), dict([talker(played, "/other", names.mark("liar", gid))]))
    assert inbound._pending_bytes == 0
    assert inbound._proxies[gid].named.name == "/other"


def test_a_message_brings_along_what_waited_for_the_first_subscription():
    played = Alone()
    inbound = Inbound(played)
    key, token = talker(played)
    inbound.update(DomainGraph(), {key: token})
    for number, text in enumerate((b"first", b"second"), 1):
        inbound._arrive(named(played), sample(played, number, token_gid(token, key), text))
        played.matched = 1
    assert played.published == [("/chatter", b"first"), ("/chatter", b"second")]
    assert inbound._pending_bytes == 0


@pytest.mark.parametrize("client", ["with numbers", "without an attachment"])
def test_a_deeper_latched_subscription_loses_and_doubles_nothing(monkeypatch, client):
    played, did = Alone(), []

    def declare(_: Any, key: str, arrive: Any, *, history: Any = None, **options: Any) -> Any:
        did.append("old messages too" if history else "new messages alone")
        return Mock(undeclare=lambda: did.append("end"))

    monkeypatch.setattr(zenoh.ext, "declare_advanced_subscriber", declare)
    played.session.declare_subscriber = lambda *words, **options: declare(None, *words, **options)
    inbound = Inbound(played)
    inbound.update(DomainGraph(subscriptions=[endpoint("/chatter", 1)]), {})
    inbound._arrive(named(played), sample(played, 1, bytes(range(16)) if client == "with numbers" else None))
    inbound.update(DomainGraph(subscriptions=[endpoint("/chatter", 1), endpoint("/chatter", 2, LATCHED)]), {})
    then = ["old messages too", "end"] if client == "with numbers" else ["end", "old messages too"]
    assert did == ["new messages alone", *then]
    assert len(inbound._proxies) == (client == "with numbers")


@pytest.mark.parametrize("part", [Inbound, Outbound])
def test_an_endpoint_is_named_once(monkeypatch, part):
    played, asked = Alone(), []
    real = Sides.named
    monkeypatch.setattr(Sides, "named", lambda self, each, *more: asked.append(each.topic) or real(self, each, *more))
    every = [endpoint("/chatter", 1), endpoint("/strange", 2, type_name="no/Type")]
    graph = DomainGraph(subscriptions=every) if part is Inbound else DomainGraph(publishers=every)
    made = part(played)
    words = (graph, {}) if part is Inbound else (graph,)
    for _ in range(3):
        made.update(*words)
    assert asked == ["/chatter", "/strange"]
    assert [line for line in played.says if "no/Type" in line] and played.lines.lost == 1
    made.update(*((DomainGraph(), {}) if part is Inbound else (DomainGraph(),)))
    made.update(*words)
    assert asked == ["/chatter", "/strange"] * 2


def test_a_response_after_the_end_of_its_service_is_nothing():
    played = Alone()
    hash_ = sides.types.hash_of(KeyScheme(), baton.service("std_srvs/SetBool"))
    called = Called(played, Token("cd", 1, "SS", "/server", "/switch", "std_srvs::srv::dds_::SetBool_", hash_))
    request = (bytes(16), 1)
    called._waiting.add(request)
    called.close()
    played.publish = lambda publisher, *_: publisher.topic  # as Baton refuses None
    called._respond(SimpleNamespace(ok=SimpleNamespace(payload=b"")), request)
    assert not called._waiting


def test_a_request_may_be_empty_and_after_the_end_of_its_service_it_is_nothing():
    played = Alone()
    server = endpoint("/switch/_request", 1, type_name="std_srvs/SetBool_Request")
    server.type_hash = baton.service("std_srvs/SetBool").Request._struct.hash
    offered, query = Offered(played, server), Mock(attachment=None, payload=None)
    offered._ask(query)
    assert [(topic, bytes(payload)) for topic, payload in played.published] == [("/switch/_request", b"")]
    offered.close()
    assert query.drop.called
    offered._ask(Mock(attachment=None, payload=zenoh.ZBytes(b"x")))
    assert not offered._asked and len(played.published) == 1


@pytest.mark.parametrize(
    "numbers, back",
    [
        ([1, 2, 3, 2, 1, 3, 4], None),  # repeats
        ([5, 6, 5000, 5001, 5, 6, 5001], None),  # much was missed, and caches repeat
        ([7, 8, 1 << 62, 9, 10, 11, 12], 11),
        ([1 << 62, 1, 2, 3, 4], 3),
        ([7, 1 << 60, 1 << 62, 8, 9, 10, 11], 10),  # the second lie is as far ahead of the first one
        ([7, 1 << 62, 8, 9, 10, 1 << 62, 11, 12, 13], 10),
        ([7, 1 << 60, 8, 9, (1 << 60) + 5000, 10, (1 << 60) + 10000, 11], 10),  # lies that go on
        ([5000, *range(4990, 5000)], None),  # what a cache brings of a publisher whose token comes later
    ],
)
def test_numbers_that_go_on_are_believed_more_than_one_far_ahead(numbers, back):
    proxy = inbound_module._Proxy(named(Alone()), None)
    assert next((number for number in numbers if proxy.goes_back(number)), None) == back


def test_what_a_cache_brings_late_is_no_sign_of_a_lie():
    proxy = inbound_module._Proxy(named(Alone()), None, qos=baton.QoS(10, durability="transient_local"))
    assert not any(map(proxy.goes_back, [1, 5000, *range(4990, 5010)]))
    assert [number for number in [1 << 62, 5010, 5011, 5012] if proxy.goes_back(number)] == [5012]


def test_requests_without_a_response_are_bounded_in_bytes(monkeypatch):
    monkeypatch.setattr(services, "MOST_REQUEST_BYTES", 100)
    played = Alone()
    server = endpoint("/switch/_request", 1, type_name="std_srvs/SetBool_Request")
    server.type_hash = baton.service("std_srvs/SetBool").Request._struct.hash
    offered = Offered(played, server)
    queries = [MagicMock(attachment=None, payload=zenoh.ZBytes(bytes(size))) for size in (60, 30, 30, 1000)]
    for query in queries:
        offered._ask(query)
    assert [query.reply_err.called for query in queries] == [True, True, True, False]
    assert len(played.published) == 4 and len(offered._asked) == 1


def test_tokens_of_publishers_that_the_domain_has_hold_up_no_other_one(monkeypatch):
    monkeypatch.setattr(inbound_module, "MOST_ADMITTED", 10)
    played, tried = Alone(), []

    def advertise(*words: Any, **_: Any) -> Any:
        tried.append(words[0])
        if words[0] == "/chatter":
            raise baton.AlreadyExists("it is here")
        return Mock(topic=words[0], matched=0)

    played.advertise = advertise
    tokens = dict(talker(played, enclave=names.mark("liar", bytes([number] * 16))) for number in range(45))
    tokens |= dict([talker(played, "/honest")])
    inbound = Inbound(played)
    rounds = []
    while "/honest" not in tried and len(rounds) < 10:
        before = len(tried)
        rounds.append((inbound.update(DomainGraph(), tokens), len(tried) - before))
    assert rounds == [(0.05, 10)] * 4 + [(rounds[-1][0], 10)]
    for _ in range(5):  # each of the others is tried again, in turn
        inbound.update(DomainGraph(), tokens)
    assert len(tried) == 100 and tried.count("/honest") == 1


def test_tokens_that_the_rules_refuse_hold_up_no_other_one(monkeypatch):
    monkeypatch.setattr(inbound_module, "MOST_ADMITTED", 10)
    played = Alone()
    played.rules = Rules(take=["honest"])
    tokens = dict(talker(played, enclave=names.mark("robot", bytes([number] * 16))) for number in range(45))
    tokens |= dict([talker(played, "/honest")])
    inbound = Inbound(played)
    assert inbound.update(DomainGraph(), tokens) == inbound_module._IDLE_S
    assert [proxy.named.name for proxy in inbound._proxies.values()] == ["/honest"]


def test_a_line_about_a_token_is_written_without_the_lock():
    played = Alone()
    bridge = ZenohBridge(played, threading.Event())
    locked: list[bool] = []
    played.lines.say = lambda text: locked.append(bridge._lock.locked())
    bridge._token_changes(SimpleNamespace(key_expr="@ros2_lv/0/short", kind=zenoh.SampleKind.PUT))
    assert locked == [False]


TALKER = """
import sys, time, baton
from baton.msg.std_msgs import String
node = baton.Node("talker", domain=0, enable_rosout=False)
every = [node.advertise("/slow", String, baton.QoS(5, history="keep_all")), node.advertise("/fast", String)]
assert all(each.wait_for_subscriptions(1, 60) for each in every)
every[0].publish({"data": "x"})
sys.stdin.readline()
every[1].publish({"data": "x"})
sys.stdin.readline()
"""


def test_a_full_line_stops_no_other_topic(tmp_path, monkeypatch):
    monkeypatch.setenv("BATON_RUNTIME_DIR", str(tmp_path))
    waits, came, free = (threading.Event() for _ in range(3))

    class Ended(Exception):
        pass

    def publisher(key: str, **_: Any) -> Any:
        def put(*_: Any, **__: Any) -> None:
            if "slow" in key:
                waits.set()
                assert free.wait(LIMIT_S)
            else:
                came.set()

        return Mock(put=put)

    with (
        baton.Node("bridge", domain=0, enable_rosout=False) as node,
        baton.Node("sender", domain=0, enable_rosout=False) as sender,
    ):
        played, changed = Played(node, sender), threading.Event()
        played.session.declare_publisher = publisher
        bridge = ZenohBridge(played, changed)

        def work() -> None:
            with pytest.raises(Ended):
                bridge.work()

        thread = threading.Thread(target=work)
        thread.start()
        words = [sys.executable, "-c", TALKER]
        with subprocess.Popen(words, env=environment(tmp_path), stdin=subprocess.PIPE, text=True) as program:
            try:
                assert waits.wait(LIMIT_S)
                program.stdin.write("\n")
                program.stdin.flush()
                assert came.wait(LIMIT_S), "the full line of /slow stops /fast"
            finally:
                free.set()
                program.stdin.close()
                bridge._inbound.update = Mock(side_effect=Ended)
                changed.set()
                thread.join(LIMIT_S)
                assert not thread.is_alive()
