# SPDX-License-Identifier: Apache-2.0
"""Commands beside a process that announces as much as it may: 65,536 endpoints."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import baton
from baton_cli import live, rates
from baton_cli.verbs import doctor, top
from support.build import needs_package

pytestmark = needs_package()


def end(topic: str, number: int, publishes: bool, durability: str = "volatile") -> Any:
    return SimpleNamespace(
        topic=topic,
        type_name="std_msgs/String",
        type_hash=b"h",
        node="n",
        pid=number,
        gid=b"%d" % number,
        is_publisher=publishes,
        qos=baton.QoS(5, durability=durability),
    )


class Counted(str):
    """The name of a topic, which counts how often names are compared or looked up."""

    looks = 0

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)

    def __contains__(self, part: object) -> bool:
        Counted.looks += 1
        return str.__contains__(self, part)  # type: ignore[operator]


def test_doctor_looks_at_a_crowd_of_topics_a_few_times_each(monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(doctor, "did_you_mean", lambda name, known: asked.append(name) or "")
    ends = [end(Counted(f"/t{number}"), number, True, "transient_local") for number in range(2000)]
    Counted.looks = 0
    assert len(doctor.judge_topics(ends, set(), set())) == 2000
    assert len(asked) == 50
    assert Counted.looks < 50 * len(ends)


def test_doctor_examines_a_bounded_number_of_pairs_of_small_topics_first(monkeypatch):
    monkeypatch.setattr(doctor, "MOST_PAIRS", 100)
    monkeypatch.setattr(
        doctor, "judge_pair", lambda p, s, *_: doctor.Diagnosis(f"{p.topic}: {p.pid} -> {s.pid}", True, "")
    )
    crowd = [end("/a", number, number < 50) for number in range(100)]
    found = doctor.judge_topics([*crowd, end("/honest", 1, True), end("/honest", 2, False)], set(), set())
    counts = Counter(finding.what.partition(":")[0] for finding in found)
    assert counts == {"/a": 99, "/honest": 1, "pairs": 1}
    assert found[-1].why == "2401 of the topics with most pairs are not examined"


def test_doctor_reads_holdings_once():
    looks = 0

    class Publisher(bytes):
        def __eq__(self, other: object) -> bool:
            nonlocal looks
            looks += 1
            return bytes.__eq__(self, other)

        __hash__ = bytes.__hash__

    ends = [end("/t", number, True) for number in range(500)]
    figures = {"slots": 4, "shared": 3, "promised": 0, "granted": 1, "wished": 1, "held": 0, "unread": 0}
    holdings = [
        SimpleNamespace(publisher=Publisher(e.gid), subscription=b"s", standing="connected", reason="", **figures)
        for e in ends
    ]
    assert len(doctor.judge_slots(ends, holdings)[0]) == 500
    assert looks < 50 * len(ends)


def test_commands_subscribe_to_a_bounded_number_of_topics(monkeypatch, capsys):
    monkeypatch.setattr(live, "MOST_WATCHED", 5)
    monkeypatch.setattr(live, "message_class_as", lambda endpoint: endpoint.type_name)
    subscribed: list[str] = []
    ends = [end(f"/t{number}", number, True) for number in range(20)]
    node = SimpleNamespace(
        endpoints=lambda: ends,
        subscribe=lambda topic, *_, **__: subscribed.append(topic) or SimpleNamespace(),
        destroy=lambda one: None,
    )
    known: dict[tuple[str, str], top.Watched] = {}
    for _ in range(2):
        top.watch(node, known, ends)
    assert len(known) == 20 and len(subscribed) == 5
    assert sum(watched.why_not == "there are more than 5 topics" for watched in known.values()) == 15
    for topics, count in ((ends[2:], 7), (ends[-4:], 11)):  # those that have room now are subscribed
        top.watch(node, known, topics)
        assert len(subscribed) == count
    assert not any(watched.why_not for watched in known.values())
    subscribed.clear()
    monkeypatch.setattr(live, "subscribe", lambda node, topic, *_, **__: subscribed.append(topic))
    watch = rates._RateWatch(node, (), True, lambda topic: rates.RateMeter(topic, 10))
    for _ in range(2):
        watch.look()
    assert len(subscribed) == len(watch.meters) == 5
    assert capsys.readouterr().err == "there are more than 5 topics: name those that matter\n"
