# SPDX-License-Identifier: Apache-2.0
"""One victim, two honest bystanders (C++ and Python) and, for each attack, a hostile process.

The victim publishes "/victim" to both bystanders and takes "/cpp" and "/python" from them; each bystander takes the other's topic too.
The attacker connects to the victim alone. So the pair of bystanders is a second line that the attacker cannot reach: it measures
how busy the machine is. judge() states each rule; none is a number of seconds.
"""

from __future__ import annotations

import functools
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build" / "release"))
HONEST = BUILD / "bin" / "baton_honest"
PACKAGE = BUILD / "python"
LONG = os.environ.get("BATON_HOSTILE") == "long"
QUIET_S = 3.0 if LONG else 0.5  # how long one measurement lasts
PATIENCE_S = 60.0 if LONG else 40.0
# How many more descriptors a victim may have after an attack: a segment of a bystander keeps one until its first message is read. A leak shows in the
# next attacks on the same victim, which has 256 in all.
MORE_DESCRIPTORS = 1
DESCRIPTORS = 256  # how many descriptors the victim may open: few, for the attacks on descriptors
TOPICS = {"victim": ["/cpp", "/python"], "cpp": ["/victim", "/python"], "python": ["/victim", "/cpp"]}
KIB = 1024


class Died(AssertionError):
    pass


UNSHARE = ["unshare", "--pid", "--fork", "--kill-child", "--"]


@functools.cache
def can_hide() -> bool:
    return (
        shutil.which("unshare") is not None and subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0
    )


