# SPDX-License-Identifier: Apache-2.0
"""Runs each row of the conformance table (conformance.py) with real programs: one function for each scenario."""

import os
import signal
import time
import xmlrpc.client

import pytest
from conformance import ALL, KINDS, TOPIC, cases, share
from ros1_network import BUILD, PATIENCE_S, PRELOAD, named, tcp_bytes, without_rospy

LARGE, SMALL, HUGE = 1_000_000, 1_000, 3_000_000
SHORT_OF_MEMORY = {"BATON_PROCESS_MEMORY_LIMIT": "2M"}  # no message of HUGE bytes finds room in so much


def missing(kind):
    """The reason why no program of this kind can run, if there is one."""
    if kind.python and os.environ.get("BATON_SANITIZER_RUNTIMES"):
        return "builds with a sanitizer have no Python that is instrumented"
    if kind.python:
        return without_rospy()
    if kind.preload and not PRELOAD.exists():
        return "builds with a sanitizer have no libbaton_roscpp.so"
    if not (BUILD / f"bin/ros1_{kind.program}ends").exists():
        return "needs libimage-transport-dev: make build-ros1; builds with a sanitizer have no plugin"
    return None


class End:
    """A program of a kind at one end of the topic."""

    def __init__(self, ros, kind, role, *words, name=None, **settings):
        self.kind, self.ros, self.published, self.latches = kind, ros, 0, "latch" in words
        command = [*kind.command(BUILD, role, *words), *named(name)]
        self.program = ros.run(command, preload=kind.preload, **{**kind.settings(BUILD), **settings})
        for method in ("line", "do", "tell", "ask", "end", "process"):
            setattr(self, method, getattr(self.program, method))

    def publish(self, *sizes, period_ms=0):
        """Publishes a message of each of these sizes; the lines that a subscriber prints for them."""
        first = self.published + 1
        for size in sizes:
            self.do(f"publish {size} 1 {period_ms}")
        self.published += len(sizes)
        return [self.image(first + i, size) for i, size in enumerate(sizes)]

    def image(self, number, size=LARGE):
        """What a subscriber prints for this publisher's message."""
        return f"{number} {number - 1 + self.kind.first_seq} {size} good"

    def numbered(self, lines):
        """The lines; by their contents alone where rospy has numbered them again, as it does for each late subscriber."""
        return contents(lines) if self.latches and self.kind.python else list(lines)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def talker(ros, kind, latch=False, name=None, **settings):
    return End(ros, kind, "talker", TOPIC, 100, "latch" if latch else "volatile", name=name, **settings)


def listener(ros, kind, queue_size=100, keep=0, name=None, **settings):
    return End(ros, kind, "listener", TOPIC, queue_size, keep, 0, name=name, **settings)


def everybody(ros, kinds=ALL, **settings):
    return [listener(ros, kind, **settings) for kind in kinds if not missing(kind)]


def all_get(sends, receivers, expected):
    """Each receiver's next lines are these of the publisher."""
    found = [(each.kind.name, sends.numbered(lines_of(each, len(expected)))) for each in receivers]
    assert found == [(each.kind.name, sends.numbered(expected)) for each in receivers]


def lines_of(receiver, count):
    return [receiver.line() for _ in range(count)]


def check_nothing_else(sends, *receivers):
    """The next message at each is one that is published now: what came too often would have come before."""
    expected = sends.publish(10)
    assert contents(each.line() for each in receivers) == contents(expected * len(receivers))


def until_heard(sends, *receivers):
    """Publishes until each receiver hears it; from then on each gets each message once. Stock subscribers of a publisher that died are counted by its
    successor while they still connect again, and miss what is published meanwhile."""
    lines = {each: [] for each in receivers}
    deadline = time.monotonic() + PATIENCE_S
    while not all(lines.values()):
        assert time.monotonic() < deadline, "a subscriber does not hear the new publisher"
        sends.publish(10)
        for each, found in lines.items():
            found += each.program.more(0.05)
    for each, found in lines.items():
        while found[-1].split()[0] != str(sends.published):
            found.append(each.line())
        numbers = [int(line.split()[0]) for line in found]
        assert numbers == list(range(numbers[0], sends.published + 1))


def contents(lines):
    """The lines without the headers' sequence numbers: rospy numbers a latched message again."""
    return [(number, size, state) for number, _, size, state in map(str.split, lines)]


