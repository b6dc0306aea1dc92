# SPDX-License-Identifier: Apache-2.0
"""DDS Security: `baton link --ros2 --security`. The links of these tests are not connected to each other, so all messages go by DDS. The
enclaves have the files that `ros2 security` writes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from link_hosts import Host
from link_programs import HEAR, TALK, expected, lines_of, ready
from ros2_hosts import ROS2_PYTHON, stock
from support.build import LINK
from support.processes import Process
from support.waiting import LIMIT_S, until

if b"no side towards ROS 2" in subprocess.run([LINK, "--ros2", "--security", "/nowhere"], capture_output=True).stderr:
    pytest.skip("baton_link is built without Cyclone DDS (make setup, make build)", allow_module_level=True)
if not ROS2_PYTHON.exists():
    pytest.skip("needs ROS 2's Python packages: make setup", allow_module_level=True)

GOVERNANCE = """<?xml version="1.0" encoding="UTF-8"?>
<dds><domain_access_rules><domain_rule>
  <domains><id>0</id></domains>
  <allow_unauthenticated_participants>false</allow_unauthenticated_participants>
  <enable_join_access_control>true</enable_join_access_control>
  <discovery_protection_kind>ENCRYPT</discovery_protection_kind>
  <liveliness_protection_kind>ENCRYPT</liveliness_protection_kind>
  <rtps_protection_kind>SIGN</rtps_protection_kind>
  <topic_access_rules><topic_rule>
    <topic_expression>*</topic_expression>
    <enable_discovery_protection>true</enable_discovery_protection>
    <enable_liveliness_protection>true</enable_liveliness_protection>
    <enable_read_access_control>true</enable_read_access_control>
    <enable_write_access_control>true</enable_write_access_control>
    <metadata_protection_kind>ENCRYPT</metadata_protection_kind>
    <data_protection_kind>ENCRYPT</data_protection_kind>
  </topic_rule></topic_access_rules>
</domain_rule></domain_access_rules></dds>
"""

PERMISSIONS = """<?xml version="1.0" encoding="UTF-8"?>
<dds><permissions><grant name="/{name}">
  <subject_name>CN=/{name}</subject_name>
  <validity><not_before>2020-01-01T00:00:00</not_before><not_after>2100-01-01T00:00:00</not_after></validity>
  <allow_rule>
    <domains><id>0</id></domains>
    <publish><topics>{topics}<topic>ros_discovery_info</topic></topics></publish>
    <subscribe><topics>{topics}<topic>ros_discovery_info</topic></topics></subscribe>
  </allow_rule>
  <default>DENY</default>
</grant></permissions></dds>
"""

# Writes all packets of the host's network card to a file.
RECORD = """
import socket, sys
card = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
card.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)  # SO_RCVBUFFORCE: above the limit of the system, too
card.bind(("eth0", 0))
print("ready", flush=True)
with open(sys.argv[1], "wb", buffering=0) as log:
    while True:
        log.write(card.recv(65536))
"""

# Sends a packet.
SEND = """
import socket, sys
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(sys.argv[2].encode(), (sys.argv[1], 9))
"""


class Keystore:
    """A new CA."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self._openssl(*self._certificate("ca"), "-keyout", "ca.key.pem", "-out", "ca.cert.pem")
        (folder / "governance.xml").write_text(GOVERNANCE)
        self._sign("governance.xml", "governance.p7s")

    def enclave(self, name: str, *topics: str) -> str:
        """Its folder. `topics`: names of the DDS that it may use, with *."""
        made = self.folder / name
        made.mkdir()
        authority = ("-CA", "ca.cert.pem", "-CAkey", "ca.key.pem", "-extensions", "usr_cert")
        self._openssl(
            *self._certificate(f"/{name}"), *authority, "-keyout", f"{name}/key.pem", "-out", f"{name}/cert.pem"
        )
        for authority_of in ("identity", "permissions"):
            (made / f"{authority_of}_ca.cert.pem").symlink_to("../ca.cert.pem")
        (made / "governance.p7s").symlink_to("../governance.p7s")
        allowed = "".join(f"<topic>{topic}</topic>" for topic in topics or ("rt/*",))
        (made / "permissions.xml").write_text(PERMISSIONS.format(name=name, topics=allowed))
        self._sign(f"{name}/permissions.xml", f"{name}/permissions.p7s")
        return str(made)

    @staticmethod
    def _certificate(name: str) -> tuple[str, ...]:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc")
        return ("req", "-x509", *curve, "-days", "30", "-subj", f"/CN={name.replace('/', chr(92) + '/')}")

    def _sign(self, content: str, signed: str) -> None:
        by = ("-signer", "ca.cert.pem", "-inkey", "ca.key.pem")
        self._openssl("smime", "-sign", "-text", "-in", content, "-out", signed, *by)

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True, timeout=LIMIT_S)


