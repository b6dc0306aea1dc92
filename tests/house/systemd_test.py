# SPDX-License-Identifier: Apache-2.0
"""systemd has nothing to say against the units of examples/systemd, each with its drop-ins."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = Path(__file__).resolve().parents[2] / "examples/systemd"
PROGRAMS = "/opt/robot/bin/"

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze: make test")


@pytest.fixture
def units(tmp_path):
    """Copies, whose programs are there."""
    folder = tmp_path / "units"
    shutil.copytree(UNITS, folder)
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("camera", "controller"):
        (programs / program).write_text("#!/bin/sh\n")
        (programs / program).chmod(0o755)
    template = folder / "baton-node@.service"
    text = template.read_text()
    assert PROGRAMS in text
    template.write_text(text.replace(PROGRAMS, f"{programs}/"))
    return folder


def said(units, name):
    """What systemd says about a unit and those that it needs."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=yes", name],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=units, check=False, timeout=120,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"},
    )  # fmt: skip
    return f"{done.returncode} {done.stdout}".strip()


@pytest.mark.parametrize(
    "name", ["baton-directory.service", "baton-node@camera.service", "baton-node@controller.service"]
)
def test_systemd_accepts_each_unit(units, name):
    assert said(units, name) == "0"


@pytest.mark.parametrize(
    ("file", "line", "wrong"),
    [
        ("baton-node@.service", "Restart=on-failure", "Restart=on-falure"),
        ("baton-node@controller.service.d/real-time.conf", "LimitMEMLOCK=", "LimitMEMORYLOCK="),
    ],
)
def test_systemd_would_name_a_mistake(units, file, line, wrong):
    text = (units / file).read_text()
    assert line in text
    (units / file).write_text(text.replace(line, wrong))
    assert re.search(rf"{file}:\d+: .*{wrong.strip('=').split('=')[-1]}", said(units, "baton-node@controller.service"))


def test_the_directory_of_the_units_is_the_one_that_the_nodes_get():
    directory = (UNITS / "baton-directory.service").read_text()
    node = (UNITS / "baton-node@.service").read_text()
    (name,) = re.findall("^RuntimeDirectory=(.*)$", directory, re.MULTILINE)
    assert f"Environment=BATON_RUNTIME_DIR=/run/{name}\n" in node
    users = {re.findall("^User=(.*)$", text, re.MULTILINE)[0] for text in (directory, node)}
    assert len(users) == 1