def every_message(ros, publisher, subscriber):
    keep = subscriber.held or 50
    receives, sends = listener(ros, subscriber, keep=keep - 1), talker(ros, publisher)
    until_shared(sends, [receives])
    sends.do("subscribers 1")
    before = tcp_bytes(receives)
    for size in [LARGE, 200_000, 6_220_800, 100_000] * 2:  # one at a time: there is room
        assert sends.publish(size) == [receives.line()]
    assert tcp_bytes(receives) - before < LARGE, "what is left is between node and master"
    sizes = [LARGE, 10, 0, 6_220_800, 100_000] * 2
    expected = sends.publish(*sizes)
    assert lines_of(receives, len(sizes)) == expected
    check_nothing_else(sends, receives)
    for _ in range(2):  # the first one is the last that may be held, and the others wait, or come
        sends.publish(*[LARGE] * 10)
    assert receives.end() == 0, "a kept message has changed"


def crowd(ros, publisher, _):
    sends, early = talker(ros, publisher, latch=True), listener(ros, KINDS["roscpp"])
    sends.do("subscribers 1")  # image_transport drops an image that nobody subscribes
    assert contents(sends.publish(10, LARGE)) == contents(early.line() for _ in range(2))
    late = keepers(ros, [*ALL, publisher])  # one more of its kind beside one that is served already
    assert contents(each.line() for each in late) == contents([sends.image(2)] * len(late))
    receivers = [early, *late]
    sharing = until_shared(sends, receivers)
    before = [tcp_bytes(each) for each in sharing]
    all_get(sends, receivers, sends.publish(*[LARGE, 10, 0, 100_000, 6_220_800] * 2, period_ms=5))
    if publisher.shares == "baton":
        after = [tcp_bytes(each) for each in sharing]
        assert all(b - a < LARGE for a, b in zip(before, after, strict=True)), "what is left is between node and master"
    check_nothing_else(sends, *receivers)
    for first in (1, 2):
        receivers = some_are_killed(ros, sends, receivers, first)
    all_get(sends, receivers, sends.publish(*[LARGE] * 3, period_ms=5))
    sends.kill()
    sends = talker(ros, publisher)
    until_heard(sends, *receivers)
    check_nothing_else(sends, *receivers)
    assert [each.end() for each in receivers] == [0] * len(receivers), "a kept message has changed"


def keepers(ros, kinds):
    return [listener(ros, kind, keep=min(kind.held or 20, 20) - 1) for kind in kinds if not missing(kind)]


def some_are_killed(ros, sends, receivers, first):
    """The receivers, with newcomers in the place of each second one from `first` on. The last one, of the publisher's own kind, stays."""
    victims = receivers[first:-1:2]
    stay = [each for each in receivers if each not in victims]
    for each in victims:
        each.kill()
    all_get(sends, stay, sends.publish(*[LARGE] * 10, period_ms=5))
    sends.do(f"subscribers {len(stay)}")
    newcomers = keepers(ros, [each.kind for each in victims])
    latched = sends.image(sends.published)
    assert contents(each.line() for each in newcomers) == contents([latched] * len(newcomers))
    sends.do(f"subscribers {len(receivers)}")
    receivers = list(receivers)
    receivers[first:-1:2] = newcomers
    check_nothing_else(sends, *receivers)
    return receivers


def until_shared(sends, receivers, size=LARGE):
    """Publishes until a message of this size reaches all that share memory with the publisher in that way; these receivers."""
    sends.do(f"subscribers {len(receivers)}")
    sharing = [each for each in receivers if share(sends.kind.name, each.kind.name)]
    if sends.latches and sends.kind.mode == "tzc":  # whose handles of latched messages have the bytes in them
        sharing = [each for each in sharing if each.kind.mode != "tzc"]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        before = [tcp_bytes(each) for each in sharing]
        all_get(sends, receivers, sends.publish(size))
        if all(tcp_bytes(each) - earlier < size for each, earlier in zip(sharing, before, strict=True)):
            return sharing
        assert time.monotonic() < deadline, "the ends never took the shared way"
        time.sleep(0.02)


def latecomers(ros, kind):
    return End(ros, kind, "latecomers", "map")


def later_subscription(ros, publisher, subscribers):
    ends = [latecomers(ros, kind) for kind in (publisher, *subscribers) if not missing(kind)]
    sends = ends[0]
    sends.do("advertise")
    for end in ends:
        end.do("subscribe")
    sends.do(f"meet {len(ends)}")
    sends.do("publish")
    for end in ends:
        for expected in ("1", "1|1", "1|1|1"):
            assert end.ask("numbers 1") == expected
            if expected != "1|1|1":
                end.do("subscribe")
    sends.do("publish")
    for end in ends:
        assert end.ask("numbers 2") == "1 2|1 2|1 2"
        end.do("subscribe")
        assert end.ask("numbers 2") == "1 2|1 2|1 2|2"
    sends.do("publish")
    assert [end.ask("numbers 3") for end in ends] == ["1 2 3|1 2 3|1 2 3|2 3"] * len(ends)


