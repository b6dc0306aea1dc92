# SPDX-License-Identifier: Apache-2.0
"""Ordinary roscpp programs that were recompiled with the headers of baton_ros1_messages, beside the same programs of ROS."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nodelet_packages import MANAGER, lines_of_nodelets, package_of_tests
from ros1_network import BUILD, PATIENCE_S, ROOT, build_example, configure, run, tcp_bytes

LARGE = 1_000_000
HERE = Path(__file__).parent
PAIRS = list(itertools.product(("recompiled", "stock"), repeat=2))
NODELETS = BUILD / "lib" / "libros1_recompiled_nodelets.so"
counted = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_pointer_talker").exists(), reason="builds with a sanitizer have the sanitizer's memcpy"
)


def image(number, size=LARGE):
    """What a listener prints for a talker's image `number`."""
    return f"{number} {number - 1} {size} good"


def start(ros, kind, program, *words):
    return ros.start(kind, program, *words)


def talker(ros, kind, queue_size=100, latch="volatile"):
    return start(ros, kind, "talker", "images", queue_size, latch)


def listener(ros, kind, keep=0, topic="images"):
    return start(ros, kind, "listener", topic, 100, keep, 0)


def counts(program):
    """(copies, allocations) of large arrays in the whole process so far."""
    program.tell("counts")
    word, copies, allocations = program.line().split()
    assert word == "counts"
    return int(copies), int(allocations)


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_every_pair_hands_over_every_message(ros, publisher, subscriber):
    receives, sends = listener(ros, subscriber), talker(ros, publisher)
    sends.do("subscribers 1")
    sizes = [LARGE, 10, 0, 6_220_800] * 3
    for size in sizes:
        sends.do(f"publish {size} 1 0")
    assert [receives.line() for _ in sizes] == [image(i + 1, size) for i, size in enumerate(sizes)]
    assert receives.more(0.2) == []
    assert receives.end() == 0


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_a_late_subscriber_of_every_pair_gets_the_latched_message_once(ros, publisher, subscriber):
    sends = talker(ros, publisher, latch="latch")
    for size in (10, LARGE):
        sends.do(f"publish {size} 1 0")
    receives = listener(ros, subscriber)
    assert receives.line() == image(2)
    assert receives.more(0.3) == []


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_each_later_subscription_of_a_process_gets_the_newest_latched_message_once(ros, publisher, subscriber):
    sends, receives = start(ros, publisher, "latecomers", "map"), start(ros, subscriber, "latecomers", "map")
    sends.do("advertise")
    for process in (sends, receives):
        process.do("subscribe")
    sends.do("meet")
    sends.do("publish")
    for process in (sends, receives):
        assert process.ask("numbers 1") == "1"
        process.do("subscribe")
        assert process.ask("numbers 1") == "1|1"
        process.do("subscribe")
        assert process.ask("numbers 1") == "1|1|1"
    sends.do("publish")
    for process in (sends, receives):
        assert process.ask("numbers 2") == "1 2|1 2|1 2"
        process.do("subscribe")
        assert process.ask("numbers 1") == "1 2|1 2|1 2|2"


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_a_subscriber_that_is_counted_gets_the_next_message(ros, publisher, subscriber):
    receives, sends = start(ros, subscriber, "visitor", "images"), talker(ros, publisher)
    for _ in range(20):
        sends.do("subscribers 0")
        sends.tell("greet")
        receives.tell("visit")
        assert sends.line() == "done greet"
        assert receives.line() == "visited"


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_a_subscription_that_ends_waits_for_its_callback_in_another_thread(ros, publisher, subscriber):
    receives, sends = start(ros, subscriber, "visitor", "images"), talker(ros, publisher)
    for _ in range(3):
        sends.do("subscribers 0")
        sends.tell("greet")
        receives.tell("leave")
        assert receives.line() == "left after the callback"
        assert sends.line() == "done greet"


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_what_a_connect_callback_publishes_reaches_the_subscriber_that_came(ros, publisher, subscriber):
    sends = talker(ros, publisher)
    sends.do("welcome door")
    receives = start(ros, subscriber, "visitor", "door")
    for _ in range(10):
        receives.tell("visit")
        assert receives.line() == "visited"


