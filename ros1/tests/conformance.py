#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conformance table of ROS 1: {kind of publisher} x {kind of subscriber} x {scenario}. conformance_test.py runs its rows.

conformance.py      writes docs/concepts/ros1-conformance.md, which says what each row proves (tests/house/documents_match_test.py compares)

The kinds of the two ends decide the way of a message, and the scenario decides what happens to it meanwhile. They are independent but for the
pairs in Scenario.also, so no full cross is run: each scenario has each of its kinds at both ends, with the partners that it has met least
(pairs()). In the scenario `crowd` each publisher meets each subscriber.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/concepts/ros1-conformance.md"
TOPIC = "images/baton"  # the transport `baton` of image_transport adds the second part to its base topic
BIN = "bin/ros1_"


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
    program: str = ""  # what stands before "talker" and "listener" in the name of a program of roscpp
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
        return [build / f"{BIN}{self.program}{role}", *words]

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
    Kind("rospy", "a stock program of rospy", python="plain"),
    Kind("accelerated", "the same program under baton_accelerate", shares="baton", python="plain", accelerated=True),
    Kind("views", "baton.rospy", shares="baton", held=8, python="views"),
    Kind("plugin", "image_transport with the transport baton", shares="baton", program="image_", transport=True),
]
KINDS = {kind.name: kind for kind in ALL}
TYPES_OF_BATON = ["lotros", "tzc", "recompiled", "accelerated", "views", "plugin"]
# Programs with the commands of talker.cpp beside "publish", and their counterparts.
ROSCPP = ["roscpp", "preload", "recompiled"]


@dataclasses.dataclass(frozen=True)
class Scenario:
    """A scenario. `promise` is what a passed row proves. `third` is one kind more where three programs take part."""

    name: str
    promise: str
    publishers: list[str]
    subscribers: list[str]
    also: list[tuple[str, ...]] = dataclasses.field(default_factory=list)
    third: list[str] = dataclasses.field(default_factory=list)
    may: Callable[[Kind, Kind], bool] = lambda publisher, subscriber: True


def but(*names: str) -> list[str]:
    return [kind.name for kind in ALL if kind.name not in names]


def share(publisher: Kind, subscriber: Kind) -> bool:
    return publisher.shares != "" and publisher.shares == subscriber.shares


