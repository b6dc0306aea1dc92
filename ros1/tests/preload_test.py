# SPDX-License-Identifier: Apache-2.0
"""libbaton_roscpp.so under stock roscpp programs: what arrives, by which way, and what is left."""

import hashlib
import random
import re
import signal
import struct
import subprocess
import time

import pytest
from nodelet_packages import MANAGER, lines_of_nodelets, package_of_tests
from ros1_network import BUILD, PATIENCE_S, PRELOAD, ROOT, tcp_bytes

LARGE = 1_000_000
SMALL = 1_000
IN_FLIGHT = 4  # kInFlight in ros1/preload/src/links.hpp


def image(number, size=LARGE, seq=None):
    """What a listener prints for the talker's image `number`."""
    return f"{number} {number - 1 if seq is None else seq} {size} good"


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


def test_a_slow_subscriber_gets_as_many_messages_as_by_tcpros(ros):
    listeners = {preload: ros.listener(preload, queue_size=100, pause_ms=10) for preload in (False, True)}
    talker = ros.talker(queue_size=100)
    talker.do("subscribers 2")
    talker.do(f"publish {LARGE} 80 0")
    for listener in listeners.values():
        assert [listener.line() for _ in range(80)] == [image(i + 1) for i in range(80)]


def test_a_stopped_subscriber_gets_the_rest_when_it_goes_on(ros):
    listener, talker = ros.listener(), ros.talker()
    first = warm(talker, listener)
    listener.process.send_signal(signal.SIGSTOP)
    talker.do(f"publish {LARGE} 30 1")
    listener.process.send_signal(signal.SIGCONT)
    assert [listener.line() for _ in range(30)] == [image(first + i + 1) for i in range(30)]


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


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
        wait_until(lambda talker=talker, rings=rings: talker.maps("baton-ring") < rings)
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
    wait_until(lambda: talker.maps("baton-ring") > 0)


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
    return next(
        line.split()[2]
        for line in subprocess.run(
            ["ldd", BUILD / "bin" / "ros1_ends"], capture_output=True, text=True
        ).stdout.splitlines()
        if "libroscpp.so" in line
    )


def other_build(directory):
    """A copy of libroscpp that no list names."""
    library = library_of_roscpp()
    other = directory / library.rsplit("/", 1)[1]
    subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", library, other], check=True)
    return other


def test_another_build_of_roscpp_is_left_alone_with_one_line(ros, tmp_path):
    other = other_build(tmp_path)
    listener = ros.listener(LD_LIBRARY_PATH=str(tmp_path))
    talker = ros.talker()
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 3 0")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    assert listener.end() == 0
    assert len(listener.errors) == 1
    assert str(other) in listener.errors[0]
    assert "not a build that libbaton_roscpp.so was tried with" in listener.errors[0]


def test_another_build_that_passes_the_test_at_the_start_is_used_on_request(ros, tmp_path):
    other_build(tmp_path)
    settings = {"LD_LIBRARY_PATH": str(tmp_path), "BATON_ROS1_TRY": "1"}
    listener, talker = ros.listener(**settings), ros.talker(**settings)
    first = warm(talker, listener)
    before = tcp_bytes(listener)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(first + 1)
    assert tcp_bytes(listener) - before == 28, "a marker has 28 bytes"
    assert listener.end() == talker.end() == 0
    for each in (listener, talker):
        assert len(each.errors) == 1 and "passed the test at the start" in each.errors[0]


def test_another_build_that_fails_the_test_at_the_start_is_left_alone(ros, tmp_path):
    call_directly(other_build(tmp_path), "_ZN3ros19MessageDeserializer11deserializeEv")
    listener, talker = ros.listener(LD_LIBRARY_PATH=str(tmp_path), BATON_ROS1_TRY="1"), ros.talker()
    talker.do("subscribers 1")
    talker.do(f"publish {LARGE} 3 0")
    assert [listener.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    assert listener.end() == 0
    (line,) = listener.errors
    assert "fails the test at the start: it does not call _ZN3ros19MessageDeserializer11deserializeEv by name" in line


def call_directly(library, name):
    """The library's own calls of this function do not ask the dynamic linker any more, as if the compiler had decided so."""
    table = subprocess.run(["readelf", "-rW", library], capture_output=True, text=True, check=True).stdout
    offset, info, _, address, *_ = next(line.split() for line in table.splitlines() if name in line)
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


def test_the_library_needs_no_function_of_roscpp():
    symbols = subprocess.run(
        ["nm", "-DC", "--undefined-only", PRELOAD], capture_output=True, text=True, check=True
    ).stdout
    assert "ros::" not in symbols


def test_the_type_of_the_chunks_has_the_hash_of_its_definition():
    source = (ROOT / "ros1" / "preload" / "src" / "buffers.cpp").read_text()
    definition = re.search(r'"(message baton_ros1/Serialized.*?)"', source)[1].replace("\\n", "\n")
    stated = bytes(int(byte, 16) for byte in re.search(r"\{(0x[^}]*)\}", source)[1].replace("0x", "").split(","))
    assert hashlib.sha256(definition.encode()).digest()[:16] == stated


def test_functions_of_roscpp_that_the_library_replaces_lie_at_even_addresses():
    # The lowest bit of a pointer to a member function says that the function is virtual (Itanium C++ ABI, 2.3).
    symbols = subprocess.run(["nm", "--dynamic", "--defined-only", PRELOAD], capture_output=True, text=True, check=True)
    lines = [line.split() for line in symbols.stdout.splitlines()]
    functions = {name: int(address, 16) for address, _, name in lines if name.startswith("_ZN3ros")}
    assert len(functions) == 9
    assert [name for name, address in functions.items() if address % 2 != 0] == []
