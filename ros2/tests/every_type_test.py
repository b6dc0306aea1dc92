# SPDX-License-Identifier: Apache-2.0
"""Every type of the standard packages arrives unchanged, compared field by field: between C++, Python and serialized ends."""

import re
import subprocess

import pytest
from ros2_processes import PYTHON, environment
from support.build import ROOT

WANTED = 200


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    file = tmp_path_factory.mktemp("every_type") / "types"
    program = ROOT / "ros2/tests/every_type.py"
    subprocess.run([PYTHON, program, "list", file], env=environment("plain", 1), check=True, timeout=200)
    assert len(file.read_text().split()) >= WANTED
    return file


def test_every_type_arrives_unchanged(processes, types):
    hearers = [
        processes.start("baton", "hear", str(types), "cpp", "python", file="every_type.py"),
        processes.start_cpp("baton", "hear", str(types), "cpp", "python", program="ros2_rcl_types"),
    ]
    senders = [
        processes.start("baton", "send", str(types), "4", file="every_type.py"),
        processes.start_cpp("baton", "send", str(types), "4", program="ros2_rcl_types"),
    ]
    for hearer in hearers:
        heard = processes.result(hearer)
        assert heard["types"] >= WANTED and heard["wrong"] == [] and not heard.get("missing")
    for sender in senders:
        sent = processes.result(sender)
        through = re.findall(r"publisher of \S+: (\d+) messages through Baton", sent["log"])
        assert sum(map(int, through)) >= sent["sent"] * 2
