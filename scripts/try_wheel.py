#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a wheel into a fresh environment outside of the checkout and uses it as somebody would on the first day.

The import and its version; messages between two processes; `baton --version`, `generate`, `perf`, `link` and `demo`; and whether stubs, generator and
licence came along. `--packages DIR` takes what the wheel depends on from there instead of from the package index.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.claims import Ports

PUBLISHER = """
import baton
from baton.msg.sensor_msgs import Image

node = baton.Node("camera")
publisher = node.advertise("image", Image)
assert publisher.wait_for_subscriptions(1, 60), "no subscription came"
for number in range(5):
    with publisher.loan() as image:
        image.width, image.height = 640, 480
        image.data.resize(640 * 480 * 3)
        image.data[:] = number
assert publisher.counters.copied_messages == 0, publisher.counters
input()  # until the subscriber has them
"""

SUBSCRIBER = """
import sys, baton
from baton.msg.sensor_msgs import Image

node = baton.Node("viewer")
subscription = node.subscribe("image", Image, qos=5)
print("ready", flush=True)
for number in range(5):
    image = subscription.take(60)
    assert image is not None, f"no image {number}"
    assert image.data.shape == (640 * 480 * 3,) and not image.data.flags.writeable
    assert image.data[0] == image.data[-1] == number, (image.data[0], number)
print("all", flush=True)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="whose venv it is")
    parser.add_argument("--packages", type=Path, help="a site-packages folder with the dependencies")
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve()
    version = wheel.name.split("-")[1]
    with tempfile.TemporaryDirectory(prefix="baton-wheel-") as folder:
        use(wheel, version, arguments.python, arguments.packages, Path(folder))


def use(wheel: Path, version: str, python: Path, packages: Path | None, folder: Path) -> None:
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("BATON_", "PYTHON", "VIRTUAL_ENV"))
    }
    environment |= {"BATON_RUNTIME_DIR": str(folder / "run"), "PATH": f"{folder}/venv/bin:/usr/bin:/bin"}

    def run(*command: object, timeout: float = 120) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            sys.exit(f"try_wheel: {' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def expect(text: str, wanted: str, of: str) -> None:
        if wanted not in text:
            sys.exit(f"try_wheel: {of} has no '{wanted}':\n{text}")

    run(python, "-m", "venv", "venv")
    inside = folder / "venv/bin/python"
    dependencies = ["--no-deps", "--no-index"] if packages else []
    run(inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", *dependencies, wheel, timeout=600)
    site = Path(run(inside, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    if packages:
        (site / "dependencies.pth").write_text(f"{packages.resolve()}\n")

    where = run(inside, "-c", "import baton; print(baton.__version__, baton.__file__, baton._core.__file__)").split()
    if where[0] != version or not all(Path(file).is_relative_to(site) for file in where[1:]):
        sys.exit(f"try_wheel: not this wheel's package: {where}, not {version} in {site}")
    for file in (
        "baton/py.typed",
        "baton/_core.pyi",
        "baton_accelerate.pth",
        f"baton_ipc-{version}.dist-info/licenses/LICENSE",
    ):
        if not (site / file).is_file():
            sys.exit(f"try_wheel: the wheel has no {file}")

    with subprocess.Popen(
        [inside, "-c", SUBSCRIBER], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as subscriber:
        expect(subscriber.stdout.readline(), "ready", "the subscriber")
        with subprocess.Popen(
            [inside, "-c", PUBLISHER], cwd=folder, env=environment, stdin=subprocess.PIPE, text=True
        ) as publisher:
            expect(subscriber.stdout.readline(), "all", "the subscriber")
            publisher.communicate("\n", timeout=60)
    if subscriber.returncode or publisher.returncode:
        sys.exit(f"try_wheel: subscriber ended with {subscriber.returncode}, publisher with {publisher.returncode}")

    baton = folder / "venv/bin/baton"
    expect(run(baton, "--version"), version, "baton --version")
    expect(run(baton, "topic", "list"), "no topic", "baton topic list")
    (folder / "Wheel.msg").write_text("float64 speed\n")
    run(baton, "generate", "--file", "Wheel.msg", "--package-name", "my_robot", "sensor_msgs/Image")
    expect((folder / "include/baton/msg/my_robot/wheel.hpp").read_text(), "speed", "the generated header")
    (folder / "nodes").mkdir()
    (folder / "nodes/camera.py").write_text("import rospy\nrospy.init_node('camera')\n")
    expect(run(baton, "migrate", "report", "nodes"), "rospy.init_node: in Baton", "baton migrate report")
    expect(run(baton, "perf", "peers"), "unix_socket", "baton perf peers")
    measured = run(baton, "perf", "run", "-p", "baton", "-p", "unix_socket", "-b", "64K", "-n", "20", "--rounds", "1")
    expect(measured, "unix_socket", "baton perf run")
    run_link(environment, expect, folder, inside)
    run_demo(run, expect, wheel, folder, packages)
    print("used: import, two processes, version, generate, perf, link, demo")


LINKED = """
import os, sys, baton
from baton.msg.std_msgs import String

node = baton.Node("far", runtime_directory=sys.argv[1])
with baton.Link([f"127.0.0.1:{sys.argv[2]}"], port=int(sys.argv[3]), interface="lo", host_name="far", runtime_directory=sys.argv[1]):
    publisher = node.advertise("linked", String)
    assert publisher.wait_for_subscriptions(1, 60), "no subscription of the other host came"
    publisher.publish({"data": "hello"})
    input()  # until the other host has it
"""


def run_link(environment: dict[str, str], expect, folder: Path, inside: Path) -> None:
    """Two hosts on this machine: `baton link` of the wheel, and a Link of its package."""
    ports = Ports(2)  # claimed until this program ends
    here, there = ports.numbers
    (folder / "far").mkdir(mode=0o700)
    ends = {"cwd": folder, "env": environment, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    link = [folder / "venv/bin/baton", "link", "--interface", "lo", "--port", str(here), "--host-name", "near"]
    with subprocess.Popen(link, cwd=folder, env=environment) as near:
        try:
            words = [inside, "-c", LINKED, folder / "far", str(here), str(there)]
            with subprocess.Popen(words, **ends) as far:
                echo = [folder / "venv/bin/baton", "topic", "echo", "/linked", "--once", "--timeout", "60"]
                done = subprocess.run(echo, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
                expect(done.stdout + done.stderr, "data: hello", "a topic of another host")
                far.communicate("\n", timeout=60)
        finally:
            near.terminate()
    if near.returncode or far.returncode:
        sys.exit(f"try_wheel: the links ended with {near.returncode} and {far.returncode}")


def run_demo(run, expect, wheel: Path, folder: Path, packages: Path | None) -> None:
    """Four processes without extras; their picture with [view]."""
    command = (folder / "venv/bin/baton", "demo", "--size", "720p", "--rate", "10", "--seconds", "1.5")
    if not packages:
        plain = " ".join(run(*command, "--out", "plain").split())
        expect(plain, "pip install 'baton-ipc[view]'", "baton demo without Pillow")
        inside = folder / "venv/bin/python"
        run(inside, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[view]", timeout=600)
    run(*command, "--out", "seen")
    if not (folder / "seen/demo.png").read_bytes().startswith(b"\x89PNG"):
        sys.exit("try_wheel: baton demo drew no picture")
    for step in json.loads((folder / "seen/reports.json").read_text()):
        for role in ("camera", "detector", "recorder", "viewer"):
            if not step["reports"][role]["messages"]:
                sys.exit(f"try_wheel: baton demo's {role} had no message over {step['transport']}")


if __name__ == "__main__":
    main()
