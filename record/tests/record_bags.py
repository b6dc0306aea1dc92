# SPDX-License-Identifier: Apache-2.0
"""Code for the tests of the recorder: the program with its states, and bags as the libraries read them."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import baton
import pytest
from mcap.reader import make_reader
from mcap.stream_reader import StreamReader
from mcap_ros2.decoder import DecoderFactory
from support.build import RECORD, ROOT
from support.processes import LOG

sys.path.append(str(ROOT / "tests/codec"))
import sfm_reference
import values
from definitions import definition, ros2_store, short, to_rosbags

_MOST_STATES = 6000  # one comes each 20 ms


class Recording:
    """The program baton_record with its states."""

    def __init__(self, programs, directory, *arguments, **options):
        self.directory = Path(directory)
        words = [RECORD, "--output", directory, "--interval", "20", *arguments]
        self.process = programs.start(words, stderr=LOG, **options)
        self.state = self.next()

    def next(self):
        line = self.process.stdout.readline()
        assert line, self.process.log()
        self.state = json.loads(line)
        return self.state

    def until(self, condition):
        """The first state for which the condition holds. A message that was lost would be awaited for ever: the states end it."""
        for _ in range(_MOST_STATES):
            if condition(self.next()):
                return self.state
            assert not self.state["last"], self.state
        raise AssertionError(f"not within {_MOST_STATES} states: {self.state}")

    def topic(self, name):
        return next((t for t in self.state["topics"] if t["topic"] == f"/{name}"), {"messages": 0, "missing": {}})

    def has(self, **counts):
        """Waits until so many messages of each topic are taken."""
        return self.until(lambda _: all(self.topic(name)["messages"] >= n for name, n in counts.items()))

    def tell(self, command):
        self.process.tell(command)

    def ends(self, code=0):
        """Reads the states to the last one."""
        while not self.state["last"]:
            self.next()
        self.process.ends(code)
        return self.state

    def stop(self, code=0):
        self.tell("stop")
        return self.ends(code)

    @property
    def files(self):
        return sorted(self.directory.glob("*.mcap"), key=lambda path: int(path.stem.rpartition("_")[2]))


def needs_direct(folder):
    """Skips the test where the file system of the folder has no direct I/O."""
    try:
        os.close(os.open(folder / "probe", os.O_WRONLY | os.O_CREAT | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"no direct I/O in {folder}: {error}")


def read(path):
    """(topic, message) of a complete file, by its index, decoded by the library mcap-ros2-support."""
    with open(path, "rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()], validate_crcs=True)
        return [(channel.topic, message) for _, channel, _, message in reader.iter_decoded_messages()]


def records(stream):
    """The records of a file that may be cut, until the library finds no further one."""
    found = StreamReader(stream, emit_chunks=False, validate_crcs=True).records
    try:
        yield from found
    except Exception as error:  # the library has an error of its own for each kind of cut
        assert "Recorder" not in str(error)


def publisher(node, topic, type_name, **options):
    """A publisher that the recorder has subscribed to."""
    made = node.advertise(topic, type_name, **options)
    assert made.wait_for_subscriptions(1, 120)
    return made


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


@contextmanager
def stopped_thread(pid, name):
    """Stops one thread of a child, as a disk that does not answer stops the writer."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    ptrace.restype = ctypes.c_long
    (task,) = [task for task in Path(f"/proc/{pid}/task").iterdir() if (task / "comm").read_text().strip() == name]
    thread = int(task.name)
    if ptrace(PTRACE_SEIZE, thread, None, None) != 0:
        pytest.skip(f"this machine lets no process trace its child: {os.strerror(ctypes.get_errno())}")
    assert ptrace(PTRACE_INTERRUPT, thread, None, None) == 0
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        assert ptrace(PTRACE_DETACH, thread, None, None) == 0


def record_every_type(bag):
    """Publishes a message of each standard type, while `bag` records the topics /t<number>, and stops it: {topic: (type, the CDR of rosbags)}."""
    store, node = ros2_store(), baton.Node("types")
    source = baton.TypeSource(standard="ros2_kilted")
    ends, expected = [], {}
    for number, name in enumerate(name for name in store.types if "/msg/" in name):
        schema = sfm_reference.Schema(definition(store, name))
        value = values.example(schema, number)
        values.clear_seq(schema, short(name), value)
        expected[f"/t{number}"] = (name, bytes(store.serialize_cdr(to_rosbags(store, name, value), name)))
        ends.append((node.advertise(f"t{number}", source.message(name)), value))
    assert len(ends) > 150
    for end, value in ends:
        assert end.wait_for_subscriptions(1, 120)
        end.publish(value)
    bag.until(lambda state: sum(t["messages"] for t in state["topics"]) == len(ends))
    bag.stop()
    return expected
