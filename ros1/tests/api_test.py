# SPDX-License-Identifier: Apache-2.0
"""baton::ros1 beside stock roscpp programs: which messages arrive, by which way, and none of them twice. In both modes."""

import os
import signal
import subprocess
import sys
import xmlrpc.client

import pytest
from ros1_network import BUILD, LARGE, ROOT, SMALL, build_example, image
from support.waiting import until


@pytest.fixture
def ros(ros):
    """Both ends of each test have one mode: lotros, or what the test asks for."""
    ros.environment["BATON_ROS1_MODE"] = "lotros"
    return ros


def each_mode(ros):
    """The modes, one after the other; the programs of one end before the next."""
    for mode in ros.each(["lotros", "tzc"]):
        ros.environment["BATON_ROS1_MODE"] = mode
        yield mode


def serialized_to(talker):
    """How many subscribers the talker serializes for."""
    talker.tell("serialized")
    word, count = talker.line().split()
    assert word == "serialized"
    talker.line()
    return int(count)


def meet(talker, listeners, serialized=0):
    """Waits until the talker serves all listeners, so many of them with serialized messages."""
    talker.do(f"subscribers {listeners}")
    until(lambda: serialized_to(talker) == serialized)
    talker.do(f"subscribers {listeners}")


def test_links_to_stock_publishers_have_the_hints_of_the_subscription(ros):
    hints = {"TCPROS": {}, "UDPROS": {"LISTENER_UDP": "1"}}
    talker, listeners = ros.talker(False), {ros.api_listener(**settings): word for word, settings in hints.items()}
    talker.do("subscribers 2")
    talker.do(f"publish {SMALL} 5 5")
    for listener in listeners:
        assert [listener.line() for _ in range(5)] == [image(i + 1, SMALL) for i in range(5)]
    found = {}
    for uri in ros.nodes().values():
        node = xmlrpc.client.ServerProxy(uri)
        links = [link for link in node.getBusInfo("/test")[2] if link[2] == "i" and link[4] == ros.resolve("images")]
        found[node.getPid("/test")[2]] = [link[3] for link in links]
    assert {word: found[listener.process.pid] for listener, word in listeners.items()} == {
        word: [word] for word in hints
    }


def test_nothing_is_serialized_after_the_last_stock_subscriber_has_gone(ros):
    for _ in each_mode(ros):
        own, stock, talker = ros.api_listener(), ros.listener(False), ros.api_talker()
        meet(talker, 2, serialized=1)
        stock.end()
        meet(talker, 1)
        talker.do(f"publish {LARGE} 3 0")
        assert [own.line() for _ in range(3)] == [image(i + 1) for i in range(3)]


def test_spin_once_runs_all_messages_that_wait(ros):
    for _ in each_mode(ros):
        once, talker = ros.run([BUILD / "bin" / "ros1_api_ends", "once", "images"], preload=False), ros.api_talker()
        meet(talker, 1)
        talker.do(f"publish {SMALL} 10 0")
        counts = []
        while sum(counts) < 10:  # a thread of the subscription, or of roscpp, has to see the messages first
            once.tell("once")
            counts += [count] if (count := int(once.line())) else []
        assert sum(counts) == 10
        if ros.environment["BATON_ROS1_MODE"] == "lotros":  # handles come one after another, as messages of TCPROS do
            assert counts == [10]


def test_ends_of_one_process_share_a_message(ros):
    for _ in each_mode(ros):
        process = ros.run([BUILD / "bin" / "ros1_api_ends", "process", "20"], preload=False)
        lines = [process.line() for _ in range(20)]
        # The first ones may be copied: while the two ends have not met in Baton.
        assert lines == sorted(lines)
        assert lines[-10:] == ["shared"] * 10
        assert int(process.line().split()[1]) < LARGE, "the process's TCP is for the master"


def test_callback_queues_and_queue_lengths_are_those_of_each_subscription(ros):
    for _ in each_mode(ros):
        queues, talker = ros.run([BUILD / "bin" / "ros1_api_ends", "queues", "images"], preload=False), ros.api_talker()
        assert queues.line() == "ready"
        meet(talker, 1 if ros.environment["BATON_ROS1_MODE"] == "tzc" else 3)  # processes by handles, or subscriptions
        talker.do(f"publish {SMALL} 50 1")
        lines = [queues.line() for _ in range(100)]
        for name in ("fast", "other"):
            assert [line for line in lines if line.startswith(name)] == [f"{name} {i}" for i in range(1, 51)]
        assert "overlap" not in lines, "callbacks of one subscription do not run at the same time"
        queues.tell("slow")
        slow = [queues.line() for _ in range(3)]
        assert slow == ["slow 49", "slow 50", "done slow"], "nobody ran its queue, which has two places"


@pytest.mark.own_master
def test_names_are_remapped_and_resolved_as_roscpp_does(ros):
    def run(*words):
        return ros.run([BUILD / "bin" / "ros1_api_ends", *words], preload=False)

    listener = run("listener", "images", 100, 0, 0, "images:=/robot/camera/images", "__ns:=/other")
    talker = run("talker", "camera/images", 100, "volatile", "__ns:=/robot")
    stock = ros.listener(False, topic="/robot/camera/images")
    meet(talker, 2, serialized=1)
    talker.do(f"publish {LARGE} 5 0")
    assert [listener.line() for _ in range(5)] == [stock.line() for _ in range(5)] == [image(i + 1) for i in range(5)]


@pytest.mark.own_master
def test_simulated_time_that_stands_still_stops_no_message(ros):
    master = xmlrpc.client.ServerProxy(ros.environment["ROS_MASTER_URI"])
    assert master.setParam("/test", "/use_sim_time", True)[0] == 1
    listener, talker = ros.api_listener(), ros.api_talker()
    meet(talker, 1)
    talker.do(f"publish {LARGE} 10 0")
    assert [listener.line() for _ in range(10)] == [image(i + 1) for i in range(10)]


