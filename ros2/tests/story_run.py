# SPDX-License-Identifier: Apache-2.0
"""Plays stories with processes, and asks the oracle after every step: story_run.py --seeds 1-100 [--plain] [--length 40] [--tell].
The same seed is the same story; --plain plays it with rmw_fastrtps_cpp alone, which shows whether the oracle asks too much."""

import argparse
import json
import queue
import signal
import sys
import threading
import time
from dataclasses import asdict

from oracle import LATE_S, Fault, Oracle
from ros2_processes import HEAP, LIBRARY, Processes
from story import KINDS, story

LIMIT_S = 180


class Actor:
    """A process, asked and answering line by line."""

    def __init__(self, processes, name, kind):
        more = {"LD_PRELOAD": f"{LIBRARY}:{HEAP}"} if kind == "heap" else {}
        self.name, self.kind = name, kind
        rmw = "plain" if kind == "plain" else "baton"
        self.process = processes.start(rmw, name, file="story_end.py", **more)
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self._read_lines, daemon=True)
        self.thread.start()

    def _read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def answer(self):
        try:
            line = self.lines.get(timeout=LIMIT_S)
        except queue.Empty:
            raise Fault(f"{self.name} ({self.kind}) does not answer") from None
        if not line:
            raise Fault(f"{self.name} ({self.kind}) ended with {self.process.wait()}:\n{self.process.log()}")
        return json.loads(line)

    def tell(self, do, **arguments):
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()

    def ask(self, do, **arguments):
        try:
            self.tell(do, **arguments)
        except BrokenPipeError:
            pass  # answer() says why
        return self.answer()

    def end(self, kill):
        if kill:
            self.process.kill()
        else:
            self.tell("quit")
        code = self.process.wait(LIMIT_S)
        self.thread.join(LIMIT_S)
        self.process.stdin.close()
        self.process.stdout.close()
        if code not in (0, -signal.SIGPROF) and not kill:  # rclpy_program.report_and_end()
            raise Fault(f"{self.name} ({self.kind}) ended with {code}:\n{self.process.log()}")

    def last_words(self):
        """Ends the process; its log, which counts the messages of each end."""
        try:
            self.end(kill=False)
        except (OSError, Fault) as error:
            return str(error)
        return self.process.log()


