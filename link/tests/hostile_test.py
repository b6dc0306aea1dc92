# SPDX-License-Identifier: Apache-2.0
"""A hostile host (raw_host.py) attacks a link. Honest hosts beside it keep their messages, and what it can make the link keep, open, log and
compute is bounded (docs/format/bounds.md)."""

from __future__ import annotations

import json
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from flow import Listener, Talker
from link_hosts import Host, ip
from link_programs import lines_of
from support.build import LINK
from support.processes import PIPE, Process
from support.waiting import until

RAW_HOST = Path(__file__).with_name("raw_host.py")
KIND = "sensor_msgs/Image"
LOG_LINES = 400  # of a link while it is attacked; the bound is LinkLog::kBurstOfAll, and one a second

DEFINITION = """
import baton, json, sys
from baton._messages import struct_of
kind = struct_of(baton.message(sys.argv[1]))
print(json.dumps([kind.definition, kind.hash.hex(), kind.size]))
"""

# Makes publishers of a topic, one after the other, and ends each at once, with ten messages.
CROWD = """
import baton, sys, time
node, kind = baton.Node("crowd"), baton.message(sys.argv[1])
for _ in range(int(sys.argv[3])):
    publisher = node.advertise(sys.argv[2], kind, baton.QoS(depth=1000))
    while not publisher.matched:
        time.sleep(0.0002)
    for _ in range(10):
        publisher.publish(publisher.loan())
    del publisher
"""

# The id of a publisher of another host.
PUBLISHER = """
import baton, sys, time
node = baton.Node("looks")
while not (found := [end.gid.hex() for end in node.endpoints() if end.topic == sys.argv[1] and end.is_publisher]):
    time.sleep(0.05)
print(found[0])
"""

# Ends that are there and say nothing: a topic of many kinds has room for many channels.
IDLE = """
import baton, sys
node = baton.Node("idle")
kind = baton.message(sys.argv[1])
ends = [node.advertise(topic, kind) for topic in sys.argv[2:]] + [node.subscribe(topic, kind) for topic in sys.argv[2:]]
print("ready", flush=True)
sys.stdin.readline()
"""


# As many ends of one kind on one topic as a process likes, which say and take nothing.
MANY = """
import baton, sys
node, kind, depth = baton.Node("stranger"), baton.message(sys.argv[1]), int(sys.argv[5])
make = {"publishers": node.advertise, "subscriptions": lambda *what: node.subscribe(*what, None, depth)}[sys.argv[3]]
ends = [make(sys.argv[2], kind) for _ in range(int(sys.argv[4]))]
print("ready", flush=True)
sys.stdin.readline()
"""


def topic(host: Host, name: str) -> list:
    return [name, KIND, *json.loads(lines_of(host.python(DEFINITION, KIND)))]


class Attack:
    def __init__(self, host: Host, name: str, **options: object) -> None:
        self.process = host.program(sys.executable, RAW_HOST, name, json.dumps(options))
        self.says = self.process.says

    def end(self) -> dict:
        return json.loads(self.process.ends(input="\n")[0].splitlines()[-1])


@contextmanager
def attacked(host: Host, name: str, **options: object):
    attack = Attack(host, name, **options)
    attack.says("attacks")
    seen: dict = {}
    yield seen
    seen |= attack.end()


def backed_bytes(host: Host) -> int:
    """Bytes of memory files that the host's link has, and its own memory."""
    pid = host.links[-1].pid
    files = {}
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            status = os.stat(fd)
            if os.readlink(fd).startswith("/memfd:baton"):
                files[status.st_ino] = status.st_blocks * 512
        except OSError:
            pass
    own = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("RssAnon:"))
    return sum(files.values()) + (int(own.split()[1]) << 10)


def log_lines(host: Host) -> int:
    return len(host.log_text().splitlines())


class Honest:
    """Messages from b to a. All their numbers must arrive."""

    def __init__(self, a: Host, b: Host, name: str = "flow") -> None:
        self.listener, self.talker = Listener(a, name), Talker(b, name, rate=50)
        self.listener.heard()
        self.talker.go()
        self.go_on()

    def go_on(self, count: int = 30) -> None:
        """Waits until so many more messages have arrived."""
        self.listener.reaches(self.listener.next_number() + count)

    def end(self) -> None:
        sent = self.talker.end()
        self.listener.until(sent.last).is_all(sent.last)


