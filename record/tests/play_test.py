# SPDX-License-Identifier: Apache-2.0
"""Playing: the messages with their bytes and order, and the moments of the computed schedule."""

from __future__ import annotations

import random
import threading

import baton
import pytest
from bag_files import LATCHED, START_NS, STORE, STORE1, text, values, write_mcap, write_ros1, write_rosbag2
from baton import _core
from baton_record.bag_check import check
from baton_record.bag_errors import BagError
from baton_record.bag_mcap import DATA_END, MAGIC, records
from baton_record.bag_types import read_overrides
from baton_record.play_player import Player, SteadyTime
from baton_record.verbs.play import command, press
from click.testing import CliRunner
from mcap.writer import CompressionType, Writer
from record_bags import Recording
from support import processes
from support.build import RECORD, needs_package
from support.processes import Programs

STRING = "std_msgs/msg/String"
MS = 10**6


class ComputedTime(SteadyTime):
    """A clock that jumps to the end of each wait. `script`: what happens when the player waits without an end, one call after the other."""

    def __init__(self, *script) -> None:
        self.now, self.script = 0, list(script)

    def now_ns(self) -> int:
        return self.now

    def wait(self, condition, seconds) -> None:
        if seconds is None:
            self.script.pop(0)()
        else:
            self.now += round(seconds * 1e9)


def every_type(store, version):
    """A message of each type, one topic each, as CDR or as ROS 1's wire."""
    chance = random.Random(7)
    serialize = store.serialize_cdr if version == 2 else store.serialize_ros1
    return [
        (
            f"/{name.replace('/', '_')}",
            name,
            START_NS + number * MS,
            bytes(serialize(values(store, name, chance), name)),
        )
        for number, name in enumerate(sorted(store.fielddefs))
    ]


@pytest.mark.parametrize("kind", ["mcap", "rosbag2 mcap", "sqlite3", "ros1", "ros1 bz2"])
def test_a_message_of_every_standard_type_arrives_with_the_bytes_of_the_bag(tmp_path, kind):
    messages = every_type(STORE1, 1) if "ros1" in kind else every_type(STORE, 2)
    assert len(messages) > 100
    if kind not in ("mcap", "ros1"):  # the types do not depend on how a file stores their bytes
        messages = messages[::10]
    bag = {
        "mcap": lambda: write_mcap(tmp_path / "bag.mcap", messages, chunk_size=5000),
        "rosbag2 mcap": lambda: write_rosbag2(tmp_path / "bag", messages, "MCAP"),
        "sqlite3": lambda: write_rosbag2(tmp_path / "bag", messages, "SQLITE3"),
        "ros1": lambda: write_ros1(tmp_path / "a.bag", messages),
        "ros1 bz2": lambda: write_ros1(tmp_path / "a.bag", messages, compression="BZ2"),
    }[kind]()
    node = baton.Node("reader")
    with Player(bag, node, clock_of_waits=ComputedTime()) as player:
        taken = {
            topic.name: node.subscribe(topic.name, player._publishers[topic].message_type) for topic in player.topics
        }
        assert player.wait_for_subscriptions(timeout=120)
        assert player.play() == len(messages)
        for name, type_name, _, data in messages:
            message = taken[name].take(120)
            assert bytes(_core._serialized(message, "ros1" not in kind)) == data, type_name
            assert baton.info(message).selection == "high"
            del message


class Noted(Player):
    """Notes when each message was published. `slow`: what publishing takes, by the number of the message."""

    def __init__(self, bag, *arguments, script=(), slow=None, **options):
        self.notes, self.data, self.slow = [], [], slow or {}
        super().__init__(bag, *arguments, clock_of_waits=ComputedTime(*script), **options)

    def _publish(self, topic, data):
        self.notes.append((self._time.now, topic.name, content(data)))
        self.data.append(data)
        self._time.now += self.slow.get(len(self.notes), 0)
        super()._publish(topic, data)


def content(data) -> str:
    return STORE.deserialize_cdr(bytes(data), STRING).data


