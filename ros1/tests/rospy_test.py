# SPDX-License-Identifier: Apache-2.0
"""baton.rospy's publishers and subscriptions beside stock programs, baton::ros1 and Baton's nodes."""

import signal
import sys
import time
from pathlib import Path

import pytest
from ros1_network import BUILD, check_latecomers, tcp_bytes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

LARGE = 1_000_000
SMALL = 1_000
PYTHON = "/usr/bin/python3"
PROGRAMS = Path(__file__).parent / "programs"


def image(number, size=LARGE):
    """What a listener prints for image `number` of rospy, which numbers its messages from 1."""
    return f"{number} {number} {size} good"


def from_roscpp(number, size=LARGE):
    return f"{number} {number - 1} {size} good"


@pytest.fixture(autouse=True)
def rospy_here(ros):
    probe = (
        f"import rospy, baton.rospy, sensor_msgs.msg, sys; assert sys.version_info[:2] == {tuple(sys.version_info[:2])}"
    )
    ros.environment["PYTHONPATH"] = str(BUILD / "python")
    program = ros.run([PYTHON, "-c", probe], preload=False)
    if program.process.wait(60):
        pytest.skip(f"needs rospy for this Python: apt-get install python3-rospy python3-sensor-msgs; {program.errors}")


def talker(ros, queue_size=100, latch=False, topic="images"):
    return ros.run([PYTHON, PROGRAMS / "rospy_talker.py", topic, queue_size, "latch" if latch else "volatile"], False)


def listener(ros, queue_size=100, keep=0, pause_ms=0, topic="images"):
    return ros.run([PYTHON, PROGRAMS / "rospy_listener.py", topic, queue_size, keep, pause_ms], False)


def serialized_to(publisher):
    publisher.tell("serialized")
    word, count = publisher.line().split()
    assert word == "serialized"
    publisher.line()
    return int(count)


def meet(publisher, subscribers, serialized=0):
    """Waits until the publisher serves all subscribers, so many of them with serialized messages."""
    publisher.do(f"subscribers {subscribers}")
    deadline = time.monotonic() + 60
    while serialized_to(publisher) != serialized:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    publisher.do(f"subscribers {subscribers}")


def shared(subscriber):
    subscriber.tell("shared")
    return subscriber.line()


@pytest.mark.parametrize("publisher", ["rospy", "lotros", "tzc"])
def test_messages_between_types_of_baton_stay_in_shared_memory(ros, publisher):
    subscriber = listener(ros)
    sender = talker(ros) if publisher == "rospy" else ros.api_talker(BATON_ROS1_MODE=publisher)
    meet(sender, 1)
    sizes = [LARGE, SMALL, 0, 6_220_800] * 3
    for size in sizes:
        sender.do(f"publish {size} 1 0")
    line_of = image if publisher == "rospy" else from_roscpp
    assert [subscriber.line() for _ in sizes] == [line_of(i + 1, size) for i, size in enumerate(sizes)]
    assert shared(subscriber) == f"shared {len(sizes)}"
    assert subscriber.more(0.2) == []


def test_a_subscription_of_baton_in_roscpp_hears_rospy_without_a_copy(ros):
    subscriber, sender = ros.api_listener(), talker(ros)
    meet(sender, 1)
    sender.do(f"publish {LARGE} 5 0")
    assert [subscriber.line() for _ in range(5)] == [image(i + 1) for i in range(5)]


def test_a_stock_subscriber_gets_every_message_beside_one_of_baton(ros):
    own, stock, sender = listener(ros), ros.listener(False), talker(ros)
    meet(sender, 2, serialized=1)
    sender.do(f"publish {LARGE} 20 10")
    for subscriber in (own, stock):
        assert [subscriber.line() for _ in range(20)] == [image(i + 1) for i in range(20)]
    assert shared(own) == "shared 20"
    assert own.more(0.2) == stock.more(0.2) == []
    stock.end()
    meet(sender, 1)


@pytest.mark.parametrize("preload", [False, True], ids=["stock", "preloaded"])
def test_a_subscription_of_baton_gets_every_message_of_a_stock_publisher(ros, preload):
    subscriber, sender = listener(ros), ros.talker(preload)
    sender.do("subscribers 1")
    for size in (LARGE, SMALL, 0):
        sender.do(f"publish {size} 5 5")
    sizes = [LARGE] * 5 + [SMALL] * 5 + [0] * 5
    assert [subscriber.line() for _ in sizes] == [from_roscpp(i + 1, size) for i, size in enumerate(sizes)]
    assert shared(subscriber) == "shared 0"


