# SPDX-License-Identifier: Apache-2.0
"""Rclpy processes with libbaton_heap.so stay among ones without it that are killed at random: mix_run.py --seconds 3600
[--kind heap|baton] [--cores DIRECTORY]. Fails if a process that nobody killed dies, hangs, or sees a changed message, and prints its stacks from
its core file."""

import argparse
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from ros2_processes import HEAP, LIBRARY, PYTHON, Processes

STAY_S = (5, 40)  # how long those live that are to end by themselves
VICTIM_S = (0.2, 8)
LIMIT_S = 120
ORDERLY = 0.15  # of the victims


def stacks(directory):
    """What gdb says of the core file in `directory`."""
    cores = list(directory.glob("core*"))
    if not cores:
        return (
            f"no core file in {directory}; core_pattern is {Path('/proc/sys/kernel/core_pattern').read_text().strip()}"
        )
    if not (gdb := shutil.which("gdb")):
        return f"{cores[0]} (no gdb here)"
    commands = ("bt 40", "info registers", "x/6i $pc", "info threads", "thread apply all bt 30", "info sharedlibrary")
    asked = [argument for each in commands for argument in ("-ex", each)]
    said = subprocess.run(
        [gdb, "-batch", "-nx", "-ex", "set pagination off", *asked, PYTHON, cores[0]], capture_output=True, text=True
    )
    (directory / "stacks.txt").write_text(said.stdout + said.stderr)
    return f"{cores[0]}, all stacks in {directory / 'stacks.txt'}\n{said.stdout[:12000]}"


def allow_cores():
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


class Life:
    """A process from its start to its end."""

    def __init__(self, processes, kind, name, seed, cores, live_s, kill):
        more = {"LD_PRELOAD": f"{LIBRARY}:{HEAP}"} if kind == "heap" else {}
        self.directory = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=cores))
        self.process = processes.start("baton", name, seed, file="mix_end.py", cwd=self.directory, **more)
        self.kind, self.name, self.kill = kind, name, kill
        self.lives = False  # it has said that it goes
        self.began, self.live_s = time.monotonic(), live_s
        self.until = time.monotonic() + live_s
        self.ending_since = None

    def step(self):
        """None while it is to go on; else how it ended: "killed", "ended", or a fault in words."""
        now = time.monotonic()
        if not self.kill and not self.lives and select.select([self.process.stdout], [], [], 0)[0]:
            self.lives = self.process.stdout.readline() == "going\n"
            self.until = now + self.live_s
        if (code := self.process.poll()) is not None:
            return self.ended(code)
        waited_since, what = (self.began, "begin") if self.ending_since is None else (self.ending_since, "end")
        if now - waited_since > LIMIT_S and (what == "end" or not (self.kill or self.lives)):
            self.process.send_signal(signal.SIGABRT)
            self.process.wait()
            return f"did not {what} within {LIMIT_S} s\n{stacks(self.directory)}"
        if what == "end":
            return None
        if now < self.until or not (self.kill or self.lives):
            return None
        if self.kill:
            self.process.kill()
            self.process.wait()
            return "killed"
        self.process.stdin.close()
        self.ending_since = now
        return None

    def ended(self, code):
        said = self.process.stdout.read()
        if code == 0 and self.ending_since is not None:
            return "ended" if '"wrong": 0' in said else f"saw changed messages: {said}"
        return f"died with {code}\n{said}\n{self.process.log()}\n{stacks(self.directory)}"

    def bury(self, processes, keep):
        self.process.end()
        processes.running.remove(self.process)
        if not keep:
            shutil.rmtree(self.directory)


class Mix:
    def __init__(self, kind, seed, cores, staying=2, victims=3):
        self.kind, self.cores = kind, cores
        self.chance = random.Random(seed)
        self.processes = Processes()
        self.lives, self.counts, self.faults = [], Counter(), []
        self.wanted = [(kind, staying), ("victim", victims)]
        self.named = 0

    def start(self, role):
        self.named += 1
        victim = role == "victim"
        kill = victim and self.chance.random() > ORDERLY
        live_s = self.chance.uniform(*(VICTIM_S if victim else STAY_S))
        kind, name = "baton" if victim else role, f"{role}_{self.named}"
        seed = str(self.chance.randrange(1 << 30))
        self.lives.append((role, Life(self.processes, kind, name, seed, self.cores, live_s, kill)))

    def step(self):
        for role, number in self.wanted:
            if sum(its == role for its, _ in self.lives) < number:
                self.start(role)
        for role, life in list(self.lives):
            if (how := life.step()) is None:
                continue
            self.lives.remove((role, life))
            well = how in ("killed", "ended")
            self.counts[f"{role} {how if well else 'fault'}"] += 1
            if not well:
                print(f"{life.name} ({life.kind}) {how}", flush=True)
                self.faults.append(life.name)
            life.bury(self.processes, keep=not well)

    def run(self, seconds):
        end, said = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            self.step()
            time.sleep(0.02)
            if time.monotonic() - said > 60:
                said = time.monotonic()
                print(f"{time.strftime('%H:%M:%S')} {dict(self.counts)}", flush=True)
        # Those that stay end in order; nobody else comes.
        self.wanted = []
        for _, life in self.lives:
            life.until = 0
        while self.lives:
            self.step()
            time.sleep(0.02)

    def close(self):
        self.processes.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kind", choices=("heap", "baton"), default="heap", help="of those that stay")
    parser.add_argument("--staying", type=int, default=2)
    parser.add_argument("--victims", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=Path, help="directory for core files; by default one that is printed")
    options = parser.parse_args()
    cores = options.cores or Path(tempfile.mkdtemp(prefix="baton-mix-"))
    cores.mkdir(parents=True, exist_ok=True)
    allow_cores()
    mix = Mix(options.kind, options.seed, cores, options.staying, options.victims)
    try:
        mix.run(options.seconds)
    finally:
        mix.close()
    print(f"{options.kind}: {dict(mix.counts)}; {len(mix.faults)} faults {mix.faults}; cores in {cores}")
    return bool(mix.faults)


if __name__ == "__main__":
    sys.exit(main())
