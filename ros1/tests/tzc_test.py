# SPDX-License-Identifier: Apache-2.0
"""baton::ros1 in mode tzc: handles over TCPROS, messages in shared memory. api_test.py runs in this mode, too."""

import os
import re
import struct
import subprocess
import sys

import pytest
from api_test import meet
from ros1_network import BUILD, LARGE, ROOT, SMALL, image
from support.waiting import until

TZC = {"BATON_ROS1_MODE": "tzc"}
LOTROS = {"BATON_ROS1_MODE": "lotros"}
MESSAGE = ROOT / "ros1/api/msg/Handle.msg"
HANDLE_MD5 = "e5aa32c07b1037ab6d473025c2d75a39"


def handles(listener):
    """What became of the listener's handles."""
    listener.tell("handles")
    word, *pairs = listener.line().split()
    assert word == "handles"
    return {name: int(count) for name, count in zip(pairs[::2], pairs[1::2], strict=True)}


def expected(**counts):
    return dict.fromkeys(["taken", "carried", "overwritten", "held_limit", "refused"], 0) | counts


def test_a_subscription_gets_each_message_once_while_publishers_of_the_other_mode_come_and_go(ros):
    listener, talker = ros.api_listener(**TZC), ros.api_talker(**TZC)
    meet(talker, 1)
    for _ in range(3):
        other = ros.api_talker(**LOTROS)
        talker.tell(f"publish {SMALL} 100 2")
        meet(other, 1)
        other.do(f"publish {LARGE} 5 5")
        assert talker.line().startswith("done")
        assert other.end() == 0
    talker.do("publish 10 1 0")  # what came too often would come before
    lines = [listener.line() for _ in range(316)]
    assert lines[-1] == image(301, 10)
    assert [line for line in lines if line.split()[2] == str(SMALL)] == [image(i + 1, SMALL) for i in range(300)]
    assert [line for line in lines if line.split()[2] == str(LARGE)] == [image(i + 1) for i in range(5)] * 3
    counts = handles(listener)
    assert counts == expected(taken=counts["taken"], carried=counts["carried"])


def test_what_a_publisher_without_handles_left_behind_is_delivered(ros):
    for own in ros.each([TZC, LOTROS]):
        listener, talker = ros.api_listener(pause_ms=700, **own), ros.api_talker(**LOTROS)
        meet(talker, 1)
        talker.do(f"publish {LARGE} 1 0")
        assert listener.line() == image(1)
        talker.do(f"publish {LARGE} 4 0")  # within the first one's callback
        talker.process.kill()
        assert [listener.line() for _ in range(4)] == [image(i + 2) for i in range(4)]


def test_bytes_in_handles_and_bytes_of_a_stock_publisher_may_be_decoded_at_the_same_time(ros):
    queues = ros.run([BUILD / "bin" / "ros1_api_ends", "queues", "images"], preload=False, **TZC)  # with four threads
    assert queues.line() == "ready"  # all three subscriptions are one subscriber in roscpp
    talkers = [ros.api_talker(latch=True, **TZC), ros.talker(False)]
    for talker in talkers:
        talker.do("subscribers 1")
    for talker in talkers:
        talker.tell(f"publish {SMALL} 50 1")
    for talker in talkers:
        assert talker.line().startswith("done")
    lines = [queues.line() for _ in range(200)]
    for name in ("fast", "other"):
        assert sorted(line for line in lines if line.startswith(name)) == sorted(
            [f"{name} {i}" for i in range(1, 51)] * 2
        )


def raw_file(path, kind, md5, definition, messages):
    """What ros1_raw source publishes."""
    text = definition.encode()
    with open(path, "wb") as file:
        file.write(f"{kind}\n{md5}\n{len(text)} {len(messages)}\n".encode() + text)
        for message in messages:
            file.write(struct.pack("<I", len(message)) + message)


def handle(number, writer, kind=bytes(16), place=0, content=b""):
    return bytes(16) + kind + writer + struct.pack("<QBI", number, place, len(content)) + content


