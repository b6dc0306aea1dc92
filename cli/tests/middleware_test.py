# SPDX-License-Identifier: Apache-2.0
"""Verbs show another middleware's graph if a room has a module for it, and otherwise Baton's graph alone."""

import json
import os
import sys
import sysconfig

import pytest
from support.build import PACKAGE, ROOT

MADE_UP = """
from baton_cli.middleware import ForeignGraph, ForeignLink, ForeignNode, MessagePath

KEY, NAME, VARIABLE, ECHO = "ros1", "Other", "OTHER_NETWORK", "other echo"
HELP = "The domain of Other's nodes."
SHORT_WAYS = {"by carrier": "carried"}


def domain():
    return 0


def silence():
    return "Other does not answer"


def look(wanted, domain, endpoints):
    link = ForeignLink("/theirs", ForeignNode("/p", pid=7), ForeignNode("/s", "base"), messages=5, bytes=500)
    ends = {"publishers": {"/theirs": ["/p"]}, "subscribers": {"/theirs": ["/s"]}}
    return ForeignGraph("other:", False, {"/theirs": "t/Theirs"}, links=[link], **ends) if wanted else None


def judged(graph, endpoints, holdings, domain):
    return [(link, MessagePath("by carrier", 2, "it is told so", True)) for link in graph.links]


def topic_of(name):
    return name


def is_carrier(endpoint):
    return False
"""


@pytest.fixture
def run(programs, tmp_path):
    """run(*arguments) runs the command with the module of another middleware, or without one. Returns its output and its diagnostics."""

    def run(*arguments, other, code=0):
        if other:
            (tmp_path / "baton_ros1").mkdir(exist_ok=True)
            (tmp_path / "baton_ros1/__init__.py").touch()
            (tmp_path / "baton_ros1/graph.py").write_text(MADE_UP)
        # Without the rooms of the checkout's Python: a file of its site-packages names them, and -S does not read that file.
        rooms = [tmp_path, PACKAGE, ROOT / "cli", ROOT / "generator", sysconfig.get_path("purelib")]
        path = os.pathsep.join(map(str, rooms))
        command = [sys.executable, "-S", "-m", "baton_cli", *arguments]
        done = programs.run(command, env={"PYTHONPATH": path})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_the_verbs_show_the_graph_that_a_room_brings(run):
    assert "The domain of Other's nodes." in run("topic", "list", "--help", other=True)
    said = run("topic", "list", "-t", "--ros1", other=True)
    assert "/theirs [t/Theirs]\n" in said and "Other does not answer\n" in said
    said = run("topic", "info", "/theirs", "-v", "--ros1", other=True)
    assert "Other publisher count: 1\n  /p\n" in said and "Path: by carrier, 2 copies\n" in said
    (row,) = json.loads(run("doctor", "--look", "0", "--json", "--ros1", other=True).splitlines()[0])["ros1"]
    assert (row["what"], row["good"]) == ("/theirs: /p (7) -> /s", True)
    assert "Links of Other\n" in run("doctor", "--look", "0", "--ros1", other=True)
    shown = run("top", "-n", "1", "-i", "0.1", "--ros1", other=True)
    assert "link of Other" in shown and "carried" in shown and "s(base)" in shown
    assert "other echo /theirs" in run("topic", "echo", "/theirs", "--timeout", "0.1", "--ros1", other=True, code=1)


def test_without_such_a_room_the_verbs_show_batons_graph_alone(run):
    for verb in (["topic", "list"], ["top"], ["doctor"], ["node", "list"]):
        assert "--ros1" not in run(*verb, "--help", other=False)
    assert "No such command 'ros1'" in run("ros1", other=False, code=2)
    assert "nobody is there" in run("topic", "list", other=False)
    found = json.loads(run("doctor", "--look", "0", "--json", other=False).splitlines()[0])
    assert list(found) == ["summary", "machine", "topics", "link", "slots", "memory"]
    assert "ros1" not in json.loads(run("top", "-n", "1", "-i", "0.1", "--json", other=False))