@pytest.mark.parametrize("late", ["rospy", "roscpp", "stock"])
def test_a_late_subscriber_gets_the_latched_message_once(ros, late):
    make = {
        "rospy": lambda: listener(ros),
        "roscpp": ros.api_listener,
        "stock": lambda: ros.listener(False),
    }[late]
    sender = talker(ros, latch=True)
    sender.do(f"publish {LARGE} 3 0")
    first = make()
    assert first.line() == image(3)
    second = make()
    assert second.line() == image(3)
    assert first.more(0.3) == second.more(0.3) == []
    meet(sender, 2, serialized=2 if late == "stock" else 0)
    sender.do(f"publish {LARGE} 1 0")
    assert first.line() == second.line() == image(4)
    assert first.more(0.3) == second.more(0.3) == []


def test_messages_that_callbacks_keep_stay_as_they_are(ros):
    subscriber, sender = listener(ros, keep=8), talker(ros)
    meet(sender, 1)
    sender.do(f"publish {LARGE} 8 1")
    assert [subscriber.line() for _ in range(8)] == [image(i + 1) for i in range(8)]
    sender.do(f"publish {LARGE} 20 1")  # waits, and the oldest give way
    assert subscriber.end() == 0, "a kept message has changed"


def test_a_slow_callback_loses_the_oldest_messages_of_its_queue(ros):
    subscriber, sender = listener(ros, queue_size=2), talker(ros)
    meet(sender, 1)
    subscriber.do("hold")
    sender.do(f"publish {SMALL} 1 0")
    assert subscriber.line() == image(1, SMALL)
    sender.do(f"publish {SMALL} 20 0")
    subscriber.tell("release")
    assert [subscriber.line(), subscriber.line()] == [image(20, SMALL), image(21, SMALL)]
    assert subscriber.more(0.5) == []


@pytest.mark.parametrize("victim", ["listener", "talker"])
def test_a_killed_end_leaves_the_other_to_go_on(ros, victim):
    subscriber, sender = listener(ros), talker(ros)
    meet(sender, 1)
    sender.do(f"publish {LARGE} 1 0")
    assert subscriber.line() == image(1)
    program = subscriber if victim == "listener" else sender
    program.process.send_signal(signal.SIGKILL)
    program.process.wait()
    if victim == "listener":
        subscriber = listener(ros)
    else:
        sender = talker(ros)
    meet(sender, 1)
    sender.do(f"publish {LARGE} 1 0")
    assert subscriber.line() == image(2 if victim == "listener" else 1)


def test_a_stock_subscription_in_a_process_that_baton_serves_gets_messages_too(ros):
    subscriber, sender = listener(ros), talker(ros)
    meet(sender, 1)
    sender.do(f"publish {SMALL} 1 0")
    assert subscriber.line() == image(1, SMALL)
    subscriber.tell("stock")
    published, lines = 1, []
    while not any(line.startswith("stock") for line in lines):
        assert published < 2000
        published += 1
        sender.do(f"publish {SMALL} 1 20")
        lines += subscriber.more(0.05)
    begin = int(next(line for line in lines if line.startswith("stock")).split()[1])
    sender.do(f"publish {SMALL} 10 5")
    while not {image(published + 10, SMALL), f"stock {published + 10}"} <= set(lines):
        lines.append(subscriber.line())
    lines += subscriber.more(0.3)
    own = [line for line in lines if not line.startswith("stock")]
    assert own == [image(i, SMALL) for i in range(2, published + 11)], "none is lost or doubled"
    stock = [line for line in lines if line.startswith("stock")]
    assert stock == [f"stock {i}" for i in range(begin, published + 11)]


def test_an_unregistered_subscription_is_called_no_more_and_no_longer_counted(ros):
    subscriber, sender = listener(ros), talker(ros)
    meet(sender, 1)
    subscriber.tell("unregister")
    assert subscriber.line() == "unregistered"
    sender.do(f"publish {SMALL} 3 0")
    assert subscriber.more(0.3) == []


