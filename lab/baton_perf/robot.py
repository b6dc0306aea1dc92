# SPDX-License-Identifier: Apache-2.0
"""TZC's applications (TZC IV-E, Figs. 1, 10 and 11): a simulated TurtleBot whose software is real.

One run starts a master and seven nodes (lab/robot), a process each: camera, three recognitions, logger, controller, base. Nodes keep
what they see in memory while the robot moves, and print it at their end. All times are ns of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from . import peers
from .ros1_nodes import MASTER, Nodes, environment, master
from .runs import Load, RunFailed

# The same programs but for the type of the images (lab/robot/middleware.hpp): stock ones, and those with types of Baton.
WAYS = {
    "tcpros": "TCPROS, as shipped",
    "preload": "Baton preloaded",
    "tzc": "types of Baton, tzc",
    "lotros": "types of Baton, lotros",
}
TASKS = ("drive", "turn")
SUBSCRIBERS = ("red", "yellow", "green", "logger")
PERIOD_NS = 1e9 / 30


def programs() -> Path:
    """Where the nodes are; an error that says why they are missing."""
    folder = peers.program_folder()
    if folder is None or not (folder / "baton_robot_camera").is_file():
        raise click.ClickException(
            "the robot's nodes are not built: they need a checkout with ROS 1 and OpenCV (Debian: libroscpp-dev libsensor-msgs-dev "
            "python3-rosmaster libopencv-imgproc-dev); `make build-lab` installs and builds all"
        )
    if not MASTER.is_file():
        raise click.ClickException(f"there is no {MASTER}: install python3-rosmaster")
    return folder


@dataclass(frozen=True)
class Setting:
    """The settings of a run, without the way."""

    task: str = "drive"
    load: float = 0.0  # share of every CPU that busy processes use beside
    width: int = 1920
    queue: int = 1  # of the publisher and of every subscriber

    def label(self) -> str:
        return f"{self.task}, {'idle' if self.load == 0 else f'load {self.load:.0%}'}"


def preloaded_library(folder: Path) -> Path:
    """libbaton_roscpp.so of the build, or of the installation, whose programs are in the folder."""
    places = [parent / "lib" for parent in folder.resolve().parents[:2]]
    for place in places:
        for library in (place / "libbaton_roscpp.so", *sorted(place.glob("*-linux-gnu/libbaton_roscpp.so"))):
            if library.is_file():
                return library
    raise RunFailed(f"libbaton_roscpp.so is not in {' or '.join(map(str, places))}")


def _own_environment(way: str, folder: Path) -> dict:
    """The environment that only the nodes with images get."""
    if way == "preload":
        return {"LD_PRELOAD": str(preloaded_library(folder))}
    return {"BATON_ROS1_MODE": way} if way != "tcpros" else {}


def _check_way(way: str, nodes: Nodes) -> None:
    """A run is of its way only if every node with images has, or has not, Baton's shared memory mapped."""
    names = {"camera", *SUBSCRIBERS}
    having = nodes.with_memory_of_baton(names)
    if way == "tcpros" and having:
        raise RunFailed(f"{', '.join(sorted(having))}: shared memory of Baton is mapped")
    if way != "tcpros" and having != names:
        raise RunFailed(f"{', '.join(sorted(names - having))}: no shared memory of Baton is mapped")


def perform(way: str, setting: Setting) -> dict:
    """Performs one run. Returns the times that its nodes saw and the figures made of them; or raises RunFailed."""
    folder = programs()
    own = _own_environment(way, folder)
    kind = "_types" if way in ("tzc", "lotros") else ""
    with tempfile.TemporaryDirectory(prefix="baton-robot-") as directory:
        plain = environment(directory)
        load_average = os.getloadavg()[0]
        world = Path(directory, "world")
        world.write_bytes(bytes(16))
        with master(plain), Nodes() as nodes:
            # roscpp's base and controller are the same programs in every way.
            for name, arguments in {"base": [world, setting.task], "controller": []}.items():
                nodes.start(name, [folder / f"baton_robot_{name}", *arguments], plain)
            recognition = folder / f"baton_robot_recognition{kind}"
            for name in SUBSCRIBERS[:-1]:
                nodes.start(name, [recognition, name, setting.queue], plain | own)
            nodes.start("logger", [folder / f"baton_robot_logger{kind}", setting.queue], plain | own)
            camera = [folder / f"baton_robot_camera{kind}", world, setting.task, setting.width, setting.queue]
            nodes.start("camera", camera, plain | own)
            nodes.wait_for("ready", nodes)
            with Load(setting.load):
                time.sleep(0.5)  # every link carries images by now
                nodes["base"].process.stdin.write("go\n")
                nodes["base"].process.stdin.flush()
                nodes.wait_for("speed", ["base"])
            time.sleep(0.5)  # the last images arrive
            _check_way(way, nodes)
            nodes.finish()
            words = next(line for line in nodes["base"].lines if line.startswith("speed ")).split()
            base = {key: float(value) for key, value in zip(words[::2], words[1::2], strict=True)}
            seen = {name: nodes[name].rows() for name in ("camera", *SUBSCRIBERS)}
            return {"load_average": load_average, "base": base, "seen": seen, **evaluate(setting.task, base, seen)}


def travelled(base: dict, at: float) -> float:
    """Motion::travelled (lab/robot/world.cpp) for a run's base."""
    start, brake, speed = base["start"], base["brake"] if base["brake"] > 0 else float("inf"), base["speed"]
    cruising = max(0.0, min(at, brake) - start) * 1e-9
    braking = min(max(0.0, at - brake) * 1e-9, speed / base["deceleration"])
    return speed * (cruising + braking) - base["deceleration"] * braking**2 / 2


def evaluate(task: str, base: dict, seen: dict[str, list]) -> dict:
    """Figures made of the nodes' times: T1 to T4 in ms (TZC Fig. 10) and their parts, the distances, the images lost.

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