@pytest.mark.parametrize("publisher", ["recompiled", "stock"])
@pytest.mark.parametrize("size", [10, LARGE])
def test_what_a_connect_callback_publishes_to_the_subscriber_that_came_reaches_nobody_else(ros, publisher, size):
    sends = talker(ros, publisher)
    sends.do(f"introduce door {size} volatile")
    there, expected = [], 0
    for kind in ("recompiled", "stock", "recompiled", "stock"):
        there.append(listener(ros, kind, topic="door"))
        for _ in range(3):  # unnumbered, as roscpp leaves them
            expected += 1
            assert there[-1].line() == f"{expected} 77 {size} good"
        expected += 1
        sends.do(f"announce {size}")
        for receives in there:
            assert receives.line() == f"{expected} {len(there) - 1} {size} good"
    for receives in there:
        assert receives.more(0.2) == []


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_what_one_subscriber_got_alone_is_not_latched(ros, publisher, subscriber):
    sends = talker(ros, publisher)
    sends.do("introduce door 10 latch")
    sends.do("announce 20")
    for number in range(3):
        receives = listener(ros, subscriber, topic="door")
        own = {f"{3 * number + i} 77 10 good" for i in (2, 3, 4)}
        lines = [receives.line() for _ in range(3)] + receives.more(0.3)
        assert sorted(set(lines)) == sorted(lines)
        assert set(lines) - {"1 0 20 good"} == own


def test_stock_and_recompiled_subscribers_of_a_recompiled_publisher_get_every_message_once(ros):
    own, stock, sends = listener(ros, "recompiled"), listener(ros, "stock"), talker(ros, "recompiled")
    sends.do("subscribers 2")
    before = tcp_bytes(own)
    sends.do(f"publish {LARGE} 20 5")
    for receives in (own, stock):
        assert [receives.line() for _ in range(20)] == [image(i + 1) for i in range(20)]
    assert tcp_bytes(own) - before < LARGE, "what is left is between node and master"
    assert own.more(0.2) == stock.more(0.2) == []


def test_a_recompiled_subscriber_of_two_publishers_gets_the_messages_of_both(ros):
    receives = listener(ros, "recompiled")
    for kind in ("stock", "recompiled"):
        sends = talker(ros, kind)
        sends.do("subscribers 1")
        sends.do(f"publish {LARGE} 3 0")
        assert [receives.line() for _ in range(3)] == [image(i + 1) for i in range(3)]
    assert receives.more(0.2) == []


def test_a_recompiled_subscriber_meets_a_publisher_of_batons_api(ros):
    receives, sends = listener(ros, "recompiled"), ros.api_talker()
    sends.do("subscribers 1")
    sends.do(f"publish {LARGE} 3 0")
    assert [receives.line() for _ in range(3)] == [image(i + 1) for i in range(3)]


@pytest.mark.parametrize("publisher, subscriber", PAIRS)
def test_a_message_that_changes_after_it_was_published_arrives_as_it_was(ros, publisher, subscriber):
    receives, sends = listener(ros, subscriber), talker(ros, publisher)
    sends.do("subscribers 1")
    sends.do(f"reuse {LARGE} 20")
    assert [receives.line() for _ in range(20)] == [image(i + 1) for i in range(20)]
    assert receives.end() == 0


@pytest.mark.parametrize("kept", [1, 40, 1000])
def test_a_recompiled_subscriber_may_keep_messages(ros, kept):
    receives, sends = listener(ros, "recompiled", keep=kept), talker(ros, "recompiled")
    sends.do("subscribers 1")
    for number in range(kept + 10):
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


@counted
def test_messages_published_by_pointer_are_neither_serialized_nor_copied(ros):
    receives = start(ros, "recompiled", "pointer_listener", "images")
    sends = start(ros, "recompiled", "pointer_talker", "images")
    sends.do("subscribers 1")
    before, tcp_before = begin_to_count(sends, receives), tcp_bytes(receives)
    sizes = [LARGE, 200_000, 6_220_800] * 5
    for number, size in enumerate(sizes, 2):
        sends.do(f"publish {size} 1")
        assert receives.line() == image(number, size)
    assert counts_since(before, sends, receives) == [(0, 0), (0, 0)]
    assert tcp_bytes(receives) - tcp_before < LARGE, "what is left is between node and master"