def plain(ros, accelerated, *arguments, **settings):
    """An unchanged program of rospy."""
    before = ["-m", "baton_accelerate", "rospy"] if accelerated else []
    return ros.run([PYTHON, *before, PROGRAMS / "rospy_plain.py", *arguments], False, **settings)


def wait_for_shared_memory(sender, subscribers, sizes=SMALL):
    """Publishes until a message reaches all subscribers by Baton; how many it took."""
    sender.do(f"connections {len(subscribers)}")
    before = [tcp_bytes(each) for each in subscribers]
    for number in range(1, 2000):
        sender.do(f"publish {sizes} 1 20")
        assert [each.line() for each in subscribers] == [image(number, sizes)] * len(subscribers)
        after = [tcp_bytes(each) for each in subscribers]
        if after == before:
            return number
        before = after
    raise AssertionError("all messages went by TCP")


def test_unchanged_programs_hand_messages_over_in_shared_memory(ros):
    subscribers = [plain(ros, True, "listener", "images") for _ in range(2)]
    sender = plain(ros, True, "talker", "images", "volatile")
    number = wait_for_shared_memory(sender, subscribers)
    before = [tcp_bytes(each) for each in subscribers]
    sizes = [LARGE, SMALL, 0] * 3
    for size in sizes:
        sender.do(f"publish {size} 1 0")
    for each in subscribers:
        assert [each.line() for _ in sizes] == [image(number + i + 1, size) for i, size in enumerate(sizes)]
    assert [tcp_bytes(each) for each in subscribers] == before
    assert all(each.more(0.2) == [] for each in subscribers)


@pytest.mark.parametrize(("faster", "other"), [(True, False), (False, True)], ids=["talker", "listener"])
def test_an_accelerated_program_and_a_stock_one_understand_each_other(ros, faster, other):
    subscriber = plain(ros, other, "listener", "images")
    sender = plain(ros, faster, "talker", "images", "volatile")
    sender.do("connections 1")
    sender.do(f"publish {LARGE} 5 5")
    assert [subscriber.line() for _ in range(5)] == [image(i + 1) for i in range(5)]
    assert tcp_bytes(subscriber) > 5 * LARGE


def test_an_accelerated_publisher_serves_stock_and_own_subscribers_at_once(ros):
    own, stock, views = plain(ros, True, "listener", "images"), ros.listener(False), listener(ros)
    sender = plain(ros, True, "talker", "images", "volatile")
    sender.do("connections 3")
    for number in range(1, 2000):
        sender.do(f"publish {LARGE} 1 20")
        assert [each.line() for each in (own, stock, views)] == [image(number)] * 3
        if (before := shared(views)) != "shared 0":
            break
    sender.do(f"publish {LARGE} 10 20")
    for each in (own, stock, views):
        assert [each.line() for _ in range(10)] == [image(number + i + 1) for i in range(10)]
        assert each.more(0.2) == []
    assert int(shared(views).split()[1]) == int(before.split()[1]) + 10


HUGE = 3_000_000
# No such message finds room in so much memory.
SHORT = {"BATON_PROCESS_MEMORY_LIMIT": "2M"}


@pytest.mark.parametrize("mode", ["lotros", "tzc"])
def test_a_message_that_baton_cannot_carry_reaches_everybody_by_tcpros_in_its_place(ros, mode):
    own, views, stock = plain(ros, True, "listener", "images"), listener(ros), ros.listener(False)
    roscpp = ros.api_listener(BATON_ROS1_MODE=mode)
    everybody = own, views, stock, roscpp
    sender = plain(ros, True, "talker", "images", "volatile", **SHORT)
    sender.do("connections 4")
    for number in range(1, 2000):
        sender.do(f"publish {SMALL} 1 20")
        assert [each.line() for each in everybody] == [image(number, SMALL)] * 4
        if shared(views) != "shared 0":
            break
    sizes = [SMALL, HUGE, SMALL, SMALL, HUGE, HUGE, SMALL, 0]
    for first in (number + 1, number + 1 + len(sizes)):
        for size in sizes:
            sender.do(f"publish {size} 1 0")
        for each in everybody:
            assert [each.line() for _ in sizes] == [image(first + i, size) for i, size in enumerate(sizes)]
    for each in everybody:
        assert each.more(0.2) == []
    assert any("goes by TCPROS" in line for line in sender.errors)