@pytest.fixture
def three(hosts):
    """The victim a and the honest host b, which are connected, and the hostile one, which has several addresses."""
    a, b, c = hosts(3)
    for number in range(100, 105):
        ip("-n", c.namespace, "addr", "add", f"10.98.0.{number}/24", "dev", "eth0")
    a.link()
    b.link(a)
    assert a.says("host bbb is connected") and b.says("host aaa is connected")
    yield a, b, c
    print(a.log_text()[-4000:], b.log_text()[-2000:])  # shown with a failure


def addresses() -> list[str]:
    return [f"10.98.0.{number}" for number in range(100, 105)]


def test_a_crowd_of_publishers_and_subscriptions_ends_the_link_for_no_process_of_its_host(three):
    a, b, c = three
    a.python(IDLE, KIND, "flow", "more").says("ready")
    honest = Honest(a, b)
    topics = [topic(c, "/flow"), topic(c, "/more")]
    with attacked(c, "crowd", **{"address": a.address, "from": addresses(), "topics": topics}) as seen:
        assert a.says("are left out on '/flow'")
        honest.go_on(100)
        late = Honest(a, b, "more")  # what comes during the attack is served, too
    assert seen["hosts"] > 30
    late.end()
    honest.end()
    assert "1024" not in a.log_text()
    assert log_lines(a) < LOG_LINES


# A process with many subscriptions, or publishers, of which one is honest: "late".
SUBSCRIBES = """
import baton, sys
node = baton.Node("subscribes")
kind = baton.message(sys.argv[1])
late = node.subscribe("late", kind)
others = [node.subscribe(topic, kind) for topic in sys.argv[2:]]
print("ready", flush=True)
while True:
    if late.take(1) is not None:
        print("late", flush=True)
"""

PUBLISHES = """
import baton, sys, time
node = baton.Node("publishes")
kind = baton.message(sys.argv[1])
publishers = [node.advertise(topic, kind, 1) for topic in sys.argv[2:]]
print("ready", flush=True)
while True:
    for publisher in publishers:
        publisher.publish(kind())
    time.sleep(0.02)
"""


def arrive_late(heard: Process, count: int = 30) -> None:
    for _ in range(count):
        heard.says("late")


def test_a_host_with_many_publishers_leaves_the_others_their_connections_with_each_process(three):
    a, b, c = three
    topics = [f"t{number}" for number in range(4)]
    victim = a.python(SUBSCRIBES, KIND, *topics).says("ready")
    kind = topic(c, "/t0")[1:]
    with attacked(c, "many_publishers", address=a.address, topics=[[f"/{name}", *kind] for name in topics]) as seen:
        assert a.says("publishers of host liar are left out: connections with the process of node 'subscribes'")
        note = "publishers of host liar are left out"
        assert until(lambda: any(note in line for line in a.state()["notes"]), a.log_text)
        b.python(PUBLISHES, KIND, "late").says("ready")
        arrive_late(victim)
    assert seen["open"]
    arrive_late(victim)
    assert log_lines(a) < LOG_LINES


def test_hosts_that_want_deep_queues_leave_the_others_their_connections_with_each_process(three):
    a, b, c = three
    topics = [f"t{number}" for number in range(20)]
    a.python(PUBLISHES, KIND, "late", *topics).says("ready")
    kind = topic(c, "/t0")[1:]
    wanted = [[f"/{name}", *kind] for name in ("late", *topics)]
    options = {"address": a.address, "from": addresses(), "topics": wanted}
    with attacked(c, "deep_wants", **options) as seen:
        assert a.says("subscriptions of host liar are left out: connections with the process of node 'publishes'")
        late = b.python(SUBSCRIBES, KIND).says("ready")
        arrive_late(late)
    assert seen["open"]
    arrive_late(late)
    assert log_lines(a) < LOG_LINES


@pytest.mark.parametrize("name", ["announced_sizes", "endless_parts"])
def test_memory_follows_what_has_come_and_not_what_a_host_says_will_come(three, name):
    a, b, c = three
    honest = Honest(a, b)
    with attacked(c, name, address=a.address, topics=[topic(c, "/flow")]) as seen:
        honest.go_on(100)
        assert backed_bytes(a) < 200 << 20
    assert seen["open"], "nothing of it breaks a rule"
    honest.end()
    assert log_lines(a) < LOG_LINES