EVERY = but()
SCENARIOS = [
    Scenario(
        "every_message",
        "Messages of every size arrive once, in order, with their numbers, and byte for byte.",
        EVERY,
        EVERY,
        also=[
            ("preload", "roscpp"),
            ("roscpp", "preload"),
            ("recompiled", "roscpp"),
            ("roscpp", "recompiled"),
            ("accelerated", "rospy"),
            ("rospy", "accelerated"),
        ],
    ),
    Scenario(
        "crowd",
        "One publisher serves a subscriber of every kind at once: each gets each message once and in order, in shared memory where both share some.",
        EVERY,
        ["every kind"],
    ),
    Scenario(
        "shared_memory",
        "Large messages between two ends of Baton do not pass a socket.",
        ["preload", *TYPES_OF_BATON],
        ["preload", *TYPES_OF_BATON],
        also=[
            ("preload", "preload"),
            ("lotros", "lotros"),
            ("tzc", "tzc"),
            ("lotros", "tzc"),
            ("tzc", "lotros"),
            ("recompiled", "recompiled"),
            ("accelerated", "accelerated"),
            ("views", "views"),
        ],
        may=share,
    ),
    Scenario(
        "latched",
        "Each late subscriber gets the newest latched message once, and later messages once.",
        EVERY,
        EVERY,
        also=[
            ("preload", "preload"),
            ("recompiled", "recompiled"),
            ("accelerated", "accelerated"),
            ("lotros", "lotros"),
            ("tzc", "tzc"),
        ],
    ),
    Scenario(
        "later_subscription",
        "Each further subscription of a process gets the newest latched message once, also in the publisher's own process.",
        [*ROSCPP, "views"],  # rospy itself gives a latched message to the first subscription of a process alone
        [*ROSCPP, "views"],
        also=[("recompiled", "recompiled"), ("views", "recompiled"), ("recompiled", "views"), ("views", "views")],
    ),
    Scenario(
        "kept",
        "Messages that a callback keeps stay as they were, while others come and, at a limit of held messages, wait.",
        EVERY,
        EVERY,
        also=[("lotros", "lotros"), ("recompiled", "recompiled"), ("preload", "preload")],
    ),
    Scenario(
        "slow",
        "A callback that takes long loses the oldest messages of its queue, and gets the newest ones.",
        EVERY,
        but("rospy", "accelerated"),  # rospy reads its socket in the thread of the callback
        also=[("lotros", "lotros"), ("tzc", "tzc"), ("views", "views"), ("plugin", "plugin")],
    ),
    Scenario(
        "killed_subscriber",
        "A subscriber that is killed costs the others no message, and a newcomer gets the next one.",
        EVERY,
        EVERY,
        also=[("preload", "preload")],
    ),
    Scenario(
        "killed_publisher",
        "What a killed publisher sent stays good, and a new publisher is heard.",
        EVERY,
        EVERY,
        also=[("preload", "preload")],
    ),
    Scenario(
        "hung_subscriber",
        "A subscriber gets everything although one of its name hangs.",
        ["lotros", "tzc"],
        ["lotros", "tzc"],
        third=["lotros", "tzc", "roscpp", "preload"],
    ),
    Scenario(
        "hung_publisher",
        "A publisher is heard although one of its name hangs.",
        ["lotros", "tzc"],
        ["lotros", "tzc"],
        third=["lotros", "tzc", "roscpp", "preload"],
    ),
    Scenario(
        "too_large",
        "A message that shared memory has no room for goes by TCP, in its place: each subscriber gets everything once and in order.",
        ["preload", "recompiled", "accelerated", "plugin"],
        ["every kind"],
    ),
    Scenario(
        "too_large_latched",
        "A latched message that Baton cannot carry reaches late subscribers once.",
        ["recompiled", "accelerated"],
        EVERY,
    ),
    Scenario(
        "reused",
        "A message that its program changes after publishing arrives as it was published.",
        ROSCPP,
        EVERY,
        also=[("recompiled", "recompiled"), ("recompiled", "roscpp")],
    ),
    Scenario(
        "counted",
        "A subscriber that its publisher counts gets the next message.",
        ROSCPP,
        ROSCPP,
        also=[("recompiled", "recompiled")],
    ),
    Scenario(
        "left",
        "A subscription that ends waits for its callback in another thread.",
        ROSCPP,
        ROSCPP,
        also=[("recompiled", "recompiled")],
    ),
    Scenario(
        "welcomed",
        "What a connect callback publishes reaches the subscriber that came.",
        ROSCPP,
        ROSCPP,
        also=[("recompiled", "recompiled")],
    ),
    Scenario(
        "introduced",
        "What a connect callback publishes to one subscriber reaches nobody else, small or large.",
        ["roscpp", "recompiled"],
        ["recompiled and roscpp"],
    ),
    Scenario(
        "introduced_latched",
        "What one subscriber got alone is not latched.",
        ["roscpp", "recompiled"],
        ["roscpp", "recompiled"],
        also=[("recompiled", "recompiled")],
    ),
    Scenario(
        "switched_off",
        "With BATON_ROS1=0 at one end an unchanged program stays with TCPROS, and says nothing.",
        ["preload", "accelerated"],
        ["preload", "accelerated"],
        also=[("preload", "preload"), ("accelerated", "accelerated")],
    ),
]


@dataclasses.dataclass(frozen=True)
class Row:
    scenario: Scenario
    kinds: tuple[str, ...]  # publisher, subscriber and, where there is one, the third

    @property
    def name(self) -> str:
        return "-".join((self.scenario.name, *self.kinds))


def pairs(scenario: Scenario, met: Counter[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """So that each publisher and each subscriber is in a pair, of those that met least; with a third kind, so that each two kinds of different
    factors meet."""
    first, second, third = scenario.publishers, scenario.subscribers, scenario.third
    if third:
        return [
            (first[(i + j) % len(first)], second[i], kind) for j, kind in enumerate(third) for i in range(len(second))
        ]
    found = list(scenario.also)
    used = Counter(each for pair in found for each in enumerate(pair))
    while missing := [each for each in (*((0, p) for p in first), *((1, s) for s in second)) if not used[each]]:
        end, name = missing[0]
        fit = [(name, other) for other in second] if end == 0 else [(other, name) for other in first]
        fit = [each for each in fit if each[1] not in KINDS or scenario.may(KINDS[each[0]], KINDS[each[1]])]
        best = min(fit, key=lambda each: (used[0, each[0]] + used[1, each[1]], met[each]))
        found.append(best)
        used.update(enumerate(best))
    return found


def rows() -> list[Row]:
    met: Counter[tuple[str, ...]] = Counter()
    found = []
    for scenario in SCENARIOS:
        kinds = pairs(scenario, met)
        met.update(kinds)
        found += [Row(scenario, each) for each in kinds]
    return found


HEAD = """# Conformance of ROS 1

Which promise each row of the conformance table proves. `ros1/tests/conformance.py` has the table and writes this page; `ros1/tests/conformance_test.py`
runs each row with real programs and a ROS master. The way of a message depends on the kinds of its two ends. A scenario says what happens meanwhile.
These are independent, so each scenario has each of its kinds at both ends, and no full cross is run. In the scenario `crowd` each publisher meets
each subscriber.

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
