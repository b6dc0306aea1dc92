# SPDX-License-Identifier: Apache-2.0
"""Failures of a network and of its hosts. Whatever happens, no reliable message that its quality of service keeps is lost, no message
arrives damaged, twice or out of order, and the link's memory stays bounded.

Each test prints what it measured (pytest -rA). Times are printed, not judged: CI's machines are busy. With BATON_LONG_TEST (make torture)
cables stay out for ten seconds, and each killing is repeated often.
"""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from flow import Got, Listener, Sent, Talker
from link_hosts import PORT, Host
from support.waiting import LIMIT_S, until

LONG = bool(os.environ.get("BATON_LONG_TEST"))
OUT_S = 10.0 if LONG else 2.0  # that a cable is out, or a process is stopped
CUT_S = 25.0 if LONG else 2.0  # the same for a cable
ROUNDS = 30 if LONG else 4
MB = 1 << 20
MOST_GROWTH = 64 * MB  # of the link's own memory, whatever happens


def measured(**values: object) -> None:
    print("measured:", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in values.items()))


def seconds(value: float) -> str:
    return f"{value:.2f} s"


def joined(*hosts: Host, more: tuple[str, ...] = ()) -> None:
    """Starts the links of the hosts, with these arguments `more`; each link names the hosts before it."""
    for i, host in enumerate(hosts):
        host.link(*hosts[:i], more=more)
    for host in hosts:
        assert host.says("is connected", len(hosts) - 1), "\n".join(f"{each.name}: {each.log_text()}" for each in hosts)


def flow(talker: Talker, *listeners: Listener) -> None:
    """Begins the flow once the warm-up has reached all listeners."""
    for listener in listeners:
        listener.heard()
    talker.go()


def stop(talker: Talker, *listeners: Listener) -> tuple[Sent, list[Got]]:
    sent = talker.end()
    return sent, [listener.until(sent.last) for listener in listeners]


def own_memory(process_id: int) -> int:
    """Bytes of memory that the process shares with no other process."""
    status = Path(f"/proc/{process_id}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("RssAnon:")).split()[1]) << 10


def descriptors(process_id: int) -> int:
    return len(list(Path(f"/proc/{process_id}/fd").iterdir()))


# The line.


def test_a_pulled_cable_loses_nothing_in_either_direction(hosts):
    a, b = hosts(2)
    joined(a, b)
    room = {"depth": 2000}
    ends = ((a, b, "there"), (b, a, "back"))
    ways = [(Talker(x, topic, rate=50, **room), Listener(y, topic, **room)) for x, y, topic in ends]
    for talker, listener in ways:
        flow(talker, listener)
    for _, listener in ways:
        listener.reaches(20)
    a.pull()
    time.sleep(CUT_S)
    plugged = a.plug()
    for talker, listener in ways:
        listener.reaches(int(50 * CUT_S) + 50)
        sent, (got,) = stop(talker, listener)
        measured(messages=sent.last, recovery_after=seconds(got.first_after(plugged)))
        got.is_all(sent.last)


def test_a_loose_cable_loses_nothing(hosts):
    a, b = hosts(2)
    joined(a, b)
    listener, talker = Listener(b, bytes=20_000), Talker(a, bytes=20_000)
    flow(talker, listener)
    recoveries = []
    for _ in range(2 * ROUNDS):
        listener.next_number()
        b.pull()
        time.sleep(0.2)
        recoveries.append(b.plug())
        time.sleep(0.2)
    sent, (got,) = stop(talker, listener)
    measured(messages=sent.last, recoveries=", ".join(seconds(got.first_after(moment)) for moment in recoveries))
    got.is_all(sent.last)


def test_a_keep_all_publisher_is_refused_while_the_cable_is_out_and_nothing_is_lost(hosts):
    a, b = hosts(2)
    joined(a, b)
    many = {"bytes": 100_000, "depth": 50, "history": "keep_all"}
    listener, talker = Listener(b, **many), Talker(a, rate=300, **many)
    flow(talker, listener)
    listener.reaches(20)
    a.pull()
    talker.says("refused")
    time.sleep(OUT_S)
    plugged = a.plug()
    for _ in range(20):
        listener.next_number()
    sent, (got,) = stop(talker, listener)
    measured(
        messages=sent.last,
        recovery_after=seconds(got.first_after(plugged)),
        longest_refusal=seconds(sent.longest_s),
    )
    assert sent.refusals > 0
    got.is_all(sent.last)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(["--loss", "0.1"], id="ten_percent_of_the_packets_lost"),
        pytest.param(["--delay-us", "2000", "--overtaking", "0.2"], id="a_fifth_of_the_packets_out_of_order"),
        pytest.param(["--delay-us", "50000"], id="fifty_milliseconds_of_delay"),
        pytest.param(["--delay-us", "20000", "--loss", "0.02", "--overtaking", "0.05"], id="all_of_it"),
    ],
)
def test_a_bad_line_loses_nothing(hosts, line):
    a, b = hosts(2, line)
    joined(a, b)
    many = 10 if LONG else 1
    small = Talker(a, "small", count=200 * many), Listener(b, "small")
    large = Talker(b, "large", bytes=300_000, count=20 * many, rate=10), Listener(a, "large", bytes=300_000)
    for talker, listener in (small, large):
        flow(talker, listener)
    for name, (talker, listener) in (("small", small), ("large", large)):
        sent = talker.sent()
        got = listener.until(sent.last)
        measured(**{name: f"{sent.last} messages", "latency": got.latency()})
        got.is_all(sent.last)