def stock_beside(ros, publisher, subscriber):
    receives, sends = listener(ros, subscriber), talker(ros, publisher)
    until_shared(sends, [receives])
    receives.tell(
        "stock"
    )  # its process finds it with the next message of Baton, and the publisher then writes for both
    expected, lines = [], []
    deadline = time.monotonic() + PATIENCE_S
    while not any(line.startswith("stock") for line in lines):
        assert time.monotonic() < deadline, "the stock subscription hears nothing"
        expected += sends.publish(SMALL)
        lines += receives.program.more(0.05)
    begin = int(next(line for line in lines if line.startswith("stock")).split()[1])
    expected += sends.publish(*[SMALL] * 10, period_ms=5)
    while not {expected[-1], f"stock {sends.published}"} <= set(lines):
        lines.append(receives.line())
    assert [line for line in lines if not line.startswith("stock")] == expected, "none is lost or doubled"
    stock = [line for line in lines if line.startswith("stock")]
    assert stock == [f"stock {i}" for i in range(begin, sends.published + 1)]


def messages_by_link(receiver):
    """How many messages a subscriber of the topic has got by ROS 1's connections."""
    ros = receiver.ros
    uri = next(uri for uri in ros.nodes().values() if pid_of_node(uri) == receiver.process.pid)
    answer = xmlrpc.client.ServerProxy(uri).getBusStats("/test")
    subscribed = (
        answer[1] if isinstance(answer[1], list) else answer[2][1]
    )  # roscpp writes its statistics over code and text of its answer
    return sum(link[2] for topic, links in subscribed if topic.startswith(ros.resolve(TOPIC)) for link in links)


def pid_of_node(uri):
    return xmlrpc.client.ServerProxy(uri).getPid("/test")[2]