@pytest.fixture
def ours(tmp_path: Path) -> Keystore:
    return Keystore(tmp_path / "ours")


def link(host: Host, enclave: str = "") -> None:
    """Joins ROS 2's domain 0, and no other link."""
    host.link(more=("--ros2", "--ros2-domain", "0", *(("--security", enclave) if enclave else ())))
    assert host.says("joins ROS 2 nodes of domain 0" + (", with DDS Security" if enclave else ""))


def hear(host: Host, last: str) -> Process:
    return ready(host.python(HEAR, last, "transient_local"))


@pytest.mark.parametrize("secured", [False, True])
def test_what_goes_by_dds_arrives_and_is_readable_on_the_line_only_without_security(hosts, ours, tmp_path, secured):
    a, b = hosts(2)
    recorded = tmp_path / "recorded"
    ready(b.python(RECORD, str(recorded)))
    link(a, ours.enclave("robot") if secured else "")
    link(b, ours.enclave("viewer") if secured else "")
    listener = hear(b, "message 99")
    talker = a.python(TALK, "100", "transient_local", "1000")
    assert json.loads(lines_of(listener)) == expected(100)
    lines_of(talker)
    # What was on the line before a packet of ours has been written to the file when that packet is there.
    last = b"the end of the recording"
    until(lambda: lines_of(a.python(SEND, b.address, last.decode())) or last in recorded.read_bytes())
    line = recorded.read_bytes()
    assert len(line) > 100 * 128
    for words in (b"message 50", b"std_msgs", b"chatter"):
        assert (words in line) != secured, words


def test_participants_of_another_ca_and_without_security_hear_nothing_and_are_not_heard(hosts, ours, tmp_path):
    a, b, c, d = hosts(4)
    link(a, ours.enclave("robot"))
    link(b, ours.enclave("viewer"))
    link(c, Keystore(tmp_path / "theirs").enclave("viewer"))
    link(d)
    words = {"topic": "/chatter", "latched": True, "count": 1}
    strangers = [hear(host, "message 0") for host in (c, d)]
    strangers.append(stock(d, "hear", json.dumps(words)))
    ready(strangers[-1])
    listener = hear(b, "message 199")
    talker = a.python(TALK, "200", "transient_local", "1000")
    assert json.loads(lines_of(listener)) == expected(200)
    for stranger in strangers:
        assert stranger.poll() is None
        stranger.kill()

    # One end of each handshake refuses the other's certificate, and says which. Participants without security, and those whose
    # handshake ran out of time, are named by their number.
    def refusals():
        return [each for host in (a, b, c) for each in host.state()["refused_hosts"]]

    refused = until(lambda: (now := refusals()) and not all(each["participant"] for each in now) and now, refusals)
    certificates = [each for each in refused if not each["participant"]]
    assert {each["address"] for each in refused} == {""}
    assert {each["name"] for each in certificates} <= {"/CN=/robot", "/CN=/viewer"}
    assert "Certificate not valid" in certificates[0]["why"]
    strangers = [host.python(TALK, "1", "transient_local", "1000") for host in (c, d)]
    strangers.append(stock(d, "talk", json.dumps(words)))
    for stranger in strangers:
        ready(stranger)
    assert json.loads(lines_of(hear(b, "message 199"))) == expected(200)
    lines_of(talker)


def test_a_topic_that_the_permissions_deny_stays_and_the_link_says_so(hosts, ours):
    a, b = hosts(2)
    link(a, ours.enclave("robot", "rt/other"))
    link(b, ours.enclave("viewer"))
    listener = hear(b, "message 9")
    talker = a.python(TALK, "10", "transient_local", "1000")
    assert a.says("'rt/chatter'")
    assert "Not Allowed By Security; the enclave's permissions.p7s" in a.log_text()
    assert listener.poll() is None
    talker.kill()


@pytest.mark.parametrize("missing", ["governance.p7s", "permissions.p7s", "permissions_ca.cert.pem"])
def test_a_missing_file_of_the_enclave_is_named_at_the_start(ours, missing):
    enclave = ours.enclave("robot")
    Path(enclave, missing).unlink()
    command = [LINK, "--ros2", "--security", enclave]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert refused.returncode != 0
    assert f"there is no file '{enclave}/{missing}'" in refused.stderr
    assert "ros2 security create_enclave" in refused.stderr
