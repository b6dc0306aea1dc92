# SPDX-License-Identifier: Apache-2.0
"""The bytes on the line between two hosts, with and without --security. The commands of the guide make the certificates."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from link_hosts import PORT
from link_programs import HEAR, TALK, expected, lines_of, ready
from support.build import LINK, ROOT
from support.waiting import LIMIT_S, until

# Forwards TCP connections to another host, and writes all bytes of both directions to a file.
RELAY = f"""
import socket, sys, threading
to, path = sys.argv[1:]
listening = socket.create_server(("", {PORT}))
print("ready", flush=True)
def forward(one, other, log):
    while got := one.recv(65536):
        log.write(got)
        other.sendall(got)
    other.shutdown(socket.SHUT_WR)
with open(path, "wb", buffering=0) as log:
    while True:
        near, _ = listening.accept()
        far = socket.create_connection((to, {PORT}))
        for pair in ((near, far), (far, near)):
            threading.Thread(target=forward, args=(*pair, log), daemon=True).start()
"""


@pytest.fixture
def enclaves(tmp_path: Path) -> Path:
    """A folder with the enclaves robot and viewer."""
    if b"--security" not in subprocess.run([LINK, "--security", "/nowhere"], capture_output=True).stderr:
        pytest.skip("baton_link is built without OpenSSL (make setup, make build)")
    guide = (ROOT / "docs/guides/machines.md").read_text()
    commands = re.search(r"```sh\n(openssl .*?)```", guide, re.DOTALL)
    folder = tmp_path / "keys"
    folder.mkdir()
    subprocess.run(["sh", "-ec", commands[1]], cwd=folder, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return folder


@pytest.mark.parametrize("secured", [False, True])
def test_words_of_a_message_are_on_the_line_only_without_security(hosts, enclaves, tmp_path, secured):
    a, b, c = hosts(3)
    recorded = tmp_path / "recorded"
    ready(c.python(RELAY, a.address, str(recorded)))
    a.link(more=("--security", str(enclaves / "robot")) if secured else ())
    assert a.says("listens on port 22700" + (", with TLS" if secured else ""))  # the relay connects once, at once
    b.link(c, more=("--security", str(enclaves / "viewer")) if secured else ())
    listener = ready(b.python(HEAR, "message 99", "transient_local"))
    talker = a.python(TALK, "100", "transient_local", "1000")
    assert json.loads(lines_of(listener)) == expected(100)
    lines_of(talker)
    line = recorded.read_bytes()
    assert len(line) > 100 * 128
    for words in (b"message 50", b"std_msgs", b"chatter", b"btnlink"):
        assert (words in line) != secured, words
    assert "warning" not in a.log_text() + b.log_text()


def test_the_status_says_that_a_line_is_encrypted_and_which_host_is_refused_and_why(hosts, enclaves):
    a, b, c = hosts(3)
    a.link(more=("--security", str(enclaves / "robot")))
    b.link(a, more=("--security", str(enclaves / "viewer")))
    c.link(a)
    until(lambda: c.state()["refused_hosts"])
    state = until(lambda: (now := a.state())["hosts"] and now["refused_hosts"] and now, a.state)
    assert state["secured"] is True
    assert [(host["name"], host["encrypted"]) for host in state["hosts"]] == [(b.name, True)]
    (refused,) = state["refused_hosts"]
    assert (refused["address"], refused["name"]) == (c.address, "")
    assert "it speaks no TLS; a link needs --security" in refused["why"]
    assert refused["last_ns"] > 0
    state = c.state()
    assert state["secured"] is False and state["hosts"] == []
    assert "this host needs --security, too" in state["refused_hosts"][0]["why"]


def test_a_link_without_security_warns_where_a_host_has_a_public_address(hosts, enclaves):
    a, b = hosts(2)
    a.link()
    assert a.says("listens on port")
    a.kill_link()
    for host, address in ((a, "203.0.113.1"), (b, "203.0.113.2")):
        host.move(address)
    assert "public" not in a.log_text(), "10.0.0.0/8 is private"
    a.link()
    b.link(a)
    assert a.says(f"this host has the public address {a.address}, and this link has no --security")
    assert b.says(f"peer '{a.address}' has the public address {a.address}, and this link has no --security")
    assert b.says("host aaa is connected"), "it warns, and works"
    for host in (a, b):
        host.kill_link()
        host.log.write_text("")
    a.link(more=("--security", str(enclaves / "robot")))
    b.link(a, more=("--security", str(enclaves / "viewer")))
    assert a.says("host bbb is connected")
    assert "public" not in a.log_text() + b.log_text()


def test_a_link_without_security_does_not_take_over_from_one_that_has_it(hosts, enclaves):
    (a,) = hosts(1)
    secured = a.link(more=("--security", str(enclaves / "robot")))
    assert a.says("with TLS")
    waiting = a.link()
    assert a.says("the link of this domain has --security, and this one has not")
    secured.terminate()
    secured.wait(timeout=LIMIT_S)
    late = a.link()
    assert a.says("the link of this domain has --security, and this one has not", 2)
    assert a.log_text().count("listens on port") == 1
    waiting.terminate()
    waiting.wait(timeout=LIMIT_S)
    mark = re.search(r"remove (/\S+/link\.secured)", a.log_text())
    Path(mark[1]).unlink()
    assert a.says("listens on port 22700", 2)
    assert late.poll() is None
