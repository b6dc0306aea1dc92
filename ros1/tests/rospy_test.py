# SPDX-License-Identifier: Apache-2.0
"""baton.rospy's publishers and subscriptions beside stock programs, baton::ros1 and Baton's nodes."""

import signal
import time
from pathlib import Path

import pytest
from ros1_network import BUILD, SMALL, image, without_rospy

PYTHON = "/usr/bin/python3"
ENDS = Path(__file__).parent / "programs/rospy_ends.py"


@pytest.fixture(autouse=True)
def rospy_here(ros):
    if missing := without_rospy():
        pytest.skip(missing)
    ros.environment["PYTHONPATH"] = str(BUILD / "python")


def talker(ros, queue_size=100, latch=False, topic="images"):
    return ros.run([PYTHON, ENDS, "views", "talker", topic, queue_size, "latch" if latch else "volatile"], False)


def listener(ros, queue_size=100, keep=0, pause_ms=0, topic="images"):
    return ros.run([PYTHON, ENDS, "views", "listener", topic, queue_size, keep, pause_ms], False)


def meet(publisher):
    """Waits until the publisher serves a subscriber, without serialized messages."""
    publisher.do("subscribers 1")
    deadline = time.monotonic() + 60
    while publisher.ask("serialized") != "serialized 0":
        assert time.monotonic() < deadline
        publisher.line()
        time.sleep(0.02)
    publisher.line()
    publisher.do("subscribers 1")


def test_an_unregistered_subscription_is_called_no_more_and_no_longer_counted(ros):
    subscriber, sender = listener(ros), talker(ros)
    meet(sender)
    subscriber.tell("unregister")
    assert subscriber.line() == "unregistered"
    sender.do("subscribers 0")
    other = listener(ros)
    sender.do("subscribers 1")
    sender.do(f"publish {SMALL} 3 0")
    assert [other.line() for _ in range(3)] == [image(i + 1, SMALL, i + 1) for i in range(3)]
    subscriber.tell("shared")
    assert subscriber.line() == "shared 0", "and nothing before"


PROBE = """
import sys
import baton, baton.rospy, rospy, std_msgs.msg
rospy.init_node("probe", disable_signals=True)
{body}
"""


WRONG = [
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
]


def test_what_is_wrong_is_named(ros):
    body = "".join(f"try:\n    {line}\nexcept Exception as error:\n    print(error, flush=True)\n" for line, _ in WRONG)
    program = ros.run([PYTHON, "-c", PROBE.format(body=body)], False)
    for line, words in WRONG:
        assert words in program.line(), line
    assert program.status() == 0


def test_an_object_of_rospy_and_a_node_of_baton_meet_on_one_topic(ros):
    body = """
publisher = baton.rospy.create_publisher("words", std_msgs.msg.String, latch=True)
from baton._rospy_ways import node
other = baton.Node("other", domain=node().domain)
subscription = other.subscribe(rospy.resolve_name("words"), std_msgs.msg.String)
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
    return other.advertise(rospy.resolve_name(topic), String, 1000)

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


def test_subscriptions_that_are_unregistered_while_messages_come_leave_nothing_behind_and_end_no_other_descriptor(ros):
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
def made_and_ended():
    subscription = baton.rospy.create_subscription("words", String, lambda message: None)
    subscription._way.subscription.wait_for_publishers(1, 30)
    time.sleep(0.005)
    subscription.unregister()
def now():
    gc.collect()  # rospy's ends are cycles
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(rospy.core._client_shutdown_hooks)
def is_left():
    return publisher.matched or any(each > earlier for each, earlier in zip(now(), before))
made_and_ended()
while publisher.matched:
    time.sleep(0.005)
before = now()  # of what the first one had some may be on its way out
for _ in range(60):
    made_and_ended()
deadline = time.monotonic() + 60
while is_left() and time.monotonic() < deadline:
    time.sleep(0.01)
say(not is_left() or (before, now()))
""",
    )
    assert program.line() == "True"


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


def test_a_program_ends_although_a_callback_waits_for_its_end(ros):
    for accelerated, subscribe in ros.each([(True, "rospy.Subscriber"), (False, "baton.rospy.create_subscription")]):
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


LISTENER = """
rospy.init_node("listener", anonymous=True, disable_signals=True)
subscriber = rospy.Subscriber("words", String, lambda message: say("got", message.data))
time.sleep(60)
"""


def test_a_second_publisher_of_a_program_that_latches_latches(ros):
    sender = beside(
        ros,
        """
rospy.init_node("talker", disable_signals=True)
first = rospy.Publisher("words", String, queue_size=10)
second = rospy.Publisher("words", String, queue_size=10, latch=True)
second.publish("latched")
say("published")
sys.stdin.readline()
second.publish("later")
time.sleep(60)
""",
        accelerated=True,
    )
    assert sender.line() == "published"
    late = [beside(ros, LISTENER, accelerated) for accelerated in (True, False)]
    assert [each.line() for each in late] == ["got latched"] * 2
    sender.tell("later")
    assert [each.line() for each in late] == ["got later"] * 2, "and the other one once"


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