class Honest:
    """A process of honest_main.cpp or honest.py; "hidden" is the former in a PID namespace of its own."""

    def __init__(
        self, name: str, language: str, directory: str, topics: list[str], descriptors: int | None = None
    ) -> None:
        self.name = name
        environment = {
            **os.environ,
            "BATON_RUNTIME_DIR": directory,
            "BATON_DOMAIN": "0",
            "PYTHONPATH": str(PACKAGE),
            "MALLOC_ARENA_MAX": "2",  # so that a figure of memory does not depend on which thread allocated first
        }
        program = [sys.executable, str(HERE / "honest.py")] if language == "python" else [str(HONEST)]
        if language == "hidden":
            program = [*UNSHARE, *program]
        self.hidden = language == "hidden"
        if descriptors:
            program = ["sh", "-c", f'ulimit -n {descriptors} && exec "$0" "$@"', *program]

        self.process = subprocess.Popen(
            [*program, "run", name, f"/{name}", *topics],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            bufsize=0,
        )
        self.buffer = b""
        self.cpu_ns = 0  # at the last report
        self.asked = time.monotonic()
        assert self.line() == "ready"

    @functools.cached_property
    def pid(self) -> int:
        pid = self.process.pid
        if self.hidden:  # the child of unshare
            pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text())
        return pid

    def line(self) -> str:
        end = time.monotonic() + PATIENCE_S
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            got = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not got:
                raise Died(f"{self.name} {self.how_it_ended() if ready else 'hangs'}")
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def how_it_ended(self) -> str:
        code = self.process.wait(10)
        said = self.process.stderr.read().decode(errors="replace")[-2000:] if not self.process.stderr.closed else ""
        return f"ended with {signal.Signals(-code).name if code < 0 else code}; it said: {said}"

    def ask(self, command: str) -> None:
        try:
            self.process.stdin.write(command.encode() + b"\n")
        except BrokenPipeError as error:
            raise Died(f"{self.name} {self.how_it_ended()}") from error

    def answer(self) -> dict:
        report = json.loads(self.line())
        report["cpu_ns"], self.cpu_ns = report["cpu_ns"] - self.cpu_ns, report["cpu_ns"]
        report["seconds"], self.asked = time.monotonic() - self.asked, time.monotonic()
        report.update(self.footprint())
        return report

    def footprint(self) -> dict:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{self.pid}/status").read_text().splitlines())
        return {
            "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")),
            "own_kib": int(status["RssAnon"].split()[0]),
            "shared_kib": int(status["RssShmem"].split()[0]),
        }

    def descriptors(self) -> list[str]:
        """The kinds of its descriptors, for messages of failures."""
        return sorted(os.readlink(path) for path in Path(f"/proc/{self.pid}/fd").iterdir() if path.is_symlink())

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class Attacker:
    """An attacker that has started, and waits for attack() to name its attack."""

    def __init__(self, directory: str, victim: Honest, victim_name: str) -> None:
        environment = {
            **os.environ,
            "BATON_HOSTILE_VICTIM": victim_name,
            "BATON_HOSTILE_VICTIM_PID": str(victim.pid),
        }
        # The lowest priority: its own CPU time is no harm, but CPU time that it costs others is.
        self.process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-S", str(HERE / "attacker.py"), f"{directory}/0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        self.buffer = b""

    def attack(self, name: str) -> None:
        self.process.stdin.write(name.encode() + b"\n")

    def line(self, patience: float) -> str | None:
        """The next line; None if none came in time. Raises if the attacker has ended: an attack that fails proves nothing."""
        end = time.monotonic() + patience
        while b"\n" not in self.buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                return None
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                said = self.process.stderr.read().decode(errors="replace")[-3000:]
                raise AssertionError(f"the attacker ended by itself: {said}")
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def leave(self) -> None:
        """The attacker ends by itself, with all resources that it still has."""
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)

    def end(self) -> None:
        try:
            os.killpg(
                self.process.pid, signal.SIGKILL
            )  # its own session: the processes that the attack started end with it
        except ProcessLookupError:
            pass
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Scene:
    """The three honest processes, matched with each other. Lives for many attacks, until one does harm."""

    def __init__(self, language: str, directory: str) -> None:
        self.directory, self.language = directory, language
        self.victim = Honest("victim", language, directory, TOPICS["victim"], DESCRIPTORS)
        names = [name for name in os.listdir(f"{directory}/0") if name.startswith("p-")]
        assert len(names) == 1
        self.victim_name = names[0]
        self.bystanders = [Honest(name, name, directory, TOPICS[name]) for name in ("cpp", "python")]
        self.honest = [self.victim, *self.bystanders]
        self.eventually(lambda: all(self.all_matched(h) for h in self.honest), lambda: "all are matched")
        self.measure("once before all measurements")
        self.peace = self.measure("once more before them")  # the last measurement without an attacker
        self.next_attacker = self.attacker()

    def attacker(self) -> Attacker:
        return Attacker(self.directory, self.victim, self.victim_name)

    def all_matched(self, honest: Honest) -> bool:
        honest.ask("report")
        report = honest.answer()
        return report["matched"] == 2 and all(topic["matched"] == 1 for topic in report["topics"].values())

    def eventually(self, condition, wanted) -> None:
        """Waits for condition(). wanted() is the text of an error: the condition and the present state."""
        waited, last = 0.0, time.monotonic()
        while not condition():
            assert waited < PATIENCE_S, f"waited in vain until {wanted()}"
            time.sleep(0.02)
            now = time.monotonic()
            waited += min(now - last, 1.0)  # if the machine stood still, the other processes had no time either
            last = now

    def deaths(self) -> list[str]:
        return [f"{h.name} {h.how_it_ended()}" for h in self.honest if h.process.poll() is not None]

    def measure(self, when: str) -> dict[str, dict]:
        """Measures while a newcomer comes and goes, as during an attack."""
        self.reset()
        begun = time.monotonic()
        self.newcomer(when)
        time.sleep(max(QUIET_S / 2, begun + QUIET_S - time.monotonic()))
        return self.reports()

    def reset(self) -> None:
        self.reports()

    def reports(self) -> dict[str, dict]:
        for honest in self.honest:
            honest.ask("report")
        return {honest.name: honest.answer() for honest in self.honest}

    def newcomer(self, when: str, held: int = 8) -> None:
        """A new honest process meets the victim and takes eight messages, of which it holds `held` at once."""
        done = subprocess.run(
            [str(HONEST), "newcomer", "/victim", str(held)],
            env={**os.environ, "BATON_RUNTIME_DIR": self.directory, "BATON_DOMAIN": "0"},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert done.stdout.strip() == "served", f"a newcomer {when} was not served: {done.stdout}{done.stderr}"

    def tell(self, command: str) -> None:
        for honest in self.honest:
            honest.ask(command)
        for honest in self.honest:
            assert honest.line() == "ok"

    def renew(self) -> None:
        """Makes every honest publisher continue in a new segment, for which all of them need room in their windows."""
        self.tell("renew")

    def memory_returns(self, before: dict) -> None:
        """Waits a while for the victim's memory, which is given back in the background; judge() says whether all of it came."""
        for _ in range(250):
            now = self.victim.footprint()
            if all(now[what] <= most_after(before["victim"][what]) for what in ("own_kib", "shared_kib")):
                return
            time.sleep(0.02)

    def nothing_is_pinned(self) -> None:
        """Makes all stop publishing and release their samples, so that no message of any of them is left."""
        self.tell("pause")
        try:

            def pinned():
                return {name: report["published_slots"] for name, report in self.reports().items()}

            self.eventually(
                lambda: not any(pinned().values()), lambda: f"nobody's memory holds messages; slots held: {pinned()}"
            )
        finally:
            self.tell("resume")

    def end(self) -> None:
        if hasattr(self, "next_attacker"):
            self.next_attacker.end()
        for honest in self.honest:
            honest.end()


def record(attack, language: str, seen: dict, *phases: dict) -> None:
    """Appends all figures of one run to the file BATON_HOSTILE_RECORD, a line of JSON each."""
    path = os.environ.get("BATON_HOSTILE_RECORD")
    if not path:
        return
    line = {"attack": attack.name, "family": attack.family, "victim": language, "attacker": seen}
    for name, reports in zip(("before", "during", "after"), phases, strict=True):
        line[name] = {
            process: {
                **{
                    key: report[key]
                    for key in ("cpu_ns", "seconds", "descriptors", "own_kib", "shared_kib", "published", "diagnostics")
                },
                "topics": {
                    topic: {
                        **{key: t[key] for key in ("received", "lost", "torn", "torn_held", "longest_wait")},
                        "median_latency_ns": statistics.median(t["latencies_ns"] or [0]),
                    }
                    for topic, t in report["topics"].items()
                },
            }
            for process, report in reports.items()
        }
    with open(path, "a") as file:
        file.write(json.dumps(line) + "\n")


# --- harm --------------------------------------------------------------------------------------------------------------------


def most_after(kib: float) -> float:
    """The memory that a victim may have after the attack: 10 % more, and memory that an allocator keeps for later."""
    return 1.1 * kib + 8 * KIB


def median_latency(reports: dict, reader: str, topic: str) -> float:
    latencies = reports[reader]["topics"][topic]["latencies_ns"]
    return statistics.median(latencies) if latencies else float("inf")


def judge(before: dict, during: dict, after: dict, attack, attacker_cpu_ns: int) -> tuple[list[str], list[str]]:
    """The figures of the honest processes that are worse than without the attacker: first counts without noise, then
    figures that another program on this machine may have caused. These count as harm only if repetitions of the attack show them again."""
    counted, noisy = [], []
    harm = counted

    def expect(good: bool, what: str) -> None:
        if not good:
            harm.append(what)

    for phase, reports in (("during", during), ("after", after)):
        for name, report in reports.items():
            for topic, t in report["topics"].items():
                label = f"{phase} the attack, {name} on {topic}"
                expect(
                    not t["torn"] and not t["torn_held"],
                    f"{label}: {t['torn']} messages torn, {t['torn_held']} while held",
                )
                expect(t["lost"] <= 1.1 * before[name]["topics"][topic]["lost"], f"{label}: {t['lost']} messages lost")
                expect(
                    t["matched"] >= 1 and t["received"] > 0,
                    f"{label}: {t['received']} messages came; {t['matched']} matched",
                )
                expect(not t["copied"], f"{label}: {t['copied']} messages had to be copied, for want of room")
            expect(not report["refused"], f"{phase} the attack, {name} could not publish: {report['refused']}")

    # Memory and descriptors can be counted: 10 %, and the rounding of allocators and page tables.
    for name in ("cpp", "python"):
        for phase, reports in (("during", during), ("after", after)):
            # A publisher whose slots are held adds segments: their descriptors are kept until a message in them is read.
            for what, slack in (
                ("descriptors", 4 if phase == "during" else MORE_DESCRIPTORS),
                ("own_kib", 512),
                ("shared_kib", 512),
            ):
                was, now = before[name][what], reports[name][what]
                expect(now <= 1.1 * was + slack, f"{phase} the attack, {name}: {now} {what}, {was} before")
    was, now = before["victim"], during["victim"]
    expect(
        now["own_kib"] <= 1.1 * was["own_kib"] + attack.budget_mib * KIB,
        f"during the attack, the victim: {now['own_kib']} own_kib, {was['own_kib']} before",
    )
    expect(
        now["shared_kib"] <= 1.1 * was["shared_kib"] + attack.shared_mib * KIB,
        f"during the attack, the victim: {now['shared_kib']} shared_kib, {was['shared_kib']} before",
    )
    now = after["victim"]
    expect(
        now["descriptors"] <= was["descriptors"] + MORE_DESCRIPTORS,
        f"after the attack, the victim: {now['descriptors']} descriptors, {was['descriptors']} before",
    )
    for what in ("own_kib", "shared_kib"):
        expect(
            now[what] <= most_after(was[what]),
            f"after the attack, the victim: {now[what]} {what}, {was[what]} before",
        )

    harm = noisy
    # Silence is counted in messages of the pair of bystanders, which stop with the machine if it stops: half a second's worth more
    # than what was seen in peace.
    for reader, topic in (("cpp", "/victim"), ("python", "/victim"), ("victim", "/cpp"), ("victim", "/python")):
        was = max(before[reader]["topics"][topic]["longest_wait"], after[reader]["topics"][topic]["longest_wait"])
        now = during[reader]["topics"][topic]["longest_wait"]
        expect(now <= 2 * was + 25, f"{reader} got {now} messages of the others between two of {topic}, {was} in peace")

    # Latency is compared with that between the bystanders in the same seconds, so that a busy machine divides out: the quotient, which
    # is about 1 in peace, is at most five times what it is then. (A thread that computes for the attacker costs some; a lock that is held
    # costs a hundred times as much.)
    for reader in ("cpp", "python"):
        other = "/python" if reader == "cpp" else "/cpp"

        def relative(reports, reader=reader, other=other):
            return median_latency(reports, reader, "/victim") / median_latency(reports, reader, other)

        now, was = relative(during), max(1.0, relative(before), relative(after))
        expect(
            now <= 5 * was,
            f"{reader}: median latency from the victim is {now:.2f} of that between bystanders, {was:.2f} in peace",
        )

    # CPU time of a bystander for each message that it got: at most twice, since two processes that share a cache disturb each other.
    for name in ("cpp", "python"):

        def per_message(reports, name=name):
            return reports[name]["cpu_ns"] / max(1, sum(t["received"] for t in reports[name]["topics"].values()))

        now, was = per_message(during), max(per_message(before), per_message(after))
        expect(now <= 2 * was, f"{name}: {now / 1000:.0f} us of CPU time for a message, {was / 1000:.0f} in peace")

    # What the attack costs the victim in CPU time is bounded by what the attacker, a Python program, pays for it: work that grows
    # faster than the number of lies would show here. 50 ms are five ticks of the clock that counts the attacker's time. Accepting a
    # connection cost the victim up to five times what beginning one cost the attacker, on one machine; the reason is not known.
    def per_second(reports):
        return reports["victim"]["cpu_ns"] / reports["victim"]["seconds"]

    peace = max(per_second(before), per_second(after)) * during["victim"]["seconds"]
    extra = during["victim"]["cpu_ns"] - peace
    expect(
        extra <= 8 * attacker_cpu_ns + 50e6,
        f"the victim computed {extra / 1e6:.0f} ms more than in peace, the attacker {attacker_cpu_ns / 1e6:.0f} ms",
    )
    return counted, noisy
