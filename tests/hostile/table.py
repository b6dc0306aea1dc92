# SPDX-License-Identifier: Apache-2.0
"""The table of all attacks. Each lies_*.py adds its family by the decorator attack(), under the attack's name, a sentence's end:
"a peer that ..."."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Attack:
    name: str
    family: str
    act: Callable
    long_only: bool  # in `make torture` only
    budget_mib: int  # private memory that the attack may cost the victim while it lasts
    shared_mib: int  # pages of memory files that the attack may cost the victim while it lasts
    victims: tuple[str, ...]
    expected: str  # what the attack must report of the victim's answer, "" for anything


ATTACKS: dict[str, Attack] = {}
VICTIMS = ("cpp", "python")
HIDDEN = (*VICTIMS, "hidden")  # and a C++ victim in a PID namespace of its own, where no peer has a pid


def attack(name: str, long_only=False, budget_mib=8, shared_mib=8, victims=VICTIMS, expected="") -> Callable:
    def add(act: Callable) -> Callable:
        assert name not in ATTACKS, name
        family = act.__module__.removeprefix("lies_")
        ATTACKS[name] = Attack(name, family, act, long_only, budget_mib, shared_mib, victims, expected)
        return act

    return add


for _file in sorted(Path(__file__).resolve().parent.glob("lies_*.py")):
    importlib.import_module(_file.stem)
