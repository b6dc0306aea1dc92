# SPDX-License-Identifier: Apache-2.0
"""Plays a bag: publishes its messages with the spacing they had.

Thread rules: play() runs in one thread; all other methods of a Player may be called from any thread meanwhile. close() waits until play() has
returned; where it is called within play(), by a signal handler or by on_skip, the end of play() does the rest. Invariants: (1) the moment of a
message is computed from an anchor, not from the message before it, so lateness does not add up; (2) the anchor moves only with rate, pause, step
and seek; (3) a message's bytes are decoded from the file's pages straight into a loan.
"""

from __future__ import annotations

import itertools
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import baton
from baton import _core

from .bag_errors import BagError, check_number
from .bag_held import last_of
from .bag_source import CDR, ROS1, SFM, Bag, BagMessage, BagTopic, absolute, chosen, open_bag
from .bag_types import class_of, offer_of
from .play_requests import SOURCES, ServiceRequests, service_of

CLOCK = "/clock"
CLOCK_TYPE = "rosgraph_msgs/Clock"
_SECOND_NS = 10**9
_LONGEST_NS = 2.0**64
_LATEST_CLOCK_NS = (1 << 31) * _SECOND_NS  # its seconds are an int32
_WAIT_S = 86400.0  # at once; a wait of centuries is an error
_ROOM_S = 0.001  # between two attempts while a KEEP_ALL subscription has no room


def _whole(nanoseconds: float) -> int:
    """A duration as a whole number, at most the longest that a bag can have: rates and times may be any numbers."""
    return round(max(-_LONGEST_NS, min(nanoseconds, _LONGEST_NS)))


class Timeline:
    """Converts between moments of the steady clock and moments of the bag."""

    def __init__(self, bag_ns: int, now_ns: int, rate: float) -> None:
        self._rate = rate
        self.restart(bag_ns, now_ns)

    def restart(self, bag_ns: int, now_ns: int) -> None:
        """The bag is at `bag_ns` now."""
        self._bag_ns, self._now_ns = bag_ns, now_ns

    @property
    def rate(self) -> float:
        return self._rate

    def change_rate(self, rate: float, now_ns: int) -> None:
        self.restart(self.position(now_ns), now_ns)
        self._rate = rate

    def moment(self, bag_ns: int) -> int:
        """The moment of the steady clock at which the bag is at `bag_ns`."""
        return self._now_ns + _whole((bag_ns - self._bag_ns) / self._rate)

    def position(self, now_ns: int) -> int:
        """The moment of the bag at a moment of the steady clock."""
        return self._bag_ns + _whole((now_ns - self._now_ns) * self._rate)


class SteadyTime:
    """The clock of a Player. Tests have one that does not wait."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Waits for a notification of the condition, at most `seconds`."""
        condition.wait(seconds)


