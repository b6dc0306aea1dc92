# SPDX-License-Identifier: Apache-2.0
"""The containers of examples/containers share topics through one directory, and nothing else.

No container engine is needed: each service of compose.yaml runs in namespaces of its own (mount, pid, net, ipc, uts, cgroup), with a root in
which /tmp, /run, /opt and /dev are its own, and with the volumes, the environment and the command that the file declares. The programs
and libraries are those of this machine, where the images have their own.
"""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from support.build import BIN, BUILD, PACKAGE, ROOT, has_package
from support.ros2 import TESTED, over

FOLDER = ROOT / "examples/containers"
ROS2 = TESTED.python
COMPOSE = YAML(typ="safe").load(FOLDER / "compose.yaml")
SERVICES = COMPOSE["services"]
DOCKERFILE = (FOLDER / "Dockerfile").read_text()
NAMESPACES = ("ipc", "mnt", "net", "pid", "uts")


def stages():
    """The lines of each stage of the Dockerfile, by name. A stage begins with the lines of the stage from which it starts."""
    found = {}
    for text in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]:
        base, name = re.match(r"(\S+) AS (\S+)", text).groups()
        lines = text.replace("\\\n", " ").splitlines()[1:]
        found[name] = [*found.get(base, []), *(line for line in lines if line and not line.startswith("#"))]
    return found


def works(*command):
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_shares_the_directory_alone(name):
    service = SERVICES[name]
    assert set(service) <= {"user", "volumes", "environment", "init", "stop_signal", "build", "command"}
    assert service["volumes"] == ["baton:/run/baton"] and list(COMPOSE["volumes"]) == ["baton"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_and_its_image_say_the_same(name):
    service = SERVICES[name]
    assert (FOLDER / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).samefile(FOLDER / "Dockerfile")
    lines = stages()[service["build"]["target"]]
    assert lines[-1].startswith("CMD ") and eval(lines[-1].removeprefix("CMD ")) == service["command"]
    assert f"ENV BATON_RUNTIME_DIR={service['environment']['BATON_RUNTIME_DIR']}" in lines
    # A named volume takes its owner and its mode from the image's directory.
    uid, _ = service["user"].split(":")
    made = [line for line in lines if line.startswith("RUN useradd")]
    assert made == [f"RUN useradd --create-home --uid {uid} robot && install -d -o robot -g robot -m 700 /run/baton"]


def contents(name):
    """The contents of /opt/robot in the service's image, made from this checkout, and the environment that the image and compose set."""
    if name == "camera":
        return BIN / "baton_readme_camera", {}
    if name == "viewer":
        return FOLDER / "viewer.py", {"PATH": f"{Path(sys.executable).parent}:/usr/bin", "PYTHONPATH": str(PACKAGE)}
    return FOLDER / "watcher.py", {"PATH": f"{ROS2.parent}:/usr/bin", **over("baton")}


def start(name, volume):
    """The service, and the host's id of its first process."""
    service = SERVICES[name]
    file, environment = contents(name)
    target = {"camera": "/opt/robot/bin/camera"}.get(name, f"/opt/robot/{file.name}")
    assert target in service["command"]
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/", "/"]
    hidden = ("/tmp", "/run", "/opt")
    for folder in hidden:
        command += ["--tmpfs", folder]
    for needed in (ROOT, BUILD.resolve(), Path(sys.prefix).resolve(), ROS2.parents[1].resolve()):
        if any(needed.is_relative_to(folder) for folder in hidden):
            command += ["--ro-bind", str(needed), str(needed)]
    command += ["--dev", "/dev", "--proc", "/proc", "--ro-bind", str(file), target]
    for mount in service["volumes"]:
        assert mount.split(":")[0] == "baton"
        command += ["--bind", str(volume), mount.split(":")[1]]
    for key, value in ({"HOME": "/tmp"} | environment | service["environment"]).items():
        command += ["--setenv", key, value]
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [*command, "--info-fd", str(writing), "--", *service["command"]],
        stdout=subprocess.PIPE, pass_fds=[writing],
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as information:
        child = int(re.search(r'"child-pid": (\d+)', information.read())[1])
    return process, child


def end(pid):
    """Kills the first process of a pid namespace, and so all its others. The end of bwrap does the same, but not while bwrap starts."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def namespaces(pid):
    return {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in NAMESPACES}


@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap: make test")
@pytest.mark.skipif(
    bool(shutil.which("bwrap")) and not works("bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"),
    reason="this machine lets nobody make namespaces",
)
@pytest.mark.parametrize("with_ros2", [False, True], ids=["baton", "baton and ROS 2"])
def test_services_in_namespaces_of_their_own_get_each_other_s_messages(tmp_path, with_ros2):
    if not has_package() or not (BIN / "baton_readme_camera").exists():
        pytest.skip("needs the release build: make build")
    if with_ros2 and not (TESTED.library.exists() and ROS2.exists()):
        pytest.skip("the RMW is not built: make test, on x86-64")
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o700)
    expected = {"image of 921600 bytes from the camera"}
    names = ["viewer", "camera"]
    if with_ros2:
        names.append("watcher")
        expected.add("ROS 2 says: 640x480, rgb8")
    with contextlib.ExitStack() as stack:
        started = {}
        for name in names:
            process, child = started[name] = start(name, volume)
            stack.enter_context(process)
            stack.callback(process.kill)
            stack.callback(end, child)
        seen = {name: namespaces(child) for name, (_, child) in started.items()} | {"here": namespaces("self")}
        for kind in NAMESPACES:
            assert len({each[kind] for each in seen.values()}) == len(seen), f"two share their {kind} namespace: {seen}"
        said = ""
        words = started["viewer"][0].stdout.fileno()

        def lines():
            return set(said.rpartition("\n")[0].splitlines())  # one read may end within a line

        while not expected <= lines():  # pytest's and CI's limits end the wait if they do not come
            if select.select([words], [], [], 0.2)[0]:
                said += os.read(words, 4096).decode()
            ended = [name for name, (process, _) in started.items() if process.poll() is not None]
            assert not ended, f"{ended} ended; the viewer said {said}"
        assert lines() == expected
