# SPDX-License-Identifier: Apache-2.0
"""The pure parts: names, hashes of types, rules, lines."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import baton
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import ROOT

pytest.importorskip("zenoh", reason="no eclipse-zenoh (make setup)")
from baton_zenoh import names, types
from baton_zenoh.lines import Lines
from baton_zenoh.names import KeyScheme, Token, parse_token
from baton_zenoh.rules import RuleError, Rules
from baton_zenoh.session import SessionError, configuration

WHEELS = ROOT / ".venv-ros2-kilted"
# As the design page of rmw_zenoh shows it.
OF_ZENOH = (
    "@ros2_lv/2/8b20917502ee955ac4476e0266340d5c/0/10/MP/%/%/talker/%chatter/std_msgs::msg::dds_::String_/"
    "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18/::,7:,:,:,,"
)


def test_a_token_of_rmw_zenoh_is_read_and_written():
    token = parse_token(OF_ZENOH)
    assert (token.node, token.name, token.type) == ("/talker", "/chatter", "std_msgs::msg::dds_::String_")
    assert token.key(KeyScheme(), 2) == OF_ZENOH
    assert names.qos_of(token.qos) == {
        "reliability": "reliable",
        "durability": "volatile",
        "history": "keep_last",
        "depth": 7,
    }
    assert (token.host, token.gid) == ("zenoh", None)
    assert parse_token("@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0/0/NN/%/%/listener").node == "/listener"


def test_a_bridge_marks_its_tokens():
    gid = bytes(range(16))
    token = Token("ab", 3, "MP", "/arm/talker", "/chatter", "t", "h", "::,:,:,:,,", names.mark("robot-1", gid))
    assert parse_token(token.key(KeyScheme(), 0)) == token
    assert (token.host, token.gid) == ("robot-1", gid)
    assert names.short_host("a/b%*c") == "a_b__c"


@pytest.mark.parametrize(
    ("qos", "text"),
    [
        (baton.QoS(), "::,:,:,:,,"),
        (baton.QoS(7), "::,7:,:,:,,"),
        (baton.QoS(1, reliability="best_effort", durability="transient_local"), "2:1:,1:,:,:,,"),
        (baton.QoS(10, history="keep_all"), "::2,:,:,:,,"),
        (baton.QoS(deadline=1.5, liveliness="manual_by_topic", lease=2), "::,:1,500000000:,:3,2,0"),
    ],
)
def test_quality_of_service_has_rmws_numbers(qos, text):
    assert names.qos_text(qos) == text
    back = names.qos_of(text)
    for policy in ("reliability", "durability", "history", "depth"):
        assert back[policy] == getattr(qos, policy)


@given(st.text(max_size=300))
def test_what_is_no_token_is_a_value_error(text):
    try:
        token = parse_token(text)
        names.qos_of(token.qos)
    except ValueError:
        pass


@given(st.binary(max_size=64))
def test_what_is_no_attachment_is_a_value_error(data):
    try:
        number, time_ns, gid = names.read_attachment(data)
        assert number >= 1 and time_ns >= 0 and len(gid) == 16
    except ValueError:
        pass


@pytest.mark.parametrize("number, time_ns", [(1 << 63, 0), (0, 1 << 63), (0, -(1 << 63) - 1)])
def test_what_has_no_place_in_an_attachment_is_a_value_error(number, time_ns):
    with pytest.raises(ValueError, match="has no place"):
        names.attachment(number, time_ns, bytes(16))


def test_an_attachment_comes_back():
    assert names.read_attachment(names.attachment(7, 8, bytes(16))) == (7, 8, bytes(16))


def described() -> list[Path]:
    return sorted(WHEELS.glob("share/*/*/*.json"))


@pytest.mark.skipif(not described(), reason="no wheels of ROS 2 (make setup)")
def test_hashes_of_types_are_those_of_ros_2(monkeypatch):
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(WHEELS), os.environ.get("AMENT_PREFIX_PATH", "")]))
    source = types.TypeSource(standard="ros2_kilted")
    compared = {"msg": 0, "srv": 0}
    for path in described():
        text = json.loads(path.read_text())
        if "type_hashes" not in text:
            continue
        full = text["type_description_msg"]["type_description"]["type_name"]
        package, kind, name = full.split("/")
        wanted = next(each["hash_string"] for each in text["type_hashes"] if each["type_name"] == full)
        short = f"{package}/{name}"
        if kind not in compared or (kind == "msg" and name not in source.names(package)):
            continue  # ROS 2's IDL alone defines it
        cls = source.message(short) if kind == "msg" else source.service(short)
        assert types.hash_of(KeyScheme(), cls) == wanted, full
        compared[kind] += 1
    assert compared["msg"] > 100 and compared["srv"] > 20


def test_raw_keys_have_batons_hash():
    cls = baton.message("std_msgs/String")
    assert types.hash_of(KeyScheme(raw=True), cls) == f"BATON_{cls._struct.hash.hex()}"


def test_names_of_types_are_those_of_dds():
    assert names.dds_type("std_msgs/String") == "std_msgs::msg::dds_::String_"
    assert names.dds_type("std_srvs/SetBool", of_service=True) == "std_srvs::srv::dds_::SetBool_"
    assert names.dds_type("a/Fib_SendGoal", of_service=True) == "a::action::dds_::Fib_SendGoal_"
    assert names.baton_type("std_msgs::msg::dds_::String_") == "std_msgs/String"
    with pytest.raises(ValueError):
        names.baton_type("std_msgs/msg/String")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"give": ["a//b"]}, "--give a//b: this is no key expression"),
        ({"rate": ["camera"]}, "--rate camera: expected an expression and a value"),
        ({"rate": ["camera=fast"]}, "expected messages a second"),
        ({"priority": ["camera=urgent"]}, "expected one of real_time"),
        ({"congestion": ["camera=wait"]}, "expected one of drop, block"),
    ],
)
def test_a_wrong_rule_names_the_option_and_the_way_out(options, words):
    with pytest.raises(RuleError, match=words):
        Rules(**options)


def test_the_announcements_of_rmw_bridges_always_cross():
    rules = Rules(give=["camera/**"], deny=["camera/raw"])
    crosses = rules.crosses
    assert [crosses("give", name) for name in ("/camera/image", "/camera/raw", "/rosout")] == [True, False, False]
    assert crosses("give", "/rosout", "/_baton_bridge_1") and crosses("take", "/anything")


def test_a_pace_lets_one_message_of_a_period_pass():
    assert Rules(rate=["camera/**=5"]).pace("/chatter") is None
    pace = Rules(rate=["chatter=0.001"]).pace("/chatter")
    assert [pace.lets(), pace.lets()] == [True, False]


def test_lines_are_few_and_what_is_lost_is_counted():
    said: list[str] = []
    now = [0.0]
    lines = Lines(said.append, lambda: now[0])
    for i in range(2000):
        lines.count(f"/topic{i}", "why", "a message is lost")
        lines.count("/topic0", "why", "a message is lost")
    assert len(said) == Lines.MOST
    assert lines.lost == 4000
    now[0] = 2 * Lines.MOST_OFTEN_S
    lines.count("/topic0", "why", "a message is lost")
    unreported = [int(found) for found in re.findall(r"\(and (\d+) more since the last such line\)", "".join(said))]
    assert len(said) + sum(unreported) == 4001


def test_a_wrong_configuration_is_an_error_in_words(tmp_path):
    file = tmp_path / "zenoh.json5"
    file.write_text("{ mode: 'planet' }")
    with pytest.raises(SessionError, match=f"--config {file}"):
        configuration(file, (), ())
    with pytest.raises(SessionError, match="an endpoint is as tcp"):
        configuration(None, ("no endpoint",), ())
    file.write_text("{ mode: 'peer' }")
    config = configuration(file, (), ())
    assert json.loads(config.get_json("mode")) == "peer"
    assert json.loads(configuration(file, ("tcp/127.0.0.1:7447",), ()).get_json("mode")) == "client"
    assert json.loads(configuration(None, (), ("tcp/127.0.0.1:0",)).get_json("mode")) == "router"


def test_a_depth_is_bounded():
    assert names.qos_of("::,99999999999999999999:,:,:,,")["depth"] == names.MOST_DEPTH


def test_a_line_steers_no_terminal():
    said: list[str] = []
    Lines(said.append).count("/a\x1b[2J\u202e", "why", "text")
    assert said == ["/a\\x1b[2J\\u202e: text"]


@pytest.mark.parametrize("name", ["/a/*", "/**", "/a$*", "/a//b", "/a?b", "/a#b"])
def test_a_name_that_would_mean_several_is_no_key(name):
    with pytest.raises(ValueError, match="can be no key of Zenoh"):
        KeyScheme().key(0, name, "t", "h")


def test_a_node_whose_name_would_mean_several_has_no_token():
    with pytest.raises(ValueError, match="can be no key of Zenoh"):
        Token("ab", 1, "NN", "/arm/*").key(KeyScheme(), 0)


def test_different_faults_of_a_topic_have_a_line_each():
    said: list[str] = []
    lines = Lines(said.append)
    for words in (
        "its number is 0",
        "its attachment has 1 bytes",
        "its attachment has 2 bytes",
        "refused: a",
        "refused: b",
    ):
        with lines.counting("/chatter", "a message is lost"):
            raise ValueError(words)
    assert [line.rpartition(": ")[0] or line for line in said[:2]] == ["/chatter: a message is lost"] * 2
    assert len(said) == 3 and lines.lost == 5
