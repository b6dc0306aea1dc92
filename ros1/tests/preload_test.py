# SPDX-License-Identifier: Apache-2.0
"""libbaton_roscpp.so under stock roscpp programs: what arrives, by which way, and what is left."""

import hashlib
import random
import re
import signal
import struct
import time

import pytest
from nodelet_packages import MANAGER, lines_of_nodelets, package_of_tests
from ros1_network import BUILD, LARGE, PRELOAD, ROOT, SMALL, image, run, tcp_bytes
from support.waiting import until

IN_FLIGHT = 4  # kInFlight in ros1/preload/src/links.hpp


def warm(talker, *listeners):
    """Publishes until every pair that can uses shared memory; returns the number of images published."""
    talker.do(f"subscribers {len(listeners)}")
    numbers = 0
    while True:
        before = [tcp_bytes(listener) for listener in listeners]
        numbers += 1
        talker.do(f"publish {LARGE} 1 0")
        for listener in listeners:
            assert listener.line() == image(numbers)
        if all(tcp_bytes(listener) - earlier < LARGE for listener, earlier in zip(listeners, before, strict=True)):
            return numbers
        assert numbers < 2000, "the links never took the shared way"
        time.sleep(0.02)


def test_a_stopped_subscriber_gets_the_rest_when_it_goes_on(ros):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    listener.process.send_signal(signal.SIGSTOP)
    talker.do(f"publish {LARGE} 30 1")
    listener.process.send_signal(signal.SIGCONT)
    assert [listener.line() for _ in range(30)] == [image(first + i + 1) for i in range(30)]


def rings_of(talker, listener):
    """Publishes, with the listener stopped, until shared memory has all messages that it may have. The talker's rings."""
    listener.process.send_signal(signal.SIGSTOP)
    talker.do(f"publish {LARGE} {IN_FLIGHT} 1")
    rings = talker.maps("baton-ring")
    assert rings > 0
    return rings


def test_messages_in_shared_memory_when_the_connection_there_ends_arrive_by_tcp(ros):
    for more in ros.each([[], [SMALL, LARGE] * 5]):
        listener, talker = ros.listener(), ros.talker()
        first = warm(talker, listener)
        rings = rings_of(talker, listener)
        talker.break_baton_connections()
        # Now the messages that were not taken are given up.
        until(lambda talker=talker, rings=rings: talker.maps("baton-ring") < rings)
        for size in more:
            talker.do(f"publish {size} 1 0")
        listener.process.send_signal(signal.SIGCONT)
        expected = [image(first + i + 1, size) for i, size in enumerate([LARGE] * IN_FLIGHT + more)]
        assert [listener.line() for _ in expected] == expected
        talker.do(f"publish {SMALL} 1 0")
        assert listener.line() == image(first + len(expected) + 1, SMALL), "and nothing arrives twice"


def test_connections_that_end_and_come_back_while_messages_flow_cost_no_message(ros):
    listener, talker = ros.listener(queue_size=1000), ros.talker(queue_size=1000)
    first = warm(talker, listener)
    chance = random.Random(1)
    count = 0
    for _ in range(40):
        sizes = [chance.choice([SMALL, 100_000, LARGE]) for _ in range(8)]
        victim = chance.choice([talker, listener])
        at = chance.randrange(len(sizes))
        for i, size in enumerate(sizes):
            if i == at:
                victim.break_baton_connections()
            talker.do(f"publish {size} 1 0")
        for size in sizes:
            count += 1
            assert listener.line() == image(first + count, size)
    # Shared memory is used again.
    until(lambda: talker.maps("baton-ring") > 0)


NODELETS = BUILD / "lib" / "libros1_nodelets.so"


@pytest.mark.skipif(
    not (MANAGER.exists() and NODELETS.exists()),
    reason="needs Debian's nodelets: make setup installs libnodeletlib-dev and libnodeletlib-tools and make build-ros1",
)
def test_nodelets_of_one_manager_pass_pointers_while_another_process_takes_shared_memory(ros, tmp_path):
    settings = package_of_tests(tmp_path / "packages", NODELETS)
    listener = ros.listener()
    manager = ros.run([MANAGER, "manager", "__name:=manager"], **settings)
    for name in ("Sink", "Source"):
        ros.run([MANAGER, "load", f"ros1_test/{name}", "manager", f"__name:={name}"], preload=False, **settings)
    sent, got = lines_of_nodelets(manager)
    assert got == sent
    assert len(sent) == 20
    assert [listener.line().split()[0] for _ in range(20)] == [str(i + 1) for i in range(20)]
    assert manager.maps("baton-data") > 0, "the other process's messages took shared memory"