def test_a_latched_message_that_baton_cannot_carry_reaches_late_subscribers_once(ros):
    sender = plain(ros, True, "talker", "images", "latch", **SHORT)
    first = plain(ros, True, "listener", "images")
    sender.do("connections 1")
    sender.do(f"publish {SMALL} 1 0")
    assert first.line() == image(1, SMALL)
    sender.do(f"publish {HUGE} 1 0")
    assert first.line() == image(2, HUGE)
    for late in (plain(ros, True, "listener", "images"), ros.listener(False), ros.api_listener()):
        assert late.line() == image(2, HUGE)
        assert late.more(0.3) == []
    assert first.more(0.1) == []


@pytest.mark.parametrize("mode", ["lotros", "tzc"])
def test_an_accelerated_subscriber_hears_a_publisher_of_roscpp_with_types_of_baton(ros, mode):
    subscriber, sender = plain(ros, True, "listener", "images"), ros.api_talker(BATON_ROS1_MODE=mode)
    meet(sender, 1)
    before = tcp_bytes(subscriber)
    sender.do(f"publish {LARGE} 5 5")
    assert [subscriber.line() for _ in range(5)] == [from_roscpp(i + 1) for i in range(5)]
    assert tcp_bytes(subscriber) - before < LARGE, "what is left are headers of connections"


@pytest.mark.parametrize("late", ["accelerated", "stock"])
def test_a_late_subscriber_of_an_unchanged_program_gets_the_latched_message_once(ros, late):
    sender = plain(ros, True, "talker", "images", "latch")
    sender.do(f"publish {LARGE} 3 0")
    first = plain(ros, late == "accelerated", "listener", "images")
    assert first.line() == image(3)
    second = plain(ros, late == "accelerated", "listener", "images")
    assert second.line() == image(3)
    assert first.more(0.3) == second.more(0.3) == []


def test_baton_ros1_0_leaves_unchanged_programs_with_tcp(ros):
    subscriber = plain(ros, True, "listener", "images", BATON_ROS1="0")
    sender = plain(ros, True, "talker", "images", "volatile")
    sender.do("connections 1")
    sender.do(f"publish {LARGE} 5 20")
    assert [subscriber.line() for _ in range(5)] == [image(i + 1) for i in range(5)]
    assert tcp_bytes(subscriber) > 5 * LARGE


PROBE = """
import sys
import baton, baton.rospy, rospy, std_msgs.msg
rospy.init_node("probe", disable_signals=True)
{body}
"""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("baton.rospy.create_publisher('a', 5)", "5 is no message type"),
        (
            "baton.rospy.create_publisher('a', baton.message_from_text('std_msgs/String', 'int32 data'))",
            "the fields of this class of baton.msg are not those of ROS 1's",
        ),
        ("baton.rospy.create_publisher('a', 'nobody_msgs/Nothing')", "rospy has no class of nobody_msgs/Nothing"),
        ("baton.rospy.create_subscription('a', std_msgs.msg.String, 10)", "10 cannot be"),
        (
            "baton.rospy.create_publisher('a', std_msgs.msg.String, queue_size='b')",
            "queue_size is a number of messages",
        ),
    ],
)
def test_what_is_wrong_is_named(ros, body, words):
    program = ros.run([PYTHON, "-c", PROBE.format(body=body)], False)
    assert program.status() != 0
    assert any(words in line for line in program.more(0.1) + program.errors), program.errors


LATECOMERS = {
    "rospy": [PYTHON, PROGRAMS / "rospy_latecomers.py"],
    "recompiled": [BUILD / "bin" / "ros1_recompiled_latecomers"],
    "stock": [BUILD / "bin" / "ros1_latecomers"],
}


@pytest.mark.parametrize(
    "publisher, subscriber", [("rospy", "rospy"), ("rospy", "recompiled"), ("rospy", "stock"), ("recompiled", "rospy")]
)
def test_each_later_subscription_of_a_process_gets_the_newest_latched_message_once(ros, publisher, subscriber):
    check_latecomers(*(ros.run([*LATECOMERS[each], "map"], False) for each in (publisher, subscriber)))


def test_an_object_of_rospy_and_a_node_of_baton_meet_on_one_topic(ros):
    body = """
publisher = baton.rospy.create_publisher("words", std_msgs.msg.String, latch=True)
from baton._rospy_ways import node
other = baton.Node("other", domain=node().domain)
subscription = other.subscribe("words", std_msgs.msg.String)
subscription.wait_for_publishers()
publisher.publish(std_msgs.msg.String("hello"))
print(subscription.take(timeout=30).data, flush=True)
"""
    program = ros.run([PYTHON, "-c", PROBE.format(body=body)], False)
    assert program.line() == "hello"