@counted
def test_a_copy_that_is_made_constant_is_made_in_shared_memory(ros):
    receives, sends = (
        start(ros, "recompiled", "pointer_listener", "images"),
        start(ros, "recompiled", "pointer_talker", "images"),
    )
    sends.do("subscribers 1")
    before = begin_to_count(sends, receives)
    sends.do(f"publish {LARGE} 4 constant")
    assert [receives.line() for _ in range(4)] == [image(i + 2) for i in range(4)]
    sent, taken = counts_since(before, sends, receives)
    assert sent == (8, 0), "to the stack's message, and into shared memory"
    assert taken == (0, 0)


@counted
def test_a_stock_subscriber_costs_one_serialization_and_no_other_copy(ros):
    own = start(ros, "recompiled", "pointer_listener", "images")
    stock = start(ros, "stock", "pointer_listener", "images")
    sends = start(ros, "recompiled", "pointer_talker", "images")
    sends.do("subscribers 2")
    before = begin_to_count(sends, own, stock)
    sends.do(f"publish {LARGE} 4")
    for receives in (own, stock):
        assert [receives.line() for _ in range(4)] == [image(i + 2) for i in range(4)]
    sent, taken, deserialized = counts_since(before, sends, own, stock)
    assert sent == (4, 4)
    assert taken == (0, 0)
    assert min(deserialized) >= 4, "what is counted happens in stock programs"


def test_ordinary_code_of_many_forms_works_as_with_ros(ros):
    program = ros.run([BUILD / "bin" / "ros1_recompiled_forms"], preload=False)
    lines = []
    while (line := program.line(120)) != "end":
        lines.append(line)
    assert lines and [line for line in lines if not line.endswith(": good")] == []


def test_services_with_messages_inside_answer_alike_between_stock_and_recompiled_programs(ros):
    heard = {}
    for server, client in PAIRS:
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
    reason="needs Debian's nodelets: make setup installs libnodeletlib-dev and libnodeletlib-tools, then make build",
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


def test_every_type_has_the_traits_the_bytes_and_the_text_of_ros(tmp_path):
    subprocess.run(["/usr/bin/python3", HERE / "every_type.py", tmp_path, "1"], capture_output=True, check=True)
    stock, own = (
        subprocess.run([BUILD / "bin" / name, tmp_path], capture_output=True, text=True, check=True).stdout.splitlines()
        for name in ("ros1_types", "ros1_recompiled_types")
    )
    assert len(own) > 20
    assert [line for line in own if " same " not in line] == []
    assert own == stock


with_cv_bridge = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_cv").exists(), reason="needs libcv-bridge-dev: make setup, then make build"
)


def outputs_of_both(program):
    """The lines of a program compiled as it is, and recompiled."""
    return [
        subprocess.run([BUILD / "bin" / name], capture_output=True, text=True, check=True).stdout.splitlines()
        for name in (f"ros1_{program}", f"ros1_recompiled_{program}")
    ]


@with_cv_bridge
def test_every_conversion_of_cv_bridge_has_the_result_or_the_exception_of_the_stock_library():
    stock, own = outputs_of_both("cv")
    assert len(own) > 50_000
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


def shared_names(program, package):
    """What both a recompiled program and the package's library define, or what the program takes from the library."""
    stock = BUILD / "bin" / f"ros1_{program}"
    linked = subprocess.run(["ldd", stock], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in linked.splitlines() if f"lib{package}." in line)

    def names(*arguments):
        lines = subprocess.run(["nm", "-C", *arguments], capture_output=True, text=True, check=True).stdout.splitlines()
        return {line.split(maxsplit=1 if line.startswith(" ") else 2)[-1] for line in lines if f"{package}::" in line}

    own = names(BUILD / "bin" / f"ros1_recompiled_{program}")
    assert any("::baton_recompiled::" in name for name in own)
    return own & names("-D", "--defined-only", library)


