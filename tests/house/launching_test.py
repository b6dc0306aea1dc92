# SPDX-License-Identifier: Apache-2.0
"""The launchers of docs/guides/launching.md start the README's programs, restart a killed camera, and end all programs by one Ctrl-C."""

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import processes
from support.build import BIN, PACKAGE, ROOT, needs_package
from support.processes import Programs
from support.waiting import LIMIT_S, until

LAUNCH = ROOT / "examples/launch"

pytestmark = needs_package(BIN / "baton_readme_camera")

LAUNCHERS = {
    "honcho": [str(Path(sys.executable).parent / "honcho"), "-f", str(LAUNCH / "Procfile"), "start"],
    "script": [str(LAUNCH / "robot.sh")],
    "launch": [sys.executable, str(LAUNCH / "robot.launch.py")],
}


@pytest.fixture
def environment(tmp_path):
    directory = tmp_path / "run"
    more = {"BATON_DOMAIN": "0", "ROS_HOME": str(tmp_path / "ros"), "TMUX_TMPDIR": str(directory)}
    more["PATH"] = f"{BIN}:{os.environ['PATH']}"
    more["PYTHONPATH"] = os.pathsep.join(filter(None, [str(PACKAGE), os.environ.get("PYTHONPATH")]))
    return processes.environment(directory, **more)


@pytest.fixture
def nodes(environment):
    """nodes(condition) waits until the domain's nodes, with their processes, meet the condition, and returns them."""
    watcher = """
import baton, sys
node = baton.Node("_baton_watcher")
for line in sys.stdin:
    print(dict(n for n in node.nodes() if n[0] != "_baton_watcher"), flush=True)
"""
    with Programs(environment) as programs:
        process = programs.python(watcher)

        def now():
            process.tell()
            return eval(process.stdout.readline(), {"__builtins__": {}}, {})

        yield lambda condition: until(lambda: [found] if condition(found := now()) else None, now, every_s=0.1)[0]


ALL = {"/left/camera", "/right/camera", "viewer"}


@pytest.mark.parametrize("name", LAUNCHERS)
def test_a_launcher_starts_all_starts_a_killed_one_again_and_ends_all_by_one_interrupt(
    environment, nodes, name, tmp_path
):
    command = LAUNCHERS[name]
    if name == "launch" and not importlib.util.find_spec("launch"):
        pytest.skip("needs the Python package launch of ROS 2, which is not on PyPI")
    if name == "honcho" and not Path(command[0]).exists():
        pytest.skip("needs honcho: make test")
    with (tmp_path / "log").open("w") as log:
        # A session of its own, whose processes all get the interrupt, as from a terminal.
        launcher = subprocess.Popen(
            command,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # `pytest &` in a shell ignores SIGINT
        )
        try:
            before = nodes(lambda found: set(found) == ALL)
            os.kill(before["/left/camera"], signal.SIGKILL)
            nodes(lambda found: set(found) == ALL and found["/left/camera"] != before["/left/camera"])
            os.killpg(launcher.pid, signal.SIGINT)
            launcher.wait(LIMIT_S)
            nodes(lambda found: not found)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(launcher.pid, signal.SIGKILL)  # the launcher's session, if it still exists
            launcher.wait()
            for pid in nodes(lambda found: True).values():  # some launchers start programs in sessions of their own
                os.kill(pid, signal.SIGKILL)
    assert "640x480 921600 bytes" in (tmp_path / "log").read_text(), "the viewer got the images of the left camera"


@pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux: make test")
def test_tmux_shows_each_program_in_a_pane_and_ends_all_by_one_interrupt(environment, nodes):
    def tmux(*arguments):
        return subprocess.run(
            ["tmux", *arguments], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=True
        ).stdout

    try:
        subprocess.run([LAUNCH / "tmux.sh"], env=environment, timeout=LIMIT_S, check=False, stdout=subprocess.DEVNULL)
        before = nodes(lambda found: set(found) == ALL)
        os.kill(before["/right/camera"], signal.SIGKILL)
        nodes(lambda found: "/right/camera" not in found)
        tmux("respawn-pane", "-k", "-t", "robot:0.1")
        nodes(lambda found: set(found) == ALL)
        assert "640x480 921600 bytes" in tmux("capture-pane", "-p", "-t", "robot:0.2")
        subprocess.run([LAUNCH / "tmux.sh"], env=environment, timeout=LIMIT_S, check=False, stdout=subprocess.DEVNULL)
        assert len(tmux("list-panes", "-t", "robot").splitlines()) == 3, "a second call makes nothing new"
        # A typed key goes to all panes, but send-keys reaches one pane.
        for pane in range(3):
            tmux("send-keys", "-t", f"robot:0.{pane}", "C-c")
        nodes(lambda found: not found)
    finally:
        subprocess.run(["tmux", "kill-server"], env=environment, capture_output=True, timeout=LIMIT_S, check=False)