BESIDE = """
import gc, os, signal, sys, threading, time
import baton, baton.rospy, rospy
from baton._rospy_ways import node
from std_msgs.msg import String

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

def other_publisher(topic):
    "In another node, so that messages come by Baton alone."
    global other
    other = baton.Node("other", domain=node().domain)
    return other.advertise(topic, String, 1000)

def keep_publishing(publisher):
    def go():
        while True:
            publisher.publish({"data": "x"})
            time.sleep(0.002)
    threading.Thread(target=go, daemon=True).start()
"""


def beside(ros, body, accelerated=False):
    before = ["-m", "baton_accelerate", "rospy"] if accelerated else []
    path = ros.runtime.parent / f"program{len(ros.programs)}.py"
    path.write_text(BESIDE + body)
    return ros.run([PYTHON, *before, path], False)


def test_subscriptions_that_were_unregistered_leave_nothing_behind(ros):
    program = beside(
        ros,
        """
rospy.init_node("probe", disable_signals=True)
publisher = other_publisher("words")
def made_and_ended():
    ended = baton.rospy.create_subscription("words", String, lambda message: None)
    ended.unregister()
    deadline = time.monotonic() + 30
    while publisher.matched and time.monotonic() < deadline:
        time.sleep(0.005)
def now():
    gc.collect()  # rospy's ends are cycles
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(rospy.core._client_shutdown_hooks)
def is_left():
    return any(each > earlier for each, earlier in zip(now(), before))
made_and_ended()
before = now()  # of what the first one had some may be on its way out
for _ in range(20):
    made_and_ended()
deadline = time.monotonic() + 60
while is_left() and time.monotonic() < deadline:
    time.sleep(0.01)
say(publisher.matched, not is_left() or (before, now()))
""",
    )
    assert program.line() == "0 True"


def test_unregister_while_messages_come_ends_no_other_descriptor(ros):
    program = beside(
        ros,
        """
rospy.init_node("probe", disable_signals=True)
sys.setswitchinterval(1e-6)
publisher = other_publisher("words")
def go():
    while True:
        publisher.publish({"data": "x"})
threading.Thread(target=go, daemon=True).start()
for _ in range(60):
    subscription = baton.rospy.create_subscription("words", String, lambda message: None)
    subscription._way.subscription.wait_for_publishers(1, 30)
    time.sleep(0.005)
    subscription.unregister()
say("all ended")
""",
    )
    assert program.line() == "all ended"


def test_a_callback_may_use_rospy_while_its_subscriber_is_unregistered(ros):
    program = beside(
        ros,
        """
rospy.init_node("probe", disable_signals=True)
publisher = other_publisher("words")
entered, going, made = threading.Event(), threading.Event(), threading.Event()
def on_words(message):
    entered.set()
    going.wait()
    rospy.Publisher("more_words", String, queue_size=1)  # takes the lock that unregister() holds
    made.set()
subscriber = rospy.Subscriber("words", String, on_words)
keep_publishing(publisher)
entered.wait()
ending = threading.Thread(target=subscriber.unregister, daemon=True)
ending.start()
ending.join(0.3)  # it has ended, or waits for the callback
going.set()
ending.join(20)
say("hangs" if ending.is_alive() else "ended", made.wait(20))
os._exit(0)
""",
        accelerated=True,
    )
    assert program.line() == "ended True"


@pytest.mark.parametrize("accelerated", [True, False], ids=["unchanged", "views"])
def test_a_program_ends_although_a_callback_waits_for_its_end(ros, accelerated):
    subscribe = "rospy.Subscriber" if accelerated else "baton.rospy.create_subscription"
    program = beside(
        ros,
        f"""
rospy.init_node("probe")
def on_words(message):
    say("called")
    while not rospy.is_shutdown():
        time.sleep(0.01)
subscriber = {subscribe}("words", String, on_words)
keep_publishing(other_publisher("words"))
rospy.spin()
""",
        accelerated,
    )
    assert program.line() == "called"
    program.process.send_signal(signal.SIGINT)
    assert program.process.wait(60) == 0


