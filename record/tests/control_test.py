# SPDX-License-Identifier: Apache-2.0
"""Recorders and players that other nodes control by services, and from the command line."""

from __future__ import annotations

import json
import signal
import sys
import threading

import baton
import pytest
from bag_files import START_NS, text, write_mcap
from baton_record.bag_control import control
from baton_record.bag_services import Services, of_player, of_recorder
from baton_record.play_player import Player
from baton_record.record_process import Recorder
from click.testing import CliRunner
from record_bags import publisher, read
from support import processes
from support.build import RECORD, needs_package
from support.processes import LOG, Programs
from support.waiting import until

pytestmark = needs_package(RECORD)
LONG_S = 120


def call(node, service, type_name, **request):
    client = node.client(service, f"rosbag2_interfaces/{type_name}")
    assert client.wait_for_service(LONG_S)
    response = client.call(request, LONG_S)
    assert response is not None
    return response


def run(*words):
    return CliRunner().invoke(control, [*words, "--timeout", str(LONG_S)])


def test_a_recorder_obeys_services_with_the_names_of_rosbag2(runtime_directory, tmp_path):
    node = baton.Node("operator")
    talker = node.advertise("chatter", "std_msgs/String")
    with Programs(processes.environment(runtime_directory)) as programs:
        words = ["-m", "baton_cli", "record", "-o", tmp_path / "bag", "/chatter", "--start-paused", "--json"]
        process = programs.start([sys.executable, *words, "--node-name", "rosbag2_recorder"], stderr=LOG)
        assert talker.wait_for_subscriptions(1, LONG_S)
        of = "/rosbag2_recorder"
        assert call(node, f"{of}/is_paused", "IsPaused").paused
        assert sorted(name for name, _ in node.nodes()) == [
            "operator",
            "rosbag2_recorder",
        ]  # two processes are one node
        call(node, f"{of}/resume", "Resume")
        talker.publish({"data": "recorded"})
        call(node, f"{of}/split_bagfile", "SplitBagfile")
        talker.publish({"data": "in the second file"})
        until((tmp_path / "bag/bag_1.mcap").exists)
        assert not call(node, f"{of}/is_paused", "IsPaused").paused
        assert not call(node, f"{of}/snapshot", "Snapshot").success  # it keeps nothing for one
        call(node, f"{of}/toggle_paused", "TogglePaused")
        assert call(node, f"{of}/is_paused", "IsPaused").paused
        call(node, f"{of}/stop", "Stop")
        out, _ = process.ends()
    assert json.loads(out)["files"] == 2
    said = [m.data for number in range(2) for _, m in read(tmp_path / f"bag/bag_{number}.mcap")]
    assert said == ["recorded", "in the second file"]


def test_a_snapshot_is_written_when_its_service_answers(runtime_directory, tmp_path):
    node = baton.Node("operator")
    with (
        Recorder(tmp_path / "bag", ["/chatter"], snapshot_s=LONG_S, interval_s=0.02) as recorder,
        Services(baton.Node("recorder"), of_recorder(recorder)),
    ):
        talker = publisher(node, "chatter", "std_msgs/String")
        talker.publish({"data": "kept"})
        while recorder.state().messages == 0:
            recorder.wait(LONG_S)
        assert call(node, "/recorder/snapshot", "Snapshot").success
        assert [m.data for _, m in read(tmp_path / "bag/bag_0.mcap")] == ["kept"]


@pytest.fixture
def ten(tmp_path):
    """Ten texts, a second apart."""
    rows = (("/a", "std_msgs/msg/String", START_NS + number * 10**9, text(str(number))) for number in range(10))
    return write_mcap(tmp_path / "ten.mcap", list(rows))


@pytest.fixture
def playing(ten):
    """A paused player of the bag that is in play(), its services, and a subscription."""
    node = baton.Node("operator")
    subscription = node.subscribe("/a", "std_msgs/String", qos=20)
    with Player(ten, baton.Node("player"), paused=True) as player:
        assert player.wait_for_subscriptions(timeout=LONG_S)
        thread = threading.Thread(target=player.play)
        with Services(player._node, of_player(player)):
            thread.start()
            assert node.wait_for(lambda: player._playing is not None, LONG_S)
            yield node, player, subscription
            player.stop()
            thread.join()


