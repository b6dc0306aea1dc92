# SPDX-License-Identifier: Apache-2.0
"""Behaviour that verbs share in a running domain, and verbs with few tests: node, heap, interface, stubs, completion."""

import json
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from baton_cli import live


def test_an_empty_domain_is_empty(baton):
    assert baton("topic", "list") == ""
    assert baton("node", "list") == ""
    assert "nobody publishes or subscribes /image; domain 0" in baton("topic", "info", "image", code=1)
    assert "there is no node '/x'" in baton("node", "info", "x", code=1)


class Slow:
    """A node's view of a domain with a connected process that sends its endpoints only just before its first answer."""

    def __init__(self):
        self.said = False
        self.looks_behind_it = 0

    def endpoints(self):
        self.looks_behind_it += self.said
        return [SimpleNamespace(gid=b"g", topic="/late")] if self.said else []

    def nodes(self):
        return []

    def _unmet(self):
        return 0

    def holdings(self, timeout):
        assert timeout > 0
        self.said = True
        return []


def test_a_process_that_has_been_met_is_heard_before_anything_is_listed():
    node = Slow()
    live.settle(node)
    assert node.said and node.looks_behind_it > 1, "what it said is looked at like everything else"


def test_a_process_that_cannot_be_met_is_not_waited_for():
    node = Slow()
    node._unmet = lambda: 1
    live.settle(node, limit=0.1)
    assert not node.said


def test_a_node_is_found_by_its_name_with_and_without_a_slash(baton, program):
    program('baton.Node("talker", namespace="robot")', 'baton.Node("camera")')
    assert [line.split()[0] for line in baton("node", "list").splitlines()] == ["/camera", "/robot/talker"]
    for name in ("robot/talker", "/robot/talker", "camera", "/camera"):
        assert baton("node", "info", name).startswith("/" + name.lstrip("/") + "\n")
    assert "there are: /camera, /robot/talker\n" in baton("node", "info", "talker", code=1)


@pytest.mark.parametrize("verb", [["topic", "echo", "chatter"], ["topic", "pub", "-1", "chatter", "std_msgs/String"]])
def test_an_interrupt_ends_a_verb_without_a_word(baton, verb):
    process = baton.start(*verb)
    assert process.stderr.readline().startswith("waiting for ")
    out, errors = process.interrupted(130)
    # After a second echo prints similar topics: then the signal came late.
    assert out == "" and [line for line in errors.splitlines() if not line.startswith("nobody has /chatter")] == []


def test_an_empty_domain_is_named_with_its_runtime_directory(baton, environment):
    for verb in ("topic", "node", "service"):
        done = baton.done(verb, "list", "--domain", "7")
        assert done.stdout == ""
        where = f"domain 7 (BATON_DOMAIN, --domain) in {environment['BATON_RUNTIME_DIR']} (BATON_RUNTIME_DIR)"
        assert f"no {verb}s in {where}: nobody is there" in done.stderr


