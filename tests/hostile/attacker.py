# SPDX-License-Identifier: Apache-2.0
"""Runs one attack: attacker.py <name in the table> <directory of the domain>. Says "attacking" when it begins and "done" when the lies
are told, keeps what it has until its input ends, and then leaves. Nothing here outlives its watchdog."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True

import table

WATCHDOG_S = 900


class Stage:
    """What an attack may use: whom it attacks and where, and how long it should go on."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.victim = os.environ["BATON_HOSTILE_VICTIM"]
        self.victim_pid = int(os.environ["BATON_HOSTILE_VICTIM_PID"])
        self.long = os.environ.get("BATON_HOSTILE") == "long"
        self.kept: list = []  # what must not be collected before the attacker leaves

    def size(self, short, long):
        return long if self.long else short

    def keep(self, *things):
        self.kept += things
        return things[0]

    def begin(self) -> None:
        print("attacking", flush=True)


def main() -> None:
    _, name, directory = sys.argv
    signal.alarm(WATCHDOG_S)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    stage = Stage(directory)
    attack = table.ATTACKS[name]
    said = attack.act(stage)
    print(f"done {said or ''}".rstrip(), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
