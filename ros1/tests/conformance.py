#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance table of ROS 1: {kind of publisher} x {kind of subscriber} x {scenario}. conformance_test.py runs its rows.

conformance.py      writes docs/concepts/ros1-conformance.md, which says what each row proves (tests/house/documents_match_test.py compares)

The kinds of the two ends decide the way of a message, and the scenario decides what happens to it meanwhile. They are independent but for the
pairs in Scenario.also and for the one question whether the ends share memory. So no full cross is run: each scenario has each of its kinds at
both ends, with a partner that shares memory and with one that does not (pairs()). Where the subscribers of a publisher do not disturb each other,
one row has all of them at once (Scenario.together). In the scenario `crowd` each publisher meets each subscriber.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/concepts/ros1-conformance.md"
TOPIC = "images/baton"  # the transport `baton` of image_transport adds the second part to its base topic


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of program. `shares`: ends with the same word hand messages over in shared memory. `held`: how many messages a subscriber may
    keep, if there is a limit."""

    name: str
    what: str
    shares: str = ""
    held: int = 0
    python: str = ""  # the first argument of rospy_ends.py
    accelerated: bool = False
    preload: bool = False
    program: str = ""  # what stands before "ends" in the name of a program of roscpp
    transport: bool = False  # of image_transport
    mode: str = ""

    @property
    def first_seq(self) -> int:
        return 1 if self.python else 0

    def command(self, build: Path, role: str, *words: object) -> list[object]:
        if self.python:
            start = ["/usr/bin/python3", *(["-m", "baton_accelerate", "rospy"] if self.accelerated else [])]
            return [*start, Path(__file__).parent / "programs/rospy_ends.py", self.python, role, *words]
        if self.transport:
            words = (words[0].removesuffix("/baton"), *(["baton"] if role == "listener" else []), *words[1:])
        return [build / f"bin/ros1_{self.program}ends", role, *words]

    def settings(self, build: Path) -> dict[str, str]:
        found = {"BATON_ROS1_MODE": self.mode} if self.mode else {}
        if self.python:
            found["PYTHONPATH"] = str(build / "python")
        if self.transport:
            found["ROS_PACKAGE_PATH"] = f"{build}/share:/usr/share"
        return found


ALL = [
    Kind("roscpp", "a stock program of roscpp"),
    Kind("preload", "the same program under libbaton_roscpp.so", shares="markers", preload=True),
    Kind("lotros", "baton::ros1, mode lotros", shares="baton", held=8, program="api_", mode="lotros"),
    Kind("tzc", "baton::ros1, mode tzc", shares="baton", held=8, program="api_", mode="tzc"),
    Kind("recompiled", "the stock program, recompiled with baton_ros1_messages", shares="baton", program="recompiled_"),
    Kind("recompiled_tzc", "the same with BATON_ROS1_MODE=tzc", shares="baton", program="recompiled_", mode="tzc"),
    Kind("rospy", "a stock program of rospy", python="plain"),
    Kind("accelerated", "the same program under baton_accelerate", shares="baton", python="plain", accelerated=True),
    Kind("views", "baton.rospy", shares="baton", held=8, python="views"),
    Kind("plugin", "image_transport with the transport baton", shares="baton", program="image_", transport=True),
]
KINDS = {kind.name: kind for kind in ALL}
# Programs with the commands of the talker of ends.cpp beside "publish", and their counterparts.
ROSCPP = ["roscpp", "preload", "recompiled", "recompiled_tzc"]


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A scenario. `promise` is what a passed row proves. `third` is one kind more where three programs take part. `together`: a row has all
    subscribers of its publisher. `one_case`: the rows are short, and one case of pytest runs them one after another."""

    name: str
    promise: str
    publishers: list[str]
    subscribers: list[str]
    also: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    third: list[str] = dataclasses.field(default_factory=list)
    without: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    together: bool = False
    one_case: bool = False


def but(*names: str) -> list[str]:
    return [kind.name for kind in ALL if kind.name not in names]