def test_hosts_that_call_each_other_at_once_over_a_long_line_meet_and_lose_nothing(hosts):
    a, b = hosts(2, ["--delay-us", "50000"])
    began = time.monotonic()
    a.link(b)
    b.link(a)
    listener, talker = Listener(b), Talker(a, count=100)
    flow(talker, listener)
    measured(connected_after=seconds(time.monotonic() - began))
    sent = talker.sent()
    listener.until(sent.last).is_all(sent.last)


def test_a_small_topic_arrives_whole_beside_images_for_which_the_line_is_too_slow(hosts):
    a, b = hosts(2)
    joined(a, b)
    size = 30_000  # a quarter of a second at 1 Mbit/s
    images = Talker(a, "images", bytes=size, rate=20, depth=4), Listener(b, "images", bytes=size, depth=4)
    small = Talker(a, "small", bytes=64, rate=20), Listener(b, "small", bytes=64)
    for _, listener in (images, small):
        listener.heard()
    b.rate("1mbit")
    for talker, _ in (images, small):
        talker.go()
    time.sleep(5 * OUT_S)
    sent, (got,) = stop(*images)
    sent_small, (got_small,) = stop(*small)
    # Images that arrived while a small message was on its way.
    offset = time.time() - time.monotonic()
    arrivals = [at for _, at, _ in got.got]
    passed = [sum(source / 1e9 - offset < at < arrival for at in arrivals) for _, arrival, source in got_small.got]
    later = passed[len(passed) // 2 :]  # when the links have learnt how slow the line has become
    measured(
        images=f"{len(got.got)} of {sent.last}",
        image_latency=got.latency(),
        small=f"{len(got_small.got)} of {sent_small.last}",
        small_latency=got_small.latency(),
        images_before_a_small_message=f"{max(passed, default=0)} at most, later {max(later, default=0)}",
    )
    got_small.is_all(sent_small.last)
    got.is_whole()
    assert got.numbers[-1] == sent.last, "the newest image is kept"
    assert 0 < len(got.got) < sent.last, "the line is too fast for this test"
    assert got.lost >= len(got.missing(sent.last)), f"{got.missing(sent.last)} are missing and {got.lost} counted"
    # What the link and the kernel have begun to send stays ahead: less than half a megabyte.
    assert max(later) <= 16, "the small topic waits behind the images"


# The hosts.


@pytest.mark.parametrize("dials", ["the_host_that_was_away_dials", "the_other_host_dials"])
def test_a_host_that_loses_its_power_and_starts_again_is_the_same_host(hosts, dials):
    a, b = hosts(2)
    away_dials = dials == "the_host_that_was_away_dials"

    def link_b() -> None:
        b.link(a) if away_dials else b.link()

    a.link() if away_dials else a.link(b)
    link_b()
    talker, stayed = Talker(a, "there", rate=50), Listener(a, "back")
    listener, first = Listener(b, "there"), Talker(b, "back", rate=50)
    flow(talker, listener)
    flow(first, stayed)
    for end in (listener, stayed):
        end.reaches(20)
    b.cut_power()
    time.sleep(OUT_S)
    booted = b.boot()
    link_b()
    # The listener that stayed gets a second publisher, with other numbers.
    start = 1_000_000
    again, second = Listener(b, "there"), Talker(b, "back", rate=50, start=start)
    second.go()
    again.heard()
    again.next_number()
    stayed.reaches(start)
    last = second.end().last
    sent, (got,) = stop(talker, again)
    both = stayed.until(last)
    measured(recovery_after=seconds(got.first_after(booted)), back_after=seconds(both.first_after(booted)))
    got.is_whole()
    assert got.missing(sent.last) == list(range(1, got.numbers[0])), "messages are missing after the first that arrived"
    back = [number for number in both.numbers if number > start]
    assert both.damaged == 0 and back and back == list(range(back[0], last + 1)), back[:20]


@pytest.mark.parametrize("dials", ["the_host_that_moved_dials", "the_other_host_dials_its_name"])
def test_a_host_is_reached_again_after_its_address_changes(hosts, dials):
    a, b = hosts(2)
    if dials == "the_host_that_moved_dials":
        a.link(interface="eth0")
        b.link(a, interface="eth0")
    else:
        a.know(b)
        a.link(b, by_name=True, interface="eth0")
        b.link(interface="eth0")
    ways = [(Talker(x, topic, rate=50), Listener(y, topic)) for x, y, topic in ((a, b, "there"), (b, a, "back"))]
    for talker, listener in ways:
        flow(talker, listener)
    for _, listener in ways:
        listener.reaches(20)
    b.move("10.98.0.77")
    if dials != "the_host_that_moved_dials":
        a.know(b)
    for _, listener in ways:
        listener.reaches(100)
    for talker, listener in ways:
        sent, (got,) = stop(talker, listener)
        measured(messages=sent.last, recovery_after=seconds(got.longest_gap_s()))
        got.is_all(sent.last)


def test_hosts_whose_clocks_differ_exchange_messages_with_the_senders_time(hosts):
    a, b = hosts(2)
    hour = 3600
    b.shift_clocks(hour)
    joined(a, b)
    ways = [(Talker(x, topic, count=100), Listener(y, topic)) for x, y, topic in ((a, b, "there"), (b, a, "back"))]
    for talker, listener in ways:
        flow(talker, listener)
    for (talker, listener), ahead in zip(ways, (0, hour), strict=True):
        sent = talker.sent()
        got = listener.until(sent.last)
        got.is_all(sent.last)
        for (_, _, source), (before, after) in zip(got.got, sent.sent_at, strict=True):
            assert before <= source <= after, (before, source, after)
        measured(clock_of_the_sender=f"{got.got[0][2] / 1e9 - time.time():.0f} s ahead")
        assert abs(got.got[0][2] / 1e9 - time.time() - ahead) < hour / 2, "the clock was not shifted"


def test_a_link_reaches_a_host_that_comes_up_later_and_without_a_cable_at_first(hosts):
    a, b = hosts(2)
    b.pull()
    b.link(a)
    listener = Listener(b)
    time.sleep(1)
    a.link()
    talker = Talker(a)
    time.sleep(OUT_S)
    plugged = b.plug()
    flow(talker, listener)
    listener.reaches(50)
    sent, (got,) = stop(talker, listener)
    measured(messages=sent.last, connected_after=seconds(got.first_after(plugged)))
    got.is_all(sent.last)


# The links.


@pytest.mark.parametrize("end", ["sending", "receiving"])
def test_a_link_that_is_stopped_for_a_while_loses_nothing(hosts, end):
    a, b = hosts(2)
    joined(a, b)
    large = {"bytes": 20_000}
    kept = Talker(a, "last", rate=50), Listener(b, "last")
    every = (
        Talker(a, "all", rate=500, depth=50, history="keep_all", **large),
        Listener(b, "all", depth=50, history="keep_all", **large),
    )
    for talker, listener in (kept, every):
        flow(talker, listener)
    for _, listener in (kept, every):
        listener.reaches(20)
    link = (a if end == "sending" else b).links[0]
    link.send_signal(signal.SIGSTOP)
    every[0].says("refused")
    time.sleep(OUT_S)
    link.send_signal(signal.SIGCONT)
    goes_on = time.monotonic()
    for talker, listener in (kept, every):
        for _ in range(20):
            listener.next_number()
        sent, (got,) = stop(talker, listener)
        measured(
            messages=sent.last,
            refusals=sent.refusals,
            recovery_after=seconds(got.first_after(goes_on)),
        )
        got.is_all(sent.last)


def test_links_that_are_killed_amid_large_messages_damage_none_and_lose_none_that_is_kept(hosts):
    a, b = hosts(2)
    joined(a, b)
    size = 3 * MB
    kept = {
        "bytes": size,
        "depth": 50,
        "durability": "transient_local",
    }  # ten seconds, in which a killed link is replaced
    listener, talker = Listener(b, **kept), Talker(a, rate=5, **kept)
    b.rate("500mbit")  # a message takes 50 ms, and what is kept two seconds, so that most killings meet one half-sent
    talker.go()
    listener.heard()
    random.seed(1)
    gaps, newest = [], 0
    for i in range(ROUNDS):
        # A new link first brings again what is kept: killed before it is through, it would lose what the publisher keeps no longer.
        newest += 2
        listener.reaches(newest)
        newest = max(newest, listener.next_number())
        time.sleep(random.random() * 0.4)
        killed, other = (a, b) if i % 2 == 0 else (b, a)
        killed.kill_link()
        gaps.append(time.monotonic())
        killed.link(other)
    time.sleep(1)
    sent, (got,) = stop(talker, listener)
    measured(
        killings=ROUNDS,
        messages=sent.last,
        recoveries=", ".join(seconds(got.first_after(moment)) for moment in gaps),
        publisher=f"{sent.memory / MB:.0f} MB",
    )
    got.is_all_with_repeats(sent.last)  # every second killing is of the receiving link


def test_a_sending_link_that_is_killed_and_started_again_loses_no_message_that_is_kept(hosts):
    a, b = hosts(2)
    joined(a, b)
    kept = {"depth": 200, "durability": "transient_local"}
    listener, talker = Listener(b, **kept), Talker(a, rate=20, **kept)
    talker.go()
    listener.heard()
    for _ in range(ROUNDS):
        newest = listener.next_number()
        a.kill_link()
        time.sleep(0.2)
        a.link(b)
        listener.reaches(newest + 30)
    sent, (got,) = stop(talker, listener)
    measured(messages=sent.last, killings=ROUNDS)
    got.is_all_with_repeats(sent.last)


@pytest.mark.parametrize("what", ["the_cable_is_out", "the_sending_link_is_killed", "the_receiving_link_is_killed"])
def test_a_latched_message_arrives_once_from_each_receiving_link(hosts, what):
    a, b = hosts(2)
    joined(a, b)
    latched = {"depth": 1, "durability": "transient_local"}
    talker = Talker(a, count=1, **latched)
    talker.go()
    sent = talker.sent()
    listener = Listener(b, **latched).heard()
    flowing = Talker(a, "flowing", rate=50), Listener(b, "flowing")
    flow(*flowing)
    flowing[1].next_number()
    if what == "the_cable_is_out":
        b.pull()
        time.sleep(OUT_S)
        b.plug()
    else:
        killed, other = (a, b) if "sending" in what else (b, a)
        killed.kill_link()
        killed.link(other)
    # The connection works again; and a subscription that is new gets the message, too.
    flowing[1].next_number()
    flowing[1].next_number()
    late = Listener(b, **latched).heard()
    time.sleep(1)
    for end in (listener, late):
        got = end.until(sent.last)
        measured(arrivals=len(got.got))
        # The next receiving link does not know what the one before has given to a subscription (docs/guides/machines.md).
        again = end is listener and what == "the_receiving_link_is_killed"
        assert got.numbers in ([[1], [1, 1]] if again else [[1]])
        assert got.damaged == 0


@pytest.mark.parametrize("durability", ["volatile", "transient_local"])
def test_a_subscription_that_comes_again_before_the_other_link_hears_that_it_had_left_gets_all(hosts, durability):
    a, b = hosts(2)
    joined(a, b)
    first, talker = Listener(b, durability=durability), Talker(a, rate=10, durability=durability)
    if durability == "volatile":
        first.heard()
    talker.go()
    first.reaches(5)
    a.links[0].send_signal(signal.SIGSTOP)
    first.process.kill()
    first.process.wait(timeout=LIMIT_S)
    time.sleep(0.5)  # the link of this host gives the topic up
    second = Listener(b, durability=durability)
    time.sleep(0.5)  # and wants it again
    a.links[0].send_signal(signal.SIGCONT)
    second.next_number()
    sent = talker.end()
    got = second.until(sent.last)
    assert got.damaged == 0 and got.numbers == list(range(got.numbers[0], sent.last + 1))
    if durability == "transient_local":
        assert got.numbers[0] == 1


@pytest.mark.parametrize("late", [{"depth": 4000}, {"depth": 1000, "history": "keep_all"}])
def test_a_far_subscription_that_wants_more_takes_nothing_from_the_others(hosts, late):
    a, b = hosts(2)
    joined(a, b)
    talker, listener = Talker(a, rate=20, depth=2000), Listener(b, depth=2000)
    flow(talker, listener)
    listener.reaches(20)
    b.links[0].send_signal(signal.SIGSTOP)  # messages wait on the way
    time.sleep(1)
    other = Listener(b, **late)
    b.links[0].send_signal(signal.SIGCONT)
    other.next_number()
    other.process.kill()
    other.process.wait(timeout=LIMIT_S)
    listener.reaches(listener.next_number() + 100)
    sent, (got,) = stop(talker, listener)
    got.is_all(sent.last)


def test_hosts_of_which_one_alone_has_forgotten_the_other_carry_again(hosts):
    a, b = hosts(2)
    joined(a, b, more=("--absence-time", "4"))
    there, back = Talker(a, rate=50), Talker(b, "back", rate=50)
    ends = Listener(b), Listener(a, "back")
    flow(there, ends[0])
    flow(back, ends[1])
    a.links[0].send_signal(signal.SIGSTOP)
    assert b.says("has left")
    a.links[0].send_signal(signal.SIGCONT)
    for end in ends:
        seen = end.next_number()
        end.reaches(seen + 500)


# Who does not read, or reads slowly.


def test_a_keep_all_publisher_is_refused_while_a_far_subscription_does_not_read(hosts):
    a, b = hosts(2)
    joined(a, b)
    every = {"bytes": 20_000, "depth": 50, "history": "keep_all"}
    listener, talker = Listener(b, **every), Talker(a, rate=500, **every)
    flow(talker, listener)
    listener.reaches(20)
    listener.process.send_signal(signal.SIGSTOP)
    talker.says("refused")
    time.sleep(OUT_S)
    listener.process.send_signal(signal.SIGCONT)
    for _ in range(20):
        listener.next_number()
    sent, (got,) = stop(talker, listener)
    measured(messages=sent.last, longest_refusal=seconds(sent.longest_s))
    got.is_all(sent.last)


def test_a_far_subscription_that_does_not_read_holds_up_neither_the_publisher_nor_a_third_host(hosts):
    a, b, c = hosts(3)
    joined(a, b, c)
    many = {"bytes": 10_000}
    stopped, third = Listener(b, depth=10, **many), Listener(c, **many)
    talker = Talker(a, count=1000, rate=300, **many)
    flow(talker, stopped, third)
    stopped.reaches(20)
    stopped.process.send_signal(signal.SIGSTOP)
    sent = talker.sent()
    got = third.until(sent.last)
    stopped.process.send_signal(signal.SIGCONT)
    late = stopped.until(sent.last)
    measured(
        third=f"{len(got.got)} of {sent.last}",
        third_latency=got.latency(),
        stopped=f"{len(late.got)}, {late.lost} counted as lost",
    )
    got.is_all(sent.last)
    late.is_whole()
    assert sent.refusals == 0
    assert late.numbers[-1] == sent.last, "the newest message is kept"
    missing = late.missing(sent.last)
    assert missing and late.lost >= len(missing), f"{len(missing)} are missing and {late.lost} counted"


@pytest.mark.parametrize("why", ["a_slow_line", "a_stopped_link", "a_pulled_cable"])
def test_a_slow_host_does_not_starve_a_third(hosts, why):
    a, b, c = hosts(3)
    joined(a, b, c)
    many = {"bytes": 30_000}
    slow, third = Listener(b, depth=10, **many), Listener(c, **many)
    talker = Talker(a, count=1000, rate=200, **many)
    flow(talker, slow, third)
    slow.next_number()
    third.next_number()
    if why == "a_slow_line":
        b.rate("1mbit")
    elif why == "a_stopped_link":
        b.links[0].send_signal(signal.SIGSTOP)
    else:
        b.pull()
    sent = talker.sent()
    got = third.until(sent.last)
    measured(third=f"{len(got.got)} of {sent.last}", third_latency=got.latency(), refusals=sent.refusals)
    got.is_all(sent.last)
    assert sent.refusals == 0
    b.rate("1gbit")
    if why == "a_stopped_link":
        b.links[0].send_signal(signal.SIGCONT)
    elif why == "a_pulled_cable":
        b.plug()
    # What the slow host missed is its loss alone, and it is not forgotten.
    more = Talker(a, "more"), Listener(b, "more")
    flow(*more)
    late = slow.until(sent.last)
    late.is_whole()
    measured(slow=f"{len(late.got)}, {late.lost} counted as lost")
    assert late.numbers[-1] == sent.last, "the newest message is kept"


@pytest.mark.parametrize("why", ["the_cable_is_out", "the_far_link_is_stopped", "the_far_subscription_is_stopped"])
def test_the_memory_of_a_link_is_bounded(hosts, why):
    a, b = hosts(2)
    joined(a, b)
    large = {"bytes": MB, "depth": 10}
    listener, talker = Listener(b, **large), Talker(a, count=int(100 * OUT_S), rate=100, **large)
    flow(talker, listener)
    listener.reaches(20)
    links = {host.name: host.links[0].pid for host in (a, b)}
    before = {name: own_memory(link) for name, link in links.items()}
    stopped = b.links[0] if why == "the_far_link_is_stopped" else listener.process
    if why == "the_cable_is_out":
        b.pull()
    else:
        stopped.send_signal(signal.SIGSTOP)
    sent = talker.sent()
    after = {name: own_memory(link) for name, link in links.items()}
    measured(
        sent=f"{sent.last} MB",
        growth=", ".join(f"{name} {(after[name] - before[name]) / MB:.1f} MB" for name in links),
        publisher=f"{sent.memory / MB:.0f} MB",
    )
    b.plug() if why == "the_cable_is_out" else stopped.send_signal(signal.SIGCONT)
    late = listener.until(sent.last)
    late.is_whole()
    assert late.numbers[-1] == sent.last, "the newest message is kept"
    for name in links:
        assert after[name] - before[name] < MOST_GROWTH, name


# Strangers.

# Waits for a link that dials this host, and keeps what it says first; then plays it, whole, cut and changed, to another link, among plain
# garbage, holds connections with a part of it, and connects and closes, until "end" is read.
STRANGER = """
import os, random, socket, struct, sys, threading
random.seed(1)
target, port = sys.argv[1], int(sys.argv[2])
with socket.create_server(("", port)) as server:
    print("listens", flush=True)
    connection, _ = server.accept()
    connection.settimeout(60)
    known = connection.recv(65536)
    connection.close()
print("met", len(known), flush=True)
sys.stdin.readline()
end = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), end.set()), daemon=True).start()


def changed():
    out = bytearray(known)
    for _ in range(random.choice((1, 1, 4, 16))):
        out[random.randrange(len(out))] = random.getrandbits(8)
    return bytes(out)


kinds = (
    lambda: b"",
    lambda: os.urandom(random.choice((1, 100, 100_000))),
    lambda: b"GET / HTTP/1.1" + bytes((13, 10, 13, 10)),
    lambda: known,
    lambda: known + os.urandom(5000),
    lambda: known[: random.randrange(len(known))],
    changed,
    lambda: changed() + changed(),
    lambda: known + struct.pack("<Q", 0xFFFFFFFFFFFFFFFF) * 20,
    lambda: known + bytes(100_000),
)


def try_out(data, hold):
    connection = socket.create_connection((target, port), 5)
    try:
        connection.sendall(data)
    except OSError:
        pass
    if hold:
        return connection
    if random.random() < 0.3:  # reset
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    return None


held, count = [], 0
while not end.is_set():
    try:
        for _ in range(max(0, 50 - len(held))):
            held.append(try_out(known[: random.randrange(len(known))], True))
        for kind in kinds:
            try_out(kind(), False)
        count += len(kinds)
    except OSError:
        pass  # refused or closed: the link's right
    if count == 100:
        print("storm", flush=True)
print(f"{count} connections", flush=True)
"""


@pytest.mark.parametrize("identity", ["of_a_host_that_is_gone", "of_a_host_that_is_connected"])
def test_strangers_on_the_port_do_not_disturb_honest_hosts(hosts, identity):
    a, b, c = hosts(3)
    stranger = c.python(STRANGER, a.address, str(PORT))
    stranger.says("listens")
    a.link()
    if identity == "of_a_host_that_is_connected":
        b.link(a, c)
    else:
        b.link(a)
        c.link(more=("--port", str(PORT + 1), "--peer", f"{c.address}:{PORT}"))
    assert a.says("host bbb is connected") and b.says("host aaa is connected")
    met = stranger.stdout.readline()
    if c.links:
        c.kill_link()
    ways = [(Talker(x, topic), Listener(y, topic)) for x, y, topic in ((a, b, "there"), (b, a, "back"))]
    link = a.links[0]
    for talker, listener in ways:
        flow(talker, listener)
    for _, listener in ways:
        listener.reaches(20)
    before, memory = descriptors(link.pid), own_memory(link.pid)
    stranger.tell("begin")
    stranger.says("storm")
    time.sleep(OUT_S)
    during = descriptors(link.pid)
    # Hosts that meet amid the storm, and a topic that is new.
    fresh = Talker(a, "fresh"), Listener(b, "fresh")
    flow(*fresh)
    fresh[1].reaches(50)
    stranger.tell("end")
    said = stranger.stdout.readline()
    stranger.wait(timeout=LIMIT_S)
    for talker, listener in (*ways, fresh):
        sent, (got,) = stop(talker, listener)
        measured(messages=sent.last, longest_pause=seconds(got.longest_gap_s()))
        got.is_all(sent.last)
    until(lambda: descriptors(link.pid) <= before + 8, lambda: descriptors(link.pid))
    growth = own_memory(link.pid) - memory
    measured(
        stranger=f"{met.strip()} bytes, {said.strip()}",
        descriptors=f"{before} before, {during} during, {descriptors(link.pid)} after",
        growth=f"{growth / MB:.1f} MB",
    )
    assert link.poll() is None, "the link has ended"
    assert growth < MOST_GROWTH