# A subscriber's process whose links and whose ends in Baton's graph come when its input says so: "end" and a topic, "image" for an end that
# Baton serves, "withdraw" for all of them, "side" for the link of the side topic.
LATE = f"""
import os, socket, struct, sys, threading, time, baton, liar
from baton._messages import TypeSource
from baton._ros1_domain import domain_of_master
from baton.msg.std_msgs import String

def read(link, show):
    while True:
        sys.stdout.write(show(liar.receive(link)) + "\\n")
        sys.stdout.flush()

def handle(data):
    frame_id = struct.unpack_from("<I", data, 12)[0]
    number, place = struct.unpack_from("<QB", data, 16 + frame_id + 32)
    return f"handle {{number}} {{place}}"

def connect(show, *words):
    link, _ = liar.subscribe(os.environ, *words)
    threading.Thread(target=read, args=(link, show), daemon=True).start()

connect(lambda data: "bytes", "/images")
node = baton.Node("liar", domain=domain_of_master(os.environ["ROS_MASTER_URI"], socket.gethostname()))
ends = []
for line in sys.stdin:
    word, *topic = line.split()
    if word == "end":
        ends.append(node.subscribe(*topic, String))
    elif word == "image":
        ends.append(node.subscribe("/images", TypeSource(standard="ros1_noetic").message("sensor_msgs/Image")))
        while not ends[-1].matched:
            time.sleep(0.01)
        print("matched", flush=True)
    elif word == "withdraw":
        ends.clear()
    else:
        connect(handle, "/images/_baton", "baton_ros1/Handle", "{HANDLE_MD5}")
"""


@pytest.fixture
def late(ros):
    """A talker, and such a process with its link of the topic, which the talker knows as one that wants handles."""
    talker = ros.api_talker(**TZC)
    talker.do("subscribers 0")  # it publishes now
    paths = os.pathsep.join([str(BUILD / "python"), str(ROOT / "ros1/tests")])
    settings = {"PYTHONPATH": paths}
    if runtimes := os.environ.get("BATON_SANITIZER_RUNTIMES"):  # the interpreter is not instrumented
        settings["LD_PRELOAD"] = runtimes
    program = ros.run([sys.executable, "-c", LATE], preload=False, **settings)
    talker.do("subscribers 1")  # a stock one, as far as is known
    program.tell("end /images/_baton")
    return talker, program


@pytest.mark.own_master
def test_a_process_without_its_link_of_the_side_topic_gets_the_handles_when_it_comes(late):
    talker, program = late
    program.tell("image")
    assert program.line() == "matched"
    talker.do("subscribers 0")
    talker.do(f"publish {SMALL} 2 0")
    program.tell("side")
    talker.do("subscribers 1")
    talker.do(f"publish {SMALL} 1 0")
    assert [program.line() for _ in range(3)] == [f"handle {number} 0" for number in (1, 2, 3)]


@pytest.mark.own_master
def test_handles_with_the_bytes_wait_for_the_link_too_and_no_more_than_the_queue_has_places(late):
    talker, program = late
    program.tell("end /images")  # of another type, so Baton does not serve it
    talker.do("subscribers 0")
    talker.do(f"publish {SMALL} 103 0")
    program.tell("side")
    talker.do("subscribers 1")
    talker.do(f"publish {SMALL} 1 0")
    assert [program.line() for _ in range(101)] == [f"handle {number} 1" for number in range(4, 105)]


@pytest.mark.own_master
def test_a_process_that_gets_the_bytes_gets_no_handles_afterwards(late):
    talker, program = late
    program.tell("end /images")
    talker.do("subscribers 0")
    talker.do(f"publish {SMALL} 1 0")
    program.tell("end /images/_stock")
    talker.do("subscribers 1")
    talker.do(f"publish {SMALL} 2 0")
    assert [program.line() for _ in range(2)] == ["bytes"] * 2
    program.tell("side")
    talker.do("subscribers 2")
    talker.do(f"publish {SMALL} 1 0")
    # Not the first one's: it would come after messages that are newer.
    assert sorted(program.line() for _ in range(2)) == ["bytes", "handle 4 1"]


@pytest.mark.own_master
def test_handles_for_a_subscription_that_has_ended_do_not_come_to_the_next_one(late):
    talker, program = late
    program.tell("end /images")
    talker.do("subscribers 0")
    talker.do(f"publish {SMALL} 2 0")
    program.tell("withdraw")
    talker.do("subscribers 1")
    program.tell("end /images/_baton")
    program.tell("end /images")
    talker.do("subscribers 0")
    program.tell("side")
    talker.do("subscribers 1")
    talker.do(f"publish {SMALL} 1 0")
    assert program.line() == "handle 3 1"