def time_of(number):
    return {"sec": START_NS // 10**9 + number, "nanosec": START_NS % 10**9}


def test_a_player_obeys_services_with_the_names_of_rosbag2(playing):
    node, player, subscription = playing
    assert call(node, "/player/is_paused", "IsPaused").paused
    assert call(node, "/player/play_next", "PlayNext").success
    assert subscription.take(LONG_S).data == "0"
    assert call(node, "/player/burst", "Burst", num_messages=3).actually_burst == 3
    assert [subscription.take(LONG_S).data for _ in range(3)] == ["1", "2", "3"]
    assert call(node, "/player/seek", "Seek", time=time_of(7)).success
    assert call(node, "/player/burst", "Burst", num_messages=0).actually_burst == 3
    assert [subscription.take(LONG_S).data for _ in range(3)] == ["7", "8", "9"]
    assert not call(node, "/player/play_next", "PlayNext").success  # the bag has no further message
    assert not call(node, "/player/seek", "Seek", time=time_of(11)).success
    assert call(node, "/player/set_rate", "SetRate", rate=1000.0).success
    assert not call(node, "/player/set_rate", "SetRate", rate=-1.0).success
    assert call(node, "/player/get_rate", "GetRate").rate == 1000.0
    assert call(node, "/player/seek", "Seek", time=time_of(8)).success
    call(node, "/player/resume", "Resume")
    assert [subscription.take(LONG_S).data for _ in range(2)] == ["8", "9"]
    assert call(node, "/player/burst", "Burst", num_messages=1).actually_burst == 0  # it is not paused


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 128 + signal.SIGINT), (signal.SIGTERM, 0)])
def test_a_player_that_a_script_has_started_ends_at_a_signal(runtime_directory, tmp_path, number, code):
    """A shell lets the jobs that it starts with `&` ignore SIGINT."""
    rows = [("/a", "std_msgs/msg/String", START_NS + ms * 10**6, text("hello")) for ms in (0, 20)]
    subscription = baton.Node("watcher").subscribe("/a", "std_msgs/String")
    with Programs(processes.environment(runtime_directory)) as programs:
        process = programs.start(
            [sys.executable, "-m", "baton_cli", "play", write_mcap(tmp_path / "bag.mcap", rows), "--loop"],
            stderr=LOG,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        )
        assert subscription.take(LONG_S).data == "hello"
        process.send_signal(number)
        process.ends(code)


def test_the_command_line_controls_a_player(playing):
    node, player, subscription = playing
    done = run("burst", "2")
    assert (done.exit_code, done.output) == (0, "/player: 2 messages published\n")
    assert [subscription.take(LONG_S).data for _ in range(2)] == ["0", "1"]
    assert run("seek", str(START_NS / 1e9 + 5)).exit_code == 0 and run("next").exit_code == 0
    assert subscription.take(LONG_S).data == "5"
    assert run("-n", "player", "rate", "2.5").exit_code == 0 and player.rate == 2.5
    assert run("status").output == "/player: paused\n"
    assert run("toggle").exit_code == 0 and not player.paused


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["pause", "3"], 2, "pause takes no value"),
        (["rate"], 2, "rate needs a value: baton bag control rate 2"),
        (["burst", "1.5"], 2, "burst takes a whole number of messages, not 1.5"),
        (["seek", "9e9"], 2, "baton bag info prints the first one"),
        (["rate", "0"], 1, "/player could not: a rate is a number above 0"),
        (["seek", "1"], 1, "/player could not: the bag has no such time"),
        (["split"], 1, "/player has no service split_bagfile"),
        (["pause", "-n", "playr"], 1, "no recorder or player /playr runs; did you mean /player?"),
    ],
)
def test_a_command_that_a_recorder_or_player_cannot_obey_is_an_error_with_the_way_out(playing, words, code, said):
    done = run(*words)
    assert done.exit_code == code and said in done.output, done.output


def test_with_several_recorders_or_players_one_has_to_be_named(playing, tmp_path):
    with (
        Recorder(tmp_path / "bag", ["/a"]) as recorder,
        Services(baton.Node("recorder"), of_recorder(recorder)),
    ):
        done = run("pause")
        assert done.exit_code == 1 and "there are several: name one with -n: /player, /recorder" in done.output


def test_without_a_recorder_or_a_player_the_command_says_so():
    done = run("pause")
    assert done.exit_code == 1 and "no recorder or player runs: start baton record or baton play" in done.output
