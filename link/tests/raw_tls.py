# SPDX-License-Identifier: Apache-2.0
"""A hostile program at the TLS port of a link with security, written from RFC 8446 and Python's ssl. `raw_tls.py ATTACK OPTIONS`, as raw_host.py:
`address` of the victim, `enclave`: a folder with cert.pem and key.pem, or none."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable

PORT = 22700
HANDSHAKE, ALERT, DATA = 22, 21, 23
ATTACKS: dict[str, Callable[[dict], dict]] = {}


def attack(function: Callable[[dict], dict]) -> Callable[[dict], dict]:
    ATTACKS[function.__name__] = function
    return function


def goes_on(step: Callable[[], None], pause: float = 0.0) -> None:
    """Says that the attack is under way, and repeats it until a line comes."""
    print("attacks", flush=True)
    while not select.select([sys.stdin], [], [], pause)[0]:
        with contextlib.suppress(OSError):
            step()


def dialed(options: dict, rcvbuf: int = 0) -> socket.socket:
    one = socket.socket()
    if rcvbuf:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
    one.settimeout(5)
    one.connect((options["address"], PORT))
    return one


def record(kind: int, content: bytes, size: int | None = None) -> bytes:
    return struct.pack(">BHH", kind, 0x0303, len(content) if size is None else size) + content


def context(options: dict) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    if options.get("enclave"):
        made.load_cert_chain(options["enclave"] + "/cert.pem", options["enclave"] + "/key.pem")
    return made


def client_hello(options: dict) -> bytes:
    """A good one, as one record."""
    to, from_ = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context(options).wrap_bio(to, from_).do_handshake()
    return from_.read()


def many(options: dict, words: list[bytes], rcvbuf: int = 0, most: int = 300) -> dict:
    """Connections that say one of these, and no more, as many as possible."""
    held: list[socket.socket] = []
    count = 0

    def more() -> None:
        nonlocal count
        one = dialed(options, rcvbuf)
        held.append(one)
        count += 1
        with contextlib.suppress(OSError):  # refused while it sends
            one.sendall(words[count % len(words)])
        if len(held) > most:
            held.pop(0).close()

    with contextlib.suppress(OSError):
        for _ in range(100):
            more()
    goes_on(more, 0.002)
    return {"connections": count}


@attack
def stalled(options: dict) -> dict:
    """Handshakes that stop: nothing, one byte, half a hello, a hello whose answer is not read."""
    hello = client_hello(options)
    return many(options, [b"", hello[:1], hello[:5], hello[: len(hello) // 2], hello])


@attack
def unread(options: dict) -> dict:
    """Hellos whose answers are not read, over sockets with next to no room."""
    return many(options, [client_hello(options)], rcvbuf=1)


@attack
def garbage(options: dict) -> dict:
    """Records that are none, or claim more than they have."""
    hello = client_hello(options)
    endless = record(HANDSHAKE, b"\1\xff\xff\xff" + os.urandom(16000))  # of 16 MiB
    words = [
        b"\x16" + os.urandom(2000),
        record(HANDSHAKE, b"", 0xFFFF) + os.urandom(70_000),
        record(HANDSHAKE, b"") * 2000,
        record(ALERT, b"\1\0") * 2000,
        record(ALERT, b"\2\x28"),
        record(DATA, os.urandom(100)) * 100,
        endless + record(HANDSHAKE, os.urandom(16000)) * 60,
        hello + hello,
        hello + os.urandom(5000),
        hello[:9] + os.urandom(len(hello) - 9),
        b"GET / HTTP/1.1\r\n\r\n",
        os.urandom(3000),
    ]
    return many(options, words, most=20)


@attack
def handshakes(options: dict) -> dict:
    """Whole handshakes, one after the other, in eight threads."""
    done = [0]
    made = context(options)
    stop = threading.Event()

    def shake() -> None:
        while not stop.is_set():
            with contextlib.suppress(OSError), dialed(options) as one, made.wrap_socket(one) as wrapped:
                done[0] += 1
                if not options.get("enclave"):
                    wrapped.recv(1)  # the refusal

    threads = [threading.Thread(target=shake, daemon=True) for _ in range(8)]
    for each in threads:
        each.start()
    goes_on(lambda: time.sleep(0.05))
    stop.set()
    return {"handshakes": done[0]}


@attack
def key_updates(options: dict) -> dict:
    """A host that is let in, says no hello, and asks for new keys without end."""
    command = ["openssl", "s_client", "-connect", f"{options['address']}:{PORT}", "-tls1_3", "-cert"]
    command += [options["enclave"] + "/cert.pem", "-key", options["enclave"] + "/key.pem"]
    count, running = 0, None

    def more() -> None:
        nonlocal count, running
        if running is None or running.poll() is not None:
            quiet = subprocess.DEVNULL
            running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet)
        for _ in range(50):
            running.stdin.write(b"K\n")
            running.stdin.flush()
            count += 1

    goes_on(more, 0.0)
    if running is not None:
        running.kill()
    return {"asked": count}


@attack
def records_after(options: dict) -> dict:
    """A host that is let in, and then sends records that are none, cut off, or without data, and shuts down one way."""
    made = context(options)
    count = 0

    def more() -> None:
        nonlocal count
        one = dialed(options)
        wrapped = made.wrap_socket(one)
        fd = os.dup(wrapped.fileno())
        raw = socket.socket(fileno=fd)
        for words in (
            record(DATA, os.urandom(64)),
            record(DATA, os.urandom(64), 16000),
            record(ALERT, b"\1\0"),
            record(20, b"\1") * 100,
        )[count % 4 :]:
            with contextlib.suppress(OSError):
                raw.sendall(words)
        if count % 3 == 0:
            with contextlib.suppress(OSError):
                raw.shutdown(socket.SHUT_WR)
        raw.close()
        wrapped.close()
        count += 1

    goes_on(more, 0.0)
    return {"connections": count}


if __name__ == "__main__":
    print(json.dumps(ATTACKS[sys.argv[1]](json.loads(sys.argv[2]))), flush=True)