def strings(path, *rows, **options):
    """A bag of texts: (topic, milliseconds, text)."""
    return write_mcap(
        path, [(topic, STRING, START_NS + round(ms * MS), text(data)) for topic, ms, data in rows], **options
    )


@pytest.fixture
def ten(tmp_path):
    """Ten texts, with a spacing that is not even."""
    return strings(
        tmp_path / "ten.mcap", *(("/a", number * number, str(number)) for number in range(10)), chunk_size=120
    )


@pytest.mark.parametrize("rate", [1, 0.5, 3])
def test_each_message_comes_at_its_computed_moment(ten, rate):
    with Noted(ten, rate=rate) as player:
        assert player.play() == 10
    assert player.notes == [(round(n * n * MS / rate), "/a", str(n)) for n in range(10)]


def test_a_late_message_does_not_delay_those_after_it(ten):
    with Noted(ten, slow={3: 17 * MS}) as player:
        player.play()
    late = {3: 21 * MS, 4: 21 * MS}  # number 2 came at 4 ms and took 17
    assert [moment for moment, _, _ in player.notes] == [late.get(n, n * n * MS) for n in range(10)]


def test_the_time_to_find_the_first_message_is_no_time_of_the_bag(ten):
    with Noted(ten) as player:
        read = player._messages

        def slow(*arguments):
            player._time.now += 5 * MS
            yield from read(*arguments)

        player._messages = slow
        player.play()
    assert [moment for moment, _, _ in player.notes] == [(5 + n * n) * MS for n in range(10)]


def test_the_whole_time_of_a_long_bag_does_not_drift(tmp_path):
    third = 1e9 / 3
    rows = [("/a", STRING, START_NS + round(n * third), text(str(n))) for n in range(3000)]
    with Noted(write_mcap(tmp_path / "long.mcap", rows), rate=0.7) as player:
        player.play()
    assert player.notes[-1][0] == round(round(2999 * third) / 0.7)


def test_a_paused_player_steps_and_resumes_at_the_same_moment(ten):
    def at_first():
        assert player.paused and player.published == 0
        player.step(2)

    def then():
        assert (player.published, player.position) == (2, 0.001)
        player._time.now += 1000 * MS
        player.resume()

    with Noted(ten, paused=True, script=[at_first, then]) as player:
        player.play()
    moments = [moment for moment, _, _ in player.notes]
    assert moments[:3] == [0, 0, 1003 * MS]  # 3 ms behind the second message
    assert moments[-1] == (1000 + 80) * MS


