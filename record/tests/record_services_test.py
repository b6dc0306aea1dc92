# SPDX-License-Identifier: Apache-2.0
"""Calls of services in a bag, as ROS 2's tools have them: events of servers and clients that publish them."""

from __future__ import annotations

import threading
from dataclasses import replace

import baton
import pytest
from baton.srv.std_srvs import SetBool
from baton_record.bag_errors import BagError
from baton_record.bag_source import open_bag
from baton_record.bag_types import class_of
from baton_record.play_player import Player
from baton_record.verbs.bag import command as bag_command
from click.testing import CliRunner
from mcap.reader import make_reader
from mcap.writer import Writer
from record_bags import Recording
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from support.build import RECORD, needs_package

pytestmark = needs_package(RECORD)


@pytest.fixture
def lamp():
    """A service that publishes its calls, and one that does not."""
    node = baton.Node("lamp")

    def answer(request, response):
        response.success, response.message = request.data, "on" if request.data else "off"

    service = node.serve("switch", SetBool, answer)
    node.serve("quiet", SetBool, answer)
    service.configure_introspection("contents")
    executor = baton.Executor(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield service
    executor.cancel()
    thread.join()


def events_of(path):
    """The events of a file, by the schema that it has."""
    with open(path, "rb") as file:
        rows = list(make_reader(file).iter_messages())
    assert {(channel.topic, schema.name) for schema, channel, _ in rows} == {
        ("/switch/_service_event", "std_srvs/srv/SetBool_Event")
    }
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(rows[0][0].data.decode(), "std_srvs/SetBool_Event"))
    return [store.deserialize_cdr(message.data, "std_srvs/msg/SetBool_Event") for _, _, message in rows]


@pytest.mark.parametrize("words", [["--all-services"], ["/switch/_service_event"]])
def test_requests_and_responses_are_in_the_bag(programs, tmp_path, lamp, words):
    bag = Recording(programs, tmp_path / "bag", *words)
    node = baton.Node("caller")
    client, quiet = node.client("switch", SetBool), node.client("quiet", SetBool)
    assert client.wait_for_service(60) and quiet.wait_for_service(60)
    while not bag.topic("switch/_service_event")["messages"]:  # the recorder is not connected yet
        assert client.call({"data": True}, 60)
        bag.next()
    for on in (True, False):
        assert quiet.call({"data": on}, 60) and client.call({"data": on}, 60)
    bag.stop()
    events = events_of(bag.files[0])[-4:]
    last = events[-1].info.sequence_number
    assert [(e.info.event_type, e.info.sequence_number - last) for e in events] == [(1, -1), (2, -1), (1, 0), (2, 0)]
    assert [r.data for e in events for r in e.request] == [True, False]
    assert [(r.success, r.message) for e in events for r in e.response] == [(True, "on"), (False, "off")]


@pytest.fixture
def asked(programs, tmp_path, lamp):
    """A bag in which both ends of a service published that it was asked for True, and then for False."""
    bag = Recording(programs, tmp_path / "bag", "--all-services")
    node = baton.Node("caller")
    client = node.client("switch", SetBool)
    client.configure_introspection("contents")
    assert client.wait_for_service(60)
    while not bag.topic("switch/_service_event")["messages"]:
        assert client.call({"data": True}, 60)
        bag.next()
    for on in (True, False):
        assert client.call({"data": on}, 60)
    bag.stop()
    return bag.directory