def library_of_roscpp():
    lines = run("ldd", BUILD / "bin" / "ros1_ends").splitlines()
    return next(line.split()[2] for line in lines if "libroscpp.so" in line)


def other_build(directory):
    """A copy of libroscpp that no list names."""
    library = library_of_roscpp()
    other = directory / library.rsplit("/", 1)[1]
    run("objcopy", "--remove-section=.note.gnu.build-id", library, other)
    return other


def test_another_build_of_roscpp_is_used_on_request_alone_and_if_it_passes_the_test_at_the_start(ros, tmp_path):
    other = other_build(tmp_path)
    path, on_request = {"LD_LIBRARY_PATH": str(tmp_path)}, {"BATON_ROS1_TRY": "1"}
    is_left_alone(ros, path, f"{other}", "not a build that libbaton_roscpp.so was tried with")

    listener, talker = ros.listener(**path, **on_request), ros.talker(**path, **on_request)
    first = warm(talker, listener)
    before = tcp_bytes(listener)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(first + 1)
    assert tcp_bytes(listener) - before == 28, "a marker has 28 bytes"
    assert listener.end() == talker.end() == 0
    for each in (listener, talker):
        assert len(each.errors) == 1 and "passed the test at the start" in each.errors[0]

    function = "_ZN3ros19MessageDeserializer11deserializeEv"
    call_directly(other, function)
    is_left_alone(ros, path | on_request, f"fails the test at the start: it does not call {function} by name")


def is_left_alone(ros, settings, *words):
    """A program with these settings gets its messages, and one line with these words."""
    listener, talker = ros.listener(**settings), ros.talker()
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 3 0")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    assert listener.end() == 0
    (line,) = listener.errors
    assert all(each in line for each in words), line
    ros.end_programs()


def call_directly(library, name):
    """The library's own calls of this function do not ask the dynamic linker any more, as if the compiler had decided so."""
    table = run("readelf", "-rW", library).splitlines()
    offset, info, _, address, *_ = next(line.split() for line in table if name in line)
    entry = struct.pack("<QQq", int(offset, 16), int(info, 16), 0)
    data = library.read_bytes()
    assert data.count(entry) == 1
    relative = 8  # R_X86_64_RELATIVE
    library.write_bytes(data.replace(entry, struct.pack("<QQq", int(offset, 16), relative, int(address, 16))))


def test_a_program_without_ros_notices_nothing(ros):
    program = ros.run(["/bin/sh", "-c", "echo works"])
    assert program.line() == "works"
    assert program.end() == 0
    assert program.errors == []
    assert ros.sockets() == []


def test_the_type_of_the_chunks_has_the_hash_of_its_definition():
    source = (ROOT / "ros1" / "preload" / "src" / "buffers.cpp").read_text()
    definition = re.search(r'"(message baton_ros1/Serialized.*?)"', source)[1].replace("\\n", "\n")
    stated = bytes(int(byte, 16) for byte in re.search(r"\{(0x[^}]*)\}", source)[1].replace("0x", "").split(","))
    assert hashlib.sha256(definition.encode()).digest()[:16] == stated


def test_the_library_needs_no_function_of_roscpp_and_those_that_it_replaces_lie_at_even_addresses():
    assert "ros::" not in run("nm", "-DC", "--undefined-only", PRELOAD)
    # The lowest bit of a pointer to a member function says that the function is virtual (Itanium C++ ABI, 2.3).
    lines = [line.split() for line in run("nm", "--dynamic", "--defined-only", PRELOAD).splitlines()]
    functions = {name: int(address, 16) for address, _, name in lines if name.startswith("_ZN3ros")}
    assert len(functions) == 9
    assert [name for name, address in functions.items() if address % 2 != 0] == []
