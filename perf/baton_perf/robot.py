# SPDX-License-Identifier: Apache-2.0
"""TZC's applications (TZC IV-E, Figs. 1, 10 and 11): a simulated TurtleBot whose software is real.

One run starts a master and seven nodes (perf/robot), a process each: camera, three recognitions, logger, controller, base. Nodes keep
what they see in memory while the robot moves, and print it at their end. All times are ns of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import os
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from . import peers
from .runs import Load, RunFailed

# The same programs but for the type of the images (perf/robot/middleware.hpp): stock ones, and those with types of Baton.
WAYS = {
    "tcpros": "TCPROS, as shipped",
    "preload": "Baton preloaded",
    "tzc": "types of Baton, tzc",
    "lotros": "types of Baton, lotros",
}
TASKS = ("drive", "turn")
SUBSCRIBERS = ("red", "yellow", "green", "logger")
MASTER = Path("/usr/bin/rosmaster")
PATIENCE_S = 60
PERIOD_NS = 1e9 / 30


def programs() -> Path:
    """Where the nodes are; an error that says why they are missing."""
    folder = peers.program_folder()
    if folder is None or not (folder / "baton_robot_camera").is_file():
        raise click.ClickException(
            "the robot's nodes are not built: they need a checkout with ROS 1 and OpenCV (Debian: libroscpp-dev libsensor-msgs-dev "
            "python3-rosmaster libopencv-imgproc-dev); install them (`make setup`) and run `make build`"
        )
    if not MASTER.is_file():
        raise click.ClickException(f"there is no {MASTER}: install python3-rosmaster")
    return folder


@dataclass(frozen=True)
class Setting:
    """What one run measures, apart from the way."""

    task: str = "drive"
    load: float = 0.0  # share of every CPU that busy processes use beside
    width: int = 1920
    queue: int = 1  # of the publisher and of every subscriber

    def label(self) -> str:
        return f"{self.task}, {'idle' if self.load == 0 else f'load {self.load:.0%}'}"


class _Node:
    """A program whose lines are kept."""

    def __init__(self, name: str, command: list, environment: dict, on_line: threading.Condition):
        self.name = name
        self.lines: list[str] = []
        self._on_line = on_line
        self._errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,  # Ctrl-C is not for it: this process ends it
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._on_line:
                self.lines.append(line.rstrip("\n"))
                self._on_line.notify_all()
        with self._on_line:
            self.lines.append("")  # the end
            self._on_line.notify_all()

    def has(self, word: str) -> bool:
        return any(line.split(" ", 1)[0] == word for line in self.lines)

    def last_words(self) -> str:
        self._errors.seek(0)
        return " | ".join([*self._errors.read().strip().splitlines()[-3:], *self.lines[-2:]])[-400:].strip()

    def failed(self) -> bool:
        return self.process.poll() is not None

    def finish(self) -> None:
        """Ends it as `rosnode kill` does; it prints what it has seen."""
        self.process.send_signal(signal.SIGINT)

    def finished(self) -> None:
        try:
            status = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{self.name} did not end") from None
        self._reader.join()
        if status != 0:
            raise RunFailed(f"{self.name} ended with {status}: {self.last_words()}")

    def rows(self, word: str = "frame") -> list[list[float]]:
        return [[float(n) for n in line.split()[1:]] for line in self.lines if line.startswith(word + " ")]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdin, self.process.stdout, self._errors):
            stream.close()


@contextmanager
def _master(environment: dict) -> Iterator[None]:
    """A rosmaster on a port that was free a moment ago, and on another if somebody took it meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment["ROS_MASTER_URI"] = f"http://127.0.0.1:{port}"
        master = subprocess.Popen(
            ["/usr/bin/python3", MASTER, "--core", "-p", str(port)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            while master.poll() is None and time.monotonic() < end:
                with socket.socket() as tried:
                    if tried.connect_ex(("127.0.0.1", port)) == 0:
                        yield
                        return
                time.sleep(0.02)
        finally:
            master.kill()
            master.wait()
    raise RunFailed("rosmaster does not answer")


def _environment(way: str, directory: str, folder: Path) -> tuple[dict, dict]:
    """For all processes, and what the nodes with images have beside."""
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "BATON_DOMAIN")}
    plain |= {"ROS_IP": "127.0.0.1", "ROS_HOME": directory, "ROS_LOG_DIR": directory, "BATON_RUNTIME_DIR": directory}
    if way == "preload":
        library = folder.resolve().parent / "lib" / "libbaton_roscpp.so"
        if not library.is_file():
            raise RunFailed(f"there is no {library}")
        return plain, {"LD_PRELOAD": str(library)}
    return plain, {"BATON_ROS1_MODE": way} if way != "tcpros" else {}


def _check_way(way: str, nodes: dict[str, _Node]) -> None:
    """A run is of its way only if every node with images has, or has not, Baton's shared memory mapped."""
    for name in ("camera", *SUBSCRIBERS):
        maps = Path(f"/proc/{nodes[name].process.pid}/maps").read_text()
        if ("baton-data" in maps) != (way != "tcpros"):
            raise RunFailed(f"{name} has {'no' if way != 'tcpros' else 'a'} shared memory of Baton mapped")


