# SPDX-License-Identifier: Apache-2.0
"""ROS-SF's case study (section 5.3, Figs. 17 and 18): visual SLAM in ordinary ROS 1 nodes, stock and recompiled.

One run starts a master and five nodes (lab/slam), a process each: pub_tum, slam, and a subscriber of each output. The nodes keep what they see
in memory, and print it at their end. Times are ns since 1970 (ros::Time), on one machine.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import xmlrpc.client
from dataclasses import dataclass
from pathlib import Path

import click

from . import peers
from .ros1_nodes import MASTER, PATIENCE_S, Nodes, environment, master
from .runs import RunFailed

# The same sources, compiled against ROS's message headers and against those of baton_ros1_messages.
WAYS = {"stock": "ROS, as shipped", "recompiled": "recompiled"}
OUTPUTS = {"pose": "pose", "cloud": "point cloud", "debug_image": "debug image"}
CALIBRATION = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3")


@dataclass(frozen=True)
class Case:
    """The settings of a run, without the way."""

    name: str
    columns: int  # of the rendered images; 0: a sequence that was given
    rows: int
    features: int  # that the SLAM node looks for in each image
    images: int = 200
    rate: float = 10

    def label(self) -> str:
        size = f"{self.columns} x {self.rows}, " if self.columns else ""
        return f"{self.name}: {size}{self.features} features"


CASES = {
    "paper": Case("paper", 640, 480, 2000),
    "hd": Case("hd", 1920, 1080, 1000),
}


def programs() -> Path:
    """Where the nodes are; an error that says why they are missing."""
    folder = peers.program_folder()
    if folder is None or not (folder / "baton_slam_slam_recompiled").is_file():
        raise click.ClickException(
            "the SLAM nodes are not built: they need a checkout with ROS 1 and OpenCV (Debian: libroscpp-dev libsensor-msgs-dev "
            "libgeometry-msgs-dev libcv-bridge-dev libopencv-dev python3-rosmaster); `make build-lab` installs and builds all"
        )
    if not MASTER.is_file():
        raise click.ClickException(f"there is no {MASTER}: install python3-rosmaster")
    return folder


def calibration(text: str) -> dict[str, float]:
    """From `fx,fy,cx,cy`, or with `,k1,k2,p1,p2,k3` behind."""
    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (4, 9):
        raise click.ClickException(f"--camera '{text}' has not the form fx,fy,cx,cy or fx,fy,cx,cy,k1,k2,p1,p2,k3")
    return dict(zip(CALIBRATION, numbers, strict=False))


def generate(case: Case, folder: Path) -> None:
    """Renders the case's sequence."""
    command = [programs() / "baton_slam_generate", folder, case.columns, case.rows, case.images]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise click.ClickException(done.stderr.strip())


def _messages_by_tcp(master_uri: str, node: str) -> dict[str, int]:
    """Of each topic that the node publishes: how many messages it has sent by TCPROS (what `rosnode` asks for, too)."""
    _, _, uri = xmlrpc.client.ServerProxy(master_uri).lookupNode("/baton_perf", f"/{node}")
    published, *_ = xmlrpc.client.ServerProxy(uri).getBusStats("/baton_perf")  # roscpp answers without a status
    return {topic: sum(link[3] for link in links) for topic, links in published}


def _check_way(way: str, nodes: Nodes, master_uri: str) -> None:
    """A run is of its way only if all data goes by TCPROS, or nothing: then nothing is serialized either."""
    having = nodes.with_memory_of_baton(nodes)
    sent = _messages_by_tcp(master_uri, "pub_tum") | _messages_by_tcp(master_uri, "slam")
    by_tcp = {topic: sent.get(f"/{topic}", 0) for topic in ("image", *OUTPUTS)}
    if way == "stock" and (having or not all(by_tcp.values())):
        raise RunFailed(f"a stock node has shared memory of Baton, or a topic did not go by TCPROS: {having}, {by_tcp}")
    if way == "recompiled" and (having != set(nodes) or any(by_tcp.values())):
        raise RunFailed(
            f"a recompiled node has no shared memory of Baton, or sent messages by TCPROS: {having}, {by_tcp}"
        )


def perform(way: str, case: Case, sequence: Path, camera: dict[str, float]) -> dict:
    """Performs one run. Returns the times that its nodes saw, joined by the stamps of the input images; or raises RunFailed."""
    folder = programs()
    with tempfile.TemporaryDirectory(prefix="baton-slam-") as directory:
        surroundings = environment(directory)
        load_average = os.getloadavg()[0]
        with master(surroundings), Nodes() as nodes:

            def start(name: str, program: str, *arguments: str, **settings) -> None:
                words = [f"_{key}:={value}" for key, value in settings.items()]
                nodes.start(name, [folder / f"baton_slam_{program}_{way}", *arguments, *words], surroundings)

            for output in OUTPUTS:
                start(output, "latency", output)
            nodes.wait_for("ready", OUTPUTS)
            start("slam", "slam", features=case.features, **camera)
            nodes.wait_for("ready", ["slam"])
            start("pub_tum", "pub_tum", sequence=sequence.resolve(), rate=case.rate, images=case.images)
            nodes.wait_for("end", ["pub_tum"], PATIENCE_S + 2 * case.images / case.rate)
            nodes.wait_until_idle()  # the last outputs have arrived
            _check_way(way, nodes, surroundings["ROS_MASTER_URI"])
            nodes.finish()
            seen = {name: {int(row[0]): row[1:] for row in node.words()} for name, node in nodes.items()}
    return {"load_average": load_average, **evaluate(seen)}


def evaluate(seen: dict[str, dict[int, list[str]]]) -> dict:
    """Figures made of each node's times, by the images' stamps: for each output the latencies, and the SLAM node's computing time in them, in ms, of
    the images for which it found a pose; the contents of the outputs and the poses, by the images' times in the sequence; the lost messages."""
    times = {stamp: float(row[0]) for stamp, row in seen["pub_tum"].items()}
    tracked = {stamp: [int(word) for word in row] for stamp, row in seen["slam"].items()}
    located = [stamp for stamp in times if stamp in tracked and tracked[stamp][4] > 0]
    if not located:
        raise RunFailed("the SLAM node found no pose")
    result: dict = {
        "images": len(times),
        "located": len(located),
        "lost": {"image": len(times.keys() - tracked.keys())},
        "latency_ms": {},
        "computing_ms": {},
        "contents": {},
    }
    for output in OUTPUTS:
        received = seen[output]
        # Each image has a debug image; only one with a pose has a pose and a cloud.
        expected = tracked if output == "debug_image" else located
        result["lost"][output] = sum(stamp not in received for stamp in expected)
        there = [stamp for stamp in located if stamp in received]
        result["latency_ms"][output] = [(int(received[stamp][0]) - stamp) / 1e6 for stamp in there]
        result["computing_ms"][output] = [
            (done - begun + (drawn - drawing if output == "debug_image" else 0)) / 1e6
            for begun, done, drawing, drawn, _ in (tracked[stamp] for stamp in there)
        ]
        result["contents"][output] = {
            times[stamp]: " ".join(row[1:]) for stamp, row in received.items() if stamp in times
        }
    return result


def trajectory(run: dict) -> tuple[list[float], list[list[float]]]:
    """The times and positions of a run's poses."""
    poses = run["contents"]["pose"]
    return [float(moment) for moment in poses], [[float(word) for word in text.split()[:3]] for text in poses.values()]
