# SPDX-License-Identifier: Apache-2.0
"""Ordinary roscpp programs that were recompiled with the headers of baton_ros1_messages, beside the same programs of ROS."""

import itertools
import subprocess
from pathlib import Path

import pytest
from nodelet_packages import MANAGER, lines_of_nodelets, package_of_tests
from ros1_network import BUILD, LARGE, PAIRS, PATIENCE_S, image, tcp_bytes

HERE = Path(__file__).parent
NODELETS = BUILD / "lib" / "libros1_recompiled_nodelets.so"
counted = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_pointer_ends").exists(), reason="builds with a sanitizer have the sanitizer's memcpy"
)


def start(ros, kind, program, *words):
    return ros.start(kind, program, *words)


def talker(ros, kind, queue_size=100, latch="volatile"):
    return start(ros, kind, "ends", "talker", "images", queue_size, latch)


def listener(ros, kind, keep=0, topic="images"):
    return start(ros, kind, "ends", "listener", topic, 100, keep, 0)


def counts(program):
    """(copies, allocations) of large arrays in the whole process so far."""
    program.tell("counts")
    word, copies, allocations = program.line().split()
    assert word == "counts"
    return int(copies), int(allocations)


def test_a_message_of_more_than_the_memory_of_an_ordinary_publisher_arrives(ros):
    receives, sends = listener(ros, "recompiled"), talker(ros, "recompiled")
    sends.do("subscribers 1")
    sends.do("publish 10 1 0")
    sends.do("publish 300000000 1 0")
    sends.do("publish 10 1 0")
    assert [receives.line() for _ in range(3)] == [image(1, 10), image(2, 300_000_000), image(3, 10)]


def test_a_recompiled_subscriber_may_keep_a_thousand_messages(ros):
    receives, sends = listener(ros, "recompiled", keep=1000), talker(ros, "recompiled")
    sends.do("subscribers 1")
    for number in range(1010):
        sends.do("publish 20000 1 0")
        assert receives.line() == image(number + 1, 20000)
    assert receives.end() == 0, "kept messages are as they came"


def begin_to_count(sends, *receivers):
    """After a small message: memory that a process takes once does not count."""
    sends.do("publish 10 1")
    for receives in receivers:
        assert receives.line() == image(1, 10)
    return [counts(program) for program in (sends, *receivers)]


def counts_since(before, *programs):
    return [tuple(n - o for n, o in zip(counts(p), old, strict=True)) for p, old in zip(programs, before, strict=True)]


FULL_HD = 6_220_800
# How a program publishes six messages, and the copies and allocations of large arrays that it makes then.
FORMS_OF_PUBLISHING = {
    "pointer": (0, 0),
    "object": (1, None),  # the first object shows that the program makes a new one for each message
    "standard": (1, None),
    "again": (6, None),  # one object
    "constant": (12, 0),  # to the stack's message, and into shared memory
}


@counted
def test_published_messages_are_copied_as_seldom_as_their_form_permits_and_not_serialized(ros):
    for form, (copies, allocations) in ros.each(FORMS_OF_PUBLISHING.items()):
        receives = start(ros, "recompiled", "pointer_ends", "listener", "images")
        sends = start(ros, "recompiled", "pointer_ends", "talker", "images")
        sends.do("subscribers 1")
        before, tcp_before = begin_to_count(sends, receives), tcp_bytes(receives)
        sends.do(f"publish {FULL_HD} 6 {form}")
        assert [receives.line() for _ in range(6)] == [image(i + 2, FULL_HD) for i in range(6)]
        sent, taken = counts_since(before, sends, receives)
        assert sent == (copies, sent[1] if allocations is None else allocations), form
        assert taken == (0, 0), form
        assert tcp_bytes(receives) - tcp_before < LARGE, "what is left is between node and master"


def test_what_a_program_does_with_an_object_that_it_published_reaches_no_subscriber(ros):
    receivers = [start(ros, kind, "pointer_ends", "listener", "images") for kind in ("recompiled", "stock")]
    sends = start(ros, "recompiled", "pointer_ends", "talker", "images")
    sends.do("subscribers 2")
    sends.do(f"publish {FULL_HD} 3 object")  # from the second on they are handed over
    sends.do(f"publish {FULL_HD} 4 changed")
    for receives in receivers:
        assert [receives.line() for _ in range(7)] == [image(i + 1, FULL_HD) for i in range(7)]


@counted
def test_a_stock_subscriber_costs_one_serialization_and_no_other_copy(ros):
    own = start(ros, "recompiled", "pointer_ends", "listener", "images")
    stock = start(ros, "stock", "pointer_ends", "listener", "images")
    sends = start(ros, "recompiled", "pointer_ends", "talker", "images")
    sends.do("subscribers 2")
    before = begin_to_count(sends, own, stock)
    sends.do(f"publish {LARGE} 4")
    for receives in (own, stock):
        assert [receives.line() for _ in range(4)] == [image(i + 2) for i in range(4)]
    sent, taken, deserialized = counts_since(before, sends, own, stock)
    assert sent == (4, 4)
    assert taken == (0, 0)
    assert min(deserialized) >= 4, "what is counted happens in stock programs"


@pytest.mark.own_master
def test_ordinary_code_of_many_forms_works_as_with_ros(ros):
    lines = ros.run([BUILD / "bin" / "ros1_recompiled_forms"], preload=False).until_end()
    assert lines and [line for line in lines if not line.endswith(": good")] == []