def test_a_publisher_that_works_only_for_subscribers_sees_them_come_and_go(ros):
    # Each two of the three factors meet.
    for mode, own, killed in ros.each(
        [("lotros", False, False), ("lotros", True, True), ("tzc", False, True), ("tzc", True, False)]
    ):
        ros.environment["BATON_ROS1_MODE"] = mode
        watch, talker = ros.run([BUILD / "bin" / "ros1_api_ends", "watch"], preload=False), ros.api_talker(topic="in")

        def wait_for(count, watch=watch):
            while watch.line() != f"subscribers {count}":
                pass

        for number in (1, 2):
            listener = ros.api_listener(topic="out") if own else ros.listener(False, topic="out")
            wait_for(1)
            meet(talker, 1)
            talker.do(f"publish {LARGE} 1 0")
            assert listener.line().split()[0] == str(number)
            if killed:
                listener.process.kill()
            else:
                assert listener.end() == 0
            wait_for(0)
            talker.do("subscribers 0")
        watch.process.stdin.close()
        assert watch.line() == "ended"


def test_a_callback_that_keeps_too_many_messages_is_a_warning(ros):
    for _ in each_mode(ros):
        listener, talker = ros.api_listener(keep=100), ros.api_talker()
        meet(talker, 1)
        talker.do(f"publish {SMALL} 100 40")
        assert len(listener.more(0.5)) == 8
        until(lambda errors=listener.errors: any("as many as its QoS 'held' allows" in line for line in errors))


def test_the_example_builds_outside_of_the_tree_and_talks_to_stock_programs(ros, tmp_path):
    build = build_example("ros1", tmp_path)
    viewer, camera = ros.run([build / "viewer"], preload=False), ros.run([build / "camera"], preload=False)
    assert viewer.line() == "640x480 921600 bytes"
    stock = ros.listener(False, topic="image")
    assert stock.line().split()[2] == "921600"
    camera.process.send_signal(signal.SIGINT)
    assert camera.process.wait(60) == 0


DIFFERENT = [
    (("uint32 height", "uint64 height"), "sensor_msgs/Image.height"),
    (("uint32 height\nuint32 width", "uint32 width\nuint32 height"), "sensor_msgs/Image: the order of its fields"),
    (("", ""), None),
]


def test_a_type_that_differs_from_the_stock_type_does_not_compile(tmp_path):
    package = tmp_path / "src" / "sensor_msgs"
    (package / "msg").mkdir(parents=True)
    fields = "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n"
    (package / "package.xml").write_text("<package><name>sensor_msgs</name></package>\n")
    generate = [sys.executable, "-m", "baton_generator", "--output", tmp_path, "--ros1", "--search", tmp_path / "src"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "generator")}
    program = tmp_path / "image.cpp"
    program.write_text("#include <baton/ros1/sensor_msgs/image.hpp>\n")
    rooms = ("core/os", "core/memory", "core/message", "core/transport", "core/node", "ros1/api")
    include = [f"-I{ROOT / room / 'include'}" for room in rooms]
    compiler = ["c++", "-std=c++17", "-fsyntax-only", *include, f"-I{tmp_path}", program]
    for change, complaint in DIFFERENT:
        (package / "msg" / "Image.msg").write_text(fields.replace(*change))
        subprocess.run([*generate, "--type", "sensor_msgs/Image"], env=environment, check=True)
        done = subprocess.run([str(word) for word in compiler], capture_output=True, text=True)
        assert (done.returncode == 0) == (complaint is None), done.stderr
        assert (complaint or "") in done.stderr


HABITS = [
    (
        'nh.advertise<Image>("image", 1);',
        "a type of Baton: write baton::ros1::advertise<T>(node, topic, queue_size)",
    ),
    ('nh.subscribe("image", 1, on_image);', "baton::ros1::subscribe<T>(node, topic, queue_size, callback)"),
    (
        'baton::ros1::advertise<Image>(nh, "image", 1, true);',
        "options.latch = true; and options as the last argument",
    ),
    (
        "auto loan = publisher.loan(); publisher.publish(loan);",
        "a loan is handed over: write publish(std::move(loan))",
    ),
    (
        'baton::ros1::subscribe(nh, "image", 1, [](const auto&) {});',
        "write subscribe<T>(node, topic, queue_size, callback)",
    ),
]


def test_habits_of_roscpp_are_refused_with_a_sentence(tmp_path):
    functions = "".join(
        f"void f{i}(ros::NodeHandle& nh, baton::ros1::Publisher<Image>& publisher) {{\n{line} }}\n"
        for i, (line, _) in enumerate(HABITS)
    )
    program = tmp_path / "image.cpp"
    program.write_text(
        "#include <ros/ros.h>\n#include <baton/ros1/ros1.hpp>\n#include <baton/ros1/sensor_msgs/image.hpp>\n"
        "using baton::msg::sensor_msgs::Image;\nvoid on_image(const Image::ConstPtr&);\n" + functions
    )
    rooms = ("core/os", "core/memory", "core/message", "core/transport", "core/node", "ros1/api")
    include = [f"-I{ROOT / room / 'include'}" for room in rooms]
    messages = BUILD / "ros1/tests/ros1_api_messages/include"
    compiler = ["c++", "-std=c++17", "-fsyntax-only", *include, f"-I{messages}", program]
    done = subprocess.run([str(word) for word in compiler], capture_output=True, text=True)
    assert done.returncode != 0
    for line, sentence in HABITS:
        assert sentence in done.stderr, line