class Player:
    """Publishes the messages of a bag.

        with baton.Player("drive.mcap", rate=0.5) as player:
            player.play()

    `start` and `duration`: seconds of the bag. `topics`, `exclude`: patterns such as "/camera/*". `remap`: other names for topics. `qos`: for
    topics by their names in the bag, arguments of baton.QoS that replace the recorded ones. `clock`: publish /clock so many times a second, for
    nodes that follow simulated time. `service_requests`: "service" or "client": recorded requests are sent to the present servers; they are taken
    from the events that the recorded servers, or clients, published. Without it the events are published as any message. `node`: publish from this
    node, else from one of the player's own."""

    def __init__(
        self,
        bag: str | Path | Bag,
        node: baton.Node | None = None,
        *,
        rate: float = 1.0,
        start: float = 0.0,
        duration: float | None = None,
        loop: bool = False,
        topics: Iterable[str] = (),
        exclude: Iterable[str] = (),
        remap: Mapping[str, str] | None = None,
        qos: Mapping[str, Mapping[str, Any]] | None = None,
        clock: float | None = None,
        paused: bool = False,
        service_requests: str | None = None,
        on_skip: Callable[[str], object] | None = None,
        clock_of_waits: SteadyTime | None = None,
    ) -> None:
        """Opens the bag and advertises its topics. `on_skip` gets a sentence about each topic or message that cannot be played; without it the
        first one raises BagError."""
        for name, value in (("rate", rate), ("clock", clock), ("duration", duration)):
            check_number(name, value)
        check_number("start", start, may_be_least=True)
        if service_requests not in (None, *SOURCES):
            raise BagError(f"service_requests is 'service' or 'client', not {service_requests!r}")
        self._service_requests = service_requests
        self._on_skip = on_skip
        self._time = clock_of_waits or SteadyTime()
        self._condition = threading.Condition()
        self._loop = loop
        self._paused = paused
        self._steps = 0  # how many more messages a paused player is asked to publish
        self._stepping = False  # the next message is published for such a step
        self._stopped = False
        self._playing: int | None = None  # the thread that is in play()
        self._closes = False  # close() was called within play()
        self._target_ns: int | None = None  # the moment to which seek() was called
        self._published = 0
        self._skipped: set[str] = set()
        self.bag = bag if isinstance(bag, Bag) else open_bag(bag)
        try:
            self.start_ns = self.bag.start_ns + _whole(start * _SECOND_NS)
            last = self.bag.end_ns if duration is None else self.start_ns + _whole(duration * _SECOND_NS)
            self.end_ns = min(self.bag.end_ns, last)
            self._timeline = Timeline(self.start_ns, self._time.now_ns(), rate)
            self._paused_ns = self.start_ns
            self._node = node or baton.Node("baton_player")
            self._publishers = self._advertise(
                chosen(self.bag.topics, list(topics), list(exclude)),
                dict(remap or {}),
                dict(qos or {}),
                clock is not None,
            )
            self._clock = self._node.advertise(CLOCK, CLOCK_TYPE, baton.QoS(1)) if clock else None
            self._tick_s = 1 / clock if clock else None
            self._tick_ns = self.start_ns
        except BaseException:
            self.bag.close()
            raise

    def _advertise(
        self, topics: list[BagTopic], remap: dict[str, str], qos: dict[str, Mapping[str, Any]], own_clock: bool
    ) -> dict[BagTopic, Any]:
        publishers: dict[BagTopic, Any] = {}
        known: dict[tuple[str, str, bytes], Any] = {}
        names = {absolute(name): absolute(other) for name, other in remap.items()}
        overrides = {absolute(name): policies for name, policies in qos.items()}
        for topic in topics:
            if own_clock and absolute(topic.name) == CLOCK:
                continue  # the player's own
            try:
                service = service_of(topic) if self._service_requests else None
                if service is not None:
                    assert self._service_requests is not None
                    publishers[topic] = ServiceRequests(
                        self._node, topic, names.get(service, service), self._service_requests
                    )
                    continue
                if topic.encoding not in (CDR, ROS1, SFM):
                    raise BagError(f"{topic.name}: messages of encoding {topic.encoding!r} cannot be played")
                cls = class_of(topic)
                key = (absolute(topic.name), topic.type_name, cls._struct.hash)
                if key not in known:
                    policies = baton.QoS(**{**offer_of(topic), **overrides.get(absolute(topic.name), {})})
                    known[key] = self._node.advertise(
                        names.get(absolute(topic.name), absolute(topic.name)), cls, policies
                    )
                publishers[topic] = known[key]
            except (BagError, baton.BatonError) as error:
                self._skip(topic.name, str(error))
        return publishers

    def _skip(self, about: str, sentence: str) -> None:
        if self._on_skip is None:
            raise BagError(sentence)
        if about not in self._skipped:
            self._skipped.add(about)
            self._on_skip(sentence)

    # --- for a program, while play() runs in another thread

    @property
    def topics(self) -> list[BagTopic]:
        """The topics that are played."""
        return list(self._publishers)

    @property
    def published(self) -> int:
        """How many messages were published so far."""
        return self._published

    @property
    def paused(self) -> bool:
        return self._paused

    @property
    def rate(self) -> float:
        return self._timeline.rate

    @rate.setter
    def rate(self, rate: float) -> None:
        check_number("rate", rate)
        with self._condition:
            if self._paused:
                self._timeline.restart(self._paused_ns, self._time.now_ns())
            self._timeline.change_rate(rate, self._time.now_ns())
            self._condition.notify_all()

    @property
    def position(self) -> float:
        """Seconds since the bag's beginning."""
        with self._condition:
            return (self._position_ns() - self.bag.start_ns) / _SECOND_NS

    def _position_ns(self) -> int:
        position = self._paused_ns if self._paused else self._timeline.position(self._time.now_ns())
        return max(self.start_ns, min(position, self.end_ns))

    def pause(self) -> None:
        """Stops between two messages."""
        with self._condition:
            if not self._paused:
                self._paused_ns = self._position_ns()
                self._paused = True
                self._condition.notify_all()

    def resume(self) -> None:
        """Goes on where pause() stopped."""
        with self._condition:
            if self._paused:
                self._paused = False
                self._steps = 0
                self._timeline.restart(self._paused_ns, self._time.now_ns())
                self._condition.notify_all()

    def step(self, messages: int = 1) -> None:
        """Publishes the next `messages` messages at once, if the player is paused. Does not wait."""
        with self._condition:
            self._steps += messages if self._paused else 0
            self._condition.notify_all()

    def burst(self, messages: int = 0) -> int:
        """As step(), and waits until they are published. 0: all messages that follow. Returns how many were published: 0 unless a thread is in play()
        and the player is paused."""
        with self._condition:
            if not self._paused or self._playing is None:
                return 0
            before = self._published
            self._steps += messages or sys.maxsize
            self._condition.notify_all()
            self._condition.wait_for(
                lambda: self._steps == 0 or not self._paused or self._stopped or self._playing is None
            )
            return self._published - before

    def seek(self, seconds: float) -> None:
        """Goes to a moment, in seconds since the bag's beginning. The messages that latched topics held at that moment are published at once."""
        check_number("seconds", seconds, least=-math.inf)
        with self._condition:
            moment = self.bag.start_ns + _whole(seconds * _SECOND_NS)
            self._target_ns = max(self.start_ns, min(moment, self.end_ns))
            self._condition.notify_all()

    def stop(self) -> None:
        """Ends play()."""
        with self._condition:
            self._stopped = True
            self._condition.notify_all()

    def wait_for_subscriptions(self, topics: Iterable[str] | None = None, timeout: float | None = None) -> bool:
        """Waits until each of these topics, by their names in the bag, has a subscription (None: all topics). False after `timeout` seconds."""
        wanted = None if topics is None else {absolute(name) for name in topics}
        if wanted is not None and (strange := wanted - {absolute(topic.name) for topic in self._publishers}):
            raise BagError(f"{', '.join(sorted(strange))} is not played")
        waiting = [each for topic, each in self._publishers.items() if wanted is None or absolute(topic.name) in wanted]
        return self._node.wait_for(lambda: all(each.matched for each in waiting) or self._stopped, timeout)

    def close(self) -> None:
        """Ends play(), the publishers and the bag. Waits until play() has returned in its thread."""
        self.stop()
        with self._condition:
            if self._playing == threading.get_ident():
                self._closes = True
                return
            self._condition.wait_for(lambda: self._playing is None)
        self._release()

    def _release(self) -> None:
        self._publishers = {}
        self._clock = None
        self.bag.close()

    def __enter__(self) -> Player:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- playing

    def play(self) -> int:
        """Plays to the end, or until stop(). Returns how many messages it published."""
        with self._condition:
            self._playing = threading.get_ident()
        try:
            return self._play()
        finally:
            with self._condition:
                self._playing = None
                self._condition.notify_all()
            if self._closes:
                self._release()

    def _play(self) -> int:
        before = self._published
        position = self.start_ns
        while not self._stopped:
            self._begin(position)
            self._publish_latched(position)
            if not self._pass(position):
                position, self._target_ns = self._target_ns or self.start_ns, None
            elif self._loop and self._published > before:
                position = self.start_ns
            else:
                break
        return self._published - before

    def _begin(self, position: int) -> None:
        """The bag is at `position` now."""
        with self._condition:
            self._timeline.restart(position, self._time.now_ns())
            self._paused_ns = self._tick_ns = position

    def wait_until_taken(self, timeout: float) -> bool:
        """Waits until reliable subscriptions have taken all published messages. False after `timeout` seconds."""
        end = time.monotonic() + timeout
        return all(each.wait_for_all_acked(max(0.0, end - time.monotonic())) for each in set(self._publishers.values()))

    def _publish_latched(self, position: int) -> None:
        """The messages that latched topics hold at this moment of the bag."""
        latched = [topic for topic in self._publishers if topic.latched]
        if not latched or position <= self.bag.start_ns:
            return
        before = itertools.takewhile(lambda _: not self._stopped, self._messages(latched, None, position))
        try:
            held = last_of(before, {topic: offer_of(topic)["depth"] for topic in latched})
        except BagError as error:
            self._skip("latched", f"left out: {error}")
            return
        for message in held:
            if self._stopped:
                return
            self._publish(message.topic, message.data)

    def _messages(self, topics: list[BagTopic], start_ns: int | None, stop_ns: int | None) -> Iterator[BagMessage]:
        return self.bag.messages(
            topics, start_ns, stop_ns, lambda damage: self._skip(str(damage.at), f"left out: {damage}")
        )

    def _pass(self, position: int) -> bool:
        """Plays from a position. False: seek() or stop() was called."""
        messages = self._messages(list(self._publishers), position, self.end_ns + 1)
        try:
            played = itertools.chain(list(itertools.islice(messages, 1)), messages)
            self._begin(position)  # the time to open the file and to find the first message is no time of the bag
            for message in played:
                if not self._wait_until(message.time_ns):
                    return False
                self._publish(message.topic, message.data)
                if self._stepping:
                    self._end_step()
            return self._wait_until(self.end_ns, is_message=False)
        finally:
            messages.close()  # type: ignore[attr-defined]

    def _end_step(self) -> None:
        with self._condition:
            self._stepping = False
            self._steps = max(0, self._steps - 1)
            self._condition.notify_all()

    def _wait_until(self, bag_ns: int, is_message: bool = True) -> bool:
        """Waits until the bag is there. False: seek() or stop() was called."""
        with self._condition:
            while True:
                if self._stopped or self._target_ns is not None:
                    return False
                if self._paused:
                    if is_message and self._steps > 0:
                        self._stepping = True
                        self._paused_ns = bag_ns
                        return True
                    if self._steps > 0:  # there is no further message
                        self._steps = 0
                        self._condition.notify_all()
                    self._publish_clock(self._paused_ns)
                    self._time.wait(self._condition, None if self._tick_s is None else min(self._tick_s, _WAIT_S))
                    continue
                tick = bag_ns if self._tick_s is None else min(bag_ns, self._tick_ns)
                left_ns = self._timeline.moment(tick) - self._time.now_ns()
                if left_ns > 0:
                    self._time.wait(self._condition, min(left_ns / _SECOND_NS, _WAIT_S))
                elif self._tick_s is not None and self._tick_ns <= bag_ns:
                    self._publish_clock(self._tick_ns)
                    self._tick_ns += max(1, _whole(self._tick_s * self._timeline.rate * _SECOND_NS))
                else:
                    return True

    def _publish_clock(self, bag_ns: int) -> None:
        if self._clock is None:
            return
        if bag_ns >= _LATEST_CLOCK_NS:
            self._skip(CLOCK, f"{CLOCK} is not published: its seconds end in 2038, and the bag's time is later")
        else:
            with self._clock.loan() as message:
                message.clock.sec, message.clock.nanosec = divmod(bag_ns, _SECOND_NS)

    def _publish(self, topic: BagTopic, data: Any) -> None:
        publisher = self._publishers[topic]
        while True:
            try:
                if isinstance(publisher, ServiceRequests):
                    self._published += publisher.send(data)
                else:
                    if topic.encoding == SFM:
                        _core._publish_chunk(publisher, data, None)
                    else:
                        _core._publish_serialized(publisher, data, topic.encoding == CDR)
                    self._published += 1
                return
            except baton.QueueFull:
                with self._condition:
                    if self._stopped:
                        return
                    self._time.wait(self._condition, _ROOM_S)
            except BagError as error:
                return self._skip(topic.name, str(error))
            except baton.BatonError as error:
                return self._skip(topic.name, f"{topic.name}: a message is left out: {error}")
