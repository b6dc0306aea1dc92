# SPDX-License-Identifier: Apache-2.0
"""Quality of service between a publisher and a subscription of two hosts."""

from __future__ import annotations

import json

from link_programs import HEAR, TALK, lines_of, ready
from support.waiting import until

# Publishes "message 0" ... with the QoS of its first argument, `count` of them; one more for the line "publish" of its input. For "flow"
# it publishes, and for "assert" it asserts its life, 20 times a second until the next line. It answers each line, when it is done with
# it, with the number of messages so far.
TALKER = """
import baton, json, select, sys, time
from baton.msg.std_msgs import String
node = baton.Node("talker")
publisher = node.advertise("chatter", String, baton.QoS(**json.loads(sys.argv[1])))
number = 0
def publish():
    global number
    with publisher.loan() as message:
        message.data = f"message {number}"
    number += 1
assert publisher.wait_for_subscriptions(int(sys.argv[3]), 40)
print("begins", flush=True)
for _ in range(int(sys.argv[2])):
    publish()
    time.sleep(0.005)
print("all", flush=True)
for line in sys.stdin:
    if line == "publish\\n":
        publish()
    elif line != "rest\\n":
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            publish() if line == "flow\\n" else publisher.assert_liveliness()
    print(number, flush=True)
"""

# What the listeners below share. They answer each line of their input with one.
LISTENER = """
import baton, json, sys, time
from baton.msg.std_msgs import String
node = baton.Node("listener")
def subscribe(**qos):
    return node.subscribe("chatter", String, qos=baton.QoS(**qos))
def until(look):
    end = time.monotonic() + 40
    while not look() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(look())
def texts(subscription, timeout=0.0):
    got = []
    while (message := subscription.take(timeout)) is not None:
        got.append(str(message.data))
    return got
def say(*what):
    print(json.dumps(what), flush=True)
"""


def talk(host, count, subscriptions=1, **qos):
    return host.python(TALKER, json.dumps(qos), str(count), str(subscriptions))


def answer(process):
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)


def linked(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    return a, b


def test_a_subscription_keeps_the_last_messages_of_its_depth_and_counts_the_others_as_lost(hosts):
    a, b = linked(hosts)
    listener = b.python(
        LISTENER
        + """
subscription, witness = subscribe(depth=5), subscribe(depth=1000)
say("ready")
while (message := witness.take(40)) is not None and message.data != "message 49":
    pass
say(texts(subscription), subscription.statuses.lost_total)
"""
    )
    ready(listener)
    talk(a, 50, depth=1000)
    got, lost = answer(listener)
    assert got == [f"message {i}" for i in range(45, 50)]
    assert lost > 0


def test_best_effort_ends_meet_and_a_reliable_subscription_is_refused_in_words_on_both_sides(hosts):
    a, b = linked(hosts)
    best_effort = "durability=durability, reliability='best_effort')"
    listener = b.python(HEAR.replace("durability=durability)", best_effort), "message 99", "volatile")
    ready(listener)
    refused = ready(b.python(HEAR, "", "volatile"))
    talker = a.python(TALK.replace("durability=durability)", best_effort), "100", "volatile", "1000")
    words = "reliability: offered best_effort, requested reliable"
    assert a.says(words)
    assert (
        f"publisher of '/chatter' (node 'talker') is not connected to the subscription of node 'listener' of host {b.name}"
        in (a.log_text())
    )
    assert words in refused.stderr.readline()
    got = json.loads(lines_of(listener))
    numbers = [number for _, number in got]
    assert numbers[-1] == 100 and numbers == sorted(set(numbers))
    lines_of(talker)


def test_a_deadline_that_a_publisher_of_another_host_misses_is_counted_and_a_shorter_one_is_refused(hosts):
    a, b = linked(hosts)
    listener = b.python(
        LISTENER
        + """
subscription, shorter = subscribe(deadline=0.3), subscribe(deadline=0.1)
say("ready")
say(subscription.take(40) is not None)
missed = subscription.statuses.deadline_missed_total
say(until(lambda: subscription.statuses.deadline_missed_total > missed))
say(until(lambda: shorter.statuses.incompatible_qos_total > 0), shorter.statuses.last_incompatibility)
"""
    )
    ready(listener)
    talk(a, 10, depth=10, deadline=0.3)
    assert answer(listener) == [True]
    assert answer(listener) == [True], "no message came for longer than the deadline"
    refused, why = answer(listener)
    assert refused and "deadline" in why
    assert a.says("deadline: offered 300000000 ns, requested 100000000 ns")


def test_a_message_is_not_delivered_when_the_lifespan_that_its_publisher_gave_it_is_over(hosts):
    a, b = linked(hosts)
    listener = b.python(
        LISTENER
        + """
early, late = subscribe(depth=100), subscribe(depth=100)
say("ready")
while (message := early.take(40)) is not None and late.take(0) is None:
    pass
say(message is not None)
last = sys.stdin.readline().strip()
# Until the last one has arrived. On a busy machine it may be over before it is taken.
while (message := early.take(10)) is not None and message.data != last:
    pass
time.sleep(1.2)
say(texts(late))
"""
    )
    ready(listener)
    talker = talk(a, 0, depth=100, lifespan=1.0)
    talker.tell("flow")
    assert answer(listener) == [True], "no message came before it was over"
    for _ in range(4):
        talker.tell("publish")
    said = [talker.stdout.readline() for _ in range(7)]  # begins, all, and an answer to each line
    listener.tell(f"message {int(said[-1]) - 1}")
    assert answer(listener) == [[]]


def test_assertions_of_life_reach_the_subscriptions_of_another_host(hosts):
    a, b = linked(hosts)
    manual = {"liveliness": "manual_by_topic", "lease": 0.5}
    listener = b.python(
        LISTENER
        + f"""
subscription = subscribe(**{manual})
say("ready")
say(subscription.take(40) is not None)
for line in sys.stdin:
    wanted = line == "alive\\n"
    say(until(lambda: (subscription.statuses.alive_now, subscription.statuses.not_alive_now) == (int(wanted), int(not wanted))))
"""
    )
    ready(listener)
    talker = talk(a, 1, depth=10, **manual)
    assert answer(listener) == [True]
    # Without a sign of life for a lease the publisher counts as not alive, and with one as alive.
    for wanted in ("not alive", "alive", "not alive"):
        listener.tell(wanted)
        talker.tell("assert" if wanted == "alive" else "rest")
        assert answer(listener) == [True], wanted


def test_a_deep_subscription_that_has_left_leaves_no_depth_behind(hosts):
    a, b = linked(hosts)
    listener = b.python(
        LISTENER
        + """
kept, deep = subscribe(depth=1), subscribe(depth=500)
say("ready")
say(deep.take(40) is not None)
kept.take(0)
del deep
say("closed")
sys.stdin.readline()
say(str(kept.take(40).data))
"""
    )
    ready(listener)
    talker = talk(a, 1, depth=1000)
    assert answer(listener) == [True]
    assert answer(listener) == ["closed"]

    def depths():
        ends = json.loads(a.command("topic", "info", "chatter", "-v", "--json").ends()[0])["endpoints"]
        return [end["qos"]["depth"] for end in ends if end["kind"] == "subscription"]

    until(lambda: depths() == [1], depths, every_s=0.3)
    talker.tell("publish")
    listener.tell("take")
    assert answer(listener) == ["message 1"]
    assert a.log_text().count("warning") == 0