def test_the_rate_changes_from_that_moment_on(ten):
    class Faster(Noted):
        def _publish(self, topic, data):
            super()._publish(topic, data)
            if len(self.notes) == 5:
                self.rate = 2

    with Faster(ten) as player:
        player.play()
    assert [m for m, _, _ in player.notes] == [
        n * n * MS if n < 5 else (16 * MS + (n * n - 16) * MS // 2) for n in range(10)
    ]


def test_seek_goes_back_and_forth(ten):
    class Seeking(Noted):
        def _publish(self, topic, data):
            super()._publish(topic, data)
            if len(self.notes) == 3:
                self.seek(0.050)
            elif len(self.notes) == 5:
                self.seek(0.070)
            elif len(self.notes) == 6:
                self.seek(-1)
            elif len(self.notes) == 8:
                self.stop()

    with Seeking(ten) as player:
        player.play()
    assert [data for _, _, data in player.notes] == ["0", "1", "2", "8", "9", "9", "0", "1"]
    # 64 - 50 ms behind the seek at 4 ms; 17 ms; 81 - 70 ms; at once; 1 ms
    assert [moment // MS for moment, _, _ in player.notes] == [0, 1, 4, 18, 35, 46, 46, 47]


def test_start_duration_and_loop_choose_the_messages(ten):
    class Twice(Noted):
        def _publish(self, topic, data):
            super()._publish(topic, data)
            if len(self.notes) == 6:
                self.stop()

    with Twice(ten, start=0.005, duration=0.03, loop=True) as player:
        assert player.play() == 6
    # the pass ends with the last moment of the duration
    assert [(m // MS, d) for m, _, d in player.notes] == [
        (4, "3"),
        (11, "4"),
        (20, "5"),
        (34, "3"),
        (41, "4"),
        (50, "5"),
    ]


def test_messages_that_latched_topics_held_at_the_start_come_first(tmp_path):
    rows = [
        ("/map", 0, "m0"),
        ("/a", 1, "a1"),
        ("/map", 2, "m2"),
        ("/map", 3, "m3"),
        ("/a", 10, "a10"),
        ("/map", 10, "m10"),
    ]
    bag = strings(tmp_path / "bag.mcap", *rows, qos={"/map": LATCHED})
    with Noted(bag, start=0.005) as player:
        player.play()
        node = baton.Node("late")
        late = node.subscribe("/map", "std_msgs/String", qos=baton.QoS(5, durability="transient_local"))
        assert [late.take(120).data for _ in range(2)] == ["m3", "m10"]
    # its depth is 2; of one moment, latched topics come first
    assert [d for _, _, d in player.notes] == ["m2", "m3", "m10", "a10"]


def test_a_latched_topic_of_ros_1_is_transient_local(tmp_path):
    data = bytes(STORE1.serialize_ros1(STORE1.types[STRING]("map"), STRING))
    rows = [("/map", STRING, START_NS, data), ("/a", STRING, START_NS + MS, data)]
    bag = write_ros1(tmp_path / "a.bag", rows, latched=("/map",))
    node = baton.Node("n")
    with Player(bag, node, start=0.001, clock_of_waits=ComputedTime()) as player:
        assert player.play() == 2
        offers = {e.topic: e.qos.durability for e in node.endpoints() if e.is_publisher}
        assert (offers["/map"], offers["/a"]) == ("transient_local", "volatile")
        assert (
            node.subscribe("/map", "std_msgs/String", qos=baton.QoS(1, durability="transient_local")).take(120).data
            == "map"
        )


def test_the_clock_is_never_behind_a_message_by_more_than_its_period(ten):
    node = baton.Node("n")
    ticks = node.subscribe("/clock", "rosgraph_msgs/Clock", qos=100)
    seen = []

    class Looking(Noted):
        def _publish(self, topic, data):
            while (tick := ticks.take()) is not None:
                seen.append(tick.clock.to_nsec() - START_NS)
            behind = START_NS + int(content(data)) ** 2 * MS - START_NS - seen[-1]
            assert 0 <= behind < 20 * MS
            super()._publish(topic, data)

    with Looking(ten, node, clock=100, rate=2) as player:
        assert player._clock.wait_for_subscriptions(1, 120) and ticks.wait_for_publishers(1, 120)
        player.play()
    assert seen == [20 * MS * n for n in range(5)]  # 100 Hz at twice the speed


def test_paused_the_clock_stands_still_and_is_published_again(ten):
    node = baton.Node("n")
    ticks = node.subscribe("/clock", "rosgraph_msgs/Clock", qos=100)

    class Paused(Noted):
        def _publish_clock(self, bag_ns):
            super()._publish_clock(bag_ns)
            if len(self.notes) == 2 and not self.paused and self.waited == 0:
                self.pause()
            elif self.paused:
                self.waited += 1
                if self.waited == 3:
                    self.resume()

    with Paused(ten, node, clock=1000) as player:
        player.waited = 0
        assert player._clock.wait_for_subscriptions(1, 120) and ticks.wait_for_publishers(1, 120)
        player.play()
    seen = []
    while (tick := ticks.take()) is not None:
        seen.append((tick.clock.to_nsec() - START_NS) // MS)
    assert seen[:8] == [0, 1, 2, 2, 2, 2, 3, 4]


def test_topics_are_chosen_by_patterns_and_renamed(tmp_path):
    bag = strings(
        tmp_path / "bag.mcap", *((topic, n, "x") for n, topic in enumerate(["/camera/left", "/camera/right", "/odom"]))
    )
    node = baton.Node("n")
    for chosen, names in (
        ({"topics": ["/camera/*"]}, {"/camera/left", "/camera/right"}),
        ({"exclude": ["camera/l*"]}, {"/camera/right", "/odom"}),
        ({"topics": ["odom"], "remap": {"odom": "/wheel"}}, {"/wheel"}),
    ):
        with Player(bag, node, clock_of_waits=ComputedTime(), **chosen) as player:
            assert {e.topic for e in node.endpoints() if e.is_publisher and e.type_name == "std_msgs/String"} == names
            assert player.play() == len(names)
        del player


def test_publishers_offer_the_recorded_qos_or_that_of_a_file(tmp_path):
    best = LATCHED.replace("reliability: reliable", "reliability: best_effort").replace("transient_local", "volatile")
    bag = strings(
        tmp_path / "bag.mcap",
        ("/a", 0, ""),
        ("/b", 0, ""),
        ("/c", 0, ""),
        qos={"/a": best, "/b": best + "\n" + LATCHED},
    )
    overrides = read_overrides(
        "c: {depth: 3, reliability: best_effort, history: keep_last, durability: volatile}", "file"
    )
    node = baton.Node("n")
    with Player(bag, node, qos=overrides):
        offers = {
            e.topic: (e.qos.reliability, e.qos.durability, e.qos.depth) for e in node.endpoints() if e.is_publisher
        }
    assert offers["/a"] == ("best_effort", "volatile", 2)
    assert offers["/b"] == ("reliable", "transient_local", 2)
    assert offers["/c"] == ("best_effort", "volatile", 3)


def test_a_topic_without_a_slash_is_that_with_one(tmp_path):
    bag = strings(tmp_path / "bag.mcap", ("a", 0, "x"), ("b", 0, "x"))
    node = baton.Node("n")
    with Player(bag, node, topics=["/a"], qos={"/a": {"depth": 7}}, clock_of_waits=ComputedTime()) as player:
        assert {(e.topic, e.qos.depth) for e in node.endpoints() if e.type_name == "std_msgs/String"} == {("/a", 7)}
        subscription = node.subscribe("/a", "std_msgs/String")
        assert player.wait_for_subscriptions(["a"], 120) and player.play() == 1
        assert subscription.take(120).data == "x"


@pytest.mark.parametrize("wrong", ["/a: {depth: no}", "/a: {speed: 3}", "/a: {reliability: often}", "- x", "{"])
def test_a_wrong_file_of_overrides_is_refused(wrong):
    with pytest.raises(BagError, match="^file"):
        read_overrides(wrong, "file")


def test_messages_that_cannot_be_played_are_left_out_with_a_sentence_or_refused(tmp_path):
    rows = [("/a", STRING, START_NS + n * MS, text("ok") if n != 1 else b"\0\1\0\0\xff\0\0\0ab") for n in range(3)]
    bag = write_mcap(tmp_path / "bag.mcap", rows)
    said = []
    with Player(bag, on_skip=said.append, clock_of_waits=ComputedTime()) as player:
        assert player.play() == 2
    assert len(said) == 1 and said[0].startswith("/a: a message is left out: ")
    with Player(bag, clock_of_waits=ComputedTime()) as player, pytest.raises(BagError, match="left out"):
        player.play()
    other = write_mcap(tmp_path / "json.mcap", rows, encoding="json")
    with Player(other, on_skip=said.append) as player:
        assert player.topics == [] and "json" in said[-1]


def test_no_byte_of_an_uncompressed_file_is_copied_before_the_loan(tmp_path):
    rows = [("/a", STRING, START_NS + n, text("x" * 1000)) for n in range(10)]
    bag = write_mcap(tmp_path / "bag.mcap", rows, compression=CompressionType.NONE, chunk_size=3000)
    with Noted(bag) as player:
        (file,) = player.bag._open
        player.play()
        assert [data.obj for data in player.data] == [file._map] * 10
        player.data.clear()


def test_a_reliable_subscription_that_keeps_all_gets_all(tmp_path):
    bag = strings(tmp_path / "bag.mcap", *(("/a", 0, str(n)) for n in range(50)))
    node = baton.Node("n")
    subscription = node.subscribe("/a", "std_msgs/String", qos=baton.QoS(4, history="keep_all"))
    with Player(bag, node, qos={"/a": {"history": "keep_all"}}) as player:
        assert player.wait_for_subscriptions(["/a"], 120) and subscription.wait_for_publishers(1, 120)
        playing = threading.Thread(target=player.play)
        playing.start()
        assert [subscription.take(120).data for _ in range(50)] == [str(n) for n in range(50)]
        playing.join()
        assert player.wait_until_taken(120)


def test_a_topic_that_is_not_played_is_not_waited_for(ten):
    with baton.Player(ten) as player, pytest.raises(BagError, match="/none is not played"):
        player.wait_for_subscriptions(["none"])


@needs_package(RECORD)
def test_a_bag_of_baton_record_is_whole_and_plays(tmp_path, runtime_directory):
    node = baton.Node("n")
    image = baton.message("sensor_msgs/Image")(data=bytes(range(250)) * 400, encoding="mono8")
    latched = node.advertise("/map", "std_msgs/String", baton.QoS(1, durability="transient_local"))
    latched.publish({"data": "map"})
    images = node.advertise("/image", "sensor_msgs/Image", 20)
    with Programs(processes.environment(runtime_directory)) as programs:
        recording = Recording(programs, tmp_path / "bag", "/map", "/image")
        assert images.wait_for_subscriptions(1, 120) and latched.wait_for_subscriptions(1, 120)
        for _ in range(10):
            images.publish(image)
        recording.has(image=10, map=1)
        recording.stop()
    del images, latched
    assert check(tmp_path / "bag") == (11, [])
    pictures, maps = node.subscribe("/image", "sensor_msgs/Image", qos=20), node.subscribe("/map", "std_msgs/String")
    with Player(tmp_path / "bag", node, clock_of_waits=ComputedTime()) as player:
        assert {topic.name: topic.latched for topic in player.topics} == {"/image": False, "/map": True}
        assert player.wait_for_subscriptions(timeout=120) and player.play() == 11
        assert maps.take(120).data == "map"
        assert all(bytes(pictures.take(120).data) == bytes(image.data) for _ in range(10))


def test_the_keys_have_the_effects_that_the_help_lists(ten):
    with Noted(ten) as player:
        press(player, " ")
        assert player.paused
        press(player, "up")
        press(player, "s")
        press(player, ">")
        assert (round(player.rate, 6), player._steps, player._target_ns) == (1.1, 1, player.end_ns)
        press(player, "<")
        assert player._target_ns == player.start_ns
        press(player, " ")
        press(player, "q")
        assert not player.paused and player.play() == 0


def test_the_command_plays_and_names_errors(ten, tmp_path):
    node = baton.Node("n")
    subscription = node.subscribe("/b", "std_msgs/String")
    taken = []
    taking = threading.Thread(target=lambda: taken.extend(subscription.take(120).data for _ in range(10)))
    taking.start()
    run = CliRunner().invoke(command, [str(ten), "-r", "100", "-m", "/a:=/b", "-w", "all", "--clock", "100"])
    taking.join()
    assert run.exit_code == 0, run.output
    assert "10 messages" in run.output and taken == list("0123456789")
    (tmp_path / "qos.yaml").write_text("/a: {depth: 0}")
    for arguments, said in (
        ([str(tmp_path / "no.mcap")], "does not exist"),
        ([str(ten), "--qos", str(tmp_path / "qos.yaml")], "depth: a number"),
        ([str(ten), "-t", "/none"], "no topic to play"),
        ([str(tmp_path / "qos.yaml")], "is no bag"),
        ([str(tmp_path / "run")], "is no bag"),
    ):
        run = CliRunner().invoke(command, arguments)
        assert run.exit_code == 1 and said in run.output, run.output


def test_close_waits_until_play_has_returned(tmp_path):
    """close() comes while a message is being published."""
    bag = strings(tmp_path / "bag.mcap", *(("/a", number, str(number)) for number in range(100)), chunk_size=120)
    inside, goes_on, ended, errors = threading.Event(), threading.Event(), threading.Event(), []

    class Slow(Player):
        def _publish(self, topic, data):
            inside.set()
            assert goes_on.wait(120)
            super()._publish(topic, data)

    def plays():
        try:
            player.play()
        except BaseException as error:
            errors.append(error)

    def closes():
        player.close()
        ended.set()

    player = Slow(bag, clock_of_waits=ComputedTime())
    playing, closing = threading.Thread(target=plays), threading.Thread(target=closes)
    playing.start()
    assert inside.wait(120)
    closing.start()
    with player._condition:
        assert player._condition.wait_for(lambda: player._stopped, 120)
    assert player.topics and not ended.wait(0.05)
    goes_on.set()
    playing.join(120)
    closing.join(120)
    assert (errors, player.published, player.topics) == ([], 1, [])


def test_close_within_play_ends_it(ten):
    with Noted(ten, script=[lambda: player.close()], paused=True) as player:
        assert player.play() == 0
        assert player.topics == []


def test_names_of_a_bag_do_no_harm_to_a_terminal(tmp_path):
    with (tmp_path / "whole.mcap").open("wb") as file:
        writer = Writer(file, compression=CompressionType.NONE, use_chunking=False)
        writer.start("ros2", "test")
        schema = writer.register_schema(STRING, "ros2msg", b"string data")
        writer.add_message(writer.register_channel("/a", "cdr", schema), START_NS, text("x"), START_NS)
        writer.register_channel("/x\x1b]0;pwned\x07", "cdr", 9)  # which is no schema
        writer.finish()
    content = (tmp_path / "whole.mcap").read_bytes()
    end = next(at for opcode, at, _, _ in records(memoryview(content), len(MAGIC), len(content)) if opcode == DATA_END)
    (tmp_path / "bad.mcap").write_bytes(content[:end])
    for bag, said in (("bad.mcap", "is damaged"), ("no\x1b]0;pwned\x07.mcap", "does not exist")):
        run = CliRunner().invoke(command, [str(tmp_path / bag)])
        assert said in run.output and "\x1b" not in run.output, run.output


class ShortWaits(ComputedTime):
    """Refuses waits that a Condition refuses."""

    def wait(self, condition, seconds):
        assert seconds is None or seconds <= threading.TIMEOUT_MAX
        self.now += round(seconds * 1e9) + (1 << 70)


def test_times_at_the_end_of_all_time_are_played(tmp_path):
    last = (1 << 64) - 1
    bag = write_mcap(tmp_path / "bag.mcap", [("/a", STRING, ns, text("x")) for ns in (START_NS, last)])
    for options in ({}, {"rate": 1e-320}):
        with Player(bag, clock_of_waits=ShortWaits(), **options) as player:
            assert player.play() == 2


def test_a_clock_ends_in_2038_and_says_so(tmp_path):
    late = (1 << 31) * 10**9
    bag = write_mcap(tmp_path / "bag.mcap", [("/a", STRING, late + n, text("x")) for n in range(2)])
    for clock in (100, 1e-320):
        said = []
        with Player(bag, clock=clock, clock_of_waits=ComputedTime(), on_skip=said.append) as player:
            assert player.play() == 2
        assert said == ["/clock is not published: its seconds end in 2038, and the bag's time is later"]


@pytest.mark.parametrize("name", ["rate", "start", "duration", "clock"])
def test_numbers_without_meaning_are_refused(ten, name):
    for number in (float("inf"), float("nan"), -1.0, *(() if name == "start" else (0,))):
        with pytest.raises(BagError, match=f"{name} is a number (above 0|from 0 on), not"):
            Player(ten, **{name: number})


def test_a_jump_and_a_rate_have_numbers(ten):
    with Player(ten, clock_of_waits=ComputedTime()) as player:
        with pytest.raises(BagError, match="seconds is a finite number, not nan"):
            player.seek(float("nan"))
        with pytest.raises(BagError, match="rate is a number above 0, not inf"):
            player.rate = float("inf")
        player.seek(1e300)
        assert player._target_ns == player.end_ns
