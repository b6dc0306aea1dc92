# SPDX-License-Identifier: Apache-2.0
"""A ROS 1 network for tests: a master, and stock programs with or without the preloaded library."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import xmlrpc.client
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))  # kill_run.py is a command, too
from support.claims import Ports, wait_for_server  # noqa: E402

BUILD = Path(os.environ.get("BATON_BUILD", ROOT / "build" / "ros1"))
PRELOAD = BUILD / "lib" / "libbaton_roscpp.so"
HANG_UP = BUILD / "lib" / "libros1_hang_up.so"
MASTER = Path("/usr/bin/rosmaster")
PATIENCE_S = 60
# Of programs that were compiled both ways. What two stock ones do proves nothing of Baton.
PAIRS = [("recompiled", "recompiled"), ("recompiled", "stock"), ("stock", "recompiled")]
CROSS = PAIRS[1:]  # one recompiled end, each way
SUBSCRIBERS = {"recompiled": ["recompiled", "stock"], "stock": ["recompiled"]}  # of each kind of publisher


LARGE, SMALL = 1_000_000, 1_000


def image(number, size=LARGE, seq=None):
    """What a listener prints for a talker's image `number`; roscpp numbers from 0."""
    return f"{number} {number - 1 if seq is None else seq} {size} good"


class Program:
    """A running program whose lines can be waited for."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            [str(word) for word in command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines = queue.Queue()
        self.errors = []
        self.threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines.put)),
            threading.Thread(target=self._read, args=(self.process.stderr, self.errors.append)),
        ]
        for thread in self.threads:
            thread.start()

    def _read(self, stream, keep):
        for line in stream:
            keep(line.rstrip("\n"))
        if stream is self.process.stdout:
            self.lines.put(None)

    def line(self, patience_s=PATIENCE_S):
        """The next line of its output; fails the test if none comes."""
        try:
            line = self.lines.get(timeout=patience_s)
        except queue.Empty:
            raise AssertionError(f"no line within {patience_s} s; errors: {self.errors}") from None
        assert line is not None, f"the program ended; errors: {self.errors}"
        return line

    def complains(self, words):
        """Whether a line of its errors has the words. Another thread reads them, so one may come after an output that is younger."""
        deadline = time.monotonic() + PATIENCE_S
        while not any(words in line for line in self.errors):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def more(self, patience_s):
        """The lines that come until there was none for `patience_s`."""
        lines = []
        while True:
            try:
                line = self.lines.get(timeout=patience_s)
            except queue.Empty:
                return lines
            if line is None:
                return lines
            lines.append(line)

    def until_end(self, patience_s=120):
        """Its lines until one is "end", or until it ends; fails the test if the next one does not come in time."""
        lines = []
        try:
            while (line := self.lines.get(timeout=patience_s)) not in (None, "end"):
                lines.append(line)
        except queue.Empty:
            raise AssertionError(f"no line within {patience_s} s; errors: {self.errors}") from None
        return lines

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def do(self, line):
        """Of a talker: returns when it has done it."""
        self.tell(line)
        assert self.line() == f"done {line}"

    def ask(self, *words):
        """Of a program that answers each line of its input with a line: the answer."""
        self.tell(" ".join(str(word) for word in words))
        return self.line()

    def break_baton_connections(self):
        """Ends its connections to other processes of the Baton domain; they may come back at once."""
        self.process.send_signal(signal.SIGUSR1)

    def maps(self, name):
        """How many of its mappings have `name` in theirs."""
        lines = Path(f"/proc/{self.process.pid}/maps").read_text().splitlines()
        return sum(name in line for line in lines)

    def end(self):
        """Ends it in an orderly way; its exit status."""
        self.process.stdin.close()
        return self.status()

    def status(self):
        """Of a program that ends: its exit status, when all that it wrote has been read."""
        status = self.process.wait(PATIENCE_S)
        for thread in self.threads:
            thread.join(PATIENCE_S)
        return status

    def close(self):
        self.process.kill()
        self.process.wait()
        for thread in self.threads:
            thread.join()
        with contextlib.suppress(BrokenPipeError):  # lines that a dead program did not read
            self.process.stdin.close()
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()


@contextlib.contextmanager
def xmlrpc_timeout(seconds):
    """Nodes that hang answer no call."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def tcp_bytes(listener):
    """What the TCP connections of a listener have received."""
    listener.tell("tcp")
    word, count = listener.line().split()
    assert word == "tcp"
    return int(count)


