# SPDX-License-Identifier: Apache-2.0
"""Descriptors of the wrong kind: every kind in every frame that carries a descriptor, and in frames that carry none."""

from __future__ import annotations

import fcntl
import os
import select
import socket
import struct
import tempfile
import time

from raw_peer import (
    ANNOUNCE,
    ATTACH,
    HOLDINGS_REQUEST,
    NODE_UP,
    PAGE,
    WAKE_SOCKET,
    Gone,
    Link,
    Published,
    Subscribed,
    memfd,
    node,
    pages,
)
from table import attack

LINGER_S = 8


def lingering_tcp() -> tuple[int, list]:
    """A TCP socket whose close() waits: SO_LINGER, unsent data, and a peer that reads nothing. The list keeps that peer."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    sock.setblocking(False)
    try:
        while True:
            sock.send(b"x" * 65536)
    except BlockingIOError:
        pass
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, LINGER_S))
    return sock.detach(), [listener, accepted]


def queue_of_lingering_sockets(kind=socket.SOCK_DGRAM, count=4) -> tuple[int, list]:
    """One end of a socket pair in whose receive queue lingering sockets lie: closing this end closes them."""
    near, far = socket.socketpair(socket.AF_UNIX, kind)
    kept = [far]
    for _ in range(count):
        fd, peers = lingering_tcp()
        socket.send_fds(far, [b"x"], [fd])
        os.close(fd)
        kept += peers
    return near.detach(), kept


def reopened(fd: int, flags: int) -> int:
    again = os.open(f"/proc/self/fd/{fd}", flags)
    os.close(fd)
    return again


def in_a_file(make) -> int:
    with tempfile.TemporaryDirectory() as directory:
        return make(f"{directory}/file")


def fifo(path: str) -> int:
    os.mkfifo(path)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)


def regular(path: str) -> int:
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, PAGE)
    return fd


def listening(path: str) -> int:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.bind(path)
    sock.listen()
    return sock.detach()


def hugetlb(size: int) -> int:
    """Pages that do not exist: touching them raises SIGBUS. With MAP_NORESERVE mapping them needs no memory."""
    return memfd(size, flags=os.MFD_ALLOW_SEALING | os.MFD_HUGETLB)


def pair_end(kind) -> int:
    near, far = socket.socketpair(socket.AF_UNIX, kind)
    far.close()
    return near.detach()


def shared_memory_in_dev_shm() -> int:
    fd, path = tempfile.mkstemp(dir="/dev/shm")
    os.unlink(path)
    os.ftruncate(fd, PAGE)
    return fd


KINDS = {
    "a directory": lambda: os.open("/", os.O_RDONLY | os.O_DIRECTORY),
    "a path": lambda: os.open("/", os.O_PATH),
    "the reading end of a pipe": lambda: os.pipe()[0],
    "the writing end of a pipe": lambda: os.pipe()[1],
    "an event counter": lambda: os.eventfd(0) if hasattr(os, "eventfd") else os.pipe()[0],
    "a blocking event counter that is full": lambda: full_eventfd(),
    "/dev/zero": lambda: os.open("/dev/zero", os.O_RDWR),
    "/dev/full": lambda: os.open("/dev/full", os.O_RDWR),
    "/proc/self/mem": lambda: os.open("/proc/self/mem", os.O_RDWR),
    "memory that cannot be read": lambda: reopened(memfd(PAGE), os.O_WRONLY),
    "memory that cannot be written": lambda: reopened(memfd(PAGE), os.O_RDONLY),
    "memory that is not sealed": lambda: memfd(PAGE, 0),
    "memory of another size": lambda: memfd(PAGE * 7),
    "huge pages": lambda: hugetlb(2 << 20),
    "a FIFO": lambda: in_a_file(fifo),
    "a file": lambda: in_a_file(regular),
    "a file in /dev/shm": shared_memory_in_dev_shm,
    "a listening socket": lambda: in_a_file(listening),
    "a datagram socket": lambda: pair_end(socket.SOCK_DGRAM),
    "a stream socket": lambda: pair_end(socket.SOCK_STREAM),
    "a packet socket": lambda: pair_end(socket.SOCK_SEQPACKET),
    "a UDP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),
    "an epoll set": lambda: os.dup(select.epoll().fileno()),
    "a process": lambda: os.pidfd_open(os.getpid()),
}


def full_eventfd() -> int:
    fd = os.eventfd(0)
    os.eventfd_write(fd, 2**64 - 2)
    return fd


def every_kind():
    for name, make in KINDS.items():
        try:
            yield name, make()
        except OSError:  # this kernel does not have it
            pass


def each_on_its_own_link(stage, send) -> str:
    """Calls send(link, descriptor) for every kind, each as a new process. Returns how many connections the victim ended."""
    ended = sent = 0
    for _, fd in every_kind():

        def act(fd=fd):
            link = Link(stage.directory, stage.victim)
            send(link, fd)
            return link.drain(0.02)

        sent += 1
        ended += "BYE" in stage.apart(act)
        os.close(fd)
    return f"{ended} of {sent} ended"


@attack("sends descriptors of every kind as its connection segment")
def connection_segments(stage):
    stage.begin()
    return each_on_its_own_link(
        stage, lambda link, fd: Subscribed(link, "/victim", descriptor=fd, size=pages(128 + 8 * 18), wait=False)
    )


@attack("sends descriptors of every kind as its wake socket")
def wake_sockets(stage):
    def send(link, fd):
        subscribed = Subscribed(link, "/victim")
        subscribed.sleeping = 2
        link.frame(WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [fd])
        link.drain(0.05)  # the next publish notifies there

    stage.begin()
    return each_on_its_own_link(stage, send)


@attack("sends descriptors of every kind as its data segment")
def data_segments(stage):
    def send(link, fd):
        published = Published(link, "/image", attach=False)
        published.meet()
        published.send_segment(descriptor=fd, size=PAGE)
        published.send_attached()
        published.push(0)
        link.drain(0.02)

    stage.begin()
    return each_on_its_own_link(stage, send)


@attack("sends descriptors of every kind as event page and as ring")
def rings(stage):
    def event(link, fd):
        published = Published(link, "/image", attach=False)
        published.meet()
        published.send_segment()
        published.send_attached(fds=[fd, published.ring_fd])

    def ring(link, fd):
        published = Published(link, "/image", attach=False)
        published.meet()
        published.send_segment()
        published.send_attached(fds=[published.event_fd, fd])

    stage.begin()
    return f"{each_on_its_own_link(stage, event)}; {each_on_its_own_link(stage, ring)}"


@attack("sends descriptors that nobody asked for")
def strays(stage):
    def send(link, fd):
        link.frame(NODE_UP, node("n"), [fd])

    def four(link, fd):
        link.packet(HOLDINGS_REQUEST, struct.pack("<Q", 1), [fd] * 4, count=1)

    stage.begin()
    return f"{each_on_its_own_link(stage, send)}; {each_on_its_own_link(stage, four)}"


def lingering(stage, send):
    """Calls send(link, descriptor) with each kind of descriptor whose close() blocks, in a new process that ends at once, so that the victim's copy
    is the last one. If the copy of the new process is the last one, only that process blocks."""
    stage.begin()
    for make in (lingering_tcp, queue_of_lingering_sockets, lambda: queue_of_lingering_sockets(socket.SOCK_STREAM)):
        fd, peers = make()
        stage.keep(*peers)
        ready, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            link = Link(stage.directory, stage.victim)
            os.read(ready, 1)
            try:
                send(link, fd)
                os.close(fd)
                link.drain(0.2)
            finally:
                os._exit(0)
        os.close(fd)
        os.write(go, b".")
    time.sleep(stage.size(0.8, LINGER_S))


@attack("sends a TCP socket that lingers as its wake socket")
def lingering_wake_socket(stage):
    def send(link, fd):
        subscribed = Subscribed(link, "/victim", depth=1, held=1)
        link.frame(WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [fd])

    lingering(stage, send)


@attack("sends a TCP socket that lingers with frames that carry no descriptor")
def lingering_stray(stage):
    lingering(stage, lambda link, fd: link.frame(NODE_UP, node("n"), [fd]))


@attack("sends a TCP socket that lingers behind more descriptors than a frame may have, also before its HELLO")
def lingering_excess(stage):
    def fifth(link, fd):
        link.frame(NODE_UP, node("n"), [memfd(PAGE) for _ in range(4)] + [fd])

    def before_hello(link, fd):
        Link(stage.directory, stage.victim, hello=False).packet(ATTACH, b"", [memfd(PAGE) for _ in range(252)] + [fd])

    lingering(stage, fifth)
    lingering(stage, before_hello)


@attack("sends a TCP socket that lingers as its connection segment")
def lingering_segment(stage):
    lingering(stage, lambda link, fd: Subscribed(link, "/victim", descriptor=fd, size=PAGE, wait=False))


@attack("sends a TCP socket that lingers as data segment and as ring")
def lingering_data(stage):
    def segment(link, fd):
        published = Published(link, "/image", attach=False)
        published.meet()
        published.send_segment(descriptor=fd, size=PAGE)

    def ring(link, fd):
        published = Published(link, "/image", attach=False)
        published.meet()
        published.send_segment()
        published.send_attached(fds=[published.event_fd, fd])

    lingering(stage, segment)
    lingering(stage, ring)


@attack("sends a TCP socket that lingers in an unfinished frame, and before its HELLO")
def lingering_unfinished(stage):
    lingering(stage, lambda link, fd: link.packet(ANNOUNCE, b"x" * 10, [fd], flags=1))

    def before_hello(link, fd):
        fresh = Link(stage.directory, stage.victim, hello=False)
        fresh.packet(ATTACH, b"", [fd])

    lingering(stage, before_hello)


@attack("gives a wake socket that nobody reads")
def deaf_wake_socket(stage):
    """A wake socket of the right kind whose queue is full: notifying there must not block."""
    stage.begin()
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        near, far = socket.socketpair(socket.AF_UNIX, kind)
        far.setblocking(False)
        try:
            while True:
                near.send(b"x", socket.MSG_DONTWAIT)
        except BlockingIOError:
            pass
        near.setblocking(True)
        stage.keep(far)
        link = stage.keep(Link(stage.directory, stage.victim))
        subscribed = stage.keep(Subscribed(link, "/victim"))
        try:
            link.frame(WAKE_SOCKET, subscribed.writer.gid + subscribed.gid, [near.fileno()])
            subscribed.sleeping = 2
        except Gone:
            pass
        near.close()
        link.drain(0.2)


@attack("publishes from huge pages that do not exist")
def huge_pages(stage):
    """A sealed MFD_HUGETLB segment: reading it is SIGBUS where no huge page is free."""
    stage.begin()
    size = 2 << 20
    for with_future_write in (True, False):
        link = stage.keep(Link(stage.directory, stage.victim))
        try:
            published = Published(link, "/image", attach=False)
            published.meet()
            try:
                fd = hugetlb(size)
            except OSError:
                return "unsupported"
            if with_future_write:
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 16)
            published.send_segment(descriptor=fd, size=size)
            published.send_attached()
            published.push(0)
            published.push(4096 * 5)
            link.drain(0.3)
        except Gone:
            pass


@attack("makes its connection segment from huge pages that do not exist")
def huge_connection(stage):
    stage.begin()
    try:
        fd = hugetlb(2 << 20)
    except OSError:
        return "unsupported"
    link = stage.keep(Link(stage.directory, stage.victim))
    try:
        Subscribed(link, "/victim", depth=65536, held=65536, descriptor=fd, size=2 << 20, wait=False)
        Subscribed(link, "/victim", descriptor=fd, size=PAGE, wait=False)
        link.drain(0.3)
    except Gone:
        pass


@attack("gives event page and ring that are huge pages which do not exist")
def huge_ring(stage):
    stage.begin()
    for which in range(2):
        link = stage.keep(Link(stage.directory, stage.victim))
        try:
            published = Published(link, "/image", attach=False)
            published.meet()
            try:
                fd = hugetlb(2 << 20)
            except OSError:
                return "unsupported"
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, 16)
            published.send_segment()
            if which == 0:
                published.send_attached(fds=[published.event_fd, fd], ring_bytes=2 << 20)
            else:
                published.send_attached(fds=[fd, published.ring_fd])
            link.drain(0.3)
        except Gone:
            pass


@attack("closes what it sent while the other side maps it")
def vanishing(stage):
    """Segments that are made, sent and forgotten, hundreds of times: the victim closes every copy."""
    stage.begin()
    link = stage.keep(Link(stage.directory, stage.victim))
    try:
        for _ in range(stage.size(30, 300)):
            subscribed = Subscribed(link, "/victim")
            link.frame(0x0109, subscribed.writer.gid + subscribed.gid)
            link.frame(0x0101, subscribed.gid)
            os.close(subscribed.fd)
    except Gone:
        pass