def share(publisher: str, subscriber: str) -> bool:
    """Whether ends of these kinds hand messages over in shared memory."""
    pair = KINDS.get(publisher), KINDS.get(subscriber)
    return all(pair) and pair[0].shares != "" and pair[0].shares == pair[1].shares


EVERY = but()
# `crowd` latches, and then a pair of handles shares no memory; and it does not wait until a preloaded pair has room for the next message. The
# other two are of the smoke form of the part ros1.
ALONE = ["preload", "tzc", "recompiled_tzc", "lotros", "recompiled"]
EVERY_KIND = ["every kind"]  # at once
SCENARIOS = [
    Scenario(
        "every_message",
        "Between two ends that share memory, messages of every size arrive once, in order, with their numbers, byte for byte, and none passes a "
        "socket. They stay as they are while a callback keeps as many as it may.",
        ALONE,
        ALONE,
        without=[pair for pair in itertools.product(ALONE, ALONE) if pair[0] != pair[1]],  # which `crowd` has
    ),
    Scenario(
        "crowd",
        "One publisher serves a subscriber of every kind at once. A late subscriber gets the newest latched message once. From then on each gets each "
        "message once, in order, byte for byte, in shared memory where both share some, and may keep it. Subscribers that are killed (each second kind, "
        "then the other kinds) cost the others no message, and newcomers get the latched message and the next one. What a killed publisher sent stays "
        "good, and a new publisher is heard.",
        EVERY,
        EVERY_KIND,
    ),
    Scenario(
        "later_subscription",
        "Each further subscription of a process gets the newest latched message once, also in the publisher's own process.",
        [*ROSCPP, "views"],  # rospy itself gives a latched message to the first subscription of a process alone
        [*ROSCPP, "views"],
        also=[("views", "recompiled"), ("recompiled", "views")],
        together=True,
    ),
    Scenario(
        "stock_beside",
        "A stock subscription joins a subscription that Baton serves in its process. From then on it gets each message once and in order, and the other "
        "subscription still does.",
        ["lotros", "tzc", "views"],
        ["lotros", "tzc", "views"],
        one_case=True,
    ),
    Scenario(
        "slow",
        "A callback that takes long loses the oldest messages of its queue, and gets the newest ones.",
        ["roscpp", "preload", "lotros", "tzc"],  # the queue is the subscriber's: these stand for the ways of a message
        but("rospy", "accelerated"),
        # rospy reads its socket in the thread of the callback. And in mode tzc nothing says when messages without handles are in the queue.
        without=[("roscpp", "views"), ("preload", "views"), ("lotros", "tzc"), ("lotros", "recompiled_tzc")],
        together=True,
    ),
    Scenario(
        "hung",
        "A subscriber gets everything, and a publisher is heard, although one of its name hangs; its successor may be of any kind.",
        ["lotros", "tzc"],
        ["lotros", "tzc"],
        third=["lotros", "tzc", "roscpp", "preload"],
        one_case=True,
    ),
    Scenario(
        "too_large",
        "A message that shared memory has no room for goes by TCP, in its place: each subscriber gets everything once and in order.",
        ["preload", "recompiled", "recompiled_tzc", "accelerated", "plugin"],
        EVERY_KIND,
    ),
    Scenario(
        "too_large_latched",
        "A latched message that Baton cannot carry reaches late subscribers once.",
        ["recompiled", "recompiled_tzc", "accelerated"],
        EVERY_KIND,
        one_case=True,
    ),
    Scenario(
        "reused",
        "A message that its program changes after publishing arrives as it was published.",
        ["preload", "recompiled", "recompiled_tzc"],  # a stock publisher keeps nothing of the message
        ROSCPP,
        also=[("recompiled", "recompiled"), ("recompiled", "roscpp")],
        together=True,
        one_case=True,
    ),
    Scenario(
        "visited",
        "A subscriber that its publisher counts gets the next message; what a connect callback publishes reaches the subscriber that came; a "
        "subscription that ends waits for its callback in another thread.",
        ROSCPP,
        ROSCPP,
        also=[("recompiled", "recompiled"), ("recompiled", "preload"), ("roscpp", "recompiled")],
    ),
    Scenario(
        "introduced",
        "What a connect callback publishes to one subscriber reaches nobody else, small or large, and is not latched.",
        ["roscpp", "recompiled", "recompiled_tzc"],
        ["recompiled and roscpp and recompiled_tzc"],  # by turns
        one_case=True,
    ),
    Scenario(
        "switched_off",
        "With BATON_ROS1=0 an unchanged program stays with TCPROS, and says nothing.",
        ["preload", "accelerated"],
        ["preload", "accelerated"],
        without=[
            ("preload", "preload"),
            ("accelerated", "accelerated"),
        ],  # with BATON_ROS1=0 each is as good as another one
        one_case=True,
    ),
]