@with_cv_bridge
def test_the_stock_cv_bridge_and_a_recompiled_program_share_only_names_without_messages():
    assert {name for name in shared_names("cv", "cv_bridge") if "cv_bridge::Exception" not in name} == {
        "cv_bridge::getCvType(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
        "cv_bridge::rgb_colors::getRGBColor(int)",
    }


with_image_geometry = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_geometry").exists(), reason="needs libimage-geometry-dev: make setup, then make build"
)


@with_image_geometry
def test_every_camera_model_says_what_the_stock_library_says():
    stock, own = outputs_of_both("geometry")
    assert len(own) > 150_000
    assert [pair for pair in itertools.zip_longest(stock, own) if pair[0] != pair[1]] == []


@with_image_geometry
def test_the_stock_image_geometry_and_a_recompiled_program_share_only_the_exception():
    assert [
        name for name in shared_names("geometry", "image_geometry") if "image_geometry::Exception" not in name
    ] == []


FORMS = ["message", "cvimage", "pointer", "const_pointer"]


def cv_listener(ros, kind, form="message", keep=0):
    return start(ros, kind, "cv_listener", "images", form, keep)


def cv_talker(ros, kind, form="message"):
    return start(ros, kind, "cv_talker", "images", form)


with_cv_programs = pytest.mark.skipif(
    not (BUILD / "bin" / "ros1_cv_talker").exists(),
    reason="needs libcv-bridge-dev (make setup, then make build), and a build without a sanitizer",
)


@with_cv_programs
@pytest.mark.parametrize("publisher, subscriber", PAIRS)
@pytest.mark.parametrize("form", FORMS)
def test_images_of_opencv_go_from_every_program_to_every_subscriber(ros, publisher, subscriber, form):
    shares, reads = cv_listener(ros, subscriber), cv_listener(ros, subscriber, "cvimage")
    sends = cv_talker(ros, publisher, form)
    sends.do("subscribers 2")
    for rows, columns in ((480, 640), (1, 3)):
        sends.do(f"publish {rows} {columns} 3")
    expected = [f"{i + 1} {'640x480' if i < 3 else '3x1'} good" for i in range(6)]
    assert [shares.line() for _ in expected] == [f"{line} shared" for line in expected]
    assert [reads.line() for _ in expected] == expected
    assert shares.more(0.2) == reads.more(0.2) == []


@with_cv_programs
@pytest.mark.parametrize("form", FORMS)
def test_an_image_of_opencv_is_copied_once_into_its_message_and_nowhere_else(ros, form):
    receives, sends = cv_listener(ros, "recompiled"), cv_talker(ros, "recompiled", form)
    sends.do("subscribers 1")
    sends.do("publish 1 10 1")
    assert receives.line() == "1 10x1 good shared"
    before = [counts(program) for program in (sends, receives)]
    sends.do("publish 1000 1000 5")
    assert [receives.line() for _ in range(5)] == [f"{i + 2} 1000x1000 good shared" for i in range(5)]
    assert counts_since(before, sends, receives) == [(5, 0), (0, 0)]


@with_cv_programs
@pytest.mark.parametrize("kept", [1, 10, 40])
def test_a_shared_image_keeps_the_pixels_of_its_message(ros, kept):
    receives, sends = cv_listener(ros, "recompiled", keep=kept), cv_talker(ros, "recompiled")
    sends.do("subscribers 1")
    for number in range(50):
        sends.do("publish 100 200 1")
        assert receives.line() == f"{number + 1} 200x100 good shared"
    assert receives.end() == 0


