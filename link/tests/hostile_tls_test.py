# SPDX-License-Identifier: Apache-2.0
"""A hostile program (raw_tls.py) at the port of a link with security. Honest hosts keep their messages, and nothing of it stays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hostile_test import LOG_LINES, Honest, log_lines
from link_hosts import Host
from security_test import enclaves  # noqa: F401
from support.waiting import LIMIT_S, until

RAW_TLS = Path(__file__).with_name("raw_tls.py")
MOST_STRANGERS = 64  # kMostStrangers in link/src/stream/strangers.hpp

# A certificate of the same CA with a thousand names, which is larger than all that OpenSSL sends at once, and one of another CA.
OTHERS = """
mkdir huge other
{ echo "[req]"; echo "distinguished_name = name"; echo "[name]"; echo "[many]"; echo "subjectAltName = @names"; echo "[names]"
  for i in $(seq 1000); do echo "DNS.$i = a-name-that-is-as-long-as-names-of-machines-are-$i.test"; done } > huge.cnf
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 10 -subj "/CN=huge" -config huge.cnf -extensions many \
  -CA identity_ca.cert.pem -CAkey ca.key.pem -keyout huge/key.pem -out huge/cert.pem
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 10 -subj "/CN=other" -keyout other/key.pem -out other/cert.pem
"""


@pytest.fixture
def three(hosts, enclaves):  # noqa: F811
    """The victim a and the honest host b, which are connected, and the hostile one."""
    subprocess.run(["sh", "-ec", OTHERS], cwd=enclaves, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    a, b, c = hosts(3)
    a.link(more=("--security", str(enclaves / "robot")))
    b.link(a, more=("--security", str(enclaves / "viewer")))
    assert a.says("host bbb is connected") and b.says("host aaa is connected")
    yield a, b, c
    print(a.log_text()[-4000:], b.log_text()[-2000:])  # shown with a failure


def of_link(host: Host, name: str) -> int:
    lines = Path(f"/proc/{host.links[-1].pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


ATTACKS = [
    ("stalled", ""),
    ("unread", ""),
    ("garbage", ""),
    ("handshakes", ""),
    ("handshakes", "other"),
    ("handshakes", "huge"),
    ("handshakes", "viewer"),
    ("key_updates", "viewer"),
    ("records_after", "viewer"),
]


@pytest.mark.parametrize(("attack", "enclave"), ATTACKS)
def test_honest_hosts_keep_their_messages_while_another_attacks_tls(three, enclaves, attack, enclave):  # noqa: F811
    a, b, c = three
    honest = Honest(a, b)
    threads, memory = of_link(a, "Threads"), of_link(a, "RssAnon")
    options = {"address": a.address, "enclave": str(enclaves / enclave) if enclave else ""}
    attacker = c.program(sys.executable, RAW_TLS, attack, json.dumps(options))
    attacker.says("attacks")
    honest.go_on(100)
    # The thread of a stranger that gave way to a newer one may not have ended yet.
    until(lambda: of_link(a, "Threads") <= threads + MOST_STRANGERS + 1)
    seen = json.loads(attacker.ends(input="\n")[0].splitlines()[-1])
    assert min(seen.values()) > 0, "the attack took place"
    honest.end()
    until(lambda: of_link(a, "Threads") <= threads + 1)
    assert of_link(a, "RssAnon") - memory < 32 << 10, "KB, also of what the C library keeps"
    assert log_lines(a) < LOG_LINES