def test_a_callback_may_unregister_while_another_message_waits_for_it(ros):
    program = beside(
        ros,
        """
rospy.init_node("probe", disable_signals=True)
stock = rospy.Publisher("words", String, queue_size=10)
publisher = other_publisher("words")
def on_words(message):
    if message.data == "last":
        publisher.publish({"data": "x"})
        publisher.wait_for_all_acked(30)  # the thread of Baton's end has its message, which waits for this callback
        subscription.unregister()
        say("ended")
subscription = baton.rospy.create_subscription("words", String, on_words)
publisher.wait_for_subscriptions(1, 30)
while stock.get_num_connections() == 0:
    time.sleep(0.01)
stock.publish("last")
time.sleep(60)
""",
    )
    assert program.line() == "ended"


def test_a_child_after_fork_ends_nothing_of_its_parent(ros):
    program = beside(
        ros,
        """
rospy.init_node("probe", disable_signals=True)
publisher = other_publisher("words")
subscription = baton.rospy.create_subscription("words", String, lambda message: say("got", message.data))
publisher.wait_for_subscriptions(1, 30)
child = os.fork()
if child == 0:
    subscription.unregister()
    subscription._way.end()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
import select
wakes = select.poll()
wakes.register(subscription._way._wake, select.POLLIN)
say("woken" if wakes.poll(0) else "left alone")
publisher.publish({"data": "later"})
time.sleep(30)
""",
    )
    assert program.line() == "left alone"
    assert program.line() == "got later"


@pytest.mark.parametrize("accelerated", [True, False], ids=["accelerated", "stock"])
def test_a_second_publisher_of_a_program_that_latches_latches(ros, accelerated):
    sender = beside(
        ros,
        """
rospy.init_node("talker", disable_signals=True)
first = rospy.Publisher("words", String, queue_size=10)
second = rospy.Publisher("words", String, queue_size=10, latch=True)
second.publish("latched")
say("published")
time.sleep(60)
""",
        accelerated=True,
    )
    assert sender.line() == "published"
    late = beside(
        ros,
        """
rospy.init_node("listener", disable_signals=True)
subscriber = rospy.Subscriber("words", String, lambda message: say("got", message.data))
time.sleep(60)
""",
        accelerated,
    )
    assert late.line() == "got latched"
    assert late.more(0.3) == []


BOUNDS = """
import collections, struct, threading, types
import rospy
rospy.init_node("bounds", anonymous=True, disable_signals=True)
from baton import _rospy_unchanged, _rospy_ways as ways
from sensor_msgs.msg import Image

Message = collections.namedtuple("Message", "publisher attachment")
def message(publisher, number):
    return Message(str(publisher).encode().ljust(16), struct.pack("=8sQ8x", b"Batonby1", number))
core = types.SimpleNamespace(_attachment=lambda m: m.attachment, info=lambda m: types.SimpleNamespace(publisher=m.publisher))
ways._core = core
way = ways.Incoming.__new__(ways.Incoming)
way._lock = threading.Lock()
way._came = threading.Condition(way._lock)
way._by_bytes, way._held_back, way._moved, way._ended, way._asked, way._emptied = {}, {}, {}, True, 0, 0
given = []
way._node_of, way._deliver = lambda publisher: "/node", lambda m, node: given.append(m)
held = sum(way._hold_back(message(i, 1)) for i in range(1000))
print(held == 64 == len(way._held_back))
way._release_held_back()
print(given == [])
for _ in range(4):
    way._hold_back(message(0, 2))
way._release_held_back()
print(len(given) == 5 and len(way._held_back) == 63)
for i in range(5000):
    way.in_order((str(i).encode(), 1), lambda: None)
    assert len(way._by_bytes) <= 1024 and len(way._moved) <= 1024
print(len(way._by_bytes) > 0)
headers = _rospy_unchanged.Headers("/images", Image)
for i in range(5000):
    assert headers.of(f"/node_{i}")["callerid"] == f"/node_{i}"
    assert len(headers._known) <= 1024
print(headers.of("/node_4999") is headers.of("/node_4999"))
"""


def test_what_a_message_makes_wait_has_a_bound(ros):
    program = ros.run([PYTHON, "-c", BOUNDS], preload=False)
    assert [program.line() for _ in range(5)] == ["True"] * 5
    assert program.status() == 0