def test_a_library_with_messages_of_ros_inside_fails_the_build_with_its_names(tmp_path):
    build = configure(HERE / "stock_library", tmp_path)
    done = subprocess.run(["cmake", "--build", build, "--", "-k", "0"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    lines = done.stdout.splitlines()
    undefined = {line.partition("undefined reference to ")[2] for line in lines if "undefined reference" in line}
    assert undefined == {
        "`lamp::show(sensor_msgs::Image_<baton::ros1::recompiled::Allocator[abi:baton]> const&)'",
        "`lamp::picture[abi:baton]()'",
    }
    found = re.findall(
        r"lamp\.hpp:\d+: error: (\S+) of (\S+) has Baton's messages, and (\S+) was compiled", done.stdout
    )
    names = ("Lamp", "Lit", "Viewer", "first", "lit()")
    assert sorted(found) == sorted(
        (f"lamp::{name}", program, library)
        for name in names
        for program, library in (("hidden", "liblamp.so"), ("inside", "liblamp_inside.a"))
    ), "not a word of bulb, or of lamp::Bulb"
    assert not (build / "left_out").exists()
    assert "  its member image_ has sensor_msgs::Image inside; hidden and the library share" in lines
    assert subprocess.run([build / "bulb"], check=False).returncode == 0


def libraries_of(program):
    lines = subprocess.run(
        ["objdump", "-p", BUILD / "bin" / program], capture_output=True, text=True, check=True
    ).stdout
    return frozenset(re.findall(r"NEEDED +(\S+)", lines))


def test_no_recompiled_program_of_this_tree_shares_a_class_with_messages_with_a_stock_library():
    pytest.importorskip("clang.cindex", reason="no libclang; `make test` installs it")

    def check(program):
        command = [sys.executable, "-m", "baton_converter", "check", BUILD / "bin" / program, "-p", BUILD]
        words = {**os.environ, "PYTHONPATH": str(ROOT / "converter")}
        return subprocess.run([*command, f"--target={program}"], env=words, capture_output=True, text=True, check=False)

    listener = "ros1_recompiled_listener"
    programs = sorted(path.name for path in (BUILD / "bin").glob("ros1_recompiled_*"))
    assert listener in programs
    more = [program for program in programs if libraries_of(program) - libraries_of(listener)]
    with ThreadPoolExecutor(2) as pool:
        said = dict(zip([listener, *more], pool.map(check, [listener, *more]), strict=True))
    assert {program: done.stderr for program, done in said.items() if done.returncode} == {}


# As catkin makes it: policies of CMake 3.0.2, ROS's headers by include_directories(), and a message of its own without a header yet.
CATKIN_PROJECT = """\
cmake_minimum_required(VERSION 3.0.2)
project(robot CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
baton_ros1_messages(messages FILES msg/Wheel.msg srv/Turn.srv PACKAGES std_msgs)
include_directories(${CMAKE_SOURCE_DIR}/ros)
add_library(odometry STATIC odometry.cpp)
target_link_libraries(odometry PRIVATE messages)
add_library(stock STATIC stock.cpp)
target_link_libraries(stock PRIVATE odometry)
add_executable(robot robot.cpp)
target_link_libraries(robot messages stock odometry ${roscpp_LIBRARIES})
"""
WHEEL = """\
#include <robot/Turn.h>
#include <robot/Wheel.h>
#include <type_traits>
static_assert(!std::is_same<decltype(robot::Wheel::name), std::string>::value, "recompiled");
"""


def test_a_package_of_catkin_with_its_own_messages_is_recompiled(tmp_path):
    headers = next(f for f in map(Path, ("/opt/ros/noetic/include", "/usr/include")) if (f / "ros/ros.h").exists())
    project = tmp_path / "project"
    for name, text in {
        "CMakeLists.txt": CATKIN_PROJECT,
        "package.xml": "<package><name>robot</name><buildtool_depend>catkin</buildtool_depend></package>\n",
        "msg/Wheel.msg": "Header header\nstring name\n",
        "srv/Turn.srv": "Wheel wheel\n---\nbool done\n",
        "odometry.cpp": WHEEL,
        "stock.cpp": "#include <std_msgs/String.h>\nstd_msgs::String_<std::allocator<void>> of_ros;\n",
        "robot.cpp": f"#include <ros/ros.h>\n{WHEEL}int main() {{ return robot::Wheel().name.size(); }}\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (project / "ros").mkdir()
    for package in ("ros", "std_msgs"):
        (project / "ros" / package).symlink_to(headers / package)
    build = configure(project, tmp_path)
    built = subprocess.run(["cmake", "--build", build], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout


def compile_errors(tmp_path, source, *before):
    """The compiler's errors for a source file of a recompiled program; `before` are earlier include directories."""
    (tmp_path / "program.cpp").write_text(source)
    folders = [
        *before,
        BUILD / "ros1/tests/ros1_recompiled_messages/include",
        ROOT / "ros1/recompiled/shadows",
        *(
            ROOT / room / "include"
            for room in ("ros1/recompiled", "ros1/api", "node", "transport", "message", "memory", "os")
        ),
    ]
    command = [shutil.which("c++"), "-std=c++17", "-fsyntax-only", *(f"-I{folder}" for folder in folders)]
    command += ["-include", "baton/ros1/recompiled/first.hpp", "program.cpp"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stderr


MESSAGE_OF_A_FURTHER_PACKAGE = """\
#include <std_msgs/Header.h>
template <class ContainerAllocator>
struct Pose_ { std_msgs::Header_<ContainerAllocator> header; };  // as ROS's generator writes it
Pose_<std::allocator<void>> pose;
"""


@pytest.mark.parametrize(
    "source, words",
    [
        ("#include <image_transport/publisher_plugin.h>\n", "not there for recompiled programs"),
        (
            MESSAGE_OF_A_FURTHER_PACKAGE,
            "add the package whose header contains std_msgs::Header_ to baton_ros1_messages",
        ),
        (
            "#include <std_msgs/String.h>\nstd_msgs::String_<std::allocator<void>> text;\n",
            "in your own source write std_msgs::String",
        ),
    ],
    ids=[
        "a plugin of image_transport",
        "a message of another package that contains one",
        "a message with the allocator of ROS",
    ],
)
def test_what_is_not_there_yet_does_not_compile(tmp_path, source, words):
    assert words in " ".join(compile_errors(tmp_path, source).split())


def test_headers_of_ros_before_those_of_baton_do_not_compile(tmp_path):
    stock = tmp_path / "stock"
    (stock / "ros").mkdir(parents=True)
    (stock / "ros" / "message_forward.h").write_text(Path("/usr/include/ros/message_forward.h").read_text())
    assert "the headers of ROS come before those of Baton" in compile_errors(tmp_path, "", stock)


PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(noetic CXX)
find_package(roscpp REQUIRED)
find_package(baton 0.1 REQUIRED COMPONENTS ros1)
baton_ros1_messages(messages PACKAGES sensor_msgs std_msgs)
add_executable(listener {example}/listener.cpp)
target_include_directories(listener PRIVATE {noetic} ${{roscpp_INCLUDE_DIRS}})
target_include_directories(listener BEFORE PRIVATE $<TARGET_PROPERTY:messages,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(listener PRIVATE messages ${{roscpp_LIBRARIES}})
"""


def test_headers_of_an_installation_come_before_those_of_a_ros_outside_of_usr(tmp_path):
    noetic, project = tmp_path / "noetic/include", tmp_path / "project"
    for folder in (noetic, project):
        folder.mkdir(parents=True)
    for name in ("ros", "sensor_msgs", "std_msgs"):
        (noetic / name).symlink_to(Path("/usr/include") / name)
    text = PROJECT.format(example=ROOT / "examples/ros1_recompiled", noetic=noetic)
    (project / "CMakeLists.txt").write_text(text)
    build = configure(project, tmp_path)
    run("cmake", "--build", build, "--target", "listener")
    image = "sensor_msgs::Image_<baton::ros1::recompiled::Allocator[abi:baton]>"
    assert image in run("nm", "-C", build / "listener")


def test_the_example_builds_outside_of_the_tree_and_talks_to_stock_programs(ros, tmp_path):
    build = build_example("ros1_recompiled", tmp_path)
    own, stock = ros.run([build / "listener"], preload=False), listener(ros, "stock", topic="image")
    ros.run([build / "talker"], preload=False)
    assert own.line() == "640x480 921600 bytes"
    assert stock.line().split()[2] == "921600"
    assert (build / "recompiled_messages/include/sensor_msgs/Image.h").is_file()
