# SPDX-License-Identifier: Apache-2.0
"""Runs one attack: attacker.py <directory of the domain>. Reads the attack's name in the table as a line of its input. Prints "attacking" when it
begins, and its observations in JSON after the attack. Keeps its resources until its input ends, and then leaves. No process of it outlives its
watchdog."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

import raw_peer
import table

WATCHDOG_S = 900


class Stage:
    """Data and functions for an attack: its victim, the place of the attack, and its duration."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.victim = os.environ["BATON_HOSTILE_VICTIM"]
        self.victim_pid = int(os.environ["BATON_HOSTILE_VICTIM_PID"])
        self.long = os.environ.get("BATON_HOSTILE") == "long"
        self.kept: list = []  # objects that must live until the attacker leaves

    def size(self, short, long):
        return long if self.long else short

    def keep(self, *things):
        self.kept += things
        return things[0]

    def begin(self) -> None:
        print("attacking", flush=True)

    def apart(self, act, stay: bool = False) -> str:
        """Returns or raises the result of act() in a process of its own, since a process may break the rules only a few times. With `stay` the
        process keeps all its resources until the attacker leaves."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                said = str(act())
            except Exception as error:
                said = str(error)
            os.write(writing, said.encode()[:4000] or b" ")
            while stay:
                time.sleep(60)
            os._exit(0)
        os.close(writing)
        said = os.read(reading, 4096).decode()
        os.close(reading)
        if not stay:
            os.waitpid(pid, 0)
        return said


def main() -> None:
    directory = sys.argv[1]
    name = sys.stdin.readline().rstrip("\n")
    signal.alarm(WATCHDOG_S)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    stage = Stage(directory)
    attack = table.ATTACKS[name]
    try:
        said = attack.act(stage)
    except (raw_peer.Gone, raw_peer.Refused) as end:  # as an answer to the attack
        said = str(end)
    times = os.times()
    used = times.user + times.system + times.children_user + times.children_system
    print(json.dumps({"done": said or "", "cpu_ns": int(used * 1e9)}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