class Play:
    def __init__(self, processes, called):
        self.processes = processes
        self.called = called
        self.oracle = Oracle()
        self.actors, self.of, self.gone = {}, {}, set()
        self.ghosts = False

    def look(self):
        """Tells the oracle what was seen. What is not yet as it must be, in words."""
        reports = {name: actor.ask("report") for name, actor in self.actors.items()}
        for report in reports.values():
            for reader, writer, number, at_s, size in report["seen"]:
                self.oracle.saw(reader, writer, number, at_s, size)
        wanting = [f"reader {each} has not seen {lost}" for each in self.of if (lost := self._missing(each))]
        if self.ghosts:
            return wanting
        counted = {name: count for report in reports.values() for name, count in report["matched"].items()}
        if counted != (matched := self.oracle.matched()):
            wanting.append(f"matched are {counted}, not {matched}")
        for name, report in reports.items():
            known = set(report["nodes"])  # another machine's, too
            if not known >= set(self.actors) or known & self.gone:
                wanting.append(f"{name} knows {sorted(known)}, not {sorted(self.actors)}")
        return wanting

    def _missing(self, name):
        return self.oracle.missing(name) if name in self.oracle.readers else []

    def wait(self):
        end = time.monotonic() + LIMIT_S
        while wanting := self.look():
            if time.monotonic() > end:
                raise Fault("; ".join(wanting))
            time.sleep(0.02)

    def step(self, step):
        arguments = dict(step)
        what = arguments.pop("step")
        getattr(self, what)(**arguments)
        self.wait()

    def start(self, process, kind):
        self.actors[process] = Actor(self.processes, process, kind)
        self.actors[process].answer()

    def open_writer(self, process, name, qos):
        self._open("open_writer", process, name, qos)

    def open_reader(self, process, name, qos):
        self._open("open_reader", process, name, qos)

    def _open(self, do, process, name, qos):
        self.of[name] = self.actors[process]
        plain = self.of[name].kind == "plain"
        if do == "open_reader":
            self.oracle.open_reader(name, qos, strict=not plain)
            self.of[name].ask(do, name=name, qos=asdict(qos), called=self.called and not plain)
        else:
            self.oracle.open_writer(name, qos, strict=not plain)
            self.of[name].ask(do, name=name, qos=asdict(qos))

    def publish(self, name, numbers, size):
        writer = self.oracle.writers[name].qos
        paused = any(each.alive and each.paused for each in self.oracle.readers.values())
        acknowledged = paused and writer.reliable and not writer.lifespan_s  # Fast DDS waits for what has expired, too
        self.oracle.publish(name, numbers, time.monotonic() + LIMIT_S, size)
        answer = self.of[name].ask("publish", name=name, numbers=numbers, size=size, acknowledged=acknowledged)
        self.oracle.published(name, numbers, answer["ended"])

    def pause(self, name):
        self.of[name].ask("pause", name=name)
        self.look()
        self.oracle.pause(name)

    def resume(self, name):
        self.oracle.resume(name)
        self.of[name].ask("resume", name=name)

    def age(self, of_s):
        time.sleep(of_s + LATE_S + 0.5)

    def close(self, name):
        self.of[name].ask("close", name=name)
        self.look()
        self.of.pop(name)
        self.oracle.close(name)

    def quit(self, process):
        self._leave(process, kill=False)

    def kill(self, process, name=None, numbers=(), size=0):
        if name is not None:
            self.oracle.publish(name, numbers, time.monotonic() + LIMIT_S, size, sure=False)
            self.actors[process].tell("publish", name=name, numbers=numbers, size=size, acknowledged=False)
        self.ghosts = True
        self._leave(process, kill=True)

    def _leave(self, process, kill):
        actor = self.actors.pop(process)
        self.gone.add(process)
        actor.end(kill)
        for name in [name for name, its in self.of.items() if its is actor]:
            (self.oracle.kill if kill else self.oracle.close)(name)
            del self.of[name]

    def bury(self):
        """The stock RMW believes in the dead until their lease ends."""
        self.ghosts = False


def play(steps, told=lambda step: None, called=False):
    """Raises Fault. `called`: callbacks tell readers, as they tell an events executor, and they take once for each message.
    (Fast DDS calls with its locks held, so Python could not.)"""
    processes = Processes()
    try:
        acted = Play(processes, called)
        for i, step in enumerate(steps):
            told(f"{i}: {step}")
            try:
                acted.step(step)
            except Fault as fault:
                before = "\n".join(f"  {each}" for each in steps[: i + 1])
                said = "\n".join(f"{name} said\n{actor.last_words()}" for name, actor in acted.actors.items())
                raise Fault(f"{fault}\nin the last step of\n{before}\n{said}") from None
        for actor in list(acted.actors.values()):
            actor.end(kill=False)
    finally:
        processes.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="1-10", help="one, or first-last")
    parser.add_argument("--plain", action="store_true", help="every process has rmw_fastrtps_cpp alone")
    parser.add_argument("--length", type=int, default=40, help="steps")
    parser.add_argument(
        "--called", action="store_true", help="callbacks tell readers over Baton, which take once for each message"
    )
    parser.add_argument("--tell", action="store_true", help="prints each step before it is taken")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    faults = []
    for seed in range(int(first), int(last or first) + 1):
        begin = time.monotonic()
        try:
            told = print if options.tell else lambda step: None
            play(story(seed, options.length, ("plain",) if options.plain else KINDS), told, options.called)
            print(f"seed {seed}: as it must be ({time.monotonic() - begin:.0f} s)", flush=True)
        except Fault as fault:
            faults.append(seed)
            print(f"seed {seed}: {fault}", flush=True)
    print(f"{len(faults)} faults{': seeds ' if faults else ''}{', '.join(map(str, faults))}")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