def test_a_flood_of_what_is_logged_makes_few_lines(three):
    a, b, c = three
    honest = Honest(a, b)
    with attacked(c, "log_flood", address=a.address, topics=[topic(c, "/flow")]) as seen:
        honest.go_on(150)
    assert seen["rounds"] > 0
    honest.end()
    assert "more like it before" in a.log_text()
    assert log_lines(a) < LOG_LINES


def test_a_stranger_that_says_the_id_of_an_honest_host_locks_it_not_out_and_is_said(hosts):
    a, b, c = hosts(3)
    b.link(a)  # calls a until it is there
    assert b.says("trying again")
    attack = Attack(c, "stolen_id", address=a.address, honest=b.address)
    attack.says("knows")
    a.link()
    attack.says("attacks")
    honest = Honest(a, b)
    assert a.says("says the id of host")
    honest.go_on(100)
    attack.end()
    honest.end()
    assert log_lines(a) < LOG_LINES


def test_a_stranger_that_says_the_id_of_a_connected_host_disturbs_it_not(three):
    a, b, c = three
    honest = Honest(a, b)
    attack = Attack(c, "stolen_id", address=a.address, honest=b.address)
    attack.says("knows")
    attack.says("attacks")
    assert a.says("says the id of host 'bbb'")
    honest.go_on(100)
    attack.end()
    honest.end()
    _, connected, later = b.log_text().partition(
        "host aaa is connected"
    )  # before, the host that is called may not listen yet
    assert connected and "is not reached" not in later


@pytest.mark.parametrize("name", ["many_ids", "half_open"])
def test_strangers_of_one_address_leave_room_for_others(hosts, name):
    a, b, c = hosts(3)
    a.link()
    assert a.says("listens on port")
    with attacked(c, name, address=a.address):
        b.link(a)
        assert a.says("host bbb is connected") and b.says("host aaa is connected")
        honest = Honest(a, b)
        honest.go_on()
        threads = len(list(Path(f"/proc/{a.links[-1].pid}/task").iterdir()))
        assert threads < 200
    honest.end()
    assert log_lines(a) < LOG_LINES


def test_a_host_does_not_silence_a_publisher_of_another(three):
    a, b, c = three
    honest = Honest(a, b)
    publisher = lines_of(a.python(PUBLISHER, "/flow")).strip()
    with attacked(c, "forged_publisher", address=a.address, topics=[topic(c, "/flow")], publisher=publisher) as seen:
        assert a.says("publishers of host liar are left out, because their ids are those of processes of host bbb")
        honest.go_on(100)
    assert seen["open"]
    honest.end()


# A publisher of /flow, and more of them when lines come in.
MORE = """
import baton, sys
node = baton.Node("grows")
made = [node.advertise("/first", baton.message(sys.argv[1]))]
print("ready", flush=True)
for line in sys.stdin:
    made.append(node.advertise("/flow", baton.message(sys.argv[1])))
    print("made", flush=True)
"""

# How many publishers of /flow a subscription has.
COUNT = """
import baton, sys, time
node = baton.Node("counts")
subscription = node.subscribe("/flow", baton.message(sys.argv[1]), lambda message: None)
print("ready", flush=True)
for line in sys.stdin:
    while subscription.matched < int(line):
        time.sleep(0.02)
    print("matched", line.strip(), flush=True)
"""


