# SPDX-License-Identifier: Apache-2.0
"""Too many endpoints, connections, processes or names."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import time

import raw_peer as raw
from raw_peer import Gone, Link, Published, Refused, Subscribed, listen, text
from table import HIDDEN, attack

CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
libc = ctypes.CDLL(None, use_errno=True)


@attack("has 65,000 endpoints")
def endpoints(stage):
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    like = link.endpoint("/victim", True)
    payload = text("n") + text(like.type_name) + like.type_hash + struct.pack("<I", like.skeleton) + raw.qos() + b"\0"
    try:
        for n in range(stage.size(8000, 65000)):
            topic = ("/victim", "/cpp", f"/mine{n}")[n % 3]
            link.frame(raw.ANNOUNCE, os.urandom(16) + bytes([n % 2]) + text(topic) + payload)
            if n % 256 == 0:
                link.drain(0)
    except Gone as gone:
        return f"ended: {gone}"


@attack("has many endpoints of the victim's topics, in many processes")
def endpoints_of_many(stage):
    stage.begin()
    for _ in range(stage.size(4, 16)):

        def act():
            link = stage.keep(Link(stage.directory, stage.victim))
            like = link.endpoint("/victim", True)
            for n in range(stage.size(500, 4000)):
                link.announce(("/victim", "/cpp")[n % 2], n % 2 == 1, like)
            link.drain(0)

        stage.apart(act, stay=True)


@attack("joins and leaves under ever new identities", victims=HIDDEN)
def identities(stage):
    stage.begin()
    link = None
    for n in range(stage.size(150, 5000)):
        try:
            link = Link(stage.directory, stage.victim)
            if n % 3 == 0:
                Subscribed(link, "/victim").take()
            elif n % 3 == 1:
                Published(link, "/image")
            if n % 2:
                link.packet(raw.BYE, struct.pack("<HI", 1, 0))
        except (Gone, Refused, TimeoutError):
            pass
        if link:
            link.close()


@attack("joins and leaves as ever new processes", victims=HIDDEN)
def new_processes(stage):
    def act():
        subscribed = Subscribed(Link(stage.directory, stage.victim), "/victim")
        Published(subscribed.link, "/image")
        subscribed.take()

    stage.begin()
    for _ in range(stage.size(40, 1000)):
        stage.apart(act)


@attack("joins under ever new identities and stays", victims=HIDDEN)
def stays(stage):
    stage.begin()
    for _ in range(stage.size(80, 400)):
        try:
            link = stage.keep(Link(stage.directory, stage.victim, patience=2))
            link.frame(raw.NODE_UP, raw.node("crowd"))
        except (Gone, TimeoutError, OSError):
            pass


def fork_crowd(stage, processes, connections, before=lambda: None):
    """So many processes, each with so many connections, which stay open."""
    reading, writing = os.pipe()
    for _ in range(processes):
        if os.fork() == 0:
            try:
                before()
                kept = []
                for _ in range(connections):
                    try:
                        link = Link(stage.directory, stage.victim, patience=2)
                        kept.append(link)
                        subscribed = Subscribed(link, "/victim", depth=1, held=1)
                        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                        kept += [subscribed, far]
                        link.frame(raw.WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [near.fileno()])
                        near.close()
                    except (Gone, Refused, TimeoutError, OSError):
                        pass
                os.write(writing, b".")
                time.sleep(900)
            finally:
                os._exit(0)
    for _ in range(processes):
        os.read(reading, 1)


@attack("comes as five processes with as many connections as each may have", victims=HIDDEN)
def five_processes(stage):
    stage.begin()
    fork_crowd(stage, 5, 64)


@attack("comes as several processes with several connections each", victims=HIDDEN)
def several_processes(stage):
    stage.begin()
    fork_crowd(stage, 8, 8)


@attack("gives a wake socket for each of many subscriptions")
def wake_sockets(stage):
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    count = 0
    try:
        for _ in range(250):
            subscribed = stage.keep(Subscribed(link, "/victim", depth=1, held=1))
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            stage.keep(far)
            link.frame(raw.WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [near.fileno()])
            near.close()
            count += 1
    except (Gone, Refused, TimeoutError) as end:
        return f"{count} wake sockets, then {end}"


@attack("comes from PID namespaces of its own", expected="in namespaces")
def namespaces(stage):
    """Each child is process 1 of a namespace of its own; for a victim in another namespace none of them has a pid."""
    stage.begin()

    def enter():
        if libc.unshare(CLONE_NEWPID) != 0 and libc.unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0:
            raise OSError(ctypes.get_errno(), "unshare")
        if pid := os.fork():
            os.waitpid(pid, 0)
            os._exit(0)

    try:
        probe = os.fork()
        if probe == 0:
            try:
                enter()
            except OSError:
                os._exit(1)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(probe, 0)[1]):
            return "in namespaces: not allowed on this machine"
    finally:
        pass
    fork_crowd(stage, 6, 50, enter)
    return "in namespaces"


@attack("fills the directory with names")
def names(stage):
    stage.begin()
    made = []
    fd = os.open(stage.directory, os.O_RDONLY | os.O_DIRECTORY)

    def at(prefix="p-"):
        made.append(f"{prefix}{os.urandom(16).hex()}")
        return f"/proc/self/fd/{fd}/{made[-1]}"

    for _ in range(stage.size(100, 3000)):  # names of dead processes: any process that notices removes them
        listen(stage.directory, os.urandom(16)).close()
    for _ in range(stage.size(20, 500)):
        os.close(os.open(at(), os.O_CREAT | os.O_WRONLY, 0o600))
        os.mkdir(at())
        os.mkfifo(at())
        os.symlink(stage.victim, at())
        os.symlink("/dev/zero", at())
        os.symlink(made[-1], at())
        os.close(os.open(at("t-"), os.O_CREAT | os.O_WRONLY, 0o600))
        datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagram.bind(at())
        datagram.close()
    time.sleep(0.5)
    for name in made:  # a tidy attacker: the directory's next users are other attacks
        try:
            path = f"{stage.directory}/{name}"
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
        except OSError:
            pass


@attack("listens under many names and takes every connection")
def many_names(stage):
    """Every process connects to each name, the bystanders, too. The attacker accepts, sends HELLO, and then nothing."""
    stage.begin()
    listeners = [stage.keep(listen(stage.directory, os.urandom(16))) for _ in range(stage.size(1, 3))]
    time.sleep(stage.size(0.3, 6))
    for listener in listeners:
        listener.setblocking(False)
        try:
            while True:
                stage.keep(listener.accept()[0])
        except BlockingIOError:
            pass
