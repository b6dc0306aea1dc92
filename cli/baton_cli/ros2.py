# SPDX-License-Identifier: Apache-2.0
"""The paths that messages of ROS 2 nodes take. A context of rmw_baton_cpp sends them to subscribers of its announcement (docs/concepts/ros2.md)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

from . import live

TOPIC = "/_baton/ros2"


def ask(node: Any, endpoints: list[Any], seconds: float) -> list[dict[str, Any]]:
    """The answers of the domain's ROS 2 contexts. A context that does not answer in time is missing."""
    contexts = sum(e.topic == TOPIC and e.is_publisher for e in endpoints)
    if not contexts:
        return []
    baton = live.load()
    answers: list[dict[str, Any]] = []
    subscription = node.subscribe(
        TOPIC, live.message_class("std_msgs/String"), lambda m: answers.append(json.loads(str(m.data)))
    )
    executor = baton.Executor(node)
    end = time.monotonic() + seconds
    while len(answers) < contexts and (left := end - time.monotonic()) > 0:
        executor.spin_once(left)
    executor.remove(node)
    node.destroy(subscription)
    return answers


def pairs(answers: list[dict[str, Any]], pid_of: dict[str, int]) -> Iterator[tuple[str, str, str, str]]:
    """For each pair that the publishers' RMW knows: the gids of publisher and reader (hexadecimal), their kind, the path and its reason.
    `pid_of` has the processes of the endpoints that Baton knows, by gid."""
    aliases = {answer["pid"]: (answer["aliases"], answer["reason"]) for answer in answers}
    for answer in answers:
        for publisher in answer["publishers"]:
            for reader in publisher["readers"]:
                pid = pid_of.get(reader["gid"])
                name = f"{publisher['topic']}: {publisher['node']} ({answer['pid']}) -> {reader['node']}"
                what = name + (f" ({pid})" if pid else "")
                if reader["underlying"]:
                    why = f"serialized, by {answer['rmw']}: {reader['why']}"
                elif reader["why"]:
                    why = f"nothing is sent: {reader['why']}"
                else:
                    alias, reason = aliases.get(pid, (None, ""))
                    out = {True: "none out", False: f"1 out ({reason})", None: "out unknown"}[alias]
                    also = f"; each message also by {answer['rmw']}: {publisher['both']}" if publisher["both"] else ""
                    copies = f"1 copy in (none of loans), {out}"
                    if publisher["fixed_size"]:  # loaned on both sides; no arrays to point to
                        copies = "1 copy in, 1 out (none of loans)"
                    why = f"Baton's memory: {copies}{also}"
                yield publisher["gid"], reader["gid"], what, why