@pytest.mark.parametrize("source", ["service", "client"])
def test_recorded_requests_are_sent_to_the_server_again(asked, source):
    node, heard, last = baton.Node("other_lamp"), [], threading.Event()

    def answer(request, response):
        heard.append(request.data)
        if not request.data:
            last.set()

    node.serve("lamp", SetBool, answer)
    executor = baton.Executor(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    try:
        with Player(asked, rate=100, service_requests=source, remap={"/switch": "/lamp"}) as player:
            assert player.wait_for_subscriptions(timeout=60)
            published = player.play()
            assert last.wait(60)
    finally:
        executor.cancel()
        thread.join()
    assert heard[-2:] == [True, False] and published == len(heard)


def test_without_a_server_the_requests_are_left_out_with_a_sentence(asked):
    said = []
    with Player(
        asked, rate=100, service_requests="client", remap={"/switch": "/nobody"}, on_skip=said.append
    ) as player:
        assert player.play() == 0
    assert said == ["/nobody: nobody serves it, so its requests are left out"]
    with pytest.raises(BagError, match="service_requests is 'service' or 'client', not 'both'"):
        Player(asked, service_requests="both")


EVENT = """service_msgs/ServiceEventInfo info
std_srvs/SetBool_Request[<=1] request
std_srvs/SetBool_Response[<=1] response
===
MSG: service_msgs/ServiceEventInfo
uint8 event_type
builtin_interfaces/Time stamp
uint8[16] client_gid
int64 sequence_number
===
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
===
MSG: std_srvs/SetBool_Request
bool data
===
MSG: std_srvs/SetBool_Response
bool success
string message
""".replace("===", "=" * 80)
# A request for True that the server got: its encapsulation, the info, the number of requests at 44, the request, no response.
REQUEST = bytes([0, 1, 0, 0, 1, *bytes(39), 1, 0, 0, 0, 1, *bytes(7)])


def play_events(path, *events, definition=EVENT):
    """How many requests are sent, and what the player says, when a bag has these events."""
    with open(path, "wb") as file:
        writer = Writer(file)
        writer.start("ros2")
        schema = writer.register_schema("std_srvs/srv/SetBool_Event", "ros2msg", definition.encode())
        channel = writer.register_channel("/switch/_service_event", "cdr", schema)
        for number, event in enumerate(events):
            writer.add_message(channel, number, event, number)
        writer.finish()
    said = []
    with Player(path, rate=100, service_requests="service", on_skip=said.append) as player:
        assert player.wait_for_subscriptions(timeout=60)
        return player.play(), said


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(b"", id="empty"),
        pytest.param(REQUEST[:20], id="truncated"),
        pytest.param(REQUEST[:44] + b"\xff" * 4 + REQUEST[48:], id="count"),
        pytest.param(b"\0\x77" + REQUEST[2:], id="encapsulation"),
    ],
)
def test_a_damaged_event_is_left_out_and_those_after_it_are_sent(lamp, tmp_path, damaged):
    played, said = play_events(tmp_path / "bag.mcap", REQUEST, damaged, REQUEST)
    assert played == 2
    assert len(said) == 1 and "/switch/_service_event: an event cannot be read, so it is left out" in said[0]


@pytest.mark.parametrize("head", ["", f"{'=' * 80}\nSRV: std_srvs/srv/SetBool\n"], ids=["plain", "with a head"])
@pytest.mark.parametrize("behind", ["", f"{'=' * 80}\nMSG: std_msgs/Empty\n"], ids=["alone", "with nested types"])
def test_events_are_played_whose_definition_is_the_service_s_as_in_bags_of_rosbag2(lamp, tmp_path, head, behind):
    bag = tmp_path / "bag.mcap"
    text = f"{head}bool data # comment\n---\nbool success\nstring message\n{behind}"
    assert play_events(bag, REQUEST, REQUEST, definition=text) == (2, [])
    for new in ("db", "back.mcap"):
        words = ["convert", str(bag), str(tmp_path / new), *(["--storage", "sqlite3"] if new == "db" else [])]
        assert CliRunner().invoke(bag_command, words).exit_code == 0
        bag = tmp_path / new
        with open_bag(bag) as opened:
            (topic,) = opened.topics
            assert class_of(topic)._struct.hash == SetBool.Event._struct.hash
            assert class_of(replace(topic, definition=None)) is SetBool.Event
            assert [bytes(message.data) for message in opened.messages()] == [REQUEST] * 2


def test_events_are_published_as_any_message_by_default(asked):
    node = baton.Node("listener")
    events = node.subscribe("switch/_service_event", SetBool.Event, qos=1000)
    with Player(asked, node, rate=100, topics=["/switch/*"]) as player:
        assert player.wait_for_subscriptions(timeout=60) and player.play() >= 4
    assert not [on for e in iter(lambda: events.take(0), None) for on in e.request["data"]][-1]


def test_conversion_keeps_the_type_of_events(asked, tmp_path):
    events = events_of(next(asked.glob("*.mcap")))
    for name, words in (("new.mcap", []), ("db", ["--storage", "sqlite3"]), ("back.mcap", [])):
        source = tmp_path / "db" if name == "back.mcap" else asked
        done = CliRunner().invoke(bag_command, ["convert", str(source), str(tmp_path / name), *words])
        assert done.exit_code == 0, done.output
    for name in ("new.mcap", "back.mcap"):
        assert repr(events_of(tmp_path / name)) == repr(events)
    assert "type: std_srvs/srv/SetBool_Event" in (tmp_path / "db/metadata.yaml").read_text()
