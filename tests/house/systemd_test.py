# SPDX-License-Identifier: Apache-2.0
"""systemd accepts the units of examples/systemd, each with its drop-ins, and those of the packages, without a complaint."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNITS = ROOT / "examples/systemd"
DEBIAN = ROOT / "packaging/debian"
PROGRAMS = "/opt/robot/bin/"

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze: make test")


@pytest.fixture
def units(tmp_path):
    """Copies of the units, whose programs exist."""
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
    drop_in = folder / "baton-node@left_camera.service.d/arguments.conf"
    drop_in.write_text(drop_in.read_text().replace(PROGRAMS, f"{programs}/"))
    return folder


def said(units, name):
    """systemd's complaints about a unit and the units that it needs."""
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=yes", name],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=units, check=False, timeout=120,
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"},
    )  # fmt: skip
    return f"{done.returncode} {done.stdout}".strip()


@pytest.mark.parametrize(
    "name",
    [
        "baton-directory.service",
        "baton-node@camera.service",
        "baton-node@controller.service",
        "baton-node@left_camera.service",
    ],
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


LINK_PROGRAM = "/usr/bin/baton_link"


@pytest.mark.parametrize(
    ("file", "name"),
    [("baton-link@.service", "baton-link@robot.service"), ("baton-link.user.service", "baton-link.service")],
)
def test_systemd_accepts_the_units_of_the_link(tmp_path, file, name):
    program = tmp_path / "baton_link"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (DEBIAN / file).read_text()
    assert f"ExecStart={LINK_PROGRAM} $BATON_LINK_OPTIONS\n" in text
    # systemd complains of manual pages that are not installed.
    text = re.sub("^Documentation=.*\n", "", text, flags=re.MULTILINE)
    unit = file.replace(".user", "")
    (tmp_path / unit).write_text(text.replace(LINK_PROGRAM, str(program)))
    assert said(tmp_path, name) == "0"


def test_the_units_of_the_link_give_it_the_options_of_its_settings_file():
    assert "\nBATON_LINK_OPTIONS=\n" in (DEBIAN / "baton-link.default").read_text()
    for file in ("baton-link@.service", "baton-link.user.service"):
        assert "EnvironmentFile=-/etc/default/baton-link\n" in (DEBIAN / file).read_text()


def test_the_directory_of_the_units_is_the_one_that_the_nodes_get():
    directory = (UNITS / "baton-directory.service").read_text()
    node = (UNITS / "baton-node@.service").read_text()
    (name,) = re.findall("^RuntimeDirectory=(.*)$", directory, re.MULTILINE)
    assert f"Environment=BATON_RUNTIME_DIR=/run/{name}\n" in node
    users = {re.findall("^User=(.*)$", text, re.MULTILINE)[0] for text in (directory, node)}
    assert len(users) == 1