@pytest.mark.own_master
def test_services_with_messages_inside_answer_alike_between_stock_and_recompiled_programs(ros):
    heard = {}
    for server, client in [*PAIRS, ("stock", "stock")]:
        serves = start(ros, server, "services", "serve")
        assert serves.line() == "serving"
        calls = start(ros, client, "services", "call")
        heard[server, client] = calls.more(PATIENCE_S)
        assert calls.end() == serves.end() == 0
    stock = heard.pop(("stock", "stock"))
    assert len(stock) > 100
    assert "refused 0" in stock
    assert stock.count("status_message: plumb_bob with 5 of /call") == 2
    for pair, lines in heard.items():
        assert lines == stock, pair


@pytest.mark.skipif(
    not (MANAGER.exists() and NODELETS.exists()),
    reason="needs Debian's nodelets: make setup installs libnodeletlib-dev and libnodeletlib-tools and make build-ros1",
)
def test_recompiled_nodelets_of_a_stock_manager_pass_every_message_to_each_other_and_to_other_processes(ros, tmp_path):
    settings = package_of_tests(tmp_path / "packages", NODELETS)
    listeners = [listener(ros, kind) for kind in ("recompiled", "stock")]
    manager = ros.run([MANAGER, "manager", "__name:=manager"], preload=False, **settings)
    for name in ("Sink", "Source"):
        command = [MANAGER, "load", f"ros1_test/{name}", "manager", f"__name:={name}", "_subscribers:=3"]
        ros.run(command, preload=False, **settings)
    sent, got = lines_of_nodelets(manager)
    assert len(sent) == 20
    assert got.keys() == sent.keys()
    for receives in listeners:
        assert [receives.line().split()[0] for _ in range(20)] == [str(i + 1) for i in range(20)]


def test_recompiled_libraries_that_a_stock_program_loads_get_every_message_of_the_other(ros):
    libraries = [BUILD / "lib" / f"libros1_recompiled_{name}.so" for name in ("plug_in", "other_plug_in")]
    host = ros.run([BUILD / "bin" / "ros1_plug_in_host", *libraries], preload=False)

    def come(order):
        host.tell(order)
        return list(iter(host.line, f"done {order}"))

    lines = []
    while not {"first 0", "second 0"} <= set(
        lines
    ):  # roscpp counts both as one: nothing says when the second one is there
        lines += come("publish 0")
    for number in range(1, 6):
        lines, expected = come(f"publish {number}"), {f"first {number}", f"second {number}"}
        for _ in range(20 * PATIENCE_S):  # of 50 ms
            lines += come("spin") if not expected <= set(lines) else []
        assert sorted(line for line in lines if not line.endswith(" 0")) == sorted(expected)
    assert [line for _ in range(6) for line in come("spin") if not line.endswith(" 0")] == []
    assert host.end() == 0


def test_every_type_has_the_traits_the_bytes_and_the_text_of_ros(tmp_path):
    subprocess.run(["/usr/bin/python3", HERE / "every_type.py", tmp_path, "1"], capture_output=True, check=True)
    stock, own = (
        subprocess.run([BUILD / "bin" / name, tmp_path], capture_output=True, text=True, check=True).stdout.splitlines()
        for name in ("ros1_types", "ros1_recompiled_types")
    )
    assert len(own) > 20
    assert [line for line in own if " same " not in line] == []
    assert own == stock


FORMS = ["message", "cvimage", "pointer", "const_pointer"]


def cv_listener(ros, kind, form="message", keep=0):
    return start(ros, kind, "cv_ends", "listener", "images", form, keep)


def cv_talker(ros, kind, form="message"):
    return start(ros, kind, "cv_ends", "talker", "images", form)


with_cv_programs = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_cv_ends").exists(),
    reason="needs libcv-bridge-dev (make build-ros1), and a build without a sanitizer",
)


@with_cv_programs
def test_images_of_opencv_go_from_every_program_to_every_subscriber(ros):
    # A form at each pair; the forms are the publisher's, and independent of the pair.
    for (publisher, subscriber), form in ros.each(zip(itertools.cycle(PAIRS), FORMS)):
        shares, reads = cv_listener(ros, subscriber), cv_listener(ros, subscriber, "cvimage")
        sends = cv_talker(ros, publisher, form)
        sends.do("subscribers 2")
        for rows, columns in ((480, 640), (1, 3), (1, 3)):  # before the last ones would come what came too often
            sends.do(f"publish {rows} {columns} 3")
        expected = [f"{i + 1} {'640x480' if i < 3 else '3x1'} good" for i in range(9)]
        assert [shares.line() for _ in expected] == [f"{line} shared" for line in expected]
        assert [reads.line() for _ in expected] == expected


@with_cv_programs
def test_an_image_of_opencv_is_copied_once_into_its_message_and_nowhere_else(ros):
    for form in ros.each(FORMS):
        receives, sends = cv_listener(ros, "recompiled"), cv_talker(ros, "recompiled", form)
        sends.do("subscribers 1")
        sends.do("publish 1 10 1")
        assert receives.line() == "1 10x1 good shared"
        before = [counts(program) for program in (sends, receives)]
        sends.do("publish 1000 1000 5")
        assert [receives.line() for _ in range(5)] == [f"{i + 2} 1000x1000 good shared" for i in range(5)]
        assert counts_since(before, sends, receives) == [(5, 0), (0, 0)], form


@with_cv_programs
def test_shared_images_keep_the_pixels_of_their_messages(ros):
    receivers, sends = [cv_listener(ros, "recompiled", keep=kept) for kept in (1, 40)], cv_talker(ros, "recompiled")
    sends.do("subscribers 2")
    for number in range(50):
        sends.do("publish 100 200 1")
        assert [receives.line() for receives in receivers] == [f"{number + 1} 200x100 good shared"] * 2
    assert [receives.end() for receives in receivers] == [0, 0]
