# SPDX-License-Identifier: Apache-2.0
"""Losses of subscriptions and their reasons in topic info, doctor, top and their --json."""

import json
from dataclasses import make_dataclass
from types import SimpleNamespace

import pytest
from baton_cli import losses, top_view
from baton_cli.verbs import doctor

NAMES = (*losses.REASONS, *losses.REMARKS)
QOS = SimpleNamespace(depth=10, held=8)


def lost(**counts):
    """As baton.Losses."""
    kind = make_dataclass("Losses", NAMES)
    kind.total = property(lambda self: sum(getattr(self, name) for name in losses.REASONS))
    return kind(**{name: 0 for name in NAMES} | counts)


def end(gid=b"s", is_publisher=False):
    return SimpleNamespace(gid=gid, is_publisher=is_publisher, topic="/t", node="slow", pid=7, qos=QOS)


def test_each_reason_has_words_and_a_way_out():
    for name in losses.REASONS:
        counts = losses.as_json(lost(**{name: 3}))
        assert counts["total"] == 3 and losses.why(counts, QOS) and losses.short(counts) == f"3 {name}"
        assert losses.way_out(counts, QOS)
    assert losses.why(losses.as_json(None), QOS) == "" and losses.way_out(losses.as_json(None), QOS) == ""


def test_the_most_frequent_reason_comes_first_and_names_the_number_to_raise():
    counts = losses.as_json(lost(overflow=180, held=20, lifespan=2))
    assert losses.why(counts, QOS) == (
        "180: newer ones pushed them out of its queue of 10; 20: newer ones pushed them out while it held all samples that it may"
    )
    assert losses.way_out(counts, QOS) == "a faster callback, or a QoS depth above 10"
    assert losses.remarks(counts) == "2 older than the lifespan" and counts["total"] == 200


def test_the_names_are_those_of_the_library(build):
    import sys

    sys.path.insert(0, str(build / "python"))
    import baton

    assert set(baton.Losses.__dataclass_fields__) == set(NAMES)


def test_doctor_shows_losses_whether_they_go_on_and_advice():
    before, now = {b"s": lost(overflow=150)}, {b"s": lost(overflow=200), b"p": lost(overflow=1)}
    (row,) = doctor.judge_losses([end(), end(b"p", is_publisher=True), end(b"other")], before, now)
    assert (row.what, row.good) == ("/t: subscription of slow (7)", None)
    assert row.why.startswith("lost 200 messages, 50 of them while this looked: newer ones")
    assert "QoS depth above 10" in row.way_out
    (row,) = doctor.judge_losses([end()], now, now)
    assert "none while this looked" in row.why
    for name in losses.WRONG:
        (row,) = doctor.judge_losses([end()], {}, {b"s": lost(**{name: 1})})
        assert row.good is False and "lost 1 message, " in row.why
    (row,) = doctor.judge_losses([end()], {}, {b"s": lost(lifespan=4)})
    assert row.why == "4 older than the lifespan; not counted as lost" and row.good is None


def test_top_has_a_table_of_losses_that_fits_the_screen():
    from io import StringIO

    from rich.console import Console

    row = {
        "subscription": "slow(7)",
        "topic": "/t",
        "total": 200,
        "lost_hz": 12.5,
        "why": "newer ones",
        "short": "200 overflow",
    }
    losers = [row | {"topic": f"/t{n}"} for n in range(30)]
    memory = {"domain_backed_bytes": 1e6, "domain_limit_bytes": 1 << 62}
    for width, height in ((80, 24), (160, 50), (80, None)):
        console = Console(width=width, record=True, file=StringIO())
        console.print(top_view.picture([], [], memory, [("a", 1)], 0, width, None, height, losers=losers))
        text = console.export_text()
        assert height is None or len(text.splitlines()) <= height
        assert "slow(7)" in text and "12.5" in text and ("newer ones" if width > 100 else "200 overflow") in text
        shown = text.count("slow(7)")
        assert shown == 30 or f"{30 - shown} more" in text


SLOW = (
    '(node := baton.Node("slow"))',
    '(numbers := node.advertise("numbers", "std_msgs/Int32"))',
    '(slow := node.subscribe("numbers", "std_msgs/Int32", qos=baton.QoS(10)))',
    "slow.wait_for_publishers(1, 120)",
    "[numbers.publish({'data': n}) for n in range(210)]",
    "[slow.take(0) is None for _ in range(11)]",
)


@pytest.fixture
def slow(program):
    return program(*SLOW)


def test_every_verb_that_looks_at_subscriptions_shows_their_losses(baton, slow):
    ends = json.loads(baton("topic", "info", "numbers", "--json"))["endpoints"]
    found = {e["kind"]: e["losses"] for e in ends}
    assert found["publisher"] is None
    assert found["subscription"]["total"] == found["subscription"]["overflow"] == 200
    shown = " ".join(baton("topic", "info", "-v", "numbers").split())
    assert "Lost: 200 messages: newer ones pushed them out of its queue of 10" in shown
    found = json.loads(baton("doctor", "--json", "--look", "0"))
    assert found["summary"]["lost"] == 200 and found["summary"]["wrong"] == 0
    assert baton("doctor", "--look", "0").startswith("nothing is wrong; 200 messages lost; ")
    (row,) = (r for r in found["topics"] if "lost" in r["why"])
    assert row["what"] == f"/numbers: subscription of slow ({slow.pid})" and row["why"].startswith("lost 200 messages")
    (row,) = json.loads(baton("top", "-n", "1", "-i", "0.2", "--json"))["losers"]
    assert (row["topic"], row["subscription"], row["total"]) == ("/numbers", f"slow({slow.pid})", 200)
    assert "lost by" in baton("top", "-n", "1", "-i", "0.2")


def test_a_subscription_that_lost_nothing_says_so(baton, program):
    program('baton.Node("idle").subscribe("numbers", "std_msgs/Int32")')
    assert "\n  Lost: nothing\n" in baton("topic", "info", "-v", "numbers")
    (only,) = json.loads(baton("topic", "info", "numbers", "--json"))["endpoints"]
    assert only["losses"]["total"] == 0 and set(only["losses"]) == {"total", *NAMES}
    assert json.loads(baton("top", "-n", "1", "-i", "0.2", "--json"))["losers"] == []