def test_the_shell_completes_topics_nodes_services_and_types(baton, programs):
    baton.camera()

    def completed(*words):
        variables = {
            "_BATON_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        command = [sys.executable, "-c", "from baton_cli.main import baton; baton(prog_name='baton')"]
        return [line.partition(",")[2] for line in programs.run(command, env=variables).stdout.splitlines()]

    assert completed("baton", "topic", "echo", "/im") == ["/image"]
    assert completed("baton", "topic", "hz", "/image", "ch") == ["chatter"]
    assert completed("baton", "node", "info", "/c") == ["/camera"]
    assert completed("baton", "service", "call", "/sw") == ["/switch"]
    assert completed("baton", "topic", "pub", "chatter", "std_msgs/Stri") == ["std_msgs/String"]
    assert completed("baton", "topic", "pub", "chatter", "std_ms") == ["std_msgs/"]
    assert completed("baton", "service", "call", "/switch", "std_srvs/S") == ["std_srvs/SetBool"]
    assert completed("baton", "topic", "echo", "--fil") == ["--filter"]


def test_stubs_are_written_for_a_package_and_those_that_it_refers_to(baton, tmp_path):
    lines = baton("stubs", "geometry_msgs", "-o", str(tmp_path / "out")).splitlines()
    assert {Path(line).relative_to(tmp_path / "out").as_posix() for line in lines} >= {
        "msg/geometry_msgs.pyi",
        "msg/std_msgs.pyi",
    }
    assert "def position(self) -> " in (tmp_path / "out/msg/geometry_msgs.pyi").read_text()
    assert "no package 'no_msgs'" in baton("stubs", "no_msgs", "-o", str(tmp_path), code=1)


def test_shared_heaps_are_listed_with_their_processes_and_sizes(baton, programs, build):
    assert baton("heap", "list") == "nobody has a shared heap open\n"
    puller = programs.start([build / "bin/lot_roles", "pull", "1"])  # waits for a pusher
    heaps = []
    while not heaps or heaps[0]["objects"] == 0:
        assert puller.poll() is None
        heaps = json.loads(baton("heap", "list", "--json"))
    (heap,) = heaps
    assert (heap["name"], heap["processes"], heap["orphans"]) == ("lot-example", 1, 0)
    assert 0 < heap["used_bytes"] <= heap["backed_bytes"] < heap["limit_bytes"]
    assert baton("heap", "list").splitlines()[1].split()[:2] == ["lot-example", "1"]
    puller.end()
    assert baton("heap", "list") == "nobody has a shared heap open\n"


def test_interfaces_are_shown(baton, environment, tmp_path):
    shown = baton("interface", "show", "geometry_msgs/msg/PoseStamped")
    assert "geometry_msgs/Pose pose\n\tgeometry_msgs/Point position\n\t\tfloat64 x\n" in shown
    assert "bool data\n---\nbool success\n" in baton("interface", "show", "std_srvs/SetBool")
    assert "std_msgs/msg/String" in baton("interface", "package", "std_msgs")
    assert "unknown type" in baton("interface", "show", "std_msgs/Strin", code=1)
    (tmp_path / "my_robot" / "msg").mkdir(parents=True)
    (tmp_path / "my_robot" / "msg" / "Battery.msg").write_text("float32 volts\n")
    assert "BATON_MSG_PATH" in baton("interface", "show", "my_robot/Battery", code=1)
    environment["BATON_MSG_PATH"] = str(tmp_path)
    assert baton("interface", "show", "my_robot/Battery") == "float32 volts\n"
    assert baton("interface", "package", "my_robot") == "my_robot/msg/Battery\n"
    environment["BATON_MSG_PATH"] = str(tmp_path / "nowhere")
    assert "named in BATON_MSG_PATH" in baton("interface", "show", "my_robot/Battery", code=1)


def test_a_stopped_process_is_named_instead_of_absent(baton):
    camera = baton.camera()
    camera.send_signal(signal.SIGSTOP)
    sentence = f"process {camera.pid} (python"
    said = baton("node", "info", "camera", code=1)
    assert sentence in said and f"is stopped, so its nodes and topics are unknown; kill -CONT {camera.pid}" in said
    assert "there is no node '/camera' that answers" in said
    assert sentence in baton("param", "get", "camera", "rate", "--timeout", "0.3", code=1)
    assert sentence in baton("service", "call", "switch", "--timeout", "0.3", code=1)
    assert sentence in baton("topic", "info", "image", code=1)
    found = json.loads(baton("doctor", "--json", "--look", "0", code=1).splitlines()[0])["topics"]
    (row,) = (f for f in found if f["good"] is False)
    assert row["what"].startswith(sentence) and row["why"].startswith("is stopped")
    assert row["way_out"] == f"kill -CONT {camera.pid}"
    camera.send_signal(signal.SIGCONT)
    assert "Publishers:" in baton("node", "info", "camera")