@dataclasses.dataclass(frozen=True)
class Row:
    scenario: Scenario
    kinds: tuple[
        str, ...
    ]  # publisher, subscriber (or several, with "and" in between) and, where there is one, the third

    @property
    def name(self) -> str:
        return "-".join((self.scenario.name, *self.kinds))


def pairs(scenario: Scenario, met: Counter[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """So that each publisher and each subscriber is in a pair that shares memory and in one that does not, where there is one, of those that met
    least; with a third kind, so that each two kinds of different factors meet."""
    first, second, third = scenario.publishers, scenario.subscribers, scenario.third
    if third:
        return [
            (first[(i + j) % len(first)], second[i], kind) for j, kind in enumerate(third) for i in range(len(second))
        ]
    found = list(scenario.also)
    used: Counter[tuple[int, str, bool]] = Counter()

    def count(pair: tuple[str, ...]) -> list[tuple[int, str, bool]]:
        return [(end, name, share(*pair)) for end, name in enumerate(pair)]

    for each in found:
        used.update(count(each))
    whole = [pair for pair in itertools.product(first, second) if pair not in scenario.without]
    for wanted in dict.fromkeys(key for pair in whole for key in count(pair)):
        if not used[wanted]:
            fit = [pair for pair in whole if wanted in count(pair)]
            found.append(min(fit, key=lambda pair: (sum(used[key] for key in count(pair)), met[pair])))
            used.update(count(found[-1]))
    return found


def together(kinds: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """One row for each publisher, with all its subscribers."""
    return [
        (publisher, " and ".join(subscriber for first, subscriber in kinds if first == publisher))
        for publisher in dict.fromkeys(first for first, _ in kinds)
    ]


def rows() -> list[Row]:
    met: Counter[tuple[str, ...]] = Counter()
    found = []
    for scenario in SCENARIOS:
        kinds = pairs(scenario, met)
        met.update(kinds)
        found += [Row(scenario, each) for each in (together(kinds) if scenario.together else kinds)]
    return found


def cases() -> dict[str, list[Row]]:
    """The rows of each case of pytest, by its name."""
    found: dict[str, list[Row]] = {}
    for row in rows():
        found.setdefault(row.scenario.name if row.scenario.one_case else row.name, []).append(row)
    return found


HEAD = """# Conformance of ROS 1

Which promise each row of the conformance table proves. `ros1/tests/conformance.py` has the table and writes this page; `ros1/tests/conformance_test.py`
runs each row with real programs and a ROS master. The way of a message depends on the kinds of its two ends. A scenario says what happens meanwhile.
These are independent but for the question whether the ends share memory. So no full cross is run: each scenario has each of its kinds at both ends,
with a partner that shares memory and with one that does not. Subscribers that stand in one row with "and" are there at once. In the scenario `crowd`
each publisher meets each subscriber.

| kind | programs |
| --- | --- |
"""


def page() -> str:
    text = HEAD + "".join(f"| {kind.name} | {kind.what} |\n" for kind in ALL)
    text += "\n| scenario | what each row proves | rows: publisher, subscriber and, where a third program takes part, its successor |\n"
    text += "| --- | --- | --- |\n"
    for scenario in SCENARIOS:
        own = "; ".join(", ".join(row.kinds) for row in rows() if row.scenario is scenario)
        text += f"| `{scenario.name}` | {scenario.promise} | {own} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page())
