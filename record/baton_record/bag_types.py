# SPDX-License-Identifier: Apache-2.0
"""Types and quality of service of a bag's topics, as Baton has them."""

from __future__ import annotations

from typing import Any

import baton
from baton._messages import _message_from_text
from baton_generator.diagnostics import InterfaceError
from baton_generator.model import Dialect

from .bag_errors import BagError
from .bag_source import ROS1, BagTopic


def class_of(topic: BagTopic) -> type[baton.Message]:
    """The message class of a topic: by the definition that the bag has, else by the type's name."""
    try:
        if topic.definition is not None:
            dialect = Dialect.ROS1 if topic.encoding == ROS1 else Dialect.ROS2
            return _message_from_text(topic.type_name, topic.definition, dialect)
        if topic.type_name.endswith("_Event"):
            event: type[baton.Message] = baton.service(topic.type_name.removesuffix("_Event")).Event
            return event
        return baton.message(topic.type_name)
    except (InterfaceError, ValueError) as error:
        raise BagError(f"{topic.name}: the type {topic.type_name} is not known: {error}") from None


_POLICIES: dict[str, set[str]] = {
    "reliability": {"reliable", "best_effort"},
    "durability": {"volatile", "transient_local"},
    "history": {"keep_last", "keep_all"},
}


def offer_of(topic: BagTopic) -> dict[str, Any]:
    """The QoS for a publisher that plays a topic, as arguments of baton.QoS. Every subscription that matched the recorded publishers and asks
    for no deadline and no lease also matches this one. It has no deadline, lifespan or lease, because they would be missed at another rate."""
    offered = topic.offered
    offer: dict[str, Any] = {
        "depth": max([10 if topic.latching else 1, *(qos.depth for qos in offered if qos.depth < 1 << 16)])
    }
    if not offered:
        offer["depth"] = 10
    if offered and all(qos.reliability.name == "BEST_EFFORT" for qos in offered):
        offer["reliability"] = "best_effort"
    if any(qos.history.name == "KEEP_ALL" for qos in offered):
        offer["history"] = "keep_all"
    if topic.latched:
        offer["durability"] = "transient_local"
    return offer


def read_overrides(text: str, where: str) -> dict[str, dict[str, Any]]:
    """A file of QoS overrides as `ros2 bag play` has it: for each topic reliability, durability, history, depth."""
    from ruamel.yaml import YAML, YAMLError

    try:
        content = YAML(typ="safe").load(text) or {}
    except YAMLError as error:
        raise BagError(f"{where} is no YAML: {error}") from None
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise BagError(f"{where} is a map of topics to policies: '/image: {{reliability: best_effort, depth: 5}}'")
    for topic, policies in content.items():
        for policy, value in policies.items():
            right = isinstance(value, int) and value >= 1 if policy == "depth" else value in _POLICIES.get(policy, ())
            if not right:
                known = [
                    "depth: a number",
                    *(f"{name}: {' or '.join(sorted(values))}" for name, values in _POLICIES.items()),
                ]
                raise BagError(f"{where}: {topic} has '{policy}: {value}', and these can be set: {'; '.join(known)}")
    return {name if name.startswith("/") else f"/{name}": policies for name, policies in content.items()}
