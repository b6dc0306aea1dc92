# SPDX-License-Identifier: Apache-2.0
"""A hostile process harms its own connection and nothing else: each attack of table.py, against a C++ and a Python victim. Both
victims of an attack have a scene of their own and are attacked at the same time."""

from __future__ import annotations

import json
import time

import pytest
import scene as scenes
import table

CASES = [
    pytest.param(attack, victim, id=f"{attack.family}: a {victim} victim of a peer that {attack.name}")
    for attack in table.ATTACKS.values()
    for victim in attack.victims
    if scenes.LONG or not attack.long_only
]
REPETITIONS = 3  # of an attack whose only harm is in noisy figures: all must show the harm
MOST_S = 600  # a watchdog: no attack takes so long


@pytest.mark.parametrize("attack, victim", CASES)
def test_harms_only_its_own_connection(request, stages, attack, victim):
    if victim == "hidden" and not scenes.can_hide():
        pytest.skip("this machine allows no PID namespaces (unshare --pid): a victim cannot have one of its own")
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    victims = [each["victim"] for each in selected if each.get("attack") is attack]
    harm = stages.outcome(attack, victim, victims, run_until_sure)
    if harm:
        pytest.fail("\n".join(harm), pytrace=False)


def run_until_sure(scene, attack) -> list[str]:
    for _ in range(REPETITIONS):
        counted, noisy = run(scene, attack)
        if counted or not noisy:
            return counted + noisy
    return [f"{harm} (the last of {REPETITIONS} runs that were alike)" for harm in noisy]


def run(scene, attack) -> tuple[list[str], list[str]]:
    before = scene.peace
    attacker = scene.next_attacker
    try:
        attacker.attack(attack.name)
        said = attacker.line(MOST_S)
        scene.reset()
        begun = time.monotonic()
        while said == "attacking":
            said = attacker.line(MOST_S)
        assert said is not None, "the attack does not come to its end"
        seen = json.loads(said)
        scene.renew()
        scene.newcomer("during the attack", held=1)  # qos.md: a late subscription may be granted less
        time.sleep(max(scenes.QUIET_S / 2, begun + scenes.QUIET_S - time.monotonic()))
        during = scene.reports()
        attacker.leave()
    finally:
        attacker.end()
        scene.next_attacker = scene.attacker()  # starts while the rest is checked
    descriptors = before["victim"]["descriptors"]
    scene.eventually(
        lambda: scene.victim.footprint()["descriptors"] <= descriptors + scenes.MORE_DESCRIPTORS,
        lambda: f"the victim has {descriptors} descriptors as before; it has {scene.victim.descriptors()}",
    )
    scene.memory_returns(before)
    scene.peace = after = scene.measure("after the attack")
    scene.nothing_is_pinned()
    counted, noisy = scenes.judge(before, during, after, attack, seen["cpu_ns"])
    if attack.expected and attack.expected not in seen["done"]:
        counted.append(f"the attacker saw '{seen['done']}', expected '{attack.expected}'")
    scenes.record(attack, scene.language, seen, before, during, after)
    if counted or noisy:
        noisy += [f"the victim said: {text}" for text in during["victim"]["texts"]]
    return counted, noisy