def test_a_process_that_makes_and_ends_publishers_silences_no_other_publisher_of_the_topic(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    honest = Honest(a, b)
    crowd = b.python(CROWD, KIND, "flow", "1500")
    honest.go_on(100)
    crowd.ends()
    honest.go_on()
    honest.end()
    (received,) = a.state()["topics"]
    assert "left out" not in received["dropped_why"], "those that have ended took the places of others"


@pytest.mark.parametrize(("ends", "count", "depth"), [("publishers", 600, 1000), ("subscriptions", 120, 65536)])
def test_a_process_with_many_idle_ends_on_a_topic_silences_no_other_process_of_its_host(hosts, ends, count, depth):
    a, b = hosts(2)
    a.link()
    b.link(a)
    honest = Honest(a, b)
    deep = a.python(MANY, KIND, "flow", "subscriptions", "1", "1000").says("ready")  # makes b's subscription deep
    stranger = (b if ends == "publishers" else a).python(MANY, KIND, "flow", ends, str(count), str(depth))
    stranger.says("ready")
    victim = b if ends == "publishers" else a
    assert victim.says("for one process alone: connections with the process of node 'stranger'")
    honest.go_on(100)
    stranger.kill()
    deep.kill()
    honest.go_on()
    honest.end()


@pytest.mark.parametrize("whose", ["the victim", "another host"])
def test_the_ids_that_a_process_will_give_are_no_other_hosts(three, whose):
    a, b, c = three
    counts = a.python(COUNT, KIND).says("ready")
    grows = (a if whose == "the victim" else b).python(MORE, KIND).says("ready")
    publisher = lines_of(a.python(PUBLISHER, "/first")).strip()
    with attacked(c, "next_ids", address=a.address, topics=[topic(c, "/flow")], publisher=publisher) as seen:
        whom = "this host" if whose == "the victim" else "host bbb"
        assert a.says(f"40 publishers of host liar are left out, because their ids are those of processes of {whom}")
        for number in (1, 2):
            grows.tell()
            grows.says("made")
            counts.tell(str(number))
            counts.says(f"matched {number}")
    assert seen["open"]
    assert log_lines(a) < LOG_LINES


@pytest.mark.parametrize("name", ["wrong_frames", "big_words", "terminal_names"])
def test_a_host_that_breaks_the_rules_disturbs_no_other(three, name):
    a, b, c = three
    honest = Honest(a, b)
    with attacked(c, name, address=a.address, topics=[topic(c, "/flow")]) as seen:
        honest.go_on(100)
        assert backed_bytes(a) < 400 << 20
    honest.end()
    assert not any(line.startswith("baton link: error: forged") for line in a.log_text().splitlines())
    assert all(byte >= " " for line in a.log_text().splitlines() for byte in line)
    assert log_lines(a) < LOG_LINES
    if name == "wrong_frames":
        assert seen["ended"] > 0 and not seen["unended"] and a.says("the other end does not speak as a link of Baton")


TALK_LARGE = """
import baton, sys
kind = baton.message("sensor_msgs/Image")
size = 300 << 20
node = baton.Node("large")
publisher = node.advertise("large", kind, 1, memory_limit=2 << 30, max_message=512 << 20)
print("ready", flush=True)
sys.stdin.readline()
for number in (1, 2):
    message = publisher.loan()
    message.height = number
    message.data.resize(size)
    message.data[-1] = number
    publisher.publish(message)
    sys.stdin.readline()
"""

HEAR_LARGE = """
import baton, sys
subscription = baton.Node("ear").subscribe("large", baton.message("sensor_msgs/Image"))
print("ready", flush=True)
for number in (1, 2):
    message = subscription.take(90)
    assert message is not None and message.height == number and len(message.data) == 300 << 20 and message.data[-1] == number
    print("got", flush=True)
    del message
"""


def test_a_message_above_the_ordinary_limit_arrives_as_its_publisher_permits(hosts):
    a, b = hosts(2)
    a.link()
    b.link(a)
    ear, mouth = large(a, b)
    for _ in range(2):
        mouth.tell()
        ear.says("got")
    assert sum(host["dropped"] for host in a.state()["hosts"]) == 0


def test_a_message_that_a_link_cannot_carry_is_counted_and_shown_with_its_reason(hosts):
    a, b = hosts(2)
    a._environment["BATON_PROCESS_MEMORY_LIMIT"] = "100M"
    a.link()
    del a._environment["BATON_PROCESS_MEMORY_LIMIT"]
    b.link(a)
    _, mouth = large(a, b)
    mouth.tell()
    until(lambda: any(host["dropped"] for host in a.state()["hosts"]), a.log_text)
    (host,) = a.state()["hosts"]
    assert "BATON_PROCESS_MEMORY_LIMIT" in host["dropped_why"]
    (row,) = [row for row in a.state()["topics"] if row["topic"] == "/large"]
    assert row["dropped"] == host["dropped"]


def large(a: Host, b: Host):
    """The talker and the listener of the large messages, connected."""
    ear, mouth = a.python(HEAR_LARGE), b.python(TALK_LARGE)
    for end in (ear, mouth):
        end.says("ready")
    until(lambda: any(row["topic"] == "/large" for row in b.state()["topics"]))
    return ear, mouth


def test_a_peer_that_needs_an_interface_is_named_with_the_way_out(hosts):
    (a,) = hosts(1)
    link = a._start([str(LINK), "--no-multicast", "--peer", "fe80::1"], stderr=PIPE)
    a.links.append(link)
    for line in link.stderr:
        if "not reached" in line:
            break
    assert "fe80::1%eth0" in line and "Invalid argument" not in line
