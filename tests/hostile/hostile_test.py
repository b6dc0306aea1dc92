# SPDX-License-Identifier: Apache-2.0
"""A hostile process harms its own connection and nothing else: each attack of table.py, against a C++ and a Python victim."""

from __future__ import annotations

import time

import pytest
import scene as scenes
import table

CASES = [
    pytest.param(attack, victim, id=f"{attack.family}: a {victim} victim of a peer that {attack.name}")
    for victim in table.VICTIMS
    for attack in table.ATTACKS.values()
    if victim in attack.victims and (scenes.LONG or not attack.long_only)
]
MOST_S = 600  # a watchdog: no attack takes so long


@pytest.mark.parametrize("attack, victim", CASES)
def test_harms_only_its_own_connection(stages, attack, victim):
    try:
        harm = run(stages.get(victim), attack)
    except BaseException:
        stages.drop(victim)
        raise
    if harm:
        stages.drop(victim)
        pytest.fail("\n".join(harm), pytrace=False)


def run(scene, attack) -> list[str]:
    before = scene.measure()
    attacker = scenes.Attacker(attack.name, scene.directory, scene.victim, scene.victim_name)
    try:
        said = attacker.line(MOST_S)
        scene.reset()
        begun = time.monotonic()
        while said is not None and not said.startswith("done"):
            said = attacker.line(MOST_S)
        assert said is not None, "the attack does not come to its end"
        time.sleep(max(0.0, begun + scenes.QUIET_S - time.monotonic()))
        during = scene.reports()
        scene.newcomer("during the attack")
        attacker.leave()
    finally:
        attacker.end()
    descriptors = before["victim"]["descriptors"]
    scene.eventually(
        lambda: scene.victim.footprint()["descriptors"] == descriptors,
        f"the victim has the {descriptors} descriptors it had before; now {scene.victim.footprint()['descriptors']}",
    )
    scene.newcomer("after the attack")
    scene.nothing_is_pinned()
    after = scene.measure()
    harm = scenes.judge(before, during, after, attack)
    if attack.expected and attack.expected not in said:
        harm.append(f"the attacker saw '{said}', expected '{attack.expected}'")
    if harm:
        harm += [f"the victim said: {text}" for text in during["victim"]["texts"]]
    return harm
