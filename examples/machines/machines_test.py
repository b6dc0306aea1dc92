# SPDX-License-Identifier: Apache-2.0
"""The programs of this folder, on two hosts: two runtime directories of this machine, which only the links join. And the settings of the
compose file."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from support.build import BIN, BUILD, LIB, LINK, ROOT, needs_package
from support.claims import Ports
from support.processes import Programs, environment

HERE = Path(__file__).resolve().parent
TALKER = BIN / "baton_machines_talker"
COMPOSE = YAML(typ="safe").load(HERE / "compose.yaml")
SERVICES = COMPOSE["services"]
HEAR = """
import baton
node = baton.Node("ear")
node.subscribe("chatter", "std_msgs/String", lambda message: print(message.data, flush=True))
baton.spin(node)
"""


@pytest.fixture
def ports():
    with Ports(2) as claimed:
        yield claimed


@pytest.fixture
def start(tmp_path):
    """start(host, *command): on that host."""
    with Programs({}) as programs:
        yield lambda host, *command: programs.start(command, env=environment(tmp_path / host))


def test_the_talker_is_compiled_against_the_build_folder_by_the_guides_own_lines(start, ports, tmp_path):
    if not (LIB / "libbaton.so").is_file():
        pytest.skip("not built: make build")
    guide = (ROOT / "docs/guides/machines.md").read_text()
    (lines,) = [block for block in re.findall(r"```sh\n(.*?)```", guide, re.DOTALL) if "-o talker" in block]
    for printed, here in (("~/src/baton", str(ROOT)), ("$baton/build/release", str(BUILD))):
        assert printed in lines
        lines = lines.replace(printed, here)
    shutil.copy(HERE / "talker.cpp", tmp_path)
    done = subprocess.run(["bash", "-euc", lines], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    talker = start("a", tmp_path / "talker", ports[0])
    node = start("a", sys.executable, "-c", HEAR)
    assert node.stdout.readline().startswith("hello ")
    talker.interrupted()


@needs_package(TALKER)
def test_the_listener_prints_the_messages_of_the_other_host(start, ports):
    listener = start("b", sys.executable, HERE / "listener.py", ports[1], f"127.0.0.1:{ports[0]}")
    talker = start("a", TALKER, ports[0])
    line = listener.stdout.readline()
    assert line.startswith("hello ") and "(from " in line, line
    out, _ = talker.interrupted()
    name, _, count = out.strip().partition(": ")
    assert name == "/chatter" and int(count.split()[0]) > 0, out


@pytest.mark.parametrize("host", ["camera-host", "base-station"])
def test_the_link_of_a_host_shares_the_directory_of_its_programs_and_alone_has_the_network(host):
    mine = {name: service for name, service in SERVICES.items() if service["volumes"] == [f"{host}:/run/baton"]}
    assert len(mine) == 2
    (link,) = [service for service in mine.values() if service["command"][0].endswith("/baton_link")]
    assert link["networks"] == ["wire"] and link["command"][1:3] == ["--host-name", host]
    (program,) = [service for service in mine.values() if service is not link]
    assert program["network_mode"] == "none"
    assert {service["user"] for service in mine.values()} == {"1000:1000"}
    assert host in COMPOSE["volumes"]


def test_the_links_of_the_compose_file_know_their_options_and_each_other():
    if not LINK.is_file():
        pytest.skip("baton_link is not built: make build")
    commands = [service["command"] for service in SERVICES.values() if service["command"][0].endswith("/baton_link")]
    for words in commands:
        done = subprocess.run([LINK, *words[1:], "--help"], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
    peers = [words[words.index("--peer") + 1] for words in commands if "--peer" in words]
    assert len(peers) == 1 and peers[0] in SERVICES
    dockerfile = (ROOT / "examples/containers/Dockerfile").read_text()
    assert "COPY --from=build /opt/baton/bin/baton_link /opt/baton/bin/" in dockerfile
