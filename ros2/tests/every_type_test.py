# SPDX-License-Identifier: Apache-2.0
"""Every type of the standard packages arrives unchanged, compared field by field: between C++, Python and serialized ends, and across the bridge."""

import re
import subprocess

import pytest
from ros2_processes import PYTHON, environment
from support.build import ROOT
from support.ros2 import TESTED, needs_ros2

WANTED = 200
WANTED_MESSAGES = 120
FILE = "every_type.py"


@pytest.fixture(scope="module")
def types(tmp_path_factory):
    file = tmp_path_factory.mktemp("every_type") / "types"
    program = ROOT / "ros2/tests/every_type.py"
    subprocess.run([PYTHON, program, "list", file], env=environment("plain", 1), check=True, timeout=200)
    assert len(file.read_text().split()) >= WANTED
    return file


def test_every_type_arrives_unchanged(processes, types):
    hearers = [
        processes.start("baton", "hear", str(types), "cpp", "python", file=FILE),
        processes.start_cpp("baton", "hear", str(types), "cpp", "python", program="ros2_rcl_types"),
    ]
    senders = [
        processes.start("baton", "send", str(types), "4", file=FILE),
        processes.start_cpp("baton", "send", str(types), "4", program="ros2_rcl_types"),
    ]
    for hearer in hearers:
        heard = processes.result(hearer)
        assert heard["types"] >= WANTED and heard["wrong"] == [] and not heard.get("missing")
    for sender in senders:
        sent = processes.result(sender)
        through = re.findall(r"publisher of \S+: (\d+) messages through Baton", sent["log"])
        assert sum(map(int, through)) >= sent["sent"] * 2


def across(processes, file):
    """What hearers over each RMW say of these types, which a sender over the other one sends through a bridge. Both directions go at the same time."""
    processes.start_bridge()
    found = {}
    for near, far in (("plain", "baton"), ("baton", "plain")):
        place = {"EVERY_TYPE_NAMESPACE": f"to_{near}"}
        found[near] = (
            processes.start(near, "hear", str(file), "python", file=FILE, **place),
            processes.start(far, "send", str(file), "1", file=FILE, **place),
        )
    return {near: (processes.result(hearer), processes.result(sender)) for near, (hearer, sender) in found.items()}


@needs_ros2(TESTED.programs / "baton_bridge")
def test_every_message_type_arrives_unchanged_across_the_bridge(processes, types, tmp_path):
    names = [name for name in types.read_text().split() if "/msg/" in name]
    assert len(names) >= WANTED_MESSAGES
    file = tmp_path / "messages"
    file.write_text("\n".join(names))
    for heard, sent in across(processes, file).values():
        assert heard["types"] == sent["sent"] == len(names) and heard["wrong"] == []