@functools.cache
def without_rospy():
    """The reason why no program of rospy can run, if there is one: it has to be of the Python of Baton's package."""
    version = tuple(sys.version_info[:2])
    probe = f"import rospy, baton.rospy, sensor_msgs.msg, sys; assert sys.version_info[:2] == {version}"
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    done = subprocess.run(
        ["/usr/bin/python3", "-c", probe], env=environment, capture_output=True, text=True, timeout=60
    )
    if done.returncode == 0:
        return None
    return f"needs rospy for this Python: apt-get install python3-rospy python3-sensor-msgs; {done.stderr}"


def run(*command):
    """What it printed; fails the test if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def configure(project, directory, *definitions):
    """Configures a project outside of the tree, with an installation of this build; returns its build folder."""
    prefix, build = directory / "prefix", directory / "build"
    run("cmake", "--install", BUILD, "--prefix", prefix)
    run("cmake", "-S", project, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *definitions)
    return build


def build_example(name, directory):
    """Builds examples/`name` outside of the tree; returns the folder of its programs."""
    build = configure(ROOT / "examples" / name, directory)
    run("cmake", "--build", build)
    return build


def named(name):
    """The words that give a node a name; without a name it has one of its own."""
    return [f"__name:={name}"] if name else []


class Master:
    """A ROS master in a process of its own. `directory` gets its logs."""

    def __init__(self, directory):
        self.environment = {
            **os.environ,
            "ROS_IP": "127.0.0.1",
            "ROS_HOME": str(directory),
            "ROS_LOG_DIR": str(directory),
        }
        self.ports = Ports(1)
        self.port = self.ports.numbers[0]
        self.uri = f"http://127.0.0.1:{self.port}"
        self.start()
        self.networks = itertools.count(1)

    def start(self):
        command = ["/usr/bin/python3", MASTER, "--core", "-p", str(self.port)]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, env=self.environment, stdout=quiet, stderr=quiet)
        wait_for_server(self.process, self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def close(self):
        self.kill()
        self.ports.close()


class Ros:
    """A ROS 1 network: with a master of its own, or as a namespace of a master that has others, which share no topic or node of a relative name."""

    def __init__(self, directory, master=None):
        self.runtime = directory / "run"
        self.runtime.mkdir(mode=0o700)
        self.programs = []
        self.environment = {
            **os.environ,
            "BATON_RUNTIME_DIR": str(self.runtime),
            "ROS_IP": "127.0.0.1",
            "ROS_HOME": str(directory),
            "ROS_LOG_DIR": str(directory),
        }
        self.environment.pop("BATON_DOMAIN", None)
        self.environment.pop("ROS_DOMAIN_ID", None)
        self.held = {}
        self.own_master = None if master else Master(directory)
        self.master = master or self.own_master
        self.environment["ROS_MASTER_URI"] = self.master.uri
        self.namespace = ""
        if master:
            self.namespace = f"/n{next(master.networks)}"
            self.environment["ROS_NAMESPACE"] = self.namespace

    def resolve(self, name):
        """The name in the graph of a topic or node of these programs."""
        return f"{self.namespace}/{name}"

    def nodes(self):
        """The nodes of this network that the master knows, also dead ones, and their addresses."""
        with xmlrpc_timeout(PATIENCE_S):
            master = xmlrpc.client.ServerProxy(self.environment["ROS_MASTER_URI"])
            state = master.getSystemState("/test")[2]
            names = sorted({node for part in state for _, nodes in part for node in nodes})
            names = [name for name in names if name.startswith(f"{self.namespace}/")]
            found = {name: master.lookupNode("/test", name) for name in names}
        return {name: uri for name, (code, _, uri) in found.items() if code == 1}  # some may end meanwhile

    def hold_addresses_of_the_dead(self):
        """No later node gets one of these: roscpp would never meet it, since it keeps its links to an address, with the dead node's TCP port, and
        asks there for no new ones. The kernel gave one in 1100 successors its predecessor's port."""
        for address in self.nodes().values():
            port = urllib.parse.urlparse(address).port
            if port in self.held:
                continue
            held = socket.socket()
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections may be in TIME_WAIT
            try:
                held.bind(("127.0.0.1", port))
                self.held[port] = held
            except OSError:  # it lives
                held.close()

    def run(self, command, preload=True, **settings):
        with contextlib.suppress(OSError):  # the master may be dead, too
            self.hold_addresses_of_the_dead()
        environment = {**self.environment, **settings}
        if preload:
            if not PRELOAD.exists():
                pytest.skip("builds with a sanitizer have no libbaton_roscpp.so")
            environment["LD_PRELOAD"] = f"{PRELOAD}:{HANG_UP}"
        program = Program(command, environment)
        self.programs.append(program)
        return program

    def talker(self, preload=True, queue_size=100, latch=False, topic="images", name=None, **settings):
        words = [topic, queue_size, "latch" if latch else "volatile", *named(name)]
        return self.run([BUILD / "bin" / "ros1_ends", "talker", *words], preload, **settings)

    def listener(self, preload=True, queue_size=100, keep=0, pause_ms=0, topic="images", name=None, **settings):
        words = [topic, queue_size, keep, pause_ms, *named(name)]
        return self.run([BUILD / "bin" / "ros1_ends", "listener", *words], preload, **settings)

    # `program`: the end of the program's name, if it is not the usual one.
    def api_talker(self, queue_size=100, latch=False, topic="images", name=None, program="", **settings):
        words = [topic, queue_size, "latch" if latch else "volatile", *named(name)]
        return self.run([BUILD / "bin" / f"ros1_api_ends{program}", "talker", *words], preload=False, **settings)

    def api_listener(self, queue_size=100, keep=0, pause_ms=0, topic="images", name=None, program="", **settings):
        words = [topic, queue_size, keep, pause_ms, *named(name)]
        return self.run([BUILD / "bin" / f"ros1_api_ends{program}", "listener", *words], preload=False, **settings)

    def start(self, kind, program, *words, **settings):
        """A program that was compiled both ways; `kind` is "recompiled" or "stock"."""
        prefix = "ros1_recompiled_" if kind == "recompiled" else "ros1_"
        return self.run([BUILD / "bin" / f"{prefix}{program}", *words], preload=False, **settings)

    def each(self, cases):
        """These cases one after another: the programs of one end before the next."""
        for case in cases:
            yield case
            self.end_programs()

    def end_programs(self):
        for program in self.programs:
            program.close()
        self.programs = []

    def check_nothing_more(self, *receivers, topic="images"):
        """The next message at each is the first one of a new stock publisher: what came too often would come before."""
        sends = self.talker(preload=False, topic=topic)
        sends.do(f"subscribers {len(receivers)}")
        sends.do("publish 7 1 0")
        assert [each.line() for each in receivers] == ["1 0 7 good"] * len(receivers)

    def sockets(self):
        """The names that processes left, or have, in the runtime directory."""
        return [path for path in self.runtime.rglob("*") if path.is_socket()]

    def description(self):
        """What a failed test leaves: the programs, and whom each node at the master is connected to."""
        lines = [
            f"{each.process.args}: pid {each.process.pid}, status {each.process.poll()}, errors {each.errors}"
            for each in self.programs
        ]
        try:
            with xmlrpc_timeout(5):
                for node, uri in self.nodes().items():
                    lines.append(f"{node} at {uri}")
                    try:
                        links = xmlrpc.client.ServerProxy(uri).getBusInfo("/test")[2]
                        lines += [f"    {link}" for link in links]
                    except (OSError, xmlrpc.client.Error) as error:
                        lines.append(f"    {error}")
        except (OSError, xmlrpc.client.Error) as error:
            lines.append(f"the master: {error}")
        return "\n".join(lines)

    def close(self):
        self.end_programs()
        if self.own_master:
            self.own_master.close()
        for each in self.held.values():
            each.close()