@pytest.mark.own_master
def test_forged_handles_hurt_nobody(ros, tmp_path):
    listener, talker = ros.api_listener(**TZC), ros.api_talker(**TZC)
    onlooker = ros.run([BUILD / "bin/ros1_raw", "sink", "images/_baton", tmp_path / "seen"], preload=False)
    meet(talker, 1)
    talker.do(f"publish {LARGE} 1 0")
    assert listener.line() == image(1)
    while not onlooker.more(0.2):  # it may have come after the first message
        talker.do(f"publish {LARGE} 1 0")
        listener.line()
    seen = (tmp_path / "seen").read_bytes()
    frame_id = struct.unpack_from("<I", seen, 4 + 12)[0]
    real = seen[4 + 16 + frame_id :]
    kind, writer = real[:16], real[16:32]
    assert seen[:4] == struct.pack("<I", 16 + frame_id + 45), "an onlooker gets no content"
    forged = [
        b"",
        b"\xff" * 61,
        handle(1, bytes(16), kind),
        handle(2**64 - 1, writer, kind),
        handle(2**63, writer, bytes(16)),
        handle(0, writer, kind),
        handle(2**64 - 1, writer, kind, place=1, content=b"\xff" * 100),
        handle(1000, writer, kind, content=b"x"),
    ]
    raw_file(tmp_path / "forged", "baton_ros1/Handle", HANDLE_MD5, MESSAGE.read_text(), forged)
    stranger = ros.run([BUILD / "bin/ros1_raw", "source", "images/_baton", tmp_path / "forged"], preload=False)
    stranger.do("subscribers 2")  # the listener and the onlooker
    before = handles(listener)
    stranger.do(f"publish {len(forged)}")
    until(lambda: sum(handles(listener).values()) == sum(before.values()) + len(forged))
    after = handles(listener)
    assert after["refused"] == before["refused"] + len(forged) - 1
    assert after["carried"] == before["carried"] + 1, (
        "content is an input like any stock publisher's; this one is no image"
    )
    first = before["taken"] + 1
    talker.do(f"publish {LARGE} 11 0")  # before the last one would come what came too often
    assert [listener.line() for _ in range(11)] == [image(first + i) for i in range(11)]
    assert handles(listener) == after | {"taken": after["taken"] + 11}


def test_a_handle_is_what_genpy_makes_of_its_message_file_which_is_the_definition_in_the_connection_header():
    # The values of ros1/api/src/handle_test.cpp.
    program = f"""
import sys, genpy, genpy.dynamic, io
from std_msgs.msg import Header
text = open({str(MESSAGE)!r}).read() + "\\n" + "=" * 80 + "\\nMSG: std_msgs/Header\\n" + Header._full_text
kind = genpy.dynamic.generate_dynamic("baton_ros1/Handle", text)["baton_ros1/Handle"]
message = kind()
message.header.seq, message.header.frame_id = 7, "c"
message.header.stamp = genpy.Time(2, 3)
message.type, message.writer = bytes(range(16, 32)), bytes(range(32, 48))
message.number, message.place, message.content = 265, kind.HERE, bytes.fromhex("deadbeef")
out = io.BytesIO()
message.serialize(out)
print(kind._md5sum, out.getvalue().hex())
"""
    done = subprocess.run(["/usr/bin/python3", "-c", program], capture_output=True, text=True, check=True)
    source = (ROOT / "ros1/api/src/handle_test.cpp").read_text()
    golden = "".join(re.findall(r'^    "([0-9a-f]+)"', source.split("kGolden =")[1].split(";")[0], re.M))
    assert done.stdout.split() == [HANDLE_MD5, golden[8:]]
    source = (ROOT / "ros1/api/src/handle.cpp").read_text()
    text = source.split("kHandleDefinition =")[1].split(";\n")[0]
    definition = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text)).replace("\\n", "\n")
    assert definition.split("\n" + "=" * 80)[0] == MESSAGE.read_text(), "what the connection header has"
    assert HANDLE_MD5 in (ROOT / "ros1/api/src/handle.hpp").read_text()


def test_another_mode_and_a_thread_of_its_own_in_this_one_are_errors_that_say_why(ros):
    listener = ros.api_listener(LISTENER_OWN_THREAD="1", **TZC)
    assert listener.status() != 0
    assert "own_thread is for mode lotros" in "\n".join(listener.errors)
    talker = ros.api_talker(BATON_ROS1_MODE="shm")
    assert talker.status() != 0
    assert any("BATON_ROS1_MODE is 'shm'; it has to be lotros or tzc" in line for line in talker.errors), talker.errors
    recompiled = [BUILD / "bin/ros1_recompiled_ends", "talker", "images", "100", "volatile"]
    recompiled = ros.run(recompiled, preload=False, BATON_ROS1_MODE="shm")
    assert recompiled.complains("go by TCP: invalid_argument: BATON_ROS1_MODE is 'shm'; it has to be lotros or tzc"), (
        recompiled.errors
    )