def perform(way: str, setting: Setting) -> dict:
    """One run: what its nodes saw, and what follows from it; or raises RunFailed."""
    folder = programs()
    kind = "_types" if way in ("tzc", "lotros") else ""
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="baton-robot-"))
        plain, own = _environment(way, directory, folder)
        load_average = os.getloadavg()[0]
        world = Path(directory, "world")
        world.write_bytes(bytes(16))
        stack.enter_context(_master(plain))
        on_line = threading.Condition()
        nodes: dict[str, _Node] = {}

        def start(name: str, program: str, *arguments, images: bool = True) -> None:
            command = [folder / f"baton_robot_{program}{kind if images else ''}", *arguments]
            # roscpp's base and controller are the same programs in every way.
            nodes[name] = _Node(name, command, plain | own if images else plain, on_line)
            stack.callback(nodes[name].close)

        def wait_for(word: str, names, patience_s: float) -> None:
            def there() -> bool:
                dead = [node for node in nodes.values() if node.failed()]
                if dead:
                    raise RunFailed(f"{dead[0].name} ended: {dead[0].last_words()}")
                return all(nodes[name].has(word) for name in names)

            with on_line:
                if not on_line.wait_for(there, patience_s):
                    late = [name for name in names if not nodes[name].has(word)]
                    raise RunFailed(f"no '{word}' from {', '.join(late)} in {patience_s:.0f} s")

        start("base", "base", world, setting.task, images=False)
        start("controller", "controller", images=False)
        for name in SUBSCRIBERS[:-1]:
            start(name, "recognition", name, setting.queue)
        start("logger", "logger", setting.queue)
        start("camera", "camera", world, setting.task, setting.width, setting.queue)
        wait_for("ready", nodes, PATIENCE_S)
        with Load(setting.load):
            time.sleep(0.5)  # every link carries images by now
            nodes["base"].process.stdin.write("go\n")
            nodes["base"].process.stdin.flush()
            wait_for("speed", ["base"], PATIENCE_S)
        time.sleep(0.5)  # the last images arrive
        _check_way(way, nodes)
        for node in nodes.values():
            node.finish()
        for node in nodes.values():
            node.finished()
        words = next(line for line in nodes["base"].lines if line.startswith("speed ")).split()
        base = {key: float(value) for key, value in zip(words[::2], words[1::2], strict=True)}
        seen = {name: nodes[name].rows() for name in ("camera", *SUBSCRIBERS)}
        return {"load_average": load_average, "base": base, "seen": seen, **evaluate(setting.task, base, seen)}


def travelled(base: dict, at: float) -> float:
    """Motion::travelled (perf/robot/world.cpp) for a run's base."""
    start, brake, speed = base["start"], base["brake"] if base["brake"] > 0 else float("inf"), base["speed"]
    cruising = max(0.0, min(at, brake) - start) * 1e-9
    braking = min(max(0.0, at - brake) * 1e-9, speed / base["deceleration"])
    return speed * (cruising + braking) - base["deceleration"] * braking**2 / 2


def evaluate(task: str, base: dict, seen: dict[str, list]) -> dict:
    """From what the nodes saw: T1 to T4 in ms (TZC Fig. 10) and what they consist of, the distances, the images lost.

    T2 is the time from the light until recognition has the image that made the robot brake. It consists of the wait for the camera's
    next picture and of drawing that picture, both of which are the simulation's, and of the middleware's share: handing over
    and, if images with the light were lost, waiting for the next ones.
    """
    start, brake, stop = (base[key] for key in ("start", "brake", "stop"))
    end = stop if stop > 0 else start + base["travelled"] / base["speed"] * 1e9
    moving = [frame for frame in seen["camera"] if start <= frame[0] <= end]
    taken = {frame[0] for frame in moving}
    result: dict = {
        "published": len(moving),
        "untaken": max(0, round((end - start) / PERIOD_NS) - len(moving)),
        "lost": {name: len(taken - {row[0] for row in seen[name]}) for name in SUBSCRIBERS},
        "drawing_ms": statistics.median((f[1] - f[0]) / 1e6 for f in moving) if moving else None,
        "publishing_ms": statistics.median((f[2] - f[1]) / 1e6 for f in moving) if moving else None,
        "stopped": stop > 0,
    }
    triggered = start + base["trigger"] / base["speed"] * 1e9
    lit = start if task == "turn" else triggered + base["delay"]
    if stop > 0 and brake < lit:
        raise RunFailed("the robot braked before the light was on")
    by_taken = {frame[0]: frame for frame in moving}
    hand_overs = [(row[1] - by_taken[row[0]][1]) / 1e6 for row in seen["red"] if row[0] in by_taken]
    result["hand_over_ms"] = statistics.median(hand_overs) if hand_overs else None
    key = next((row for row in seen["red"] if row[3] and row[0] in by_taken), None)
    if stop < 0 or key is None:
        return result
    speed, deceleration = base["speed"], base["deceleration"]
    if task == "turn":
        beyond = base["travelled"] - base["trigger"]
        if beyond < 0:
            raise RunFailed("the robot stopped before it faced the light")
        return result | {"angle": beyond % 360, "extra_turns": int(beyond // 360)}
    first_lit = next(frame for frame in moving if frame[4])
    times = {
        "T1": lit - triggered,
        "T2": key[1] - lit,
        "T3": brake - key[1],
        "T4": stop - brake,
        "T2_camera": first_lit[0] - lit,
        "T2_drawing": by_taken[key[0]][1] - key[0],
        "T3_recognition": key[2] - key[1],
        "T3_command": brake - key[2],
    }
    times["T2_middleware"] = times["T2"] - times["T2_camera"] - times["T2_drawing"]
    distances = {f"L{n}": speed * times[f"T{n}"] * 1e-9 * 100 for n in (1, 2, 3)}
    distances["L4"] = speed**2 / (2 * deceleration) * 100
    distances["L"] = (base["travelled"] - base["trigger"]) * 100
    return result | {"ms": {name: value / 1e6 for name, value in times.items()}, "cm": distances}