def slow(ros, publisher, subscribers):
    receivers, sends = everybody(ros, subscribers, queue_size=2), talker(ros, publisher)
    sends.do(f"subscribers {len(receivers)}")
    for each in receivers:
        each.do("hold")
    all_get(sends, receivers, sends.publish(SMALL))
    by_link = {each: messages_by_link(each) for each in receivers}
    assert all(count or share(publisher.name, each.kind.name) for each, count in by_link.items())
    expected = sends.publish(*[SMALL] * 20)
    deadline = time.monotonic() + PATIENCE_S
    while any(count and messages_by_link(each) < count + 20 for each, count in by_link.items()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for each in receivers:
        each.tell("release")
        lines = [each.line()]
        while lines[-1] != expected[-1]:
            lines.append(each.line())
        assert lines == expected[-len(lines) :], each.kind.name
        assert len(lines) <= 3, "the queue's two, and one on its way into the queue"
    check_nothing_else(sends, *receivers)


def hung(ros, publisher, subscriber, successor):
    hung_subscriber(ros, publisher, subscriber, successor)
    ros.end_programs()
    hung_publisher(ros, publisher, subscriber, successor)


def hung_subscriber(ros, publisher, subscriber, successor):
    sends, before = talker(ros, publisher), listener(ros, subscriber, name="camera_view")
    sends.do("subscribers 1")
    assert sends.publish(LARGE) == [before.line()]
    before.process.send_signal(signal.SIGSTOP)
    after = listener(ros, successor, name="camera_view")
    sends.do("subscribers 2")
    expected = sends.publish(*[LARGE] * 5, period_ms=5)
    assert lines_of(after, 5) == expected
    check_nothing_else(sends, after)


def hung_publisher(ros, publisher, subscriber, successor):
    receives, before = listener(ros, subscriber), talker(ros, publisher, name="camera")
    before.do("subscribers 1")
    assert before.publish(LARGE) == [receives.line()]
    before.process.send_signal(signal.SIGSTOP)
    after = talker(ros, successor, name="camera")
    after.do("subscribers 1")
    expected = after.publish(*[LARGE] * 5, period_ms=5)
    assert lines_of(receives, 5) == expected
    check_nothing_else(after, receives)


def too_large(ros, publisher, _):
    receivers, sends = everybody(ros), talker(ros, publisher, **SHORT_OF_MEMORY)
    assert until_shared(sends, receivers, 200_000)
    sizes = [SMALL, HUGE, SMALL, SMALL, HUGE, HUGE, SMALL, 0]
    for _ in range(2):
        all_get(sends, receivers, sends.publish(*sizes))
    check_nothing_else(sends, *receivers)
    if publisher.name != "preload":  # which says nothing: the message takes roscpp's own way
        assert sends.program.complains("TCP")


def too_large_latched(ros, publisher, _):
    sends, early = talker(ros, publisher, latch=True, **SHORT_OF_MEMORY), listener(ros, publisher)
    sends.do("subscribers 1")
    assert sends.publish(10) == [early.line()]
    expected = contents(sends.publish(HUGE))
    assert contents(lines_of(early, 1)) == expected
    late = everybody(ros)
    assert contents(each.line() for each in late) == expected * len(late)
    sends.do(f"subscribers {1 + len(late)}")
    check_nothing_else(sends, early, *late)


def reused(ros, publisher, subscribers):
    receivers, sends = everybody(ros, subscribers), talker(ros, publisher)
    sends.do(f"subscribers {len(receivers)}")
    sends.do(f"reuse {LARGE} 20")
    sends.published = 20
    all_get(sends, receivers, [sends.image(i + 1) for i in range(20)])
    check_nothing_else(sends, *receivers)


def visitor(ros, kind, topic=TOPIC):
    return End(ros, kind, "visitor", topic)


def visited(ros, publisher, subscriber):
    for part in ros.each((counted, left, welcomed)):
        part(ros, publisher, subscriber)


def counted(ros, publisher, subscriber):
    receives, sends = visitor(ros, subscriber), talker(ros, publisher)
    for _ in range(20):
        sends.do("subscribers 0")
        sends.tell("greet")
        receives.tell("visit")
        assert (sends.line(), receives.line()) == ("done greet", "visited")


def left(ros, publisher, subscriber):
    receives, sends = visitor(ros, subscriber), talker(ros, publisher)
    for _ in range(3):
        sends.do("subscribers 0")
        sends.tell("greet")
        assert receives.ask("leave") == "left after the callback"
        assert sends.line() == "done greet"


def welcomed(ros, publisher, subscriber):
    sends = talker(ros, publisher)
    sends.do(f"welcome door{TOPIC}")
    receives = visitor(ros, subscriber, f"door{TOPIC}")
    for _ in range(10):
        assert receives.ask("visit") == "visited"


def introduced(ros, publisher, _):
    for topic, size in ((f"small{TOPIC}", 10), (f"large{TOPIC}", LARGE)):
        sends = talker(ros, publisher)
        sends.do(f"introduce {topic} {size} volatile")
        there, expected = [], 0
        for name in ["recompiled", "roscpp", "recompiled_tzc", "roscpp"]:
            there.append(End(ros, KINDS[name], "listener", topic, 100, 0, 0))
            for _ in range(3):  # unnumbered, as roscpp leaves them
                expected += 1
                assert there[-1].line() == f"{expected} 77 {size} good"
            expected += 1
            sends.do(f"announce {size}")
            assert [each.line() for each in there] == [f"{expected} {len(there) - 1} {size} good"] * len(there)
    introduced_latched(ros, publisher, f"latched{TOPIC}")


def introduced_latched(ros, publisher, topic):
    """A subscriber gets its own messages, and the latched one before them, between them or, if the callback is first, after them."""
    sends = talker(ros, publisher)
    sends.do(f"introduce {topic} 10 latch")
    sends.do("announce 20")
    there, last = [], 1
    for name in ["recompiled", "roscpp", "recompiled_tzc"]:
        there.append(End(ros, KINDS[name], "listener", topic, 100, 0, 0))
        own = [f"{number} 77 10 good" for number in range(last + 1, last + 4)]
        lines = []
        while not set(own) <= set(lines):
            lines.append(there[-1].line())
        assert [line for line in lines if not line.endswith(" 20 good")] == own and len(lines) <= 4
        last += 3
    sends.do("announce 30")
    for each in there:
        line = each.line()
        if line.endswith(" 20 good"):
            line = each.line()
        assert line.split()[::2] == [str(last + 1), "30"]


def switched_off(ros, publisher, subscriber):
    off = {"BATON_ROS1": "0"}
    receives, sends = listener(ros, subscriber, **off), talker(ros, publisher)
    sends.do("subscribers 1")
    if publisher.preload:
        assert ros.sockets() == []
    before = tcp_bytes(receives)
    expected = sends.publish(*[LARGE] * 5, period_ms=5)
    assert lines_of(receives, 5) == expected
    check_nothing_else(sends, receives)
    assert tcp_bytes(receives) - before > 5 * LARGE
    assert receives.program.errors == []


@pytest.mark.parametrize("of_case", cases().values(), ids=cases())
def test_row(ros, of_case):
    left_out, ran = set(), 0
    for row in ros.each(of_case):
        kinds = [KINDS.get(name, name) for name in row.kinds]
        if row.scenario.together:
            kinds[1] = [KINDS[name] for name in row.kinds[1].split(" and ")]
        ends = [each if isinstance(each, list) else [each] for each in kinds if not isinstance(each, str)]
        reasons = [{missing(each): each.name for each in end} for end in ends]
        left_out.update(f"{name}: {reason}" for end in reasons for reason, name in end.items() if reason)
        if all(None in end for end in reasons):
            globals()[row.scenario.name](ros, *kinds)
            ran += 1
    if left_out:
        pytest.skip(f"{ran} of {len(of_case)} rows passed; {', '.join(sorted(left_out))}")
